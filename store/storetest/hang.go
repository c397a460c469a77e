package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/store"
)

// How long a silence may be in tests of servers that never get anywhere, and the time
// to the next byte of one that drips.
const (
	Silence = 100 * time.Millisecond
	Drop    = 10 * time.Millisecond
)

// Bounded is the context of what hangs where a guard is missing.
func Bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// Unavailable wants a call to fail as storage does that may recover, in far more time
// than a Silence, for a busy machine takes its time, and far less than is allowed else.
func Unavailable(t *testing.T, call func(ctx context.Context) error) {
	t.Helper()
	began := time.Now()
	err := call(Bounded(t))
	if took := time.Since(began); !errors.Is(err, store.ErrUnavailable) || took > 20*time.Second {
		t.Errorf("%v after %v", err, took)
	}
}
