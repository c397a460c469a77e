package encoding

import (
	"encoding/binary"
	"io"

	"github.com/rowtocol/rowtocol/format/damage"
)

// fixedHeader is the length of the header of plain values of a fixed width, and of
// runs: count and ordinal.
const fixedHeader = 8

// appendFixedHeader appends count and ordinal.
func appendFixedHeader(dst []byte, count int, ordinal uint32) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(count))
	return binary.LittleEndian.AppendUint32(dst, ordinal)
}

// parseFixedHeader reads what appendFixedHeader appends.
func parseFixedHeader(body []byte) (header, error) {
	//guard: rejects a body shorter than its header
	if len(body) < fixedHeader {
		return header{}, damaged(damage.Truncated, 0, "%d bytes, but the header of the block takes %d", len(body), fixedHeader)
	}
	return newHeader(binary.LittleEndian.Uint32(body), binary.LittleEndian.Uint32(body[4:])), nil
}

// AppendPlain appends the plain block of values of a fixed width: 1, 2, 4, 8
// or 16 bytes.
func AppendPlain(dst []byte, ordinal uint32, width int, fixed []byte) []byte {
	return append(appendFixedHeader(dst, len(fixed)/width, ordinal), fixed...)
}

// AppendPlainBool appends the plain block of BOOL values, a byte each in bools.
func AppendPlainBool(dst []byte, ordinal uint32, bools []byte) []byte {
	return appendBits(appendFixedHeader(dst, len(bools), ordinal), bools)
}

// plain decodes plain blocks of values of a fixed width.
type plain struct {
	header
	width  int
	values []byte // not read yet
}

// NewPlain returns a Decoder of plain blocks of values of a fixed width: 1, 2,
// 4, 8 or 16 bytes.
func NewPlain(width int) Decoder { return &plain{width: width} }

func (d *plain) Reset(body []byte) (err error) {
	if d.header, err = parseFixedHeader(body); err != nil {
		return err
	}
	d.values = body[fixedHeader:]
	//guard: rejects missing values and bytes left over
	if uint64(len(d.values)) != uint64(d.count)*uint64(d.width) {
		return damaged(damage.Size, fixedHeader, "%d bytes of values, but the header announces %d values of %d bytes", len(d.values), d.count, d.width)
	}
	return nil
}

func (d *plain) Read(v *Values, n int) (int, error) {
	if d.left == 0 {
		return 0, io.EOF
	}
	n = min(n, d.left, readLimit/d.width)
	d.left -= n
	v.Fixed = append(v.Fixed, d.values[:n*d.width]...)
	d.values = d.values[n*d.width:]
	return n, nil
}

func (d *plain) Skip(n int) error {
	if err := d.checkLeft(n); err != nil {
		return err
	}
	d.left -= n
	d.values = d.values[n*d.width:]
	return nil
}

// plainBool decodes plain blocks of BOOL values.
type plainBool struct {
	header
	bits []byte
}

// NewPlainBool returns a Decoder of plain blocks of BOOL values.
func NewPlainBool() Decoder { return &plainBool{} }

func (d *plainBool) Reset(body []byte) (err error) {
	if d.header, err = parseFixedHeader(body); err != nil {
		return err
	}
	d.bits = body[fixedHeader:]
	//guard: rejects missing bits and bytes left over
	if len(d.bits) != (d.count+7)/8 {
		return damaged(damage.Size, fixedHeader, "%d bytes of bits, but the header announces %d bits", len(d.bits), d.count)
	}
	return nil
}

func (d *plainBool) Read(v *Values, n int) (int, error) {
	if d.left == 0 {
		return 0, io.EOF
	}
	n = min(n, d.left, readLimit)
	v.Fixed = appendBools(v.Fixed, d.bits, d.count-d.left, n)
	d.left -= n
	return n, nil
}

func (d *plainBool) Skip(n int) error {
	if err := d.checkLeft(n); err != nil {
		return err
	}
	d.left -= n
	return nil
}
