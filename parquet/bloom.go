package parquet

import (
	"encoding/binary"
	"math/bits"
	"sync"

	"github.com/cespare/xxhash/v2"
	"github.com/parquet-go/parquet-go/bloom"
	pq "github.com/parquet-go/parquet-go/format"
)

const (
	// maxFilter is the most bytes of a Bloom filter without its header. About 800,000 distinct
	// values fill it.
	maxFilter = 1 << 20
	// filterBudget is the memory that all filters of a row group may take, about.
	filterBudget = 32 << 20
	// filterFactor is the most memory of a filter, divided by its limit: Finish copies it.
	filterFactor = 2
	// filterHeaderBound is the most bytes of a filter's header.
	filterHeaderBound = 32
	// filterValue is the most bytes that a value adds to a filter: see filterCapacity.
	filterValue = 3
)

// filterLimit returns the most bytes of each filter if n columns have one: a power of two. It is
// less for many columns, and for blocks that are small because memory is short.
func filterLimit(n, blockSize int) int {
	limit := min(filterBudget/filterFactor/max(n, 1), 16*blockSize, maxFilter)
	return max(1<<(bits.Len(uint(limit))-1), bloom.BlockSize)
}

// filterCapacity returns the size in bytes of the smallest filter of n distinct values that also
// finds at most about 1 % of other values. It is a power of two, and at most
// bloom.BlockSize + filterValue*n.
func filterCapacity(n int64) int64 {
	const perThree = 4 // three values need four bytes, or 10.7 bits each
	size := int64(bloom.BlockSize)
	for size < n*perThree/3 {
		size *= 2
	}
	return size
}

// filter collects the values of a column chunk for its Bloom filter. Jobs may insert values at
// once and in any order: the result is the same.
type filter struct {
	limit int
	mu    sync.Mutex
	// blocks has limit bytes once there are values.
	blocks bloom.SplitBlockFilter
}

// bound returns the most bytes of the filter of n values, without its header.
func (f *filter) bound(n int64) int64 { return min(int64(f.limit), bloom.BlockSize+filterValue*n) }

// insert inserts the hashes of values.
func (f *filter) insert(hashes []uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.blocks == nil {
		f.blocks = make(bloom.SplitBlockFilter, f.limit/bloom.BlockSize)
	}
	if len(hashes) > 0 {
		f.blocks.InsertBulk(hashes)
	}
}

// finish returns the filter of n values with its header. Some values may be equal.
func (f *filter) finish(n int64) ([]byte, error) {
	f.insert(nil)
	blocks, most := f.blocks, filterCapacity(n)
	f.blocks = nil
	//guard: keeps the size within the bound, also for values whose hashes collide on purpose
	for int64(len(blocks))*bloom.BlockSize > most {
		blocks = fold(blocks)
	}
	for len(blocks) > 1 && foldable(blocks) {
		blocks = fold(blocks)
	}
	b := blocks.Bytes()
	head, err := marshal(&pq.BloomFilterHeader{
		NumBytes:    int32(len(b)),
		Algorithm:   pq.BloomFilterAlgorithm{Value: &pq.SplitBlockAlgorithm{}},
		Hash:        pq.BloomFilterHash{Value: &pq.XxHash{}},
		Compression: pq.BloomFilterCompression{Value: &pq.BloomFilterUncompressed{}},
	})
	return append(head, b...), err
}

// foldable reports whether the filter still finds at most 1 % of other values if it is folded. A
// value finds a block with the probability that all of its eight bits are set.
func foldable(f bloom.SplitBlockFilter) bool {
	const all, percent = 1 << 40, 100 // all bits of eight words: 32^8
	sum := uint64(0)
	for i := 0; i+1 < len(f); i += 2 {
		set := uint64(1)
		for w := range f[i] {
			set *= uint64(bits.OnesCount32(uint32(f[i][w] | f[i+1][w])))
		}
		sum += set
	}
	return sum*percent <= uint64(len(f)/2)*all
}

// fold halves a filter. The number of a value's block is the higher half of its hash, times the
// number of blocks, divided by 2^32. So neighbours become one block.
func fold(f bloom.SplitBlockFilter) bloom.SplitBlockFilter {
	half := f[:len(f)/2]
	for i := range half {
		for w := range half[i] {
			half[i][w] = f[2*i][w] | f[2*i+1][w]
		}
	}
	return half
}

// appendHashes appends the hashes of plain values, which have the given width, or lengths if it
// is 0.
func appendHashes(dst []uint64, plain []byte, width int) []uint64 {
	for n := width; len(plain) > 0; plain = plain[n:] {
		if width == 0 {
			n = int(binary.LittleEndian.Uint32(plain))
			plain = plain[4:]
		}
		dst = append(dst, xxhash.Sum64(plain[:n]))
	}
	return dst
}

// filterPages inserts the values of pages that are not coded into the column's filter. Those of
// coded pages are words of the dictionary, which dictionaryPage inserts.
func (s *scratch) filterPages(j *encodeJob) error {
	c := j.c
	if c.filter == nil {
		return nil
	}
	width := c.kind.width()
	if width == 0 {
		return s.filterTexts(c)
	}
	if !s.converted {
		if err := s.convert(c); err != nil {
			return err
		}
	}
	plain := s.leftPlain
	for i := range s.pages {
		p := &s.pages[i]
		size := p.values * width
		if !p.coded {
			s.hashes = appendHashes(s.hashes[:0], plain[:size], width)
			c.filter.insert(s.hashes)
		}
		plain = plain[size:]
	}
	return nil
}

// filterTexts inserts texts, or symbols of an enum.
func (s *scratch) filterTexts(c *groupColumn) error {
	data := s.leftAvro
	for i := range s.pages {
		p := &s.pages[i]
		if p.coded {
			data = data[p.size:]
			continue
		}
		s.hashes = s.hashes[:0]
		for range p.values {
			text, rest, err := c.cut(data)
			if err != nil {
				return err
			}
			s.hashes, data = append(s.hashes, xxhash.Sum64(text)), rest
		}
		c.filter.insert(s.hashes)
	}
	return nil
}

// cut returns the text, or the symbol of an enum, at the start of Avro data, and the rest.
func (c *groupColumn) cut(data []byte) (text, rest []byte, err error) {
	if c.kind != enums {
		return cutText(data)
	}
	ordinal, rest, err := cutOrdinal(data, len(c.symbols))
	if err != nil {
		return nil, nil, err
	}
	return c.symbols[ordinal], rest, nil
}
