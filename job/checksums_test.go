package job

import (
	"context"
	"path"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/store"
)

// countingStore is a store without checksums that counts the bytes read from staged
// and published column files.
type countingStore struct {
	store.Store
	read *atomic.Int64
}

func (c countingStore) Open(ctx context.Context, p string) (store.File, error) {
	f, err := c.Store.Open(ctx, p)
	if err != nil || !strings.Contains(p, "/part-") {
		return f, err
	}
	return countingFile{f, c.read}, nil
}

type countingFile struct {
	store.File
	read *atomic.Int64
}

func (f countingFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	f.read.Add(int64(n))
	return n, err
}

// checksumStore is a countingStore with the checksums of the inner store.
type checksumStore struct{ countingStore }

func (v checksumStore) Capabilities() store.Capabilities { return store.CapabilitiesOf(v.Store) }

// TestCommitReads checks that a commit reads all staged bytes once. It reads none if the store
// had checksums both when the tasks wrote the files and at the commit. Find does the same
// before tasks run again.
func TestCommitReads(t *testing.T) {
	for name, tt := range map[string]struct {
		tasks, commit bool // whether the store has checksums
		reads         bool
	}{
		"checksums":    {true, true, false},
		"no checksums": {false, false, true},
		"only tasks":   {true, false, true},
		"only commit":  {false, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newPlanned(t, false)
			var read atomic.Int64
			on := func(checksums bool) Options {
				plain := countingStore{s.st, &read}
				if checksums {
					return s.optionsOn(checksumStore{plain})
				}
				return s.optionsOn(plain)
			}
			mustRun(t, s.plan, on(tt.tasks), allTasks(s.plan)...)
			var size int64
			for i := range s.plan.Tasks {
				for _, p := range s.result(t, i).Parts {
					size += p.Bytes()
				}
			}
			want := size
			if !tt.reads {
				want = 0
			}

			read.Store(0)
			if done := mustRun(t, s.plan, on(tt.commit), allTasks(s.plan)...); done != len(s.plan.Tasks) || read.Load() != want {
				t.Errorf("%d tasks were done, and %d bytes read, want %d", done, read.Load(), want)
			}

			file := path.Join(s.staging(), s.result(t, 2).Files()[0].Name)
			whole, err := s.st.ReadFile(t.Context(), file, maxFile)
			testenv.Must(t, err)
			flipped := append([]byte(nil), whole...)
			flipped[len(flipped)/2] ^= 1
			testenv.Must(t, s.st.WriteFile(t.Context(), file, flipped, false))
			_, err = Commit(t.Context(), s.plan, on(tt.commit))
			failuretest.Want(t, err, failure.Foreign, "the work of task 2 is invalid", file)
			testenv.Must(t, s.st.WriteFile(t.Context(), file, whole, false))

			read.Store(0)
			mustCommit(t, s.plan, on(tt.commit))
			if read.Load() != want {
				t.Errorf("commit read %d bytes, want %d", read.Load(), want)
			}
			s.checkComplete(t)
		})
	}
}
