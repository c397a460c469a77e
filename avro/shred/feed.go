package shred

import (
	"encoding/binary"
	"errors"
	"io"
	"math"

	"github.com/rowtocol/rowtocol/format/column"
)

// Values reads the values of one column in order.
type Values interface {
	// Read appends at most n elements to v, and at least one unless n is 0. A column has
	// one element for each row, or for each item of its parent: a value, or in an array
	// column a length and its values. read is the number of elements that Read appended.
	// items is the number of items in these elements: one for each element, or in an array
	// column the sum of the lengths. Each child column has one element for each item. Read
	// returns io.EOF at the end of the column.
	Read(v *column.Vector, n int) (read, items int, err error)
}

// A feed reads at most feedSize elements at a time, unless they are loaded. Vectors of this size
// fit into a processor's cache.
const feedSize = 256

// A value of at most wide bytes is copied as an array of wide bytes, together with the
// bytes that follow it in memory, because such a copy needs no call. The next value
// overwrites the bytes that are too many.
const wide = 16

// longest returns an upper bound for the bytes that a value of type t takes in Avro's
// encoding. It counts the length of a string, but not the text. Columns of an Avro schema
// are never Fixed32 or Fixed64.
func longest(t column.Type) int {
	switch t {
	case column.Null:
		return 0
	case column.Boolean:
		return 1
	case column.Float:
		return 4
	case column.Double:
		return 8
	}
	return binary.MaxVarintLen64
}

// feed returns the values of a column one by one, from vectors that it reads.
type feed struct {
	in       Values
	typ      column.Type
	array    bool
	index    int     // index of the column
	grow     *grower // makes room for the row
	children []*feed // feeds of the child columns; read increases due of each of them by the number of items that it reads
	due      int64   // number of elements still to be read
	v        column.Vector
	length   int            // index of the next length in v.Lengths, in an array column
	value    int            // index of the next value in v; an array column has any number of values for each length
	strip    *strip         // nil, or the strip that the column belongs to
	after    *column.Vector // nil, or elements after those of v, which were read ahead
	passed   int64          // number of elements read since start
	ended    error          // why the column can no longer be read
}

// start drops the values that were read. due is the number of elements to read from now on.
func (f *feed) start(due int64) {
	f.reset()
	f.length, f.value, f.due, f.passed, f.ended = 0, 0, due, 0, nil
	if f.strip != nil {
		f.strip.start()
	}
	if f.after != nil {
		f.after.Reset()
	}
}

// fill reads more of the column.
func (f *feed) fill() error {
	if f.ahead() > 0 {
		f.useAhead()
		return nil
	}
	f.reset()
	f.length, f.value = 0, 0
	err := f.read(&f.v, f.portion())
	for errors.Is(err, column.ErrFull) && f.widen() {
		err = f.read(&f.v, f.portion())
	}
	return err
}

// portion returns how many elements to read at a time: those up to the next multiple of
// feedSize. So the feeds of a strip end their vectors at the same elements, unless a block
// ends before.
func (f *feed) portion() int64 { return feedSize - f.passed%feedSize }

// read reads at most n elements into an empty vector.
func (f *feed) read(v *column.Vector, n int64) error {
	if f.ended != nil {
		return f.ended
	}
	if f.due == 0 {
		return io.EOF
	}
	read, items, err := f.in.Read(v, int(min(f.due, n)))
	if err != nil {
		if !errors.Is(err, column.ErrFull) {
			f.ended = err
		}
		return err
	}
	f.passed += int64(read)
	f.due -= int64(read)
	for _, c := range f.children {
		c.due += int64(items)
	}
	return nil
}

// readAhead reads the elements after those of v, if there are any.
func (f *feed) readAhead() {
	f.beginAhead()
	_ = f.read(f.after, f.portion()) // an error is returned when its element is due
}

// beginAhead empties the vector for elements that are read ahead.
func (f *feed) beginAhead() {
	if f.after == nil {
		f.after = new(column.Vector)
	}
	f.after.Reset()
	f.ask(f.after)
}

// keep copies the values of a vector, from value first on, from their block to the end of kept.
// The copies stay valid after the block is dropped. limit is the most bytes of kept. keep reports
// whether the values fit.
func keep(v *column.Vector, first int, kept []byte, limit int) (_ []byte, ok bool) {
	if !v.Encoded || first == v.Values {
		return kept, true
	}
	at := v.Offsets[2*first : 2*v.Values]
	from, to := at[0], at[len(at)-1]
	//guard: bounds the memory of values that are kept
	if len(kept)+int(to-from) > limit {
		return kept, false
	}
	shift := int32(len(kept)) - from
	kept = append(kept, v.Data[from:to]...)
	for i := range at {
		at[i] += shift
	}
	v.Data = kept
	return kept, true
}

