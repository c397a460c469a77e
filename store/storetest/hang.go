package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/store"
)

// The longest allowed silence in tests of servers that hang, and the time between the bytes of a
// server that drips.
const (
	Silence = 100 * time.Millisecond
	Drop    = 10 * time.Millisecond
)

// Bounded returns a context that ends calls that hang because a guard is missing.
func Bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// Unavailable checks that a call fails with store.ErrUnavailable in bounded time. The bound is far
// longer than a Silence, because the machine may be busy, and far shorter than the default timeouts.
func Unavailable(t *testing.T, call func(ctx context.Context) error) {
	t.Helper()
	began := time.Now()
	err := call(Bounded(t))
	if took := time.Since(began); !errors.Is(err, store.ErrUnavailable) || took > 20*time.Second {
		t.Errorf("%v after %v", err, took)
	}
}
