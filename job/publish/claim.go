package publish

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// Claim is a process's hold on a destination: the lock, and the process's own directory, which
// is one end of the rename that makes a change.
type Claim struct {
	*Destination
	id    string
	dir   string // DEST/.rowtocol/<id>; empty until it is made
	made  bool   // whether this claim made the destination
	found contents
	state *State
	// inherits is set while dir may hold files of former holders that are still needed.
	inherits bool
	// completed are the IDs of outputs that the claim published for former holders.
	completed  []string
	held       context.Context // ends when the claim is lost
	cancel     context.CancelCauseFunc
	heartbeats sync.WaitGroup

	mu   sync.Mutex
	last int // number in the newest name
}

// Claim takes the lock, if need be from a holder that must be dead. It moves the
// directories of other holders away, completes an output that was being published,
// and moves out files that are not part of the output. The returned context ends when
// the claim is lost. If another holder lives, the error is failure.Locked.
// The caller ends the claim with Release.
func (d *Destination) Claim(ctx context.Context) (*Claim, context.Context, error) {
	return d.claim(ctx, true)
}

// Tidy removes leftovers of dead holders, unless the destination may be in use.
func (d *Destination) Tidy(ctx context.Context) error {
	c, held, err := d.claim(ctx, false)
	if errors.Is(err, failure.Locked) {
		return nil
	}
	if err != nil {
		return err
	}
	err = c.LockedOr(ctx, context.Cause(held))
	return errors.Join(err, c.Release(ctx))
}

func (d *Destination) claim(ctx context.Context, wait bool) (*Claim, context.Context, error) {
	c := &Claim{Destination: d}
	err := c.acquire(ctx, wait)
	//guard: removes nothing if a link or file is in place of the work directory
	if errors.Is(err, failure.Foreign) {
		return nil, nil, err
	}
	if err != nil {
		clean, cancel := store.Cleanup(ctx)
		defer cancel()
		c.removeOwnDir(clean)
		return nil, nil, err
	}
	c.held, c.cancel = context.WithCancelCause(ctx)
	c.heartbeats.Go(func() { c.heartbeat(c.held) })
	if err := c.recover(c.held); err != nil {
		err = c.LockedOr(ctx, err)
		clean, stop := store.Cleanup(ctx)
		defer stop()
		_ = c.Release(clean) // the first error counts
		return nil, nil, err
	}
	return c, c.held, nil
}

// State returns the state of the destination when it was claimed.
func (c *Claim) State() *State { return c.state }

// CompletedIDs returns the IDs of the outputs that former holders began to publish and that the
// claim completed.
func (c *Claim) CompletedIDs() []string { return c.completed }

// LockedOr returns an error that is failure.Locked instead of err if the claim was lost, because
// err is then a consequence. It returns nil if err is nil.
func (c *Claim) LockedOr(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	cause := context.Cause(c.held)
	//guard: reports a lost claim, not a run that was stopped
	if errors.Is(cause, failure.Locked) {
		return cause
	}
	clean, cancel := store.Cleanup(ctx)
	defer cancel()
	lost := c.checkLock(clean)
	//guard: reports a lost lock, not its consequence
	if errors.Is(lost, failure.Locked) {
		return lost
	}
	return err
}

// recover takes over the directories of former holders, completes or withdraws their
// outputs, and clears up the destination.
func (c *Claim) recover(ctx context.Context) error {
	if err := c.fence(ctx); err != nil {
		return c.wrap(err)
	}
	if err := c.collect(ctx, c.dir, &c.found); err != nil {
		return c.wrap(err)
	}
	if err := c.rollForward(ctx); err != nil {
		return err
	}
	if err := c.removeOthers(ctx); err != nil {
		return c.wrap(err)
	}
	c.inherits = false
	return c.clearUp(ctx)
}

