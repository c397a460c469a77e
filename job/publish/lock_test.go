package publish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

func TestLockExcludes(t *testing.T) {
	d, st := inMemory(t)
	d.times = Times{Heartbeat: time.Millisecond, Stale: time.Hour}
	c, _ := mustClaim(t, d)
	d.now, d.sleep = time.Now, sleep
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, _, err := d.Claim(ctx)
	failuretest.Want(t, err, failure.Locked, fmt.Sprintf("is locked by process %d on", os.Getpid()))
	mustRelease(t, c)
	if _, err := st.Stat(t.Context(), d.path); !errors.Is(err, store.ErrNotExist) {
		t.Errorf("the empty destination was left: %s", namesBelow(t, st, d.path))
	}
}

// TestSilentHolder checks that the lock is taken over from a holder that gives no sign of
// life. The former holder continues later, and can change nothing.
func TestSilentHolder(t *testing.T) {
	d, _ := inMemory(t)
	first, held := mustClaim(t, d)
	r := stageWork(t, first, "P")
	second, _ := mustClaim(t, d)
	if ids, err := second.StagedPlans(t.Context()); err != nil || !slices.Equal(ids, []string{r.Plan.ID}) {
		t.Errorf("got work of %q, %v", ids, err)
	}
	_, err := first.Publish(held, r.Plan, r.Work, nil)
	if err == nil {
		t.Error("a former holder published")
	}
	failuretest.Want(t, first.LockedOr(t.Context(), err), failure.Locked, "taken over by process")
	if err := first.move(held, first.pathOf(manifest.LockName), first.newPath(old)); !errors.Is(err, failure.Locked) {
		t.Errorf("a former holder goes on: %v", err)
	}
	if err := first.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if err := second.checkLock(t.Context()); err != nil {
		t.Error(err)
	}
	mustRelease(t, second)
}

