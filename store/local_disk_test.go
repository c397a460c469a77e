package store

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// What a power cut may leave on disk, by the rules that file systems agree on:
//
//   - What was written to a file since its last sync may be there, in part, not
//     at all, or with its length but with other bytes.
//   - A name that was made, removed or renamed is durable once its directory
//     was synced after that. Until then it may be on disk or not, each for
//     itself and in any order, except that changes of one name keep theirs.
//   - A rename within a directory is one change.
//   - A rename from one directory to another is two, the new name and the end
//     of the old one, and the second is not on disk without the first: file
//     systems with a journal do both at once, others order their writes so. So
//     the old name is known to be gone only when its directory was synced.
//   - A directory is gone from disk only when all that left it is.
//   - That a file was synced makes its bytes durable, not its name; that a
//     directory was synced makes the names in it durable, not their files, and
//     not its own name.
type disk struct {
	root    *inode
	changes []*change
}

// inode is a file or, if it has names, a directory, as processes see it.
type inode struct {
	names  map[string]*inode
	data   string
	synced int // bytes of data
}

// change is a change of names that is on disk as a whole or not at all.
type change struct {
	edits   []edit
	after   *change // this one must be on disk too
	removed *inode  // a directory
	durable bool
}

// edit gives a name to a file or directory, or to nothing.
type edit struct {
	dir  *inode
	name string
	to   *inode
}

func newDisk() *disk { return &disk{root: &inode{names: make(map[string]*inode)}} }

func (d *disk) find(name string) *inode {
	n := d.root
	for part := range strings.SplitSeq(path.Clean("/"+name), "/") {
		if part != "" {
			n = n.names[part]
		}
	}
	return n
}

func (d *disk) edit(name string, to *inode) edit {
	return edit{d.find(path.Dir(name)), path.Base(name), to}
}

// change makes a change that processes see.
func (d *disk) change(c *change) *change {
	for _, e := range c.edits {
		if e.to == nil {
			delete(e.dir.names, e.name)
		} else {
			e.dir.names[e.name] = e.to
		}
	}
	d.changes = append(d.changes, c)
	return c
}

// do repeats a recorded call.
func (d *disk) do(c call) {
	switch c.op {
	case opCreate:
		d.change(&change{edits: []edit{d.edit(c.name, &inode{})}})
	case opMkdir:
		d.change(&change{edits: []edit{d.edit(c.name, &inode{names: make(map[string]*inode)})}})
	case opWrite:
		d.find(c.name).data += c.data
	case opSync:
		n := d.find(c.name)
		n.synced = len(n.data)
	case opLink:
		d.change(&change{edits: []edit{d.edit(c.to, d.find(c.name))}})
	case opRemove:
		ch := &change{edits: []edit{d.edit(c.name, nil)}}
		if n := d.find(c.name); n.names != nil {
			ch.removed = n
		}
		d.change(ch)
	case opRename:
		old, anew := d.edit(c.name, nil), d.edit(c.to, d.find(c.name))
		if old.dir == anew.dir {
			d.change(&change{edits: []edit{old, anew}})
		} else {
			d.change(&change{edits: []edit{old}, after: d.change(&change{edits: []edit{anew}})})
		}
	case opSyncDir:
		dir := d.find(c.name)
		for _, ch := range d.changes {
			if ch.touches(dir) {
				d.store(ch)
			}
		}
	}
}

func (c *change) touches(dir *inode) bool {
	return slices.ContainsFunc(c.edits, func(e edit) bool { return e.dir == dir })
}

// needs reports whether c cannot be on disk without the earlier change.
func (c *change) needs(earlier *change) bool {
	if c.after == earlier || c.removed != nil && earlier.touches(c.removed) {
		return true
	}
	for _, e := range c.edits {
		for _, f := range earlier.edits {
			if e.dir == f.dir && e.name == f.name {
				return true
			}
		}
	}
	return false
}

// store makes a change durable, and what it needs.
func (d *disk) store(c *change) {
	c.durable = true
	for _, earlier := range d.changes[:slices.Index(d.changes, c)] {
		if !earlier.durable && c.needs(earlier) {
			d.store(earlier)
		}
	}
}

// tree is what a disk holds: contents by name; the names of directories end in
// a slash.
type tree map[string]string

func (t tree) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(t)) {
		fmt.Fprintf(&b, "%s=%q ", name, t[name])
	}
	return b.String()
}

// tornForms is how many forms a file can take that was not synced.
const tornForms = 4

// cuts calls visit with each tree that a power cut may leave now, once: every
// combination of the changes that are not durable, which must be few.
func (d *disk) cuts(visit func(tree)) {
	var open []*change
	for _, c := range d.changes {
		if !c.durable {
			open = append(open, c)
		}
	}
	seen := make(map[string]bool)
	for chosen := range uint64(1) << len(open) {
		if !closed(open, chosen) {
			continue
		}
		for form := range tornForms {
			t := d.after(open, chosen, form)
			if key := t.String(); !seen[key] {
				seen[key] = true
				visit(t)
			}
		}
	}
}

// closed reports whether the chosen changes need none of the others.
func closed(open []*change, chosen uint64) bool {
	for i, c := range open {
		for j, earlier := range open[:i] {
			if chosen>>i&1 == 1 && chosen>>j&1 == 0 && c.needs(earlier) {
				return false
			}
		}
	}
	return true
}

// after returns the tree in which the durable and the chosen changes are on
// disk. form tells how files are torn, each in another way.
func (d *disk) after(open []*change, chosen uint64, form int) tree {
	names := map[*inode]map[string]*inode{}
	for _, c := range d.changes {
		if i := slices.Index(open, c); i >= 0 && chosen>>i&1 == 0 {
			continue
		}
		for _, e := range c.edits {
			if names[e.dir] == nil {
				names[e.dir] = make(map[string]*inode)
			}
			names[e.dir][e.name] = e.to
		}
	}
	t := make(tree)
	var walk func(dir *inode, below string)
	walk = func(dir *inode, below string) {
		for _, name := range slices.Sorted(maps.Keys(names[dir])) {
			n, p := names[dir][name], path.Join(below, name)
			switch {
			case n == nil:
			case n.names != nil:
				t[p+"/"] = ""
				walk(n, p)
			default:
				t[p] = n.torn(form)
				form = (form + 1) % tornForms
			}
		}
	}
	walk(d.root, "")
	return t
}

// torn returns what may be stored of a file.
func (n *inode) torn(form int) string {
	rest := n.data[n.synced:]
	half := rest[:len(rest)/2]
	switch form {
	case 0:
		rest = ""
	case 1:
		rest = half
	case 2:
		rest = half + strings.Repeat("\x00", len(rest)-len(half))
	}
	return n.data[:n.synced] + rest
}
