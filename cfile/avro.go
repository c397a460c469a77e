package cfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/rowtocol/rowtocol/cfile/encoding"
	"github.com/rowtocol/rowtocol/format/column"
)

// avroValues converts the values of a column from Avro's encoding to a CFile's. Avro has
// booleans in a byte each, int and long as zig-zag varints, float and double little-endian,
// string and bytes after their lengths. Enums are ints, fixed values bytes.
type avroValues struct {
	column *column.Column
	typ    Type // of the file
	width  int
	// symbols are the symbols of an enum that is stored as strings, else nil.
	symbols []string
}

func newAvroValues(c *column.Column, t Type) avroValues {
	a := avroValues{column: c, typ: t, width: t.Width()}
	if c.Type == column.Int && t == String {
		a.symbols = c.Symbols
	}
	return a
}

// valueError reports a value that a file cannot hold.
type valueError struct {
	index  int64 // of the value
	reason string
}

func (e *valueError) Error() string { return fmt.Sprintf("value %d: %s", e.index, e.reason) }

func newValueError(index int64, reason string, args ...any) error {
	return &valueError{index, fmt.Sprintf(reason, args...)}
}

// shifted returns err with its index, if it is a valueError, increased by before.
func shifted(err error, before int64) error {
	if v, ok := err.(*valueError); ok {
		return &valueError{before + v.index, v.reason}
	}
	return err
}

// storageHint returns a hint for the end of an error about a value outside of its type's range.
func (a *avroValues) storageHint() string {
	return fmt.Sprintf("; --%s %s=%s stores the column's values as they are", optionEncoding, a.column.Name, physical)
}

// errCut is returned for bytes that are not whole values in Avro's encoding.
var errCut = errors.New("a block ends within a value")

// count returns the number of values.
func (a *avroValues) count(data []byte) (int, error) {
	switch a.column.Type {
	case column.Boolean:
		return len(data), nil
	case column.Float:
		return len(data) / 4, nil
	case column.Double:
		return len(data) / 8, nil
	case column.Int, column.Long:
		return countVarints(data), nil
	}
	return countSized(data)
}

// countVarints counts the bytes that end a varint: the others have the highest bit.
func countVarints(data []byte) int {
	const high = 0x8080808080808080
	n := len(data)
	for ; len(data) >= 8; data = data[8:] {
		n -= bits.OnesCount64(binary.LittleEndian.Uint64(data) & high)
	}
	for _, b := range data {
		n -= int(b >> 7)
	}
	return n
}

func countSized(data []byte) (n int, err error) {
	for ; len(data) > 0; n++ {
		size, at := textSize(data)
		if size < 0 {
			return n, errCut
		}
		data = data[at+size:]
	}
	return n, nil
}

// textSize returns the size of the value at the start of data, and where it begins. The size
// is negative if the value is cut short.
func textSize(data []byte) (size, at int) {
	if len(data) > 0 && data[0] < 0x80 {
		size, at = int(data[0]>>1), 1
		if data[0]&1 != 0 || size > len(data)-1 {
			return -1, 0
		}
		return size, at
	}
	n, at := binary.Varint(data)
	//guard: rejects a value that reaches beyond the block
	if at <= 0 || uint64(n) > uint64(len(data)-at) { // a negative n is a huge uint64
		return -1, 0
	}
	return int(n), at
}

// size returns the size of the value at the start of data, and where it begins. An enum's
// ordinal has the size 0 and ends there. The size is negative if the value is cut short.
func (a *avroValues) size(data []byte) (size, at int) {
	if a.symbols == nil {
		return textSize(data)
	}
	if _, at = binary.Varint(data); at <= 0 {
		return -1, 0
	}
	return 0, at
}

// text returns the string or bytes at the start of data, or the symbol for an enum, and how
// many bytes of data the value takes.
func (a *avroValues) text(data []byte) (value []byte, size int, err error) {
	if a.symbols == nil {
		n, at := textSize(data)
		//guard: rejects a value that reaches beyond the block
		if n < 0 {
			return nil, 0, errCut
		}
		//guard: refuses a block that is too large for readers
		if n > MaxValue {
			return nil, 0, tooLong(0, n)
		}
		return data[at : at+n], at + n, nil
	}
	ordinal, size := binary.Varint(data)
	//guard: rejects an ordinal without a symbol
	if size <= 0 || ordinal < 0 || ordinal >= int64(len(a.symbols)) {
		return nil, 0, errCut
	}
	return []byte(a.symbols[ordinal]), size, nil
}

// append appends the first n values of data to v. It ends earlier, but after at least one
// value, once v.Data has limit bytes. It returns the number of values, and the data after
// them. Errors of values are *valueError, with an index from the first value on.
func (a *avroValues) append(v *encoding.Values, data []byte, n, limit int) (read int, rest []byte, err error) {
	switch {
	case a.width == 0:
		return a.appendTexts(v, data, n, limit)
	case a.typ == Date:
		at := len(v.Fixed)
		if v.Fixed, read, rest, err = appendInts(v.Fixed, data, n); err == nil {
			err = a.checkDates(v.Fixed[at:])
		}
	case a.column.Type == column.Int:
		v.Fixed, read, rest, err = appendInts(v.Fixed, data, n)
	case a.column.Type == column.Long:
		v.Fixed, read, rest, err = appendLongs(v.Fixed, data, n)
	case a.column.Type == column.Bytes:
		v.Fixed, read, rest, err = a.appendDecimals(v.Fixed, data, n)
	default:
		//guard: rejects a value that reaches beyond the block
		if len(data) < n*a.width {
			return 0, nil, errCut
		}
		v.Fixed, read, rest = append(v.Fixed, data[:n*a.width]...), n, data[n*a.width:]
	}
	return read, rest, err
}

