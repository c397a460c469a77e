package ocf

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/ulikunitz/xz"
	"github.com/ulikunitz/xz/lzma"
)

// maxXZDict is the dictionary of the xz tool's highest preset.
const maxXZDict = 64 << 20

var errXZ = errors.New("not the structure of an xz stream")

func (d *Decoder) xz(dst, src []byte) ([]byte, error) {
	// The library takes memory for any dictionary that a block names.
	if err := checkXZ(src, d.maxBlock); err != nil {
		return dst, err
	}
	d.src.Reset(src)
	r, err := xz.ReaderConfig{DictCap: lzma.MinDictCap}.NewReader(&d.src)
	if err != nil {
		return dst, err
	}
	return d.readAll(dst, r)
}

// checkXZ walks the structure of xz streams without decompressing, and limits
// their dictionaries. Checksums of the data and reserved values are left to the
// decoder, and the uncompressed size to what reads from it.
func checkXZ(src []byte, maxBlock int64) error {
	c := xzCursor{p: src}
	var dict int64
	for len(c.p) > 0 && !c.bad {
		if binary.LittleEndian.Uint32(c.look(4)) == 0 {
			c.take(4) // stream padding
			continue
		}
		sum := xzCheckSize(c.look(8)[7])
		c.take(12)
		for c.look(1)[0] != 0 && !c.bad {
			dict = max(dict, c.blockHeader())
			c.chunks()
			c.take(-c.used & 3)
			c.take(sum)
		}
		c.index()
		c.take(12)
	}
	// What is too large is judged last: sizes in a broken structure are false.
	switch {
	case c.bad:
		return errXZ
	//guard: a dictionary beyond the limit would get memory
	case dict > max(maxXZDict, maxBlock):
		return ErrTooLarge
	}
	return nil
}

// xzCursor stops at the first byte that does not fit; bad says so.
type xzCursor struct {
	p     []byte
	used  int // bytes taken since the start of the current part
	bad   bool
	zeros [8]byte
}

// look returns the next n bytes, at most 8, or zeros if there are fewer.
func (c *xzCursor) look(n int) []byte {
	if n > len(c.p) {
		c.bad, c.p = true, nil
		return c.zeros[:n]
	}
	return c.p[:n]
}

func (c *xzCursor) take(n int) {
	if n < 0 || n > len(c.p) {
		c.bad, c.p = true, nil
		return
	}
	c.p = c.p[n:]
	c.used += n
}

func (c *xzCursor) byte() byte {
	b := c.look(1)[0]
	c.take(1)
	return b
}

func (c *xzCursor) uvarint() uint64 {
	v, n := binary.Uvarint(c.p)
	if n <= 0 {
		n = -1
	}
	c.take(n)
	return v
}

// blockHeader passes a block header whose only filter is LZMA2 and returns the
// size of its dictionary.
func (c *xzCursor) blockHeader() int64 {
	const crcSize = 4
	h := xzCursor{}
	if n := (int(c.look(1)[0]) + 1) * 4; n > crcSize && n <= len(c.p) {
		crc := binary.LittleEndian.Uint32(c.p[n-crcSize:])
		h.p, h.bad = c.p[1:n-crcSize], crc32.ChecksumIEEE(c.p[:n-crcSize]) != crc
		c.take(n)
	}
	flags := h.byte()
	for _, bit := range []byte{0x40, 0x80} {
		if flags&bit != 0 {
			h.uvarint()
		}
	}
	const lzma2 = 0x21
	if h.uvarint() != lzma2 || h.uvarint() != 1 || flags&3 != 0 {
		h.bad = true
	}
	dict, err := lzma.DecodeDictCap(h.byte())
	c.bad = c.bad || h.bad || err != nil
	return dict
}

// chunks passes the LZMA2 chunks of a block.
func (c *xzCursor) chunks() {
	c.used = 0
	for !c.bad {
		control := c.byte()
		switch {
		case control == 0:
			return
		case control >= 0x80: // compressed
			n := 4 + int(binary.BigEndian.Uint16(c.look(4)[2:])) + 1
			if control >= 0xc0 {
				n++ // new properties
			}
			c.take(n)
		case control <= 2: // stored
			c.take(2 + int(binary.BigEndian.Uint16(c.look(2))) + 1)
		default:
			c.bad = true
		}
	}
}

// xzCheckSize returns the size of a block's checksum, or -1 for one that is
// not known.
func xzCheckSize(kind byte) int {
	switch kind {
	case 0:
		return 0
	case 1: // CRC-32
		return 4
	case 4: // CRC-64
		return 8
	case 10: // SHA-256
		return 32
	}
	return -1
}

// index passes the list of blocks, its padding and its CRC-32.
func (c *xzCursor) index() {
	c.used = 0
	c.take(1)
	for n := c.uvarint(); n > 0 && !c.bad; n-- {
		c.uvarint()
		c.uvarint()
	}
	c.take(-c.used & 3)
	c.take(4)
}
