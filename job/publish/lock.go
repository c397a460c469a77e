package publish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"time"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

const (
	maxLock   = 64 << 10
	lockTries = 100
	// pollsPerBeat is how often a waiting process reads the lock in the time of one heartbeat.
	pollsPerBeat = 8
)

// Times are the times of the lock on a destination. All runs on one destination
// must agree on them.
type Times struct {
	Heartbeat time.Duration // time between signs of life; 0 is 10 s
	Stale     time.Duration // time without a sign of life until another process takes the lock; 0 is 120 s
}

func (t Times) withDefaults() Times {
	if t.Heartbeat <= 0 {
		t.Heartbeat = 10 * time.Second
	}
	if t.Stale <= 0 {
		t.Stale = 120 * time.Second
	}
	return t
}

// holder is the content of the lock.
type holder struct {
	ID    string    `json:"holder"` // the name of its directory in the work directory
	Host  string    `json:"host"`
	PID   int       `json:"pid"`
	Scope string    `json:"scope,omitempty"` // where PID is valid; see processScope
	Since time.Time `json:"since"`           // time for messages to people
}

func (h *holder) String() string {
	if h.ID == "" {
		return "an unknown process"
	}
	return fmt.Sprintf("process %d on %.100q", h.PID, h.Host)
}

// acquire takes the lock. If the holder gives a sign of life, the error is failure.Locked.
// Without wait, the error is failure.Locked also if it is not known whether the holder lives.
func (c *Claim) acquire(ctx context.Context, wait bool) error {
	for range lockTries {
		if err := c.makeOwnDir(ctx); err != nil {
			return err
		}
		file := c.newPath(lock)
		err := c.writeLock(ctx, file)
		if err == nil {
			err = c.st.Rename(ctx, file, c.pathOf(manifest.LockName))
		}
		switch {
		case err == nil:
			return nil
		case errors.Is(err, store.ErrExist):
			if err := c.watch(ctx, wait); err != nil {
				return err
			}
		case errors.Is(err, store.ErrNotExist), errors.Is(err, store.ErrNoParent):
			//guard: recognizes its own lock if the answer was lost
			if c.checkLock(ctx) == nil {
				return nil
			}
			c.dir = "" // a holder moved the claim's directory away, or the destination is gone
		default:
			return fmt.Errorf("lock %s: %w", c.path, err)
		}
	}
	return failure.New(failure.Locked, "%s: other runs took the lock at each of %d attempts; try again", c.path, lockTries)
}

func (c *Claim) writeLock(ctx context.Context, file string) error {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	b, err := json.Marshal(holder{ID: c.id, Host: host, PID: os.Getpid(), Scope: processScope(), Since: time.Now().UTC()})
	if err != nil {
		return err
	}
	return c.st.WriteFile(ctx, file, append(b, '\n'), true)
}

// lockState is a lock as it was read. Two states have equal signs unless the holder gave a sign
// of life between the reads.
type lockState struct {
	free     bool
	holder   holder // zero if the lock names no holder
	gone     bool   // whether the holder's directory is gone
	signs    string
	lastSign time.Time // time by the clock of the storage, for messages to people
}

// readLock reads the lock and lists its holder's directory.
func (d *Destination) readLock(ctx context.Context) (*lockState, error) {
	info, err := d.entry(ctx, manifest.LockName)
	if errors.Is(err, store.ErrNotExist) {
		return &lockState{free: true}, nil
	}
	if err != nil {
		return nil, err
	}
	s := &lockState{signs: fmt.Sprint(info.FileID, info.Size, info.ModTime.UnixNano()), lastSign: info.ModTime.UTC()}
	// A link, a directory or a file of other content is watched like a lock, because an older
	// program may be writing the lock.
	//guard: treats a dangling link as a lock
	if info.Link {
		return s, nil
	}
	text, err := d.st.ReadFile(ctx, d.pathOf(manifest.LockName), maxLock)
	if errors.Is(err, store.ErrNotExist) {
		return &lockState{free: true}, nil
	}
	//guard: does not take over a lock that it cannot read
	if err != nil && !store.Absent(err) {
		return nil, err
	}
	s.signs += string(text)
	//guard: rejects a lock that names no holder
	if json.Unmarshal(text, &s.holder) != nil || !manifest.IsID(s.holder.ID) {
		s.holder = holder{}
		return s, nil
	}
	names, err := d.st.List(ctx, path.Join(d.workDir(), s.holder.ID))
	s.gone = store.Absent(err)
	if err != nil && !s.gone {
		return nil, err
	}
	var signs strings.Builder
	signs.WriteString(s.signs)
	for _, info := range names {
		signs.WriteString("/" + info.Name)
		if strings.HasPrefix(info.Name, alive) && info.ModTime.After(s.lastSign) {
			s.lastSign = info.ModTime.UTC()
		}
	}
	s.signs = signs.String()
	return s, nil
}

// watch waits until the lock is free or its holder must be dead. It moves the lock of a dead
// holder away. Once the holder gives a sign of life, the error is failure.Locked.
func (c *Claim) watch(ctx context.Context, wait bool) error {
	var first *lockState
	for began := c.now(); ; {
		s, err := c.readLock(ctx)
		if err != nil {
			return fmt.Errorf("lock %s: %w", c.path, err)
		}
		if first == nil {
			first = s
		}
		left := c.times.Stale - c.now().Sub(began)
		switch {
		case s.free:
			return nil
		case s.gone, s.holder.dead(), s.signs == first.signs && left <= 0:
			return c.takeOver(ctx)
		//guard: keeps the lock of a holder that lives
		case s.signs != first.signs, !wait:
			return failure.New(failure.Locked, "%s is locked by %s", c.path, &s.holder)
		}
		if err := c.sleep(ctx, min(c.times.Heartbeat/pollsPerBeat, left)); err != nil {
			return err
		}
	}
}

