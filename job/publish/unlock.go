package publish

import (
	"context"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/store"
)

// Unlock takes the lock away from the holder with an ID, which the caller knows to be
// dead. It returns that lock, or nil if the destination is not locked. If another holder
// has the lock, the error is failure.Locked. Unless the holder is known to be gone, Unlock
// watches it for one and a half times Times.Heartbeat. If the holder gives a sign of life in
// that time, the error is failure.Locked. If the destination does not exist, the error is
// failure.Input.
//
// If the holder lives after all, it finds out before its next change, and ends with
// failure.Locked. The next holder continues its work.
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
		// Watching took a while, so another process may have the lock by now.
		if _, err = d.readLockOf(ctx, id); err == nil {
			err = c.takeOver(ctx)
		}
	}
	clean, cancel := store.Cleanup(ctx)
	defer cancel()
	c.removeOwnDir(clean)
	return lock, d.wrap(err)
}

// readLockOf reads the lock, which must be free or held by the holder with an ID.
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

// watchHolder returns the lock of a holder after it gave no sign of life for long
// enough, or nil if the lock is free.
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
