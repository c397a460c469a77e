package cfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
)

// Limits of a file.
const (
	maxRowsOfFile = math.MaxUint32 // ordinals have 32 bits
	// MaxKey is the most bytes of a key in the value index. It is Kudu's limit for encoded keys.
	MaxKey = 16 << 10
)

// assembly makes all parts of a file but its data blocks: header, index blocks, dictionary and
// footer. It knows the places of all blocks. The Writer and the adapter's row group add data
// blocks in file order. After each they write the index blocks that add returns.
type assembly struct {
	o          Options
	header     []byte
	offset     int64         // the current end of the file
	ordinal    int64         // number of rows so far
	positional *indexBuilder // nil if the file has no such index
	value      *indexBuilder
	first      []byte // key of the first value
	last       []byte // key of the last value so far
	key        []byte // scratch: a key
	raw        []byte // scratch: a block before compression
	out        []byte // blocks that are not returned yet
	crc        uint32 // CRC-32C of the checksums of all blocks
	footer     int    // most bytes of the footer; its exact size once the file is finished
	finished   bool
}

// indexBuilder builds an index. It has the open block of each level, leaves first.
type indexBuilder struct {
	levels []*indexBlock
	root   Pointer
}

func newIndexBuilder() *indexBuilder { return &indexBuilder{levels: []*indexBlock{{}}} }

// newAssembly returns the assembly of an empty file. The options must be valid.
func newAssembly(o Options) *assembly {
	a := &assembly{o: o.withDefaults()}
	a.header = appendHeader(nil, !o.NoChecksums)
	a.offset = int64(len(a.header))
	if o.Positional {
		a.positional = newIndexBuilder()
	}
	if o.ValueIndex {
		a.value = newIndexBuilder()
	}
	a.o.Metadata = append([]Pair(nil), o.Metadata...)
	a.boundFooter()
	return a
}

// head returns the header, which must not be changed.
func (a *assembly) head() []byte { return a.header }

// rows returns the number of rows so far, which is the ordinal of the next block.
func (a *assembly) rows() int64 { return a.ordinal }

// add adds the data block that begins at the current end of the file, and returns the
// index blocks that follow it, in memory of their own. After most data blocks,
// no index block follows.
func (a *assembly) add(b *writtenBlock) (index []byte, err error) {
	//guard: keeps ordinals below the limit of a file
	if a.ordinal+int64(b.rows) > maxRowsOfFile {
		return nil, fmt.Errorf("a CFile holds at most %d rows", int64(maxRowsOfFile))
	}
	p := Pointer{Offset: a.offset, Size: int32(b.size)}
	a.offset += int64(b.size)
	a.sum(b.crc)
	if a.positional != nil {
		a.key = appendOrdinalKey(a.key[:0], uint32(a.ordinal))
		err = a.insert(a.positional, 0, a.key, p)
	}
	if a.value != nil && err == nil {
		err = a.addKey(b, p)
	}
	a.ordinal += int64(b.rows)
	index, a.out = a.out, nil
	return index, err
}

// addKey adds a data block to the value index.
func (a *assembly) addKey(b *writtenBlock, p Pointer) error {
	if a.first == nil {
		a.first = append([]byte{}, b.first...)
	}
	key := shorten(a.last, b.first)
	a.last = append(a.last[:0], b.last...)
	return a.insert(a.value, 0, key, p)
}

// insert adds an entry to the open block of a level, and writes the block if it is full.
func (a *assembly) insert(t *indexBuilder, level int, key []byte, p Pointer) error {
	if level == len(t.levels) {
		t.levels = append(t.levels, &indexBlock{})
	}
	b := t.levels[level]
	b.add(key, p)
	if b.len() < 2 || b.estimate() <= a.o.IndexBlockSize {
		return nil
	}
	return a.flush(t, level)
}

// flush writes the open block of a level, if it has any entries, and adds it to the level
// above.
func (a *assembly) flush(t *indexBuilder, level int) error {
	b := t.levels[level]
	if b.len() == 0 {
		return nil
	}
	p, err := a.writeIndex(b, level)
	if err != nil {
		return err
	}
	if err := a.insert(t, level+1, b.firstKey(), p); err != nil {
		return err
	}
	b.reset()
	return nil
}

// close writes the open blocks of an index. The block of the highest level is the root,
// even if it is an empty leaf.
func (a *assembly) close(t *indexBuilder) (err error) {
	for level := 0; level < len(t.levels)-1; level++ {
		if err := a.flush(t, level); err != nil {
			return err
		}
	}
	root := len(t.levels) - 1
	t.root, err = a.writeIndex(t.levels[root], root)
	return err
}

func (a *assembly) writeIndex(b *indexBlock, level int) (Pointer, error) {
	a.raw = b.append(a.raw[:0], level == 0)
	return a.write(a.raw)
}

// write appends a block, compressed and with its checksum, to a.out.
func (a *assembly) write(raw []byte) (Pointer, error) {
	before := len(a.out)
	var err error
	if a.out, err = appendStored(a.out, &a.o, raw); err != nil {
		return Pointer{}, err
	}
	p := Pointer{Offset: a.offset, Size: int32(len(a.out) - before)}
	a.offset += int64(p.Size)
	a.sum(lastWord(a.out))
	return p, nil
}

// sum adds the checksum of the next block in the file to a.crc.
func (a *assembly) sum(crc uint32) { a.crc = updateBlocksCRC(a.crc, crc) }

// updateBlocksCRC adds a block's checksum to sum, the CRC-32C of the checksums before.
func updateBlocksCRC(sum, crc uint32) uint32 {
	var b [checksumSize]byte
	binary.LittleEndian.PutUint32(b[:], crc)
	return crc32.Update(sum, castagnoli, b[:])
}

