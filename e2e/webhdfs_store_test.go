package e2e

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/e2e/hadooptest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/cluster"
	"github.com/rowtocol/rowtocol/store/webhdfs"
)

// webStore returns the store of a name node or gateway, as the superuser.
func webStore(t *testing.T, uri string, properties map[string]string) *webhdfs.Store {
	t.Helper()
	conf := cluster.NewConf(properties)
	login, err := cluster.NewLogin(conf, cluster.LoginOptions{})
	must(t, err)
	return openWebStore(t, uri, conf, login)
}

func openWebStore(t *testing.T, uri string, conf *cluster.Conf, login *cluster.Login) *webhdfs.Store {
	t.Helper()
	scheme, authority, _ := strings.Cut(uri, "://")
	_, addresses, err := conf.NameNodes(scheme, authority)
	must(t, err)
	st, err := webhdfs.New(conf, login, webhdfs.Options{Scheme: scheme, Addresses: addresses})
	must(t, err)
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
		login.Close()
	})
	return st
}

// TestHungCallsOverHTTP suspends daemons. No call may last much longer than the
// configuration allows, or than its context.
func TestHungCallsOverHTTP(t *testing.T) {
	hadooptest.RequireCluster(t)
	c := hadooptest.New(t, hadooptest.Config{DataNodes: 1, HDFS: map[string]string{
		"dfs.namenode.heartbeat.recheck-interval": "300000", // it keeps offering a hung node
		"dfs.namenode.fs-limits.min-block-size":   "3000000",
	}})
	// Silence may last 3 s, and 21 s during an upload.
	s := webStore(t, c.WebURI(), map[string]string{"dfs.client.socket-timeout": "3s", "dfs.replication": "1"})
	dir := scratch(t, s)
	data := make([]byte, 32<<20)
	must(t, writeNewFile(t.Context(), webStore(t, c.WebURI(), map[string]string{"dfs.replication": "1"}), dir+"/f", data))
	if err := writeNewFile(t.Context(), s, dir+"/small", data[:10]); err != nil {
		t.Error("below the least block size: ", err)
	}
	f, err := s.Open(t.Context(), dir+"/f")
	must(t, err)
	w, err := s.Create(t.Context(), dir+"/half", store.CreateOptions{Size: -1})
	must(t, err)
	tooLong := func(what string, limit time.Duration, do func(ctx context.Context) error) {
		t.Helper()
		if err := wantWithin(t, what, limit, func() error { return do(t.Context()) }); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %v", what, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		start := time.Now()
		if err := do(ctx); !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %v", what, err)
		}
		if d := time.Since(start); d > 2500*time.Millisecond { // the store itself would wait for 3 s
			t.Errorf("%s lasted %v beyond its context", what, d)
		}
	}
	resume := suspend(t, c.DataNodes[0])
	tooLong("create", 8*time.Second, func(ctx context.Context) error { return writeNewFile(ctx, s, dir+"/g", data) })
	tooLong("read", 15*time.Second, func(ctx context.Context) error {
		_, err := s.ReadFile(ctx, dir+"/f", 64<<20)
		return err
	})
	tooLong("write", 30*time.Second, func(context.Context) error {
		_, err := w.Write(data)
		return err
	})
	if _, err := f.ReadAt(data[:100], 20<<20); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("read at: %v", err)
	}
	resume()
	if err := errors.Join(w.Abort(), f.Close()); err != nil {
		t.Error(err)
	}
	resume = suspend(t, c.NameNodes[0])
	tooLong("stat", 5*time.Second, func(ctx context.Context) error {
		_, err := s.Stat(ctx, dir)
		return err
	})
	tooLong("rename", 5*time.Second, func(ctx context.Context) error { return s.Rename(ctx, dir+"/f", dir+"/r") })
	tooLong("create", 5*time.Second, func(ctx context.Context) error { return writeNewFile(ctx, s, dir+"/g", nil) })
	resume()
	if err := writeNewFile(t.Context(), s, dir+"/after", data); err != nil {
		t.Error(err)
	}
}
