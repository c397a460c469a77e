package memstore

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/rowtocol/rowtocol/store"
)

// ErrStopped is the error of all calls of a client that has ended.
var ErrStopped = errors.New("the process has ended")

// Client is the disk as one process uses it. It may be used concurrently.
type Client struct {
	disk    *Disk
	boot    int
	stopped bool
	stopAt  int // the point that ends the client, counted from 1; 0 for none
	passed  int // points
}

var _ store.Store = (*Client)(nil)

// Client returns the disk as a new process uses it.
func (d *Disk) Client() *Client {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &Client{disk: d, boot: d.boot}
}

// StopAt ends the client at its n-th point from its start, counted from 1.
func (c *Client) StopAt(n int) {
	c.disk.mu.Lock()
	defer c.disk.mu.Unlock()
	c.stopAt = n
}

// Stop ends the client.
func (c *Client) Stop() {
	c.disk.mu.Lock()
	defer c.disk.mu.Unlock()
	c.stopped = true
}

// Stopped reports whether the client has ended.
func (c *Client) Stopped() bool {
	c.disk.mu.Lock()
	defer c.disk.mu.Unlock()
	return c.ended()
}

func (c *Client) ended() bool { return c.stopped || c.boot != c.disk.boot }

// passPoint passes a point, and reports whether the client lives on.
func (c *Client) passPoint() bool {
	c.passed++
	c.stopped = c.stopped || c.passed == c.stopAt
	return !c.ended()
}

// read makes a call that changes nothing.
func (c *Client) read(ctx context.Context, op, p string, do func() error) error {
	c.disk.mu.Lock()
	defer c.disk.mu.Unlock()
	err := ctx.Err()
	if err == nil && c.ended() {
		err = ErrStopped
	}
	if err == nil {
		err = do()
	}
	if err != nil {
		return &fs.PathError{Op: op, Path: p, Err: err}
	}
	return nil
}

// change makes a call that changes something. do returns when it is cut short,
// too.
func (c *Client) change(ctx context.Context, op, p string, do func() error) error {
	return c.read(ctx, op, p, func() error {
		if !c.passPoint() {
			return ErrStopped
		}
		if err := do(); err != nil {
			return err
		}
		if c.ended() {
			return ErrStopped
		}
		return nil
	})
}

// Open implements store.Store.
func (c *Client) Open(ctx context.Context, p string) (f store.File, err error) {
	err = c.read(ctx, "open", p, func() error {
		n, err := c.disk.find(p)
		if err == nil && n.dir {
			err = store.ErrNotRegular
		}
		if err == nil {
			f = &file{ctx: ctx, c: c, name: p, data: n.data, is: store.Identity{ID: n.id, Changed: n.changed.UnixNano()}}
		}
		return err
	})
	return f, err
}

// Stat implements store.Store.
func (c *Client) Stat(ctx context.Context, p string) (info store.Info, err error) {
	err = c.read(ctx, "stat", p, func() error {
		n, err := c.disk.find(p)
		if err == nil {
			info = n.info(p)
		}
		return err
	})
	return info, err
}

// List implements store.Store.
func (c *Client) List(ctx context.Context, dir string) (infos []store.Info, err error) {
	err = c.read(ctx, "list", dir, func() error {
		n, err := c.disk.find(dir)
		switch {
		case err != nil:
			return err
		case !n.dir:
			return syscall.ENOTDIR
		}
		for _, name := range slices.Sorted(maps.Keys(n.entries)) {
			infos = append(infos, n.entries[name].info(path.Join(dir, name)))
		}
		return nil
	})
	return infos, err
}

// ReadFile implements store.Store.
func (c *Client) ReadFile(ctx context.Context, p string, max int64) (data []byte, err error) {
	err = c.read(ctx, "read", p, func() error {
		n, err := c.disk.find(p)
		switch {
		case err != nil:
			return err
		case n.dir:
			return store.ErrNotRegular
		case int64(len(n.data)) > max:
			return store.ErrTooLarge
		}
		data = slices.Clone(n.data)
		return nil
	})
	return data, err
}

// Capabilities say that the disk has checksums.
func (c *Client) Capabilities() store.Capabilities { return store.Capabilities{Checksum: c.checksum} }

func (c *Client) checksum(ctx context.Context, p string) (sum string, err error) {
	err = c.read(ctx, "checksum", p, func() error {
		n, err := c.disk.find(p)
		if err == nil && n.dir {
			err = store.ErrNotRegular
		}
		if err == nil {
			sum = fmt.Sprintf("SHA-256:%x", sha256.Sum256(n.data))
		}
		return err
	})
	return sum, err
}

