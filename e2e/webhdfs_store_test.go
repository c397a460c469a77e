package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/e2e/hadooptest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/cluster"
	"github.com/rowtocol/rowtocol/store/storetest"
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

// webServer is a way to a cluster over HTTP.
type webServer struct {
	*webhdfs.Store
	address string // URL
	admin   string // URL of a name node
}

// TestHDFSStoreOverHTTP tests the store on name and data nodes, and on the gateway
// that speaks the same with differences.
func TestHDFSStoreOverHTTP(t *testing.T) {
	c := hadooptest.Shared(t)
	for name, uri := range map[string]string{"name node": c.WebURI(), "HttpFS": c.HTTPFS()} {
		t.Run(name, func(t *testing.T) {
			server := webServer{webStore(t, uri, nil), webURL(uri), webURL(c.WebURI())}
			t.Run("as any store", func(t *testing.T) {
				storetest.Run(t, func(t *testing.T) (store.Store, string) { return server, server.scratch(t) })
			})
			t.Run("odd names", server.testNames)
			t.Run("long listing", server.testListing)
			t.Run("one block", server.testOneBlock)
			t.Run("being written", server.testBeingWritten)
			t.Run("half an upload", server.testHalfUpload)
			t.Run("file numbers", server.testFileIDs)
			t.Run("erasure coding", server.testErasureCoding)
		})
	}
}

func webURL(uri string) string { return "http://" + strings.TrimPrefix(uri, "webhdfs://") }

func (s webServer) scratch(t *testing.T) string {
	t.Helper()
	return scratch(t, s)
}

// do has the superuser do what the store cannot.
func (s webServer) do(t *testing.T, op, path string, query url.Values) {
	t.Helper()
	query.Set("op", op)
	query.Set("user.name", webUser(t))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, s.admin+"/webhdfs/v1"+path+"?"+query.Encode(), nil)
	must(t, err)
	resp, err := http.DefaultClient.Do(req)
	must(t, err)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", op, resp.Status)
	}
}

func webUser(t *testing.T) string {
	login, err := cluster.NewLogin(cluster.NewConf(nil), cluster.LoginOptions{})
	must(t, err)
	return login.User()
}

func upload(ctx context.Context, st store.Store, path string, data []byte) error {
	w, err := st.Create(ctx, path, store.CreateOptions{Size: int64(len(data))})
	if err != nil {
		return err
	}
	if _, err = w.Write(data); err == nil {
		err = w.Commit(ctx)
	}
	return errors.Join(err, w.Abort())
}

