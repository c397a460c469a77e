package stats

import (
	"sync"

	"github.com/axiomhq/hyperloglog"

	"github.com/rowtocol/rowtocol/internal/budget"
)

const (
	// sketchMemory is the approximate size of a sketch of many values, in bytes.
	sketchMemory = 24 << 10
	// manyHashes is the number of hashes from which sketchMemory is reserved.
	manyHashes = 1 << 10
)

// sketches estimate how many distinct values columns have. All workers share them, because a sketch
// of each worker would take more memory, and a new sketch is slow to fill. Adding a value twice, or
// in another order, changes nothing.
type sketches struct {
	columns []sketch
	heap    *budget.Heap
}

// sketch is the sketch of a column. Its methods are safe for concurrent use.
type sketch struct {
	heap   *budget.Heap
	mu     sync.Mutex
	of     *hyperloglog.Sketch
	hashes int // number of hashes that were added
}

func newSketches(columns int, heap *budget.Heap) *sketches {
	s := &sketches{columns: make([]sketch, columns), heap: heap}
	for i := range s.columns {
		s.columns[i].heap, s.columns[i].of = heap, hyperloglog.New14()
	}
	return s
}

// add adds hashes of values. It reserves the memory of the sketch once it has many.
func (s *sketch) add(hashes []uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.hashes + len(hashes); s.hashes < manyHashes && n >= manyHashes {
		if err := s.heap.Reserve(sketchMemory); err != nil {
			return err
		}
	}
	s.hashes += len(hashes)
	for _, h := range hashes {
		s.of.InsertHash(h)
	}
	return nil
}

// estimate returns the approximate number of distinct hashes.
func (s *sketch) estimate() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int64(s.of.Estimate())
}
