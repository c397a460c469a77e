package witness

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/rowtocol/rowtocol/internal/multiset"
)

// rowSet is a set of rows without an order.
type rowSet struct {
	sum multiset.Sum
	buf []byte
}

// add adds a row from a decoder.
func (m *rowSet) add(row any) {
	m.buf = appendValue(m.buf[:0], row)
	m.sum.Add(m.buf)
}

func (m *rowSet) String() string { return fmt.Sprintf("rows whose digests add up to %s", m.sum) }

// appendValue appends bytes that are equal exactly if differ finds the values equal.
func appendValue(dst []byte, v any) []byte {
	sized := func(kind byte, n int) { dst = binary.AppendUvarint(append(dst, kind), uint64(n)) }
	switch v := v.(type) {
	case nil:
		return append(dst, 'n')
	case bool:
		if v {
			return append(dst, 't')
		}
		return append(dst, 'f')
	case int32:
		return binary.AppendVarint(append(dst, 'i'), int64(v))
	case int64:
		return binary.AppendVarint(append(dst, 'l'), v)
	case float32:
		return binary.BigEndian.AppendUint32(append(dst, 'F'), math.Float32bits(v))
	case float64:
		return binary.BigEndian.AppendUint64(append(dst, 'D'), math.Float64bits(v))
	case string:
		sized('s', len(v))
		return append(dst, v...)
	case []byte:
		sized('b', len(v))
		return append(dst, v...)
	case []any:
		sized('a', len(v))
		for _, item := range v {
			dst = appendValue(dst, item)
		}
		return dst
	case map[string]any:
		sized('m', len(v))
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			dst = appendValue(appendValue(dst, name), v[name])
		}
		return dst
	case named:
		return appendValue(appendValue(append(dst, 'u'), v.name), v.value)
	}
	return fmt.Appendf(append(dst, '?'), "%T %v", v, v)
}

// tally adds a row of the input and a row of the columns, which may differ.
func (o *outcome) tally(want, got any, by decoder) {
	o.want.add(want)
	o.got.add(got)
	if o.by == "" {
		o.by = by.name()
	}
	o.mixed = o.mixed || o.by != by.name()
}

// addTally adds the rows of a block.
func (r *results) addTally(o *outcome) {
	if o.by == "" {
		return
	}
	r.want.sum.Join(o.want.sum)
	r.got.sum.Join(o.got.sum)
	r.mixed = r.mixed || o.mixed || r.by != "" && r.by != o.by
	r.by = o.by
}

// endTally compares the sets of rows.
func (r *results) endTally() {
	if r.want.sum == r.got.sum || r.Different > 0 {
		return
	}
	reason := ""
	switch {
	case len(r.NotCompared) > 0:
		reason = "rows that no decoder can read are somewhere among the sorted ones"
	case r.mixed:
		reason = "rows that only one decoder can read are somewhere among the sorted ones"
	default:
		r.differs(Difference{Want: r.want.String(), Got: r.got.String()})
		return
	}
	r.notCompared(NotCompared{Rows: r.Compared, Reason: reason})
	r.Compared, r.ByGoavro, r.ByHamba = 0, 0, 0
}
