package e2e

import (
	"sync/atomic"
	"testing"

	"github.com/rowtocol/rowtocol/e2e/hadooptest"
	"github.com/rowtocol/rowtocol/internal/soak"
	"github.com/rowtocol/rowtocol/job/jobtest"
	"github.com/rowtocol/rowtocol/job/publish/publishtest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/location"
)

// scratches numbers the directories of tests on a shared cluster.
var scratches atomic.Int32

// openOn returns a function that opens a new directory of a file system, without retries.
func openOn(uri string) jobtest.Open {
	return func(t *testing.T) (store.Store, string) {
		t.Helper()
		resolver := location.New(location.Options{})
		t.Cleanup(func() { _ = resolver.Close() })
		at, err := resolver.Resolve(uri + "/")
		must(t, err)
		return at.Store, scratch(t, at.Store)
	}
}

// TestFaultsOnHDFS runs the job's tests of failures, which otherwise run in memory and on
// local disk, with both clients of HDFS: a sample of the cases, or in a soak all.
func TestFaultsOnHDFS(t *testing.T) {
	c := hadooptest.Shared(t)
	for _, client := range []struct {
		name, uri string
		stride    int // calls over HTTP take three times as long
	}{{"hdfs", c.URI(), 59}, {"webhdfs", c.WebURI(), 149}} {
		t.Run(client.name, func(t *testing.T) {
			open, stride := openOn(client.uri), client.stride
			if soak.Full() {
				stride = 1
			}
			t.Run("faults", func(t *testing.T) { jobtest.Faults(t, open, stride) })
			t.Run("patience", func(t *testing.T) { jobtest.Patience(t, open, stride) })
			t.Run("crashes", func(t *testing.T) { jobtest.Crashes(t, open, stride) })
			t.Run("crash, then another", func(t *testing.T) { jobtest.CrashThenOther(t, open, stride) })
			t.Run("refusals", func(t *testing.T) { jobtest.Refusals(t, open) })
			t.Run("three runs", func(t *testing.T) { publishtest.Random(t, publishtest.Open(open), soak.Rounds(3, 100)) })
			t.Run("corruption", func(t *testing.T) { jobtest.Corruption(t, open) })
		})
	}
}
