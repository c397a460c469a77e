package e2e

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/e2e/hadooptest"
	"github.com/rowtocol/rowtocol/internal/soak"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/cluster"
	"github.com/rowtocol/rowtocol/store/hdfs"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// nodeTimeout is the time that a store with shortTimeouts waits for a node that hangs.
const nodeTimeout = 3 * time.Second

// shortTimeouts are properties of a store whose deadlines are tested. Other stores have
// the deadlines of Hadoop's clients, since a healthy node on a busy machine may take
// some seconds.
var shortTimeouts = map[string]string{
	"dfs.client.socket-timeout":  nodeTimeout.String(),
	"ipc.client.rpc-timeout.ms":  nodeTimeout.String(),
	"ipc.client.connect.timeout": nodeTimeout.String(),
}

// rpcStore returns the store of a cluster for a user, without retries.
func rpcStore(t *testing.T, c *hadooptest.Cluster, user string, replication int, properties map[string]string) *hdfs.Store {
	t.Helper()
	if user != "" {
		t.Setenv("HADOOP_USER_NAME", user)
	}
	conf := cluster.NewConf(properties)
	login, err := cluster.NewLogin(conf, cluster.LoginOptions{})
	must(t, err)
	u, err := url.Parse(c.URI())
	must(t, err)
	t.Setenv("HADOOP_CONF_DIR", c.ConfDir())
	site, err := cluster.LoadConf()
	must(t, err)
	_, addresses, err := site.NameNodes("hdfs", u.Host)
	must(t, err)
	st, err := hdfs.New(conf, login, hdfs.Options{Addresses: addresses, Replication: replication})
	must(t, err)
	t.Cleanup(func() { _ = st.Close() })
	return st
}

