package format

import (
	"context"
	"errors"

	"github.com/rowtocol/rowtocol/format/damage"
)

// Runner calls fn for 0 to n-1, begun in this order, perhaps several at the same time. After an
// error of a call it begins no more calls, cancels those that run, and returns the error. fn may
// call the Runner itself. A nil Runner makes one call after another.
type Runner func(ctx context.Context, n int, fn func(ctx context.Context, i int) error) error

// Do calls fn for 0 to n-1, and returns the error of a call.
func (r Runner) Do(ctx context.Context, n int, fn func(ctx context.Context, i int) error) error {
	if r != nil {
		return r(ctx, n, fn)
	}
	for i := range n {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := fn(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// Check calls check for 0 to n-1. found is the damage that each call returned, or nil. err is
// the first other error, which ends the calls.
func (r Runner) Check(ctx context.Context, n int, check func(ctx context.Context, i int) error) (found []error, err error) {
	found = make([]error, n)
	err = r.Do(ctx, n, func(ctx context.Context, i int) error {
		if found[i] = check(ctx, i); errors.As(found[i], new(*damage.Error)) {
			return nil
		}
		return found[i]
	})
	return found, err
}

// First is Check if only the first damage matters. It is the error if there is no other error.
func (r Runner) First(ctx context.Context, n int, check func(ctx context.Context, i int) error) error {
	found, err := r.Check(ctx, n, check)
	for i := 0; err == nil && i < n; i++ {
		err = found[i]
	}
	return err
}
