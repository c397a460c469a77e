// Package wire reads headers, tables and messages from bytes that may be damaged or
// hostile. Values of rows are decoded elsewhere, by code that is made for speed.
package wire

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
)

// Error is what is wrong with bytes.
type Error struct {
	Offset int64
	Reason string
	Cut    bool // the bytes end too early
}

// Error says where the fault is and what was expected.
func (e *Error) Error() string { return fmt.Sprintf("offset %d: %s", e.Offset, e.Reason) }

// Unwrap returns io.ErrUnexpectedEOF if the bytes end too early.
func (e *Error) Unwrap() error {
	if e.Cut {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// Cursor reads bytes from first to last. Its first error sticks: from then on it reads
// nothing, and all methods return zeros. Each length is compared with the bytes that
// remain before anything is allocated. what names a value in errors.
type Cursor struct {
	buf     []byte        // all bytes, unless r has them
	r       *bufio.Reader // or nil
	base    int64         // offset of the first byte
	pos     int64         // bytes read
	size    int64         // bytes in all; math.MaxInt64 if it is not known
	err     error
	missing int64
}

// New returns a cursor over b, which begins at an offset of its file.
func New(b []byte, offset int64) Cursor {
	return Cursor{buf: b, base: offset, size: int64(len(b))}
}

// NewReader returns a cursor over the size bytes of r. size is math.MaxInt64 if r is a
// stream of unknown length.
func NewReader(r *bufio.Reader, size int64) Cursor { return Cursor{r: r, size: size} }

// Err returns the first error. It is an *Error unless it is one of the reader, or of Stop.
func (c *Cursor) Err() error { return c.err }

// Stop makes err the cursor's error if it has none.
func (c *Cursor) Stop(err error) {
	if c.err == nil {
		c.err = err
	}
}

// Offset is the offset of the next byte.
func (c *Cursor) Offset() int64 { return c.base + c.pos }

// Remaining is the number of bytes that are left.
func (c *Cursor) Remaining() int64 { return c.size - c.pos }

// Missing is how many more bytes would have let the cursor go on, as far as known; 0 if it
// did not run out of bytes.
func (c *Cursor) Missing() int64 { return c.missing }

// Passed is the part of the bytes of New that was read.
func (c *Cursor) Passed() []byte { return c.buf[:c.pos] }

// Rest is the part of the bytes of New that was not read.
func (c *Cursor) Rest() []byte { return c.buf[c.pos:] }

// Fits reports whether n bytes follow and are not more than limit. Otherwise it fails.
func (c *Cursor) Fits(n, limit int64, what string) bool {
	switch {
	case c.err != nil:
	//guard: rejects a length beyond the bytes
	case n > c.Remaining():
		c.cut(n-c.Remaining(), "%s needs %d bytes, %d remain", what, n, c.Remaining())
	//guard: rejects a length beyond the limit
	case n < 0 || n > limit:
		c.Stop(&Error{Offset: c.Offset(), Reason: fmt.Sprintf("%s of %d bytes, expected 0 to %d", what, n, min(limit, c.Remaining()))})
	}
	return c.err == nil
}

func (c *Cursor) cut(missing int64, reason string, args ...any) {
	c.missing = missing
	c.Stop(&Error{Offset: c.Offset(), Reason: fmt.Sprintf(reason, args...), Cut: true})
}

// Bytes returns the next n bytes: a part of the bytes of New, or new ones.
func (c *Cursor) Bytes(n int64, what string) []byte { return c.BytesWithin(n, math.MaxInt64, what) }

// chunk is the most that a length alone may allocate.
const chunk = 64 << 10

// BytesWithin is Bytes for at most limit bytes.
func (c *Cursor) BytesWithin(n, limit int64, what string) []byte {
	if !c.Fits(n, limit, what) {
		return nil
	}
	if c.r == nil {
		c.pos += n
		return c.buf[c.pos-n : c.pos : c.pos]
	}
	var p []byte
	for int64(len(p)) < n {
		old := len(p)
		p = slices.Grow(p, int(min(n-int64(old), chunk)))[:min(n, int64(old)+chunk)]
		got, err := io.ReadFull(c.r, p[old:])
		c.pos += int64(got)
		if err != nil {
			c.failed(err, what)
			return nil
		}
	}
	return p
}

// failed makes an error of the reader the cursor's. A stream of unknown length that ends is
// cut, and a file that ends too early shrinks.
func (c *Cursor) failed(err error, what string) {
	ended := err == io.EOF || err == io.ErrUnexpectedEOF
	switch {
	case ended && c.size == math.MaxInt64:
		c.cut(1, "the stream ends in %s", what)
		return
	//guard: tells a file that shrinks from one that ends
	case ended:
		err = io.ErrUnexpectedEOF
	}
	c.Stop(fmt.Errorf("reading %s at offset %d: %w", what, c.Offset(), err))
}

// Uint8 reads a byte.
func (c *Cursor) Uint8(what string) uint8 {
	if !c.Fits(1, 1, what) {
		return 0
	}
	if c.r == nil {
		c.pos++
		return c.buf[c.pos-1]
	}
	b, err := c.r.ReadByte()
	if err != nil {
		c.failed(err, what)
		return 0
	}
	c.pos++
	return b
}

// BigEndian reads an integer of up to 8 bytes, the most significant first.
func (c *Cursor) BigEndian(size int, what string) (v uint64) {
	for _, b := range c.Bytes(int64(size), what) {
		v = v<<8 | uint64(b)
	}
	return v
}

// LittleEndian reads an integer of up to 8 bytes, the least significant first.
func (c *Cursor) LittleEndian(size int, what string) (v uint64) {
	for i, b := range c.Bytes(int64(size), what) {
		v |= uint64(b) << (8 * i)
	}
	return v
}

// Uvarint reads an integer in groups of seven bits, as Avro and protobuf have them.
func (c *Cursor) Uvarint(what string) (v uint64) {
	at := c.Offset()
	for shift := 0; ; shift += 7 {
		b := c.Uint8(what)
		//guard: rejects a number of more than 64 bits
		if shift == 63 && b > 1 {
			c.Stop(&Error{Offset: at, Reason: what + " is a varint of more than 64 bits"})
		}
		if c.err != nil {
			return 0
		}
		if v |= uint64(b&0x7f) << shift; b < 0x80 {
			return v
		}
	}
}

// Varint reads an integer in zig-zag coding.
func (c *Cursor) Varint(what string) int64 {
	u := c.Uvarint(what)
	return int64(u>>1) ^ -int64(u&1)
}

// VInt reads an integer as AppendVInt writes it.
func (c *Cursor) VInt(what string) int64 {
	first := c.Uint8(what)
	n := VIntSize(first)
	if n == 1 {
		return int64(int8(first))
	}
	v := int64(c.BigEndian(n-1, what))
	if int8(first) < -120 && c.err == nil {
		v = ^v
	}
	return v
}

// VIntSize is the number of bytes of the VInt that begins with a byte.
func VIntSize(first byte) int {
	switch n := int(int8(first)); {
	case n >= -112:
		return 1
	case n >= -120:
		return -111 - n
	default:
		return -119 - n
	}
}

// AppendVInt appends an integer as Hadoop's WritableUtils writes it: a byte from -112 on is
// the number. Others are followed by up to eight bytes, big-endian: -113 to -120 by one to
// eight bytes of a number, -121 to -128 by those of the complement of a negative number.
func AppendVInt(dst []byte, v int64) []byte {
	if v >= -112 && v <= 127 {
		return append(dst, byte(v))
	}
	first := -112
	if v < 0 {
		first, v = -120, ^v
	}
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(v))
	skip := 0
	for skip < 7 && b[skip] == 0 {
		skip++
	}
	return append(append(dst, byte(first-(8-skip))), b[skip:]...)
}

// AppendText appends bytes after their number, a VInt.
func AppendText[T string | []byte](dst []byte, v T) []byte {
	return append(AppendVInt(dst, int64(len(v))), v...)
}
