package dataset

import (
	"encoding/binary"
	"io"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// constant is a key as a column of a part: each row has the same value, or none.
type constant struct {
	typ      column.Type
	optional bool
	value    column.Vector // the value as a column of one row
	encoded  []byte        // the value as a column stores it; nil if there is no value
}

func newConstant(c *keyColumn, k *manifest.Key) *constant {
	s := &constant{typ: column.String, optional: c.optional}
	switch c.kind {
	case manifest.KeyLong:
		s.typ = column.Long
	case manifest.KeyDate:
		s.typ = column.Int
	}
	if c.optional {
		s.value.Lengths = []int32{0}
	}
	if k.Null {
		return s
	}
	if c.optional {
		s.value.Lengths[0] = 1
	}
	s.value.Values = 1
	switch c.kind {
	case manifest.KeyLong:
		n, _ := k.Long()
		s.value.Longs, s.encoded = []int64{n}, binary.AppendVarint(nil, n)
	case manifest.KeyDate:
		n, _ := k.Date()
		s.value.Ints, s.encoded = []int32{n}, binary.AppendVarint(nil, int64(n))
	default:
		s.value.Offsets, s.value.Data = []int32{0, int32(len(k.Value))}, []byte(k.Value)
		s.encoded = append(binary.AppendVarint(nil, int64(len(k.Value))), k.Value...)
	}
	return s
}

// append appends the value as a field of a row.
func (c *constant) append(dst []byte) []byte {
	if c.optional {
		dst = append(dst, byte(2*c.value.Lengths[0]))
	}
	return append(dst, c.encoded...)
}

// blocks returns the block table of the column as if it were stored: a single block.
func (c *constant) blocks(rows int64) []format.Block {
	b := format.Block{Rows: rows, RawSize: int64(len(c.encoded))}
	if b.Min, b.Max, b.Presence = c.encoded, c.encoded, format.OnlyValues; c.encoded == nil {
		b.Presence = format.NoValues
	}
	return []format.Block{b}
}

// constantRows is the most rows that a constantCursor reads at a time.
const constantRows = 256

// constantCursor implements format.Cursor.
type constantCursor struct {
	typ    column.Type
	values column.Vector // values of some rows
	some   int           // number of rows in values, at most constantRows
	each   int64         // values per row, 0 or 1
	at     int64
	rows   int64
}

func (c *constant) cursor(rows int64) (*constantCursor, error) {
	s := &constantCursor{typ: c.typ, some: int(min(rows, constantRows)), each: int64(c.value.Values), rows: rows}
	for range s.some {
		if err := s.values.Extend(c.typ, c.value.Lengths, &c.value, 0, c.value.Values); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// SeekRow implements format.Cursor.
func (c *constantCursor) SeekRow(row int64) error {
	c.at = row
	return nil
}

// Skip implements format.Cursor.
func (c *constantCursor) Skip(n int64) (items int64, err error) {
	c.at += n
	return n * c.each, nil
}

// Read implements format.Cursor.
func (c *constantCursor) Read(v *column.Vector, n int) (read, items int, err error) {
	read = int(min(int64(n), int64(c.some), c.rows-c.at))
	if read <= 0 {
		if n == 0 {
			return 0, 0, nil
		}
		return 0, 0, io.EOF
	}
	items = read * int(c.each)
	if err := v.Extend(c.typ, c.values.Lengths[:min(read, len(c.values.Lengths))], &c.values, 0, items); err != nil {
		return 0, 0, err
	}
	c.at += int64(read)
	return read, items, nil
}