// useAhead drops the rest of v, and goes on with the elements that were read ahead.
func (f *feed) useAhead() {
	f.v, *f.after = *f.after, f.v
	f.after.Reset()
	f.length, f.value = 0, 0
}

// loaded returns how many elements v still has.
func (f *feed) loaded() int {
	if f.array {
		return len(f.v.Lengths) - f.length
	}
	return f.v.Values - f.value
}

// ahead returns how many elements were read ahead.
func (f *feed) ahead() int {
	switch {
	case f.after == nil:
		return 0
	case f.array:
		return len(f.after.Lengths)
	}
	return f.after.Values
}

// position returns the number of the next element since start, and left how many elements
// are still to come.
func (f *feed) position() int64 { return f.passed - int64(f.loaded()+f.ahead()) }
func (f *feed) left() int64     { return f.due + int64(f.loaded()+f.ahead()) }

// pass passes over n elements that were read, which have values values. n may be larger than
// loaded.
func (f *feed) pass(n, values int) {
	if have := f.loaded(); n > have {
		n, values = n-have, values-(f.v.Values-f.value)
		f.useAhead()
	}
	if f.array {
		f.length += n
	}
	f.value += values
}

// fewValues is how many values a vector may hold without reserved memory. If a single array
// has more values, widen reserves memory for up to mostValues, the most that a vector can
// hold. valueMemory is the memory of a value, in bytes, while a vector grows.
const (
	fewValues   = 1 << 15
	mostValues  = 1 << 27
	valueMemory = 20
)

// reset empties the vector, and releases its memory if it is unusually large.
func (f *feed) reset() {
	if f.v.Limit > fewValues {
		f.grow.memory.Release(int64(f.v.Limit) * valueMemory)
		f.v = column.Vector{}
	}
	f.v.Reset()
	f.ask(&f.v)
}

// ask makes an empty vector ask for values in Avro's encoding.
func (f *feed) ask(v *column.Vector) {
	v.Encoded = f.typ != column.Null && f.typ != column.Boolean
	v.Limit = fewValues
}

// widen raises the limit of values in the vector, if there is memory for them. It reports
// whether it did.
func (f *feed) widen() bool {
	more := 2 * f.v.Limit
	if more > mostValues || !f.grow.reserve(int64(more)*valueMemory) {
		return false
	}
	if f.v.Limit > fewValues {
		f.grow.memory.Release(int64(f.v.Limit) * valueMemory)
	}
	f.v.Limit = more
	return true
}

// next returns the next length of an array column.
func (f *feed) next() (int, error) {
	if f.length < len(f.v.Lengths) {
		f.length++
		return int(f.v.Lengths[f.length-1]), nil
	}
	return f.first()
}

// first fills the feed and returns the first length.
func (f *feed) first() (int, error) {
	if err := f.fill(); err != nil {
		return 0, err
	}
	f.length = 1
	return int(f.v.Lengths[0]), nil
}

// ready reads more of the column if the vector has no next value. In an array column it
// reads nothing, because fill has already read the values together with their lengths.
func (f *feed) ready() error {
	if f.value == f.v.Values {
		return f.fill()
	}
	return nil
}

// skip passes over the next n elements, and returns the number of items in them: see
// Values.Read.
func (f *feed) skip(n int) (items int, err error) {
	for n > 0 {
		left := f.loaded()
		if left == 0 {
			if err := f.fill(); err != nil {
				return 0, err
			}
			continue
		}
		k := min(n, left)
		n -= k
		if f.array {
			sum := 0
			for _, length := range f.v.Lengths[f.length : f.length+k] {
				sum += int(length)
			}
			f.length += k
			k = sum
		}
		f.value += k
		items += k
	}
	return items, nil
}

// append appends the Avro bytes of the next n values, which must have been read.
func (f *feed) append(dst []byte, n int) []byte {
	if n == 0 {
		return dst // a vector without values has no offsets
	}
	from, to := f.value, f.value+n
	f.value = to
	if f.v.Encoded {
		return f.grow.put(dst, f.v.Data[f.v.Offsets[2*from]:f.v.Offsets[2*to-1]])
	}
	if most := n * longest(f.typ); cap(dst)-len(dst) < most+room {
		var ok bool
		if dst, ok = f.grow.grow(dst, most); !ok {
			return dst
		}
	}
	switch f.typ {
	case column.Null:
	case column.Boolean:
		for _, b := range f.v.Bools[from:to] {
			dst = append(dst, bit(b))
		}
	case column.Int:
		for _, x := range f.v.Ints[from:to] {
			dst = appendVarint(dst, int64(x))
		}
	case column.Long:
		for _, x := range f.v.Longs[from:to] {
			dst = appendVarint(dst, x)
		}
	case column.Float:
		for _, x := range f.v.Floats[from:to] {
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(x))
		}
	case column.Double:
		for _, x := range f.v.Doubles[from:to] {
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
		}
	default:
		data, start := f.v.Data, int(f.v.Offsets[from])
		for _, offset := range f.v.Offsets[from+1 : to+1] {
			end := int(offset)
			dst = appendVarint(f.grow.room(dst), int64(end-start))
			var ok bool
			if dst, ok = appendShort(dst, data, start, end); !ok {
				dst = f.grow.put(dst, data[start:end])
			}
			start = end
		}
	}
	return dst
}

