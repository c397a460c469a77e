package hadooptest

import (
	"context"
	"strings"
	"testing"
	"time"
)

// contextFor returns a context that ends after d.
func contextFor(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func TestStartSaysWhy(t *testing.T) {
	RequireCluster(t)
	_, err := Start(t.Context(), t.TempDir(), Config{DataNodes: 1, HDFS: map[string]string{"dfs.namenode.edits.dir": "file:///proc/none"}})
	if err == nil || !strings.Contains(err.Error(), "/proc/none") {
		t.Errorf("error %v, want the end of the name node's log", err)
	}
}
