package parquet

import (
	"encoding/binary"
	"fmt"

	"github.com/cespare/xxhash/v2"
	"github.com/parquet-go/parquet-go/bloom"
	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// Lacks implements format.Searcher, by the Bloom filter of the row group and, if all pages are coded
// by the dictionary, by its words.
func (p *part) Lacks(col int, values [][]byte, row int64) (lacks bool, end int64, err error) {
	c := p.chunk(p.groupOf(row), p.lengths[col])
	if c.leaf.number == col && c.group.rows > 0 {
		lacks, err = p.lacks(c, values)
	}
	return lacks, c.group.first + c.group.rows, err
}

// lacks reports whether a chunk is known to have none of the values.
func (p *part) lacks(c *partChunk, values [][]byte) (bool, error) {
	wanted := plainValues(c.leaf, values)
	if wanted == nil {
		return false, nil
	}
	if c.filter.size > 0 {
		if has, err := p.filterHas(c, wanted); err != nil || !has {
			return !has, err
		}
	}
	if !c.coded {
		return false, nil
	}
	r := pageReader{p: p, c: c}
	w, err := r.dictionary()
	if err != nil {
		return false, err
	}
	defer r.leave()
	v := newValueVerifier(c.leaf)
	v.reader.words = w
	for i := range w.count {
		if wanted[string(v.word(i))] {
			return false, nil
		}
	}
	return true, nil
}

// plainValues returns encoded values of a column as Bloom filters have them: plain, and without
// lengths. It returns nil if the values of the leaf cannot be searched for.
func plainValues(l *leaf, values [][]byte) map[string]bool {
	plain := make(map[string]bool, len(values))
	for _, v := range values {
		switch kindOf(l) {
		case ints:
			if n, _ := binary.Varint(v); n == int64(int32(n)) {
				plain[string(binary.LittleEndian.AppendUint32(nil, uint32(n)))] = true
			}
		case longs:
			n, _ := binary.Varint(v)
			// A time that cannot be stored is in no file.
			if b := binary.LittleEndian.AppendUint64(nil, uint64(n)); l.unit.store(b) < 0 {
				plain[string(b)] = true
			}
		case enums:
			n, _ := binary.Varint(v)
			plain[l.Symbols[n]] = true
		case texts, fixed:
			plain[string(column.Sized(v))] = true
		default:
			return nil
		}
	}
	return plain
}

// filterHas reports whether the Bloom filter of a chunk has one of the values.
func (p *part) filterHas(c *partChunk, wanted map[string]bool) (bool, error) {
	memory := &column.Reservation{Account: p.memory}
	defer memory.ShrinkTo(0)
	f, err := p.readFilter(c, memory)
	if err != nil {
		return true, err
	}
	blocks := f.blocks()
	for v := range wanted {
		if blocks.Check(xxhash.Sum64String(v)) {
			return true, nil
		}
	}
	return false, nil
}

// storedFilter is a Bloom filter as it is in the file.
type storedFilter struct{ head, bits []byte }

func (f *storedFilter) blocks() bloom.SplitBlockFilter { return bloom.MakeSplitBlockFilter(f.bits) }

// readFilter reads the Bloom filter of a chunk, which must have one. reserved accounts for the
// memory.
func (p *part) readFilter(c *partChunk, reserved *column.Reservation) (*storedFilter, error) {
	s := c.filter
	if err := reserved.Reserve(s.size); err != nil {
		return nil, fmt.Errorf("%s: the Bloom filter of %d bytes: %w", p.file.Name(), s.size, err)
	}
	b := make([]byte, s.size)
	if err := damage.ReadFull(p.file, b, s.offset, p.file.Name()); err != nil {
		return nil, err
	}
	if err := p.checkEntry(c, c.checksumsOf(c.columnIndex, c.offsetIndex), b, s.offset, "Bloom filter"); err != nil {
		return nil, err
	}
	h := new(pq.BloomFilterHeader)
	n, err := unmarshal(p.file.Name(), s.offset, b, h)
	if err != nil {
		return nil, err
	}
	size := len(b) - n
	_, split := h.Algorithm.Value.(*pq.SplitBlockAlgorithm)
	_, xx := h.Hash.Value.(*pq.XxHash)
	_, plain := h.Compression.Value.(*pq.BloomFilterUncompressed)
	switch {
	//guard: refuses filters that it does not know
	case !split || !xx || !plain:
		return nil, p.damaged(c, -1, damage.Unsupported, s.offset, "a Bloom filter with the algorithm %T, the hash %T and the compression %T", h.Algorithm.Value, h.Hash.Value, h.Compression.Value)
	//guard: rejects a filter of another size than its header says
	case int(h.NumBytes) != size || size == 0 || size%bloom.BlockSize != 0:
		return nil, p.damaged(c, -1, damage.Size, s.offset, "a Bloom filter of %d bytes, its header says %d", size, h.NumBytes)
	}
	return &storedFilter{b[:n], b[n:]}, nil
}
