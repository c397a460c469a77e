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

// crowd counts renames that are under way at the same time.
type crowd struct {
	mu        sync.Mutex
	now, most int
	all       int
	enough    chan struct{} // closed once so many as may be are under way
}

// enter waits until the others are there, or will not come.
func (c *crowd) enter() {
	c.mu.Lock()
	c.now++
	c.all++
	c.most = max(c.most, c.now)
	if c.all == movers {
		close(c.enough)
	}
	c.mu.Unlock()
	select {
	case <-c.enough:
	case <-time.After(10 * time.Second):
	}
}

func (c *crowd) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now--
}

// TestFilesBesideEachOther moves files in and out several at a time, and no more.
func TestFilesBesideEachOther(t *testing.T) {
	d, st := onOdd(t)
	output := func(name string) {
		t.Helper()
		c, _ := claim(t, d)
		r := begunTasks(t, c, name, manyTasks)
		mustPublish(t, c, r)
		release(t, c)
	}
	output("P")
	in, out := &crowd{enough: make(chan struct{})}, &crowd{enough: make(chan struct{})}
	st.rename = func(from, to string, do func() error) error {
		for c, p := range map[*crowd]string{in: to, out: from} {
			if path.Dir(p) == d.path && strings.HasPrefix(path.Base(p), "part-") {
				c.enter()
				defer c.leave()
			}
		}
		return do()
	}
	output("Q")
	if in.most != movers || in.all != manyTasks || out.most != movers || out.all != manyTasks {
		t.Errorf("%d of %d files moved in at a time, %d of %d out", in.most, in.all, out.most, out.all)
	}
	if s := look(t, d); !s.Finished(requestOf("Q")) || s.Leftovers || len(s.Success.Parts) != manyTasks {
		t.Errorf("%+v", s)
	}
}

// TestFileThatFailsEndsTheRest cannot move one file: those that are not under way
// stay where they are, and the next holder completes the output.
func TestFileThatFailsEndsTheRest(t *testing.T) {
	d, st := onOdd(t)
	c, held := claim(t, d)
	r := begunTasks(t, c, "P", manyTasks)
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
		t.Errorf("it was published: %v", err)
	}
	if moved > 2+movers {
		t.Errorf("%d files were moved", moved)
	}
	st.rename = nil
	release(t, c)
	if s := look(t, d); s.Success != nil || !s.pending {
		t.Errorf("%+v", s)
	}
	c, _ = claim(t, d)
	if !c.State().Finished(requestOf("P")) || len(c.State().Success.Parts) != manyTasks {
		t.Errorf("it was not completed: %+v", c.State())
	}
	release(t, c)
}

// TestNoFileWithoutTheLock loses the lock between two files: only those move that come
// before the next look at it.
func TestNoFileWithoutTheLock(t *testing.T) {
	d, st := onOdd(t)
	d.movers = 1
	c, held := claim(t, d)
	r := begunTasks(t, c, "P", manyTasks)
	moved := 0
	st.rename = func(_, to string, do func() error) error {
		if !strings.HasPrefix(path.Base(to), "part-") {
			return do()
		}
		if moved++; moved == 3 {
			if err := st.Store.Remove(t.Context(), d.in(manifest.LockName)); err != nil {
				return err
			}
		}
		return do()
	}
	if _, err := c.Publish(held, r.Plan, r.Work, nil); err == nil || moved != lockEvery {
		t.Errorf("%d files were moved: %v", moved, err)
	}
	abandon(c)
}
