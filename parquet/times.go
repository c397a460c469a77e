package parquet

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// times is how a file stores timestamps and times of day.
type times uint8

const (
	timesExact   times = iota // as the Avro types
	timesSpark                // timestamps in microseconds, times of day as bare numbers
	timesIceberg              // in microseconds, except timestamps in nanoseconds
)

var timesNames = []string{timesExact: "exact", timesSpark: "spark", timesIceberg: "iceberg"}

func (t times) String() string { return timesNames[t] }

// timesNamed returns the times with a name. The empty name means the first.
func timesNamed(name string) (t times, ok bool) {
	i := slices.Index(timesNames, name)
	return times(max(i, 0)), i >= 0 || name == ""
}

// stored returns the logical type of stored values in place of that of the rows.
func (t times) stored(l column.Logical) column.Logical {
	if t == timesExact {
		return l
	}
	switch l {
	case column.LogicalTimeMillis, column.LogicalTimeMicros:
		if t == timesSpark {
			return column.LogicalNone
		}
		return column.LogicalTimeMicros
	case column.LogicalTimestampMillis:
		return column.LogicalTimestampMicros
	case column.LogicalLocalMillis:
		return column.LogicalLocalMicros
	case column.LogicalTimestampNanos:
		if t == timesSpark {
			return column.LogicalTimestampMicros
		}
	case column.LogicalLocalNanos:
		if t == timesSpark {
			return column.LogicalLocalMicros
		}
	}
	return l
}

// column returns a column with the type of its stored values.
func (t times) column(c *column.Column) *column.Column {
	to := t.stored(c.Logical)
	if to == c.Logical {
		return c
	}
	stored := *c
	stored.Logical = to
	if to == column.LogicalTimeMicros {
		stored.Type = column.Long
	}
	return &stored
}

// storedSchema returns the Avro schema of what the file holds, or "" if no schema describes it.
func (t *tree) storedSchema() (string, error) {
	switch {
	case t.partial:
		return "", nil
	case !t.retimed:
		return t.mapping.Schema.JSON(), nil
	}
	text, ok, err := t.mapping.Schema.Retype(t.times.stored)
	if !ok {
		return "", err
	}
	return text, err
}

// unit is how stored numbers follow from those of the rows: they are multiplied or divided by
// perUnit, or are equal.
type unit uint8

const (
	unitEqual unit = iota
	unitFiner
	unitCoarser
)

const perUnit = 1000

// unitOfStored returns the unit of the stored values of a column.
func unitOfStored(rows, stored *column.Column) unit {
	switch from, to := rows.Logical.Unit(), stored.Logical.Unit(); {
	case from > to && to > 0:
		return unitFiner
	case from < to:
		return unitCoarser
	}
	return unitEqual
}

// store changes plain INT64 values of rows to stored values. It returns the index of the first
// value that cannot be stored, or -1.
func (u unit) store(plain []byte) int {
	switch u {
	case unitFiner:
		for i := 0; i+8 <= len(plain); i += 8 {
			v := int64(binary.LittleEndian.Uint64(plain[i:]))
			//guard: refuses a time that would overflow
			if v > math.MaxInt64/perUnit || v < math.MinInt64/perUnit {
				return i / 8
			}
			binary.LittleEndian.PutUint64(plain[i:], uint64(v*perUnit))
		}
	case unitCoarser:
		for i := 0; i+8 <= len(plain); i += 8 {
			v := int64(binary.LittleEndian.Uint64(plain[i:]))
			//guard: refuses a time that would be rounded
			if v%perUnit != 0 {
				return i / 8
			}
			binary.LittleEndian.PutUint64(plain[i:], uint64(v/perUnit))
		}
	}
	return -1
}

// refused returns the error of a plain value that store refused.
func (u unit) refused(plain []byte) error {
	v := int64(binary.LittleEndian.Uint64(plain))
	if u == unitFiner {
		return bad(damage.Unsupported, "%d milliseconds are more microseconds than 64 bits hold; --%s exact stores them", v, optionTimes)
	}
	return bad(damage.Unsupported, "%d nanoseconds are not a whole number of microseconds; --%s exact stores them", v, optionTimes)
}

// fromStored returns the value of rows for a stored value. ok is false if rows have no such value.
func (u unit) fromStored(v int64) (_ int64, ok bool) {
	switch u {
	case unitFiner:
		return v / perUnit, v%perUnit == 0
	case unitCoarser:
		return v * perUnit, v <= math.MaxInt64/perUnit && v >= math.MinInt64/perUnit
	}
	return v, true
}

// bound returns the bound of values of rows for a bound of stored values: the least value if least
// is set, else the greatest. ok is false if rows have no such value.
func (u unit) bound(v int64, least bool) (_ int64, ok bool) {
	if u != unitFiner {
		return u.fromStored(v)
	}
	// The bound of another writer need not be a value.
	bound, rest := v/perUnit, v%perUnit
	switch {
	case least && rest > 0:
		bound++
	case !least && rest < 0:
		bound--
	}
	return bound, true
}

// appendRows appends the values of rows for stored values.
func (l *leaf) appendRows(dst *column.Vector, stored []int64) error {
	for _, s := range stored {
		v, ok := l.unit.fromStored(s)
		if l.Type == column.Int {
			ok = ok && v == int64(int32(v))
			dst.Ints = append(dst.Ints, int32(v))
		} else {
			dst.Longs = append(dst.Longs, v)
		}
		//guard: rejects a stored time that is no time of a row
		if !ok {
			return bad(damage.Value, "the time %d is not one of %s", s, l.Logical)
		}
	}
	return nil
}
