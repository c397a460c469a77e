package dataset_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/internal/parallel"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/store"
)

// Several workers find the same damage in a part as one worker, in the same order.
func TestParallelVerify(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		dir, _ := textSet(t, f, someLarge(40, 2<<20, 2<<20, 2<<20)) // more than one range of blocks
		l, err := dataset.List(t.Context(), locations(store.Local(), dir), dataset.Options{Formats: formats})
		testenv.Must(t, err)
		verify := func(run format.Runner) error {
			p, err := l.Open(t.Context(), &l.Parts[0])
			if err != nil {
				return err
			}
			defer p.Close()
			return p.Verify(t.Context(), run)
		}
		r, found := rand.New(rand.NewPCG(1, 2)), 0
		for round := range 12 {
			name := l.Parts[0].Files[round%len(l.Parts[0].Files)].Name
			whole, err := os.ReadFile(name)
			testenv.Must(t, err)
			damaged := append([]byte{}, whole...)
			for range round / 3 {
				damaged[r.IntN(len(damaged))] ^= byte(1 + r.IntN(255))
			}
			testenv.Must(t, os.WriteFile(name, damaged, 0o600))
			one, several := verify(nil), verify(parallel.NewWorkers(4).Do)
			if fmt.Sprint(one) != fmt.Sprint(several) || one != nil && !isDamage(one) || one != nil && round < 3 {
				t.Errorf("round %d: one worker: %v; several: %v", round, one, several)
			}
			if one != nil {
				found++
			}
			testenv.Must(t, os.WriteFile(name, whole, 0o600))
		}
		if found < 6 {
			t.Errorf("damage in only %d of 9 files", found)
		}
	})
}
