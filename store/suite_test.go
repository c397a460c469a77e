package store_test

import (
	"slices"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/memstore"
	"github.com/rowtocol/rowtocol/store/storetest"
)

func TestLocal(t *testing.T) {
	storetest.Run(t, func(t *testing.T) (store.Store, string) { return store.Local(), t.TempDir() })
}

func TestLocalWithoutFlag(t *testing.T) {
	storetest.Run(t, func(t *testing.T) (store.Store, string) { return store.LocalWithoutFlag(), t.TempDir() })
}

// TestWrapped checks that a store in wrappers that change nothing passes the suite.
func TestWrapped(t *testing.T) {
	storetest.Run(t, func(t *testing.T) (store.Store, string) {
		st := store.WithMeter(store.WithRedaction(store.Local(), store.Redact), func(int) {})
		return store.WithRetry(storetest.NewFaulty(st), patience), t.TempDir()
	})
}

// TestMeter checks that a meter counts the bytes of writes and of both kinds of reads.
func TestMeter(t *testing.T) {
	var moved []int
	st, file := store.WithMeter(memstore.New().Client(), func(n int) { moved = append(moved, n) }), "/f"
	w, err := st.Create(t.Context(), file, store.CreateOptions{Size: 10})
	if err == nil {
		_, err = w.Write(make([]byte, 10))
	}
	if err == nil {
		err = w.Commit(t.Context())
	}
	testenv.Must(t, err)
	f, err := st.Open(t.Context(), file)
	testenv.Must(t, err)
	defer func() { _ = f.Close() }()
	_, _ = f.ReadAt(make([]byte, 20), 7)
	if _, err := store.ReadRange(f, make([]byte, 2), 7); err != nil {
		t.Error(err)
	}
	if want := []int{10, 3, 2}; !slices.Equal(moved, want) {
		t.Errorf("moved %v, want %v", moved, want)
	}
}

func TestCapabilities(t *testing.T) {
	for name, tt := range map[string]struct {
		st     store.Store
		local  bool
		summed bool
	}{
		"local":              {store.Local(), true, false},
		"patient":            {store.WithRetry(store.Local(), patience), true, false},
		"wrapped":            {storetest.NewFaulty(store.Local()), false, false},
		"wrapped, patient":   {store.WithRetry(storetest.NewFaulty(store.Local()), patience), false, false},
		"metered":            {store.WithMeter(store.Local(), func(int) {}), true, false},
		"in memory":          {memstore.New().Client(), false, true},
		"in memory, patient": {store.WithRetry(memstore.New().Client(), patience), false, true},
	} {
		got := store.CapabilitiesOf(tt.st)
		if summed := got.Checksum != nil; got.Local != tt.local || summed != tt.summed {
			t.Errorf("%s: local is %v, with checksums %v", name, got.Local, summed)
		}
	}
}
