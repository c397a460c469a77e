package hfile

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"slices"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// The magics of blocks.
const (
	magicData         = "DATABLK*"
	magicEncodedData  = "DATABLKE"
	magicLeaf         = "IDXLEAF2"
	magicIntermediate = "IDXINTE2"
	magicRoot         = "IDXROOT2"
	magicBloomChunk   = "BLMFBLK2"
	magicBloomMeta    = "BLMFMET2"
	magicDeleteBloom  = "DFBLMET2"
	magicMeta         = "METABLKc"
	magicInfo         = "FILEINF2"
	magicSize         = len(magicData)
)

// magics are the magics of the blocks that are read.
var magics = []string{
	magicData, magicLeaf, magicIntermediate, magicRoot, magicBloomChunk, magicBloomMeta, magicDeleteBloom, magicMeta, magicInfo,
}

// headerSize is the size of a block's header.
const headerSize = 33

// checksumSize is the size of a checksum.
const checksumSize = 4

// DefaultBytesPerChecksum is how many bytes of a block a checksum covers in files of HBase
// and of this package.
const DefaultBytesPerChecksum = 16 << 10

// Checksum is the kind of the checksums of blocks.
type Checksum uint8

// The kinds of checksums. With NoChecksum the blocks have the bytes of checksums, but these bytes
// have no meaning.
const (
	NoChecksum Checksum = 0
	CRC32      Checksum = 1
	CRC32C     Checksum = 2
)