// appendOne is append for one value.
func (f *feed) appendOne(dst []byte) []byte {
	i := f.value
	f.value++
	if f.v.Encoded {
		at := f.v.Offsets[2*i : 2*i+2]
		short, ok := appendShort(dst, f.v.Data, int(at[0]), int(at[1]))
		if !ok {
			return f.grow.put(dst, f.v.Data[at[0]:at[1]])
		}
		return short
	}
	return f.appendDecoded(dst, &f.v, i)
}

// appendDecoded appends value i of a vector that does not hold it in Avro's encoding.
func (f *feed) appendDecoded(dst []byte, v *column.Vector, i int) []byte {
	switch f.typ {
	case column.String, column.Bytes:
		start, end := int(v.Offsets[i]), int(v.Offsets[i+1])
		dst, ok := appendShort(appendVarint(dst, int64(end-start)), v.Data, start, end)
		if !ok {
			return f.grow.put(dst, v.Data[start:end])
		}
		return dst
	case column.Int:
		return appendVarint(dst, int64(v.Ints[i]))
	case column.Long:
		return appendVarint(dst, v.Longs[i])
	case column.Boolean:
		return append(dst, bit(v.Bools[i]))
	case column.Float:
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(v.Floats[i]))
	case column.Double:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v.Doubles[i]))
	}
	return dst
}

// appendShort appends data[start:end] if it is short and there is room. It is small
// enough to be inlined.
func appendShort(dst, data []byte, start, end int) ([]byte, bool) {
	if end-start <= wide && start+wide <= cap(data) && len(dst)+wide <= cap(dst) {
		*(*[wide]byte)(dst[len(dst) : len(dst)+wide]) = *(*[wide]byte)(data[start : start+wide])
		return dst[:len(dst)+end-start], true
	}
	return dst, false
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// appendVarint is binary.AppendVarint, inlined for values of one byte.
func appendVarint(dst []byte, v int64) []byte {
	if u := uint64(v<<1) ^ uint64(v>>63); u < 0x80 {
		return append(dst, byte(u))
	}
	return binary.AppendVarint(dst, v)
}

// int returns the next value of a column of integers without consuming it.
func (f *feed) int() int {
	if f.v.Encoded {
		n, _ := binary.Varint(f.v.Data[f.v.Offsets[2*f.value]:])
		return int(n)
	}
	return int(f.v.Ints[f.value])
}

// appendOptional appends the next union of null and a value. If the next length n is 0, it
// appends the byte of null. If n is 1, it appends the byte of the other branch and the
// value. If n is larger, it appends nothing. Processors often cannot predict whether there
// is a value. So the next value, if it is short, is copied in both cases, without a jump.
func (f *feed) appendOptional(dst []byte, null byte) (_ []byte, n int, err error) {
	if f.length == len(f.v.Lengths) {
		if err := f.fill(); err != nil {
			return dst, 0, err
		}
	}
	n = int(f.v.Lengths[f.length])
	f.length++
	if f.v.Encoded && n <= 1 && 2*f.value < len(f.v.Offsets) && len(dst)+1+wide <= cap(dst) {
		at := f.v.Offsets[2*f.value : 2*f.value+2]
		start, size := int(at[0]), int(at[1]-at[0])
		if size <= wide && start+wide <= cap(f.v.Data) {
			to := dst[len(dst) : len(dst)+1+wide]
			to[0] = null ^ byte(2*n)
			*(*[wide]byte)(to[1:]) = *(*[wide]byte)(f.v.Data[start : start+wide])
			f.value += n
			return dst[:len(dst)+1+size*n], n, nil
		}
	}
	switch n {
	case 0:
		dst = append(dst, null)
	case 1:
		dst = f.appendOne(append(dst, 2-null))
	}
	return dst, n, nil
}

// bytes returns the next value of a column of bytes. The value is valid until the next
// value is read.
func (f *feed) bytes() ([]byte, error) {
	if err := f.ready(); err != nil {
		return nil, err
	}
	f.value++
	if f.v.Encoded {
		return column.Sized(f.v.Data[f.v.Offsets[2*f.value-2]:f.v.Offsets[2*f.value-1]]), nil
	}
	return f.v.Data[f.v.Offsets[f.value-1]:f.v.Offsets[f.value]], nil
}
