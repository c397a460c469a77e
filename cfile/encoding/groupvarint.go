package encoding

import (
	"encoding/binary"
	"io"
	"math"
	"math/bits"

	"github.com/rowtocol/rowtocol/format/damage"
)

// maxGroup is the length of the longest group varint.
const maxGroup = 1 + 4*4

// appendGroup appends four integers as a group varint.
func appendGroup(dst []byte, a, b, c, d uint32) []byte {
	at := len(dst)
	dst = append(dst, make([]byte, maxGroup)...)
	group := dst[at:]
	la, lb, lc, ld := byteLen(a), byteLen(b), byteLen(c), byteLen(d)
	group[0] = byte((la-1)<<6 | (lb-1)<<4 | (lc-1)<<2 | (ld - 1))
	// Each integer is written in 4 bytes. The next one overwrites its high zero bytes.
	n := 1
	binary.LittleEndian.PutUint32(group[n:], a)
	n += la
	binary.LittleEndian.PutUint32(group[n:], b)
	n += lb
	binary.LittleEndian.PutUint32(group[n:], c)
	n += lc
	binary.LittleEndian.PutUint32(group[n:], d)
	return dst[:at+n+ld]
}

// byteLen returns how many bytes x has in a group varint: at least one.
func byteLen(x uint32) int { return (bits.Len32(x|1) + 7) >> 3 }

// groups reads a sequence of group varints. The zero value has none.
type groups struct {
	body  []byte
	end   int // end of the current group in body
	group [4]uint32
	used  int // how many integers of the group were returned
}

// reset makes g begin with the group at an offset in body.
func (g *groups) reset(body []byte, offset int) { g.body, g.end, g.used = body, offset, 4 }

// next returns the next integer.
func (g *groups) next() (uint32, error) {
	if g.used == 4 {
		if err := g.load(); err != nil {
			return 0, err
		}
	}
	x := g.group[g.used]
	g.used++
	return x, nil
}

// append appends the next n integers.
func (g *groups) append(dst []uint32, n int) ([]uint32, error) {
	for n > 0 {
		if g.used == 4 {
			if err := g.load(); err != nil {
				return dst, err
			}
		}
		m := min(n, 4-g.used)
		dst = append(dst, g.group[g.used:g.used+m]...)
		g.used += m
		n -= m
	}
	return dst, nil
}

// lowBytes[i] is the mask of the lowest i+1 bytes.
var lowBytes = [4]uint32{0xff, 0xffff, 0xffffff, 0xffffffff}

// load decodes the next group.
func (g *groups) load() error {
	group := g.body[g.end:]
	var last [maxGroup]byte
	size := 1
	if len(group) > 0 {
		size = groupSize(group[0])
	}
	//guard: rejects a group that is cut short
	if size > len(group) {
		return damaged(damage.Truncated, g.end, "%d bytes are left, but a group of integers takes %d", len(group), size)
	}
	if len(group) < maxGroup {
		copy(last[:], group)
		group = last[:]
	}
	tag := group[0]
	a, b, c, d := tag>>6, tag>>4&3, tag>>2&3, tag&3 // bytes of the integers less one
	at := 1
	g.group[0] = binary.LittleEndian.Uint32(group[at:]) & lowBytes[a]
	at += 1 + int(a)
	g.group[1] = binary.LittleEndian.Uint32(group[at:]) & lowBytes[b]
	at += 1 + int(b)
	g.group[2] = binary.LittleEndian.Uint32(group[at:]) & lowBytes[c]
	at += 1 + int(c)
	g.group[3] = binary.LittleEndian.Uint32(group[at:]) & lowBytes[d]
	g.end += size
	g.used = 0
	return nil
}

// skip passes over n integers. It reads only the first byte of the groups
// in between.
func (g *groups) skip(n int) error {
	for g.used+n > 4 {
		n -= 4 - g.used
		g.used = 4
		if n > 4 && g.end < len(g.body) {
			g.end = min(g.end+groupSize(g.body[g.end]), len(g.body))
			g.used = 0
			continue
		}
		if err := g.load(); err != nil {
			return err
		}
	}
	g.used += n
	return nil
}

// finish returns io.EOF if the current group is the last of the body.
func (g *groups) finish() error {
	//guard: rejects bytes after the last value
	if g.end != len(g.body) {
		return damaged(damage.Trailing, g.end, "%d bytes after the last group of integers", len(g.body)-g.end)
	}
	return io.EOF
}

// groupSize returns the bytes of the group that begins with a tag.
func groupSize(tag byte) int {
	return 5 + int(tag>>6) + int(tag>>4&3) + int(tag>>2&3) + int(tag&3)
}

// groupHeader reads the group that prefix and group varint blocks begin with.
func groupHeader(body []byte) (g groups, err error) {
	g.reset(body, 0)
	return g, g.load()
}

// AppendGroupVarint appends the group varint block of UINT32 values. Kudu
// wrote it up to release 1.1, and refuses it now.
func AppendGroupVarint(dst []byte, ordinal uint32, fixed []byte) []byte {
	n := len(fixed) / 4
	least := uint32(0)
	if n > 0 {
		least = ^least
	}
	for i := 0; i < len(fixed); i += 4 {
		least = min(least, binary.LittleEndian.Uint32(fixed[i:]))
	}
	dst = appendGroup(dst, uint32(n), least, ordinal, 0)
	for ; len(fixed) >= 16; fixed = fixed[16:] {
		dst = appendGroup(dst,
			binary.LittleEndian.Uint32(fixed)-least, binary.LittleEndian.Uint32(fixed[4:])-least,
			binary.LittleEndian.Uint32(fixed[8:])-least, binary.LittleEndian.Uint32(fixed[12:])-least)
	}
	if len(fixed) > 0 {
		var last [4]uint32
		for i := 0; 4*i < len(fixed); i++ {
			last[i] = binary.LittleEndian.Uint32(fixed[4*i:]) - least
		}
		dst = appendGroup(dst, last[0], last[1], last[2], last[3])
	}
	return dst
}

// groupVarint decodes group varint blocks.
type groupVarint struct {
	header
	least  uint32
	groups groups
}

// NewGroupVarint returns a Decoder of group varint blocks.
func NewGroupVarint() Decoder { return &groupVarint{} }

func (d *groupVarint) Reset(body []byte) (err error) {
	if d.groups, err = groupHeader(body); err != nil {
		return err
	}
	head := &d.groups.group
	d.header, d.least = newHeader(head[0], head[2]), head[1]
	d.groups.used = 4
	return nil
}

func (d *groupVarint) Read(v *Values, n int) (int, error) {
	if d.left == 0 {
		return 0, d.groups.finish()
	}
	n = min(n, d.left, readLimit/4)
	for range n {
		x, err := d.groups.next()
		if err != nil {
			return 0, err
		}
		//guard: rejects a sum of more than 32 bits
		if x > math.MaxUint32-d.least {
			return 0, damaged(damage.Value, 0, "the sum of %d and %d has more than 32 bits", d.least, x)
		}
		v.Fixed = binary.LittleEndian.AppendUint32(v.Fixed, d.least+x)
	}
	d.left -= n
	return n, nil
}

func (d *groupVarint) Skip(n int) error {
	if err := d.checkLeft(n); err != nil {
		return err
	}
	d.left -= n
	return d.groups.skip(n)
}
