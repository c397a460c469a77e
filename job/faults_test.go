package job_test

import (
	"testing"

	"github.com/rowtocol/rowtocol/job/jobtest"
	"github.com/rowtocol/rowtocol/store"
)

func local(t *testing.T) (store.Store, string) { return store.Local(), t.TempDir() }

func TestFaults(t *testing.T)         { jobtest.Faults(t, local, 1) }
func TestPatience(t *testing.T)       { jobtest.Patience(t, local, 7) } // it waits for a while in each case
func TestCrashes(t *testing.T)        { jobtest.Crashes(t, local, 1) }
func TestCrashThenOther(t *testing.T) { jobtest.CrashThenOther(t, local, 1) }
func TestPowerCuts(t *testing.T)      { jobtest.PowerCuts(t, 1) }
func TestRefusals(t *testing.T)       { jobtest.Refusals(t, local) }
func TestCorruption(t *testing.T)     { jobtest.Corruption(t, local) }
