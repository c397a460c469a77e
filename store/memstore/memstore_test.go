package memstore_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/memstore"
	"github.com/rowtocol/rowtocol/store/storetest"
)

func TestSuite(t *testing.T) {
	storetest.Run(t, func(t *testing.T) (store.Store, string) {
		c := memstore.New().Client()
		testenv.Must(t, storetest.MkdirAll(t.Context(), c, "/a/b"))
		return c, "/a/b"
	})
}

// newDisk returns a disk with d/x, d/y and e/full/f, whose contents are their names.
func newDisk(t *testing.T) *memstore.Disk {
	t.Helper()
	disk := memstore.New()
	c, ctx := disk.Client(), t.Context()
	err := errors.Join(c.Mkdir(ctx, "/d"), c.Mkdir(ctx, "/e"), c.Mkdir(ctx, "/e/full"))
	for _, name := range []string{"d/x", "d/y", "e/full/f"} {
		err = errors.Join(err, c.WriteFile(ctx, name, []byte(name), true))
	}
	testenv.Must(t, err)
	return disk
}

// tree returns what a client sees: "name=content" and "directory/", sorted.
func tree(t *testing.T, c *memstore.Client) string {
	t.Helper()
	var names []string
	var walk func(dir string)
	walk = func(dir string) {
		infos, err := c.List(t.Context(), "/"+dir)
		testenv.Must(t, err)
		for _, info := range infos {
			name := path.Join(dir, info.Name)
			if info.Dir {
				names = append(names, name+"/")
				walk(name)
				continue
			}
			data, err := c.ReadFile(t.Context(), name, 1<<20)
			testenv.Must(t, err)
			if store.IsTemp(info.Name) {
				name = path.Join(dir, ".tmp")
			}
			names = append(names, fmt.Sprintf("%s=%s", name, data))
		}
	}
	walk("")
	slices.Sort(names)
	return strings.Join(names, " ")
}

const before = "d/ d/x=d/x d/y=d/y e/ e/full/ e/full/f=e/full/f"

// create makes a file of 4 bytes in two writes.
func create(ctx context.Context, c *memstore.Client, name string) error {
	w, err := c.Create(ctx, name, store.CreateOptions{Size: 4})
	for _, half := range []string{"ab", "cd"} {
		if err == nil {
			_, err = w.Write([]byte(half))
		}
	}
	if err != nil {
		return err
	}
	return w.Commit(ctx)
}

var calls = []struct {
	name string
	do   func(ctx context.Context, c *memstore.Client) error
	// after is what the call leaves. If the end of its process or the power
	// interrupts it, it leaves after, before, or one of short.
	after string
	short []string
}{
	{
		"create", func(ctx context.Context, c *memstore.Client) error { return create(ctx, c, "d/n") },
		strings.Replace(before, "d/x", "d/n=abcd d/x", 1),
		[]string{
			strings.Replace(before, "d/x", "d/n= d/x", 1), strings.Replace(before, "d/x", "d/n=a d/x", 1),
			strings.Replace(before, "d/x", "d/n=ab d/x", 1), strings.Replace(before, "d/x", "d/n=abc d/x", 1),
			strings.Replace(before, "d/x", "d/n=a\xcc d/x", 1), strings.Replace(before, "d/x", "d/n=a\xcc\xcc d/x", 1),
			strings.Replace(before, "d/x", "d/n=ab\xcc\xcc d/x", 1), strings.Replace(before, "d/x", "d/n=\xcc d/x", 1),
		},
	},
	{
		"rename a file", func(ctx context.Context, c *memstore.Client) error { return c.Rename(ctx, "d/x", "e/z") },
		"d/ d/y=d/y e/ e/full/ e/full/f=e/full/f e/z=d/x",
		[]string{before + " e/z=d/x"},
	},
	{
		"rename a directory", func(ctx context.Context, c *memstore.Client) error { return c.Rename(ctx, "e/full", "d/full") },
		"d/ d/full/ d/full/f=e/full/f d/x=d/x d/y=d/y e/",
		[]string{strings.Replace(before, "d/x", "d/full/ d/x", 1)},
	},
	{
		"remove", func(ctx context.Context, c *memstore.Client) error { return c.Remove(ctx, "d/x") },
		"d/ d/y=d/y e/ e/full/ e/full/f=e/full/f", nil,
	},
	{
		"remove all", func(ctx context.Context, c *memstore.Client) error { return c.RemoveAll(ctx, "e") },
		"d/ d/x=d/x d/y=d/y", []string{"d/ d/x=d/x d/y=d/y e/ e/full/", "d/ d/x=d/x d/y=d/y e/"},
	},
	{
		"make a directory", func(ctx context.Context, c *memstore.Client) error { return c.Mkdir(ctx, "e/a") },
		strings.Replace(before, "e/full/ ", "e/a/ e/full/ ", 1), nil,
	},
	{
		"replace", func(ctx context.Context, c *memstore.Client) error {
			return c.WriteFile(ctx, "d/x", []byte("new"), false)
		},
		strings.Replace(before, "d/x=d/x", "d/x=new", 1),
		[]string{
			strings.Replace(before, "d/x", "d/.tmp= d/x", 1), strings.Replace(before, "d/x", "d/.tmp=n d/x", 1),
			strings.Replace(before, "d/x", "d/.tmp=n\xcc\xcc d/x", 1), strings.Replace(before, "d/x", "d/.tmp=new d/x", 1),
		},
	},
}

