package arrow

import (
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// loan counts the buffers of a record batch that use the memory of vectors. It is the
// allocator of these buffers, so that they give the memory back to it.
type loan struct {
	buffers  atomic.Int64 // and 1 while the record batch is made
	returned func()
}

func newLoan(returned func()) *loan {
	l := &loan{returned: returned}
	l.buffers.Store(1)
	return l
}

// end ends the making of the record batch.
func (l *loan) end() { l.Free(nil) }

// Free implements memory.Allocator.
func (l *loan) Free([]byte) {
	if l.buffers.Add(-1) == 0 {
		l.returned()
	}
}

// Allocate implements memory.Allocator. Borrowed buffers have a fixed size.
func (*loan) Allocate(int) []byte { panic("arrow: a borrowed buffer grows") }

// Reallocate implements memory.Allocator.
func (l *loan) Reallocate(size int, _ []byte) []byte { return l.Allocate(size) }

// borrow returns a buffer in the memory of a vector.
func borrow[T arrow.FixedWidthType](b *batch, values []T) *memory.Buffer {
	b.loan.buffers.Add(1)
	return memory.NewBufferWithAllocator(arrow.GetBytes(values), b.loan)
}
