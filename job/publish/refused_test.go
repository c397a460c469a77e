package publish

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"testing"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// refuseLockReads is a store that fails to read locks with err, if that is set.
type refuseLockReads struct {
	store.Store
	err error
}

func (r *refuseLockReads) ReadFile(ctx context.Context, p string, max int64) ([]byte, error) {
	if r.err != nil && path.Base(p) == manifest.LockName {
		return nil, fmt.Errorf("read %s: %w", p, r.err)
	}
	return r.Store.ReadFile(ctx, p, max)
}

// TestUnreadableLock checks that storage that refuses to read a lock, because credentials
// expired, is distinguished from the lock of another holder.
func TestUnreadableLock(t *testing.T) {
	for err, want := range map[error]error{
		fs.ErrPermission:      failure.Refused,
		store.ErrUnavailable:  failure.Storage,
		store.ErrNotRegular:   failure.Locked,
		store.ErrTooLarge:     failure.Locked,
		store.ErrBeingWritten: failure.Locked,
	} {
		_, inner := inMemory(t)
		st := &refuseLockReads{Store: inner}
		c, held := mustClaim(t, at(st, "/parent/dest"))
		st.err = err
		got := c.checkLock(held)
		if failure.KindOf(got) != want || want != failure.Locked && !errors.Is(got, err) {
			t.Errorf("checking a lock whose read fails with %v: got %v, want kind %v", err, got, want)
		}
		if _, got := c.readLock(held); (got == nil) != (want == failure.Locked) {
			t.Errorf("waiting for a lock whose read fails with %v: got %v", err, got)
		}
		st.err = nil
		mustRelease(t, c)
	}
}
