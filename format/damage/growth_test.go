package damage_test

import (
	"errors"
	"math"
	"testing"

	"github.com/rowtocol/rowtocol/format/damage"
)

func TestGrowth(t *testing.T) {
	for _, c := range []struct {
		stored, bytes, rows int64
		refused             bool
	}{
		{0, 1 << 30, 1 << 28, false},
		{0, 1<<30 + 1, 0, true},
		{0, 0, 1<<28 + 1, true},
		{1 << 20, 1<<30 + 1<<32, 1<<28 + 1<<30, false},
		{1 << 20, 1<<30 + 1<<32 + 1, 0, true},
		{1 << 20, 0, 1<<28 + 1<<30 + 1, true},
		{1 << 20, 0, math.MaxInt64, true},
		{math.MaxInt64, math.MaxInt64 / 4, math.MaxInt64 / 16, false},
		{math.MaxInt64, math.MaxInt64, 0, true},
	} {
		err := (&damage.Growth{Stored: c.stored, Bytes: c.bytes, Rows: c.rows}).Check("a file", 12)
		if d := (*damage.Error)(nil); errors.As(err, &d) != c.refused || c.refused && (d.Kind != damage.Unsupported || d.File != "a file" || d.Offset != 12) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