// takeOver moves the lock into the claim's own directory. If another process has
// taken the lock by now, that process loses work, but no data.
func (c *Claim) takeOver(ctx context.Context) error {
	err := c.st.Rename(ctx, c.pathOf(manifest.LockName), c.newPath(lock))
	if err == nil || errors.Is(err, store.ErrNotExist) || errors.Is(err, store.ErrNoParent) {
		return nil
	}
	return fmt.Errorf("take over the lock of %s: %w", c.path, err)
}

// checkLock returns failure.Locked if the claim lost the lock.
func (c *Claim) checkLock(ctx context.Context) error {
	text, err := c.st.ReadFile(ctx, c.pathOf(manifest.LockName), maxLock)
	switch {
	case errors.Is(err, store.ErrNotExist):
		return failure.New(failure.Locked, "%s: the lock was taken over, and released since", c.path)
	//guard: reports failing storage, not another holder
	case err != nil && !store.Absent(err):
		return fmt.Errorf("lock %s: %w", c.path, err)
	}
	var h holder
	_ = json.Unmarshal(text, &h) // a malformed lock names no holder
	//guard: rejects the lock of another holder
	if h.ID != c.id {
		return failure.New(failure.Locked, "%s: the lock was taken over by %s", c.path, &h)
	}
	return nil
}

// lockedAt returns the time at which the lock was taken. The storage gave the lock this time, by the
// same clock as all other files.
func (c *Claim) lockedAt(ctx context.Context) (time.Time, error) {
	info, err := c.st.Stat(ctx, c.pathOf(manifest.LockName))
	return info.ModTime, err
}

// heartbeat gives signs of life until the claim ends or its directory is moved away. Errors of
// the store do not stop it.
func (c *Claim) heartbeat(ctx context.Context) {
	ticks := time.NewTicker(c.times.Heartbeat)
	defer ticks.Stop()
	for last := ""; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		next := c.newPath(alive)
		err := c.writeSign(ctx, next, last)
		//guard: stops a holder whose directory was moved
		if errors.Is(err, store.ErrNoParent) {
			c.cancel(failure.New(failure.Locked, "%s: the lock was taken over", c.path))
			return
		}
		if err == nil {
			last = next
		}
	}
}

// writeSign writes a sign of life and removes the previous one. It waits for the store for at
// most a quarter of Times.Stale, so that it does not delay the end of a claim.
func (c *Claim) writeSign(ctx context.Context, next, last string) error {
	ctx, cancel := context.WithTimeout(ctx, c.times.Stale/4)
	defer cancel()
	err := c.st.WriteFile(ctx, next, nil, true)
	if err == nil && last != "" {
		_ = c.st.Remove(ctx, last) // two signs do no harm
	}
	return err
}

// newPath returns a new path in the claim's own directory.
func (c *Claim) newPath(prefix string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	return path.Join(c.dir, fmt.Sprintf("%s-%08d", prefix, c.last))
}

// makeOwnDir makes the claim's own directory, unless the claim has one.
func (c *Claim) makeOwnDir(ctx context.Context) error {
	if c.dir != "" {
		return nil
	}
	liveHolders.Delete(c.id)
	for range makeTries {
		made, err := c.makeDestination(ctx)
		c.made = c.made || made
		if err == nil {
			c.id, err = c.makeUnique(ctx)
		}
		if err == nil {
			c.dir = path.Join(c.workDir(), c.id)
			liveHolders.Store(c.id, true)
			return nil
		}
		// A holder that ended may have removed the empty work directory.
		if !errors.Is(err, store.ErrNoParent) && !errors.Is(err, store.ErrNotExist) {
			return c.wrap(err)
		}
	}
	return failure.New(failure.Locked, "%s: other runs removed the work directory at each of %d attempts; try again", c.path, makeTries)
}

// move checks the lock and renames a file or directory into or out of the claim's own directory.
// Every change of a destination except _inputs is made this way.
func (c *Claim) move(ctx context.Context, from, to string) error {
	//guard: stops a former holder early
	if err := c.checkLock(ctx); err != nil {
		return err
	}
	return c.rename(ctx, from, to)
}

// moveNth is move for the n-th of many files. It checks the lock only for every lockEvery-th
// file, because a check only stops a former holder early and costs a call: once the claim is
// lost, one end of every rename is gone.
func (c *Claim) moveNth(ctx context.Context, n int, from, to string) error {
	if n%lockEvery == 0 {
		return c.move(ctx, from, to)
	}
	return c.rename(ctx, from, to)
}

// newDir makes a directory in the claim's own directory. It makes the directory elsewhere and
// renames it, so that a late call cannot make a directory again that was moved away.
func (c *Claim) newDir(ctx context.Context, prefix string) (string, error) {
	name, err := c.makeUnique(ctx)
	if err != nil {
		return "", err
	}
	to := c.newPath(prefix)
	return to, c.rename(ctx, path.Join(c.workDir(), name), to)
}
