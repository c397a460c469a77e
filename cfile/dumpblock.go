package cfile

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/rowtocol/rowtocol/format/dump"
)

// content dumps a block that is not compressed, without decoding it. It stops at bytes that
// make no sense, and the caller dumps these as the rest.
func (d *dumper) content(r *region, raw []byte) {
	b := &fields{d: d, raw: raw}
	switch r.kind {
	case indexRegion:
		b.index()
	case dictionaryRegion:
		b.plainBinary()
	case dataRegion:
		footer := d.f.footer
		if isBloom(footer) {
			b.bloom()
			return
		}
		if footer.Nullable {
			b.nullable()
		}
		b.body(footer.Encoding.resolve(footer.Type), footer.Type.Physical())
	}
}

// fields dumps the fields of a block one after the other. It never goes beyond the block.
type fields struct {
	d   *dumper
	raw []byte
	pos int
}

// take dumps a field of n bytes, or of fewer at the end of the block, and returns it.
func (b *fields) take(n int, label string, args ...any) []byte {
	n = min(max(n, 0), len(b.raw)-b.pos)
	field := b.raw[b.pos : b.pos+n]
	b.d.Claim(int64(n), label, args...)
	b.pos += n
	return field
}

// u32 dumps and returns a number of 4 bytes.
func (b *fields) u32(label string) int {
	n := uint32(0)
	if len(b.raw)-b.pos >= 4 {
		n = binary.LittleEndian.Uint32(b.raw[b.pos:])
	}
	b.take(4, "%s: %d", label, n)
	return int(n)
}

// varint dumps and returns a varint.
func (b *fields) varint(label string) int {
	n, size := binary.Uvarint(b.raw[b.pos:])
	b.take(size, "%s: %d", label, n)
	return int(n)
}

func (b *fields) rest(label string, args ...any) {
	if n := len(b.raw) - b.pos; n > 0 {
		b.take(n, label, args...)
	}
}

func (b *fields) index() {
	entries, n, _, err := parseTrailer(b.raw)
	if err != nil || n > len(entries)/4 {
		return
	}
	for end := len(entries) - 4*n; b.pos < end; {
		key, p, size := parseEntry(b.raw[b.pos:end])
		if size == 0 {
			return
		}
		b.take(size, "key %x: %d bytes at %d", key, p.Size, p.Offset)
	}
	b.take(4*n, "places of %d entries", n)
	b.take(len(b.raw)-4-len(entries), "trailer: %d entries", n)
	b.u32("bytes of trailer")
}

func (b *fields) bloom() {
	n := b.u32("bytes of header")
	if hashes, _, err := parseFilter(b.raw); err == nil {
		b.take(n, "%d hash functions", hashes)
	}
	b.rest("bits")
}

func (b *fields) nullable() {
	b.varint("rows")
	n := b.varint("bytes of null bitmap")
	b.take(n, "null bitmap: runs")
}

// body dumps the encoded values.
func (b *fields) body(e Encoding, t Type) {
	switch {
	case e == Dict:
		if b.u32("mode") == 1 {
			b.bitshuffle()
		} else {
			b.plainBinary()
		}
	case e == Bitshuffle:
		b.bitshuffle()
	case e == Prefix:
		b.prefix()
	case e == GroupVarint:
		b.groupHeader("count, least, ordinal, 0")
		b.rest("values above the least, four by four")
	case e == RLE:
		b.u32("values")
		b.u32("ordinal")
		b.runs(t)
	case t == Binary:
		b.plainBinary()
	default:
		n := b.u32("values")
		b.u32("ordinal")
		if t == Bool {
			b.rest("%d values", n)
			return
		}
		for range n {
			if len(b.raw)-b.pos < t.Width() {
				break
			}
			b.take(t.Width(), "%s", number(t, b.raw[b.pos:]))
		}
	}
}

func (b *fields) plainBinary() {
	base := b.pos
	b.u32("ordinal")
	n := b.u32("values")
	end := base + b.u32("offsets begin at")
	b.take(end-b.pos, "%d values", n)
	b.rest("offsets")
}

func (b *fields) bitshuffle() {
	base := b.pos
	b.u32("ordinal")
	b.u32("values")
	size := b.u32("bytes of body")
	b.u32("values, to a multiple of 8")
	b.u32("bytes of a value")
	for b.pos < min(base+size, len(b.raw)) && len(b.raw)-b.pos >= 4 {
		n := int(binary.BigEndian.Uint32(b.raw[b.pos:]))
		b.take(4, "size %d", n)
		b.take(n, "  LZ4")
	}
}

// groupHeader dumps a group varint.
func (b *fields) groupHeader(label string) {
	size := 5
	if b.pos < len(b.raw) {
		for tag := b.raw[b.pos]; tag != 0; tag >>= 2 {
			size += int(tag & 3)
		}
	}
	b.take(size, "%s", label)
}

func (b *fields) prefix() {
	b.groupHeader("count, ordinal, restart interval, 0")
	if len(b.raw)-b.pos < 4 {
		return
	}
	restarts := int(binary.LittleEndian.Uint32(b.raw[len(b.raw)-4:]))
	for end := len(b.raw) - 4 - 4*restarts; b.pos < end; {
		shared, n := binary.Uvarint(b.raw[b.pos:end])
		own, m := binary.Uvarint(b.raw[b.pos+max(n, 0) : end])
		if n <= 0 || m <= 0 || own > uint64(end-b.pos-n-m) {
			return
		}
		from := b.pos + n + m
		b.take(n+m+int(own), "%d bytes of the value before and %s", shared, dump.Quote(b.raw[from:from+int(own)]))
	}
	b.take(4*restarts, "places of restarts")
	b.u32("restarts")
}

// runs dumps runs of values.
func (b *fields) runs(t Type) {
	bits := 8 * t.Width()
	if t == Bool {
		bits = 1
	}
	for b.pos < len(b.raw) {
		head, n := binary.Uvarint(b.raw[b.pos:])
		if n <= 0 || head>>1 > uint64(8*len(b.raw)) && head&1 == 1 {
			return
		}
		if head&1 == 1 {
			values := 8 * int(head>>1)
			b.take(n, "a run of %d values", values)
			b.take((values*bits+7)/8, "  values")
			continue
		}
		b.take(n, "a value %d times", head>>1)
		b.take((bits+7)/8, "  value")
	}
}

// number formats a value of a fixed width, a little-endian number.
func number(t Type, b []byte) string {
	var wide [8]byte
	copy(wide[:], b[:min(t.Width(), 8)])
	u := binary.LittleEndian.Uint64(wide[:])
	switch {
	case t == Float:
		return fmt.Sprint(math.Float32frombits(uint32(u)))
	case t == Double:
		return fmt.Sprint(math.Float64frombits(u))
	case t == Int128:
		return "16 bytes"
	case types[t].signed:
		unused := 64 - 8*t.Width()
		return fmt.Sprint(int64(u<<unused) >> unused)
	}
	return fmt.Sprint(u)
}