func (s webServer) testNames(t *testing.T) {
	dir, ctx := s.scratch(t), t.Context()
	for _, name := range []string{
		"a b", "a+b", "a%b", "a%41b", "a%2Bb", "a#b", "a?b", "a;b=1", "a&b", "a=b", "day=2024-01-01 10%3A00", "%",
		"ünïcödé 漢字", `a\b`, `a"b`, "a'b", "a<b>", "a|b", "a[b]", "a{b}", "a*b", "a^b`~", "a@b!$,", ".a", "_a",
	} {
		deep := path.Join(dir, "d"+name)
		file := path.Join(deep, name)
		if err := errors.Join(storetest.MkdirAll(ctx, s, deep), upload(ctx, s, file, []byte(name))); err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if err := s.Rename(ctx, file, file+"2"); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		got, err := s.ReadFile(ctx, file+"2", 100)
		if err != nil || string(got) != name {
			t.Errorf("%q holds %q, %v", name, got, err)
		}
		infos, err := s.List(ctx, deep)
		if err != nil || len(infos) != 1 || infos[0].Path != file+"2" {
			t.Errorf("%q is listed as %+v, %v", name, infos, err)
		}
		if err := s.Remove(ctx, file+"2"); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// testListing has more entries than a name node gives at a time.
func (s webServer) testListing(t *testing.T) {
	dir := s.scratch(t)
	const n = 1100
	each(n, func(i int) {
		if err := storetest.MkdirAll(t.Context(), s, fmt.Sprintf("%s/%04d", dir, i)); err != nil {
			t.Error(err)
		}
	})
	infos, err := s.List(t.Context(), dir)
	if err != nil || len(infos) != n {
		t.Fatalf("%d entries, %v", len(infos), err)
	}
	for i, info := range infos {
		if info.Name != fmt.Sprintf("%04d", i) {
			t.Fatalf("entry %d is %s", i, info.Name)
		}
	}
}

func (s webServer) testOneBlock(t *testing.T) {
	data := bytes.Repeat([]byte("one block "), 3<<20/10)
	p := path.Join(s.scratch(t), "f")
	must(t, upload(t.Context(), s, p, data))
	query := url.Values{"op": {"GETFILEBLOCKLOCATIONS"}, "user.name": {webUser(t)}}
	resp, err := http.Get(s.address + "/webhdfs/v1" + p + "?" + query.Encode())
	must(t, err)
	defer func() { _ = resp.Body.Close() }()
	var answer bytes.Buffer
	if _, err := answer.ReadFrom(resp.Body); err != nil || strings.Count(answer.String(), `"offset"`) != 1 {
		t.Errorf("not one block: %s, %v", &answer, err)
	}
}

func (s webServer) testBeingWritten(t *testing.T) {
	ctx, p := t.Context(), path.Join(s.scratch(t), "f")
	w, err := s.Create(ctx, p, store.CreateOptions{Size: 2})
	must(t, err)
	if _, err := s.Open(ctx, p); !errors.Is(err, store.ErrBeingWritten) {
		t.Errorf("open: %v", err)
	}
	if _, err := s.Create(ctx, p, store.CreateOptions{Size: 2}); !errors.Is(err, store.ErrExist) {
		t.Errorf("create: %v", err)
	}
	if _, err := w.Write([]byte("ok")); err != nil {
		t.Fatal(err)
	}
	must(t, w.Commit(ctx))
	f, err := s.Open(ctx, p)
	must(t, err)
	_ = f.Close()
}

// testHalfUpload breaks an upload off, after which the server closes the file:
// it must not be taken for whole, and Abort must remove it.
func (s webServer) testHalfUpload(t *testing.T) {
	p := path.Join(s.scratch(t), "f")
	ctx, cancel := context.WithCancel(t.Context())
	w, err := s.Create(ctx, p, store.CreateOptions{Size: 8 << 20})
	must(t, err)
	if _, err := w.Write(make([]byte, 4<<20)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := w.Commit(t.Context()); !errors.Is(err, context.Canceled) {
		t.Errorf("commit: %v", err)
	}
	if err := w.Abort(); err != nil {
		t.Error(err)
	}
	if _, err := s.Stat(t.Context(), p); !errors.Is(err, store.ErrNotExist) {
		t.Errorf("stat: %v", err)
	}
}

func (s webServer) testFileIDs(t *testing.T) {
	ctx, dir := t.Context(), s.scratch(t)
	for _, name := range []string{"a", "b"} {
		must(t, upload(ctx, s, path.Join(dir, name), nil))
	}
	id := func(name string) uint64 {
		info, err := s.Stat(ctx, path.Join(dir, name))
		must(t, err)
		return info.FileID
	}
	a := id("a")
	must(t, s.Rename(ctx, path.Join(dir, "a"), path.Join(dir, "c")))
	if a == 0 || id("c") != a || id("b") == a {
		t.Errorf("a was %d, c is %d, b %d", a, id("c"), id("b"))
	}
}

func (s webServer) testErasureCoding(t *testing.T) {
	dir := s.scratch(t)
	s.do(t, "ENABLEECPOLICY", "/", url.Values{"ecpolicy": {striped}})
	s.do(t, "SETECPOLICY", dir, url.Values{"ecpolicy": {striped}})
	_, err := s.Create(t.Context(), path.Join(dir, "f"), store.CreateOptions{Size: 1})
	if !errors.Is(err, store.ErrErasureCoded) || store.Classify(err) != store.Final {
		t.Errorf("create: %v", err)
	}
}

// TestHungCallsOverHTTP suspends daemons: no call may last much longer than the
// configuration allows, nor a second longer than its context.
func TestHungCallsOverHTTP(t *testing.T) {
	hadooptest.Need(t)
	c := hadooptest.New(t, hadooptest.Config{DataNodes: 1, HDFS: map[string]string{
		"dfs.namenode.heartbeat.recheck-interval": "300000", // it goes on offering a hung node
		"dfs.namenode.fs-limits.min-block-size":   "3000000",
	}})
	// 3 s of silence, 21 s of an upload's.
	s := webServer{webStore(t, c.WebURI(), map[string]string{"dfs.client.socket-timeout": "3s", "dfs.replication": "1"}), "", ""}
	dir := s.scratch(t)
	data := make([]byte, 32<<20)
	must(t, upload(t.Context(), webStore(t, c.WebURI(), map[string]string{"dfs.replication": "1"}), dir+"/f", data))
	if err := upload(t.Context(), s, dir+"/small", data[:10]); err != nil {
		t.Error("below the least block size: ", err)
	}
	f, err := s.Open(t.Context(), dir+"/f")
	must(t, err)
	w, err := s.Create(t.Context(), dir+"/half", store.CreateOptions{Size: -1})
	must(t, err)
	tooLong := func(what string, limit time.Duration, do func(ctx context.Context) error) {
		t.Helper()
		start := time.Now()
		if err := do(t.Context()); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %v", what, err)
		}
		if d := time.Since(start); d > limit {
			t.Errorf("%s lasted %v", what, d)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		start = time.Now()
		if err := do(ctx); !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %v", what, err)
		}
		if d := time.Since(start); d > 1100*time.Millisecond {
			t.Errorf("%s lasted %v beyond its context", what, d)
		}
	}
	suspended(t, c.DataNodes[0], func() {
		tooLong("create", 8*time.Second, func(ctx context.Context) error { return upload(ctx, s, dir+"/g", data) })
		tooLong("read", 15*time.Second, func(ctx context.Context) error {
			_, err := s.ReadFile(ctx, dir+"/f", 64<<20)
			return err
		})
		tooLong("write", 30*time.Second, func(context.Context) error {
			_, err := w.Write(data)
			return err
		})
		_, err := f.ReadAt(data[:100], 20<<20)
		if !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("read at: %v", err)
		}
	})
	if err := errors.Join(w.Abort(), f.Close()); err != nil {
		t.Error(err)
	}
	suspended(t, c.NameNodes[0], func() {
		tooLong("stat", 5*time.Second, func(ctx context.Context) error {
			_, err := s.Stat(ctx, dir)
			return err
		})
		tooLong("rename", 5*time.Second, func(ctx context.Context) error { return s.Rename(ctx, dir+"/f", dir+"/r") })
		tooLong("create", 5*time.Second, func(ctx context.Context) error { return upload(ctx, s, dir+"/g", nil) })
	})
	if err := upload(t.Context(), s, dir+"/after", data); err != nil {
		t.Error(err)
	}
}

func suspended(t *testing.T, d *hadooptest.Daemon, do func()) {
	t.Helper()
	must(t, d.Suspend())
	do()
	must(t, d.Resume())
}
