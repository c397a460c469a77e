package input

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// Resolve finds the store of a location and its path there.
type Resolve func(location string) (store.Location, error)

// Locate resolves a location; a nil resolve is store.Resolve, which knows only local
// disks. The path is absolute, because a plan may be used on another machine and a
// rerun may start in another directory.
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

// Search says which files to find.
type Search struct {
	// Resolve finds the store of a location; see Locate.
	Resolve Resolve
	// Inputs are files, directories and patterns, as the user named them.
	Inputs []string
	// Dest is the destination, which must not contain an input; nil if there is none.
	Dest *store.Location
	// AllowEmpty accepts a pattern without a match.
	AllowEmpty bool
	// Hidden also lists skipped files in hidden directories.
	Hidden bool
	// Filter leaves out some of the files.
	Filter Filter
}

// ErrNoMatch is the error for a pattern without a match.
var ErrNoMatch = errors.New("no file matches the pattern")

// File is a file that may be an input.
type File struct {
	Name  string // location of the file
	Named bool   // whether the user named it, and not a directory or pattern that leads to it
	// Found is whether the file was found in a directory. Then it is an input only if it
	// is an Avro file.
	Found bool
	By    []int // indexes of the search's inputs that name it or lead to it
	// Facts describe the unopened file. It may have changed since.
	Facts manifest.Input

	marked bool // whether the filter's marker is next to it
}

// Skipped is a file or directory that was found and is not an input.
type Skipped struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
	// Same is the name that is used instead of Path, if both lead to the same file.
	Same string `json:"same_as,omitempty"`
	// By are the indexes of the search's inputs that led to the file, if the filter leaves
	// it out. Named is whether the user named the file.
	By    []int `json:"-"`
	Named bool  `json:"-"`
}

// Expand returns the files that a search finds and the files that it skips. Each file
// occurs once. The files are sorted by location, so the order of the inputs does not
// matter.
//
// A directory stands for the files in and below it, except files that are hidden, start
// with an underscore or have a suffix of unfinished copies. A pattern stands for the files
// that it matches, except unfinished copies. A pattern that ends with the suffix of an
// unfinished copy also stands for unfinished copies. A file that the user named is never
// skipped for its name. If symbolic links on a local disk give a file several names, the
// result has one of them, preferably a name without a link.
func Expand(ctx context.Context, s Search) ([]File, []Skipped, error) {
	if len(s.Inputs) == 0 {
		return nil, nil, failure.New(failure.Usage, "no input named")
	}
	if err := s.Filter.check(); err != nil {
		return nil, nil, err
	}
	now, marks := time.Now(), marks{name: s.Filter.Marker, found: make(map[string]bool)}
	var all []candidate
	var skipped []Skipped
	for i, arg := range s.Inputs {
		w, err := s.expandOne(ctx, arg, &marks)
		if err != nil {
			return nil, nil, err
		}
		all = slices.Grow(all, len(w.files))
		for _, c := range w.files {
			c.by = i
			all = append(all, c)
		}
		skipped = append(skipped, w.skipped...)
	}
	files, same := unique(all)
	files, left := s.Filter.apply(files, now)
	return files, onlySkipped(files, slices.Concat(skipped, same, left)), nil
}

// expandOne finds the files of one of the inputs.
func (s *Search) expandOne(ctx context.Context, arg string, marks *marks) (*walker, error) {
	in, err := Locate(s.Resolve, arg)
	if err != nil {
		return nil, err
	}
	looked := time.Now()
	found, err := Match(ctx, in)
	if err != nil {
		return nil, fault(arg, err)
	}
	if len(found) == 0 && !s.AllowEmpty {
		return nil, failure.As(failure.Input, fmt.Errorf("input %s: %w", arg, ErrNoMatch))
	}
	w := newWalker(in, s.Hidden, marks)
	for _, info := range found {
		if err := disjoint(in, info, s.Dest); err != nil {
			return nil, err
		}
		//guard: skips an unfinished copy that a pattern matches
		if !info.Dir && isUnfinished(info.Path) && !isUnfinished(in.Path) {
			w.skip(info.Path, Unfinished, "")
			continue
		}
		if !info.Dir {
			marked, err := marks.nextTo(ctx, in, info.Path)
			if err != nil {
				return nil, fault(arg, err)
			}
			w.looked = looked
			w.take(info, w.real(info.Path), false, marked).raise(info.Path == in.Path)
		} else if err := w.all(ctx, info.Path); err != nil {
			return nil, fault(arg, err)
		}
	}
	return w, nil
}

// unique returns each file under only one name, and the other names as skipped.
func unique(all []candidate) (files []File, same []Skipped) {
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), strings.Compare(a.name, b.name))
	})
	taken := make(map[string]int, len(all)) // resolved location → index in files
	files = make([]File, 0, len(all))
	for _, c := range all {
		i, ok := taken[c.real]
		//guard: adds a file only under its first name
		if !ok {
			i = len(files)
			taken[c.real] = i
			files = append(files, File{Name: c.name, Named: c.rank <= namedLink, Found: c.rank >= walked, Facts: c.facts(), marked: c.marked})
		}
		if files[i].Name != c.name {
			same = append(same, Skipped{Path: c.name, Reason: "the same file as " + files[i].Name, Same: files[i].Name})
		}
		files[i].By = append(files[i].By, c.by)
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return files, same
}

// onlySkipped returns the skipped files that are not among files, each once and sorted by
// location.
func onlySkipped(files []File, skipped []Skipped) []Skipped {
	if len(skipped) == 0 {
		return nil
	}
	taken := make(map[string]bool, len(files))
	for _, f := range files {
		taken[f.Name] = true
	}
	skipped = slices.DeleteFunc(skipped, func(s Skipped) bool { return taken[s.Path] })
	slices.SortStableFunc(skipped, func(a, b Skipped) int { return strings.Compare(a.Path, b.Path) })
	return slices.CompactFunc(skipped, func(a, b Skipped) bool { return a.Path == b.Path })
}

// Match is store.Match, but a malformed pattern is failure.Usage.
func Match(ctx context.Context, at store.Location) ([]store.Info, error) {
	found, _, err := store.Match(ctx, at)
	if errors.Is(err, path.ErrBadPattern) {
		return nil, failure.As(failure.Usage, err)
	}
	return found, err
}

// disjoint refuses an input in the destination, and a destination in an input directory. The
// next run would read the output of this run from there.
func disjoint(in store.Location, info store.Info, dest *store.Location) error {
	if dest == nil || in.Origin != dest.Origin {
		return nil
	}
	from, to := store.RealPath(in.Store, info.Path), store.RealPath(dest.Store, dest.Path)
	if to == dest.Path { // it may not exist yet
		to = path.Join(store.RealPath(dest.Store, path.Dir(dest.Path)), path.Base(dest.Path))
	}
	switch {
	//guard: refuses a destination inside an input
	case info.Dir && (store.Within(dest.Path, info.Path) || store.Within(to, from)):
		return failure.New(failure.Usage, "destination %s is inside of the input directory %s", dest.Path, info.Path)
	//guard: refuses an input inside the destination
	case store.Within(info.Path, dest.Path) || store.Within(from, to):
		return failure.New(failure.Usage, "input %s is inside of the destination %s", info.Path, dest.Path)
	}
	return nil
}
