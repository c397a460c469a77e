package input

import (
	"context"
	"errors"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/failure"
	"github.com/rowtocol/rowtocol/store"
)

// Resolve finds the store of a location and its path there.
type Resolve func(location string) (store.Location, error)

// Locate resolves a location; a nil resolve is store.Resolve, which knows local
// disks only. The path is absolute, because plans travel and a rerun may start
// in another directory.
func Locate(resolve Resolve, location string) (store.Location, error) {
	if resolve == nil {
		resolve = store.Resolve
	}
	l, err := resolve(location)
	if err != nil {
		if c := store.Classify(err); c == store.Retryable || c == store.Final {
			return l, err
		}
		return l, failure.As(failure.Usage, err)
	}
	if l.Origin == "" && !path.IsAbs(l.Path) {
		wd, err := os.Getwd()
		if err != nil {
			return l, failure.As(failure.Storage, err)
		}
		l.Path = path.Join(wd, l.Path)
	}
	return l, nil
}

// File is a file to convert.
type File struct {
	Name  string // its location
	Named bool   // by the user, and not found in a directory or by a pattern
}

// Expand returns the files that the arguments name, each once, sorted by
// location, so that the order of arguments does not matter. A directory stands
// for the .avro files in it and below it, except for what is hidden or starts
// with an underscore; a file named itself or by a pattern is taken as it is. dest
// is the destination, in which no input may be, or nil.
func Expand(ctx context.Context, resolve Resolve, args []string, dest *store.Location) ([]File, error) {
	if len(args) == 0 {
		return nil, failure.New(failure.Usage, "no input named")
	}
	var files []File
	for _, arg := range args {
		in, err := Locate(resolve, arg)
		if err != nil {
			return nil, err
		}
		found, err := match(ctx, in.Store, in.Path)
		if err != nil {
			return nil, fault(arg, err)
		}
		var paths []string
		for _, info := range found {
			if err := disjoint(in, info, dest); err != nil {
				return nil, err
			}
			if !info.Dir {
				paths = append(paths, info.Path)
			} else if paths, err = walk(ctx, in.Store, info.Path, paths); err != nil {
				return nil, fault(arg, err)
			}
		}
		for _, p := range paths {
			files = append(files, File{Name: in.Origin + p, Named: p == in.Path})
		}
	}
	slices.SortFunc(files, func(a, b File) int {
		if a.Name == b.Name && a.Named != b.Named {
			if a.Named {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return slices.CompactFunc(files, func(a, b File) bool { return a.Name == b.Name }), nil
}

// match returns the file or directory p, or else what the pattern p matches.
func match(ctx context.Context, st store.Store, p string) ([]store.Info, error) {
	info, err := st.Stat(ctx, p)
	if err == nil || !errors.Is(err, store.ErrNotExist) || !store.IsPattern(p) {
		return []store.Info{info}, err
	}
	found, err := store.Glob(ctx, st, p)
	if errors.Is(err, path.ErrBadPattern) {
		return nil, failure.As(failure.Usage, err)
	}
	if err == nil && len(found) == 0 {
		return nil, failure.New(failure.Input, "no file matches the pattern")
	}
	return found, err
}

// walk appends the .avro files below dir to files.
func walk(ctx context.Context, st store.Store, dir string, files []string) ([]string, error) {
	infos, err := st.List(ctx, dir)
	if err != nil {
		return nil, err
	}
	for _, info := range infos {
		switch {
		case store.Hidden(info.Name):
		case info.Dir:
			if files, err = walk(ctx, st, info.Path, files); err != nil {
				return nil, err
			}
		case strings.HasSuffix(info.Name, ".avro"):
			files = append(files, info.Path)
		}
	}
	return files, nil
}

// disjoint refuses a destination in an input directory, where the next run
// would read what this one leaves, and an input in the destination.
func disjoint(in store.Location, info store.Info, dest *store.Location) error {
	switch {
	case dest == nil || in.Origin != dest.Origin:
		return nil
	//guard: the next run would read what this one leaves
	case info.Dir && within(dest.Path, info.Path):
		return failure.New(failure.Usage, "destination %s is inside of the input directory %s", dest.Path, info.Path)
	//guard: an input could be replaced by the output
	case within(info.Path, dest.Path):
		return failure.New(failure.Usage, "input %s is inside of the destination %s", info.Path, dest.Path)
	}
	return nil
}

// within reports whether p is dir or below it.
func within(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}
