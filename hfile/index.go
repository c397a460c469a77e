package hfile

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// pointerSize is the size of an index entry before its key: an offset and a size.
const pointerSize = 8 + 4

// midKeySize is the size of the fields after the entries of a root above other index blocks. They
// are the offset and size of the leaf with the middle data block, and its entry's number there.
const midKeySize = 8 + 4 + 4

// indexEntry is an entry of an index: a block and its key.
type indexEntry struct {
	offset int64
	size   int    // bytes of the block, with its header
	key    []byte // not above the block's first key
}

// rootEntries reads n entries in the form of roots. The entries' keys share the bytes of the
// cursor.
func rootEntries(memory *column.Reservation, c *damage.Cursor, n int64, d dialect) ([]indexEntry, error) {
	//guard: bounds the number of entries
	if n < 0 || n > c.Remaining()/(pointerSize+1) {
		c.Fail(damage.Count, c.Offset(), "%d index entries in %d bytes", n, c.Remaining())
		n = 0
	}
	if err := memory.Reserve(n * int64(unsafe.Sizeof(indexEntry{}))); err != nil {
		return nil, err
	}
	entries := make([]indexEntry, n)
	for i := range entries {
		e := &entries[i]
		e.offset = int64(c.BigEndian(8, "the offset of an index entry"))
		e.size = int(int32(c.BigEndian(4, "the size of an index entry")))
		e.key = d.read(c)
	}
	return entries, c.Err()
}

// dialect is the form of the keys in a root index.
type dialect struct {
	read func(c *damage.Cursor) []byte
	// rowOnly is set if a key is only the row after its length.
	rowOnly bool
}

// The first dialect is HBase's, with lengths as Hadoop writes them. Hudi writes it since 1.2. The
// second is that of older Hudi, with lengths as protobuf writes them.
var dialects = [...]dialect{
	{read: func(c *damage.Cursor) []byte { return c.Bytes(c.VInt("the length of a key"), "a key") }},
	{
		read:    func(c *damage.Cursor) []byte { return c.Bytes(int64(c.Uvarint("the length of a key")), "a key") },
		rowOnly: true,
	},
}

// dataRoot reads the payload of the data index's root in the first dialect that fits, and
// completes the keys. If no dialect fits, it returns the error of the first.
func dataRoot(memory *column.Reservation, payload []byte, n, levels int, offset int64) (entries []indexEntry, d dialect, err error) {
	var first error
	held := memory.Held
	for _, d := range dialects {
		entries, err := dataRootOf(memory, d, payload, n, levels, offset)
		if err == nil {
			return entries, d, nil
		}
		if first == nil {
			first = err
		}
		memory.ShrinkTo(held)
	}
	return nil, dialect{}, first
}

func dataRootOf(memory *column.Reservation, d dialect, payload []byte, n, levels int, offset int64) ([]indexEntry, error) {
	c := damage.NewCursor("", payload, offset)
	entries, err := rootEntries(memory, &c, int64(n), d)
	if err != nil {
		return nil, err
	}
	//guard: rejects bytes after the entries
	if rest := c.Remaining(); rest != 0 && (levels == 1 || rest != midKeySize) {
		return nil, damage.New(damage.Trailing, "", c.Offset(), "%d bytes after the index's %d entries", rest, n)
	}
	for i := range entries {
		if err := entries[i].complete(memory, d, offset); err != nil {
			return nil, fmt.Errorf("index entry %d: %w", i, err)
		}
	}
	return entries, nil
}

// complete makes the entry's key a whole key.
func (e *indexEntry) complete(memory *column.Reservation, d dialect, offset int64) error {
	if !d.rowOnly {
		return checkKey(e.key, offset)
	}
	row, ok := lengthAndRow(e.key)
	if !ok {
		return damage.New(damage.Size, "", offset, "a key of %d bytes that is not a row", len(e.key))
	}
	size := keyOverhead + len(row)
	if err := memory.Reserve(int64(size)); err != nil {
		return err
	}
	e.key = AppendRowKey(make([]byte, 0, size), row)
	return nil
}

// lengthAndRow returns the row of b. ok is false if b is not a length and a row of this length.
func lengthAndRow(b []byte) (row []byte, ok bool) {
	//guard: rejects a row of a wrong length
	if len(b) < rowLengthSize || int(binary.BigEndian.Uint16(b)) != len(b)-rowLengthSize || len(b)-rowLengthSize > MaxRow {
		return nil, false
	}
	return b[rowLengthSize:], true
}

// indexBlock is an index block below the root. It shares the memory of the payload:
//
//	| entries n: 4 | place of each entry and of the end: 4 (n + 1) | entry | … |
//
// A place is an offset from the first entry. An entry has the offset and the size of a block, and
// a key, which ends where the next entry begins.
type indexBlock struct {
	n       int
	places  []byte
	entries []byte
}

// parseIndexBlock reads the payload of an index block at an offset.
func parseIndexBlock(payload []byte, offset int64) (b indexBlock, err error) {
	//guard: rejects a block without its counts
	if len(payload) < 8 {
		return b, damage.New(damage.Truncated, "", offset, "an index block of %d bytes", len(payload))
	}
	n := int64(int32(binary.BigEndian.Uint32(payload)))
	//guard: rejects a block without its places
	if n < 1 || 4*(n+2) > int64(len(payload)) {
		return b, damage.New(damage.Count, "", offset, "%d entries in an index block of %d bytes", n, len(payload))
	}
	b = indexBlock{n: int(n), places: payload[4 : 4*(n+2)], entries: payload[4*(n+2):]}
	last := int64(0)
	for i := range b.n {
		from, to := b.place(i), b.place(i+1)
		//guard: rejects an entry that does not follow the one before
		if from != last || to-from < pointerSize || to > int64(len(b.entries)) {
			return b, damage.New(damage.Size, "", offset, "index entry %d has the bytes %d to %d, but should begin at %d, and the entries have %d bytes", i, from, to, last, len(b.entries))
		}
		if err := checkKey(b.entries[from+pointerSize:to], offset); err != nil {
			return b, fmt.Errorf("index entry %d: %w", i, err)
		}
		last = to
	}
	//guard: rejects bytes after the entries
	if last != int64(len(b.entries)) {
		return b, damage.New(damage.Trailing, "", offset, "%d bytes after the entries of an index block", int64(len(b.entries))-last)
	}
	return b, nil
}

func (b *indexBlock) place(i int) int64 {
	return int64(int32(binary.BigEndian.Uint32(b.places[4*i:])))
}

// entry returns entry i. Its key is a part of the payload.
func (b *indexBlock) entry(i int) indexEntry {
	e := b.entries[b.place(i):b.place(i+1)]
	return indexEntry{
		offset: int64(binary.BigEndian.Uint64(e)),
		size:   int(int32(binary.BigEndian.Uint32(e[8:]))),
		key:    e[pointerSize:],
	}
}

// lastBelow returns the number of the last of n sorted entries whose key is below key. It returns
// 0 if no key is below it. keyOf returns the key of entry i.
func lastBelow(n int, key Key, keyOf func(i int) []byte) int {
	low, high := 0, n // entries before low have keys below key; from high on they do not
	for low < high {
		mid := int(uint(low+high) / 2)
		if Key(keyOf(mid)).Compare(key) < 0 {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return max(low-1, 0)
}
