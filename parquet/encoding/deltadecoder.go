package encoding

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// deltaMini is the number of deltas that are decoded at once. Miniblocks have one or more times
// as many.
const deltaMini = 32

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
	// decoded holds up to 32 values. The last held of them are not read.
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
