package ocf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"

	"github.com/ulikunitz/xz"
	"github.com/ulikunitz/xz/lzma"

	"github.com/rowtocol/rowtocol/internal/wire"
)

// maxXZDict is the size of the dictionary of the xz tool's highest preset.
const maxXZDict = 64 << 20

// maxXZBlocks bounds the blocks of all streams of a block. Streams of a few hundred
// megabytes have far fewer blocks.
const maxXZBlocks = 1 << 16

var errXZ = errors.New("not the structure of an xz stream")

// xz decompresses src. It changes headers in src during the call.
func (d *Decoder) xz(dst, src []byte) ([]byte, error) {
	// The library allocates any dictionary that a block states.
	blocks, err := checkXZ(src, d.maxBlock)
	if err != nil {
		return dst, err
	}
	switch size := sizeOf(blocks); {
	//guard: rejects a block that decompresses beyond the limit
	case size > d.maxBlock:
		return dst, ErrTooLarge
	//guard: reserves memory before a larger buffer is allocated
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
	//guard: rejects a block that is larger than its index says
	if errors.Is(err, ErrRoom) {
		err = errXZ
	}
	return dst, err
}

// xzBlock is a block in a stream. Presets state dictionaries of many megabytes for
// blocks of any size, but a dictionary larger than the block is useless.
type xzBlock struct {
	head, end int     // start and end of the block's header in the stream
	dict      int     // offset of the dictionary's size
	size      int64   // decompressed size that the index states
	was       [5]byte // bytes that shrink replaced
}

// sizeOf returns the decompressed size of all blocks that their indexes state.
func sizeOf(blocks []xzBlock) (size int64) {
	for _, b := range blocks {
		size += b.size
	}
	return size
}

// shrink changes the block's header to state a dictionary that is no larger than needed.
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

// checkXZ walks the structure of xz streams without decompressing them, and rejects too
// large dictionaries. The decoder later checks the data, checksums, sizes and reserved
// values.
func checkXZ(src []byte, maxBlock int64) ([]xzBlock, error) {
	c := xzCursor{wire.New(src, 0)}
	var all []xzBlock
	var dict int64
	for c.Remaining() > 0 && c.Err() == nil {
		if c.LittleEndian(4, "a header") == 0 {
			continue // stream padding
		}
		sum := xzCheckSize(byte(c.LittleEndian(8, "a header") >> 24))
		first := len(all)
		for c.Err() == nil && !bytes.HasPrefix(c.Rest(), []byte{0}) {
			//guard: bounds the number of blocks
			if len(all) == maxXZBlocks {
				c.Stop(errXZ)
				break
			}
			b := xzBlock{head: int(c.Offset())}
			var named int64
			named, b.dict = c.blockHeader()
			b.end = int(c.Offset())
			dict = max(dict, named)
			c.chunks()
			c.pad(b.end)
			c.Bytes(sum, "a checksum")
			all = append(all, b)
		}
		c.index(all[first:])
		c.Bytes(12, "a footer")
	}
	// Size limits come last: sizes in a broken structure are false.
	switch {
	case c.Err() != nil:
		return nil, errXZ
	//guard: rejects a dictionary beyond the limit
	case dict > max(maxXZDict, maxBlock):
		return nil, ErrTooLarge
	}
	return all, nil
}

type xzCursor struct{ wire.Cursor }

// pad passes the padding of a part of the stream that begins at from: the size of each
// part is a multiple of four bytes.
func (c *xzCursor) pad(from int) { c.Bytes(-(c.Offset()-int64(from))&3, "padding") }

// blockHeader passes a block header whose only filter is LZMA2. It returns the size of
// the dictionary, and the offset of that size in the stream.
func (c *xzCursor) blockHeader() (dict int64, at int) {
	from := c.Offset()
	size := 4*int64(c.Uint8("the size of a header")) + 3 // bytes that follow, with the CRC
	h := wire.New(c.Bytes(size-4, "a header"), from+1)
	sum := crc32.ChecksumIEEE(c.Consumed()[from:])
	if uint64(sum) != c.LittleEndian(4, "a CRC") {
		c.Stop(errXZ)
	}
	flags := h.Uint8("flags")
	for _, bit := range []byte{0x40, 0x80} {
		if flags&bit != 0 {
			h.Uvarint("a size")
		}
	}
	const lzma2 = 0x21
	if h.Uvarint("a filter") != lzma2 || h.Uvarint("a size of properties") != 1 || flags&3 != 0 {
		c.Stop(errXZ)
	}
	at = int(h.Offset())
	dict, err := lzma.DecodeDictCap(h.Uint8("a dictionary's size"))
	if err != nil {
		c.Stop(err)
	}
	if err := h.Err(); err != nil {
		c.Stop(err)
	}
	return dict, at
}

// chunks passes the LZMA2 chunks of a block.
func (c *xzCursor) chunks() {
	for c.Err() == nil {
		control := c.Uint8("a chunk's kind")
		switch {
		case control == 0:
			return
		case control >= 0x80: // compressed
			c.BigEndian(2, "a chunk's size")
			n := int64(c.BigEndian(2, "a chunk's compressed size")) + 1 + 1 // and the properties before it
			if control < 0xc0 {
				n-- // the chunk uses the properties of the last chunk
			}
			c.Bytes(n, "a chunk")
		case control <= 2: // stored
			c.Bytes(int64(c.BigEndian(2, "a chunk's size"))+1, "a chunk")
		default:
			c.Stop(errXZ)
		}
	}
}

// xzCheckSize returns the size of a block's checksum, or -1 if the kind is unknown.
func xzCheckSize(kind byte) int64 {
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

// index reads the list of blocks and checks its CRC-32, because memory is allocated by the
// sizes in the list.
func (c *xzCursor) index(blocks []xzBlock) {
	from := int(c.Offset())
	c.Uint8("the start of the index")
	//guard: rejects an index with another number of blocks
	if n := c.Uvarint("the number of blocks"); n != uint64(len(blocks)) {
		c.Stop(errXZ)
	}
	for i := range blocks {
		c.Uvarint("a stored size")
		size := c.Uvarint("a size")
		//guard: rejects sizes whose sum would overflow
		if size > math.MaxInt32 {
			c.Stop(errXZ)
		}
		blocks[i].size = int64(size)
	}
	c.pad(from)
	sum := crc32.ChecksumIEEE(c.Consumed()[from:])
	//guard: rejects an index with a wrong checksum
	if c.LittleEndian(4, "a CRC") != uint64(sum) {
		c.Stop(errXZ)
	}
}
