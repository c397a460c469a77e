package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/e2e/hadooptest"
	"github.com/rowtocol/rowtocol/store"
)

// grace is the time that a busy machine may add to a call. Without deadlines, calls that
// hang take a minute or more.
const grace = 10 * time.Second

// wantWithin fails the test if a call takes longer than most and grace.
func wantWithin(t *testing.T, what string, most time.Duration, call func() error) error {
	t.Helper()
	began := time.Now()
	err := call()
	if took := time.Since(began); took > most+grace {
		t.Errorf("%s took %v, more than %v: %v", what, took.Round(time.Millisecond), most, err)
	}
	return err
}

func suspend(t *testing.T, d *hadooptest.Daemon) (resume func()) {
	t.Helper()
	must(t, d.Suspend())
	return func() {
		t.Helper()
		must(t, d.Resume())
	}
}

// wantRetryable fails the test unless a retry may help after an error.
func wantRetryable(t *testing.T, what string, err error) {
	t.Helper()
	if store.Classify(err) != store.Retryable || errors.Is(err, io.EOF) {
		t.Errorf("%s: %v (%v)", what, err, store.Classify(err))
	}
}

// TestHungCallsOverRPC checks the deadlines of calls while nodes hang.
func TestHungCallsOverRPC(t *testing.T) {
	c := hadooptest.New(t, hadooptest.Config{
		DataNodes: 3,
		HDFS:      map[string]string{"dfs.namenode.fs-limits.min-block-size": "4194304"},
	})
	calm := rpcStore(t, c, "", 3, nil)
	dir := scratch(t, calm)
	data := randomBytes(9 << 20)
	file := path.Join(dir, "f")
	must(t, writeNewFile(t.Context(), calm, file, data))
	st := rpcStore(t, c, "", 3, shortTimeouts)
	// The name node requires larger blocks than this file needs.
	must(t, writeNewFile(t.Context(), st, path.Join(dir, "small"), data[:1000]))
	resources := count()
	t.Run("name node", func(t *testing.T) { hungNameNode(t, c, st, dir, data) })
	for i, dn := range c.DataNodes {
		t.Run(fmt.Sprint("data node ", i+1), func(t *testing.T) { hungDataNode(t, c, st, dn, dir, data) })
	}
	t.Run("cancel", func(t *testing.T) { canceledCalls(t, c, st, dir, data) })
	t.Run("workers", func(t *testing.T) { disturbedWorkers(t, c, st) })
	if err := st.Close(); err != nil {
		t.Error(err)
	}
	resources.wantSame(t)
	st = rpcStore(t, c, "", 3, nil)
	infos, err := st.List(t.Context(), dir)
	if err != nil || len(infos) != 2 {
		t.Errorf("left are %+v, %v", infos, err)
	}
}

// hungNameNode checks that each call ends by its deadline. It may also wait once for a
// session that already hangs.
func hungNameNode(t *testing.T, c *hadooptest.Cluster, st store.Store, dir string, data []byte) {
	const most = 2*nodeTimeout + nodeTimeout/2
	ctx, f := t.Context(), path.Join(dir, "f")
	w, err := st.Create(ctx, path.Join(dir, "w"), store.CreateOptions{Size: int64(len(data))})
	must(t, err)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	opened, err := st.Open(ctx, f)
	must(t, err)
	defer func() { _ = opened.Close() }()
	resume := suspend(t, c.NameNodes[0])
	for what, call := range map[string]func() error{
		"stat":   func() error { _, err := st.Stat(ctx, f); return err },
		"list":   func() error { _, err := st.List(ctx, dir); return err },
		"open":   func() error { _, err := st.Open(ctx, f); return err },
		"create": func() error { _, err := st.Create(ctx, path.Join(dir, "x"), store.CreateOptions{Size: 1}); return err },
		"read":   func() error { _, err := opened.ReadAt(make([]byte, 10), 0); return err },
		"commit": func() error { return w.Commit(ctx) },
	} {
		wantRetryable(t, what, wantWithin(t, what, most, call))
	}
	resume()
	if err := w.Abort(); err != nil {
		t.Error(err)
	}
	if _, err := opened.ReadAt(make([]byte, 10), 0); err != nil {
		t.Errorf("read after the hang: %v", err)
	}
	if err := st.RemoveAll(ctx, path.Join(dir, "x")); err != nil {
		t.Error(err)
	}
}

