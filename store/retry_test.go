package store_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

var patience = store.Patience{Limit: time.Minute, Sleep: doNotSleep}

func doNotSleep(context.Context, time.Duration) error { return nil }

// TestRetryLateFaults fails the first call of each operation, with its work done or not.
// The retry must recognize work that is done.
func TestRetryLateFaults(t *testing.T) {
	for _, op := range []storetest.Op{
		storetest.Rename, storetest.Remove, storetest.RemoveAll, storetest.WriteFile,
		storetest.Stat, storetest.List, storetest.ReadFile, storetest.Open, storetest.ReadAt,
	} {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, late %v", op, late), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				testenv.Must(t, store.Local().WriteFile(t.Context(), filepath.Join(dir, "a"), []byte("a"), true))
				faulty := storetest.NewFaulty(store.Local(), storetest.Fault{Op: op, N: 1, Err: syscall.ECONNRESET, Late: late})
				waits := 0
				p := patience
				p.Waiting = func(string, error, time.Duration) { waits++ }
				if err := storetest.Calls(t.Context(), store.WithRetry(faulty, p), dir)[op](); err != nil {
					t.Error(err)
				}
				calls := 2
				if op == storetest.Rename && late {
					calls = 1 // the file's number shows that it was moved
				}
				if waits != 1 || faulty.Calls(op) != calls {
					t.Errorf("%d waits, %d calls", waits, faulty.Calls(op))
				}
			})
		}
	}
}

// TestMkdirIsTriedOnce checks that a failed Mkdir is not retried: it may have made the directory.
func TestMkdirIsTriedOnce(t *testing.T) {
	for _, late := range []bool{false, true} {
		faulty := storetest.NewFaulty(store.Local(), storetest.Fault{Op: storetest.Mkdir, Err: syscall.ECONNRESET, Late: late})
		err := store.WithRetry(faulty, patience).Mkdir(t.Context(), t.TempDir()+"/d")
		if !errors.Is(err, syscall.ECONNRESET) || faulty.Calls(storetest.Mkdir) != 1 {
			t.Errorf("late %v: %v after %d calls", late, err, faulty.Calls(storetest.Mkdir))
		}
	}
}

// TestRetryKeepsFileOfAnother checks that a retry keeps a file that another process made in between.
func TestRetryKeepsFileOfAnother(t *testing.T) {
	ctx := t.Context()
	for _, op := range []storetest.Op{storetest.Rename, storetest.WriteFile} {
		dir := t.TempDir()
		local := store.Local()
		testenv.Must(t, local.WriteFile(ctx, dir+"/a", []byte("mine"), true))
		p := patience
		p.Waiting = func(string, error, time.Duration) {
			if err := local.WriteFile(ctx, dir+"/b", []byte("others"), true); err != nil {
				t.Error(err)
			}
		}
		st := store.WithRetry(storetest.NewFaulty(local, storetest.Fault{Op: op, N: 1, Err: syscall.ECONNRESET}), p)
		var err error
		if op == storetest.Rename {
			err = st.Rename(ctx, dir+"/a", dir+"/b")
		} else {
			err = st.WriteFile(ctx, dir+"/b", []byte("mine"), true)
		}
		if !errors.Is(err, store.ErrExist) {
			t.Errorf("%s: %v, want ErrExist", op, err)
		}
		if b, err := local.ReadFile(ctx, dir+"/b", 10); string(b) != "others" {
			t.Errorf("%s: the other's file holds %q, %v", op, b, err)
		}
	}
}

// TestRetryRejectsReplacedFile replaces a file between two tries of reading it. Another
// length is noticed even if files have no identity.
func TestRetryRejectsReplacedFile(t *testing.T) {
	for _, another := range []string{"another", "other"} { // "other" has the length of "first"
		ctx, name := t.Context(), t.TempDir()+"/f"
		local := store.Local()
		testenv.Must(t, local.WriteFile(ctx, name, []byte("first"), true))
		unknown := func(c *storetest.Call) error {
			err := c.Do()
			if c.Op == storetest.Open && another == "another" {
				c.File = struct{ store.File }{c.File}
			}
			return err
		}
		st := store.WithRetry(storetest.Inject(local, storetest.Fail(storetest.Fault{Op: storetest.ReadAt, N: 1, Err: syscall.ECONNRESET}), unknown), patience)
		f, err := st.Open(ctx, name)
		testenv.Must(t, err)
		defer func() { _ = f.Close() }()
		testenv.Must(t, local.WriteFile(ctx, name, []byte(another), false))
		if n, err := f.ReadAt(make([]byte, 5), 0); !errors.Is(err, store.ErrReplaced) || store.Classify(err) != store.NotFound {
			t.Errorf("read %d bytes of a file that was replaced, %v", n, err)
		}
	}
}

// ranges is a store whose files only ReadRange can read. Its first call fails.
type ranges struct {
	store.Store
	opens, reads int
}

