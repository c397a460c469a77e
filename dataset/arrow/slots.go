package arrow

import "github.com/apache/arrow-go/v18/arrow/memory"

// slots are the places of an array. In Arrow, absent values have a place too. Columns hold
// only present values.
type slots struct {
	n      int // number of places
	values int // number of places with a value
	// present is 1 for a place with a value, and 0 for a place without a value. If it is
	// nil, all places have values.
	present []int32
	// nulls is set if places without a value are null. If it is not set, an enclosing
	// place is null where there is no value.
	nulls bool
	// around returns the row of the batch that place i is in. If it is nil, the places are
	// the rows.
	around func(i int) int
}

// row returns the row of the batch that a place is in.
func (s slots) row(i int) int {
	if s.around == nil {
		return i
	}
	return s.around(i)
}

// all returns n slots that all have a value.
func all(n int) slots { return slots{n: n, values: n} }

// below returns the slots of a nested place. They are absent where s is absent, but not
// null.
func (s slots) below() slots {
	s.nulls = false
	return s
}

// where returns the slots of s with fewer values. lengths has 1 for each value of s to keep,
// and 0 for others.
func (s slots) where(lengths []int32, values int, scratch *scratch) slots {
	inner := slots{n: s.n, values: values, present: lengths, nulls: true, around: s.around}
	if values == s.n {
		inner.present = nil
		return inner
	}
	if s.present == nil {
		return inner
	}
	inner.present = scratch.take(s.n)
	j := 0
	for i, p := range s.present {
		inner.present[i] = 0
		if p != 0 {
			inner.present[i] = lengths[j]
			j++
		}
	}
	return inner
}

// validity returns the validity bitmap of the slots, or nil if no slot is null, and the
// number of nulls.
func (s slots) validity(mem memory.Allocator) (*memory.Buffer, int) {
	if s.present == nil || !s.nulls {
		return nil, 0
	}
	b := newBuffer(mem, (s.n+7)/8)
	packBits(b.Bytes(), s.present)
	return b, s.n - s.values
}

// packBits sets the bits of dst to values that are 0 or 1.
func packBits(dst []byte, values []int32) {
	for i := range dst {
		part := values[8*i : min(8*i+8, len(values))]
		var b byte
		for k, v := range part {
			b |= byte(v) << k
		}
		dst[i] = b
	}
}

// newBuffer returns a buffer of n bytes.
func newBuffer(mem memory.Allocator, n int) *memory.Buffer {
	b := memory.NewResizableBuffer(mem)
	b.Resize(n)
	return b
}

// scratch lends memory until the end of the batch.
type scratch struct {
	memory []int32
	used   int
}

// take returns n uninitialized numbers.
func (s *scratch) take(n int) []int32 {
	if s.used+n > len(s.memory) {
		s.memory, s.used = make([]int32, max(n, 2*len(s.memory))), 0
	}
	s.used += n
	return s.memory[s.used-n : s.used : s.used]
}

// reset frees all memory that was taken.
func (s *scratch) reset() { s.used = 0 }
