package hfile

import (
	"encoding/binary"

	"github.com/rowtocol/rowtocol/internal/wire"
)

// indexWriter builds the data index. It makes leaves while the data is written. At the end it
// makes the levels above the leaves, until a level is small enough for the root.
type indexWriter struct {
	limit     int // bytes of an index block
	hasLeaves bool
	size      int64 // bytes of the blocks below the root, before compression

	pending      []indexEntry // entries of the leaf that is not written yet
	pendingBytes int          // size of pending in an index block below the root
	pendingRoot  int64        // most bytes of pending in a root
	count        int          // number of data blocks

	root       []indexEntry
	rootBytes  int64 // most bytes of root
	leafStarts []int // for each leaf, the number of its first data block
	leaves     []leafPointer
	buf        []byte
}

// leafPointer is the place of a leaf.
type leafPointer struct {
	offset int64
	size   int
}

// add adds a data block.
func (x *indexWriter) add(offset int64, size int, key Key) {
	e := indexEntry{offset: offset, size: size, key: append([]byte(nil), key...)}
	x.pending = append(x.pending, e)
	x.pendingBytes += 4 + pointerSize + len(key)
	x.pendingRoot += rootEntrySize(e)
	x.count++
}

// leaf returns the leaf to write, after room for its header, or nil if no leaf is due. If last is
// set, the leaf is due unless it would be the only one.
func (x *indexWriter) leaf(last bool) []byte {
	due := x.pendingBytes+8 >= x.limit
	if last {
		due = x.hasLeaves
	}
	if len(x.pending) == 0 || !due {
		return nil
	}
	x.hasLeaves = true
	return x.block(x.pending)
}

// block returns an index block of entries, after room for its header.
func (x *indexWriter) block(entries []indexEntry) []byte {
	b := append(x.buf[:0], make([]byte, headerSize)...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(entries)))
	place := 0
	for _, e := range entries {
		b = binary.BigEndian.AppendUint32(b, uint32(place))
		place += pointerSize + len(e.key)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(place))
	for _, e := range entries {
		b = binary.BigEndian.AppendUint64(b, uint64(e.offset))
		b = binary.BigEndian.AppendUint32(b, uint32(e.size))
		b = append(b, e.key...)
	}
	x.buf = b
	x.size += int64(len(b) - headerSize)
	return b
}

// leafWritten records the place of the leaf.
func (x *indexWriter) leafWritten(offset int64, size int) {
	x.leafStarts = append(x.leafStarts, x.count-len(x.pending))
	x.leaves = append(x.leaves, leafPointer{offset, size})
	x.addRoot(indexEntry{offset: offset, size: size, key: x.pending[0].key})
	x.pending, x.pendingBytes, x.pendingRoot = x.pending[:0], 0, 0
}

func (x *indexWriter) addRoot(e indexEntry) {
	x.root = append(x.root, e)
	x.rootBytes += rootEntrySize(e)
}

// rootEntrySize returns the most bytes of an entry in the form of roots.
func rootEntrySize(e indexEntry) int64 { return int64(pointerSize + 9 + len(e.key)) }

// intermediate writes the levels between leaves and root, and returns the number of all levels.
func (x *indexWriter) intermediate(write func(b []byte) (offset int64, size int, err error)) (levels int, err error) {
	if !x.hasLeaves {
		for _, e := range x.pending {
			x.addRoot(e)
		}
		return 1, nil
	}
	levels = 2
	// A level has at most half as many blocks as the one below it, so this ends.
	for x.rootBytes > int64(x.limit) && len(x.root) > 2 {
		below := x.root
		x.root, x.rootBytes = nil, 0
		for len(below) > 0 {
			n, bytes := 0, 8
			for n < len(below) && (n < 2 || bytes < x.limit) {
				bytes += 4 + pointerSize + len(below[n].key)
				n++
			}
			if len(below)-n == 1 {
				n++
			}
			offset, size, err := write(x.block(below[:n]))
			if err != nil {
				return 0, err
			}
			x.addRoot(indexEntry{offset: offset, size: size, key: below[0].key})
			below = below[n:]
		}
		levels++
	}
	return levels, nil
}

// appendRoot appends the root. If the index has several levels, it also appends where the middle
// data block is: the place of its leaf, and the number of its entry in the leaf.
func (x *indexWriter) appendRoot(dst []byte) []byte {
	dst = appendRootEntries(dst, x.root)
	if !x.hasLeaves {
		return dst
	}
	middle, leaf := (x.count-1)/2, 0
	for leaf+1 < len(x.leafStarts) && x.leafStarts[leaf+1] <= middle {
		leaf++
	}
	dst = binary.BigEndian.AppendUint64(dst, uint64(x.leaves[leaf].offset))
	dst = binary.BigEndian.AppendUint32(dst, uint32(x.leaves[leaf].size))
	return binary.BigEndian.AppendUint32(dst, uint32(middle-x.leafStarts[leaf]))
}

// appendRootEntries appends entries in the form of roots.
func appendRootEntries(dst []byte, entries []indexEntry) []byte {
	for _, e := range entries {
		dst = binary.BigEndian.AppendUint64(dst, uint64(e.offset))
		dst = binary.BigEndian.AppendUint32(dst, uint32(e.size))
		dst = wire.AppendText(dst, e.key)
	}
	return dst
}

// bound returns the most bytes of the index blocks that are not written. Each level above the
// leaves has at most half of the entries of the level below.
func (x *indexWriter) bound() int64 {
	n := int64(x.pendingBytes) + 8 + midKeySize
	n += 2 * x.rootBytes
	if !x.hasLeaves {
		n += x.pendingRoot
	}
	return n
}

// blocks returns how many index blocks at most are not written.
func (x *indexWriter) blocks() int64 {
	return 4 + int64(len(x.root))
}