// clearUp reads the state of the destination. It moves out files that are not part of the output,
// but not those of kept outputs.
func (c *Claim) clearUp(ctx context.Context) (err error) {
	for ended := true; ended; {
		if c.state, err = c.ReadState(ctx); err != nil {
			return err
		}
		//guard: removes nothing from a destination that is foreign or damaged
		if len(c.state.foreign) > 0 || c.state.damage != "" {
			return nil
		}
		if ended, err = c.endKept(ctx); err != nil {
			return c.wrap(err)
		}
	}
	if err := c.moveOut(ctx, c.state); err != nil {
		return err
	}
	if err := c.clearIncrements(ctx, c.state.uncounted); err != nil {
		return err
	}
	return c.clearDead(ctx, c.state.dead)
}

// fence moves the directories of all other holders into the claim's own, so that
// their calls under way fail.
func (c *Claim) fence(ctx context.Context) error {
	infos, err := c.st.List(ctx, c.workDir())
	if err != nil {
		return err
	}
	for _, info := range infos {
		_, kept := manifest.KeptID(info)
		switch {
		case info.Name == c.id:
			continue
		//guard: keeps the work of tasks
		case strings.HasPrefix(info.Name, planPrefix):
			continue
		//guard: keeps the files of kept outputs
		case kept:
			continue
		case strings.HasPrefix(info.Name, trashPrefix):
			err = c.st.RemoveAll(ctx, info.Path)
		default:
			//guard: keeps a pending output if the claim fails
			c.inherits = true
			//guard: stops late calls of a former holder
			err = c.move(ctx, info.Path, c.newPath(other))
		}
		if err != nil && !errors.Is(err, store.ErrNotExist) {
			return err
		}
	}
	return nil
}

// removeOthers removes the directories of former holders.
func (c *Claim) removeOthers(ctx context.Context) error {
	infos, err := c.st.List(ctx, c.dir)
	if err != nil {
		return err
	}
	for _, info := range infos {
		if strings.HasPrefix(info.Name, other) {
			if err := c.remove(ctx, info.Path); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeOwnDir removes the directory of a claim that did not get the lock, and the
// directories above it if they are empty.
func (c *Claim) removeOwnDir(ctx context.Context) {
	liveHolders.Delete(c.id)
	if c.dir != "" {
		_ = c.remove(ctx, c.dir) // after an error, the next holder removes it
	}
	c.removeEmptyDirs(ctx)
}

// removeEmptyDirs removes the work directory, and a destination that this claim made, if they
// are empty. Remove fails for a directory that is not empty.
func (c *Claim) removeEmptyDirs(ctx context.Context) {
	_ = c.st.Remove(ctx, c.workDir())
	if c.made {
		_ = c.st.Remove(ctx, c.path)
	}
}

// Release releases the lock and removes the claim's own directory, unless a pending output
// is in it. An error is about leftovers, which the next holder removes.
func (c *Claim) Release(ctx context.Context) error {
	c.cancel(nil)
	c.heartbeats.Wait()
	defer liveHolders.Delete(c.id)
	err := c.move(ctx, c.pathOf(manifest.LockName), c.newPath(lock))
	if errors.Is(err, failure.Locked) || errors.Is(err, store.ErrNoParent) {
		return nil // another holder has the claim's files, and clears them up
	}
	//guard: keeps files that a pending output needs
	if err == nil && !c.inherits && len(c.found.pending) == 0 {
		err = c.remove(ctx, c.dir)
	}
	c.removeEmptyDirs(ctx)
	return err
}

// Discard removes the staged work of a plan.
func (c *Claim) Discard(ctx context.Context, planID string) error {
	to := c.newPath(old)
	err := c.move(ctx, c.StagingPath(planID), to)
	if errors.Is(err, store.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return c.remove(ctx, to)
}

// clearDead removes the staged work of the plans that findDead found.
func (c *Claim) clearDead(ctx context.Context, plans []string) error {
	for _, id := range plans {
		if err := c.Discard(ctx, id); err != nil {
			return err
		}
	}
	return nil
}
