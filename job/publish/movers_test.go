package publish

import (
	"errors"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

const manyTasks = 3 * movers

// renameCounter counts renames that are under way at the same time.
type renameCounter struct {
	mu        sync.Mutex
	now, peak int
	all       int
	enough    chan struct{} // closed once movers renames are under way
}

// enter waits until the maximum is under way, or for 10 s.
func (c *renameCounter) enter() {
	c.mu.Lock()
	c.now++
	c.all++
	c.peak = max(c.peak, c.now)
	if c.all == movers {
		close(c.enough)
	}
	c.mu.Unlock()
	select {
	case <-c.enough:
	case <-time.After(10 * time.Second):
	}
}

func (c *renameCounter) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now--
}

// TestConcurrentRenames checks that at most movers files are moved in and out at a time.
func TestConcurrentRenames(t *testing.T) {
	d, st := withHooks(t)
	output := func(name string) {
		t.Helper()
		c, _ := mustClaim(t, d)
		r := stageWorkOfTasks(t, c, name, manyTasks)
		mustPublish(t, c, r)
		mustRelease(t, c)
	}
	output("P")
	in, out := &renameCounter{enough: make(chan struct{})}, &renameCounter{enough: make(chan struct{})}
	st.rename = func(from, to string, do func() error) error {
		for c, p := range map[*renameCounter]string{in: to, out: from} {
			if path.Dir(p) == d.path && strings.HasPrefix(path.Base(p), "part-") {
				c.enter()
				defer c.leave()
			}
		}
		return do()
	}
	output("Q")
	if in.peak != movers || in.all != manyTasks || out.peak != movers || out.all != manyTasks {
		t.Errorf("got %d of %d files moved in at a time and %d of %d out, want %d of %d", in.peak, in.all, out.peak, out.all, movers, manyTasks)
	}
	if s := stateOf(t, d); !s.Finished(requestOf("Q")) || s.Leftovers || len(s.Success.Parts) != manyTasks {
		t.Errorf("%+v", s)
	}
}

// TestFailedRenameStopsOthers checks that files stay where they are after a rename failed,
// unless their own rename was under way. The next holder completes the output.
func TestFailedRenameStopsOthers(t *testing.T) {
	d, st := withHooks(t)
	c, held := mustClaim(t, d)
	r := stageWorkOfTasks(t, c, "P", manyTasks)
	var mu sync.Mutex
	moved := 0
	st.rename = func(_, to string, do func() error) error {
		if !strings.HasPrefix(path.Base(to), "part-") {
			return do()
		}
		mu.Lock()
		defer mu.Unlock()
		moved++
		if moved == 2 {
			return store.ErrQuota
		}
		return do()
	}
	if _, err := c.Publish(held, r.Plan, r.Work, nil); !errors.Is(err, store.ErrQuota) {
		t.Errorf("publish: got %v, want %v", err, store.ErrQuota)
	}
	if moved > 2+movers {
		t.Errorf("got %d files moved, want at most %d", moved, 2+movers)
	}
	st.rename = nil
	mustRelease(t, c)
	if s := stateOf(t, d); s.Success != nil || !s.pending {
		t.Errorf("%+v", s)
	}
	c, _ = mustClaim(t, d)
	if !c.State().Finished(requestOf("P")) || len(c.State().Success.Parts) != manyTasks {
		t.Errorf("the output was not completed: %+v", c.State())
	}
	mustRelease(t, c)
}

// TestLostLockStopsRenames checks that files are moved only until the lock is read the next
// time, if it is lost between two files.
func TestLostLockStopsRenames(t *testing.T) {
	d, st := withHooks(t)
	d.movers = 1
	c, held := mustClaim(t, d)
	r := stageWorkOfTasks(t, c, "P", manyTasks)
	moved := 0
	st.rename = func(_, to string, do func() error) error {
		if !strings.HasPrefix(path.Base(to), "part-") {
			return do()
		}
		if moved++; moved == 3 {
			if err := st.Store.Remove(t.Context(), d.pathOf(manifest.LockName)); err != nil {
				return err
			}
		}
		return do()
	}
	if _, err := c.Publish(held, r.Plan, r.Work, nil); err == nil || moved != lockEvery {
		t.Errorf("got %d files moved, want %d: %v", moved, lockEvery, err)
	}
	abandon(c)
}
