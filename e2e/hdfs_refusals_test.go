package e2e

import (
	"context"
	"fmt"
	"path"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/e2e/hadooptest"
)

const (
	dfsAdmin    = "org.apache.hadoop.hdfs.tools.DFSAdmin"
	cryptoAdmin = "org.apache.hadoop.hdfs.tools.CryptoAdmin"
	striped     = "XOR-2-1-1024k"
)

// refusal is a conversion to the folder's dest that must fail.
type refusal struct {
	name    string
	prepare func(t *testing.T, f folder)
	dest    string // default "dest"
	user    string // the user who converts; default the superuser
	code    int
	says    string   // text of the error
	before  []string // content of dest
	works   string   // the client with which it succeeds
}

var refusals = []refusal{
	{
		name: "permission denied", user: "bob", code: 7, says: "bob",
	},
	{
		name: "names quota", code: 7, says: "quota",
		prepare: func(t *testing.T, f folder) { f.do(t, "PUT", "", "op=SETQUOTA&namespacequota=4&storagespacequota=-1") },
	},
	{
		name: "space quota", code: 7, says: "quota",
		prepare: func(t *testing.T, f folder) {
			f.do(t, "PUT", "", fmt.Sprint("op=SETQUOTA&namespacequota=-1&storagespacequota=", 4<<20))
		},
	},
	{
		name: "missing parent", dest: "none/dest", code: 7, says: "/none",
	},
	{
		name: "encryption zone", code: 7, works: "webhdfs", says: "webhdfs://",
		prepare: func(t *testing.T, f folder) {
			f.java(t, cryptoAdmin, "-createZone", "-keyName", hadooptest.EncryptionKey, "-path", f.path)
		},
	},
	{
		name: "erasure coding", code: 7, says: "erasure coded",
		prepare: func(t *testing.T, f folder) {
			f.do(t, "PUT", "", "op=ENABLEECPOLICY&ecpolicy="+striped)
			f.do(t, "PUT", "", "op=SETECPOLICY&ecpolicy="+striped)
		},
	},
	{
		name: "safe mode", code: 4, says: "afe mode",
		prepare: func(t *testing.T, f folder) {
			f.java(t, dfsAdmin, "-safemode", "enter")
			t.Cleanup(func() { leaveSafeMode(t, f.Cluster) })
		},
	},
	{
		name: "something else", code: 9, says: "mine", before: []string{"mine"},
		prepare: func(t *testing.T, f folder) { f.do(t, "PUT", "dest/mine", "op=MKDIRS") },
	},
}

// TestFaultsRefused checks each refusal's exit code and single line, and that it leaves
// nothing.
func TestFaultsRefused(t *testing.T) {
	c := hadooptest.Shared(t)
	input := mail(t, 4_000)
	for _, r := range refusals {
		for client, uri := range map[string]string{"hdfs": c.URI(), "webhdfs": c.WebURI()} {
			t.Run(r.name+" over "+client, func(t *testing.T) { r.run(t, newFolder(t, c), client, uri, input) })
		}
	}
}

func (r refusal) run(t *testing.T, f folder, client, uri, input string) {
	if r.prepare != nil {
		r.prepare(t, f)
	}
	if r.user != "" {
		t.Setenv("HADOOP_USER_NAME", r.user)
	}
	name := r.dest
	if name == "" {
		name = "dest"
	}
	dest, temp := uri+path.Join(f.path, name), t.TempDir()
	result := run(t, "convert", "--log-level=error", "--store-retry=3s", "--temp-dir", temp, "--row-group-size=64MiB", input, dest)
	wantEmpty(t, temp)
	if r.works == client {
		result.want(t, 0)
		run(t, "verify", dest, "--against", input).want(t, 0)
		return
	}
	result.want(t, r.code).wantComplaint(t, r.says)
	if left := f.list(t, name); !slices.Equal(left, r.before) {
		t.Errorf("%s holds %v, want %v as before", dest, left, r.before)
	}
}

// TestFullDataNodes checks a conversion of more than fits. A retry may succeed after space is freed.
func TestFullDataNodes(t *testing.T) {
	hadooptest.RequireCluster(t)
	dir := t.TempDir()
	var disk syscall.Statfs_t
	must(t, syscall.Statfs(dir, &disk))
	const capacity = 8 << 20
	kept := int64(disk.Bfree-disk.Bavail) * disk.Bsize // for root, which Hadoop does not touch
	c := hadooptest.New(t, hadooptest.Config{DataNodes: 1, HDFS: map[string]string{
		"dfs.blocksize": "1m", // a data node requires room for it, even if the file's block size is smaller
		"dfs.datanode.round-robin-volume-choosing-policy.additional-available-space": "0",
		"dfs.datanode.du.reserved": fmt.Sprint(int64(disk.Blocks)*disk.Bsize - kept - capacity),
	}})
	full := refusal{code: 4, says: "datanode"}
	input, _ := bulk(t, 2*capacity)
	for client, uri := range map[string]string{"hdfs": c.URI(), "webhdfs": c.WebURI()} {
		t.Run(client, func(t *testing.T) { full.run(t, newFolder(t, c), client, uri, input) })
	}
}

func leaveSafeMode(t *testing.T, c *hadooptest.Cluster) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := c.Java(ctx, dfsAdmin, "-safemode", "leave"); err != nil {
		t.Error(err)
	}
}
