package encoding

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// DeltaDecoder decodes DELTA_BINARY_PACKED.
type DeltaDecoder[T int32 | int64] struct {
	src    []byte // after what was read
	count  int
	left   int    // values that are not in decoded yet
	first  bool   // the next of them is the first of all
	value  T      // the first value of all, then the last one that was decoded
	least  T      // delta of the block
	minis  int    // miniblocks of a block
	size   int    // deltas of a miniblock
	widths []byte // of the miniblocks of the block that are not begun
	width  int    // of the current miniblock
	inMini int    // deltas left in it
	// decoded holds up to 32 values, of which the last held are not read.
	decoded [deltaMini]T
	held    int
}

// Reset begins to decode src, which must not change until the next Reset. There are no values
// in no bytes.
func (d *DeltaDecoder[T]) Reset(src []byte) error {
	*d = DeltaDecoder[T]{src: src, first: true}
	if len(src) == 0 {
		return nil
	}
	var header [3]uint64
	for i, what := range []string{"the block size", "the number of miniblocks", "the number of values"} {
		u, n := binary.Uvarint(d.src)
		//guard: rejects a header that is cut short or has more than 31 bits
		if n <= 0 || u > math.MaxInt32 {
			return badVarint(what, n)
		}
		header[i] = u
		d.src = d.src[n:]
	}
	first, n := binary.Varint(d.src)
	//guard: rejects a first value that is cut short or does not fit
	if n <= 0 || int64(T(first)) != first {
		return badVarint("the first value", n)
	}
	d.src = d.src[n:]
	block, minis := int(header[0]), int(header[1])
	//guard: rejects miniblocks that are not groups of 32 values
	if minis == 0 || block%minis != 0 || block == 0 || block/minis%deltaMini != 0 {
		return fmt.Errorf("blocks of %d values in %d miniblocks", block, minis)
	}
	d.count, d.left = int(header[2]), int(header[2])
	d.value, d.minis, d.size = T(first), minis, block/minis
	return nil
}

// Count returns how many values there are, as the header says. There may be fewer.
func (d *DeltaDecoder[T]) Count() int { return d.count }

