package job

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path"
	"sync"
	"time"

	"github.com/rowtocol/rowtocol/store"
)

const (
	lockName  = "_lock"
	maxLock   = 64 << 10
	lockTries = 3
)

// LockTimes are the times of the lock on a destination. All jobs on one
// destination must agree on them.
type LockTimes struct {
	Heartbeat time.Duration // between signs of life; 0 is 10 s
	Stale     time.Duration // without a sign of life until takeover; 0 is 120 s
}

func (t LockTimes) withDefaults() LockTimes {
	if t.Heartbeat <= 0 {
		t.Heartbeat = 10 * time.Second
	}
	if t.Stale <= 0 {
		t.Stale = 120 * time.Second
	}
	return t
}

// holder is the content of the lock file.
type holder struct {
	Host      string    `json:"host"`
	PID       int       `json:"pid"`
	Scope     string    `json:"scope,omitempty"` // where PID has a meaning; see processScope
	Run       string    `json:"run"`             // random, of one run
	Heartbeat time.Time `json:"heartbeat"`
}

// lock is a held lock. Its heart beats in a goroutine of its own; when it finds
// the lock in other hands it cancels the job.
type lock struct {
	st    store.Store
	path  string
	self  holder
	times LockTimes

	cancel context.CancelCauseFunc
	stop   chan struct{}
	done   sync.WaitGroup
}

