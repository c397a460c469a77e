package memstore

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"syscall"

	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/memstore/disk"
)

// file is an open file.
type file struct {
	ctx      context.Context
	c        *Client
	name     string
	data     []byte
	identity store.Identity
	closed   bool
}

func (f *file) Name() string { return f.name }

// Identity implements store.Identified.
func (f *file) Identity() store.Identity { return f.identity }

func (f *file) Size() int64 { return int64(len(f.data)) }

func (f *file) ReadAt(p []byte, off int64) (n int, err error) {
	err = f.c.read(f.ctx, "read", f.name, func() error {
		switch {
		case f.closed:
			return fs.ErrClosed
		case off < 0:
			return syscall.EINVAL
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	if n = copy(p, f.data[min(off, f.Size()):]); n < len(p) {
		err = io.EOF
	}
	return n, err
}

func (f *file) Close() error {
	f.c.disk.mu.Lock()
	defer f.c.disk.mu.Unlock()
	f.closed = true
	return nil
}

// upload writes a file, which may be renamed meanwhile. As on local disk, Commit and
// Abort act on the name under which it was created.
type upload struct {
	ctx  context.Context
	c    *Client
	name string
	n    *disk.Node
}

func (u *upload) Write(p []byte) (n int, err error) {
	err = u.c.change(u.ctx, "write", u.name, func() error {
		half := len(p) / 2
		u.n.Data = append(u.n.Data, p[:half]...)
		if u.c.passPoint() {
			u.n.Data = append(u.n.Data, p[half:]...)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

func (u *upload) Finish(ctx context.Context, _ int64) error {
	return u.c.change(ctx, "commit", u.name, func() error {
		u.n.Synced = len(u.n.Data)
		if !u.c.passPoint() {
			return nil
		}
		dir, err := u.c.disk.Find(path.Dir(u.name))
		if err == nil {
			u.c.disk.Sync(dir)
		}
		return err
	})
}

func (u *upload) Abandon() error {
	return u.c.change(context.WithoutCancel(u.ctx), "abort", u.name, func() error {
		at, n, err := u.c.disk.place(u.name)
		if errors.Is(err, store.ErrNoParent) || err == nil && n == nil {
			err = fs.ErrNotExist
		}
		if err == nil {
			u.c.disk.RemoveName(at)
			u.c.passPoint()
		}
		return err
	})
}
