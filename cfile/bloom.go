package cfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/format/protobuf"
)

// isBloom reports whether the blocks of a file, if it has any, can only be Bloom filters: the
// file has no rows and no positional index.
func isBloom(f *Footer) bool {
	return f.Values == 0 && f.Positional == nil && f.Type == Binary && f.Encoding == Plain && !f.Nullable
}

// bloomPart is a BloomFile as a part without rows.
type bloomPart struct {
	*part
	filters, hashes int
	bits            int64
	keys            float64 // estimated number of keys
	stored          int64   // bytes of the blocks in the file
}

// openBloom reads the filters of a BloomFile, one after another. It stops at damage, which
// Verify and Dump report.
func (p *part) openBloom(file *File) (*bloomPart, error) {
	b := &bloomPart{part: p}
	blocks := blockReader{f: file, from: file.readBlock}
	defer blocks.close()
	err := file.visit(*file.footer.Value, func(n node) error {
		if n.index != nil {
			return nil
		}
		b.filters++
		b.stored += int64(n.Size)
		raw, err := blocks.read(n.Pointer)
		if err != nil {
			return err
		}
		hashes, bitmap, err := parseFilter(raw)
		if err != nil {
			return err
		}
		b.hashes = max(b.hashes, hashes)
		b.bits += 8 * int64(len(bitmap))
		b.keys += estimateKeys(hashes, bitmap)
		return nil
	})
	if errors.As(err, new(*damage.Error)) {
		err = nil
	}
	return b, err
}

// Contents implements format.Holder.
func (p *bloomPart) Contents() string {
	return fmt.Sprintf("%d Bloom filters (%d hash functions, %d bits) of about %.0f keys", p.filters, p.hashes, p.bits, p.keys)
}

func (p *bloomPart) Schema() string { return "" }

// Blocks returns one block for all filters.
func (p *bloomPart) Blocks(int) ([]format.Block, error) {
	return []format.Block{{RawSize: p.stored, StoredSize: p.stored}}, nil
}

// hashFunctions is the number of the field in BloomBlockHeaderPB.
const hashFunctions = 1

// parseFilter parses the block of a Bloom filter. Like any block it has at least four bytes.
// Damage has offsets in the block.
func parseFilter(block []byte) (hashes int, bitmap []byte, err error) {
	size, rest := binary.LittleEndian.Uint32(block), block[4:]
	//guard: rejects a header that is longer than its block
	if uint64(size) > uint64(len(rest)) {
		return 0, nil, damage.New(damage.Size, "", 0, "the header of a filter has %d bytes, but %d follow", size, len(rest))
	}
	m := protobuf.New("header of a filter", rest[:size], 4)
	for m.Next() {
		if m.Number == hashFunctions {
			hashes = int(m.Varint(math.MaxInt32))
		}
	}
	if err := m.End(hashFunctions); err != nil {
		return 0, nil, err
	}
	//guard: rejects a filter that would match every key
	if hashes == 0 {
		return 0, nil, damage.New(damage.Count, "", 4, "a filter without hash functions")
	}
	bitmap = rest[size:]
	//guard: rejects a filter without bits
	if len(bitmap) == 0 {
		return 0, nil, damage.New(damage.Size, "", int64(len(block)), "a filter without bits")
	}
	return hashes, bitmap, nil
}

// estimateKeys estimates the number of keys of a filter from how many of its bits are set.
func estimateKeys(hashes int, bitmap []byte) float64 {
	set := 0
	for _, b := range bitmap {
		set += bits.OnesCount8(b)
	}
	all := 8 * len(bitmap)
	set = min(set, all-1) // else the estimate is infinite
	return -math.Log1p(-float64(set)/float64(all)) * float64(all) / float64(hashes)
}
