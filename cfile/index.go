package cfile

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/format/protobuf"
)

// Field numbers and values of IndexBlockTrailerPB.
const (
	trailerEntries = 1
	trailerType    = 2

	indexLeaf  = 0
	indexInner = 1
)

const (
	// ordinalKeySize is the size of a key in a positional index.
	ordinalKeySize = 4
	// trailerEstimate is Kudu's estimate of the size of an index block's trailer.
	trailerEstimate = 16
	// minEntry is the smallest size of an entry in an index block: a byte each for the
	// length of an empty key, an offset and a size, and the place of the entry.
	minEntry = 3 + 4
	// minBlock is a size that all blocks exceed, without the checksum. A smaller number would
	// let an index claim many more blocks.
	minBlock = 4
)

// indexBlock builds an index block, entry by entry. The zero indexBlock is empty. A file
// without values has an empty index block, a leaf.
type indexBlock struct {
	entries []byte
	offsets []uint32 // of the entries
}

// add adds an entry. Its key must not be less than the key before.
func (b *indexBlock) add(key []byte, p Pointer) {
	b.offsets = append(b.offsets, uint32(len(b.entries)))
	b.entries = binary.AppendUvarint(b.entries, uint64(len(key)))
	b.entries = append(b.entries, key...)
	b.entries = binary.AppendUvarint(b.entries, uint64(p.Offset))
	b.entries = binary.AppendUvarint(b.entries, uint64(p.Size))
}

// len returns the number of entries.
func (b *indexBlock) len() int { return len(b.offsets) }

// estimate returns Kudu's estimate of the block's size, which decides when it is full.
func (b *indexBlock) estimate() int { return len(b.entries) + 4*len(b.offsets) + trailerEstimate }

// firstKey returns the key of the first entry, valid until reset. The block must not be empty.
func (b *indexBlock) firstKey() []byte {
	n, start := binary.Uvarint(b.entries)
	return b.entries[start : start+int(n)]
}

// append appends the block before compression. It is a leaf, which points to data blocks, or
// an inner block.
func (b *indexBlock) append(dst []byte, leaf bool) []byte {
	dst = append(dst, b.entries...)
	for _, o := range b.offsets {
		dst = binary.LittleEndian.AppendUint32(dst, o)
	}
	kind := uint64(indexInner)
	if leaf {
		kind = indexLeaf
	}
	start := len(dst)
	dst = protobuf.AppendVarint(dst, trailerEntries, uint64(len(b.offsets)))
	dst = protobuf.AppendVarint(dst, trailerType, kind)
	return binary.LittleEndian.AppendUint32(dst, uint32(len(dst)-start))
}

// reset empties the block and keeps its memory.
func (b *indexBlock) reset() { b.entries, b.offsets = b.entries[:0], b.offsets[:0] }

// appendOrdinalKey appends the key of a block in a positional index: the ordinal of its
// first row, 4 bytes big-endian.
func appendOrdinalKey(dst []byte, ordinal uint32) []byte {
	return binary.BigEndian.AppendUint32(dst, ordinal)
}

// index is an index block that was read and checked. It shares the block's bytes.
type index struct {
	entries []byte
	offsets []byte // of the entries, 4 bytes each
	leaf    bool
}

// len returns the number of entries.
func (x *index) len() int { return len(x.offsets) / 4 }

// entry returns an entry. The key is a part of the block.
func (x *index) entry(i int) (key []byte, p Pointer) {
	key, p, _ = parseEntry(x.entries[binary.LittleEndian.Uint32(x.offsets[4*i:]):])
	return key, p
}

// indexRules are the rules for an index block, which depend on its place in the file.
type indexRules struct {
	positional bool
	values     int64  // number of rows of the file, which ordinals must be less than
	from, to   int64  // entries point to blocks in this range of the file
	minSize    int64  // smallest size of a block
	first      []byte // key of the entry that points to the block; nil for a root
	below      []byte // key of the entry after that entry; nil after the last entry
}

// parseIndex reads an index block. Damage has offsets in raw.
func parseIndex(raw []byte, rules *indexRules) (x index, err error) {
	entries, n, leaf, err := parseTrailer(raw)
	if err != nil {
		return x, err
	}
	//guard: rejects more entries than the block can hold
	if n > len(entries)/minEntry {
		return x, damage.New(damage.Count, "", 0, "%d entries in %d bytes of an index block", n, len(entries))
	}
	//guard: rejects an index block without entries
	if n == 0 && (rules.first != nil || !leaf) {
		return x, damage.New(damage.Count, "", 0, "an index block without entries")
	}
	split := len(entries) - 4*n
	x = index{entries[:split], entries[split:], leaf}
	return x, x.check(rules)
}