// Read reads len(dst) values. If it returns fewer, the error says why; at the end it is
// io.EOF.
func (d *DeltaDecoder[T]) Read(dst []T) (n int, err error) {
	for n < len(dst) {
		to := dst[n:]
		switch {
		case d.held > 0:
			m := copy(to, d.decoded[deltaMini-d.held:])
			d.held -= m
			n += m
		case d.left == 0:
			return n, io.EOF
		case d.first:
			d.first = false
			d.left--
			to[0] = d.value
			n++
		case len(to) >= deltaMini && d.left >= deltaMini:
			if err := d.decode((*[deltaMini]T)(to)); err != nil {
				return n, err
			}
			d.left -= deltaMini
			n += deltaMini
		default:
			if err := d.fill(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// Skip passes over n values. It fails as Read does.
func (d *DeltaDecoder[T]) Skip(n int) error {
	var skipped [4 * deltaMini]T
	for n > 0 {
		m, err := d.Read(skipped[:min(n, len(skipped))])
		if err != nil {
			return err
		}
		n -= m
	}
	return nil
}

// fill decodes up to 32 values into decoded.
func (d *DeltaDecoder[T]) fill() error {
	if err := d.decode(&d.decoded); err != nil {
		return err
	}
	d.held = min(deltaMini, d.left)
	d.left -= d.held
	if d.held < deltaMini { // the end: the rest is padding
		copy(d.decoded[deltaMini-d.held:], d.decoded[:d.held])
	}
	return nil
}

// decode decodes 32 values.
func (d *DeltaDecoder[T]) decode(dst *[deltaMini]T) error {
	if d.inMini == 0 {
		if err := d.nextMini(); err != nil {
			return err
		}
	}
	d.inMini -= deltaMini
	value, least := d.value, d.least
	if d.width == 0 {
		for i := range dst {
			value += least
			dst[i] = value
		}
		d.value = value
		return nil
	}
	var deltas [deltaMini]uint64
	unpack(deltas[:], d.src, d.width)
	d.src = d.src[deltaMini/8*d.width:]
	for i := range dst {
		value += least + T(deltas[i])
		dst[i] = value
	}
	d.value = value
	return nil
}

// nextMini begins the next miniblock.
func (d *DeltaDecoder[T]) nextMini() error {
	if len(d.widths) == 0 {
		least, n := binary.Varint(d.src)
		//guard: rejects a block whose least delta is cut short or too large
		if n <= 0 {
			return badVarint("the least delta of a block", n)
		}
		//guard: rejects a block whose widths are cut short
		if d.minis > len(d.src)-n {
			return fmt.Errorf("the widths of %d miniblocks in %d bytes: %w", d.minis, len(d.src)-n, io.ErrUnexpectedEOF)
		}
		d.least = T(least)
		d.widths = d.src[n : n+d.minis]
		d.src = d.src[n+d.minis:]
	}
	d.width = int(d.widths[0])
	//guard: rejects deltas that do not fit 64 bits
	if d.width > 64 {
		return fmt.Errorf("deltas of %d bits", d.width)
	}
	//guard: rejects a miniblock that is cut short
	if int64(d.size/8)*int64(d.width) > int64(len(d.src)) {
		return fmt.Errorf("a miniblock of %d values of %d bits in %d bytes: %w", d.size, d.width, len(d.src), io.ErrUnexpectedEOF)
	}
	d.widths = d.widths[1:]
	d.inMini = d.size
	return nil
}

// rest returns the bytes after the last value. It is called before any value is read, and
// reads the headers of blocks only.
func (d DeltaDecoder[T]) rest() ([]byte, error) {
	for d.left--; d.left > 0; d.left -= d.size {
		if err := d.nextMini(); err != nil {
			return nil, err
		}
		d.src = d.src[d.size/8*d.width:]
	}
	return d.src, nil
}

// DeltaLengthDecoder decodes DELTA_LENGTH_BYTE_ARRAY.
type DeltaLengthDecoder struct {
	lengths DeltaDecoder[int32]
	data    []byte // after what was read
}

// Reset begins to decode src, which must not change until the next Reset.
func (d *DeltaLengthDecoder) Reset(src []byte) (err error) {
	if err = d.lengths.Reset(src); err != nil {
		return err
	}
	d.data, err = d.lengths.rest()
	return err
}

// Count returns how many values there are, as the header says. There may be fewer.
func (d *DeltaLengthDecoder) Count() int { return d.lengths.Count() }

// Read appends n values as DecodePlainBytes does. If there are fewer it fails; at the end the
// error is io.EOF.
func (d *DeltaLengthDecoder) Read(offsets []int32, data []byte, n int) (_ []int32, _ []byte, err error) {
	if len(offsets) == 0 {
		offsets = append(offsets, 0)
	}
	for n > 0 {
		sizes, total, err := d.next(n)
		if err != nil {
			return offsets, data, err
		}
		//guard: keeps offsets within 32 bits
		if total > maxData-len(data) {
			return offsets, data, ErrFull
		}
		end := int32(len(data))
		for _, size := range sizes.of() {
			end += size
			offsets = append(offsets, end)
		}
		data = append(data, d.data[:total]...)
		d.data = d.data[total:]
		n -= sizes.n
	}
	return offsets, data, nil
}

// Skip passes over n values. It fails as Read does.
func (d *DeltaLengthDecoder) Skip(n int) error {
	for n > 0 {
		sizes, total, err := d.next(n)
		if err != nil {
			return err
		}
		d.data = d.data[total:]
		n -= sizes.n
	}
	return nil
}

// numbers is a small number of integers.
type numbers struct {
	n      int
	values [deltaMini]int32
}

func (v *numbers) of() []int32 { return v.values[:v.n] }

// next reads the lengths of up to n values, and their sum.
func (d *DeltaLengthDecoder) next(n int) (sizes numbers, total int, err error) {
	if sizes.n, err = d.lengths.Read(sizes.values[:min(n, deltaMini)]); err != nil {
		return sizes, 0, err
	}
	for _, size := range sizes.of() {
		//guard: rejects a length that is negative
		if size < 0 {
			return sizes, 0, fmt.Errorf("a value of %d bytes", size)
		}
		total += int(size)
	}
	//guard: rejects values that are cut short
	if total > len(d.data) {
		return sizes, 0, fmt.Errorf("values of %d bytes in %d bytes: %w", total, len(d.data), io.ErrUnexpectedEOF)
	}
	return sizes, total, nil
}

// DeltaBytesDecoder decodes DELTA_BYTE_ARRAY. It keeps memory for the longest value.
type DeltaBytesDecoder struct {
	shared DeltaDecoder[int32]
	others DeltaLengthDecoder
	before []byte // the value that was read last
}

// Reset begins to decode src, which must not change until the next Reset.
func (d *DeltaBytesDecoder) Reset(src []byte) error {
	d.before = d.before[:0]
	if err := d.shared.Reset(src); err != nil {
		return err
	}
	rest, err := d.shared.rest()
	if err != nil {
		return err
	}
	if err := d.others.Reset(rest); err != nil {
		return err
	}
	//guard: rejects a value that has only one of the two lengths
	if d.shared.Count() != d.others.Count() {
		return fmt.Errorf("%d values share bytes, but %d have others", d.shared.Count(), d.others.Count())
	}
	return nil
}

// Count returns how many values there are, as the header says. There may be fewer.
func (d *DeltaBytesDecoder) Count() int { return d.shared.Count() }

// Read appends n values as DecodePlainBytes does. If there are fewer it fails; at the end the
// error is io.EOF.
func (d *DeltaBytesDecoder) Read(offsets []int32, data []byte, n int) (_ []int32, _ []byte, err error) {
	if len(offsets) == 0 {
		offsets = append(offsets, 0)
	}
	for n > 0 {
		shared, others, err := d.next(n)
		if err != nil {
			return offsets, data, err
		}
		for i, p := range shared.of() {
			if err := d.join(p, others.values[i]); err != nil {
				return offsets, data, err
			}
			if offsets, data, err = appendValue(offsets, data, d.before); err != nil {
				return offsets, data, err
			}
		}
		n -= shared.n
	}
	return offsets, data, nil
}

// Skip passes over n values. It fails as Read does.
func (d *DeltaBytesDecoder) Skip(n int) error {
	for n > 0 {
		shared, others, err := d.next(n)
		if err != nil {
			return err
		}
		for i, p := range shared.of() {
			if err := d.join(p, others.values[i]); err != nil {
				return err
			}
		}
		n -= shared.n
	}
	return nil
}

// next reads the lengths of up to n values.
func (d *DeltaBytesDecoder) next(n int) (shared, others numbers, err error) {
	if shared.n, err = d.shared.Read(shared.values[:min(n, deltaMini)]); err != nil {
		return shared, others, err
	}
	others, _, err = d.others.next(shared.n)
	return shared, others, err
}

// join makes before the next value.
func (d *DeltaBytesDecoder) join(shared, others int32) error {
	//guard: rejects a value that shares more bytes than the value before has
	if shared < 0 || int(shared) > len(d.before) {
		return fmt.Errorf("a value shares %d bytes of %d", shared, len(d.before))
	}
	d.before = append(d.before[:shared], d.others.data[:others]...)
	d.others.data = d.others.data[others:]
	return nil
}

// DecodeSplit appends n values of size bytes each from value from on. src is BYTE_STREAM_SPLIT
// of all values, and the result is plain.
func DecodeSplit(dst, src []byte, size, from, n int) ([]byte, error) {
	//guard: rejects streams of unequal length
	if size < 1 || len(src)%size != 0 {
		return dst, fmt.Errorf("streams of %d values in %d bytes", size, len(src))
	}
	all := len(src) / size
	//guard: rejects missing values
	if n > all-from {
		return dst, cutShort(from+n, len(src))
	}
	start := len(dst)
	dst = append(dst, src[:n*size]...) // overwritten
	for s := range size {
		at := start + s
		for _, b := range src[s*all+from : s*all+from+n] {
			dst[at] = b
			at += size
		}
	}
	return dst, nil
}
