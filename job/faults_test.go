package job_test

import (
	"testing"

	"github.com/rowtocol/rowtocol/internal/soak"
	"github.com/rowtocol/rowtocol/job/jobtest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/memstore"
)

func local(t *testing.T) (store.Store, string) { return store.Local(), t.TempDir() }

func memory(*testing.T) (store.Store, string) { return memstore.New().Client(), "/" }

func TestFaults(t *testing.T)         { jobtest.Faults(t, memory, 1) }
func TestPatience(t *testing.T)       { jobtest.Patience(t, memory, 1) }
func TestCrashes(t *testing.T)        { jobtest.Crashes(t, memory, 1) }
func TestCrashThenOther(t *testing.T) { jobtest.CrashThenOther(t, memory, 1) }
func TestPowerCuts(t *testing.T)      { jobtest.PowerCuts(t) }
func TestRefusals(t *testing.T)       { jobtest.Refusals(t, local) }
func TestCorruption(t *testing.T)     { jobtest.Corruption(t, local) }

// TestLocalDisk repeats some of the cases of jobtest on local disk, and all of them in a soak.
func TestLocalDisk(t *testing.T) {
	stride := func(thin int) int {
		if soak.Full() {
			return 1
		}
		return thin
	}
	t.Run("faults", func(t *testing.T) { jobtest.Faults(t, local, stride(19)) })
	t.Run("patience", func(t *testing.T) { jobtest.Patience(t, local, stride(17)) })
	t.Run("crashes", func(t *testing.T) { jobtest.Crashes(t, local, stride(11)) })
	t.Run("crash, then another", func(t *testing.T) { jobtest.CrashThenOther(t, local, stride(13)) })
}
