package hfile

import (
	"bytes"
	"context"
	"unsafe"

	"github.com/rowtocol/rowtocol/damage"
)

// Verify reads every byte of the file and checks it: every block's checksum and place, the
// order and the number of the cells, that the indexes lead to each data block by a key that
// fits it, that the Bloom filter has each row, and what file info and trailer say. It
// returns the first damage that it finds, and ends at what is none, such as the end of ctx.
func (f *Reader) Verify(ctx context.Context) error {
	v := &verifier{f: f, s: f.Scan(), previous: map[string]int64{}, memory: holding{account: f.memory.account}}
	defer v.s.Close()
	defer v.memory.shrink(0)
	return f.located(v.run(ctx))
}

// dataBlock is a data block that was read.
type dataBlock struct {
	offset int64
	size   int
	first  Key // of its first cell
	before Key // the key in front of that; nil for the first block
}

type verifier struct {
	f        *Reader
	s        *Scanner
	previous map[string]int64 // offset of the last block of a magic
	data     []dataBlock
	memory   holding       // of data
	index    map[int64]int // sizes of the index blocks below the root, by their offsets
	chunks   []indexEntry  // Bloom filter's, without keys
	meta     []indexEntry
	last     Key
	cells    int64
	keys     int64 // bytes
	values   int64 // bytes
}

