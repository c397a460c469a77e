package parallel

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

func TestDo(t *testing.T) {
	var running, most, sum atomic.Int64
	full := make(chan struct{})
	err := Do(t.Context(), 100, 4, func(_ context.Context, i int) error {
		n := running.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		if n == 4 && i < 4 {
			close(full)
		}
		<-full // until four calls run
		sum.Add(int64(i))
		running.Add(-1)
		return nil
	})
	if err != nil || sum.Load() != 4950 || most.Load() != 4 {
		t.Errorf("got sum %d, %d concurrent calls, %v", sum.Load(), most.Load(), err)
	}
	if err := Do(t.Context(), 0, 4, nil); err != nil {
		t.Errorf("nothing to do: %v", err)
	}
}

// TestFailure lets the third call fail first, and then the second.
func TestFailure(t *testing.T) {
	second, third := errors.New("second"), errors.New("third")
	err := Do(t.Context(), 10, 3, func(ctx context.Context, i int) error {
		if i == 2 {
			return third
		}
		<-ctx.Done()
		if i == 1 {
			return second
		}
		return ctx.Err()
	})
	if err != second {
		t.Errorf("got error %v, want %v", err, second)
	}
	err = Do(t.Context(), 10, 1, func(_ context.Context, i int) error {
		switch i {
		case 1:
			return second
		case 2:
			t.Error("a call after a failure")
		}
		return nil
	})
	if err != second {
		t.Errorf("got error %v, want %v", err, second)
	}
}

func TestCancellation(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	err := Do(ctx, 10, 1, func(context.Context, int) error {
		calls++
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) || calls != 1 {
		t.Errorf("got %d calls, %v", calls, err)
	}
}

// Calls of Do within calls of Do use the same workers. All of them work, even when there is one
// outer call, and never more.
func TestNested(t *testing.T) {
	const workers = 4
	for _, outer := range []int{1, 3, 50} {
		w := NewWorkers(workers)
		var running, most, sum atomic.Int64
		full, once := make(chan struct{}), sync.Once{}
		err := w.Do(t.Context(), outer, func(ctx context.Context, _ int) error {
			return w.Do(ctx, 40, func(context.Context, int) error {
				n := running.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				if n == workers {
					once.Do(func() { close(full) })
				}
				<-full // until all workers run
				sum.Add(1)
				running.Add(-1)
				return nil
			})
		})
		if err != nil || sum.Load() != int64(40*outer) || most.Load() != workers || len(w.idle) != workers-1 {
			t.Errorf("%d outer calls: %d calls, %d concurrent, %d idle workers, %v", outer, sum.Load(), most.Load(), len(w.idle), err)
		}
	}
	broken := errors.New("broken")
	w := NewWorkers(workers)
	err := w.Do(t.Context(), 10, func(ctx context.Context, i int) error {
		return w.Do(ctx, 10, func(ctx context.Context, j int) error {
			if i == 3 && j == 5 {
				return broken
			}
			return ctx.Err()
		})
	})
	if err != broken || len(w.idle) != workers-1 {
		t.Errorf("got %v, %d idle workers", err, len(w.idle))
	}
}