type rangeFile struct {
	store.File
	store *ranges
}

func (r *ranges) Open(ctx context.Context, path string) (store.File, error) {
	f, err := r.Store.Open(ctx, path)
	r.opens++
	return &rangeFile{f, r}, err
}

func (f *rangeFile) ReadAt([]byte, int64) (int, error) {
	return 0, errors.New("ReadAt instead of ReadRange")
}

func (f *rangeFile) ReadRange(p []byte, off int64) (int, error) {
	if f.store.reads++; f.store.reads == 1 {
		return 0, syscall.ECONNRESET
	}
	return f.File.ReadAt(p, off)
}

// TestRetryRanges checks that ReadRange is retried like ReadAt, even for files without ReadRange.
func TestRetryRanges(t *testing.T) {
	name := t.TempDir() + "/f"
	testenv.Must(t, store.Local().WriteFile(t.Context(), name, []byte("content"), true))
	byRange := &ranges{Store: store.Local()}
	faulty := storetest.NewFaulty(store.Local(), storetest.Fault{Op: storetest.ReadAt, N: 1, Err: syscall.ECONNRESET})
	for _, st := range []store.Store{byRange, faulty} {
		waits := 0
		p := patience
		p.Waiting = func(string, error, time.Duration) { waits++ }
		f, err := store.WithRetry(st, p).Open(t.Context(), name)
		testenv.Must(t, err)
		b := make([]byte, 4)
		if n, err := store.ReadRange(f, b, 3); err != nil || string(b[:n]) != "tent" || waits != 1 {
			t.Errorf("%q, %v after %d waits", b[:n], err, waits)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if byRange.opens != 2 || faulty.Calls(storetest.Open) != 2 {
		t.Errorf("opened %d and %d times", byRange.opens, faulty.Calls(storetest.Open))
	}
}

func TestRetryEnds(t *testing.T) {
	always := storetest.Fault{Op: storetest.Stat, Err: syscall.ECONNREFUSED}
	tests := []struct {
		name  string
		limit time.Duration
		fault storetest.Fault
		ctx   func(context.Context) (context.Context, context.CancelFunc)
		want  error
		calls int
	}{
		{"no patience", 0, always, context.WithCancel, syscall.ECONNREFUSED, 1},
		{"final", time.Hour, storetest.Fault{Op: storetest.Stat, Err: syscall.EACCES}, context.WithCancel, syscall.EACCES, 1},
		{"no host", time.Hour, storetest.Fault{Op: storetest.Stat, Err: store.ErrUnresolved}, context.WithCancel, store.ErrUnresolved, 1},
		{"context", time.Hour, always, context.WithCancel, context.Canceled, 1},
		{"clean-up", time.Hour, always, store.Cleanup, syscall.ECONNREFUSED, 1},
	}
	for _, tt := range tests {
		faulty := storetest.NewFaulty(store.Local(), tt.fault)
		ctx, cancel := tt.ctx(t.Context())
		p := store.Patience{Limit: tt.limit, Waiting: func(string, error, time.Duration) { cancel() }}
		_, err := store.WithRetry(faulty, p).Stat(ctx, t.TempDir())
		cancel()
		if !errors.Is(err, tt.want) || faulty.Calls(storetest.Stat) != tt.calls {
			t.Errorf("%s: %v after %d calls", tt.name, err, faulty.Calls(storetest.Stat))
		}
	}
}

// TestRetryReportsCancellation fails a call that would be retried, just after its context
// ended. The error is that of the context.
func TestRetryReportsCancellation(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	err := store.Retry(ctx, store.WithRetry(store.Local(), patience), "sample", func(context.Context) error {
		cancel()
		return syscall.ECONNRESET
	})
	if !errors.Is(err, context.Canceled) || errors.Is(err, syscall.ECONNRESET) {
		t.Error(err)
	}
}

// TestRetryWaits checks the waits of an operation that always fails.
func TestRetryWaits(t *testing.T) {
	var waits []time.Duration
	p := store.Patience{Limit: 2 * time.Minute, Sleep: func(_ context.Context, d time.Duration) error {
		waits = append(waits, d)
		return nil
	}}
	faulty := storetest.NewFaulty(store.Local(), storetest.Fault{Op: storetest.Stat, Err: syscall.ECONNREFUSED})
	_, err := store.WithRetry(faulty, p).Stat(t.Context(), t.TempDir())
	if !errors.Is(err, syscall.ECONNREFUSED) || faulty.Calls(storetest.Stat) != len(waits)+1 {
		t.Errorf("%v after %d calls and %d waits", err, faulty.Calls(storetest.Stat), len(waits))
	}
	var sum time.Duration
	for i, d := range waits {
		sum += d
		usual := min(200*time.Millisecond<<i, 15*time.Second)
		if last := i == len(waits)-1; d > usual*3/2 || d < usual/2 && !last {
			t.Errorf("wait %d is %s", i+1, d)
		}
	}
	if sum != p.Limit {
		t.Errorf("%d waits of %s altogether", len(waits), sum)
	}
}

// TestNestedRetrySharesPatience has operations that fail within a repeated one. Together
// they wait no longer than one alone.
func TestNestedRetrySharesPatience(t *testing.T) {
	always := func(op storetest.Op) storetest.Fault { return storetest.Fault{Op: op, Err: syscall.ECONNREFUSED} }
	foreign := func(ctx context.Context) context.Context { return t.Context() }
	same := func(ctx context.Context) context.Context { return ctx }
	for name, tt := range map[string]struct {
		faults []storetest.Fault
		ctx    func(context.Context) context.Context
	}{
		"always":                         {[]storetest.Fault{always(storetest.Stat)}, same},
		"with another context":           {[]storetest.Fault{always(storetest.Stat)}, foreign},
		"after the upload failed":        {[]storetest.Fault{{Op: storetest.Create, N: 1, Err: syscall.EIO}, {Op: storetest.Create, N: 2, Err: syscall.EIO}, always(storetest.Stat)}, same},
		"after another operation failed": {[]storetest.Fault{{Op: storetest.List, N: 1, Err: syscall.EIO}, {Op: storetest.List, N: 2, Err: syscall.EIO}, always(storetest.Stat)}, same},
		"while a file is read":           {[]storetest.Fault{always(storetest.ReadAt)}, same},
		"while another's file is read":   {[]storetest.Fault{always(storetest.ReadAt)}, foreign},
	} {
		t.Run(name, func(t *testing.T) {
			var sum time.Duration
			p := store.Patience{Limit: 2 * time.Minute, Sleep: func(_ context.Context, d time.Duration) error {
				sum += d
				return nil
			}}
			dir := t.TempDir()
			faulty := storetest.NewFaulty(store.Local(), tt.faults...)
			st := store.WithRetry(faulty, p)
			err := store.Retry(t.Context(), st, "upload", func(ctx context.Context) error {
				name := store.TempName(dir + "/f")
				w, err := st.Create(ctx, name, store.CreateOptions{Size: 4})
				if err == nil {
					_, err = w.Write([]byte("data"))
				}
				if err == nil {
					err = w.Commit(ctx)
				}
				if err == nil {
					_, err = st.List(ctx, dir)
				}
				if err != nil {
					return err
				}
				f, err := st.Open(tt.ctx(ctx), name)
				if err != nil {
					return err
				}
				defer func() { _ = f.Close() }()
				if _, err := f.ReadAt(make([]byte, 4), 0); err != nil {
					return err
				}
				_, err = st.Stat(tt.ctx(ctx), name)
				return err
			})
			if !errors.Is(err, syscall.ECONNREFUSED) || store.Classify(err) != store.Retryable {
				t.Error(err)
			}
			if sum != p.Limit {
				t.Errorf("waited %s, want %s", sum, p.Limit)
			}
		})
	}
}

// TestPatienceOfSequence lets a first operation use up the patience: the next one in the
// same Retry is tried once.
func TestPatienceOfSequence(t *testing.T) {
	faulty := storetest.NewFaulty(store.Local(), storetest.Fault{Op: storetest.Stat, Err: syscall.EIO}, storetest.Fault{Op: storetest.List, Err: syscall.EIO})
	st := store.WithRetry(faulty, patience)
	dir := t.TempDir()
	_ = store.Retry(t.Context(), st, "both", func(ctx context.Context) error {
		_, err := st.Stat(ctx, dir)
		_, err2 := st.List(ctx, dir)
		return errors.Join(err, err2)
	})
	if faulty.Calls(storetest.Stat) < 2 || faulty.Calls(storetest.List) != 1 {
		t.Errorf("%d and %d calls", faulty.Calls(storetest.Stat), faulty.Calls(storetest.List))
	}
}

func TestCleanupOutlives(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	clean, end := store.Cleanup(ctx)
	defer end()
	if _, bounded := clean.Deadline(); clean.Err() != nil || !bounded {
		t.Errorf("the context for cleaning up is %v, bounded: %v", clean.Err(), bounded)
	}
}

// TestCleanupAfterStop checks that clean-up is short once the program is stopped.
func TestCleanupAfterStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, first := range []bool{true, false} {
			ctx, stop := context.WithCancel(t.Context())
			if first {
				stop()
			}
			clean, end := store.Cleanup(ctx)
			time.Sleep(time.Second)
			if clean.Err() != nil {
				t.Errorf("ended at once: %v", clean.Err())
			}
			stop()
			began := time.Now()
			<-clean.Done()
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("cleaned up for %v", took)
			}
			end()
		}
		clean, end := store.Cleanup(t.Context())
		defer end()
		if time.Sleep(20 * time.Second); clean.Err() != nil {
			t.Errorf("the clean-up ended without a stop: %v", clean.Err())
		}
	})
}
