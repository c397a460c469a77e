package dataset

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// List finds the files at some locations, which are read as one dataset in the order of
// the locations. A location is one of these:
//   - a file
//   - a directory of the files of one row group, without directories in it
//   - a directory with _SUCCESS
//   - a directory with directories increment-…, each with a _SUCCESS
//   - a directory with directories key=value, each of which is again one of these
//   - a pattern of store.Glob, if there is no such path
//
// The rows of increments follow the rows of their directory, in the order of the names of
// increments. Increments of an output that was replaced are not read. Matches of a pattern
// and directories key=value are sorted by path, with numbers in it by value. The keys are
// those below the named directory. In a pattern they begin at the first wildcard. If there
// are several locations, the keys begin below the directory that all of them share, if all
// have the same keys there. List opens no column file.
func List(ctx context.Context, at []store.Location, o Options) (*Listing, error) {
	l := &Listing{Formats: o.Formats, memory: o.Memory}
	var roots []root
	var paths []string
	for _, a := range at {
		if a.Store == nil {
			roots, paths = append(roots, root{at: a}), append(paths, a.Path)
			continue
		}
		found, err := expand(ctx, a)
		if err != nil {
			return nil, err
		}
		roots, paths = append(roots, found...), append(paths, a.Path)
	}
	l.Path, l.Dir = strings.Join(paths, " "), len(roots) > 1
	above, patterns := shared(roots), false
	for _, r := range roots {
		if r.at.Store == nil {
			l.addStream(r.at.Path, o.Stream)
			continue
		}
		if err := l.add(ctx, r, above, o.Partial); err != nil {
			return nil, err
		}
		patterns = patterns || r.pattern
	}
	if o.Keyless || len(l.Sets) == 0 {
		return l, nil
	}
	return l, l.settleKeys(patterns)
}

// root is a file or directory that is named, or that a pattern matches.
type root struct {
	at      store.Location
	info    store.Info
	above   []string // names in the path that the user gave without wildcards
	pattern bool
}

// missing is the error for a location where nothing is. Its text has no terms of the system.
type missing struct{ text string }

func (m *missing) Error() string { return m.text }

// Unwrap makes the error one of storage that lacks a file.
func (m *missing) Unwrap() error { return store.ErrNotExist }

// expand returns the roots that a location names.
func expand(ctx context.Context, at store.Location) ([]root, error) {
	found, pattern, err := store.Match(ctx, at)
	if errors.Is(err, path.ErrBadPattern) {
		return nil, queryf("%w", err)
	}
	if errors.Is(err, store.ErrNotExist) {
		return nil, &missing{at.Origin + at.Path + " does not exist"}
	}
	if err != nil {
		return nil, err
	}
	elements := components(at.Path)
	if !pattern {
		return []root{{at: at, info: found[0], above: elements}}, nil
	}
	found = slices.DeleteFunc(found, func(i store.Info) bool { return hides(components(i.Path), elements) })
	if len(found) == 0 {
		return nil, &missing{at.Origin + at.Path + ": no file matches the pattern"}
	}
	slices.SortFunc(found, func(a, b store.Info) int { return comparePaths(a.Path, b.Path) })
	above := elements[:max(slices.IndexFunc(elements, store.IsPattern), 0)]
	roots := make([]root, len(found))
	for i, info := range found {
		roots[i] = root{at, info, above, true}
	}
	return roots, nil
}

// shared returns the number of leading directories that the paths of all roots share
// and that were named without wildcards.
func shared(roots []root) int {
	if len(roots) == 0 {
		return 0
	}
	n := len(roots[0].above)
	for _, r := range roots[1:] {
		if r.at.Origin != roots[0].at.Origin {
			return 0
		}
		same := 0
		for same < min(n, len(r.above)) && r.above[same] == roots[0].above[same] {
			same++
		}
		n = same
	}
	return n
}

// hides reports whether a path has a hidden name where its pattern has none.
func hides(names, pattern []string) bool {
	for i, name := range names {
		if store.Hidden(name) && !store.Hidden(pattern[i]) {
			return true
		}
	}
	return false
}

func components(p string) []string { return strings.Split(path.Clean(p), "/") }

// comparePaths compares paths name by name, and numbers in names by value. The result is
// 0 only for equal paths.
func comparePaths(a, b string) int {
	x, y := strings.ReplaceAll(a, "/", "\x00"), strings.ReplaceAll(b, "/", "\x00")
	if c := compareNumbered(x, y); c != 0 {
		return c
	}
	return strings.Compare(x, y)
}

// add adds a root, with the keys of its path below the first above directories.
func (l *Listing) add(ctx context.Context, r root, above int, partial bool) error {
	b := manifest.Branch{Path: r.info.Path}
	directories := components(r.info.Path)
	if !r.info.Dir {
		directories = directories[:len(directories)-1]
	}
	for i := above; i < len(directories); i++ {
		k, ok := manifest.ParseKey(directories[i])
		if !ok {
			continue
		}
		if b.Has(k.Name) {
			return duplicateKey(b.Path, k.Name)
		}
		b.Keys = append(b.Keys, k)
	}
	f := finder{Listing: l, store: r.at.Store, partial: partial, named: len(b.Keys)}
	if r.info.Dir {
		return f.addTree(ctx, b)
	}
	f.addSet(b)
	return f.addPart(ctx, r.info)
}
