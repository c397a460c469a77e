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
	"github.com/rowtocol/rowtocol/store/memstore/disk"
)

// ErrStopped is returned by all calls of a client that has ended.
var ErrStopped = errors.New("the process has ended")

// Client is the disk as one process uses it. It may be used concurrently.
type Client struct {
	disk    *Disk
	boot    int
	stopped bool
	stopAt  int // number of the point that ends the client, from 1 on; 0 means none
	passed  int // number of points that were passed
}

var _ store.Store = (*Client)(nil)

// Client returns the disk as a new process uses it.
func (d *Disk) Client() *Client {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &Client{disk: d, boot: d.boot}
}

// StopAt ends the client at its n-th point, counted from 1 at its start.
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

// passPoint passes a point, and reports whether the client is still running.
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

// change makes a call that changes something. do also returns when it is interrupted.
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
		n, err := c.disk.Find(p)
		if err == nil && n.Dir {
			err = store.ErrNotRegular
		}
		if err == nil {
			f = &file{ctx: ctx, c: c, name: p, data: n.Data, identity: store.Identity{ID: n.ID, Changed: n.Changed.UnixNano()}}
		}
		return err
	})
	return f, err
}

// Stat implements store.Store.
func (c *Client) Stat(ctx context.Context, p string) (info store.Info, err error) {
	err = c.read(ctx, "stat", p, func() error {
		n, err := c.disk.Find(p)
		if err == nil {
			info = infoOf(p, n)
		}
		return err
	})
	return info, err
}

// List implements store.Store.
func (c *Client) List(ctx context.Context, dir string) (infos []store.Info, err error) {
	err = c.read(ctx, "list", dir, func() error {
		n, err := c.disk.Find(dir)
		switch {
		case err != nil:
			return err
		case !n.Dir:
			return syscall.ENOTDIR
		}
		for _, name := range slices.Sorted(maps.Keys(n.Entries)) {
			infos = append(infos, infoOf(path.Join(dir, name), n.Entries[name]))
		}
		return nil
	})
	return infos, err
}

// ReadFile implements store.Store.
func (c *Client) ReadFile(ctx context.Context, p string, max int64) (data []byte, err error) {
	err = c.read(ctx, "read", p, func() error {
		n, err := c.disk.Find(p)
		switch {
		case err != nil:
			return err
		case n.Dir:
			return store.ErrNotRegular
		case int64(len(n.Data)) > max:
			return store.ErrTooLarge
		}
		data = slices.Clone(n.Data)
		return nil
	})
	return data, err
}

// Capabilities reports that the disk has checksums.
func (c *Client) Capabilities() store.Capabilities { return store.Capabilities{Checksum: c.checksum} }

func (c *Client) checksum(ctx context.Context, p string) (sum string, err error) {
	err = c.read(ctx, "checksum", p, func() error {
		n, err := c.disk.Find(p)
		if err == nil && n.Dir {
			err = store.ErrNotRegular
		}
		if err == nil {
			sum = fmt.Sprintf("SHA-256:%x", sha256.Sum256(n.Data))
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
		n := c.disk.NewNode(false)
		c.disk.SetName(at, n)
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
		// Some file systems add the new name first: see store.Store.
		first := n
		if n.Dir {
			first = c.disk.NewNode(true)
		}
		c.disk.SetName(target, first)
		if !c.passPoint() {
			return nil
		}
		c.disk.Apply(&disk.Change{To: map[disk.Place]*disk.Node{old: nil, target: n}})
		if c.passPoint() {
			c.disk.Sync(target.Dir)
			c.disk.Sync(old.Dir)
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
		case len(n.Entries) > 0:
			return syscall.ENOTEMPTY
		}
		c.disk.RemoveName(at)
		if c.passPoint() {
			c.disk.Sync(at.Dir)
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
			c.disk.Sync(at.Dir)
		}
		return nil
	})
}

// removeAll reports whether the client is still running.
func (c *Client) removeAll(at disk.Place) bool {
	n := at.Dir.Entries[at.Name]
	for _, name := range slices.Sorted(maps.Keys(n.Entries)) {
		if !c.removeAll(disk.Place{Dir: n, Name: name}) {
			return false
		}
	}
	c.disk.RemoveName(at)
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
			c.disk.SetName(at, c.disk.NewNode(true))
			if !c.passPoint() {
				return nil
			}
		} else {
			err = fs.ErrExist
		}
		// Another client may have ended before it synced these.
		if above, findErr := c.disk.Find(path.Join("/", p, "../..")); findErr == nil {
			c.disk.Sync(above)
		}
		c.disk.Sync(at.Dir)
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
		case there != nil && there.Dir:
			return store.ErrNotRegular
		case there != nil && exclusive:
			return fs.ErrExist
		}
		temp := disk.Place{Dir: at.Dir, Name: path.Base(store.TempName(p))}
		n := c.disk.NewNode(false)
		n.Data = slices.Clone(data)
		c.disk.SetName(temp, n)
		if !c.passPoint() {
			return nil
		}
		n.Synced = len(data)
		c.disk.Sync(at.Dir)
		if !c.passPoint() {
			return nil
		}
		c.disk.Apply(&disk.Change{To: map[disk.Place]*disk.Node{temp: nil, at: n}})
		if c.passPoint() {
			c.disk.Sync(at.Dir)
		}
		return nil
	})
}
