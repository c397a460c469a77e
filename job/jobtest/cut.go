package jobtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/soak"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job"
	"github.com/rowtocol/rowtocol/store/memstore"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// cutSeeds returns the number of outcomes that are tried if a cut has several outcomes. In the
// first two, all changes are lost or none. In the others, random changes are lost.
func cutSeeds() uint64 { return soak.Rounds[uint64](3, 8) }

// PowerCuts ends the process at each point of a conversion in memory. It cuts the power at once,
// or after another run was ended or completed. A last run must complete, and its output must
// survive another cut.
func PowerCuts(t *testing.T) {
	for _, overwrite := range []bool{false, true} {
		disk := memstore.New()
		c := &cutter{scene: newScene(t, disk.Client(), "/", overwrite), disk: disk}
		for stopped, n := true, 1; stopped; n++ {
			for seed, decided := uint64(0), 1; decided > 0 && seed < cutSeeds(); seed++ {
				stopped, decided = c.cutOnce(t, n, seed)
			}
			if n%3 == 0 || soak.Full() {
				c.cutTwice(t, n, 1+n*7%60, uint64(n))
				c.killThenCut(t, n)
			}
		}
	}
}

// cutter is a scene on a disk whose power is cut.
type cutter struct {
	*scene
	disk   *memstore.Disk
	begins int // number of calls of begin
}

// begin makes a destination and the request to change it. A cut may leave a lock
// under two names, which must expire before it can be taken. Every other request keeps the files
// that it replaces.
func (c *cutter) begin(t *testing.T, name string) job.Request {
	t.Helper()
	r := c.scene.begin(t, c.st, name)
	r.Destination.Times.Stale = time.Millisecond
	if c.begins++; c.overwrite && c.begins%2 == 0 {
		r.Destination.KeepReplaced = time.Hour
	}
	return r
}

// runUntil runs a job until point n, and reports whether it reached that point.
func (c *cutter) runUntil(t *testing.T, r job.Request, n int) bool {
	t.Helper()
	client := c.disk.Client()
	client.StopAt(n)
	r.Resolve = storetest.ResolveTo(client)
	_, err := job.Convert(t.Context(), r)
	stopped := client.Stopped()
	if err != nil && !stopped {
		t.Fatalf("%s: %v", r.Dest, err)
	}
	return stopped
}

// cut cuts the power, checks the destination, and returns the number of decisions
// of memstore.Disk.Cut.
func (c *cutter) cut(t *testing.T, r job.Request, seed uint64) (decided int) {
	t.Helper()
	decided = c.disk.Cut(seed)
	c.st = c.disk.Client()
	c.check(t, r.Dest)
	return decided
}

// cutOnce cuts the power at a point of the first run.
func (c *cutter) cutOnce(t *testing.T, n int, seed uint64) (stopped bool, decided int) {
	t.Helper()
	r := c.begin(t, fmt.Sprint("once", n, seed))
	stopped = c.runUntil(t, r, n)
	decided = c.cut(t, r, seed)
	if !stopped {
		c.checkComplete(t, r.Dest)
	}
	c.last(t, r)
	return stopped, decided
}

// cutTwice cuts the power in the first and in the second run.
func (c *cutter) cutTwice(t *testing.T, n, m int, seed uint64) {
	t.Helper()
	r := c.begin(t, fmt.Sprint("twice", n, m, seed))
	c.runUntil(t, r, n)
	c.cut(t, r, seed)
	c.runUntil(t, r, m)
	c.cut(t, r, seed+1)
	c.last(t, r)
}

// killThenCut kills the first run and cuts the power after the second.
func (c *cutter) killThenCut(t *testing.T, n int) {
	t.Helper()
	r := c.begin(t, fmt.Sprint("killed", n))
	c.runUntil(t, r, n)
	c.finish(t, r)
	c.cut(t, r, 0)
	if !c.hasOutput(t, r.Dest) {
		t.Error("the output of the second run is lost")
	}
	c.last(t, r)
}

// last runs the job to its end, checks that its output survives a cut, and removes it.
func (c *cutter) last(t *testing.T, r job.Request) {
	t.Helper()
	c.finish(t, r)
	c.cut(t, r, 0)
	c.checkComplete(t, r.Dest)
	if keeps, kept := r.Destination.KeepReplaced > 0, c.keptFiles(t, r.Dest); keeps != (len(kept) > 0) {
		t.Errorf("keeps the former output: %v, and kept %q", keeps, kept)
	}
	if t.Failed() {
		t.Fatalf("in %s (overwrite: %v)", r.Dest, c.overwrite)
	}
	testenv.Must(t, c.st.RemoveAll(t.Context(), r.Dest))
}
