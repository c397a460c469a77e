package store

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/store/memstore/disk"
)

// replay returns the disk after recorded calls, by the rules that file systems agree on:
//
//   - A rename within a directory is one change.
//   - A rename from one directory to another is two changes: it adds the new name
//     and removes the old one. The second is never durable without the first: a
//     journal writes both at once, other file systems order their writes. So the
//     removal is certain only once the old directory is synced.
//   - The sync of a file makes its bytes durable, but not its name. The sync of a
//     directory makes the names in it durable, but neither their files nor its own
//     name.
func replay(calls []call) *disk.Disk {
	d := disk.New()
	at := func(name string) disk.Place {
		dir, _ := d.Find(path.Dir(name))
		return disk.Place{Dir: dir, Name: path.Base(name)}
	}
	for _, c := range calls {
		n, _ := d.Find(c.name) // nil for a new name
		switch c.op {
		case opCreate, opMkdir:
			d.SetName(at(c.name), d.NewNode(c.op == opMkdir))
		case opWrite:
			n.Data = append(n.Data, c.data...)
		case opSync:
			n.Synced = len(n.Data)
		case opLink:
			d.SetName(at(c.to), n)
		case opRemove:
			d.RemoveName(at(c.name))
		case opRename:
			gone, named := map[disk.Place]*disk.Node{at(c.name): nil}, map[disk.Place]*disk.Node{at(c.to): n}
			if path.Dir(c.name) == path.Dir(c.to) {
				maps.Copy(gone, named)
				d.Apply(&disk.Change{To: gone})
			} else {
				d.Apply(&disk.Change{To: gone, After: d.Apply(&disk.Change{To: named})})
			}
		case opSyncDir:
			d.Sync(n)
		}
	}
	return d
}

// tree is the content of a disk by name. The names of directories end in a slash.
type tree map[string]string

func (t tree) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(t)) {
		fmt.Fprintf(&b, "%s=%q ", name, t[name])
	}
	return b.String()
}

// add adds everything below a directory.
func (t tree) add(dir *disk.Node, below string) tree {
	for name, n := range dir.Entries {
		p := path.Join(below, name)
		if n.Dir {
			t[p+"/"] = ""
			t.add(n, p)
		} else {
			t[p] = string(n.Data)
		}
	}
	return t
}

// cuts calls visit once with each tree that a power cut may leave after recorded calls.
// It tries every outcome for the changes that are not durable, so these must be few.
func cuts(calls []call, visit func(tree)) {
	seen := make(map[string]bool)
	var chosen, outcomes []int
	for more := true; more; {
		d, made := replay(calls), 0
		d.Cut(func(n int) int {
			if made == len(chosen) {
				chosen, outcomes = append(chosen, 0), append(outcomes, n)
			}
			made++
			return chosen[made-1]
		})
		t := tree{}.add(d.Root, "")
		if key := t.String(); !seen[key] {
			seen[key] = true
			visit(t)
		}
		for made > 0 && chosen[made-1] == outcomes[made-1]-1 {
			made--
		}
		chosen, outcomes = chosen[:made], outcomes[:made]
		if more = made > 0; more {
			chosen[made-1]++
		}
	}
}