// parseTrailer reads the trailer of an index block: the number of entries, and whether the
// block is a leaf. entries are the bytes before it.
func parseTrailer(raw []byte) (entries []byte, n int, leaf bool, err error) {
	//guard: rejects an index block shorter than its trailer's size
	if len(raw) < 4 {
		return nil, 0, false, damage.New(damage.Truncated, "", 0, "an index block of %d bytes", len(raw))
	}
	end := len(raw) - 4
	size := binary.LittleEndian.Uint32(raw[end:])
	//guard: rejects a trailer that begins before the block
	if uint64(size) > uint64(end) {
		return nil, 0, false, damage.New(damage.Size, "", int64(end), "the trailer of an index block has %d bytes of %d", size, end)
	}
	start := end - int(size)
	m := protobuf.New("trailer of an index block", raw[start:end], int64(start))
	for m.Next() {
		switch m.Number {
		case trailerEntries:
			n = int(m.Varint(math.MaxInt32))
		case trailerType:
			leaf = m.Varint(indexInner) == indexLeaf
		}
	}
	return raw[:start], n, leaf, m.End(trailerEntries, trailerType)
}

// check checks that the entries fill the block, ascend, and point to places where blocks can be.
func (x *index) check(rules *indexRules) error {
	end, last := rules.from, []byte(nil)
	pos := 0
	for i := range x.len() {
		at := int64(binary.LittleEndian.Uint32(x.offsets[4*i:]))
		//guard: rejects an entry that does not follow the one before
		if at != int64(pos) {
			return damage.New(damage.Size, "", int64(len(x.entries)+4*i), "entry %d of an index block is at %d, expected %d", i, at, pos)
		}
		key, p, n := parseEntry(x.entries[pos:])
		//guard: rejects an entry that is cut short
		if n == 0 {
			return damage.New(damage.Truncated, "", at, "entry %d of an index block is cut short", i)
		}
		//guard: rejects blocks that overlap or point back
		if p.Offset < end || int64(p.Size) < rules.minSize || p.end() > rules.to {
			return damage.New(damage.Size, "", at, "an index points to %d bytes at %d, expected at least %d from %d to %d",
				p.Size, p.Offset, rules.minSize, end, rules.to)
		}
		if err := rules.checkKey(i, key, last); err != nil {
			err.Offset = at
			return err
		}
		end, last = p.end(), key
		pos += n
	}
	//guard: rejects bytes after the entries
	if pos != len(x.entries) {
		return damage.New(damage.Trailing, "", int64(pos), "%d bytes after the entries of an index block", len(x.entries)-pos)
	}
	return nil
}

// checkKey checks the key of entry i. last is the key before it.
func (r *indexRules) checkKey(i int, key, last []byte) *damage.Error {
	//guard: rejects a block whose first key the entry above does not have
	if i == 0 && r.first != nil && !bytes.Equal(key, r.first) {
		return damage.New(damage.Value, "", 0, "an index block begins with the key %x, expected %x", key, r.first)
	}
	if !r.positional {
		return nil
	}
	//guard: rejects an ordinal of another size
	if len(key) != ordinalKeySize {
		return damage.New(damage.Value, "", 0, "the ordinal of a block has %d bytes, expected %d", len(key), ordinalKeySize)
	}
	//guard: rejects keys that do not ascend
	if i > 0 && bytes.Compare(last, key) >= 0 || r.below != nil && bytes.Compare(key, r.below) >= 0 {
		return damage.New(damage.Value, "", 0, "the ordinal %x of a block is not between %x and %x", key, last, r.below)
	}
	//guard: rejects rows that the file does not have
	if int64(binary.BigEndian.Uint32(key)) >= r.values {
		return damage.New(damage.Count, "", 0, "the ordinal of a block is %d, the file has %d rows", binary.BigEndian.Uint32(key), r.values)
	}
	return nil
}

// parseEntry reads the entry at the start of b and returns its size n: 0 if it is not valid.
func parseEntry(b []byte) (key []byte, p Pointer, n int) {
	length, head := binary.Uvarint(b)
	if head <= 0 || length > uint64(len(b)-head) {
		return nil, p, 0
	}
	n = head + int(length)
	key = b[head:n]
	offset, o := binary.Uvarint(b[n:])
	if o <= 0 || offset > math.MaxInt64-math.MaxInt32 {
		return nil, p, 0
	}
	size, s := binary.Uvarint(b[n+o:])
	if s <= 0 || size > math.MaxInt32 {
		return nil, p, 0
	}
	return key, Pointer{int64(offset), int32(size)}, n + o + s
}
