package shred

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/rowtocol/rowtocol/format/column"
)

var logicals = map[string]struct {
	logical column.Logical
	kinds   []Kind
}{
	"date":                   {column.LogicalDate, []Kind{KindInt}},
	"time-millis":            {column.LogicalTimeMillis, []Kind{KindInt}},
	"time-micros":            {column.LogicalTimeMicros, []Kind{KindLong}},
	"timestamp-millis":       {column.LogicalTimestampMillis, []Kind{KindLong}},
	"timestamp-micros":       {column.LogicalTimestampMicros, []Kind{KindLong}},
	"timestamp-nanos":        {column.LogicalTimestampNanos, []Kind{KindLong}},
	"local-timestamp-millis": {column.LogicalLocalMillis, []Kind{KindLong}},
	"local-timestamp-micros": {column.LogicalLocalMicros, []Kind{KindLong}},
	"local-timestamp-nanos":  {column.LogicalLocalNanos, []Kind{KindLong}},
	"decimal":                {column.LogicalDecimal, []Kind{KindBytes, KindFixed}},
	"uuid":                   {column.LogicalUUID, []Kind{KindString, KindFixed}},
	"duration":               {column.LogicalDuration, []Kind{KindFixed}},
}

// LogicalType returns the node's logical type. It is column.LogicalNone for a node without one,
// and for a logical type that is unknown or does not fit the type, as the specification says.
func (n *Node) LogicalType() column.Logical {
	l, ok := logicals[n.Logical]
	if !ok {
		return column.LogicalNone
	}
	for _, kind := range l.kinds {
		if kind == n.Kind && n.fits(l.logical) {
			return l.logical
		}
	}
	return column.LogicalNone
}

// logicalText returns the logical type with its parameters, as in decimal(10,2).
func (n *Node) logicalText() string {
	l := n.LogicalType()
	if l == column.LogicalDecimal {
		return fmt.Sprintf("%s(%d,%d)", l, n.Precision, n.Scale)
	}
	return l.String()
}

// fits reports whether the node, which has the right kind, meets the other conditions of a
// logical type.
func (n *Node) fits(l column.Logical) bool {
	switch l {
	case column.LogicalDecimal:
		return n.Precision > 0 && n.Scale >= 0 && n.Scale <= n.Precision &&
			(n.Kind == KindBytes || n.Precision <= maxPrecision(n.Size))
	case column.LogicalUUID:
		return n.Kind == KindString || n.Size == 16
	case column.LogicalDuration:
		return n.Size == 12
	}
	return true
}

// maxPrecision returns the largest d for which every number of d decimal digits fits into
// size bytes of two's complement.
func maxPrecision(size int) int {
	return int(math.Floor(math.Log10(2) * (8*float64(size) - 1)))
}

// number returns an integer property, or 0.
func number(v any) int {
	n, _ := v.(json.Number)
	i, err := n.Int64()
	if err != nil || i != int64(int32(i)) {
		return 0
	}
	return int(i)
}
