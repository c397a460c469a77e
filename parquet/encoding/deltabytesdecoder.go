package encoding

import (
	"fmt"
	"io"
)

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
	if d.shared.Count() != d.others.lengths.Count() {
		return fmt.Errorf("%d values share bytes, but %d have others", d.shared.Count(), d.others.lengths.Count())
	}
	return nil
}

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
