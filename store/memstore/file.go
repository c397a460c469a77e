package memstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"syscall"

	"github.com/rowtocol/rowtocol/store"
)

// file is an open file.
type file struct {
	ctx    context.Context
	c      *Client
	name   string
	data   []byte
	is     store.Identity
	closed bool
}

func (f *file) Name() string { return f.name }

// Identity implements store.Identified.
func (f *file) Identity() store.Identity { return f.is }

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

// writer writes a file, under whatever name it has by now. As on local disk, it
// commits and removes what has the name that it was created under.
type writer struct {
	ctx  context.Context
	c    *Client
	name string
	n    *node
	size int64 // promised, or -1
	err  error // the first
	done bool  // committed or aborted
}

func (w *writer) Write(p []byte) (n int, err error) {
	err = w.change(w.ctx, "write", func() error {
		half := len(p) / 2
		w.n.data = append(w.n.data, p[:half]...)
		if w.c.passPoint() {
			w.n.data = append(w.n.data, p[half:]...)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

func (w *writer) Commit(ctx context.Context) error {
	err := w.change(ctx, "commit", func() error {
		if n := int64(len(w.n.data)); w.size >= 0 && n != w.size {
			return fmt.Errorf("%d bytes were written, %d were promised", n, w.size)
		}
		w.n.synced = len(w.n.data)
		if !w.c.passPoint() {
			return nil
		}
		dir, err := w.c.disk.find(path.Dir(w.name))
		if err == nil {
			w.c.disk.sync(dir)
		}
		return err
	})
	w.done = w.done || err == nil
	return err
}

// change makes a call unless one failed before.
func (w *writer) change(ctx context.Context, op string, do func() error) error {
	if w.err == nil && w.done {
		return &fs.PathError{Op: op, Path: w.name, Err: fs.ErrClosed}
	}
	if w.err == nil {
		w.err = w.c.change(ctx, op, w.name, do)
	}
	return w.err
}

func (w *writer) Abort() error {
	if w.done {
		return nil
	}
	w.done = true
	return w.c.change(context.WithoutCancel(w.ctx), "abort", w.name, func() error {
		at, n, err := w.c.disk.place(w.name)
		if errors.Is(err, store.ErrNoParent) || err == nil && n == nil {
			err = fs.ErrNotExist
		}
		if err == nil {
			w.c.disk.removeName(at)
			w.c.passPoint()
		}
		return err
	})
}