// TestCuts stops each call at each of its points, with and without a power cut. Each
// tree that the interface allows must occur, and no other.
func TestCuts(t *testing.T) {
	for _, call := range calls {
		allowed := append([]string{before, call.after}, call.short...)
		seen := make(map[string]bool)
		for stopped, n := true, 1; stopped; n++ {
			for seed := range uint64(50) {
				disk := newDisk(t)
				c := disk.Client()
				c.StopAt(n)
				err := call.do(t.Context(), c)
				if stopped = c.Stopped(); stopped != errors.Is(err, memstore.ErrStopped) {
					t.Fatalf("%s, stopped at point %d: %v, error is %v", call.name, n, stopped, err)
				}
				if seed > 0 || !stopped {
					disk.Cut(seed - 1)
				}
				got := tree(t, disk.Client())
				if !slices.Contains(allowed, got) || !stopped && got != call.after {
					t.Fatalf("%s, stopped at point %d, seed %d, leaves\n%q", call.name, n, seed, got)
				}
				seen[got] = true
			}
		}
		for _, want := range allowed {
			if !seen[want] {
				t.Errorf("%s never leaves\n%q, but\n%q", call.name, want, slices.Collect(maps.Keys(seen)))
			}
		}
	}
}

// TestRenameWithoutCommit gives a file its final name too early.
func TestRenameWithoutCommit(t *testing.T) {
	disk := memstore.New()
	c, ctx := disk.Client(), t.Context()
	w, err := c.Create(ctx, "/.temp", store.CreateOptions{Size: -1})
	if err == nil {
		_, err = w.Write([]byte("content"))
	}
	if err == nil {
		err = c.Rename(ctx, "/.temp", "/final")
	}
	testenv.Must(t, err)
	disk.Cut(0)
	if got := tree(t, disk.Client()); got != "final=" {
		t.Errorf("the disk holds %q", got)
	}
}

// TestSyncOfUnfinishedChange lets a client rely on the work of one that was killed: its
// own change in the same directory makes that durable.
func TestSyncOfUnfinishedChange(t *testing.T) {
	disk := newDisk(t)
	killed, next := disk.Client(), disk.Client()
	killed.StopAt(3) // visible, but not durable
	if err := killed.Rename(t.Context(), "d/x", "e/z"); !errors.Is(err, memstore.ErrStopped) {
		t.Fatal(err)
	}
	if _, err := killed.Stat(t.Context(), "d"); !errors.Is(err, memstore.ErrStopped) {
		t.Errorf("a call of the killed client: %v", err)
	}
	testenv.Must(t, next.Remove(t.Context(), "d/y"))
	want := tree(t, next)
	disk.Cut(0)
	if _, err := next.Stat(t.Context(), "d"); !errors.Is(err, memstore.ErrStopped) {
		t.Errorf("a call after the cut: %v", err)
	}
	if got := tree(t, disk.Client()); got != want || strings.Contains(got, "d/x=") {
		t.Errorf("the disk holds %q, want %q", got, want)
	}
}

// TestStop ends a client while its files are open.
func TestStop(t *testing.T) {
	disk := newDisk(t)
	c, ctx := disk.Client(), t.Context()
	f, err := c.Open(ctx, "d/x")
	testenv.Must(t, err)
	w, err := c.Create(ctx, "d/new", store.CreateOptions{Size: -1})
	testenv.Must(t, err)
	c.Stop()
	_, readErr := f.ReadAt(make([]byte, 1), 0)
	_, writeErr := w.Write([]byte("x"))
	for _, err := range []error{readErr, writeErr, w.Commit(ctx), w.Abort(), c.Remove(ctx, "d/x")} {
		if !errors.Is(err, memstore.ErrStopped) {
			t.Errorf("a call after the end: %v", err)
		}
	}
	if got := tree(t, disk.Client()); !strings.Contains(got, "d/new= d/x=d/x") {
		t.Errorf("the disk holds %q", got)
	}
}
