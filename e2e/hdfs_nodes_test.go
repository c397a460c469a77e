package e2e

import (
	"path"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/e2e/hadooptest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// TestFailoverWithinCalls checks that one call tries both name nodes, if it may be
// repeated.
func TestFailoverWithinCalls(t *testing.T) {
	c := hadooptest.New(t, hadooptest.Config{DataNodes: 1, HA: true})
	ctx := t.Context()
	st := rpcStore(t, c, "", 1, shortTimeouts)
	const dir = "/d"
	must(t, storetest.MkdirAll(ctx, st, dir))
	data := randomBytes(5 << 20)
	must(t, writeNewFile(ctx, st, path.Join(dir, "before"), data))
	w, err := st.Create(ctx, path.Join(dir, "during"), store.CreateOptions{Size: int64(len(data))})
	must(t, err)
	if _, err := w.Write(data[:1<<20]); err != nil {
		t.Fatal(err)
	}
	must(t, c.Failover(ctx, 0, 1))
	// The upload and earlier sessions continue at the other one.
	if _, err := w.Write(data[1<<20:]); err != nil {
		t.Fatal(err)
	}
	must(t, w.Commit(ctx))
	for _, st := range []store.Store{st, rpcStore(t, c, "", 1, nil)} {
		if infos, err := st.List(ctx, dir); err != nil || len(infos) != 2 {
			t.Errorf("after a failover: %+v, %v", infos, err)
		}
	}

	// The active one hangs, and sessions wait for it; then the other takes over.
	hung := suspend(t, c.NameNodes[1])
	if err := wantWithin(t, "stat", 4*nodeTimeout, func() error { _, err := st.Stat(ctx, dir); return err }); err == nil {
		t.Error("a name node that hangs answered")
	} else {
		wantRetryable(t, "stat", err)
	}
	hung()
	c.NameNodes[1].Kill()
	must(t, c.Active(ctx, 0))
	fresh := rpcStore(t, c, "", 1, shortTimeouts)
	for what, st := range map[string]store.Store{"old": st, "fresh": fresh} {
		err := wantWithin(t, what, nodeTimeout, func() error { _, err := st.ReadFile(ctx, path.Join(dir, "before"), 1<<30); return err })
		if err != nil {
			t.Errorf("%s session, after the active one died: %v", what, err)
		}
		if err := wantWithin(t, what, time.Second, func() error { return st.Rename(ctx, path.Join(dir, "during"), path.Join(dir, "after")) }); err != nil {
			t.Errorf("%s session: %v", what, err)
		}
		if err := st.Rename(ctx, path.Join(dir, "after"), path.Join(dir, "during")); err != nil {
			t.Errorf("%s session: %v", what, err)
		}
	}
}
