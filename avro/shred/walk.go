package shred

import (
	"encoding/binary"
	"math"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// maxEmptyItems bounds the array items of a row that take no bytes. The size of the input
// does not bound their number.
const maxEmptyItems = 1 << 20

// Shredder walks rows and appends their values to the open blocks of their columns. It
// belongs to one goroutine and allocates nothing per row.
type Shredder struct {
	ops       []op
	leaves    int // with layout Levels, the number of leaves
	growth    int // see compiler
	unbounded bool
	b         []byte
	ahead     []byte  // b, or nil to take no shortcuts (see shortcuts.go)
	empty     int     // number of items without bytes in the current row
	allEmpty  int64   // number of items without bytes in earlier rows
	places    []int   // begin and end of each key in the last row
	keys      []*Node // the types of keys
	badUTF8   int64
	invalid   column.InvalidText // what becomes of strings that are not UTF-8
	err       *damage.Error
	bufs      *column.Buffers
}

// NewShredder returns a Shredder that fills bufs with rows of the mapping. bufs must be made
// for the mapping's columns.
func NewShredder(m *Mapping, bufs *column.Buffers) *Shredder {
	c := compiler{columns: m.Columns, bufs: bufs}
	return c.shredder(m)
}

// InvalidUTF8 returns the number of string values so far that are not UTF-8.
func (s *Shredder) InvalidUTF8() int64 { return s.badUTF8 }

// SetInvalid sets what becomes of strings that are not UTF-8. The default is KeepInvalid. With
// RefuseInvalid, Row fails.
func (s *Shredder) SetInvalid(i column.InvalidText) { s.invalid = i }

// copyInvalid counts a string that is not UTF-8, whose length and bytes are from p to end. It
// returns end, or -1 with the error set if such strings are refused.
func (s *Shredder) copyInvalid(buf *column.Buffer, p int, value []byte, end int) int {
	s.badUTF8++
	switch s.invalid {
	//guard: refuses a string that the format cannot hold
	case column.RefuseInvalid:
		return s.fail(damage.Unsupported, p, "a string is not UTF-8, which the format requires; --invalid-utf8 replace changes it, and with bytes in place of string, --schema keeps it")
	case column.ReplaceInvalid:
		appendReplaced(buf, value)
	default:
		buf.AppendSized(value)
	}
	return end
}

// EmptyItems returns the number of array items so far that took no bytes. A row of a few
// bytes may have a million such items.
func (s *Shredder) EmptyItems() int64 { return s.allEmpty + int64(s.empty) }

// Growth bounds the size of values: in all columns together, the values of a row take at
// most perRow bytes, and perByte times the bytes of its datum. ok is false if there is no such
// bound, because a value without bytes in the datum can take bytes in its column.
func (s *Shredder) Growth() (perRow, perByte int, ok bool) {
	if s.bufs.Layout() == column.Levels {
		// A word of four bytes stands for an entry. A leaf has an entry for each row, and for
		// each item of the lists above it. An item has a byte that no other item has. A byte of
		// text can become U+FFFD, and a value of a byte can get a length.
		return 4 * s.leaves, 3 + 4*s.growth, !s.unbounded
	}
	// A byte can be the index of a union. It adds one length to each branch's column,
	// after a pending repeat of up to five bytes.
	return 0, 6 * max(2, s.growth), !s.unbounded
}

// Row shreds the datum at the start of the slice and returns its size. The error is a
// *damage.Error that names the field's path and the offset in the slice. After an error
// the columns hold part of the row.
func (s *Shredder) Row(datum []byte) (int, error) {
	return s.row(datum, datum)
}

// row is like Row. If ahead is nil, run takes no shortcuts.
func (s *Shredder) row(datum, ahead []byte) (int, error) {
	s.allEmpty += int64(s.empty)
	s.b, s.ahead, s.empty = datum, ahead, 0
	p := s.run(s.ops, 0, 1)
	if p < 0 {
		err := s.err
		s.err = nil
		return 0, err
	}
	return p, nil
}

// step walks one op without shortcuts.
func (s *Shredder) step(o *op, p int) int {
	if !o.optional {
		return s.value(o, p)
	}
	present, q := s.presence(o, p)
	if !present {
		return q
	}
	return s.value(o, q)
}

// presence walks the index of a union of null and one branch. It returns the position
// after the index, or a negative q after an error.
func (s *Shredder) presence(o *op, p int) (present bool, q int) {
	i, q := s.index(p, 2, "union index %d of %d branches")
	if q < 0 {
		return false, q
	}
	if i == int(o.null) {
		o.buf.Length(0)
		return false, q
	}
	o.buf.Length(1)
	return true, q
}

// value walks the value of an op, by its code.
func (s *Shredder) value(o *op, p int) int {
	switch o.code {
	case opInt:
		return s.copyVarint(o.buf, p, maxInt)
	case opLong:
		return s.copyVarint(o.buf, p, maxLong)
	case opString:
		return s.copySized(o.buf, p, true)
	case opSized:
		return s.copySized(o.buf, p, false)
	case opFixedWidth:
		q := s.skipBytes(p, int(o.n))
		if q >= 0 {
			o.buf.Append(s.b[p:q])
		}
		return q
	case opBoolean:
		return s.boolean(o.buf, p)
	case opEnum:
		return s.enum(o, p)
	case opFixed:
		q := s.skipBytes(p, int(o.n))
		if q >= 0 {
			o.buf.AppendSized(s.b[p:q])
		}
		return q
	case opRaw:
		q := s.skip(o.more.node, p, 0)
		if q >= 0 {
			o.buf.AppendSized(s.b[p:q])
		}
		return q
	case opNullable:
		present, q := s.presence(o, p)
		if !present {
			return q
		}
		return s.run(o.more.items, q, 1)
	case opUnion:
		return s.union(o, p)
	case opPass:
		return s.pass(o.more.items, p, 1)
	case opPlace:
		s.places[o.n] = p
		return p
	case opSimpleArray:
		return s.simpleArray(o, p)
	case opEntry, opItem, opList, opNullUnion, opRowEnd:
		return s.levels(o, p)
	}
	return s.counted(o, p)
}

// failed adds the op's name to the path of the error that is set, and returns -1.
func (s *Shredder) failed(o *op) int {
	s.at(o.more.name)
	return -1
}

// at puts a path component before the error's path. Each level of the walk calls it as
// the walk returns.
func (s *Shredder) at(name string) { s.err.Path = below(name, s.err.Path) }

// below puts a component before a path. Components of items, such as [], follow without a
// dot.
func below(name, path string) string {
	if path != "" && (path[0] == '[' || path[0] == '{') {
		return name + path
	}
	return join(name, path)
}

// join puts a dot between two parts of a path, unless one is empty.
func join(path, name string) string {
	if path == "" || name == "" {
		return path + name
	}
	return path + "." + name
}

func (s *Shredder) fail(kind damage.Kind, p int, reason string, args ...any) int {
	s.err = damage.New(kind, "", int64(p), reason, args...)
	return -1
}

func (s *Shredder) truncated(p, need int) int {
	return s.fail(damage.Truncated, p, "%d bytes wanted, %d left in the block", need, len(s.b)-p)
}

// The most bytes of a varint.
const (
	maxInt  = 5
	maxLong = 10
)

// lastByteMax returns the highest value of the last byte of a varint of width bytes.
func lastByteMax(width int) byte {
	if width == maxInt {
		return 0x0f
	}
	return 0x01
}

// varintEnd returns the position after the varint at p, or -1 with the error set if it
// is cut off, too long or too large for its width.
func (s *Shredder) varintEnd(p, width int) int {
	b := s.b[min(p, len(s.b)):]
	for i, c := range b {
		if c < 0x80 {
			//guard: rejects a number of more bits than its type has
			if i == width-1 && c > lastByteMax(width) {
				return s.fail(damage.Value, p, "varint of more than %d bits", width*32/maxInt)
			}
			return p + i + 1
		}
		//guard: rejects a number of more bytes than its type allows
		if i == width-1 {
			return s.fail(damage.Value, p, "varint of more than %d bytes", width)
		}
	}
	return s.fail(damage.Truncated, p, "varint is cut off by the end of the block")
}

// copyVarint copies an int or long. It shortens an encoding that is longer than needed.
func (s *Shredder) copyVarint(buf *column.Buffer, p, width int) int {
	if p < len(s.b) && s.b[p] < 0x80 {
		buf.AppendByte(s.b[p])
		return p + 1
	}
	q := s.varintEnd(p, width)
	if q < 0 {
		return q
	}
	if s.b[q-1] == 0 {
		v, _ := binary.Varint(s.b[p:q])
		buf.AppendVarint(v)
		return q
	}
	buf.Append(s.b[p:q])
	return q
}

// varint reads a long, such as a length, that the walk needs.
func (s *Shredder) varint(p int) (int64, int) {
	if p < len(s.b) && s.b[p] < 0x80 {
		c := s.b[p]
		return int64(c>>1) ^ -int64(c&1), p + 1
	}
	q := s.varintEnd(p, maxLong)
	if q < 0 {
		return 0, q
	}
	v, _ := binary.Varint(s.b[p:q])
	return v, q
}

// copySized copies a length and its bytes.
func (s *Shredder) copySized(buf *column.Buffer, p int, text bool) int {
	n, start := s.varint(p)
	if start < 0 {
		return start
	}
	//guard: rejects a value that reaches beyond its block
	if uint64(n) > uint64(len(s.b)-start) {
		return s.badLength(p, n, len(s.b)-start)
	}
	end := start + int(n)
	value := s.b[start:end]
	if text && !validUTF8(value) {
		return s.copyInvalid(buf, p, value, end)
	}
	if start-p > 1 && s.b[start-1] == 0 {
		buf.AppendSized(value)
	} else {
		buf.Append(s.b[p:end])
	}
	return end
}

func (s *Shredder) badLength(p int, n int64, left int) int {
	if n < 0 {
		return s.fail(damage.Size, p, "negative length %d", n)
	}
	return s.fail(damage.Truncated, p, "length %d, but %d bytes left in the block", n, left)
}

func (s *Shredder) boolean(buf *column.Buffer, p int) int {
	if p >= len(s.b) {
		return s.truncated(p, 1)
	}
	//guard: rejects a boolean other than 0 and 1
	if s.b[p] > 1 {
		return s.fail(damage.Value, p, "boolean byte 0x%02x is neither 0 nor 1", s.b[p])
	}
	buf.AppendBool(s.b[p] == 1)
	return p + 1
}

// index reads an enum ordinal or a union index, and checks that it is one of the
// choices. format is the message for a wrong index, with both numbers.
func (s *Shredder) index(p, choices int, format string) (int, int) {
	n, q := s.varint(p)
	//guard: rejects an index without a branch or symbol
	if q >= 0 && uint64(n) >= uint64(choices) {
		return 0, s.fail(damage.Value, p, format, n, choices)
	}
	return int(n), q
}

func (s *Shredder) enum(o *op, p int) int {
	n, q := s.index(p, int(o.n), "enum ordinal %d of %d symbols")
	if q >= 0 {
		o.buf.AppendVarint(int64(n))
	}
	return q
}

func (s *Shredder) union(o *op, p int) int {
	branches := o.more.branches
	chosen, q := s.index(p, len(branches), "union index %d of %d branches")
	if q < 0 {
		return q
	}
	for i := range branches {
		if b := branches[i].buf; b != nil {
			if i == chosen {
				b.Length(1)
			} else {
				b.Absent()
			}
		}
	}
	return s.run(branches[chosen].ops, q, 1)
}

// blockCount reads the count at the start of a block of an Avro array or map. end is the
// end of the block, or -1 if the block does not state its size.
func (s *Shredder) blockCount(minSize, p int) (n, end, q int) {
	// A count of one byte needs no checks if it is not negative and its items fit into the rest.
	if p < len(s.b) {
		if c := s.b[p]; c&0x81 == 0 && minSize > 0 && int64(c>>1)*int64(minSize) < int64(len(s.b)-p) {
			return int(c >> 1), -1, p + 1
		}
	}
	count, q := s.varint(p)
	if q < 0 {
		return 0, -1, q
	}
	end = -1
	if count < 0 {
		at := q
		size, r := s.varint(q)
		if r < 0 {
			return 0, -1, r
		}
		//guard: rejects an array block that reaches beyond its block of rows
		if uint64(size) > uint64(len(s.b)-r) {
			return 0, -1, s.badLength(at, size, len(s.b)-r)
		}
		if count == math.MinInt64 {
			return 0, -1, s.fail(damage.Count, p, "count of items overflows")
		}
		count, end, q = -count, r+int(size), r
	}
	switch left := len(s.b) - q; {
	//guard: rejects a count for which the block is too short
	case minSize > 0 && count > int64(left/minSize):
		return 0, -1, s.fail(damage.Count, p, "%d items of at least %d bytes, but %d bytes left in the block", count, minSize, left)
	//guard: bounds the items without bytes
	case minSize == 0 && count > int64(maxEmptyItems-s.empty):
		return 0, -1, s.fail(damage.Count, p, "%d items that may take no bytes; at most %d in a row are allowed", count, maxEmptyItems)
	case minSize == 0:
		s.empty += int(count)
	}
	return int(count), end, q
}

// simpleArray walks an array whose length and values share a column. The length comes
// first. If a second Avro block follows, which is rare, the values are removed from the
// column, and the array is walked again with the whole length.
func (s *Shredder) simpleArray(o *op, p int) int {
	if p < len(s.b) && s.b[p] == 0 {
		o.buf.Absent()
		return p + 1
	}
	empty, badUTF8 := s.empty, s.badUTF8
	n, end, q := s.blockCount(o.more.minSize, p)
	if q < 0 {
		return q
	}
	mark := o.buf.Mark()
	o.buf.Length(uint32(n))
	if q = s.items(o, p, q, n, end); q < 0 || n == 0 {
		return q
	}
	if q < len(s.b) && s.b[q] == 0 {
		return q + 1
	}
	rest, q := s.blocks(o, q)
	if q < 0 {
		return q
	}
	if rest += n; rest > math.MaxInt32 {
		return s.tooMany(p, rest)
	}
	s.badUTF8, s.empty = badUTF8, empty
	o.buf.Restore(mark)
	o.buf.Length(uint32(rest))
	for from := p; from < q; {
		if from, _ = s.block(o, from); from < 0 {
			return from
		}
	}
	return q
}

func (s *Shredder) tooMany(p, n int) int {
	return s.fail(damage.Count, p, "%d items; a column's length holds at most %d", n, math.MaxInt32)
}

// block walks one Avro block of an array or map and returns the position after it and
// the number of its items.
func (s *Shredder) block(o *op, p int) (q, n int) {
	n, end, q := s.blockCount(o.more.minSize, p)
	if q < 0 {
		return q, 0
	}
	return s.items(o, p, q, n, end), n
}

// items walks n items from q on. They belong to the Avro block at p. end is the end that the
// block states, or -1 if it does not state its size.
func (s *Shredder) items(o *op, p, q, n, end int) int {
	if o.buf == nil {
		q = s.pass(o.more.items, q, n)
	} else {
		q = s.run(o.more.items, q, n)
	}
	//guard: rejects items that contradict the size of their block
	if q >= 0 && end >= 0 && q != end {
		return s.fail(damage.Size, p, "items end %d bytes off their block's stated size", q-end)
	}
	return q
}

// blocks walks the Avro blocks of an array or map from p to the closing zero
// and returns the number of items.
func (s *Shredder) blocks(o *op, p int) (total, q int) {
	for p >= len(s.b) || s.b[p] != 0 {
		q, n := s.block(o, p)
		if q < 0 || n == 0 {
			return total, q
		}
		total, p = total+n, q
	}
	return total, p + 1
}

// counted walks an array whose items have columns of their own, or a map. Its column
// holds only lengths, so the length may be added after the items.
func (s *Shredder) counted(o *op, p int) int {
	n, q := s.blocks(o, p)
	if q < 0 {
		return q
	}
	if n > math.MaxInt32 {
		return s.tooMany(p, n)
	}
	o.buf.Length(uint32(n))
	return q
}
