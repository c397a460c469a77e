package reducer

import (
	"bytes"
	"errors"
	"testing"

	"github.com/rowtocol/rowtocol/store/memstore"
)

// TestPowerCuts cuts the power at each point of writing an output. If Write succeeded,
// the output is complete afterwards. In any case it can be written again.
func TestPowerCuts(t *testing.T) {
	out, sp, want := sample(t)
	for n, stopped := 1, true; stopped; n++ {
		for seed, decided := uint64(0), 1; decided > 0 && seed < 5; seed++ {
			disk := memstore.New()
			c := disk.Client()
			c.StopAt(n)
			_, err := Write(t.Context(), c, named("/f"), out, sp)
			if stopped = c.Stopped(); stopped != errors.Is(err, memstore.ErrStopped) {
				t.Fatalf("stopped at point %d: %v, error is %v", n, stopped, err)
			}
			decided = disk.Cut(seed)
			if !stopped {
				checkWhole(t, disk, "/f", want)
			}
			if seed > 0 {
				continue
			}
			if _, err := Write(t.Context(), disk.Client(), named("/again"), out, sp); err != nil {
				t.Fatalf("after a cut at point %d: %v", n, err)
			}
			disk.Cut(0)
			checkWhole(t, disk, "/again", want)
		}
	}
}

func checkWhole(t *testing.T, disk *memstore.Disk, path string, want []byte) {
	t.Helper()
	got, err := disk.Client().ReadFile(t.Context(), path, int64(len(want)))
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%s has %d bytes, want %d, %v", path, len(got), len(want), err)
	}
}
