package cfile

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"github.com/rowtocol/rowtocol/cfile/encoding"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// restorer converts the values of a file to the form that they have in a column.
type restorer struct {
	column  *column.Column
	typ     Type
	symbols map[string]int32 // ordinals of column.Symbols
}

// newRestorer returns the restorer of a column's values. t is a type that the column can
// have.
func newRestorer(c *column.Column, t Type) restorer {
	r := restorer{column: c, typ: t}
	if t.Width() > 0 || c.Type != column.Int {
		return r
	}
	r.symbols = make(map[string]int32, len(c.Symbols))
	for i, s := range c.Symbols { // enums with equal symbols are stored as ordinals
		r.symbols[s] = int32(i)
	}
	return r
}

// countValues returns the number of values of a type.
func countValues(s *encoding.Values, t Type) int {
	if width := t.Width(); width > 0 {
		return len(s.Fixed) / width
	}
	return s.BinaryLen()
}

// text reports whether values are strings or bytes, unchanged from the file.
func (r *restorer) text() bool {
	return r.typ.Width() == 0 && (r.column.Type == column.String || r.column.Type == column.Bytes)
}

// begin prepares rows for values of v. Text is read directly into the memory of v.Data.
func (r *restorer) begin(v *column.Vector, rows *Rows) {
	rows.Reset()
	if r.text() {
		rows.Offsets, rows.Data = append(rows.Offsets, uint32(len(v.Data))), v.Data
	}
}

// end appends the values that were read into rows since begin to v. The error of a value is damage
// without a place, and values before it may have been appended. If text does not fit, the error is
// column.ErrFull.
func (r *restorer) end(v *column.Vector, rows *Rows) (err error) {
	s := &rows.Values
	n := countValues(s, r.typ)
	if r.text() {
		s.Data, err = nil, r.endText(v, s.Offsets, s.Data)
		if err == nil {
			v.Values += n
		}
		return err
	}
	switch r.column.Type {
	case column.Boolean:
		for _, b := range s.Fixed {
			v.Bools = append(v.Bools, b != 0)
		}
	case column.Int:
		if r.typ.Width() == 0 {
			v.Ints, err = r.appendSymbols(v.Ints, s)
		} else {
			v.Ints = r.appendInts(v.Ints, s.Fixed)
		}
	case column.Long:
		v.Longs, err = r.appendLongs(v.Longs, s.Fixed)
	case column.Float:
		for b := s.Fixed; len(b) > 0; b = b[4:] {
			v.Floats = append(v.Floats, math.Float32frombits(binary.LittleEndian.Uint32(b)))
		}
	case column.Double:
		for b := s.Fixed; len(b) > 0; b = b[8:] {
			v.Doubles = append(v.Doubles, math.Float64frombits(binary.LittleEndian.Uint64(b)))
		}
	case column.Bytes:
		err = r.appendDecimals(v, s.Fixed)
	}
	v.Values += n
	return err
}

// appendInts appends integers of up to 32 bits.
func (r *restorer) appendInts(dst []int32, b []byte) []int32 {
	dst = slices.Grow(dst, len(b)/r.typ.Width())
	switch r.typ {
	case Int8:
		for _, x := range b {
			dst = append(dst, int32(int8(x)))
		}
	case Uint8:
		for _, x := range b {
			dst = append(dst, int32(x))
		}
	case Int16:
		for ; len(b) > 0; b = b[2:] {
			dst = append(dst, int32(int16(binary.LittleEndian.Uint16(b))))
		}
	case Uint16:
		for ; len(b) > 0; b = b[2:] {
			dst = append(dst, int32(binary.LittleEndian.Uint16(b)))
		}
	default:
		for ; len(b) > 0; b = b[4:] {
			dst = append(dst, int32(binary.LittleEndian.Uint32(b)))
		}
	}
	return dst
}

// appendLongs appends UINT32 or 64-bit integers.
func (r *restorer) appendLongs(dst []int64, b []byte) ([]int64, error) {
	if r.typ == Uint32 {
		dst = slices.Grow(dst, len(b)/4)
		for ; len(b) > 0; b = b[4:] {
			dst = append(dst, int64(binary.LittleEndian.Uint32(b)))
		}
		return dst, nil
	}
	dst = slices.Grow(dst, len(b)/8)
	for ; len(b) > 0; b = b[8:] {
		x := int64(binary.LittleEndian.Uint64(b))
		//guard: rejects a UINT64 that does not fit a long
		if r.typ == Uint64 && x < 0 {
			return dst, damage.New(damage.Unsupported, "", -1, "the value %d is more than a long can hold", uint64(x))
		}
		dst = append(dst, x)
	}
	return dst, nil
}

// appendSymbols appends the ordinals of the symbols in s.
func (r *restorer) appendSymbols(dst []int32, s *encoding.Values) ([]int32, error) {
	dst = slices.Grow(dst, s.BinaryLen())
	for i := range s.BinaryLen() {
		text := s.Binary(i)
		ordinal, ok := r.symbols[string(text)]
		//guard: rejects a text that is not a symbol
		if !ok {
			return dst, damage.New(damage.Value, "", -1, "%.60q is not a symbol of the enum", text)
		}
		dst = append(dst, ordinal)
	}
	return dst, nil
}

// endText adds the text that follows v.Data in data, in the same memory, to the values of v.
func (r *restorer) endText(v *column.Vector, offsets []uint32, data []byte) error {
	_, _, room := v.Room(r.column.Type)
	before := len(v.Data)
	//guard: keeps offsets of strings within 32 bits
	if len(data)-before > room {
		return column.ErrFull
	}
	if v.Data = data; len(v.Offsets) == 0 {
		v.Offsets = append(v.Offsets, 0)
	}
	v.Offsets = slices.Grow(v.Offsets, len(offsets))
	for _, end := range offsets[1:] {
		v.Offsets = append(v.Offsets, int32(end))
	}
	return nil
}

// appendDecimals appends numbers in two's complement of the column's fixed size, most
// significant byte first.
func (r *restorer) appendDecimals(v *column.Vector, b []byte) error {
	width, size := r.typ.Width(), r.column.FixedSize
	//guard: keeps offsets of strings within 32 bits
	if _, _, room := v.Room(r.column.Type); len(b)/width*size > room {
		return column.ErrFull
	}
	if len(v.Offsets) == 0 && len(b) > 0 {
		v.Offsets = append(v.Offsets, 0)
	}
	v.Data = slices.Grow(v.Data, len(b)/width*size)
	for ; len(b) > 0; b = b[width:] {
		sign := byte(int8(b[width-1]) >> 7)
		for i := size; i > width; i-- {
			v.Data = append(v.Data, sign)
		}
		kept := min(size, width)
		//guard: rejects a number that loses bytes
		if byte(int8(b[kept-1])>>7) != sign || bytes.Count(b[kept:width], []byte{sign}) < width-kept {
			return damage.New(damage.Value, "", -1, "a decimal does not fit %d bytes", size)
		}
		for i := kept - 1; i >= 0; i-- {
			v.Data = append(v.Data, b[i])
		}
		v.Offsets = append(v.Offsets, int32(len(v.Data)))
	}
	return nil
}
