package trevni

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"

	"github.com/rowtocol/rowtocol/format/damage"
)

// This file checks the CRCs of the header, of block tables, and of blocks as stored. They are
// in the metadata. Trevni itself does not define them, so files of other writers lack them.

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// isCRC reports whether a file metadata key is that of a CRC.
func isCRC(key string) bool {
	return key == HeaderCRCKey || key == BlocksCRCKey
}

// crcPair returns the encoded size of a metadata pair of a CRC.
func crcPair(key string) int { return 1 + len(key) + 1 + crc32.Size }

// firstKey is where the text of the first metadata key ends, if that key is
// HeaderCRCKey.
const firstKey = 4 + 8 + 4 + binary.MaxVarintLen64 + 1 + len(HeaderCRCKey)

// check compares the header that d has just parsed with its CRC, and reads the CRCs of the
// block tables from the header. A single changed byte must not make the CRCs look absent. If
// the text of the first key was changed, the keys of the columns are still there. If the
// number of pairs or the length of the first key was changed, its text is still there.
func (h *header) check(d *decoder) {
	if d.Err() != nil {
		return
	}
	stored, ok := h.meta.Get(HeaderCRCKey)
	//guard: rejects a header with damaged lengths before the key of its checksum
	if !ok && bytes.Contains(d.Consumed()[:min(firstKey, len(d.Consumed()))], []byte(HeaderCRCKey)) {
		d.Fail(damage.Header, 0, "the header names %s, but not as a metadata key", HeaderCRCKey)
		return
	}
	for i := range h.columns {
		c := &h.columns[i]
		crc, has := c.Meta.Get(TableCRCKey)
		//guard: rejects a header in which the key of a checksum is damaged
		if has != ok {
			d.Fail(damage.Header, 0, "the header has only one of %s and, in column %q, %s", HeaderCRCKey, c.Name, TableCRCKey)
			return
		}
		//guard: rejects a checksum that is cut off
		if has && len(crc) != crc32.Size {
			d.Fail(damage.Header, 0, "%s of column %q has %d bytes, expected %d", TableCRCKey, c.Name, len(crc), crc32.Size)
			return
		}
		if has {
			c.tableCRC = readChecksum(ChecksumSpec, crc)
		}
	}
	if !ok {
		return
	}
	//guard: rejects a checksum that is cut off
	if len(stored) != crc32.Size {
		d.Fail(damage.Header, 0, "%s has %d bytes, expected %d", HeaderCRCKey, len(stored), crc32.Size)
		return
	}
	want, got := readChecksum(ChecksumSpec, stored), headerCRC(d.Consumed(), h.crcAt)
	//guard: rejects a damaged header
	if want != got {
		d.Fail(damage.Checksum, h.crcAt, "the stored CRC-32C of the header is %08x, the header's is %08x", want, got)
	}
	h.protected = true
}

// headerCRC returns the CRC-32C of a header, with the four bytes at crcAt as zeros.
func headerCRC(head []byte, crcAt int64) uint32 {
	var zeros [crc32.Size]byte
	crc := crc32.Checksum(head[:crcAt], castagnoli)
	crc = crc32.Update(crc, castagnoli, zeros[:])
	return crc32.Update(crc, castagnoli, head[crcAt+crc32.Size:])
}

// checkTable compares the block table that d has just parsed with its CRC. It also checks that
// the blocks end where the column ends. Files of other writers may have a gap there.
func (h *header) checkTable(d *decoder, c *Column, blocks []Descriptor, end int64) {
	if d.Err() != nil || !h.protected {
		return
	}
	//guard: rejects a damaged block table
	if crc := crc32.Checksum(d.Consumed(), castagnoli); crc != c.tableCRC {
		d.Fail(damage.Checksum, c.Start, "the CRC-32C of the block table is %08x, %s says %08x", crc, TableCRCKey, c.tableCRC)
		return
	}
	at := d.Offset()
	if n := len(blocks); n > 0 {
		at = blocks[n-1].Offset + blocks[n-1].StoredSize + int64(checksumSize(c.Checksum))
	}
	//guard: rejects bytes after the blocks of a column
	if at != end {
		d.Fail(damage.Trailing, at, "%d bytes belong to nothing", end-at)
	}
}

// compareBlocksCRC compares the CRC-32C of the CRC-32Cs of all stored blocks with
// BlocksCRCKey, if the header has that key. crcs has those of each column's blocks. All blocks
// have decoded to valid values, so only bits that have no meaning to their codec can differ.
func (f *File) compareBlocksCRC(crcs [][]uint32) error {
	stored, ok := f.h.meta.Get(BlocksCRCKey)
	if !ok || !f.h.protected {
		return nil
	}
	var own [crc32.Size]byte
	crc := uint32(0)
	for _, column := range crcs {
		for _, block := range column {
			binary.LittleEndian.PutUint32(own[:], block)
			crc = crc32.Update(crc, castagnoli, own[:])
		}
	}
	binary.LittleEndian.PutUint32(own[:], crc)
	//guard: rejects changed bytes that decode to the same values
	if !bytes.Equal(own[:], stored) {
		return damage.New(damage.Checksum, f.name, -1,
			"the values are sound, but stored bytes of blocks were changed: their CRC-32C is %x, %s says %x", own, BlocksCRCKey, stored)
	}
	return nil
}
