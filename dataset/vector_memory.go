package dataset

import (
	"slices"
	"unsafe"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/budget"
)

// A vector always keeps smallVector bytes of memory for the next batch, and up to
// largeVector bytes if a quarter of them was used by one of the last two batches: the last
// batch of a range is often small.
const (
	smallVector = 1 << 20
	largeVector = 16 << 20
)

// hintShare is the part of the free memory that a vector may take before it has values, unless
// they are in large blocks.
const hintShare = 64

// vectorMemory accounts for vectors, and for the copies that the caller makes of each
// batch.
type vectorMemory struct {
	heap   *budget.Heap
	copies int64        // number of copies of each batch
	sizes  []vectorSize // size that is reserved for each vector
}

// vectorSize is the size of a vector in bytes.
type vectorSize struct {
	memory, used int64
	before       int64 // used by the batch before
}

func memoryOf(v *column.Vector) (s vectorSize) {
	addSize(&s, v.Lengths)
	addSize(&s, v.Ints)
	addSize(&s, v.Longs)
	addSize(&s, v.Floats)
	addSize(&s, v.Doubles)
	addSize(&s, v.Bools)
	addSize(&s, v.Offsets)
	if !v.Encoded { // encoded values belong to a block
		addSize(&s, v.Data)
	}
	return s
}

func addSize[T any](s *vectorSize, values []T) {
	size := int64(unsafe.Sizeof(*new(T)))
	s.memory += size * int64(cap(values))
	s.used += size * int64(len(values))
}

// valueMemory is the most memory that a value takes while a vector grows.
const valueMemory = 24

// values returns the number of values of a column for which memory is available.
func (m *vectorMemory) values() int {
	return int(max(min(m.heap.Available()/valueMemory, maxItems), 1))
}

// prepare allocates the memory of text in one step, before values with about bytes are read, so
// that the vector does not grow again and again. It checks that the values of large blocks, with
// about large bytes, fit into memory.
func (m *vectorMemory) prepare(i int, v *column.Vector, t column.Type, bytes, large int64) error {
	if t != column.String && t != column.Bytes {
		return m.heap.Check(8 * large) // a long can take one byte
	}
	if bytes > m.heap.Available()/hintShare {
		bytes = large
	}
	had, size := int64(cap(v.Data)), int64(len(v.Data))+bytes
	if size <= had || v.Encoded {
		return nil
	}
	if grown := 2 * had; grown <= min(largeVector/2, m.heap.Available()/hintShare) {
		size = max(size, grown) // a batch has the values of several blocks
	}
	if err := m.heap.Reserve(size); err != nil {
		return err
	}
	v.Data = append(make([]byte, 0, size), v.Data...)
	m.heap.Release(had)
	m.sizes[i].memory += size - had
	return nil
}

// update accounts for the current size of a vector. If it fails, the caller restores
// the vector.
func (m *vectorMemory) update(i int, v *column.Vector) error {
	now, before := memoryOf(v), m.sizes[i]
	more := now.memory - before.memory + m.copies*(now.used-before.used)
	if more > 0 {
		if err := m.heap.Reserve(more); err != nil {
			return err
		}
	} else {
		m.heap.Release(-more)
	}
	now.before = before.before
	m.sizes[i] = now
	return nil
}

// restored accounts for a vector from which values were removed. If the vector grew
// beyond the reserved size, restored copies the values and frees the larger memory.
func (m *vectorMemory) restored(i int, v *column.Vector) {
	if memoryOf(v).memory > m.sizes[i].memory {
		v.Lengths, v.Ints, v.Longs = slices.Clone(v.Lengths), slices.Clone(v.Ints), slices.Clone(v.Longs)
		v.Floats, v.Doubles, v.Bools = slices.Clone(v.Floats), slices.Clone(v.Doubles), slices.Clone(v.Bools)
		if v.Offsets = slices.Clone(v.Offsets); !v.Encoded {
			v.Data = slices.Clone(v.Data)
		}
	}
	_ = m.update(i, v) // the vector is no larger than before, except for the rounding of slices
}

// reset empties a vector, and frees its memory if it is unusually large.
func (m *vectorMemory) reset(i int, v *column.Vector) {
	had := memoryOf(v)
	if had.memory > largeVector || had.memory > smallVector && max(had.used, m.sizes[i].before) < had.memory/4 {
		*v = column.Vector{Encoded: v.Encoded}
	}
	v.Reset()
	_ = m.update(i, v) // the vector is not larger than before
	m.sizes[i].before = had.used
}
