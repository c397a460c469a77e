package memstore

import (
	"bytes"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rowtocol/rowtocol/store"
)

// Disk is the storage that clients share. It may be used concurrently.
type Disk struct {
	mu      sync.Mutex // of everything below, nodes and clients included
	root    *node
	pending []*change // in view, but not durable; in their order
	files   uint64    // that were made, directories included
	boot    int       // the number of cuts
}

// New returns an empty disk.
func New() *Disk {
	d := &Disk{}
	d.root = d.newNode(true)
	return d
}

// node is a file or a directory.
type node struct {
	id      uint64
	dir     bool
	changed time.Time

	entries map[string]*node // of a directory, in view
	durable map[string]*node

	data   []byte // of a file; bytes that are there do not change
	synced int    // how many of data are durable
}

func (d *Disk) newNode(dir bool) *node {
	d.files++
	n := &node{id: d.files, dir: dir, changed: time.Now()}
	if dir {
		n.entries, n.durable = make(map[string]*node), make(map[string]*node)
	}
	return n
}

// place is a name in a directory.
type place struct {
	dir  *node
	name string
}

// change gives names to files, or takes them away: all of it is durable, or
// nothing.
type change struct {
	to map[place]*node // nil takes the name away
	// removed is a directory that loses its name. It is not gone from disk while
	// what was renamed out of it is still there.
	removed *node
}

// needs reports whether c can be durable only if the earlier change is.
func (c *change) needs(earlier *change) bool {
	for p := range earlier.to {
		if _, both := c.to[p]; both || p.dir == c.removed {
			return true
		}
	}
	return false
}

// apply brings a change into view. It is not durable yet.
func (d *Disk) apply(c *change) {
	for p, n := range c.to {
		p.dir.changed = time.Now()
		if n == nil {
			delete(p.dir.entries, p.name)
		} else {
			p.dir.entries[p.name] = n
		}
	}
	d.pending = append(d.pending, c)
}

// setName gives a node a name.
func (d *Disk) setName(p place, n *node) { d.apply(&change{to: map[place]*node{p: n}}) }

// removeName takes the name of a file or an empty directory away.
func (d *Disk) removeName(p place) {
	c := &change{to: map[place]*node{p: nil}}
	if n := p.dir.entries[p.name]; n.dir {
		c.removed = n
	}
	d.apply(c)
}

// sync makes all names in a directory durable as they are in view, and what
// must not be durable later than they are.
func (d *Disk) sync(dir *node) {
	var now []*change
	for _, c := range slices.Backward(d.pending) {
		here := false
		for p := range c.to {
			here = here || p.dir == dir
		}
		if here || slices.ContainsFunc(now, func(later *change) bool { return later.needs(c) }) {
			now = append(now, c)
		}
	}
	done := make(map[*change]bool, len(now))
	for _, c := range now {
		done[c] = true
	}
	d.pending = slices.DeleteFunc(d.pending, func(c *change) bool { return done[c] })
	for _, c := range slices.Backward(now) {
		c.store()
	}
}

func (c *change) store() {
	for p, n := range c.to {
		if n == nil {
			delete(p.dir.durable, p.name)
		} else {
			p.dir.durable[p.name] = n
		}
	}
}

// Cut cuts the power: all clients end, and what was not durable is there,
// torn or lost, as seed decides. With seed 0 nothing of it is there, with seed
// 1 everything. It returns how much there was to decide: with 0, every seed
// leaves the same.
func (d *Disk) Cut(seed uint64) (decided int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := rand.New(rand.NewPCG(seed, 0))
	choose := func(n int) int { // 0 is the worst
		decided++
		switch seed {
		case 0:
			return 0
		case 1:
			return n - 1
		}
		return r.IntN(n)
	}
	var lost []*change
	for _, c := range d.pending {
		if choose(2) == 0 || slices.ContainsFunc(lost, c.needs) {
			lost = append(lost, c)
		} else {
			c.store()
		}
	}
	d.pending = nil
	d.boot++
	d.root.restore(choose)
	return decided
}

// restore makes what is durable what is in view.
func (n *node) restore(choose func(int) int) {
	if !n.dir {
		n.tear(choose)
		return
	}
	n.entries = maps.Clone(n.durable)
	for _, name := range slices.Sorted(maps.Keys(n.entries)) {
		n.entries[name].restore(choose)
	}
}

// tear loses what was not synced, or some of it, or its bytes but not its
// length, or nothing.
func (n *node) tear(choose func(int) int) {
	rest := n.data[n.synced:]
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
	n.data = slices.Concat(n.data[:n.synced], rest)
	n.synced = len(n.data)
}

// find returns the node at a path; fs.ErrNotExist if there is none.
func (d *Disk) find(p string) (*node, error) {
	n := d.root
	for name := range strings.SplitSeq(path.Clean("/" + p)[1:], "/") {
		switch {
		case name == "":
			continue
		case !n.dir:
			return nil, fs.ErrNotExist
		}
		if n = n.entries[name]; n == nil {
			return nil, fs.ErrNotExist
		}
	}
	return n, nil
}

// place returns the place that a path names, and the node there, which is nil if
// there is none; store.ErrNoParent or ENOTDIR if the place is in no directory.
func (d *Disk) place(p string) (place, *node, error) {
	dir, err := d.find(path.Dir(path.Clean("/" + p)))
	switch {
	case err != nil:
		return place{}, nil, store.ErrNoParent
	case !dir.dir:
		return place{}, nil, syscall.ENOTDIR
	}
	at := place{dir, path.Base(path.Clean("/" + p))}
	return at, dir.entries[at.name], nil
}

func (n *node) info(p string) store.Info {
	return store.Info{Name: path.Base(p), Path: p, Size: int64(len(n.data)), Dir: n.dir, ModTime: n.changed, FileID: n.id}
}
