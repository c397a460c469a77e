package publish

import (
	"context"
	"path"

	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// Tree is a tree of directories key=value.
type Tree struct {
	// Partitions are the directories that are destinations: the deepest ones, and those
	// that hold anything of rowtocol. They are sorted by path.
	Partitions []store.Location
	// The names of other entries next to directories key=value, relative to the tree, without
	// hidden entries.
	Beside []string
}

// maxKeys is the most levels that a tree has.
const maxKeys = 64

// FindTree finds the partitions below a directory. It returns nil if there are none, as in a
// destination. It does not follow links.
func FindTree(ctx context.Context, at store.Location) (*Tree, error) {
	var t *Tree
	w := manifest.Walker{Store: at.Store,
		Enter: func(b manifest.Branch, infos []store.Info, err error) ([]store.Info, error) {
			switch {
			case b.Link:
				t.Beside = append(t.Beside, b.Below)
			case store.Absent(err): // removed meanwhile
			case err != nil:
				return nil, err
			//guard: bounds the levels of a tree
			case hasPartitions(infos) && len(b.Keys) < maxKeys:
				if t == nil {
					t = &Tree{}
				}
				return infos, nil
			case t != nil:
				t.Partitions = append(t.Partitions, store.Location{Store: at.Store, Origin: at.Origin, Path: b.Path})
			}
			return nil, nil
		},
		Other: func(b manifest.Branch, info store.Info, _ bool) error {
			t.Beside = append(t.Beside, path.Join(b.Below, info.Name))
			return nil
		}}
	err := w.Walk(ctx, manifest.Branch{Path: at.Path})
	return t, err
}

// hasPartitions reports whether a directory with these entries is divided into partitions.
func hasPartitions(infos []store.Info) (keys bool) {
	for _, info := range infos {
		_, _, increment := manifest.ParseIncrement(info.Name)
		switch {
		case increment, info.Name == manifest.SuccessName, info.Name == manifest.LockName, info.Name == manifest.WorkName, isOurs(info.Name):
			return false
		case manifest.HasKey(info) && !info.Link:
			keys = true
		}
	}
	return keys
}
