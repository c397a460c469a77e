package cluster

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowtocol/rowtocol/store"
)

func TestBlockSize(t *testing.T) {
	const mib = 1 << 20
	for _, tt := range []struct{ size, least, checksum, want int64 }{
		{0, 0, 512, mib},
		{1, 0, 0, mib},
		{mib, 0, 512, mib},
		{mib + 1, 0, 512, 2 * mib},
		{3 << 30, 0, 512, 3 << 30},
		{5, 4 * mib, 512, 4 * mib},
		{5 * mib, 4 * mib, 512, 5 * mib},
		{1, mib + 1, 512, 2 * mib},
		{mib, 0, 1000, 1_049_000},
		{1<<63 - 1, 0, 0, 1<<63 - mib},
	} {
		var b BlockSize
		b.least.Store(tt.least)
		if got := b.For(tt.size, tt.checksum); got != tt.want {
			t.Errorf("%+v: %d", tt, got)
		}
	}
}

// TestBlockSizeIsLearned checks what is learned from a name node's refusals of one block size each.
func TestBlockSizeIsLearned(t *testing.T) {
	for message, want := range map[string]int64{
		"Specified block size 524288 is less than configured minimum value dfs.namenode.fs-limits.min-block-size=2097152":            2097152,
		"Specified block size is less than configured minimum value (dfs.namenode.fs-limits.min-block-size): 524288 < 4194304\n\tat": 4194304,
		"min-block-size=99999999999999999999": 0,
		"min-block-size":                      0,
		"Permission denied":                   0,
	} {
		var b BlockSize
		// If two files are created at once, the minimum is known when the second is refused.
		for range 2 {
			if b.Learn(message, 524288) != (want != 0) || b.least.Load() != want {
				t.Errorf("%s: %d", message, b.least.Load())
			}
		}
		if b.Learn(message, max(want, 1)) {
			t.Errorf("%s: learned again", message)
		}
	}
}

// TestSettle looks at a file of 5 bytes for a minute at most.
func TestSettle(t *testing.T) {
	sound := Stored{Length: 5, BlockSize: 1 << 20, Blocks: 1, Known: true}
	with := func(change func(f *Stored)) Stored { f := sound; change(&f); return f }
	open := with(func(f *Stored) { f.Open, f.Length = true, 0 })
	unknown := Stored{Length: 5, BlockSize: 1 << 20}
	short := Stored{Length: 4, BlockSize: 1 << 20}
	many := with(func(f *Stored) { f.Blocks = 2 })
	for name, tt := range map[string]struct {
		looks    []Stored // the last is repeated
		anything bool     // it need not be one block
		is       error
		late     bool
	}{
		"sound":             {[]Stored{sound}, false, nil, false},
		"closed at last":    {[]Stored{open, open, sound}, false, nil, false},
		"never closed":      {[]Stored{open}, false, store.ErrUnavailable, true},
		"shorter":           {[]Stored{with(func(f *Stored) { f.Length = 4 })}, false, store.ErrMismatch, false},
		"unknown":           {[]Stored{unknown}, false, nil, false},
		"unknown, for now":  {[]Stored{short, short, unknown}, false, nil, false},
		"unknown, shorter":  {[]Stored{short}, false, store.ErrMismatch, true},
		"two blocks":        {[]Stored{many}, false, store.ErrMismatch, false},
		"two blocks may be": {[]Stored{many}, true, nil, false},
		"smaller blocks":    {[]Stored{with(func(f *Stored) { f.BlockSize = 4 })}, false, store.ErrMismatch, false},
		"striped":           {[]Stored{with(func(f *Stored) { f.Striped = true })}, true, store.ErrErasureCoded, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			err := Settle(t.Context(), time.Minute, 5, !tt.anything, func() (Stored, error) {
				f := tt.looks[0]
				tt.looks = tt.looks[min(1, len(tt.looks)-1):]
				return f, nil
			})
			if took := time.Since(began); !errors.Is(err, tt.is) || (took >= time.Minute) != tt.late {
				t.Errorf("%s: %v after %v", name, err, took)
			}
		})
	}
	if err := Settle(t.Context(), time.Minute, 5, true, func() (Stored, error) { return sound, store.ErrNotExist }); !errors.Is(err, store.ErrNotExist) {
		t.Errorf("a look that fails: %v", err)
	}
}
