package encoding

import (
	"encoding/binary"

	"github.com/rowtocol/rowtocol/format/damage"
)

// binaryHeader is the length of the header of plain BINARY values: ordinal, count
// and the end of the data.
const binaryHeader = 12

// AppendPlainBinary appends the plain block of BINARY values. offsets is Values.Offsets or a part
// of it: value i is data[offsets[i]:offsets[i+1]].
func AppendPlainBinary(dst []byte, ordinal uint32, offsets []uint32, data []byte) []byte {
	starts, base := offsets, uint32(0)
	if len(offsets) > 0 {
		last := len(offsets) - 1
		starts, base = offsets[:last], offsets[0]
		data = data[base:offsets[last]]
	}
	dst = binary.LittleEndian.AppendUint32(dst, ordinal)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(starts)))
	dst = binary.LittleEndian.AppendUint32(dst, binaryHeader+uint32(len(data)))
	dst = append(dst, data...)
	shift := binaryHeader - base // from offsets in data to those in the body
	for ; len(starts) >= 4; starts = starts[4:] {
		dst = appendGroup(dst, starts[0]+shift, starts[1]+shift, starts[2]+shift, starts[3]+shift)
	}
	if len(starts) > 0 {
		var last [4]uint32
		for i, start := range starts {
			last[i] = start + shift
		}
		dst = appendGroup(dst, last[0], last[1], last[2], last[3])
	}
	return dst
}

// plainBinary decodes plain blocks of BINARY values.
type plainBinary struct {
	header
	body   []byte
	start  uint32 // offset of the next value in body
	limit  uint32 // end of the last value
	groups groups // offsets of the values after the next one
}

// NewPlainBinary returns a Decoder of plain blocks of BINARY values.
func NewPlainBinary() Decoder { return &plainBinary{} }

func (d *plainBinary) Reset(body []byte) (err error) {
	//guard: rejects a body shorter than its header
	if len(body) < binaryHeader {
		return damaged(damage.Truncated, 0, "%d bytes, but the header of the block takes %d", len(body), binaryHeader)
	}
	d.header = newHeader(binary.LittleEndian.Uint32(body[4:]), binary.LittleEndian.Uint32(body))
	d.body, d.start, d.limit = body, binaryHeader, binary.LittleEndian.Uint32(body[8:])
	//guard: rejects offsets outside the body
	if d.limit < binaryHeader || uint64(d.limit) > uint64(len(body)) {
		return damaged(damage.Size, 8, "the data ends at %d of %d bytes", d.limit, len(body))
	}
	//guard: bounds the words that a dictionary can claim
	if least := (uint64(d.count) + 3) / 4 * 5; least > uint64(len(body))-uint64(d.limit) {
		return damaged(damage.Count, 4, "%d values, but %d bytes of their offsets", d.count, len(body)-int(d.limit))
	}
	d.groups.reset(body, int(d.limit))
	first := d.limit
	if d.count > 0 {
		first, err = d.groups.next()
	}
	//guard: rejects bytes before the first value
	if err == nil && first != binaryHeader {
		err = damaged(damage.Value, int(d.limit), "the values begin at %d, not %d", first, binaryHeader)
	}
	return err
}

// ends appends the offsets in the body at which the next n values end, and skips the values.
func (d *plainBinary) ends(dst []uint32, n int) (_ []uint32, err error) {
	first := len(dst)
	if dst, err = d.groups.append(dst, min(n, d.left-1)); err != nil {
		return dst, err
	}
	if n > 0 && n == d.left {
		dst = append(dst, d.limit)
	}
	last := d.start
	for i, end := range dst[first:] {
		//guard: rejects a value of negative length
		if end < last {
			return dst, d.outside(d.count-d.left+i, last, end)
		}
		last = end
	}
	//guard: rejects values past the end of the data
	if last > d.limit {
		return dst, d.outside(d.count-d.left+n-1, d.start, last)
	}
	d.start = last
	d.left -= n
	return dst, nil
}

// outside returns the damage of a value that ends at a wrong offset.
func (d *plainBinary) outside(i int, start, end uint32) error {
	return damaged(damage.Value, int(d.limit), "the value %d ends at %d, not from %d to %d", i, end, start, d.limit)
}

func (d *plainBinary) Read(v *Values, n int) (_ int, err error) {
	if d.left == 0 {
		return 0, d.groups.finish()
	}
	n = min(n, d.left)
	if len(v.Offsets) == 0 {
		v.Offsets = append(v.Offsets, 0)
	}
	start, first := d.start, len(v.Offsets)
	if v.Offsets, err = d.ends(v.Offsets, n); err != nil {
		return 0, err
	}
	ends := v.Offsets[first:]
	shift := uint32(len(v.Data)) - start // from offsets in the body to those in v.Data
	for i := range ends {
		ends[i] += shift
	}
	v.Data = append(v.Data, d.body[start:d.start]...)
	return n, nil
}

func (d *plainBinary) Skip(n int) error {
	if err := d.checkLeft(n); err != nil || n == 0 {
		return err
	}
	if err := d.groups.skip(n - 1); err != nil {
		return err
	}
	d.left -= n - 1
	// The end of the last value is the start of the next one.
	var end [1]uint32
	_, err := d.ends(end[:0], 1)
	return err
}
