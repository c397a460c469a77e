package budget

import (
	"errors"
	"math"
	"testing"
)

// wantError fails the test unless err is an *Error with these values.
func wantError(t *testing.T, err error, need, have int64) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *Error", err)
	}
	if e.Need != need || e.Have != have {
		t.Errorf("got need %d of %d, want %d of %d", e.Need, e.Have, need, have)
	}
}

func TestPool(t *testing.T) {
	p := New(100)
	if p.Size() != 100 || p.Available() != 100 {
		t.Fatalf("a new pool has %d of %d", p.Available(), p.Size())
	}
	for _, step := range []struct {
		reserve, release int64
		need             int64 // of the error; 0 for no error
		left             int64
	}{
		{reserve: 60, left: 40},
		{reserve: 41, need: 101, left: 40},
		{reserve: 40, left: 0},
		{reserve: 0, left: 0},
		{reserve: 1, need: 101, left: 0},
		{release: 30, left: 30},
		{reserve: 31, need: 101, left: 30},
		{reserve: 30, left: 0},
		{release: 100, left: 100},
		{reserve: 250, need: 250, left: 100},
	} {
		err := p.Reserve(step.reserve)
		if step.need > 0 {
			wantError(t, err, step.need, 100)
		} else if err != nil {
			t.Fatalf("%+v: %v", step, err)
		}
		if p.Release(step.release); p.Available() != step.left || p.Size() != 100 {
			t.Errorf("%+v: left %d of %d", step, p.Available(), p.Size())
		}
	}
	if left := (*Pool)(nil).Available(); left != math.MaxInt64 {
		t.Errorf("nil pool: left %d", left)
	}
}

// The error suggests one and a half times the size that was needed, rounded up.
func TestErrorSuggestsSize(t *testing.T) {
	for _, c := range []struct {
		need, have int64
		want       string
	}{
		{64 << 20, 32 << 20, "too little memory: about --memory 96MiB is needed, the limit is 32MiB"},
		{64<<20 + 1, 32<<20 + 1, "too little memory: about --memory 97MiB is needed, the limit is 32MiB"},
		{64<<20 - 1, 32<<20 - 1, "too little memory: about --memory 96MiB is needed, the limit is 31MiB"},
		{1, 0, "too little memory: about --memory 1MiB is needed, the limit is 0MiB"},
	} {
		if got := (&Error{Need: c.need, Have: c.have}).Error(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
