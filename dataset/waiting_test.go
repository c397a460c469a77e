package dataset

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowtocol/rowtocol/internal/budget"
)

// A worker that reserved memory for a large row still gets buffers for the text of the row.
func TestBuffersNextToReservedMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWaiting(t.Context(), budget.New(64<<20), 4)
		defer w.close()
		first, err := w.Buffer()
		if err != nil {
			t.Fatal(err)
		}
		first.Release() // a fast receiver
		release, err := w.Reserve(2 * w.most)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the buffer that the worker fills, and a piece of the row
			if _, err := w.Buffer(); err != nil {
				t.Fatal(err)
			}
		}
		release()
		if free := w.memory.Available(); free != 64<<20-2*BufferSize {
			t.Errorf("%d bytes are free, expected %d", free, 64<<20-2*BufferSize)
		}
	})
}

// A worker that has a buffer never lacks the memory for another, and has at most its share of them.
func TestBuffersAreBounded(t *testing.T) {
	for _, c := range []struct{ memory, workers, most int }{{2, 1, 2}, {32, 1, aloneWaiting / BufferSize}, {32, 2, 4}, {32, 8, 2}} {
		synctest.Test(t, func(t *testing.T) {
			pool := budget.New(int64(c.memory) * BufferSize)
			w := newWaiting(t.Context(), pool, c.workers)
			defer w.close()
			first, err := w.Buffer()
			if err != nil {
				t.Fatal(err)
			}
			if free := pool.Available(); free != int64(c.memory-2)*BufferSize {
				t.Errorf("%d bytes are free next to a buffer", free)
			}
			for range c.most - 1 {
				if _, err := w.Buffer(); err != nil {
					t.Fatal(err)
				}
			}
			start := time.Now()
			time.AfterFunc(time.Second, first.Release)
			if b, err := w.Buffer(); err != nil || b != first || time.Since(start) < time.Second {
				t.Errorf("a buffer too many: %v", err)
			}
		})
	}
}

// Work that lacks memory waits for that of buffers, and fails if it is not enough.
func TestReserveFreesBuffers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWaiting(t.Context(), budget.New(4*BufferSize), 1)
		defer w.close()
		b, err := w.Buffer()
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			time.Sleep(time.Second)
			b.Release()
		}()
		release, err := w.Reserve(4 * BufferSize)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Buffer(); err == nil {
			t.Error("a buffer without memory")
		}
		release()
		if b, err = w.Buffer(); err != nil {
			t.Fatal(err)
		}
		b.Release()
		if _, err := w.Reserve(5 * BufferSize); err == nil {
			t.Error("more memory than there is")
		}
	})
}
