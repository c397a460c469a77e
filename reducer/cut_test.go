package reducer

import (
	"bytes"
	"errors"
	"testing"

	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/memstore"
)

// TestPowerCuts cuts the power at each point of writing an output: the name
// then shows the whole output or nothing, and the output can be written again.
func TestPowerCuts(t *testing.T) {
	out, sp, want := sample(t)
	const path = "/f"
	for n, stopped := 1, true; stopped; n++ {
		for seed, decided := uint64(0), 1; decided > 0 && seed < 5; seed++ {
			disk := memstore.New()
			c := disk.Client()
			c.StopAt(n)
			_, err := Write(t.Context(), c, path, out, sp)
			if stopped = c.Stopped(); stopped != errors.Is(err, memstore.ErrStopped) {
				t.Fatalf("stopped at point %d: %v, error is %v", n, stopped, err)
			}
			decided = disk.Cut(seed)
			shows := checkOutput(t, disk.Client(), path, want)
			if !stopped && !shows {
				t.Fatal("an output that was written is lost")
			}
			if seed > 0 {
				continue
			}
			if _, err := Write(t.Context(), disk.Client(), path, out, sp); err != nil {
				t.Fatalf("after a cut at point %d: %v", n, err)
			}
			disk.Cut(0)
			if !checkOutput(t, disk.Client(), path, want) {
				t.Fatal("an output that was written again is lost")
			}
		}
	}
}

// checkOutput reports whether a path shows a file, which must be whole. Beside
// it may be temporary files.
func checkOutput(t *testing.T, st store.Store, path string, want []byte) (shows bool) {
	t.Helper()
	infos, err := st.List(t.Context(), "/")
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos {
		if store.IsTemp(info.Name) {
			continue
		}
		got, err := st.ReadFile(t.Context(), info.Path, int64(len(want)))
		if info.Path != path || err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%s shows %d bytes of %d, %v", info.Path, info.Size, len(want), err)
		}
		shows = true
	}
	return shows
}
