package parallel

import (
	"context"
	"errors"
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
		<-full // only four at a time get here
		sum.Add(int64(i))
		running.Add(-1)
		return nil
	})
	if err != nil || sum.Load() != 4950 || most.Load() != 4 {
		t.Errorf("the sum is %d, up to %d ran at a time, %v", sum.Load(), most.Load(), err)
	}
	if err := Do(t.Context(), 0, 4, nil); err != nil {
		t.Errorf("nothing to do: %v", err)
	}
}

// TestFailure lets the third fail while the others wait, and then the second.
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
		t.Errorf("error %v, want that of the lowest number that failed itself", err)
	}
	err = Do(t.Context(), 10, 1, func(_ context.Context, i int) error {
		switch i {
		case 1:
			return second
		case 2:
			t.Error("it went on after a failure")
		}
		return nil
	})
	if err != second {
		t.Errorf("error %v", err)
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
		t.Errorf("%d calls, %v", calls, err)
	}
}
