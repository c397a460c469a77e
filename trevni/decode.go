package trevni

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/rowtocol/rowtocol/format/damage"
)

// decoder reads primitive values from a bounded buffer. The first failure
// sticks: later calls return zero values, and err says what went wrong and
// where. No method returns more bytes than the buffer holds, so a hostile
// length cannot make it allocate.
type decoder struct {
	buf  []byte
	pos  int
	base int64 // offset of buf in the file
	file string
	err  *damage.Error
	// short is set when the failure is that the buffer ended, which a caller
	// that has not read everything may answer by reading more.
	short bool
	need  uint64 // bytes that would not have been short, so far as is known
}

// offset is the position in the file of the next byte.
func (d *decoder) offset() int64 { return d.base + int64(d.pos) }

// remaining is the number of bytes that the buffer still holds.
func (d *decoder) remaining() int { return len(d.buf) - d.pos }

// fail records damage at a file offset unless something failed before.
func (d *decoder) fail(kind damage.Kind, offset int64, reason string, args ...any) {
	if d.err == nil {
		d.err = damage.New(kind, d.file, offset, reason, args...)
	}
}

// take returns the next n bytes of the buffer, nil if there are fewer.
func (d *decoder) take(n uint64, what string) []byte {
	if d.err != nil {
		return nil
	}
	//guard: a length would reach beyond the bytes that are there
	if n > uint64(d.remaining()) {
		d.fail(damage.Truncated, d.offset(), "%s needs %d bytes, %d remain", what, n, d.remaining())
		d.short, d.need = true, uint64(d.pos)+n
		return nil
	}
	b := d.buf[d.pos : d.pos+int(n)]
	d.pos += int(n)
	return b
}

func (d *decoder) fixed32(what string) uint32 {
	b := d.take(4, what)
	if b == nil {
		return 0
	}
	return binary.LittleEndian.Uint32(b)
}

func (d *decoder) fixed64(what string) uint64 {
	b := d.take(8, what)
	if b == nil {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}

// length reads a zig-zag varint that counts something and is therefore not
// negative.
func (d *decoder) length(what string) uint64 {
	if d.err != nil {
		return 0
	}
	start := d.offset()
	v, n := binary.Varint(d.buf[d.pos:])
	switch {
	case n == 0:
		d.fail(damage.Truncated, start, "%s ends inside a varint", what)
		d.short = true
	case n < 0:
		d.fail(damage.Header, start, "%s is a varint of more than 64 bits", what)
	//guard: a negative length would be taken for a huge one
	case v < 0:
		d.fail(damage.Count, start, "%s is %d", what, v)
	default:
		d.pos += n
		return uint64(v)
	}
	return 0
}

// bytes reads a length-prefixed byte string; the result is part of the buffer.
func (d *decoder) bytes(what string) []byte {
	return d.take(d.length(what), what)
}

// The sizes of the first reads of structures of unknown length. Behind a table
// are its column's blocks, which are read for nothing with it.
const (
	firstHeader = 64 << 10
	firstTable  = 4 << 10
)

// decodeGrowing runs parse over the bytes [off, end) of the file, at first over so
// many, then over more for as long as parse finds its buffer short: at least what it
// was short of, and four times as many. So a structure of unknown size costs at most
// a small multiple of its bytes, and a length that reaches beyond the end nothing.
func (f *File) decodeGrowing(off, end, first int64, parse func(*decoder)) error {
	for n := first; ; {
		n = min(n, end-off)
		need, err := f.decodeSome(off, n, parse)
		if need == 0 || need > end-off || n == end-off {
			return err
		}
		n = max(need, 4*n)
	}
}

// decodeSome runs parse over n bytes. need is how many it would have needed if that
// was too few.
func (f *File) decodeSome(off, n int64, parse func(*decoder)) (need int64, err error) {
	if err := f.memory.Reserve(n); err != nil {
		return 0, fmt.Errorf("reading %d bytes at offset %d: %w", n, off, err)
	}
	defer f.memory.Release(n)
	d := decoder{buf: make([]byte, n), base: off, file: f.name}
	if err := damage.ReadFull(f.r, d.buf, off, f.name); err != nil {
		return 0, err
	}
	if parse(&d); d.err != nil {
		err = d.err
	}
	if d.short {
		need = max(n+1, int64(min(d.need, math.MaxInt64)))
	}
	return need, err
}
