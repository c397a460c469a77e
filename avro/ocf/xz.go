package ocf

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"

	"github.com/ulikunitz/xz"
	"github.com/ulikunitz/xz/lzma"
)

// maxXZDict is the dictionary of the xz tool's highest preset.
const maxXZDict = 64 << 20

// maxXZBlocks is far more blocks than streams of a few hundred megabytes have.
const maxXZBlocks = 1 << 16

var errXZ = errors.New("not the structure of an xz stream")

// xz changes headers in src while it decodes.
func (d *Decoder) xz(dst, src []byte) ([]byte, error) {
	// The library takes memory for any dictionary that a block names.
	blocks, err := checkXZ(src, d.maxBlock)
	if err != nil {
		return dst, err
	}
	switch size := sizeOf(blocks); {
	//guard: a block would be decompressed that is beyond the limit
	case size > d.maxBlock:
		return dst, ErrTooLarge
	//guard: memory would be taken that nobody has room for
	case size > int64(cap(dst)):
		return dst, ErrRoom
	}
	for i := range blocks {
		blocks[i].shrink(src)
	}
	defer func() {
		for i := range blocks {
			blocks[i].restore(src)
		}
	}()
	d.src.Reset(src)
	r, err := xz.ReaderConfig{DictCap: lzma.MinDictCap}.NewReader(&d.src)
	if err != nil {
		return dst, err
	}
	dst, err = d.readAll(dst, r)
	//guard: a block of more bytes than its index says would want room for ever
	if errors.Is(err, ErrRoom) {
		err = errXZ
	}
	return dst, err
}

// xzBlock is a block in a stream. Presets name dictionaries of many megabytes for
// blocks of any size; more than the block itself is never of use.
type xzBlock struct {
	head, end int   // of the header, in the stream
	dict      int   // place of the dictionary's size
	size      int64 // uncompressed, as the index says
	was       [5]byte
}

// sizeOf is what all blocks decompress to, as their indexes say.
func sizeOf(blocks []xzBlock) (size int64) {
	for _, b := range blocks {
		size += b.size
	}
	return size
}

// shrink makes the dictionary that the block's header names no larger than needed.
func (b *xzBlock) shrink(src []byte) {
	crc := src[b.end-4 : b.end]
	b.was = [5]byte{src[b.dict], crc[0], crc[1], crc[2], crc[3]}
	for code := byte(0); code < src[b.dict]; code++ {
		if n, err := lzma.DecodeDictCap(code); err == nil && n >= b.size {
			src[b.dict] = code
			binary.LittleEndian.PutUint32(crc, crc32.ChecksumIEEE(src[b.head:b.end-4]))
			return
		}
	}
}

// restore undoes shrink.
func (b *xzBlock) restore(src []byte) {
	src[b.dict] = b.was[0]
	copy(src[b.end-4:b.end], b.was[1:])
}

// checkXZ walks the structure of xz streams without decompressing, and limits
// their dictionaries. Checksums of the data and reserved values are left to the
// decoder, and whether the sizes are true.
func checkXZ(src []byte, maxBlock int64) ([]xzBlock, error) {
	c := xzCursor{p: src}
	var all []xzBlock
	var dict int64
	for len(c.p) > 0 && !c.bad {
		if binary.LittleEndian.Uint32(c.look(4)) == 0 {
			c.take(4) // stream padding
			continue
		}
		sum := xzCheckSize(c.look(8)[7])
		c.take(12)
		first := len(all)
		for c.look(1)[0] != 0 && !c.bad {
			//guard: blocks of a few bytes would take memory many times theirs
			if len(all) == maxXZBlocks {
				c.bad = true
				break
			}
			b := xzBlock{head: len(src) - len(c.p)}
			var named int64
			named, b.dict = c.blockHeader()
			b.end = len(src) - len(c.p)
			b.dict += b.head
			dict = max(dict, named)
			c.chunks()
			c.take(-c.used & 3)
			c.take(sum)
			all = append(all, b)
		}
		c.index(all[first:])
		c.take(12)
	}
	// What is too large is judged last: sizes in a broken structure are false.
	switch {
	case c.bad:
		return nil, errXZ
	//guard: a dictionary beyond the limit would get memory
	case dict > max(maxXZDict, maxBlock):
		return nil, ErrTooLarge
	}
	return all, nil
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
// size of its dictionary, and where that stands in the header.
func (c *xzCursor) blockHeader() (dict int64, at int) {
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
	at = 1 + h.used
	dict, err := lzma.DecodeDictCap(h.byte())
	c.bad = c.bad || h.bad || err != nil
	return dict, at
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

// index reads the list of blocks, and checks its CRC-32: room is made for what it
// says.
func (c *xzCursor) index(blocks []xzBlock) {
	all := c.p
	c.used = 0
	c.take(1)
	//guard: blocks would have sizes of others
	if n := c.uvarint(); n != uint64(len(blocks)) {
		c.bad = true
	}
	for i := range blocks {
		c.uvarint()
		size := c.uvarint()
		//guard: sizes would add up to something negative
		if size > math.MaxInt32 {
			c.bad = true
		}
		blocks[i].size = int64(size)
	}
	c.take(-c.used & 3)
	sum := crc32.ChecksumIEEE(all[:min(c.used, len(all))])
	//guard: a damaged size would be taken for a true one
	if binary.LittleEndian.Uint32(c.look(4)) != sum {
		c.bad = true
	}
	c.take(4)
}
