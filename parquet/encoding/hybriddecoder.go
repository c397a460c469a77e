package encoding

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// HybridDecoder decodes levels and indexes of a dictionary. Literals are padded to whole
// groups, so it may return up to 7 values more than were encoded.
type HybridDecoder struct {
	src     []byte // after what was read
	width   int
	value   uint32 // of the repeat
	repeats int    // values left in the repeat
	groups  int    // groups left in the literal run, at the start of src
	group   [8]uint32
	held    int // values left in group, at its end; they are before groups
}

// Reset begins to decode src, which must not change until the next Reset. The values have
// width bits.
func (d *HybridDecoder) Reset(src []byte, width int) {
	*d = HybridDecoder{src: src, width: width}
}

// Next returns the next value, and how many equal values it has read: all that are left of a
// repeat, or one or more literals. At the end it returns io.EOF.
func (d *HybridDecoder) Next() (value uint32, n int, err error) {
	for {
		switch {
		case d.held > 0:
			values := d.group[8-d.held:]
			n = equalValues(values)
			d.held -= n
			return values[0], n, nil
		case d.repeats > 0:
			n, d.repeats = d.repeats, 0
			return d.value, n, nil
		case d.groups > 0:
			d.loadGroup()
		default:
			if err := d.nextRun(); err != nil {
				return 0, 0, err
			}
		}
	}
}

// Read reads len(dst) values. If it returns fewer, the error says why; at the end it is
// io.EOF.
func (d *HybridDecoder) Read(dst []uint32) (n int, err error) {
	for n < len(dst) {
		to := dst[n:]
		switch {
		case d.held > 0:
			m := copy(to, d.group[8-d.held:])
			d.held -= m
			n += m
		case d.repeats > 0:
			to = to[:min(len(to), d.repeats)]
			for i := range to {
				to[i] = d.value
			}
			d.repeats -= len(to)
			n += len(to)
		case d.groups > 0 && len(to) >= 8:
			whole := min(len(to)/8, d.groups)
			unpack(to[:8*whole], d.src, d.width)
			d.passGroups(whole)
			n += 8 * whole
		case d.groups > 0:
			d.loadGroup()
		default:
			if err := d.nextRun(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// Skip passes over n values. It fails as Read does.
func (d *HybridDecoder) Skip(n int) error {
	for n > 0 {
		switch {
		case d.held > 0:
			m := min(n, d.held)
			d.held -= m
			n -= m
		case d.repeats > 0:
			m := min(n, d.repeats)
			d.repeats -= m
			n -= m
		case d.groups > 0 && n >= 8:
			whole := min(n/8, d.groups)
			d.passGroups(whole)
			n -= 8 * whole
		case d.groups > 0:
			d.loadGroup()
		default:
			if err := d.nextRun(); err != nil {
				return err
			}
		}
	}
	return nil
}

// loadGroup reads one group.
func (d *HybridDecoder) loadGroup() {
	unpack(d.group[:], d.src, d.width)
	d.passGroups(1)
	d.held = 8
}

func (d *HybridDecoder) passGroups(n int) {
	d.src = d.src[n*d.width:]
	d.groups -= n
}

// nextRun reads the header of a run.
func (d *HybridDecoder) nextRun() error {
	//guard: rejects values that do not fit 32 bits
	if d.width < 0 || d.width > maxWidth {
		return fmt.Errorf("values of %d bits, but at most %d are possible", d.width, maxWidth)
	}
	if len(d.src) == 0 {
		return io.EOF
	}
	header, n := binary.Uvarint(d.src)
	//guard: rejects the header of a run that is cut short or too large
	if n <= 0 || header > math.MaxUint32 {
		return badVarint("the length of a run", n)
	}
	d.src = d.src[n:]
	if header&1 == 0 {
		return d.beginRepeat(int(header >> 1))
	}
	groups := int64(header >> 1)
	//guard: rejects a literal run that is cut short
	if groups*int64(d.width) > int64(len(d.src)) {
		return fmt.Errorf("%d groups of %d bytes in %d bytes: %w", groups, d.width, len(d.src), io.ErrUnexpectedEOF)
	}
	d.groups = int(groups)
	return nil
}

// beginRepeat reads the value of a repeat.
func (d *HybridDecoder) beginRepeat(times int) error {
	size := (d.width + 7) / 8
	//guard: rejects a repeat that is cut short
	if size > len(d.src) {
		return fmt.Errorf("%d bytes of a repeat's value of %d bits: %w", len(d.src), d.width, io.ErrUnexpectedEOF)
	}
	d.value = 0
	for i, b := range d.src[:size] {
		d.value |= uint32(b) << (8 * i)
	}
	//guard: rejects a value of more bits than the values have
	if uint64(d.value)>>d.width > 0 {
		return fmt.Errorf("a value of %d, but values have %d bits", d.value, d.width)
	}
	d.src = d.src[size:]
	d.repeats = times
	return nil
}

// badVarint returns the error of a varint that what names. n is the result of
// binary.Uvarint.
func badVarint(what string, n int) error {
	if n == 0 {
		return fmt.Errorf("%s is cut short: %w", what, io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("%s is too large", what)
}
