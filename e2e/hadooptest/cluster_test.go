package hadooptest

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"
)

// within bounds what a test waits for.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func TestCluster(t *testing.T) {
	c := New(t, Config{DataNodes: 2})
	ctx := within(t, 3*time.Minute)
	if _, err := c.Do(ctx, "PUT", "/made", "op=MKDIRS"); err != nil {
		t.Fatal(err)
	}
	report, err := c.Fsck(ctx, "/")
	if err != nil || !strings.Contains(report, "/made") || !strings.Contains(report, "HEALTHY") {
		t.Errorf("fsck: %v\n%s", err, report)
	}

	first := c.DataNodes[0]
	first.Kill()
	if err := c.WaitLive(ctx, 1); err != nil {
		t.Fatal("a killed data node: ", err)
	}
	if err := first.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitLive(ctx, 2); err != nil {
		t.Fatal("a data node that came back: ", err)
	}
	if err := first.Suspend(); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitLive(ctx, 1); err != nil {
		t.Fatal("a suspended data node: ", err)
	}
	if err := first.Resume(); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitLive(ctx, 2); err != nil {
		t.Fatal("a resumed data node: ", err)
	}

	c.NameNodes[0].Kill()
	if err := c.NameNodes[0].Start(ctx); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitLive(ctx, 2); err != nil {
		t.Fatal("a restarted name node: ", err)
	}
	out, err := c.Java(ctx, "org.apache.hadoop.fs.FsShell", "-ls", "/")
	if err != nil || !strings.Contains(out, "/made") {
		t.Errorf("ls: %v\n%s", err, out)
	}
}

func TestStartSaysWhy(t *testing.T) {
	Need(t)
	_, err := Start(t.Context(), t.TempDir(), Config{DataNodes: 1, HDFS: map[string]string{"dfs.namenode.edits.dir": "file:///proc/none"}})
	if err == nil || !strings.Contains(err.Error(), "/proc/none") {
		t.Errorf("error %v, want the end of the name node's log", err)
	}
}

func TestHTTPFS(t *testing.T) {
	c := New(t, Config{DataNodes: 1, HTTPFS: true})
	address, ok := strings.CutPrefix(c.HTTPFS(), "webhdfs://")
	if !ok {
		t.Fatal(c.HTTPFS())
	}
	answer, err := http.Get("http://" + address + "/webhdfs/v1/?op=LISTSTATUS&user.name=bob")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		t.Error(answer.Status)
	}
}
