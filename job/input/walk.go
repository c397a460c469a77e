package input

import (
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// candidate is a file under one of its names.
type candidate struct {
	name string // its location
	real string // the location that its name leads to
	rank int    // of the names of a file the one of the lowest rank is taken
	by   int    // which of the search's inputs led to it

	info   store.Info
	looked time.Time // before info was asked for
	marked bool      // the filter's marker is beside it
}

// facts is the candidate as it was found.
func (c *candidate) facts() manifest.Input {
	in := manifest.Input{Path: c.name, Size: c.info.Size, FileID: c.info.FileID}
	if c.real != c.name {
		in.Real = c.real
	}
	in.SetModified(c.info.ModTime, c.looked)
	return in
}

// The ranks: how a name was come by. Those through a symbolic link come after
// the same without.
const (
	named = iota
	namedLink
	matched
	matchedLink
	walked
	walkedLink
)

// named is for a file that the user named, or a pattern did.
func (c *candidate) named(byUser bool) {
	if c.rank -= walked - matched; byUser {
		c.rank -= matched - named
	}
}

// directory is one on the way.
type directory struct {
	path   string
	real   string // the path that it leads to
	link   bool   // its path leads through a symbolic link
	hidden bool   // it is hidden, or in one that is
}

// walker finds what one input of a search stands for.
type walker struct {
	in   store.Location
	into bool // hidden directories too
	seen map[string]bool
	// looked is when what is taken was looked at.
	looked time.Time
	// marks knows the filter's marker.
	marks *marks
	// links are directories that symbolic links lead to, and hidden those that are
	// hidden. They come last, so that what they lead to is known already if it has
	// another name.
	links, hidden []directory

	files   []candidate
	skipped []Skipped
}

func newWalker(in store.Location, hidden bool, marks *marks) *walker {
	return &walker{in: in, into: hidden, seen: make(map[string]bool), marks: marks}
}

// real returns the path that a path leads to; what leads nowhere fails when it is
// opened.
func (w *walker) real(p string) string { return store.RealPath(w.in.Store, p) }

// take adds a file that was found in a directory.
func (w *walker) take(info store.Info, real string, link, marked bool) *candidate {
	c := candidate{name: w.in.Origin + info.Path, real: w.in.Origin + real, rank: walked, info: info, looked: w.looked, marked: marked}
	if link || info.Link {
		c.rank = walkedLink
	}
	w.files = append(w.files, c)
	return &w.files[len(w.files)-1]
}

// The reasons why hidden files and directories, and unfinished copies, are skipped.
const (
	Hidden     = "hidden"
	Unfinished = "the name of an unfinished copy or of a backup"
)

// unfinishedSuffixes end the names that programs give files while they copy, download or edit
// them, and backups.
var unfinishedSuffixes = []string{"._copying_", ".filepart", ".part", ".tmp", ".bak", ".crdownload", ".swp", "~"}

// isUnfinished reports whether a file has the name of an unfinished copy or of a backup.
func isUnfinished(p string) bool {
	name := strings.ToLower(path.Base(p))
	return slices.ContainsFunc(unfinishedSuffixes, func(suffix string) bool { return strings.HasSuffix(name, suffix) })
}

func (w *walker) skip(p, reason, same string) {
	w.skipped = append(w.skipped, Skipped{Path: w.in.Origin + p, Reason: reason, Same: same})
}

// all goes through a directory and all that is below it.
func (w *walker) all(ctx context.Context, dir string) error {
	if err := w.walk(ctx, directory{path: dir, real: w.real(dir)}); err != nil {
		return err
	}
	for len(w.links) > 0 {
		d := w.links[0]
		w.links = w.links[1:]
		if w.seen[d.real] {
			w.skip(d.path, "a link to a directory that is read under another name", w.in.Origin+d.real)
		} else if err := w.walk(ctx, d); err != nil {
			return err
		}
	}
	for len(w.hidden) > 0 {
		d := w.hidden[0]
		w.hidden = w.hidden[1:]
		if err := w.walk(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// walk goes through a directory and those in it, but for links and what is hidden.
func (w *walker) walk(ctx context.Context, d directory) error {
	//guard: goes through a directory once, whatever its names
	if w.seen[d.real] {
		return nil
	}
	w.seen[d.real] = true
	looked := time.Now()
	infos, err := w.in.Store.List(ctx, d.path)
	if err != nil {
		return err
	}
	marked := w.marks.in(infos)
	w.files = slices.Grow(w.files, len(infos))
	for _, info := range infos {
		below := directory{path: info.Path, real: path.Join(d.real, info.Name), link: d.link || info.Link, hidden: d.hidden || store.Hidden(info.Name)}
		if info.Link {
			below.real = w.real(info.Path)
		}
		switch {
		case below.hidden && info.Dir && !info.Link && w.into:
			w.hidden = append(w.hidden, below)
		case below.hidden:
			w.skip(info.Path, Hidden, "")
		case info.Dir && info.Link:
			w.links = append(w.links, below)
		case info.Dir:
			if err := w.walk(ctx, below); err != nil {
				return err
			}
		//guard: skips an unfinished copy
		case isUnfinished(info.Name):
			w.skip(info.Path, Unfinished, "")
		default:
			w.looked = looked
			w.take(info, below.real, d.link, marked)
		}
	}
	return nil
}
