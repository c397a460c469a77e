package witness

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// multiset is rows in no order: the sum of their digests of 128 bits. Two of them are equal
// if they have the same rows as often, and else by a chance that is none.
type multiset struct {
	high, low uint64
	buf       []byte
}

// add adds a row that a decoder gave.
func (m *multiset) add(row any) {
	m.buf = appendValue(m.buf[:0], row)
	digest := sha256.Sum256(m.buf)
	var carry uint64
	m.low, carry = bits.Add64(m.low, binary.BigEndian.Uint64(digest[8:]), 0)
	m.high, _ = bits.Add64(m.high, binary.BigEndian.Uint64(digest[:]), carry)
}

func (m *multiset) equal(other *multiset) bool { return m.high == other.high && m.low == other.low }

func (m *multiset) String() string {
	return fmt.Sprintf("rows whose digests add up to %016x%016x", m.high, m.low)
}

// appendValue appends bytes that only values have which differ takes for the same.
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

// tally adds a row of the input and one of the columns, which need not be the same.
func (c *Comparer) tally(want, got any, by decoder) {
	c.want.add(want)
	c.got.add(got)
	if c.by == "" {
		c.by = by.name()
	}
	c.mixed = c.mixed || c.by != by.name()
}

// endTally compares the rows in no order.
func (c *Comparer) endTally() {
	if c.want.equal(&c.got) || c.result.Different > 0 {
		return
	}
	reason := ""
	switch {
	case len(c.result.NotCompared) > 0:
		reason = "rows that no decoder can read are somewhere among the sorted ones"
	case c.mixed:
		reason = "rows that only one decoder can read are somewhere among the sorted ones"
	default:
		c.differs(Difference{Want: c.want.String(), Got: c.got.String()})
		return
	}
	c.notCompared("", 0, c.result.Compared, fmt.Errorf("%s", reason))
	c.result.Compared, c.result.ByGoavro, c.result.ByHamba = 0, 0, 0
}
