package task

import (
	"bytes"
	"context"
	"errors"
	"path"
	"strings"
	"syscall"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/memstore"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// checksumStore is a store with the given checksums, or without checksums.
type checksumStore struct {
	storetest.Faulty
	checksum func(ctx context.Context, path string) (string, error)
}

func (v *checksumStore) Capabilities() store.Capabilities {
	return store.Capabilities{Checksum: v.checksum}
}

// fixedChecksum returns a function with the same result for every file.
func fixedChecksum(sum string, err error) func(context.Context, string) (string, error) {
	return func(context.Context, string) (string, error) { return sum, err }
}

// TestFinishedReads checks that Finished reads the files whose checksum the storage does not
// confirm, and no others.
func TestFinishedReads(t *testing.T) {
	p := damagedPlan(t)
	for name, tt := range map[string]struct {
		before func(context.Context, string) (string, error) // checksums when the task runs
		now    func(context.Context, string) (string, error) // checksums later
		change func(b []byte) []byte                         // changes the part
		result func(b []byte) []byte                         // changes the result
		reads  bool
		sound  bool
	}{
		"confirmed":         {fixedChecksum("A:1", nil), fixedChecksum("A:1", nil), nil, nil, false, true},
		"no checksums":      {nil, nil, nil, nil, true, true},
		"none before":       {nil, fixedChecksum("A:1", nil), nil, nil, true, true},
		"failed before":     {fixedChecksum("", syscall.EIO), fixedChecksum("A:1", nil), nil, nil, true, true},
		"none now":          {fixedChecksum("A:1", nil), nil, nil, nil, true, true},
		"fails now":         {fixedChecksum("A:1", nil), fixedChecksum("", syscall.EIO), nil, nil, true, true},
		"fails always":      {fixedChecksum("", syscall.EIO), fixedChecksum("", syscall.EIO), nil, nil, true, true},
		"another algorithm": {fixedChecksum("A:1", nil), fixedChecksum("B:1", nil), nil, nil, true, true},
		"another, altered":  {fixedChecksum("A:1", nil), fixedChecksum("A:2", nil), flip, nil, true, false},
		"none, altered":     {nil, nil, flip, nil, true, false},
		"longer":            {fixedChecksum("A:1", nil), fixedChecksum("A:1", nil), extend, nil, false, false},
		"none, length":      {nil, nil, nil, miscount, false, false},
		"confirmed, length": {fixedChecksum("A:1", nil), fixedChecksum("A:1", nil), nil, miscount, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			st := &checksumStore{storetest.NewFaulty(memstore.New().Client()), tt.before}
			results, err := mustOpen(t, p, options(t)).Run(t.Context(), st, "/", []int{0})
			testenv.Must(t, err)
			var size int64
			for _, f := range results[0].Files() {
				size += f.Bytes
			}
			part := path.Join("/", results[0].Parts[0].Files[0].Name)
			if tt.change != nil {
				alter(t, st, part, tt.change)
			}
			if tt.result != nil {
				alter(t, st, path.Join("/", manifest.TaskName(0)), tt.result)
			}
			st.checksum = tt.now
			before := st.Bytes()
			res, err := NewWork(p, nil, st, "/").Finished(t.Context(), 0)
			if (res != nil) != tt.sound || !tt.sound && !errors.Is(err, failure.Foreign) || tt.sound && err != nil {
				t.Errorf("%v, %v", res, err)
			}
			read := st.Bytes() - before
			if tt.sound && tt.reads && read != size || !tt.reads && read != 0 || tt.reads && read == 0 {
				t.Errorf("%d bytes of %d were read", read, size)
			}
		})
	}
}

func flip(b []byte) []byte { b[len(b)/2] ^= 1; return b }

func extend(b []byte) []byte { return append(b, 'x') }

// miscount changes the lengths of the files in a result.
func miscount(b []byte) []byte {
	return bytes.ReplaceAll(b, []byte(`"bytes": `), []byte(`"bytes": 1`))
}

// alter changes the bytes of a file.
func alter(t *testing.T, st store.Store, file string, change func(b []byte) []byte) {
	t.Helper()
	b, err := st.ReadFile(t.Context(), file, manifest.MaxSize)
	if err == nil {
		err = st.WriteFile(t.Context(), file, change(b), false)
	}
	testenv.Must(t, err)
}

// TestChecksumsOfResults checks that the checksums in results are those of the files,
// including copies of damaged ranges.
func TestChecksumsOfResults(t *testing.T) {
	p, st := damagedPlan(t), memstore.New().Client()
	results, err := mustOpen(t, p, options(t)).Run(t.Context(), st, "/", allTasks(p))
	testenv.Must(t, err)
	copies := 0
	for _, res := range results {
		for _, f := range res.Files() {
			want, err := st.Capabilities().Checksum(t.Context(), path.Join("/", f.Name))
			if err != nil || f.StoreChecksum != want {
				t.Errorf("the result has the checksum %q of %s, want %q, %v", f.StoreChecksum, f.Name, want, err)
			}
			if !strings.HasPrefix(f.Name, "part-") {
				copies++
			}
		}
	}
	if copies == 0 {
		t.Error("there is no copy of a damaged range")
	}
}
