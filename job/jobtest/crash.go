package jobtest

import (
	"context"
	"errors"
	"sync"

	"github.com/rowtocol/rowtocol/store"
)

// crash is a store that stops working at its n-th change, as for a process
// that is killed: that call and all later changes fail.
type crash struct {
	store.Store
	late bool

	mu   sync.Mutex
	left int // changes until the end
	dead bool
}

var errCrash = errors.New("killed")

func (c *crash) change(do func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return errCrash
	}
	c.left--
	if c.left > 0 {
		return do()
	}
	c.dead = true
	if c.late {
		_ = do()
	}
	return errCrash
}

// Create implements store.Store.
func (c *crash) Create(ctx context.Context, p string, o store.CreateOptions) (w store.Writer, err error) {
	err = c.change(func() error {
		w, err = c.Store.Create(ctx, p, o)
		return err
	})
	if err != nil {
		return nil, err
	}
	return crashWriter{w, c}, nil
}

// Rename implements store.Store.
func (c *crash) Rename(ctx context.Context, from, to string) error {
	return c.change(func() error { return c.Store.Rename(ctx, from, to) })
}

// Remove implements store.Store.
func (c *crash) Remove(ctx context.Context, p string) error {
	return c.change(func() error { return c.Store.Remove(ctx, p) })
}

// RemoveAll implements store.Store.
func (c *crash) RemoveAll(ctx context.Context, p string) error {
	return c.change(func() error { return c.Store.RemoveAll(ctx, p) })
}

// Mkdir implements store.Store.
func (c *crash) Mkdir(ctx context.Context, p string) error {
	return c.change(func() error { return c.Store.Mkdir(ctx, p) })
}

// WriteFile implements store.Store.
func (c *crash) WriteFile(ctx context.Context, p string, b []byte, exclusive bool) error {
	return c.change(func() error { return c.Store.WriteFile(ctx, p, b, exclusive) })
}

type crashWriter struct {
	store.Writer
	c *crash
}

func (w crashWriter) Write(p []byte) (n int, err error) {
	n = len(p)
	err = w.c.change(func() (err error) {
		n, err = w.Writer.Write(p)
		return err
	})
	return n, err
}

func (w crashWriter) Commit(ctx context.Context) error {
	return w.c.change(func() error { return w.Writer.Commit(ctx) })
}

func (w crashWriter) Abort() error {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	if w.c.dead {
		return errCrash
	}
	return w.Writer.Abort()
}
