package job

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/store"
)

// writeLock leaves the lock of a process that gave its last sign of life so
// long ago.
func writeLock(t *testing.T, dest string, h holder, age time.Duration) {
	t.Helper()
	h.Heartbeat = time.Now().Add(-age)
	b, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dest, lockName)
	if err := os.WriteFile(file, b, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, h.Heartbeat, h.Heartbeat); err != nil {
		t.Fatal(err)
	}
}

func lockDirs(t *testing.T) (dest, retired string) {
	dest = t.TempDir()
	retired = filepath.Join(dest, workName)
	if err := os.Mkdir(retired, 0o777); err != nil {
		t.Fatal(err)
	}
	return dest, retired
}

func TestLockExcludes(t *testing.T) {
	dest, retired := lockDirs(t)
	ctx := context.Background()
	a, _, err := acquire(ctx, store.Local(), dest, retired, LockTimes{})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = acquire(ctx, store.Local(), dest, retired, LockTimes{})
	wantKind(t, err, ErrConflict, "locked by process")
	if err := a.release(ctx); err != nil {
		t.Fatal(err)
	}
	b, _, err := acquire(ctx, store.Local(), dest, retired, LockTimes{})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.release(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dest, lockName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the lock is still there: %v", err)
	}
}

func TestHeartbeatKeepsTheLock(t *testing.T) {
	dest, retired := lockDirs(t)
	ctx := context.Background()
	times := LockTimes{Heartbeat: 10 * time.Millisecond, Stale: 2 * time.Second}
	a, _, err := acquire(ctx, store.Local(), dest, retired, times)
	if err != nil {
		t.Fatal(err)
	}
	first, err := readHolder(ctx, store.Local(), a.path)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		h, err := readHolder(ctx, store.Local(), a.path)
		if err != nil {
			t.Fatal(err)
		}
		if h.Heartbeat.After(first.Heartbeat) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no heartbeat")
		}
	}
	if err := a.release(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestStaleLocks(t *testing.T) {
	self := holder{Host: "h", PID: os.Getpid(), Scope: processScope(), Run: "r"}
	elsewhere := self
	elsewhere.Scope = "another boot"
	gone := self
	gone.PID = 1 << 30 // above every system's limit
	for name, tc := range map[string]struct {
		h    holder
		age  time.Duration
		free bool
	}{
		"fresh elsewhere":         {elsewhere, 0, false},
		"nearly stale elsewhere":  {elsewhere, 100 * time.Second, false},
		"stale elsewhere":         {elsewhere, 121 * time.Second, true},
		"process ended":           {gone, 0, true},
		"our number, another run": {self, 0, true},
		"no sense":                {holder{}, 0, false},
		"no sense, stale":         {holder{}, 121 * time.Second, true},
	} {
		dest, retired := lockDirs(t)
		writeLock(t, dest, tc.h, tc.age)
		l, _, err := acquire(context.Background(), store.Local(), dest, retired, LockTimes{})
		if tc.free != (err == nil) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			wantKind(t, err, ErrConflict, "locked")
			continue
		}
		if err := l.release(context.Background()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTakeoverHasOneWinner(t *testing.T) {
	t.Run("renaming", func(t *testing.T) { takeoverHasOneWinner(t, store.Local()) })
	t.Run("linking", func(t *testing.T) { takeoverHasOneWinner(t, linking{store.Local()}) })
}

// linking renames as a file system does that has no rename without replacing: in
// between, the file has both names.
type linking struct{ store.Store }

func (linking) Rename(_ context.Context, from, to string) error {
	if err := os.Link(from, to); err != nil {
		return err
	}
	time.Sleep(rand.N(5 * time.Millisecond))
	return os.Remove(from)
}

func takeoverHasOneWinner(t *testing.T, st store.Store) {
	for range 20 {
		dest, retired := lockDirs(t)
		writeLock(t, dest, holder{Host: "h", PID: 1, Scope: "another boot", Run: "dead"}, time.Hour)
		winners := make(chan *lock, 8)
		var wg sync.WaitGroup
		for range cap(winners) {
			wg.Go(func() {
				l, _, err := acquire(context.Background(), st, dest, retired, LockTimes{})
				if err == nil {
					winners <- l
				} else if !errors.Is(err, ErrConflict) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := len(winners); n != 1 {
			t.Fatalf("%d jobs hold the lock", n)
		}
		if err := (<-winners).release(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

// hooked runs a function before each rename.
type hooked struct {
	store.Store
	hook func()
}

func (h hooked) Rename(ctx context.Context, from, to string) error {
	h.hook()
	return h.Store.Rename(ctx, from, to)
}

// sweeping removes the first lock's temporary file before it is renamed.
type sweeping struct {
	store.Store
	once sync.Once
}

func (s *sweeping) WriteFile(ctx context.Context, p string, b []byte, exclusive bool) (err error) {
	s.once.Do(func() { err = store.ErrNotExist })
	if err != nil {
		return err
	}
	return s.Store.WriteFile(ctx, p, b, exclusive)
}

func TestSweptLockIsTriedAgain(t *testing.T) {
	dest, retired := lockDirs(t)
	l, _, err := acquire(context.Background(), &sweeping{Store: store.Local()}, dest, retired, LockTimes{})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.release(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func TestLateTakeoverGivesTheLockBack(t *testing.T) {
	dest, retired := lockDirs(t)
	writeLock(t, dest, holder{Host: "h", PID: 1, Scope: "another boot", Run: "dead"}, time.Hour)
	st := hooked{store.Local(), sync.OnceFunc(func() {
		writeLock(t, dest, holder{Host: "h", PID: 2, Scope: "another boot", Run: "faster"}, 0)
	})}
	_, _, err := acquire(context.Background(), st, dest, retired, LockTimes{})
	wantKind(t, err, ErrConflict, "locked by process 2")
	if h, err := readHolder(context.Background(), store.Local(), filepath.Join(dest, lockName)); err != nil || h.Run != "faster" {
		t.Errorf("the lock is %+v, %v", h, err)
	}
}

// cutShort ends the process in a rename, as a file system leaves it that has no
// rename without replacing.
type cutShort struct{ store.Store }

func (cutShort) Rename(_ context.Context, from, to string) error {
	return errors.Join(os.Link(from, to), errors.New("killed"))
}

func TestTakeoverAfterOneCutShort(t *testing.T) {
	dest, retired := lockDirs(t)
	writeLock(t, dest, holder{Host: "h", PID: 1, Scope: "another boot", Run: "dead"}, time.Hour)
	if _, _, err := acquire(context.Background(), cutShort{store.Local()}, dest, retired, LockTimes{}); err == nil {
		t.Fatal("the lock was taken over")
	}
	l, _, err := acquire(context.Background(), store.Local(), dest, retired, LockTimes{Stale: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.release(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func TestLostLockEndsTheJob(t *testing.T) {
	dest, retired := lockDirs(t)
	ctx := context.Background()
	times := LockTimes{Heartbeat: time.Millisecond}
	a, locked, err := acquire(ctx, store.Local(), dest, retired, times)
	if err != nil {
		t.Fatal(err)
	}
	// A takeover as another process does it: while this one sleeps.
	if err := os.Rename(a.path, filepath.Join(retired, "lock-x")); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for !errors.Is(context.Cause(locked), ErrConflict) {
		writeLock(t, dest, holder{Host: "b", PID: 2, Scope: "another boot", Run: "b"}, 0)
		time.Sleep(2 * time.Millisecond)
	}
	wantKind(t, a.check(ctx), ErrConflict, "taken over")
	if err := a.release(ctx); err != nil {
		t.Error(err)
	}
	if h, err := readHolder(ctx, store.Local(), a.path); err != nil || h.Run != "b" {
		t.Errorf("release touched the lock of another: %+v, %v", h, err)
	}
}

// TestSleeperDoesNoHarm wakes a holder in the middle of its work after another
// job took its lock over and committed.
func TestSleeperDoesNoHarm(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "a.avro")
	writeInput(t, in, testSchema, 1, 40)
	ref := request(t, filepath.Join(dir, "ref"), in)
	mustConvert(t, ref)
	want := tree(t, ref.Dest)

	r := request(t, filepath.Join(dir, "out"), in)
	r.Workers = 1
	asleep := false
	r.Progress = func(p Progress) {
		if asleep || p.Tasks != 1 {
			return
		}
		asleep = true
		writeLock(t, r.Dest, holder{Host: "h", PID: 1, Scope: "another boot", Run: "x"}, time.Hour)
		other := request(t, r.Dest, in)
		mustConvert(t, other)
		sameTree(t, tree(t, r.Dest), want)
	}
	_, err := Convert(context.Background(), r)
	wantKind(t, err, ErrConflict, "taken over")
	if !asleep {
		t.Fatal("the job never slept")
	}
	sameTree(t, tree(t, r.Dest), want)
	if left := tree(t, r.TempDir); len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
}