// writeThrough begins a file with a data node in the pipeline, and writes its first bytes.
// It retries because a name node may leave a busy data node out.
func writeThrough(t *testing.T, c *hadooptest.Cluster, st store.Store, dn *hadooptest.Daemon, file string, first []byte, size int64) store.Writer {
	t.Helper()
	for range 20 {
		w, err := st.Create(t.Context(), file, store.CreateOptions{Size: size})
		must(t, err)
		if _, err := w.Write(first); err != nil {
			t.Fatal(err)
		}
		nodes, err := c.Pipeline(t.Context(), file)
		must(t, err)
		if slices.Contains(nodes, dn) {
			return w
		}
		must(t, w.Abort())
	}
	t.Fatalf("%s is in no pipeline", dn.Name)
	return nil
}

func hungDataNode(t *testing.T, c *hadooptest.Cluster, st store.Store, dn *hadooptest.Daemon, dir string, data []byte) {
	ctx, file := t.Context(), path.Join(dir, "f")
	must(t, c.WaitLive(ctx, 3))
	f, err := st.Open(ctx, file)
	must(t, err)
	defer func() { _ = f.Close() }()
	half := len(data) / 2
	w := writeThrough(t, c, st, dn, path.Join(dir, "w"), data[:half], int64(len(data)))
	resume := suspend(t, dn)
	err = wantWithin(t, "write", 3*nodeTimeout, func() error {
		_, err := w.Write(data[half:])
		if err == nil {
			err = w.Commit(ctx)
		}
		return err
	})
	wantRetryable(t, "write", err)
	if w.Commit(ctx) == nil {
		t.Error("a failed file was committed")
	}
	if err := wantWithin(t, "abort", nodeTimeout, w.Abort); err != nil {
		t.Error(err)
	}
	got := make([]byte, len(data))
	err = wantWithin(t, "read", 2*nodeTimeout, func() error {
		for off := 0; off < len(got); off += 1 << 20 {
			if _, err := f.ReadAt(got[off:off+1<<20], int64(off)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("read from the other data nodes: %v", err)
	}
	resume()
}

// canceledCalls checks that calls that hang end with their context.
func canceledCalls(t *testing.T, c *hadooptest.Cluster, st store.Store, dir string, data []byte) {
	must(t, c.WaitLive(t.Context(), 3))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w, err := st.Create(ctx, path.Join(dir, "w"), store.CreateOptions{Size: int64(len(data))})
	must(t, err)
	if _, err := w.Write(data[:len(data)/2]); err != nil {
		t.Fatal(err)
	}
	f, err := st.Open(ctx, path.Join(dir, "f"))
	must(t, err)
	defer func() { _ = f.Close() }()
	nodes := append(c.DataNodes[:len(c.DataNodes):len(c.DataNodes)], c.NameNodes[0])
	for _, d := range nodes {
		defer suspend(t, d)()
	}
	calls := map[string]func() error{
		"write": func() error {
			if _, err := w.Write(data[len(data)/2:]); err != nil {
				return err
			}
			return w.Commit(ctx)
		},
		"read":   func() error { _, err := f.ReadAt(make([]byte, 10), 0); return err },
		"stat":   func() error { _, err := st.Stat(ctx, dir); return err },
		"rename": func() error { return st.Rename(ctx, path.Join(dir, "no"), path.Join(dir, "x")) },
		"create": func() error { _, err := st.Create(ctx, path.Join(dir, "x"), store.CreateOptions{Size: 1}); return err },
	}
	type end struct {
		what string
		err  error
	}
	ends := make(chan end, len(calls))
	for what, call := range calls {
		go func() { ends <- end{what, call()} }()
	}
	time.Sleep(nodeTimeout / 2)
	cancel()
	// Calls that ignore the cancellation end later, with the error of their own deadline.
	late := time.After(grace)
	for range calls {
		select {
		case e := <-ends:
			if !errors.Is(e.err, context.Canceled) {
				t.Errorf("%s: %v", e.what, e.err)
			}
		case <-late:
			t.Fatalf("a call still runs %v after it was canceled", grace)
		}
	}
	for _, d := range nodes {
		must(t, d.Resume())
	}
	if err := w.Abort(); err != nil {
		t.Error(err)
	}
	if err := st.RemoveAll(t.Context(), path.Join(dir, "x")); err != nil {
		t.Error(err)
	}
}

// usage counts resources that must not leak.
type usage struct{ goroutines, files int }

func count() usage {
	fds, _ := os.ReadDir("/proc/self/fd") // empty on other systems than Linux
	return usage{goroutines: runtime.NumGoroutine(), files: len(fds)}
}

func (u usage) wantSame(t *testing.T) {
	t.Helper()
	var now usage
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if now = count(); now.goroutines <= u.goroutines && now.files <= u.files {
			return
		}
	}
	stacks := make([]byte, 1<<20)
	t.Errorf("%+v became %+v:\n%s", u, now, stacks[:runtime.Stack(stacks, true)])
}
