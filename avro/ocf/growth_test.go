package ocf

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// unbounded is an account without a limit.
type unbounded struct{}

func (unbounded) Reserve(int64) error { return nil }
func (unbounded) Release(int64)       {}

// The limit applies to the whole file: to the rows and decompressed bytes of all
// blocks, and the items that the caller finds in them.
func TestReaderLimitsGrowthOfTheFile(t *testing.T) {
	const free = 1 << 28 // rows of any file
	for _, c := range []struct {
		name  string
		rows  []int64
		items int64
		sound int // blocks before the error, or with the items that cause it
	}{
		{"rows", []int64{free / 2, free / 2, 1 << 20}, 0, 2},
		{"overflowing sum", []int64{math.MaxInt64, math.MaxInt64}, 0, 0},
		{"items", []int64{1, 1, 1, 1}, free / 2, 3},
	} {
		var b bytes.Buffer
		w, err := NewWriter(&b, `"null"`, "null", [SyncSize]byte{1})
		for _, rows := range c.rows {
			if err == nil {
				err = w.AppendBlock(rows, nil)
			}
		}
		testenv.Must(t, err)
		r, err := NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()), "a file", 1<<20, unbounded{})
		testenv.Must(t, err)
		sound := 0
		for err == nil {
			if _, _, err = r.Next(t.Context()); err == nil {
				sound++
				err = r.Grow(c.items)
			}
		}
		if d := (*damage.Error)(nil); !errors.As(err, &d) || d.Kind != damage.Unsupported || d.File != "a file" || d.Offset <= 0 || sound != c.sound {
			t.Errorf("%s: %d blocks, then %v", c.name, sound, err)
		}
	}
}
