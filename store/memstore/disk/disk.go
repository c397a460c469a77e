// Package disk models storage whose power can be cut: what processes see, and what of it
// is durable. The store in memory is one, and the tests of local disk hold its system
// calls to it.
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

// Disk is the storage. What was written to a file since its last sync may be there after
// a cut, in part, not at all, or with its length but with other bytes. A name that was
// made, removed or renamed is durable once its directory was synced after that.
type Disk struct {
	Root    *Node
	pending []*Change // in view, but not durable; in their order
	nodes   uint64    // that were made
}

// Node is a file or a directory.
type Node struct {
	ID      uint64
	Dir     bool
	Changed time.Time

	Entries map[string]*Node // of a directory, in view
	durable map[string]*Node

	Data   []byte // of a file; bytes that are there do not change
	Synced int    // how many of Data are durable
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

// Change gives names to files, or takes them away: all of it is durable, or nothing.
type Change struct {
	To map[Place]*Node // nil takes the name away
	// Removed is a directory that loses its name. It is not gone from disk while
	// what was renamed out of it is still there.
	Removed *Node
	// After, if set, is a change that is durable if this one is.
	After *Change
}

// needs reports whether c can be durable only if the earlier change is.
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

// Apply brings a change into view, and returns it. It is not durable yet.
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

// RemoveName takes the name of a file or an empty directory away.
func (d *Disk) RemoveName(p Place) {
	c := &Change{To: map[Place]*Node{p: nil}}
	if n := p.Dir.Entries[p.Name]; n.Dir {
		c.Removed = n
	}
	d.Apply(c)
}

// Sync makes all names in a directory durable as they are in view, and what
// must not be durable later than they are.
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

// Cut cuts the power: what was not durable is there, torn or lost, as choose decides
// between several outcomes, of which 0 is the worst.
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

// restore makes what is durable what is in view.
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

// tear loses what was not synced, or some of it, or its bytes but not its
// length, or nothing.
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

// Find returns the node at a path; fs.ErrNotExist if there is none.
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
