package hfile

import (
	"bytes"
	"context"
	"unsafe"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// Verify reads every byte of the file. It checks the checksum and place of every block, and the
// order and number of the cells. The indexes must lead to each data block by a valid key, and the
// Bloom filters must have each row. It also checks the fields of file info and trailer. It returns
// the first damage that it finds, and stops at any other error, such as the end of ctx.
func (f *Reader) Verify(ctx context.Context) error {
	v := &verifier{f: f, s: f.Scan(), previous: map[string]int64{}, memory: column.Reservation{Account: f.memory.Account}}
	defer v.s.Close()
	defer v.memory.ShrinkTo(0)
	return f.located(v.run(ctx))
}

// dataBlock is a data block that was read.
type dataBlock struct {
	offset      int64
	size        int
	first       Key // key of the first cell
	previousKey Key // key of the cell before the first; nil in the first block
}

type verifier struct {
	f        *Reader
	s        *Scanner
	previous map[string]int64 // offset of the last block of a magic
	data     []dataBlock
	memory   column.Reservation // memory of data, index and hudi
	index    map[int64]bool     // offsets of the index blocks below the root that no entry has led to
	chunks   int                // number of chunks of the Bloom filter that were read
	meta     int                // number of meta blocks that were read
	hudi     *HudiBloom
	firstRow []byte
	last     Key
	cells    int64
	keys     int64 // bytes of all keys
	values   int64 // bytes of all values
}

func (v *verifier) run(ctx context.Context) error {
	v.index = map[int64]bool{}
	if err := v.openHudi(); err != nil {
		return err
	}
	for at := int64(0); at < v.f.size-trailerSize; {
		if err := ctx.Err(); err != nil {
			return err
		}
		size, err := v.block(at)
		if err != nil {
			return err
		}
		at += int64(size)
	}
	for _, check := range []func() error{v.checkIndex, v.checkMeta, v.checkInfo, v.checkTrailer} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// openHudi reads Hudi's Bloom filter, if the file names its kind.
func (v *verifier) openHudi() error {
	kind := v.f.info.Value(infoHudiBloomType)
	if kind == nil {
		return nil
	}
	text, err := v.f.Meta(metaHudiBloom)
	if text == nil || err != nil {
		return err
	}
	//guard: reserves memory for the filter
	if err := v.memory.Reserve(4 * int64(len(text))); err != nil {
		return err
	}
	v.hudi, err = ParseHudiBloom(string(text), string(kind))
	return err
}

// block verifies the block at an offset and returns its size.
func (v *verifier) block(at int64) (int, error) {
	h, payload, err := v.s.data.read(at, -1, magics...)
	if err != nil {
		return 0, err
	}
	begin := v.f.trailer.LoadOnOpen
	//guard: rejects a block that begins before the indexes and ends in them
	if at < begin && at+int64(h.size()) > begin {
		return 0, damage.New(damage.Size, "", at, "a block reaches beyond %d, where the indexes begin", begin)
	}
	before, ok := v.previous[h.magic]
	if !ok {
		before = -1
	}
	v.previous[h.magic] = at
	//guard: rejects a wrong pointer to the block before
	if h.previous != before && !v.f.ByHudi() {
		return 0, damage.New(damage.Value, "", at+16, "the block has the previous one of its kind at %d, but that is at %d", h.previous, before)
	}
	switch h.magic {
	case magicRoot, magicInfo, magicBloomMeta, magicDeleteBloom:
		//guard: rejects a root or file info among the data
		if at < begin {
			return 0, damage.New(damage.Magic, "", at, "a block %q before the beginning of the indexes", h.magic)
		}
	}
	switch h.magic {
	case magicData:
		err = v.dataBlock(at, h.size(), payload)
	case magicLeaf, magicIntermediate:
		if err = v.memory.Reserve(mapEntryMemory); err == nil {
			v.index[at] = true
		}
	case magicBloomChunk:
		err = v.chunk(at, h.size())
	case magicMeta:
		err = v.metaBlock(at, h.size())
	}
	return h.size(), err
}

// mapEntryMemory bounds the memory of an entry in the map verifier.index, with the room that the
// map grows by.
const mapEntryMemory = 80

// metaBlock checks that the meta index lists a meta block.
func (v *verifier) metaBlock(at int64, size int) error {
	v.meta++
	//guard: rejects a meta block that the index does not list
	if i := v.meta - 1; i >= len(v.f.meta) || v.f.meta[i].offset != at || v.f.meta[i].size != size {
		return damage.New(damage.Value, "", at, "the meta index does not have meta block %d of %d bytes there", i, size)
	}
	return nil
}

// chunk checks that the Bloom filter lists a chunk. It does nothing if there is no filter.
func (v *verifier) chunk(at int64, size int) error {
	if v.f.bloom == nil {
		return nil
	}
	v.chunks++
	//guard: rejects a chunk that the filter does not list
	if i := v.chunks - 1; i >= len(v.f.bloom.chunks) || v.f.bloom.chunks[i].offset != at || v.f.bloom.chunks[i].size != size {
		return damage.New(damage.Value, "", at, "the Bloom filter does not have chunk %d of %d bytes there", i, size)
	}
	return nil
}

// dataBlock verifies the cells of a data block.
func (v *verifier) dataBlock(at int64, size int, payload []byte) error {
	//guard: rejects an empty block
	if len(payload) == 0 {
		return damage.New(damage.Size, "", at, "a data block without cells")
	}
	s := v.s
	s.offset, s.payload, s.at = at, payload, 0
	if err := v.reserve(len(v.last)); err != nil {
		return err
	}
	block := dataBlock{offset: at, size: size, previousKey: bytes.Clone(v.last)}
	for s.at < len(payload) {
		start := s.at
		if err := s.cell(); err != nil {
			return err
		}
		//guard: rejects cells that do not ascend
		if v.last != nil && v.last.Compare(s.key) > 0 {
			return damage.New(damage.Value, "", at, "the cell at %d of the block, %s, sorts before the previous one, %s", start, s.key, v.last)
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

// reserve reserves memory for a key of a data block, and for the block in v.data, which is copied
// as it grows.
func (v *verifier) reserve(key int) error {
	return v.memory.Reserve(int64(key) + 2*int64(unsafe.Sizeof(dataBlock{})))
}

// row checks that the Bloom filters have the cell's row.
func (v *verifier) row() error {
	row := v.s.key.Row()
	if v.cells == 1 {
		v.firstRow = bytes.Clone(row)
	}
	has, err := v.s.MayContainRow(row)
	if err != nil {
		return err
	}
	has = has && (v.hudi == nil || v.hudi.MayContain(row))
	//guard: rejects a filter without the row
	if !has {
		return damage.New(damage.Value, "", v.s.offset, "the Bloom filter does not have the row of %s", v.s.key)
	}
	return nil
}

// checkIndex checks that the data index leads to each data block, in their order.
func (v *verifier) checkIndex() error {
	n := 0
	err := v.s.walkIndex(func(e indexEntry, first Key) error {
		delete(v.index, e.offset)
		//guard: rejects an index block whose first key the entry above does not have
		if first.Compare(e.key) != 0 {
			return damage.New(damage.Value, "", e.offset, "the index block begins with %s, the entry above has %s", first, Key(e.key))
		}
		return nil
	}, func(e indexEntry) error {
		n++
		return v.checkEntry(e, n-1)
	})
	if err != nil {
		return err
	}
	//guard: rejects an index that leaves blocks out
	if n != len(v.data) {
		return damage.New(damage.Count, "", v.f.trailer.LoadOnOpen, "the index has %d data blocks, the file %d", n, len(v.data))
	}
	for at := range v.index {
		return damage.New(damage.Value, "", at, "no index leads to the index block")
	}
	return nil
}

// checkEntry checks an entry of the index against data block n.
func (v *verifier) checkEntry(e indexEntry, n int) error {
	//guard: rejects an index that leads to other blocks
	if n >= len(v.data) || v.data[n].offset != e.offset || v.data[n].size != e.size {
		return damage.New(damage.Value, "", e.offset, "the index has data block %d of %d bytes there, the file does not", n, e.size)
	}
	b := v.data[n]
	first := b.first
	if v.f.dialect.rowOnly {
		first = AppendRowKey(nil, first.Row())
	}
	//guard: rejects an index entry whose key is after the block's first key
	if first.Compare(e.key) < 0 {
		return damage.New(damage.Value, "", e.offset, "the index has %s for a block that begins with %s", Key(e.key), b.first)
	}
	above := b.previousKey != nil && b.previousKey.Compare(e.key) > 0
	if b.previousKey != nil && v.f.dialect.rowOnly {
		above = bytes.Compare(b.previousKey.Row(), Key(e.key).Row()) > 0
	}
	//guard: rejects an index entry whose key is before the block's previous key
	if above {
		return damage.New(damage.Value, "", e.offset, "the index has %s for a block after %s", Key(e.key), b.previousKey)
	}
	return nil
}

// checkMeta checks that the file has all blocks of the meta index and of the Bloom filter.
func (v *verifier) checkMeta() error {
	//guard: rejects a file without a listed meta block
	if n := len(v.f.meta); v.meta < n {
		return damage.New(damage.Count, "", v.f.meta[v.meta].offset, "the meta index has %d blocks, the file %d", n, v.meta)
	}
	if v.f.bloom == nil {
		return nil
	}
	//guard: rejects a filter without a listed chunk
	if all := v.f.bloom.chunks; v.chunks < len(all) {
		return damage.New(damage.Count, "", all[v.chunks].offset, "the Bloom filter has %d chunks, the file %d", len(all), v.chunks)
	}
	return nil
}

// checkInfo checks the file info against the cells.
func (v *verifier) checkInfo() error {
	at := v.f.trailer.FileInfo
	last := v.f.LastKey()
	switch {
	case v.f.info.Value(infoLastKey) == nil || v.cells == 0:
	//guard: rejects a wrong last key
	case last == nil || !bytes.Equal(last.Row(), v.last.Row()) || !v.f.ByHudi() && last.Compare(v.last) != 0:
		return damage.New(damage.Value, "", at, "%s is recorded as %s, it is %s", infoLastKey, last, v.last)
	}
	if v.cells == 0 {
		return nil
	}
	for _, end := range []struct {
		key string
		row []byte
	}{{infoMinRecord, v.firstRow}, {infoMaxRecord, v.last.Row()}} {
		//guard: rejects a wrong range of rows
		if got := v.f.info.Value(end.key); got != nil && !bytes.Equal(got, end.row) {
			return damage.New(damage.Value, "", at, "%s is recorded as %q, it is %q", end.key, got, end.row)
		}
	}
	if v.f.ByHudi() {
		return nil
	}
	for _, average := range []struct {
		key   string
		bytes int64
	}{{infoAverageKey, v.keys}, {infoAverageValue, v.values}} {
		n, ok := v.f.info.number(average.key)
		//guard: rejects wrong averages
		if !ok || n != average.bytes/v.cells {
			return damage.New(damage.Value, "", at, "%s is recorded as %d, it is %d", average.key, n, average.bytes/v.cells)
		}
	}
	return nil
}

// checkTrailer checks the trailer against the blocks.
func (v *verifier) checkTrailer() error {
	t, at := v.f.trailer, v.f.size-trailerSize
	//guard: rejects a file with more or fewer cells than its trailer says
	if t.Entries != v.cells {
		return damage.New(damage.Count, "", at, "the file has %d cells, its trailer says %d", v.cells, t.Entries)
	}
	if len(v.data) == 0 {
		return nil
	}
	first, last := v.data[0], v.data[len(v.data)-1]
	//guard: rejects wrong offsets of the first and last block
	if t.FirstData != first.offset || t.LastData != last.offset && t.LastData != last.offset+int64(last.size) {
		return damage.New(damage.Value, "", at, "the data blocks are recorded at %d to %d, they are at %d to %d", t.FirstData, t.LastData, first.offset, last.offset)
	}
	return nil
}

// Blocks calls visit for each data block, in file order. visit gets the block's offset and size in
// the file, and a key that is not above the block's first key. Blocks reads only the index.
func (f *Reader) Blocks(visit func(offset int64, size int, key Key) error) error {
	s := f.Scan()
	defer s.Close()
	return f.located(s.walkIndex(func(indexEntry, Key) error { return nil }, func(e indexEntry) error {
		return visit(e.offset, e.size, e.key)
	}))
}
