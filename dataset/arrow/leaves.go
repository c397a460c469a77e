package arrow

import (
	"bytes"
	"encoding/binary"
	"slices"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/rowtocol/rowtocol/format/column"
)

// spread copies values to the slots that have a value, and zero to other slots.
func spread[T any](dst, values []T, present []int32) {
	if present == nil {
		copy(dst, values)
		return
	}
	var zero T
	j := 0
	for i, p := range present {
		if p == 0 {
			dst[i] = zero
			continue
		}
		dst[i] = values[j]
		j++
	}
}

// number is a type of column values that Arrow stores in the same way.
type number interface {
	int32 | int64 | float32 | float64
}

func ints(v *column.Vector) []int32      { return v.Ints }
func longs(v *column.Vector) []int64     { return v.Longs }
func floats(v *column.Vector) []float32  { return v.Floats }
func doubles(v *column.Vector) []float64 { return v.Doubles }

// numbers makes numbers, and dates and times, which are numbers.
type numbers[T number] struct {
	dataType arrow.DataType
	col      int
	values   func(*column.Vector) []T
}

func (m *numbers[T]) typ() arrow.DataType { return m.dataType }

func (m *numbers[T]) data(b *batch, s slots) (arrow.ArrayData, error) {
	values := m.values(b.Vector(m.col))
	if s.present == nil {
		return b.newData(m.dataType, s, nil, borrow(b, values)), nil
	}
	buffer := newBuffer(b.mem, arrow.GetDataType[T]().(arrow.FixedWidthDataType).Bytes()*s.n)
	spread(arrow.GetData[T](buffer.Bytes()), values, s.present)
	return b.newData(m.dataType, s, nil, buffer), nil
}

// booleans makes booleans.
type booleans struct{ col int }

func (*booleans) typ() arrow.DataType { return arrow.FixedWidthTypes.Boolean }

func (m *booleans) data(b *batch, s slots) (arrow.ArrayData, error) {
	values := b.Vector(m.col).Bools
	buffer := newBuffer(b.mem, (s.n+7)/8)
	dst := buffer.Bytes()
	clear(dst)
	if s.present == nil {
		for i, v := range values {
			dst[i/8] |= bit(v) << (i % 8)
		}
	} else if s.values > 0 {
		j := 0
		for i, p := range s.present {
			dst[i/8] |= (byte(p) & bit(values[min(j, s.values-1)])) << (i % 8)
			j += int(p)
		}
	}
	return b.newData(m.typ(), s, nil, buffer), nil
}

func bit(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// text makes strings and bytes.
type text struct {
	dataType arrow.DataType
	col      int
}

func (m *text) typ() arrow.DataType { return m.dataType }

func (m *text) data(b *batch, s slots) (arrow.ArrayData, error) {
	v := b.Vector(m.col)
	from, text := v.Offsets, v.Data
	if m.dataType.ID() == arrow.STRING && !validStrings(from, text) {
		from, text = repaired(from, text)
	}
	if s.present == nil && s.values > 0 {
		return b.newData(m.dataType, s, nil, borrow(b, from), borrow(b, text)), nil
	}
	offsets := newBuffer(b.mem, 4*(s.n+1))
	end := arrow.GetData[int32](offsets.Bytes())
	clear(end)
	if s.values > 0 {
		j := 0
		for i, p := range s.present {
			j += int(p)
			end[i+1] = from[j]
		}
	}
	return b.newData(m.dataType, s, nil, offsets, borrow(b, text)), nil
}

// validStrings reports whether all strings are UTF-8: data is UTF-8, and no string begins
// inside a character.
func validStrings(offsets []int32, data []byte) bool {
	if isASCII(data) {
		return true
	}
	if !utf8.Valid(data) {
		return false
	}
	for _, at := range offsets {
		if int(at) < len(data) && !utf8.RuneStart(data[at]) {
			return false
		}
	}
	return true
}

// isASCII reports whether all bytes are ASCII. It looks at many bytes at a time.
func isASCII(data []byte) bool {
	const wide, high = 32, 0x8080808080808080
	for ; len(data) >= wide; data = data[wide:] {
		b := data[:wide:wide]
		all := binary.LittleEndian.Uint64(b) | binary.LittleEndian.Uint64(b[8:]) |
			binary.LittleEndian.Uint64(b[16:]) | binary.LittleEndian.Uint64(b[24:])
		if all&high != 0 {
			return false
		}
	}
	for _, c := range data {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// repaired returns strings with U+FFFD for invalid UTF-8.
func repaired(offsets []int32, data []byte) ([]int32, []byte) {
	replacement := []byte(string(utf8.RuneError))
	fixed, out := make([]int32, 1, len(offsets)), slices.Grow([]byte(nil), len(data))
	for i := range offsets[1:] {
		out = append(out, bytes.ToValidUTF8(data[offsets[i]:offsets[i+1]], replacement)...)
		fixed = append(fixed, int32(len(out)))
	}
	return fixed, out
}

// fixed makes values of one size.
type fixed struct {
	dataType *arrow.FixedSizeBinaryType
	col      int
}

func (m *fixed) typ() arrow.DataType { return m.dataType }

func (m *fixed) data(b *batch, s slots) (arrow.ArrayData, error) {
	v, width := b.Vector(m.col), m.dataType.ByteWidth
	if err := b.bounded(m.col, s.n, width); err != nil {
		return nil, err
	}
	if s.present == nil {
		return b.newData(m.dataType, s, nil, borrow(b, v.Data)), nil
	}
	buffer := newBuffer(b.mem, width*s.n)
	dst := buffer.Bytes()
	clear(dst)
	j := 0
	for i, p := range s.present {
		if p != 0 {
			copy(dst[i*width:], v.Data[j*width:(j+1)*width])
			j++
		}
	}
	return b.newData(m.dataType, s, nil, buffer), nil
}