// TestHeartbeat checks that a claim gives signs of life, and ends if its directory was moved.
func TestHeartbeat(t *testing.T) {
	d, st := inMemory(t)
	d.times.Heartbeat = time.Millisecond
	c, held := mustClaim(t, d)
	before, err := d.readLock(t.Context())
	testenv.Must(t, err)
	for after := before; after.signs == before.signs; {
		if after, err = d.readLock(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	testenv.Must(t, st.Rename(t.Context(), c.dir, d.workDir()+"/elsewhere"))
	select {
	case <-held.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("the claim did not end")
	}
	if cause := context.Cause(held); !errors.Is(cause, failure.Locked) {
		t.Errorf("got cause %v, want %v", cause, failure.Locked)
	}
	mustRelease(t, c)
}

// TestFreeLock checks that a waiting process gets a lock that its holder releases.
func TestFreeLock(t *testing.T) {
	d, st := inMemory(t)
	first, _ := mustClaim(t, d)
	second := at(st, d.path)
	second.sleep = func(ctx context.Context, _ time.Duration) error { return first.Release(ctx) }
	c, _ := mustClaim(t, second)
	mustRelease(t, c)
}

// TestDeadHolder checks that the lock is taken over at once from a process that has ended, and
// from one whose directory is gone.
func TestDeadHolder(t *testing.T) {
	ended := holder{ID: strings.Repeat("a", 16), PID: 1 << 30, Scope: processScope()}
	here := holder{ID: strings.Repeat("b", 16), PID: os.Getpid(), Scope: processScope()}
	elsewhere := holder{ID: strings.Repeat("c", 16), PID: 1, Scope: "another machine"}
	for name, tc := range map[string]struct {
		holder    holder
		dir, file bool // whether the holder's directory exists, or a file in its place
		want      error
	}{
		"ended":             {ended, true, false, nil},
		"of this process":   {here, true, false, nil},
		"without directory": {elsewhere, false, false, nil},
		"with a file":       {elsewhere, false, true, nil},
		"may live":          {elsewhere, true, false, failure.Locked},
	} {
		d, st := inMemory(t)
		err := errors.Join(st.Mkdir(t.Context(), d.path), st.Mkdir(t.Context(), d.workDir()))
		if tc.dir {
			err = errors.Join(err, st.Mkdir(t.Context(), d.workDir()+"/"+tc.holder.ID))
		}
		if tc.file {
			err = errors.Join(err, st.WriteFile(t.Context(), d.workDir()+"/"+tc.holder.ID, nil, true))
		}
		text, _ := json.Marshal(tc.holder)
		if err = errors.Join(err, st.WriteFile(t.Context(), d.pathOf(manifest.LockName), text, true)); err != nil {
			t.Fatal(err)
		}
		c, _, err := d.claim(t.Context(), false)
		if tc.want != nil {
			if !errors.Is(err, tc.want) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		mustRelease(t, c)
	}
}

// TestMalformedLocks checks that anything else in place of the lock is treated as a lock whose
// holder gives no sign of life.
func TestMalformedLocks(t *testing.T) {
	odd := map[string]func(file string) error{
		"directory":      func(file string) error { return os.MkdirAll(file+"/in/it", 0o777) },
		"pipe":           func(file string) error { return syscall.Mkfifo(file, 0o666) },
		"link to itself": func(file string) error { return os.Symlink("_lock", file) },
		"dangling link":  func(file string) error { return os.Symlink("nowhere", file) },
		"link":           func(file string) error { return os.Symlink("/dev/zero", file) },
		"empty":          func(file string) error { return os.WriteFile(file, nil, 0o666) },
		"NUL":            func(file string) error { return os.WriteFile(file, []byte(`{"holder":"\u0000/../.."}`), 0o666) },
		"huge":           func(file string) error { return os.WriteFile(file, make([]byte, 70<<10), 0o666) },
		"next week": func(file string) error {
			return os.Chtimes(file, time.Now().Add(168*time.Hour), time.Now().Add(168*time.Hour))
		},
		"path traversal": func(file string) error { return os.WriteFile(file, []byte(`{"holder":"../../x"}`), 0o666) },
		"of version one": func(file string) error {
			return os.WriteFile(file, []byte(`{"host":"h","pid":1,"run":"ab","heartbeat":"2999-01-01T00:00:00Z"}`), 0o666)
		},
	}
	for name, make := range odd {
		dir := t.TempDir()
		d := at(store.Local(), filepath.Join(dir, "dest"))
		testenv.Must(t, os.Mkdir(d.path, 0o777))
		file := d.pathOf(manifest.LockName)
		if name == "next week" {
			testenv.Must(t, os.WriteFile(file, []byte("x"), 0o666))
		}
		testenv.Must(t, make(file))
		if err := d.Tidy(t.Context()); err != nil {
			t.Errorf("%s: tidy: %v", name, err)
		}
		if _, err := os.Lstat(file); err != nil {
			t.Errorf("%s: a lock that may be held was removed: %v", name, err)
		}
		publishOutput(t, d, store.Local(), "P")
		wantOnlyOutput(t, store.Local(), d.path)
	}
}

// TestOlderHolder checks that each write of a lock of version 1 by its holder is a sign of
// life.
func TestOlderHolder(t *testing.T) {
	d, st := inMemory(t)
	testenv.Must(t, st.Mkdir(t.Context(), d.path))
	beats := 0
	write := func() error {
		beats++
		return st.WriteFile(t.Context(), d.pathOf(manifest.LockName), fmt.Appendf(nil, `{"run":"ab","heartbeat":%d}`, beats), false)
	}
	testenv.Must(t, write())
	d.sleep = func(context.Context, time.Duration) error {
		if beats > 5 {
			return errors.New("the signs of life were not noticed")
		}
		return write()
	}
	_, _, err := d.Claim(t.Context())
	failuretest.Want(t, err, failure.Locked, "an unknown process")
}

// TestWaiterIsMovedAway checks that a waiting process gets the lock although the holder moves
// away the directory of that process.
func TestWaiterIsMovedAway(t *testing.T) {
	d, st := inMemory(t)
	first, _ := mustClaim(t, d)
	second := at(st, d.path)
	second.sleep = func(ctx context.Context, _ time.Duration) error {
		if first == nil {
			return nil
		}
		err := errors.Join(first.fence(ctx), first.Release(ctx))
		first = nil
		return err
	}
	c, _ := mustClaim(t, second)
	if err := c.checkLock(t.Context()); err != nil {
		t.Error(err)
	}
	mustRelease(t, c)
}