// checkDates returns an error for the first day that Kudu cannot hold.
func (a *avroValues) checkDates(days []byte) error {
	for i := 0; i < len(days); i += 4 {
		//guard: refuses a date that Kudu cannot hold
		if day := int32(binary.LittleEndian.Uint32(days[i:])); day < minDate || day > maxDate {
			return newValueError(int64(i/4), "day %d is outside of Kudu's dates, 0001-01-01 to 9999-12-31%s", day, a.storageHint())
		}
	}
	return nil
}

// appendInts appends n ints as INT32.
func appendInts(dst, data []byte, n int) ([]byte, int, []byte, error) {
	at := len(dst)
	dst = slices.Grow(dst, 4*n)[:at+4*n]
	for i := range n {
		var value int64
		if len(data) > 0 && data[0] < 0x80 {
			value = int64(data[0]>>1) ^ -int64(data[0]&1)
			data = data[1:]
		} else {
			size := 0
			//guard: rejects a value that reaches beyond the block
			if value, size = binary.Varint(data); size <= 0 {
				return dst, i, nil, errCut
			}
			data = data[size:]
		}
		//guard: refuses a value that does not fit its type
		if value != int64(int32(value)) {
			return dst, i, nil, newValueError(int64(i), "%d does not fit an int", value)
		}
		binary.LittleEndian.PutUint32(dst[at:], uint32(value))
		at += 4
	}
	return dst, n, data, nil
}

// appendLongs appends n longs as INT64.
func appendLongs(dst, data []byte, n int) ([]byte, int, []byte, error) {
	at := len(dst)
	dst = slices.Grow(dst, 8*n)[:at+8*n]
	for i := range n {
		var value uint64
		if len(data) > 0 && data[0] < 0x80 {
			value = uint64(data[0])
			data = data[1:]
		} else {
			size := 0
			//guard: rejects a value that reaches beyond the block
			if value, size = binary.Uvarint(data); size <= 0 {
				return dst, i, nil, errCut
			}
			data = data[size:]
		}
		binary.LittleEndian.PutUint64(dst[at:], value>>1^-(value&1))
		at += 8
	}
	return dst, n, data, nil
}

// appendTexts appends strings, bytes or symbols.
func (a *avroValues) appendTexts(v *encoding.Values, data []byte, n, limit int) (read int, rest []byte, err error) {
	if len(v.Offsets) == 0 {
		v.Offsets = append(v.Offsets, 0)
	}
	v.Offsets = slices.Grow(v.Offsets, n)
	if a.symbols == nil {
		v.Data = slices.Grow(v.Data, min(len(data), limit))
	}
	for read < n && (read == 0 || len(v.Data) < limit) {
		value, size, err := a.text(data)
		if err != nil {
			return read, nil, shifted(err, int64(read))
		}
		v.Data = append(v.Data, value...)
		v.Offsets = append(v.Offsets, uint32(len(v.Data)))
		data = data[size:]
		read++
	}
	return read, data, nil
}

func tooLong(index, size int) error {
	return newValueError(int64(index), "a value of %d bytes: a CFile holds values of %d bytes at most", size, MaxValue)
}

// appendDecimals appends n numbers in two's complement, which are big-endian in data, as
// little-endian numbers of the file's width.
func (a *avroValues) appendDecimals(dst, data []byte, n int) ([]byte, int, []byte, error) {
	limit := powersOf10[a.column.Precision]
	for i := range n {
		size, at := textSize(data)
		//guard: rejects a value that reaches beyond the block
		if size < 0 {
			return dst, i, nil, errCut
		}
		v, fits := bigEndian(data[at : at+size])
		//guard: refuses a value that does not fit its type
		if !fits || !v.within(limit) {
			return dst, i, nil, newValueError(int64(i), "decimal %#x has more digits than its precision, %d%s", data[at:at+size], a.column.Precision, a.storageHint())
		}
		dst = v.append(dst, a.width)
		data = data[at+size:]
	}
	return dst, n, data, nil
}

// int128 is a number in two's complement.
type int128 struct{ high, low uint64 }

// powersOf10 are the powers of ten up to the limit of the largest decimal.
var powersOf10 = func() (p [maxDecimal128 + 1]int128) {
	p[0].low = 1
	for i := 1; i < len(p); i++ {
		carry, low := bits.Mul64(p[i-1].low, 10)
		p[i] = int128{p[i-1].high*10 + carry, low}
	}
	return p
}()

// bigEndian reads a big-endian number in two's complement. fits is false if it has more
// than 128 bits.
func bigEndian(b []byte) (v int128, fits bool) {
	b = column.ShortestDecimal(b)
	if len(b) > 16 {
		return v, false
	}
	if len(b) > 0 && b[0] >= 0x80 {
		v = int128{math.MaxUint64, math.MaxUint64}
	}
	for _, c := range b {
		v.high, v.low = v.high<<8|v.low>>56, v.low<<8|uint64(c)
	}
	return v, true
}

// within reports whether the absolute value is less than a limit.
func (v int128) within(limit int128) bool {
	if v.high>>63 != 0 {
		low, borrow := bits.Sub64(0, v.low, 0)
		high, _ := bits.Sub64(0, v.high, borrow)
		v = int128{high, low}
	}
	return v.high < limit.high || v.high == limit.high && v.low < limit.low
}

// append appends the number's least significant bytes, little-endian.
func (v int128) append(dst []byte, width int) []byte {
	switch width {
	case 4:
		return binary.LittleEndian.AppendUint32(dst, uint32(v.low))
	case 8:
		return binary.LittleEndian.AppendUint64(dst, v.low)
	}
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(dst, v.low), v.high)
}