// scratch makes a directory that the test removes.
func scratch(t *testing.T, st store.Store) string {
	t.Helper()
	dir := fmt.Sprintf("/store-%d/%d", os.Getpid(), scratches.Add(1))
	must(t, storetest.MkdirAll(t.Context(), st, dir))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := st.RemoveAll(ctx, dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestHDFSStore tests the store with each protocol of a cluster: Hadoop's own, WebHDFS,
// and the variant of WebHDFS that the HttpFS gateway has. With ROWTOCOL_SOAK it tests the store
// with the oldest Hadoop, too, without the gateway.
func TestHDFSStore(t *testing.T) {
	c := hadooptest.Shared(t)
	protocols := protocolsOf(c)
	protocols["HttpFS"] = func(t *testing.T) store.Store { return webStore(t, c.HTTPFS(), nil) }
	testProtocols(t, c, protocols)
	if soak.Full() {
		t.Run("oldest", func(t *testing.T) {
			c := hadooptest.New(t, hadooptest.Config{Version: hadooptest.Oldest, DataNodes: 3})
			testProtocols(t, c, protocolsOf(c))
		})
	}
}

// protocolsOf returns the stores of a cluster by protocol.
func protocolsOf(c *hadooptest.Cluster) map[string]func(t *testing.T) store.Store {
	return map[string]func(t *testing.T) store.Store{
		"RPC":     func(t *testing.T) store.Store { return rpcStore(t, c, "", 0, nil) },
		"WebHDFS": func(t *testing.T) store.Store { return webStore(t, c.WebURI(), nil) },
	}
}

func testProtocols(t *testing.T, c *hadooptest.Cluster, protocols map[string]func(t *testing.T) store.Store) {
	for name, open := range protocols {
		t.Run(name, func(t *testing.T) {
			r := clusterStore{open(t), c}
			t.Run("as any store", func(t *testing.T) {
				storetest.Run(t, func(t *testing.T) (store.Store, string) { return r.Store, scratch(t, r) })
			})
			t.Run("odd names", r.names)
			t.Run("long listing", r.listing)
			t.Run("one block", r.oneBlock)
			t.Run("being written", r.unclosedFile)
			if name != "RPC" { // which uploads without HTTP requests
				t.Run("half an upload", r.halfUpload)
			}
			t.Run("erasure coding", r.erasureCoding)
		})
	}
}

// clusterStore is a store on a cluster, with one protocol.
type clusterStore struct {
	store.Store
	c *hadooptest.Cluster
}

func (r clusterStore) names(t *testing.T) {
	dir, ctx := scratch(t, r), t.Context()
	for _, name := range []string{
		"a b", "a+b", "a%b", "a%41b", "a%2Bb", "a#b", "a?b", "a;b=1", "a&b", "a=b", "day=2024-01-01 10%3A00", "%",
		"ünïcödé 漢字", `a\b`, `a"b`, "a'b", "a<b>", "a|b", "a[b]", "a{b}", "a*b", "a^b`~", "a@b!$,", ".a", "_a",
	} {
		deep := path.Join(dir, "d"+name)
		file := path.Join(deep, name)
		if err := errors.Join(storetest.MkdirAll(ctx, r, deep), writeNewFile(ctx, r, file, []byte(name))); err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if err := r.Rename(ctx, file, file+"2"); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		got, err := r.ReadFile(ctx, file+"2", 100)
		if err != nil || string(got) != name {
			t.Errorf("%q holds %q, %v", name, got, err)
		}
		infos, err := r.List(ctx, deep)
		if err != nil || len(infos) != 1 || infos[0].Path != file+"2" {
			t.Errorf("%q is listed as %+v, %v", name, infos, err)
		}
		if err := r.Remove(ctx, file+"2"); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// listing lists more entries than one page of a name node has.
func (r clusterStore) listing(t *testing.T) {
	dir := scratch(t, r)
	const n = 1100
	inParallel(n, func(i int) {
		if err := storetest.MkdirAll(t.Context(), r, fmt.Sprintf("%s/%04d", dir, i)); err != nil {
			t.Error(err)
		}
	})
	infos, err := r.List(t.Context(), dir)
	if err != nil || len(infos) != n {
		t.Fatalf("%d entries, %v", len(infos), err)
	}
	for i, info := range infos {
		if info.Name != fmt.Sprintf("%04d", i) {
			t.Fatalf("entry %d is %s", i, info.Name)
		}
	}
}

func (r clusterStore) oneBlock(t *testing.T) {
	file := path.Join(scratch(t, r), "f")
	must(t, writeNewFile(t.Context(), r, file, randomBytes(3<<20)))
	if length, count, _ := blocks(t, r.c, file); length != 3<<20 || count != 1 {
		t.Errorf("%d bytes in %d blocks", length, count)
	}
}

// unclosedFile opens a file that is not committed. A rename keeps its number.
func (r clusterStore) unclosedFile(t *testing.T) {
	ctx, dir := t.Context(), scratch(t, r)
	file, moved := path.Join(dir, "f"), path.Join(dir, "g")
	w, err := r.Create(ctx, file, store.CreateOptions{Size: -1})
	must(t, err)
	_, err = w.Write(randomBytes(2 << 20))
	must(t, err)
	if _, err := r.Open(ctx, file); !errors.Is(err, store.ErrBeingWritten) || !strings.Contains(err.Error(), file) {
		t.Errorf("open: %v", err)
	}
	if _, err := r.Create(ctx, file, store.CreateOptions{Size: 1}); !errors.Is(err, store.ErrExist) {
		t.Errorf("create: %v", err)
	}
	must(t, w.Commit(ctx))
	before, err := r.Stat(ctx, file)
	must(t, err)
	must(t, r.Rename(ctx, file, moved))
	after, err := r.Stat(ctx, moved)
	if err != nil || after.FileID != before.FileID || after.FileID == 0 {
		t.Errorf("number %d became %d by a rename, %v", before.FileID, after.FileID, err)
	}
}

// halfUpload interrupts an upload, after which the server closes the file. Commit must
// fail, and Abort must remove the file.
func (r clusterStore) halfUpload(t *testing.T) {
	file := path.Join(scratch(t, r), "f")
	ctx, cancel := context.WithCancel(t.Context())
	w, err := r.Create(ctx, file, store.CreateOptions{Size: 8 << 20})
	must(t, err)
	_, err = w.Write(make([]byte, 4<<20))
	must(t, err)
	cancel()
	if err := w.Commit(t.Context()); !errors.Is(err, context.Canceled) {
		t.Errorf("commit: %v", err)
	}
	must(t, w.Abort())
	if _, err := r.Stat(t.Context(), file); !errors.Is(err, store.ErrNotExist) {
		t.Errorf("stat: %v", err)
	}
}

func (r clusterStore) erasureCoding(t *testing.T) {
	dir := scratch(t, r)
	for _, query := range []string{"op=ENABLEECPOLICY&ecpolicy=" + striped, "op=SETECPOLICY&ecpolicy=" + striped} {
		_, err := r.c.Do(t.Context(), "PUT", dir, query)
		must(t, err)
	}
	_, err := r.Create(t.Context(), path.Join(dir, "f"), store.CreateOptions{Size: 1})
	if !errors.Is(err, store.ErrErasureCoded) || store.Classify(err) != store.Final {
		t.Errorf("create: %v", err)
	}
}

func randomBytes(n int) []byte {
	data := make([]byte, n)
	rng := rand.New(rand.NewPCG(uint64(n), 1))
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	return data
}

// writeNewFile creates a file and commits it. It returns the first error.
func writeNewFile(ctx context.Context, st store.Store, file string, data []byte) (err error) {
	w, err := st.Create(ctx, file, store.CreateOptions{Size: int64(len(data))})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = w.Abort() // the next calls show whether it worked
		}
	}()
	for rest := data; len(rest) > 0; {
		n := min(len(rest), 300_000)
		if _, err := w.Write(rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return w.Commit(ctx)
}

var fsckBlocks = regexp.MustCompile(`(?m) (\d+) bytes,.*replication=(\d+), (\d+) block\(s\)`)

// blocks returns the length of a file, the number of its blocks, and its replication, as
// fsck reports them.
func blocks(t *testing.T, c *hadooptest.Cluster, file string) (length, count, copies int) {
	t.Helper()
	report, err := c.Fsck(t.Context(), file)
	must(t, err)
	m := fsckBlocks.FindStringSubmatch(report)
	if m == nil {
		t.Fatalf("fsck %s:\n%s", file, report)
	}
	_, _ = fmt.Sscan(m[1]+" "+m[2]+" "+m[3], &length, &copies, &count) // all are digits
	return length, count, copies
}

func TestHDFSFileIsOneBlock(t *testing.T) {
	c := hadooptest.Shared(t)
	const mib = 1 << 20
	for _, replication := range []int{0, 1, 2} {
		st := rpcStore(t, c, "", replication, nil)
		dir := scratch(t, st)
		for _, size := range []int{0, 1, 511, mib - 1, mib, mib + 1, 3 * mib, 5*mib + 12345} {
			file := path.Join(dir, fmt.Sprint(size))
			data := randomBytes(size)
			must(t, writeNewFile(t.Context(), st, file, data))
			length, count, copies := blocks(t, c, file)
			want := cmp.Or(replication, 3)
			if length != size || count != min(size, 1) || copies != want {
				t.Errorf("%d bytes, %d copies: stored are %d bytes, %d blocks, %d copies", size, want, length, count, copies)
			}
			got, err := st.ReadFile(t.Context(), file, int64(size))
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("read back %d of %d bytes, %v", len(got), size, err)
			}
		}
	}
}

func TestHDFSBlockGuard(t *testing.T) {
	c := hadooptest.Shared(t)
	st := rpcStore(t, c, "", 0, nil)
	file := path.Join(scratch(t, st), "f")
	w, err := st.Create(t.Context(), file, store.CreateOptions{Size: 1 << 20})
	must(t, err)
	if n, err := w.Write(randomBytes(1<<20 + 1)); err == nil || n != 0 {
		t.Errorf("%d bytes more than promised were accepted: %v", n, err)
	}
	if _, err := w.Write(randomBytes(1)); err == nil {
		t.Error("a write after a failed one succeeded")
	}
	if w.Commit(t.Context()) == nil {
		t.Error("a failed file was committed")
	}
	if err := w.Abort(); err != nil {
		t.Error(err)
	}
	if _, err := st.Stat(t.Context(), file); !errors.Is(err, store.ErrNotExist) {
		t.Errorf("after Abort: %v", err)
	}
}

// wantDenied fails the test unless an error is a final refusal, in one line that has all
// names.
func wantDenied(t *testing.T, err error, names ...string) {
	t.Helper()
	if !errors.Is(err, fs.ErrPermission) || store.Classify(err) != store.Final || strings.Contains(err.Error(), "\n") {
		t.Errorf("error is %v", err)
		return
	}
	for _, n := range names {
		if !strings.Contains(err.Error(), n) {
			t.Errorf("%q is not named by: %v", n, err)
		}
	}
}

func TestHDFSPermission(t *testing.T) {
	c := hadooptest.Shared(t)
	ours := rpcStore(t, c, "", 0, map[string]string{"fs.permissions.umask-mode": "077"})
	dir := scratch(t, ours)
	secret, open := path.Join(dir, "secret"), path.Join(dir, "open")
	must(t, ours.WriteFile(t.Context(), secret, []byte("secret"), true))
	must(t, storetest.MkdirAll(t.Context(), rpcStore(t, c, "", 0, nil), open))
	for _, dir := range []string{path.Dir(dir), dir} {
		if _, err := c.Do(t.Context(), "PUT", dir, "op=SETPERMISSION&permission=755"); err != nil {
			t.Fatal(err)
		}
	}
	alice, ctx := rpcStore(t, c, "alice", 0, nil), t.Context()
	_, err := alice.Open(ctx, secret)
	wantDenied(t, err, "open", secret, "user=alice", "READ")
	_, err = alice.ReadFile(ctx, secret, 100)
	wantDenied(t, err, secret, "user=alice")
	_, err = alice.Create(ctx, path.Join(open, "f"), store.CreateOptions{Size: 1})
	wantDenied(t, err, "create", path.Join(open, "f"), "user=alice", "WRITE")
	wantDenied(t, alice.WriteFile(ctx, path.Join(open, "f"), nil, true), path.Join(open, "f"), "user=alice")
	wantDenied(t, alice.Rename(ctx, secret, path.Join(dir, "g")), "rename", secret, "user=alice")
	wantDenied(t, alice.Remove(ctx, secret), "remove", secret, "user=alice")
	wantDenied(t, alice.RemoveAll(ctx, dir), "remove", dir, "user=alice")
	wantDenied(t, storetest.MkdirAll(ctx, alice, path.Join(open, "a/b")), path.Join(open, "a/b"), "user=alice")
	if _, err := c.Do(ctx, "PUT", open, "op=SETPERMISSION&permission=700"); err != nil {
		t.Fatal(err)
	}
	_, err = alice.List(ctx, open)
	wantDenied(t, err, "list", open, "user=alice")
	_, err = alice.Stat(ctx, path.Join(open, "x"))
	wantDenied(t, err, "stat", path.Join(open, "x"), "user=alice")
}
