package publish

import (
	"context"
	"path"
	"strings"

	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// Tree is what lies below a directory of directories key=value.
type Tree struct {
	// Partitions are the deepest of them, and those that hold anything of ours, sorted
	// by path.
	Partitions []store.Location
	// Beside are names of other things beside directories with keys, relative to the
	// tree. Hidden ones are not among them.
	Beside []string
}

// maxKeys bounds the levels of a tree.
const maxKeys = 64

// FindTree looks for partitions below a directory; nil if it is none of partitions,
// but a destination or anything else. Links are not followed.
func FindTree(ctx context.Context, at store.Location) (*Tree, error) {
	infos, err := at.Store.List(ctx, at.Path)
	if store.Absent(err) {
		return nil, nil
	}
	if err != nil || !branches(infos) {
		return nil, err
	}
	t := &Tree{}
	return t, t.grow(ctx, at, at.Path, infos, maxKeys)
}

// branches reports whether a directory is one of partitions, by what is in it.
func branches(infos []store.Info) (keys bool) {
	for _, info := range infos {
		_, _, increment := manifest.ParseIncrement(info.Name)
		switch {
		case increment, info.Name == manifest.SuccessName, info.Name == manifest.LockName, info.Name == manifest.WorkName, isOurs(info.Name):
			return false
		case isKey(info):
			keys = true
		}
	}
	return keys
}

// isKey reports whether a directory is named key=value.
func isKey(info store.Info) bool {
	_, _, ok := manifest.ParseKey(info.Name)
	return ok && info.Dir && !info.Link && !store.Hidden(info.Name)
}

// grow adds what is in a directory of partitions.
func (t *Tree) grow(ctx context.Context, top store.Location, dir string, infos []store.Info, levels int) error {
	for _, info := range infos {
		if !isKey(info) {
			if !store.Hidden(info.Name) {
				t.Beside = append(t.Beside, strings.TrimPrefix(path.Join(dir, info.Name), top.Path+"/"))
			}
			continue
		}
		inside, err := top.Store.List(ctx, info.Path)
		if store.Absent(err) {
			continue // it was removed meanwhile
		}
		if err != nil {
			return err
		}
		//guard: a tree of any depth would be looked at
		if branches(inside) && levels > 1 {
			err = t.grow(ctx, top, info.Path, inside, levels-1)
		} else {
			t.Partitions = append(t.Partitions, store.Location{Store: top.Store, Origin: top.Origin, Path: info.Path})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