// String returns HBase's name of the kind.
func (c Checksum) String() string {
	switch c {
	case NoChecksum:
		return "NULL"
	case CRC32:
		return "CRC32"
	case CRC32C:
		return "CRC32C"
	}
	return "unknown"
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (c Checksum) sum(b []byte) uint32 {
	if c == CRC32C {
		return crc32.Checksum(b, castagnoli)
	}
	return crc32.ChecksumIEEE(b)
}

// blockHeader is the header of a block. Sizes are in bytes.
type blockHeader struct {
	magic       string
	stored      int   // payload as stored, and checksums
	raw         int   // payload before compression
	previous    int64 // offset of the block of the same magic before this one; -1 if there is none
	checksum    Checksum
	perChecksum int // how many bytes a checksum covers
	covered     int // header and payload as stored: what all checksums cover
}

// size returns the block's size in the file.
func (h *blockHeader) size() int { return headerSize + h.stored }

// payload returns the size of the payload as stored.
func (h *blockHeader) payload() int { return h.covered - headerSize }

// chunks returns how many checksums n bytes have.
func chunks(n, perChecksum int) int { return (n + perChecksum - 1) / perChecksum }

// put writes the header to the first headerSize bytes of b.
func (h *blockHeader) put(b []byte) {
	copy(b, h.magic)
	binary.BigEndian.PutUint32(b[8:], uint32(h.stored))
	binary.BigEndian.PutUint32(b[12:], uint32(h.raw))
	binary.BigEndian.PutUint64(b[16:], uint64(h.previous))
	b[24] = byte(h.checksum)
	binary.BigEndian.PutUint32(b[25:], uint32(h.perChecksum))
	binary.BigEndian.PutUint32(b[29:], uint32(h.covered))
}

// parseBlockHeader reads the header of a block at an offset. Room is how many bytes the file has
// from this offset on.
func parseBlockHeader(b []byte, offset, room int64) (h blockHeader, err error) {
	//guard: rejects a header that is cut short
	if len(b) < headerSize {
		return h, damage.New(damage.Truncated, "", offset, "%d bytes are left, a block's header has %d", len(b), headerSize)
	}
	h = blockHeader{
		magic:    string(b[:magicSize]),
		previous: int64(binary.BigEndian.Uint64(b[16:])),
		checksum: Checksum(b[24]),
	}
	stored, raw := int32(binary.BigEndian.Uint32(b[8:])), int32(binary.BigEndian.Uint32(b[12:]))
	per, covered := int32(binary.BigEndian.Uint32(b[25:])), int32(binary.BigEndian.Uint32(b[29:]))
	//guard: rejects an unknown kind of checksum
	if h.checksum > CRC32C {
		return h, damage.New(damage.Unsupported, "", offset+24, "checksums of kind %d; known are NULL, CRC32 and CRC32C", h.checksum)
	}
	//guard: rejects a block that reaches beyond the file
	if stored < 0 || int64(stored) > room-headerSize {
		return h, damage.New(damage.Size, "", offset+8, "a block of %d bytes and its header, but only %d bytes are left", stored, room)
	}
	//guard: rejects a negative size
	if raw < 0 {
		return h, damage.New(damage.Size, "", offset+12, "a block of %d bytes", raw)
	}
	//guard: rejects a checksum of fewer bytes than the header has
	if per < headerSize {
		return h, damage.New(damage.Size, "", offset+25, "a checksum for each %d bytes, expected at least %d", per, headerSize)
	}
	//guard: rejects a covered size outside the block
	if covered < headerSize || int64(covered) > headerSize+int64(stored) {
		return h, damage.New(damage.Size, "", offset+29, "the checksums cover %d bytes of a block of %d", covered, headerSize+int64(stored))
	}
	h.stored, h.raw, h.perChecksum, h.covered = int(stored), int(raw), int(per), int(covered)
	//guard: rejects a wrong number of checksums
	if want := h.payload() + checksumSize*chunks(h.covered, h.perChecksum); h.stored != want {
		return h, damage.New(damage.Size, "", offset+8, "%d bytes after the header, payload and checksums have %d", h.stored, want)
	}
	return h, nil
}

// verify checks the checksums of the whole block b. verified is false if it has no checksums.
func (h *blockHeader) verify(b []byte, offset int64) (verified bool, err error) {
	if h.checksum == NoChecksum {
		return false, nil
	}
	sums := b[h.covered:h.size()]
	for at := 0; at < h.covered; at += h.perChecksum {
		got := h.checksum.sum(b[at:min(at+h.perChecksum, h.covered)])
		want := binary.BigEndian.Uint32(sums)
		//guard: rejects changed bytes
		if got != want {
			return false, damage.New(damage.Checksum, "", offset+int64(at), "the %s of the bytes is %08x, the block has %08x", h.checksum, got, want)
		}
		sums = sums[checksumSize:]
	}
	return true, nil
}

// maxChecksums is the most checksums of a block that is written. Hudi's reader ignores the end of
// the payload: as many bytes as the checksums have. This does no harm, because a cell has more.
const maxChecksums = 5

// seal fills in the header of a block and appends the checksums. b begins with room for the
// header. The payload as it is stored follows.
func (h *blockHeader) seal(b []byte) []byte {
	h.checksum = CRC32C
	h.covered = len(b)
	h.perChecksum = max(DefaultBytesPerChecksum, (h.covered+maxChecksums-1)/maxChecksums)
	h.stored = h.payload() + checksumSize*chunks(h.covered, h.perChecksum)
	h.put(b)
	for at := 0; at < h.covered; at += h.perChecksum {
		b = binary.BigEndian.AppendUint32(b, h.checksum.sum(b[at:min(at+h.perChecksum, h.covered)]))
	}
	return b
}

// blockReader reads blocks of a file into memory that it reuses.
type blockReader struct {
	r      io.ReaderAt
	name   string // name of the file
	codec  Codec
	end    int64 // offset after the last block
	max    int64 // size of the largest block that is decoded
	memory column.Reservation
	stored []byte
	raw    []byte
	// hasChecksums means that another block of the file had checksums.
	hasChecksums bool
	// unverified is called for each block without checksums.
	unverified func()
}

// read returns the header and the payload of the block at an offset. The block must have one
// of the magics and, unless size is negative, size bytes. The payload is valid until the next
// call.
func (b *blockReader) read(offset int64, size int, magics ...string) (h blockHeader, payload []byte, err error) {
	if size < 0 {
		if h, err = b.header(offset); err != nil {
			return h, nil, err
		}
		size = h.size()
	}
	if err = b.checkOffset(offset); err != nil {
		return h, nil, err
	}
	room := b.end - offset
	//guard: rejects a block that reaches beyond the blocks
	if size < headerSize || int64(size) > room {
		return h, nil, damage.New(damage.Size, "", offset, "a block of %d bytes, but only %d are left", size, room)
	}
	if b.stored, err = b.grow(b.stored, size); err != nil {
		return h, nil, err
	}
	if err = damage.ReadFull(b.r, b.stored, offset, b.name); err != nil {
		return h, nil, err
	}
	if h, err = parseBlockHeader(b.stored, offset, room); err != nil {
		return h, nil, err
	}
	payload, err = b.decode(&h, offset, size, magics)
	return h, payload, err
}

// checkOffset checks that a block can be at an offset.
func (b *blockReader) checkOffset(offset int64) error {
	//guard: rejects a block that begins outside the blocks
	if offset < 0 || offset > b.end-headerSize {
		return damage.New(damage.Value, "", offset, "a block is recorded at %d, the blocks end at %d", offset, b.end)
	}
	return nil
}

// header reads the header of the block at an offset.
func (b *blockReader) header(offset int64) (blockHeader, error) {
	if err := b.checkOffset(offset); err != nil {
		return blockHeader{}, err
	}
	var buf [headerSize]byte
	if err := damage.ReadFull(b.r, buf[:], offset, b.name); err != nil {
		return blockHeader{}, err
	}
	return parseBlockHeader(buf[:], offset, b.end-offset)
}

// decode checks the block in b.stored and returns its payload.
func (b *blockReader) decode(h *blockHeader, offset int64, size int, magics []string) ([]byte, error) {
	//guard: rejects a block whose size in the index is wrong
	if h.size() != size {
		return nil, damage.New(damage.Size, "", offset+8, "a block of %d bytes, the index says %d", h.size(), size)
	}
	//guard: rejects a block of another kind
	if !slices.Contains(magics, h.magic) {
		if h.magic == magicEncodedData {
			return nil, damage.New(damage.Unsupported, "", offset, "a data block with an encoding (DATA_BLOCK_ENCODING)")
		}
		return nil, damage.New(damage.Magic, "", offset, "a block begins with %q, expected %q", h.magic, magics)
	}
	verified, err := h.verify(b.stored, offset)
	if err != nil {
		return nil, err
	}
	//guard: rejects a header that turns the checksums off
	if !verified && b.hasChecksums {
		return nil, damage.New(damage.Checksum, "", offset+24, "a block has no checksums, but other blocks have them")
	}
	if !verified && b.unverified != nil {
		b.unverified()
	}
	payload := b.stored[headerSize:h.covered]
	if b.codec == None {
		//guard: rejects a payload whose length in the header is wrong
		if h.raw != len(payload) {
			return nil, damage.New(damage.Size, "", offset+12, "a payload of %d bytes, the header says %d", len(payload), h.raw)
		}
		return payload, nil
	}
	//guard: bounds the size of a block
	if int64(h.raw) > b.max {
		return nil, damage.New(damage.Unsupported, "", offset+12, "a block of %d bytes, at most %d are decoded", h.raw, b.max)
	}
	//guard: rejects a size to which the payload cannot decompress
	if int64(h.raw) > maxDecoded(b.codec, len(payload)) {
		return nil, damage.New(damage.Size, "", offset+12, "%d bytes of %s cannot decompress to %d", len(payload), b.codec, h.raw)
	}
	if b.raw, err = b.grow(b.raw, h.raw); err != nil {
		return nil, err
	}
	if err := decompress(b.codec, b.raw, payload); err != nil {
		e := damage.New(damage.Codec, "", offset+headerSize, "%d bytes of %s do not decompress to %d", len(payload), b.codec, h.raw)
		e.Err = err
		return nil, e
	}
	return b.raw, nil
}

// grow returns n bytes, in the memory of buf if they fit. The result is never nil.
func (b *blockReader) grow(buf []byte, n int) ([]byte, error) {
	if buf != nil && n <= cap(buf) {
		return buf[:n], nil
	}
	//guard: bounds the size of a block
	if int64(n) > b.max {
		return buf, damage.New(damage.Unsupported, "", -1, "a block of %d bytes, at most %d are read", n, b.max)
	}
	if err := b.memory.Reserve(int64(n)); err != nil {
		return buf, err
	}
	b.memory.ShrinkTo(b.memory.Held - int64(cap(buf)))
	return make([]byte, n), nil
}

// readInto is like read, but the payload stays valid. From then on, keep accounts for its memory.
func (b *blockReader) readInto(keep *column.Reservation, offset int64, magics ...string) (h blockHeader, payload []byte, err error) {
	if h, payload, err = b.read(offset, -1, magics...); err != nil {
		return h, nil, err
	}
	buf := &b.raw
	if b.codec == None {
		buf = &b.stored
	}
	n := int64(cap(*buf))
	*buf = nil
	b.memory.Held -= n
	keep.Held += n
	return h, payload, nil
}

// close releases the memory.
func (b *blockReader) close() {
	b.memory.ShrinkTo(0)
	b.stored, b.raw = nil, nil
}
