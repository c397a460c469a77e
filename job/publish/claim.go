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

// Claim is a process's hold on a destination: the lock, and the directory of its
// own through which every change goes.
type Claim struct {
	*Destination
	id    string
	dir   string // DEST/.rowtocol/<id>; empty without one
	made  bool   // this claim made the destination
	found contents
	state *State
	// inherits is set while dir may hold what was another holder's and is not settled.
	inherits bool
	// completed are the outputs that the claim published for processes that died.
	completed  []string
	held       context.Context // ends when the claim is lost
	cancel     context.CancelCauseFunc
	heartbeats sync.WaitGroup

	mu   sync.Mutex
	last int // number that a name was made with
}

// Claim takes the lock, if need be from a holder that must be dead, moves away
// what other holders had, completes an output that was being published, and
// moves out what is not part of the output. The context that it returns ends
// when the claim is lost. A holder that lives is failure.Locked.
//
// The caller ends the claim with Release.
func (d *Destination) Claim(ctx context.Context) (*Claim, context.Context, error) {
	return d.claim(ctx, true)
}

// Tidy removes what dead holders left, unless the destination may be in use.
func (d *Destination) Tidy(ctx context.Context) error {
	c, held, err := d.claim(ctx, false)
	if errors.Is(err, failure.Locked) {
		return nil
	}
	if err != nil {
		return err
	}
	err = c.Judge(ctx, context.Cause(held))
	return errors.Join(err, c.Release(ctx))
}

func (d *Destination) claim(ctx context.Context, wait bool) (*Claim, context.Context, error) {
	c := &Claim{Destination: d}
	err := c.acquire(ctx, wait)
	//guard: keeps what others put in place of the directory of holders
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
		err = c.Judge(ctx, err)
		clean, stop := store.Cleanup(ctx)
		defer stop()
		_ = c.Release(clean) // the error of the work counts
		return nil, nil, err
	}
	return c, c.held, nil
}

// State is what the destination held when the claim was taken.
func (c *Claim) State() *State { return c.state }

// Completed are the IDs of outputs that processes of former holders had begun to
// publish, and that the claim published.
func (c *Claim) Completed() []string { return c.completed }

// Judge returns failure.Locked in place of err if the claim was lost: what else
// went wrong is a consequence.
func (c *Claim) Judge(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	cause := context.Cause(c.held)
	//guard: tells a run that is to be tried again from a stopped one
	if errors.Is(cause, failure.Locked) {
		return cause
	}
	clean, cancel := store.Cleanup(ctx)
	defer cancel()
	lost := c.checkLock(clean)
	//guard: tells a run that is to be tried again from one that cannot go on
	if errors.Is(lost, failure.Locked) {
		return lost
	}
	return err
}

// recover takes over what other holders left, completes or withdraws their outputs, and
// reads the state of the destination.
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

// clearUp looks at the destination, and moves out what is not part of the output.
func (c *Claim) clearUp(ctx context.Context) (err error) {
	if c.state, err = c.Look(ctx); err != nil {
		return err
	}
	//guard: removes nothing from a destination that is refused
	if len(c.state.foreign) > 0 || c.state.damage != "" {
		return nil
	}
	if err := c.moveOut(ctx, c.state); err != nil {
		return err
	}
	if err := c.clearIncrements(ctx, c.state.uncounted); err != nil {
		return err
	}
	return c.clearDead(ctx, c.state.dead)
}

// fence moves all other holders' directories into the claim's own, so that
// whatever they still have under way fails.
func (c *Claim) fence(ctx context.Context) error {
	infos, err := c.st.List(ctx, c.workDir())
	if err != nil {
		return err
	}
	for _, info := range infos {
		switch {
		case info.Name == c.id:
			continue
		//guard: keeps the work of tasks
		case strings.HasPrefix(info.Name, planPrefix):
			continue
		case strings.HasPrefix(info.Name, trashPrefix):
			err = c.st.RemoveAll(ctx, info.Path)
		default:
			//guard: keeps an output that waits to be published if the claim fails
			c.inherits = true
			//guard: fences a former holder's late calls
			err = c.move(ctx, info.Path, c.newPath(other))
		}
		if err != nil && !errors.Is(err, store.ErrNotExist) {
			return err
		}
	}
	return nil
}

// removeOthers removes what is left of former holders.
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

// removeOwnDir removes the directory of a claim that did not get the lock, and what
// was made for it.
func (c *Claim) removeOwnDir(ctx context.Context) {
	liveHolders.Delete(c.id)
	if c.dir != "" {
		_ = c.remove(ctx, c.dir) // else the next holder does
	}
	c.removeEmptyDirs(ctx)
}

// removeEmptyDirs removes the root, and a destination that this claim made, if there
// is nothing in them: a store removes no directory that is not empty.
func (c *Claim) removeEmptyDirs(ctx context.Context) {
	_ = c.st.Remove(ctx, c.workDir())
	if c.made {
		_ = c.st.Remove(ctx, c.path)
	}
}

// Release releases the lock and removes the claim's own directory, unless an output waits in
// it to be published. An error is about leftovers, which the next holder removes.
func (c *Claim) Release(ctx context.Context) error {
	c.cancel(nil)
	c.heartbeats.Wait()
	defer liveHolders.Delete(c.id)
	err := c.move(ctx, c.pathOf(manifest.LockName), c.newPath(lock))
	if errors.Is(err, failure.Locked) || errors.Is(err, store.ErrNoParent) {
		return nil // others have what was the claim's, and clear it up
	}
	//guard: keeps what an output still needs that is being published
	if err == nil && !c.inherits && len(c.found.pending) == 0 {
		err = c.remove(ctx, c.dir)
	}
	c.removeEmptyDirs(ctx)
	return err
}

// Discard removes what tasks of a plan left.
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

// clearDead removes the work that findDead noted.
func (c *Claim) clearDead(ctx context.Context, dead []string) error {
	for _, id := range dead {
		if err := c.Discard(ctx, id); err != nil {
			return err
		}
	}
	return nil
}