// acquire takes the lock of dest, over from a stale holder if need be, and
// returns a context that ends when the lock is lost. retired is a directory in
// dest that exists, for the files of stale locks. A live holder is ErrConflict.
func acquire(ctx context.Context, st store.Store, dest, retired string, times LockTimes) (_ *lock, _ context.Context, err error) {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	l := &lock{
		st: st, path: path.Join(dest, lockName), times: times.withDefaults(), stop: make(chan struct{}),
		self: holder{Host: host, PID: os.Getpid(), Scope: processScope(), Run: newRun()},
	}
	live.Store(l.self.Run, true)
	defer func() {
		if err != nil {
			live.Delete(l.self.Run)
		}
	}()
	for try := 0; ; try++ {
		err := l.write(ctx, true)
		if err == nil {
			break
		}
		// A holder sweeps temporary files, and with them one that is about to
		// become a lock; who made the destination may have removed it again.
		swept := errors.Is(err, store.ErrNotExist) || errors.Is(err, store.ErrNoParent)
		if !swept && !errors.Is(err, store.ErrExist) {
			return nil, nil, fmt.Errorf("lock: %w", err)
		}
		if try == lockTries {
			return nil, nil, failf(ErrConflict, "%s: other jobs take the lock all the time", dest)
		}
		if swept {
			err = makeDir(ctx, st, retired)
		} else {
			err = l.takeOver(ctx, retired)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	ctx, l.cancel = context.WithCancelCause(ctx)
	l.done.Go(func() { l.beat(ctx) })
	return l, ctx, nil
}

func newRun() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // crypto/rand does not fail
	return hex.EncodeToString(b[:])
}

func (l *lock) write(ctx context.Context, exclusive bool) error {
	h := l.self
	h.Heartbeat = time.Now().UTC()
	b, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return l.st.WriteFile(ctx, l.path, append(b, '\n'), exclusive)
}

// read returns the lock's holder. A file without sense, as of a store that
// writes in place, has a holder named by its content.
func readHolder(ctx context.Context, st store.Store, file string) (holder, error) {
	b, err := st.ReadFile(ctx, file, maxLock)
	if err != nil {
		return holder{}, err
	}
	var h holder
	if json.Unmarshal(b, &h) != nil || h.Run == "" {
		h = holder{Host: "unknown", Run: fmt.Sprintf("unknown-%08x", crc32.ChecksumIEEE(b))}
	}
	return h, nil
}

// takeOver moves a stale lock out of the way. The file's new name is made of
// the stale holder and its last sign of life, so of all who saw the same stale lock one wins, and
// who comes too late finds that he moved another lock and puts it back.
func (l *lock) takeOver(ctx context.Context, retired string) error {
	info, err := l.st.Stat(ctx, l.path)
	if errors.Is(err, store.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	old, err := readHolder(ctx, l.st, l.path)
	if errors.Is(err, store.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	seen := old.Heartbeat
	if info.ModTime.After(seen) {
		seen = info.ModTime
	}
	if age := time.Since(seen); age < l.times.Stale && !old.dead() {
		return failf(ErrConflict, "%s: locked by process %d on %s, seen %s ago (stale after %s)",
			path.Dir(l.path), old.PID, old.Host, max(age, 0).Round(time.Second), l.times.Stale)
	}
	moved, err := l.retire(ctx, path.Join(retired, fmt.Sprintf("lock-%s-%d", path.Base(old.Run), seen.UnixNano())))
	if errors.Is(err, store.ErrNotExist) || errors.Is(err, store.ErrExist) {
		return nil // another was faster
	}
	if errors.Is(err, store.ErrNoParent) {
		return makeDir(ctx, l.st, retired) // another was faster, and is done
	}
	if err != nil {
		return fmt.Errorf("take over the lock: %w", err)
	}
	now, err := readHolder(ctx, l.st, moved)
	if err != nil {
		return fmt.Errorf("take over the lock: %w", err)
	}
	if now.Run != old.Run {
		if err := l.st.Rename(ctx, moved, l.path); err != nil && !errors.Is(err, store.ErrExist) {
			return fmt.Errorf("give the lock back: %w", err)
		}
	}
	return nil
}

// retire renames the lock to a name, and returns the name that it has then. A
// process that was ended in its rename may have left the lock under both names;
// the name is taken then, and stays so for those who saw the same stale lock.
func (l *lock) retire(ctx context.Context, name string) (string, error) {
	moved := name
	for n := 1; ; n++ {
		err := l.st.Rename(ctx, l.path, moved)
		if !errors.Is(err, store.ErrExist) || !l.keepsName(ctx, moved) {
			return moved, err
		}
		moved = fmt.Sprintf("%s-%d", name, n)
	}
}

// keepsName reports whether the lock has another name too, and keeps it for as
// long as a holder may be silent. Where a rename is a link and a removal, a
// process that lives has both names for a moment only.
func (l *lock) keepsName(ctx context.Context, name string) bool {
	for end := time.Now().Add(l.times.Stale); l.hasName(ctx, name); {
		left := time.Until(end)
		if left <= 0 {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(min(left, l.times.Stale/1000)):
		}
	}
	return false
}

func (l *lock) hasName(ctx context.Context, name string) bool {
	a, err := l.st.Stat(ctx, l.path)
	b, otherErr := l.st.Stat(ctx, name)
	return err == nil && otherErr == nil && a.FileID == b.FileID && a.FileID != 0
}

// beat gives signs of life until the lock is released or lost. A store that
// fails for a while is no reason to give up: publishing checks the lock again.
func (l *lock) beat(ctx context.Context) {
	t := time.NewTicker(l.times.Heartbeat)
	defer t.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if err := l.beatOnce(ctx); errors.Is(err, ErrConflict) {
			l.cancel(err)
			return
		}
	}
}

// beatOnce gives one sign of life. It does not wait for storage longer than
// the next can: a lock that is released must not be waiting here.
func (l *lock) beatOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.times.Stale/4)
	defer cancel()
	if err := l.check(ctx); err != nil {
		return err
	}
	return l.write(ctx, false)
}

// check re-reads the lock, and is ErrConflict if it is not ours any more.
func (l *lock) check(ctx context.Context) error {
	h, err := readHolder(ctx, l.st, l.path)
	switch {
	case errors.Is(err, store.ErrNotExist):
		return failf(ErrConflict, "%s: the lock was taken over, and released since", path.Dir(l.path))
	case err != nil:
		return fmt.Errorf("lock: %w", err)
	case h.Run != l.self.Run:
		return failf(ErrConflict, "%s: the lock was taken over by process %d on %s", path.Dir(l.path), h.PID, h.Host)
	}
	return nil
}

// release stops the heart and removes the lock if it is still ours.
func (l *lock) release(ctx context.Context) error {
	close(l.stop)
	l.done.Wait()
	l.cancel(nil)
	live.Delete(l.self.Run)
	err := l.check(ctx)
	if errors.Is(err, ErrConflict) {
		return nil
	}
	if err != nil {
		return err
	}
	return l.st.Remove(ctx, l.path)
}
