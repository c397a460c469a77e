package publish

import (
	"context"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/store"
)

// Unlock takes the lock away from a holder, by its ID, that is known to be dead. It
// returns that lock; nil if there is none any more. That the lock is another
// holder's is failure.Locked, and so is a sign of life of this one, for which it
// looks during one and a half times of Times.Heartbeat, unless its process is known
// to have ended. A destination that does not exist is failure.Input.
//
// A holder that lives after all finds out before its next change, and ends with
// failure.Locked: the next one goes on with its work.
func (d *Destination) Unlock(ctx context.Context, id string) (*Lock, error) {
	if err := d.exists(ctx); err != nil {
		return nil, d.wrap(err)
	}
	lock, err := d.watchHolder(ctx, id)
	if lock == nil || err != nil {
		return nil, d.wrap(err)
	}
	c := &Claim{Destination: d}
	err = c.makeOwnDir(ctx)
	if err == nil {
		// Watching took a while: the lock may have changed hands.
		if _, err = d.readLockOf(ctx, id); err == nil {
			err = c.takeOver(ctx)
		}
	}
	clean, cancel := store.Cleanup(ctx)
	defer cancel()
	c.removeOwnDir(clean)
	return lock, d.wrap(err)
}

// readLockOf sees the lock, which must be that of a holder, or free.
func (d *Destination) readLockOf(ctx context.Context, id string) (*lockState, error) {
	s, err := d.readLock(ctx)
	if err != nil {
		return nil, err
	}
	//guard: keeps the lock of a holder that lives
	if !s.free && s.holder.ID != id {
		return nil, failure.New(failure.Locked, "%s is locked by %s, whose ID is %q, and not by %s", d.path, &s.holder, s.holder.ID, id)
	}
	return s, nil
}

// watchHolder returns the lock of a holder once that gave no sign of life for long
// enough; nil if the lock is free.
func (d *Destination) watchHolder(ctx context.Context, id string) (*Lock, error) {
	const beats = 1.5
	var first *lockState
	for began := d.now(); ; {
		s, err := d.readLockOf(ctx, id)
		if err != nil {
			return nil, err
		}
		if first == nil {
			first = s
		}
		lock := s.lock()
		switch {
		case lock == nil, lock.Dead:
			return lock, nil
		//guard: keeps the lock of a holder that lives
		case s.signs != first.signs:
			return nil, failure.New(failure.Locked, "%s is locked by %s, which gave a sign of life just now", d.path, &s.holder)
		case d.now().Sub(began).Seconds() >= beats*d.times.Heartbeat.Seconds():
			return lock, nil
		}
		if err := d.sleep(ctx, d.times.Heartbeat/pollsPerBeat); err != nil {
			return nil, err
		}
	}
}
