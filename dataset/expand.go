package dataset

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/store"
)

// ListAll finds the files of what is at some places, which are read as one dataset,
// in the order in which they are named. Each is a column file, or a directory of the
// files of one row group, in which there are no directories; or a directory with
// _SUCCESS; or one with directories run=… that have each their own, whose rows
// follow each other in the order of their names, after the directory's own. A path
// that is nothing of that may be a pattern of store.Glob: what it matches is sorted
// by path, numbers in it by value. No column file is opened.
func ListAll(ctx context.Context, at []store.Location, o Options) (*Listing, error) {
	l := &Listing{Formats: o.Formats, maxBlock: o.MaxBlock, memory: o.Memory}
	var roots []root
	var paths []string
	for _, a := range at {
		found, err := expand(ctx, a)
		if err != nil {
			return nil, err
		}
		roots, paths = append(roots, found...), append(paths, a.Path)
	}
	l.Path, l.Dir = strings.Join(paths, " "), len(roots) > 1
	for _, r := range roots {
		f := finder{Listing: l, store: r.at.Store, partial: o.Partial}
		if err := f.add(ctx, r.info); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// root is a file or directory that is named, or that a pattern matches.
type root struct {
	at   store.Location
	info store.Info
}

// expand returns what a location names.
func expand(ctx context.Context, at store.Location) ([]root, error) {
	info, err := at.Store.Stat(ctx, at.Path)
	if err == nil {
		return []root{{at, info}}, nil
	}
	if !errors.Is(err, store.ErrNotExist) || !store.IsPattern(at.Path) {
		return nil, err
	}
	found, err := store.Glob(ctx, at.Store, at.Path)
	if errors.Is(err, path.ErrBadPattern) {
		return nil, queryf("%w", err)
	}
	if err != nil {
		return nil, err
	}
	elements := components(at.Path)
	found = slices.DeleteFunc(found, func(i store.Info) bool { return hides(components(i.Path), elements) })
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: no file matches the pattern: %w", at.Path, store.ErrNotExist)
	}
	slices.SortFunc(found, func(a, b store.Info) int { return comparePaths(a.Path, b.Path) })
	roots := make([]root, len(found))
	for i, info := range found {
		roots[i] = root{at, info}
	}
	return roots, nil
}

// hides reports whether a path goes through a hidden name that its pattern does
// not ask for.
func hides(names, pattern []string) bool {
	for i, name := range names {
		if store.Hidden(name) && !store.Hidden(pattern[i]) {
			return true
		}
	}
	return false
}

func components(p string) []string { return strings.Split(path.Clean(p), "/") }

// comparePaths orders paths by their directories, and names by the numbers in
// them. Only equal paths are equal.
func comparePaths(a, b string) int {
	x, y := strings.ReplaceAll(a, "/", "\x00"), strings.ReplaceAll(b, "/", "\x00")
	if c := compareNumbered(x, y); c != 0 {
		return c
	}
	return strings.Compare(x, y)
}

// add adds what a path names.
func (l *finder) add(ctx context.Context, info store.Info) error {
	if info.Dir {
		return l.addDirectory(ctx, info.Path)
	}
	l.addSet(info.Path)
	return l.addPart(ctx, info)
}
