package input

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// cancelingStore is a store that cancels the context at the second List.
type cancelingStore struct {
	store.Store
	lists  int
	cancel context.CancelFunc
}

func (c *cancelingStore) List(ctx context.Context, dir string) ([]store.Info, error) {
	if c.lists++; c.lists == 2 {
		c.cancel()
		return nil, ctx.Err()
	}
	return c.Store.List(ctx, dir)
}

func TestPartitionsCanceled(t *testing.T) {
	dir := t.TempDir()
	testenv.Must(t, os.MkdirAll(dir+"/k=1/h=1", 0o777))
	ctx, cancel := context.WithCancel(t.Context())
	st := &cancelingStore{store.Local(), 0, cancel}
	resolve := func(location string) (store.Location, error) { return store.Location{Store: st, Path: location}, nil }
	if found, err := Partitions(ctx, Search{Resolve: resolve, Inputs: []string{dir}}); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestUnlistablePartition checks that a directory that cannot be listed is named, and that the
// other partitions are found.
func TestUnlistablePartition(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"k=1/h=1", "k=2/h=1", "k=3/h=1"} {
		testenv.Must(t, os.MkdirAll(filepath.Join(dir, name), 0o777))
	}
	for n, want := range []string{"", "k=1 k=2/h=1 k=3/h=1", "k=1/h=1 k=2/h=1 k=3/h=1"} {
		st := storetest.NewFaulty(store.Local(), storetest.Fault{Op: storetest.List, N: n + 1, Err: syscall.EACCES})
		resolve := func(location string) (store.Location, error) {
			return store.Location{Store: st, Path: location}, nil
		}
		found, err := Partitions(t.Context(), Search{Resolve: resolve, Inputs: []string{dir}})
		if n == 0 {
			if !errors.Is(err, syscall.EACCES) {
				t.Errorf("list 1 fails: %v", err)
			}
			continue
		}
		testenv.Must(t, err)
		failed := slices.Collect(maps.Keys(found.Failed))
		if got := strings.Join(found.Names, " "); got != want || len(failed) != 1 || failed[0] != found.Names[0] || !errors.Is(found.Failed[failed[0]], syscall.EACCES) {
			t.Errorf("list %d fails: %s, failed %v", n+1, got, found.Failed)
		}
	}
}