// lastWord returns the checksum at the end of a stored block. It is meaningless if the
// file has no checksums.
func lastWord(stored []byte) uint32 {
	return binary.LittleEndian.Uint32(stored[len(stored)-checksumSize:])
}

// appendStored appends a block as a file stores it: compressed and with its checksum.
func appendStored(dst []byte, o *Options, raw []byte) ([]byte, error) {
	//guard: refuses a block that is too large for readers
	if len(raw) > maxBlock {
		return dst, fmt.Errorf("a block of %d bytes exceeds a CFile's limit of %d", len(raw), maxBlock)
	}
	start := len(dst)
	dst, err := compress(dst, o.Compression, raw)
	if err != nil {
		return dst, err
	}
	if !o.NoChecksums {
		dst = appendChecksum(dst, dst[start:])
	}
	return dst, nil
}

// storedBound returns the most bytes that appendStored appends for a block of n bytes.
func storedBound(o *Options, n int) int { return compressBound(o.Compression, n) + checksumSize }

var errFinished = errors.New("cfile: the file is finished")

// finish returns the end of the file: the rest of the indexes, the dictionary d unless it
// is nil, and the footer.
func (a *assembly) finish(d *dictionary) (tail []byte, err error) {
	if a.finished {
		return nil, errFinished
	}
	f := a.newFooter()
	f.Values = a.ordinal
	if a.positional != nil {
		if err := a.close(a.positional); err != nil {
			return nil, err
		}
		f.Positional = &a.positional.root
	}
	if a.value != nil {
		if err := a.close(a.value); err != nil {
			return nil, err
		}
		f.Value = &a.value.root
	}
	if d != nil {
		p, err := a.write(d.appendBlock(nil))
		if err != nil {
			return nil, err
		}
		f.Dictionary = &p
	}
	if a.o.KeyBounds {
		f.Metadata = append(f.Metadata, Pair{minKey, a.first}, Pair{maxKey, a.last})
	}
	if a.o.BlocksCRC {
		f.Metadata = append(f.Metadata, Pair{BlocksCRCKey, binary.LittleEndian.AppendUint32(nil, a.crc)})
	}
	before := len(a.out)
	tail = f.append(a.out)
	a.footer, a.out, a.finished = len(tail)-before, nil, true
	//guard: refuses a footer that is too large for readers
	if a.footer > maxMessage {
		return nil, fmt.Errorf("a footer of %d bytes exceeds the readers' limit of %d: it has too much metadata", a.footer, maxMessage)
	}
	return tail, nil
}

// newFooter returns a footer with the fields that the options determine.
func (a *assembly) newFooter() *Footer {
	f := &Footer{
		Version: 2, Type: a.o.Type, Encoding: a.o.Encoding, Compression: a.o.Compression,
		Nullable: a.o.Nullable, Metadata: a.o.Metadata,
	}
	if !a.o.NoChecksums {
		f.Incompatible = FeatureChecksums
	}
	return f
}

// boundFooter sets a.footer to the most bytes of the footer without the key bounds, which are
// known only later.
func (a *assembly) boundFooter() {
	f := a.newFooter()
	f.Values = maxRowsOfFile
	far := &Pointer{Offset: math.MaxInt64, Size: math.MaxInt32}
	if a.positional != nil {
		f.Positional = far
	}
	if a.value != nil {
		f.Value = far
	}
	if a.o.Encoding == Dict {
		f.Dictionary = far
	}
	if a.o.KeyBounds {
		// The real footer must not share this metadata. The length of a longer value
		// takes up to two bytes more, and so does the length of its pair.
		f.Metadata = append(f.Metadata[:len(f.Metadata):len(f.Metadata)],
			Pair{minKey, make([]byte, 4)}, Pair{maxKey, make([]byte, 4)})
	}
	if a.o.BlocksCRC {
		f.Metadata = append(f.Metadata[:len(f.Metadata):len(f.Metadata)], Pair{BlocksCRCKey, make([]byte, 4)})
	}
	a.footer = len(f.append(nil))
}

// bound returns the most bytes that the file can have if it is finished now with a
// dictionary of words bytes, or without one if words is negative. Once the file is
// finished, bound returns its size.
func (a *assembly) bound(words int) int64 {
	n := a.offset + int64(a.footer)
	if a.finished {
		return n
	}
	n += int64(a.treeBound(a.positional)) + int64(a.treeBound(a.value))
	if words >= 0 {
		n += int64(storedBound(&a.o, words))
	}
	if a.o.KeyBounds {
		n += int64(len(a.first) + len(a.last))
	}
	return n
}

// treeBound returns the most bytes that close writes for an index. Each open block gets an entry
// for the open block below it. If that entry fills the root, there is a new root.
func (a *assembly) treeBound(t *indexBuilder) int {
	if t == nil {
		return 0
	}
	n, entry := 0, 0
	for level, b := range t.levels {
		if b.len() == 0 && entry == 0 && level < len(t.levels)-1 {
			continue
		}
		size := b.estimate() + entry
		n += storedBound(&a.o, size)
		if b.len() > 0 {
			entry = len(b.firstKey()) + maxEntry
		}
		if size > a.o.IndexBlockSize && level == len(t.levels)-1 {
			n += storedBound(&a.o, size+entry)
		}
	}
	return n
}

// maxEntry is the most bytes of an entry in an index block besides its key: the lengths
// of key and block, the offset of the block, and its own offset.
const maxEntry = 5 + 10 + 5 + 4
