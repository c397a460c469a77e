package hadooptest

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestSecureCluster(t *testing.T) {
	NeedKerberos(t)
	ctx := within(t, 3*time.Minute)
	k, err := StartKDC(ctx, t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Stop()
	c := New(t, Config{DataNodes: 1, Kerberos: k})
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("content"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Java(ctx, "org.apache.hadoop.fs.FsShell", "-put", file, "/file"); err != nil {
		t.Fatal(err)
	}
	report, err := c.Fsck(ctx, "/")
	if err != nil || !strings.Contains(report, "/file 7 bytes") {
		t.Errorf("fsck: %v\n%s", err, report)
	}
	stranger, err := http.Get("http://" + c.NameNodes[0].http + "/webhdfs/v1/?op=LISTSTATUS&user.name=root")
	if err != nil {
		t.Fatal(err)
	}
	_ = stranger.Body.Close()
	if stranger.StatusCode != http.StatusUnauthorized {
		t.Errorf("to a stranger: %s", stranger.Status)
	}
}

func TestTicketsExpire(t *testing.T) {
	NeedKerberos(t)
	ctx := within(t, time.Minute)
	k, err := StartKDC(ctx, t.TempDir(), 4*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Stop()
	cache := filepath.Join(t.TempDir(), "cache")
	if err := k.Kinit(ctx, "alice", cache, "-r", "1h"); err != nil {
		t.Fatal(err)
	}
	if err := k.tool(ctx, "klist", "-s", "-c", cache); err != nil {
		t.Fatal("a fresh ticket: ", err)
	}
	if err := k.tool(ctx, "kinit", "-R", "-c", cache); err != nil {
		t.Fatal("a renewal: ", err)
	}
	time.Sleep(5 * time.Second)
	if err := k.tool(ctx, "klist", "-s", "-c", cache); err == nil {
		t.Error("a ticket outlived its lifetime")
	}
}
