package hadooptest

import (
	"strings"
	"testing"
	"time"
)

func TestFailover(t *testing.T) {
	c := New(t, Config{HA: true, DataNodes: 1})
	ctx := within(t, 3*time.Minute)
	if _, err := c.Java(ctx, "org.apache.hadoop.fs.FsShell", "-mkdir", c.URI()+"/before"); err != nil {
		t.Fatal(err)
	}
	if err := c.Failover(ctx, 0, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Do(ctx, "PUT", "/between", "op=MKDIRS"); err != nil {
		t.Fatal(err)
	}
	c.NameNodes[1].Kill()
	if err := c.Active(ctx, 0); err != nil {
		t.Fatal(err)
	}
	if err := c.NameNodes[1].Start(ctx); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitLive(ctx, 1); err != nil {
		t.Fatal("a name node that came back: ", err)
	}
	report, err := c.Fsck(ctx, "/")
	if err != nil || !strings.Contains(report, "/before") || !strings.Contains(report, "/between") {
		t.Errorf("fsck: %v\n%s", err, report)
	}
}
