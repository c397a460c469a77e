// Package wire decodes headers, tables and messages from bytes that may be damaged or
// hostile. It is not for the values of rows, whose decoders are optimized for speed.
package wire

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
)

// Error reports invalid bytes.
type Error struct {
	Offset int64
	Reason string
	Cut    bool // the bytes end too early
}

// Error returns the offset and the reason.
func (e *Error) Error() string { return fmt.Sprintf("offset %d: %s", e.Offset, e.Reason) }

// Unwrap returns io.ErrUnexpectedEOF if the bytes end too early.
func (e *Error) Unwrap() error {
	if e.Cut {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// Cursor reads bytes sequentially. Its first error is sticky: afterwards it reads nothing,
// and all methods return zeros. It compares each length with the remaining bytes before it
// allocates memory. The parameter what names a value in errors.
type Cursor struct {
	buf     []byte        // all bytes, if r is nil
	r       *bufio.Reader // or nil
	base    int64         // offset of the first byte
	pos     int64         // number of bytes read
	size    int64         // total number of bytes; math.MaxInt64 if not known
	err     error
	missing int64
}

// New returns a cursor over b, which begins at offset in its file.
func New(b []byte, offset int64) Cursor {
	return Cursor{buf: b, base: offset, size: int64(len(b))}
}

// NewReader returns a cursor over the size bytes of r. size is math.MaxInt64 if r is a
// stream of unknown length.
func NewReader(r *bufio.Reader, size int64) Cursor { return Cursor{r: r, size: size} }

// Err returns the first error. It is an *Error unless it comes from the reader or from Stop.
func (c *Cursor) Err() error { return c.err }

// Stop sets the cursor's error to err if it has none.
func (c *Cursor) Stop(err error) {
	if c.err == nil {
		c.err = err
	}
}

// Offset returns the offset of the next byte.
func (c *Cursor) Offset() int64 { return c.base + c.pos }

// Remaining returns the number of bytes that are left.
func (c *Cursor) Remaining() int64 { return c.size - c.pos }

// Missing returns how many more bytes the cursor would have needed to continue, as far as
// known. It is 0 if the cursor did not run out of bytes.
func (c *Cursor) Missing() int64 { return c.missing }

// Consumed returns the part of the bytes of New that was read.
func (c *Cursor) Consumed() []byte { return c.buf[:c.pos] }

// Rest returns the part of the bytes of New that was not read.
func (c *Cursor) Rest() []byte { return c.buf[c.pos:] }

// Fits reports whether n bytes follow and n is at most limit. Otherwise it sets the error.
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

// Bytes returns the next n bytes. They are a part of the bytes of New, or new memory.
func (c *Cursor) Bytes(n int64, what string) []byte { return c.BytesWithin(n, math.MaxInt64, what) }

// chunk bounds the memory that is allocated for a length before its bytes are read.
const chunk = 64 << 10

// BytesWithin is Bytes with an error if n is more than limit.
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
			c.readFailed(err, what)
			return nil
		}
	}
	return p
}

// readFailed sets the cursor's error to an error of the reader. If a stream of unknown length
// ends, its bytes end too early. If a file ends too early, it has shrunk.
func (c *Cursor) readFailed(err error, what string) {
	ended := err == io.EOF || err == io.ErrUnexpectedEOF
	switch {
	case ended && c.size == math.MaxInt64:
		c.cut(1, "the stream ends in %s", what)
		return
	//guard: reports a file that shrinks as an error of the reader
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
		c.readFailed(err, what)
		return 0
	}
	c.pos++
	return b
}

// BigEndian reads an integer of size bytes, at most 8, the most significant first.
func (c *Cursor) BigEndian(size int, what string) (v uint64) {
	for _, b := range c.Bytes(int64(size), what) {
		v = v<<8 | uint64(b)
	}
	return v
}

// LittleEndian reads an integer of size bytes, at most 8, the least significant first.
func (c *Cursor) LittleEndian(size int, what string) (v uint64) {
	for i, b := range c.Bytes(int64(size), what) {
		v |= uint64(b) << (8 * i)
	}
	return v
}

// Uvarint reads an integer in groups of seven bits, as in Avro and protobuf.
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

// VInt reads an integer in the encoding of AppendVInt.
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

// VIntSize returns the number of bytes of the VInt that begins with a byte.
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

// AppendVInt appends an integer in the encoding of Hadoop's WritableUtils. A first byte of
// -112 or more is the number itself. After a first byte of -113 to -120 follow one to eight
// bytes of the number, big-endian; after -121 to -128 those of the complement of a negative
// number.
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

// AppendText appends the length of a text as a VInt, and its bytes.
func AppendText[T string | []byte](dst []byte, v T) []byte {
	return append(AppendVInt(dst, int64(len(v))), v...)
}