func (v *verifier) run(ctx context.Context) error {
	t := v.f.trailer
	v.index = map[int64]int{}
	for at := int64(0); at < v.f.size-trailerSize; {
		if err := ctx.Err(); err != nil {
			return err
		}
		size, err := v.block(at)
		if err != nil {
			return err
		}
		//guard: a block would be counted to two parts of the file
		if next := at + int64(size); at < t.LoadOnOpen && next > t.LoadOnOpen {
			return damage.New(damage.Size, "", at, "a block goes beyond %d, where the indexes begin", t.LoadOnOpen)
		}
		at += int64(size)
	}
	for _, check := range []func() error{v.checkIndex, v.checkMeta, v.checkBloom, v.checkInfo, v.checkTrailer} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// block verifies the block at an offset and returns its size.
func (v *verifier) block(at int64) (int, error) {
	h, payload, err := v.s.data.read(at, -1, magicData, magicLeaf, magicIntermediate, magicRoot,
		magicBloomChunk, magicBloomMeta, magicDeleteBloom, magicMeta, magicInfo)
	if err != nil {
		return 0, err
	}
	before, ok := v.previous[h.magic]
	if !ok {
		before = -1
	}
	v.previous[h.magic] = at
	//guard: readers that go backwards would be led elsewhere
	if h.previous != before && !v.f.ByHudi() {
		return 0, damage.New(damage.Value, "", at+16, "the block before of its kind is said to be at %d, it is at %d", h.previous, before)
	}
	switch h.magic {
	case magicRoot, magicInfo, magicBloomMeta, magicDeleteBloom:
		//guard: an index would be where readers do not look for it
		if at < v.f.trailer.LoadOnOpen {
			return 0, damage.New(damage.Magic, "", at, "a block %q before the indexes' beginning", h.magic)
		}
	}
	switch h.magic {
	case magicData:
		err = v.dataBlock(at, h.size(), payload)
	case magicLeaf, magicIntermediate:
		v.index[at] = h.size()
	case magicBloomChunk:
		v.chunks = append(v.chunks, indexEntry{offset: at, size: h.size()})
	case magicMeta:
		v.meta = append(v.meta, indexEntry{offset: at, size: h.size()})
	}
	return h.size(), err
}

// dataBlock verifies the cells of a data block.
func (v *verifier) dataBlock(at int64, size int, payload []byte) error {
	//guard: the index's key would be compared with that of no cell
	if len(payload) == 0 {
		return damage.New(damage.Size, "", at, "a data block without cells")
	}
	s := v.s
	s.offset, s.payload, s.at = at, payload, 0
	if err := v.reserve(len(v.last)); err != nil {
		return err
	}
	block := dataBlock{offset: at, size: size, before: bytes.Clone(v.last)}
	for s.at < len(payload) {
		start := s.at
		if err := s.cell(); err != nil {
			return err
		}
		//guard: a search would miss cells
		if v.last != nil && v.last.Compare(s.key) > 0 {
			return damage.New(damage.Value, "", at, "the cell at %d of the block, %s, is before the one in front of it, %s", start, s.key, v.last)
		}
		if block.first == nil {
			if err := v.reserve(len(s.key)); err != nil {
				return err
			}
			block.first = bytes.Clone(s.key)
		}
		v.last = append(v.last[:0], s.key...)
		v.cells++
		v.keys += int64(len(s.key))
		v.values += int64(len(s.value))
		if err := v.row(); err != nil {
			return err
		}
	}
	v.data = append(v.data, block)
	return nil
}

// reserve reserves the memory of a data block's key, and of what else is kept of the block.
func (v *verifier) reserve(key int) error {
	return v.memory.reserve(int64(key) + int64(unsafe.Sizeof(dataBlock{})))
}

// row checks that the Bloom filter has the cell's row.
func (v *verifier) row() error {
	has, err := v.s.MayContainRow(v.s.key.Row())
	if err != nil {
		return err
	}
	//guard: a look-up would miss a row
	if !has {
		return damage.New(damage.Value, "", v.s.offset, "the Bloom filter does not have the row of %s", v.s.key)
	}
	return nil
}

// checkIndex checks that the data index leads to each data block, in their order.
func (v *verifier) checkIndex() error {
	n := 0
	var walk func(entries int, entry func(i int) indexEntry, depth int) error
	walk = func(entries int, entry func(i int) indexEntry, depth int) error {
		for i := range entries {
			e := entry(i)
			if depth == len(v.s.levels) {
				if err := v.leads(e, n); err != nil {
					return err
				}
				n++
				continue
			}
			//guard: an index would be walked in a circle
			if v.index[e.offset] != e.size {
				return damage.New(damage.Value, "", e.offset, "the index leads to an index block of %d bytes there, which is none or was met before", e.size)
			}
			delete(v.index, e.offset)
			l := &v.s.levels[depth]
			if err := v.s.descend(l, e, depth == len(v.s.levels)-1); err != nil {
				return err
			}
			//guard: a search from above would end in front of the block
			if first := Key(l.block.entry(0).key); first.Compare(e.key) != 0 {
				return damage.New(damage.Value, "", e.offset, "the index block begins with %s, the entry above has %s", first, Key(e.key))
			}
			if err := walk(l.block.n, l.block.entry, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	if err := walk(len(v.f.root), v.f.rootEntry, 0); err != nil {
		return err
	}
	//guard: data blocks would not be found by a search
	if n != len(v.data) {
		return damage.New(damage.Count, "", v.f.trailer.LoadOnOpen, "the index has %d data blocks, the file %d", n, len(v.data))
	}
	for at := range v.index {
		return damage.New(damage.Value, "", at, "no index leads to the index block")
	}
	return nil
}

// leads checks an entry of the index against the data block of a number.
func (v *verifier) leads(e indexEntry, n int) error {
	//guard: a search would find other cells than a scan
	if n >= len(v.data) || v.data[n].offset != e.offset || v.data[n].size != e.size {
		return damage.New(damage.Value, "", e.offset, "the index has data block %d of %d bytes there", n, e.size)
	}
	b := v.data[n]
	first := b.first
	if v.f.dialect.rowOnly {
		first = AppendRowKey(nil, first.Row())
	}
	//guard: a search would begin behind the key
	if first.Compare(e.key) < 0 {
		return damage.New(damage.Value, "", e.offset, "the index has %s for a block that begins with %s", Key(e.key), b.first)
	}
	//guard: a search would begin before the key's block, and end there
	if b.before != nil && !v.f.dialect.rowOnly && b.before.Compare(e.key) > 0 {
		return damage.New(damage.Value, "", e.offset, "the index has %s for a block behind %s", Key(e.key), b.before)
	}
	return nil
}

// checkMeta checks that the meta index has all meta blocks.
func (v *verifier) checkMeta() error {
	for i, e := range v.f.meta {
		//guard: a meta block would be another one, or none
		if i >= len(v.meta) || v.meta[i].offset != e.offset || v.meta[i].size != e.size {
			return damage.New(damage.Value, "", e.offset, "the meta index has block %q of %d bytes there", e.key, e.size)
		}
	}
	//guard: a meta block would belong to nothing
	if len(v.meta) > len(v.f.meta) {
		return damage.New(damage.Count, "", v.meta[len(v.f.meta)].offset, "no index leads to the meta block")
	}
	return nil
}

// checkBloom checks that the Bloom filter has all its chunks.
func (v *verifier) checkBloom() error {
	var chunks []indexEntry
	if v.f.bloom != nil {
		chunks = v.f.bloom.chunks
	}
	for i, e := range chunks {
		//guard: a chunk would be another one, or none
		if i >= len(v.chunks) || v.chunks[i].offset != e.offset || v.chunks[i].size != e.size {
			return damage.New(damage.Value, "", e.offset, "the Bloom filter has a chunk of %d bytes there", e.size)
		}
	}
	return nil
}

// checkInfo checks what the file info says of the cells.
func (v *verifier) checkInfo() error {
	at := v.f.trailer.FileInfo
	last := v.f.LastKey()
	switch {
	case v.f.info.Value(infoLastKey) == nil || v.cells == 0:
	//guard: who asks for a file's range would miss rows
	case last == nil || !bytes.Equal(last.Row(), v.last.Row()) || !v.f.ByHudi() && last.Compare(v.last) != 0:
		return damage.New(damage.Value, "", at, "%s is said to be %s, it is %s", infoLastKey, last, v.last)
	}
	if v.cells == 0 || v.f.ByHudi() {
		return nil
	}
	for _, average := range []struct {
		key   string
		bytes int64
	}{{infoAverageKey, v.keys}, {infoAverageValue, v.values}} {
		n, ok := v.f.info.number(average.key)
		//guard: HBase would not open the file, or plan by a wrong size
		if !ok || n != average.bytes/v.cells {
			return damage.New(damage.Value, "", at, "%s is said to be %d, it is %d", average.key, n, average.bytes/v.cells)
		}
	}
	return nil
}

// checkTrailer checks what the trailer says of the blocks.
func (v *verifier) checkTrailer() error {
	t, at := v.f.trailer, v.f.size-trailerSize
	//guard: rows would be lost without notice
	if t.Entries != v.cells {
		return damage.New(damage.Count, "", at, "%d cells, the trailer has %d", v.cells, t.Entries)
	}
	if len(v.data) == 0 {
		return nil
	}
	first, last := v.data[0], v.data[len(v.data)-1]
	//guard: a scan would begin behind the first cell, or end before the last
	if t.FirstData != first.offset || t.LastData != last.offset && t.LastData != last.offset+int64(last.size) {
		return damage.New(damage.Value, "", at, "the data blocks are said to be at %d to %d, they are at %d to %d", t.FirstData, t.LastData, first.offset, last.offset)
	}
	return nil
}

// Blocks calls visit with each data block in their order, by the index alone: the offset and
// the size in the file, and a key that is not above the block's first one.
func (f *Reader) Blocks(visit func(offset int64, size int, key Key) error) error {
	s := f.Scan()
	defer s.Close()
	var walk func(entries int, entry func(i int) indexEntry, depth int) error
	walk = func(entries int, entry func(i int) indexEntry, depth int) error {
		last := int64(-1)
		for i := range entries {
			e := entry(i)
			if depth == len(s.levels) {
				if err := visit(e.offset, e.size, e.key); err != nil {
					return err
				}
				continue
			}
			//guard: an index would be walked in a circle
			if e.offset <= last {
				return damage.New(damage.Value, "", e.offset, "the index leads to an index block before the last one")
			}
			last = e.offset
			l := &s.levels[depth]
			if err := s.descend(l, e, depth == len(s.levels)-1); err != nil {
				return err
			}
			if err := walk(l.block.n, l.block.entry, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	return f.located(walk(len(f.root), f.rootEntry, 0))
}

// rootEntry is the entry of a number of the data index's root.
func (f *Reader) rootEntry(i int) indexEntry { return f.root[i] }
