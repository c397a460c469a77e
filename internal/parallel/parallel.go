// Package parallel runs a function concurrently for many numbers.
package parallel

import (
	"context"
	"errors"
	"sync"
)

// Do calls fn for 0 to n-1 in order, with at most limit concurrent calls. When a call fails, Do
// makes no more calls and cancels the calls that run. It returns the error of the lowest number.
// Errors of the cancellation do not count.
func Do(ctx context.Context, n, limit int, fn func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		mu       sync.Mutex
		next     int
		firstAt  = n
		firstErr error
		wg       sync.WaitGroup
	)
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		if next == n || ctx.Err() != nil {
			return 0, false
		}
		next++
		return next - 1, true
	}
	fail := func(i int, err error) {
		mu.Lock()
		defer mu.Unlock()
		cancelled := ctx.Err() != nil && errors.Is(err, context.Canceled)
		if i < firstAt && !cancelled || firstErr == nil {
			firstAt, firstErr = i, err
		}
		cancel()
	}
	for range min(limit, n) {
		wg.Go(func() {
			for {
				i, ok := take()
				if !ok {
					return
				}
				if err := fn(ctx, i); err != nil {
					fail(i, err)
				}
			}
		})
	}
	wg.Wait()
	if firstErr == nil {
		return context.Cause(ctx)
	}
	return firstErr
}
