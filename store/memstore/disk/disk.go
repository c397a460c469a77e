// Package disk models storage whose power can be cut: the state that processes see, and
// its durable part. The store in memory uses it, and the tests of local disk replay its
// system calls on it.
package disk

import (
	"bytes"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// Disk is the storage. After a cut, bytes written to a file since its last sync may be
// kept, kept in part, lost, or replaced by other bytes with the length kept. A change
// of a name is durable once its directory is synced after it.
type Disk struct {
	Root    *Node
	pending []*Change // changes that are visible but not durable, in order
	nodes   uint64    // number of nodes made so far
}

// Node is a file or a directory.
type Node struct {
	ID      uint64
	Dir     bool
	Changed time.Time

	Entries map[string]*Node // for a directory: the visible entries
	durable map[string]*Node

	Data   []byte // for a file: its bytes; existing bytes never change
	Synced int    // how many bytes of Data are durable
}

// New returns an empty disk.
func New() *Disk {
	d := &Disk{}
	d.Root = d.NewNode(true)
	return d
}

// NewNode returns a file or directory without a name.
func (d *Disk) NewNode(dir bool) *Node {
	d.nodes++
	n := &Node{ID: d.nodes, Dir: dir, Changed: time.Now()}
	if dir {
		n.Entries, n.durable = make(map[string]*Node), make(map[string]*Node)
	}
	return n
}

// Place is a name in a directory.
type Place struct {
	Dir  *Node
	Name string
}

// Change adds and removes names of files. All of it is durable, or nothing.
type Change struct {
	To map[Place]*Node // nil removes the name
	// Removed is a directory that loses its name. The removal is not durable before the renames
	// out of the directory are durable.
	Removed *Node
	// After, if set, is a change that is durable if this change is durable.
	After *Change
}

// needs reports whether c can be durable only if the earlier change is durable.
func (c *Change) needs(earlier *Change) bool {
	if c.After == earlier {
		return true
	}
	for p := range earlier.To {
		if _, both := c.To[p]; both || p.Dir == c.Removed {
			return true
		}
	}
	return false
}

// Apply makes a change visible, and returns it. It is not durable yet.
func (d *Disk) Apply(c *Change) *Change {
	for p, n := range c.To {
		p.Dir.Changed = time.Now()
		if n == nil {
			delete(p.Dir.Entries, p.Name)
		} else {
			p.Dir.Entries[p.Name] = n
		}
	}
	d.pending = append(d.pending, c)
	return c
}

// SetName gives a node a name.
func (d *Disk) SetName(p Place, n *Node) { d.Apply(&Change{To: map[Place]*Node{p: n}}) }

// RemoveName removes the name of a file or an empty directory.
func (d *Disk) RemoveName(p Place) {
	c := &Change{To: map[Place]*Node{p: nil}}
	if n := p.Dir.Entries[p.Name]; n.Dir {
		c.Removed = n
	}
	d.Apply(c)
}

// Sync makes all visible names in a directory durable, and the changes that must be
// durable before them.
func (d *Disk) Sync(dir *Node) {
	var now []*Change
	for _, c := range slices.Backward(d.pending) {
		here := false
		for p := range c.To {
			here = here || p.Dir == dir
		}
		if here || slices.ContainsFunc(now, func(later *Change) bool { return later.needs(c) }) {
			now = append(now, c)
		}
	}
	d.pending = slices.DeleteFunc(d.pending, func(c *Change) bool { return slices.Contains(now, c) })
	for _, c := range slices.Backward(now) {
		c.store()
	}
}

func (c *Change) store() {
	for p, n := range c.To {
		if n == nil {
			delete(p.Dir.durable, p.Name)
		} else {
			p.Dir.durable[p.Name] = n
		}
	}
}

// Cut cuts the power. choose decides for each change that was not durable whether the change is
// kept, torn or lost. Outcome 0 is the worst.
func (d *Disk) Cut(choose func(outcomes int) int) {
	var lost []*Change
	for _, c := range d.pending {
		if slices.ContainsFunc(lost, c.needs) || choose(2) == 0 {
			lost = append(lost, c)
		} else {
			c.store()
		}
	}
	d.pending = nil
	d.Root.restore(choose)
}

// restore makes the durable state the visible one.
func (n *Node) restore(choose func(int) int) {
	if !n.Dir {
		n.tear(choose)
		return
	}
	n.Entries = maps.Clone(n.durable)
	for _, name := range slices.Sorted(maps.Keys(n.Entries)) {
		n.Entries[name].restore(choose)
	}
}

// tear loses all unsynced bytes, some of them, their content but not their length, or
// nothing.
func (n *Node) tear(choose func(int) int) {
	rest := n.Data[n.Synced:]
	if len(rest) == 0 {
		return
	}
	half := rest[:len(rest)/2]
	switch choose(4) {
	case 0:
		rest = nil
	case 1:
		rest = half
	case 2:
		rest = slices.Concat(half, bytes.Repeat([]byte{0xcc}, len(rest)-len(half)))
	}
	n.Data = slices.Concat(n.Data[:n.Synced], rest)
	n.Synced = len(n.Data)
}

// Find returns the node at a path. The error is fs.ErrNotExist if there is none.
func (d *Disk) Find(p string) (*Node, error) {
	n := d.Root
	for name := range strings.SplitSeq(path.Clean("/" + p)[1:], "/") {
		switch {
		case name == "":
			continue
		case !n.Dir:
			return nil, fs.ErrNotExist
		}
		if n = n.Entries[name]; n == nil {
			return nil, fs.ErrNotExist
		}
	}
	return n, nil
}
