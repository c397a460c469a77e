package main

import (
	"context"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// countingStore is a store that counts calls, by the step of a submission that made them. It
// delays each call like a name node.
type countingStore struct {
	store.Store
	delay time.Duration

	mu      sync.Mutex
	step    *step
	next    func(call, name string) string // returns the step that a call begins, or ""
	began   func(name string)
	running int
}

// calls counts calls by name.
type calls map[string]int

// count counts a call that is running until done is called.
func (c *countingStore) count(call, name string) (done func()) {
	c.mu.Lock()
	if s := c.next(call, name); s != "" {
		c.began(s)
	}
	c.step.calls[call]++
	c.running++
	c.step.atATime = max(c.step.atATime, c.running)
	c.mu.Unlock()
	if c.delay > 0 {
		time.Sleep(c.delay)
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.running--
	}
}

// Capabilities returns those of the inner store.
func (c *countingStore) Capabilities() store.Capabilities {
	inner := store.CapabilitiesOf(c.Store)
	sum := inner.Checksum
	inner.Checksum = func(ctx context.Context, name string) (string, error) {
		defer c.count("checksum", name)()
		return sum(ctx, name)
	}
	return inner
}

// Open implements store.Store.
func (c *countingStore) Open(ctx context.Context, name string) (store.File, error) {
	defer c.count("open", name)()
	return c.Store.Open(ctx, name)
}

// Create implements store.Store.
func (c *countingStore) Create(ctx context.Context, name string, o store.CreateOptions) (store.Writer, error) {
	defer c.count("create", name)()
	return c.Store.Create(ctx, name, o)
}

// Stat implements store.Store.
func (c *countingStore) Stat(ctx context.Context, name string) (store.Info, error) {
	defer c.count("stat", name)()
	return c.Store.Stat(ctx, name)
}

// List implements store.Store.
func (c *countingStore) List(ctx context.Context, name string) ([]store.Info, error) {
	defer c.count("list", name)()
	return c.Store.List(ctx, name)
}

// Rename implements store.Store.
func (c *countingStore) Rename(ctx context.Context, from, to string) error {
	defer c.count("rename", to)()
	return c.Store.Rename(ctx, from, to)
}

// Remove implements store.Store.
func (c *countingStore) Remove(ctx context.Context, name string) error {
	defer c.count("remove", name)()
	return c.Store.Remove(ctx, name)
}

// RemoveAll implements store.Store.
func (c *countingStore) RemoveAll(ctx context.Context, name string) error {
	defer c.count("remove all", name)()
	return c.Store.RemoveAll(ctx, name)
}

// Mkdir implements store.Store.
func (c *countingStore) Mkdir(ctx context.Context, name string) error {
	defer c.count("mkdir", name)()
	return c.Store.Mkdir(ctx, name)
}

// ReadFile implements store.Store.
func (c *countingStore) ReadFile(ctx context.Context, name string, most int64) ([]byte, error) {
	defer c.count("read", name)()
	return c.Store.ReadFile(ctx, name, most)
}

// WriteFile implements store.Store.
func (c *countingStore) WriteFile(ctx context.Context, name string, data []byte, exclusive bool) error {
	defer c.count("write", name)()
	return c.Store.WriteFile(ctx, name, data, exclusive)
}

// stepOf names the step that a call to the destination's store begins.
func stepOf(call, name string) string {
	base := path.Base(name)
	switch {
	case call == "mkdir" && strings.HasPrefix(base, "plan-"):
		return "which tasks are done"
	case call == "rename" && strings.HasPrefix(path.Base(path.Dir(name)), "taken-"):
		return "take the work, and look again"
	case call == "write" && strings.HasPrefix(base, manifest.PendingName+"-"):
		return "pending manifest, and renames"
	case call == "write" && strings.HasPrefix(base, "success"):
		return "_SUCCESS, and clearing up"
	}
	return ""
}
