package shred

import (
	"encoding/binary"
	"math/bits"
)

const (
	// short is the size in bytes from which the length of a string takes two bytes.
	short = 64
	// reach is the most bytes that a shortcut reads: the index of an optional value (1 byte),
	// and a string with its length (64 bytes).
	reach = 1 + short
)

// run executes ops n times, from position p on. It returns the position after the data, or
// -1 with s.err set. It takes shortcuts for data of the most common form, if at least reach
// bytes of s.ahead remain. If s.ahead is nil, it takes none. step and value handle all other
// data, and all damage.
func (s *Shredder) run(ops []op, p, n int) int {
	b := s.ahead
	for range n {
		for i := range ops {
			o := &ops[i]
			if len(b)-p < reach || o.optional && b[p]|2 != 2 { // the index 0 or 1 is the byte 0 or 2
				if p = s.step(o, p); p < 0 {
					return s.failed(o)
				}
				continue
			}
			if o.optional {
				p++
				if b[p-1] == 2*o.null {
					o.buf.Absent()
					continue
				}
				o.buf.Present()
			}
			w := b[p : p+16]
			switch o.code {
			case opInt, opLong:
				word := binary.LittleEndian.Uint64(w)
				if size, ok := varintSize(word, o.n); ok {
					o.buf.AppendWord(word, size)
					p += size
					continue
				}
			case opFixedWidth:
				o.buf.AppendWord(binary.LittleEndian.Uint64(w), int(o.n))
				p += int(o.n)
				continue
			case opString:
				if w[0]&0x81 == 0 { // the length takes one byte and is not negative
					size := int(w[0]/2) + 1
					if size <= 16 && ascii(w, size) {
						o.buf.AppendHead((*[16]byte)(w), size)
						p += size
						continue
					}
					if validUTF8(b[p+1 : p+size]) {
						o.buf.AppendShort(b[p:p+short], size)
						p += size
						continue
					}
				}
			case opBoolean:
				if w[0] <= 1 {
					o.buf.AppendBool(w[0] == 1)
					p++
					continue
				}
			case opEnum:
				if c := w[0]; c&0x81 == 0 && uint32(c>>1) < o.n {
					o.buf.AppendByte(c)
					p++
					continue
				}
			}
			if p = s.value(o, p); p < 0 {
				return s.failed(o)
			}
		}
	}
	return p
}

// varintSize returns the size of the varint that a word begins with. ok is true if the
// varint ends within the word, is not longer than needed, and is in the range of its type.
// shift stands for the type: in the encoded varint, all bits from bit shift on must be 0.
// Ints and longs of this form are copied.
func varintSize(word uint64, shift uint32) (size int, ok bool) {
	ends := ^word & high // the lowest bit that is set is the top bit of the varint's last byte
	end := bits.TrailingZeros64(ends)
	value := word & (ends ^ (ends - 1))
	return (end + 1) / 8, value>>(shift&63) == 0 && (value|1)>>(uint(end-7)&63) != 0
}