// Create implements store.Store.
func (c *Client) Create(ctx context.Context, p string, o store.CreateOptions) (w store.Writer, err error) {
	err = c.change(ctx, "create", p, func() error {
		at, there, err := c.disk.place(p)
		if err == nil && there != nil {
			err = fs.ErrExist
		}
		if err != nil {
			return err
		}
		n := c.disk.newNode(false)
		c.disk.setName(at, n)
		c.passPoint()
		w = store.NewWriter(ctx, p, o.Size, &upload{ctx: ctx, c: c, name: p, n: n})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// Rename implements store.Store.
func (c *Client) Rename(ctx context.Context, from, to string) error {
	return c.change(ctx, "rename to "+to, from, func() error {
		old, n, err := c.disk.place(from)
		if errors.Is(err, store.ErrNoParent) || err == nil && n == nil {
			return fs.ErrNotExist
		}
		if err != nil {
			return err
		}
		target, there, err := c.disk.place(to)
		switch {
		case err != nil:
			return err
		case there != nil:
			return fs.ErrExist
		case strings.HasPrefix(path.Clean("/"+to), path.Clean("/"+from)+"/"):
			return syscall.EINVAL
		}
		// Some file systems take the new name first: see store.Store.
		first := n
		if n.dir {
			first = c.disk.newNode(true)
		}
		c.disk.setName(target, first)
		if !c.passPoint() {
			return nil
		}
		c.disk.apply(&change{to: map[place]*node{old: nil, target: n}})
		if c.passPoint() {
			c.disk.sync(target.dir)
			c.disk.sync(old.dir)
		}
		return nil
	})
}

// Remove implements store.Store.
func (c *Client) Remove(ctx context.Context, p string) error {
	return c.change(ctx, "remove", p, func() error {
		at, n, err := c.disk.place(p)
		switch {
		case errors.Is(err, store.ErrNoParent) || err == nil && n == nil:
			return fs.ErrNotExist
		case err != nil:
			return err
		case len(n.entries) > 0:
			return syscall.ENOTEMPTY
		}
		c.disk.removeName(at)
		if c.passPoint() {
			c.disk.sync(at.dir)
		}
		return nil
	})
}

// RemoveAll implements store.Store.
func (c *Client) RemoveAll(ctx context.Context, p string) error {
	return c.change(ctx, "remove all", p, func() error {
		at, n, err := c.disk.place(p)
		if errors.Is(err, store.ErrNoParent) {
			return nil
		}
		if err != nil {
			return err
		}
		if n == nil || c.removeAll(at) {
			c.disk.sync(at.dir)
		}
		return nil
	})
}

// removeAll reports whether the client lives on.
func (c *Client) removeAll(at place) bool {
	n := at.dir.entries[at.name]
	for _, name := range slices.Sorted(maps.Keys(n.entries)) {
		if !c.removeAll(place{n, name}) {
			return false
		}
	}
	c.disk.removeName(at)
	return c.passPoint()
}

// Mkdir implements store.Store.
func (c *Client) Mkdir(ctx context.Context, p string) error {
	return c.change(ctx, "mkdir", p, func() error {
		at, there, err := c.disk.place(p)
		if err != nil {
			return err
		}
		if there == nil {
			c.disk.setName(at, c.disk.newNode(true))
			if !c.passPoint() {
				return nil
			}
		} else {
			err = fs.ErrExist
		}
		// Another client may have ended before it synced these.
		if above, findErr := c.disk.find(path.Join("/", p, "../..")); findErr == nil {
			c.disk.sync(above)
		}
		c.disk.sync(at.dir)
		return err
	})
}

// WriteFile implements store.Store.
func (c *Client) WriteFile(ctx context.Context, p string, data []byte, exclusive bool) error {
	return c.change(ctx, "write", p, func() error {
		at, there, err := c.disk.place(p)
		switch {
		case err != nil:
			return err
		case there != nil && there.dir:
			return store.ErrNotRegular
		case there != nil && exclusive:
			return fs.ErrExist
		}
		temp := place{at.dir, path.Base(store.TempName(p))}
		n := c.disk.newNode(false)
		n.data = slices.Clone(data)
		c.disk.setName(temp, n)
		if !c.passPoint() {
			return nil
		}
		n.synced = len(data)
		c.disk.sync(at.dir)
		if !c.passPoint() {
			return nil
		}
		c.disk.apply(&change{to: map[place]*node{temp: nil, at: n}})
		if c.passPoint() {
			c.disk.sync(at.dir)
		}
		return nil
	})
}
