package hadooptest

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// RequireCluster skips the test if no cluster can run, and reports that at the end of the output. With
// ROWTOCOL_E2E=required the test fails instead.
func RequireCluster(t testing.TB) {
	t.Helper()
	need(t, "NO HADOOP", Missing())
}

// NeedKerberos is like RequireCluster, but for a secure cluster.
func NeedKerberos(t testing.TB) {
	t.Helper()
	RequireCluster(t)
	need(t, "NO KERBEROS", MissingKerberos())
}

func need(t testing.TB, what, why string) {
	t.Helper()
	if why != "" {
		testenv.Skip(t, what+": "+why)
	}
}

// sharedMemory is the MiB for containers in the cluster that tests share.
const sharedMemory = 1536

var shared struct {
	sync.Mutex
	dir     string
	cluster *Cluster
	err     error
}

// Shared returns the cluster that the tests of a process share. It has one name node, three
// data nodes, an HttpFS gateway and YARN, with room for an application master and three
// tasks at once. Each test uses its own directory and keeps the daemons running. The
// cluster starts on first use; TestMain calls StopShared.
func Shared(t testing.TB) *Cluster {
	t.Helper()
	RequireCluster(t)
	shared.Lock()
	defer shared.Unlock()
	if shared.dir == "" {
		shared.dir, shared.err = os.MkdirTemp("", "rowtocol-hdfs-")
		if shared.err == nil {
			shared.cluster, shared.err = startLogged(context.Background(), t, shared.dir, Config{DataNodes: 3, HTTPFS: true, YARN: sharedMemory})
		}
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.cluster
}

// StopShared stops the cluster if Shared started it, and removes its files.
func StopShared() {
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster != nil {
		shared.cluster.Stop()
	}
	if shared.dir != "" {
		_ = os.RemoveAll(shared.dir) // a scratch directory
	}
	shared.dir, shared.cluster, shared.err = "", nil, nil
}

// New starts a cluster for one test, which stops it.
func New(t testing.TB, config Config) *Cluster {
	t.Helper()
	RequireCluster(t)
	c, err := startLogged(t.Context(), t, t.TempDir(), config)
	testenv.Must(t, err)
	t.Cleanup(c.Stop)
	return c
}

// startLogged starts a cluster and logs the time that it took.
func startLogged(ctx context.Context, t testing.TB, dir string, config Config) (*Cluster, error) {
	t.Helper()
	began := time.Now()
	c, err := Start(ctx, dir, config)
	if err == nil {
		t.Logf("set-up: cluster of %d daemons: %v", len(c.daemons()), time.Since(began).Round(10*time.Millisecond))
	}
	return c, err
}
