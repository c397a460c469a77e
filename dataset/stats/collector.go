package stats

import (
	"bytes"
	"math"

	"github.com/cespare/xxhash/v2"

	"github.com/rowtocol/rowtocol/format/column"
)

// maxTextKept limits the bytes that are kept of the least and of the largest text.
const maxTextKept = 64

// collector collects the figures of one column.
type collector struct {
	column *column.Column
	sketch *sketch
	hashes []uint64 // hashes that are not in the sketch yet
	last   uint64   // hash of the last value
	hashed bool     // last is set
	err    error    // why there is no memory for the sketch

	values, nulls, nan int64
	ordered            int64 // number of values with an order
	minInt, maxInt     int64
	minFloat, maxFloat float64
	minText, maxText   []byte
	cutMin, cutMax     bool
	seen               []bool // whether a symbol occurred, by its ordinal
	sum                float64
	lengths, items     span
}

// span sums up lengths.
type span struct {
	n, min, max int64
	sum         float64
}

func (s *span) add(n int64) {
	if s.n == 0 || n < s.min {
		s.min = n
	}
	if n > s.max {
		s.max = n
	}
	s.n++
	s.sum += float64(n)
}

// merge sums up two spans.
func (s *span) merge(o *span) {
	if o.n == 0 {
		return
	}
	if s.n == 0 || o.min < s.min {
		s.min = o.min
	}
	s.max = max(s.max, o.max)
	s.n += o.n
	s.sum += o.sum
}

// merge adds the figures of later values, whose hashes the sketch has.
func (c *collector) merge(later *collector) {
	if later.ordered > 0 {
		c.mergeBounds(later)
	}
	c.values, c.nulls, c.nan, c.ordered = c.values+later.values, c.nulls+later.nulls, c.nan+later.nan, c.ordered+later.ordered
	c.sum += later.sum
	c.lengths.merge(&later.lengths)
	c.items.merge(&later.items)
	if c.seen == nil {
		c.seen = later.seen
	}
	for i, seen := range later.seen {
		c.seen[i] = c.seen[i] || seen
	}
}

// mergeBounds merges the least and the largest values. later has at least one.
func (c *collector) mergeBounds(later *collector) {
	first := c.ordered == 0
	if first || later.minInt < c.minInt {
		c.minInt = later.minInt
	}
	if first || later.maxInt > c.maxInt {
		c.maxInt = later.maxInt
	}
	if first || later.minFloat < c.minFloat {
		c.minFloat = later.minFloat
	}
	if first || later.maxFloat > c.maxFloat {
		c.maxFloat = later.maxFloat
	}
	if order := c.compare(later.minText, c.minText); first || order < 0 || order == 0 && c.cutMin {
		c.minText, c.cutMin = later.minText, later.cutMin
	}
	if order := c.compare(later.maxText, c.maxText); first || order > 0 || order == 0 && later.cutMax {
		c.maxText, c.cutMax = later.maxText, later.cutMax
	}
}

// add adds a batch's values of the column.
func (c *collector) add(v *column.Vector) {
	if c.column.Array {
		c.addLengths(v.Lengths)
	}
	if c.column.Type == column.Null {
		if !c.column.Array {
			c.nulls += int64(v.Values)
		}
		return
	}
	c.values += int64(v.Values)
	switch c.column.Type {
	case column.Boolean:
		c.addBools(v.Bools)
	case column.Int, column.Fixed32:
		c.addInts(v.Ints)
	case column.Long, column.Fixed64:
		for _, n := range v.Longs {
			c.addInt(n)
		}
	case column.Float:
		for _, f := range v.Floats {
			c.addFloat(float64(f))
		}
	case column.Double:
		for _, f := range v.Doubles {
			c.addFloat(f)
		}
	default:
		for i := range v.Values {
			c.addText(v.Data[v.Offsets[i]:v.Offsets[i+1]])
		}
	}
}

func (c *collector) addLengths(lengths []int32) {
	for _, n := range lengths {
		switch {
		case !c.column.Optional:
			c.items.add(int64(n))
			if c.column.Type == column.Null {
				c.values += int64(n)
			}
		case n == 0:
			c.nulls++
		case c.column.Type == column.Null:
			c.values++
		}
	}
}

func (c *collector) addBools(values []bool) {
	for _, b := range values {
		n := int64(0)
		if b {
			n = 1
		}
		c.addInt(n)
	}
}

func (c *collector) addInts(values []int32) {
	if c.column.Symbols == nil {
		for _, n := range values {
			c.addInt(int64(n))
		}
		return
	}
	if c.seen == nil {
		c.seen = make([]bool, len(c.column.Symbols))
	}
	for _, n := range values {
		c.seen[n] = true
	}
}

func (c *collector) addInt(n int64) {
	if c.ordered == 0 || n < c.minInt {
		c.minInt = n
	}
	if c.ordered == 0 || n > c.maxInt {
		c.maxInt = n
	}
	c.ordered++
	c.sum += float64(n)
	c.hash(hashNumber(uint64(n)))
}

func (c *collector) addFloat(f float64) {
	if math.IsNaN(f) {
		c.nan++
		c.hash(hashNumber(1)) // as a float, these bits are only the smallest positive value
		return
	}
	if c.ordered == 0 || f < c.minFloat {
		c.minFloat = f
	}
	if c.ordered == 0 || f > c.maxFloat {
		c.maxFloat = f
	}
	c.ordered++
	c.sum += f
	c.hash(hashNumber(math.Float64bits(f + 0))) // +0 makes -0 and 0 equal
}

func (c *collector) addText(b []byte) {
	c.lengths.add(int64(len(b)))
	c.hash(xxhash.Sum64(b))
	if c.column.Logical == column.LogicalDuration {
		return // durations have no order
	}
	if c.ordered == 0 || c.compare(b, c.minText) < 0 {
		c.minText, c.cutMin = keepText(c.minText, b, c.column)
	}
	if c.ordered == 0 || c.compare(b, c.maxText) > 0 {
		c.maxText, c.cutMax = keepText(c.maxText, b, c.column)
	}
	c.ordered++
}

// keepText copies the beginning of a value. It copies a whole decimal, because a decimal
// cannot be cut.
func keepText(dst, b []byte, col *column.Column) ([]byte, bool) {
	cut := len(b) > maxTextKept && col.Logical != column.LogicalDecimal
	if cut {
		b = b[:maxTextKept]
	}
	return append(dst[:0], b...), cut
}

func (c *collector) compare(a, b []byte) int {
	if c.column.Logical == column.LogicalDecimal {
		return column.CompareDecimals(a, b)
	}
	return bytes.Compare(a, b)
}

// hash adds the hash of a value. It skips a value that equals the last value,
// which is common.
func (c *collector) hash(h uint64) {
	if h != c.last || !c.hashed {
		c.last, c.hashed = h, true
		if c.hashes = append(c.hashes, h); len(c.hashes) == cap(c.hashes) {
			c.pass()
		}
	}
}

// pass passes the hashes on to the sketch.
func (c *collector) pass() {
	if err := c.sketch.add(c.hashes); err != nil {
		c.err = err
	}
	c.hashes = c.hashes[:0]
}

// hashNumber returns a hash of a number.
func hashNumber(n uint64) uint64 {
	n ^= n >> 32
	n *= 0xd6e8feb86659fd93
	n ^= n >> 32
	n *= 0xd6e8feb86659fd93
	return n ^ n>>32
}
