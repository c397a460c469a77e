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
	name string // location of the file
	real string // location with symbolic links resolved
	rank int    // rank of the name; of several names of a file, the one with the lowest rank counts
	by   int    // index of the search's input that led to the file

	info   store.Info
	looked time.Time // a time before info was read
	marked bool      // whether the file's directory has the marker file that the filter asks for, such as _SUCCESS
}

// facts describes the candidate as it was found.
func (c *candidate) facts() manifest.Input {
	in := manifest.Input{Path: c.name, Size: c.info.Size, FileID: c.info.FileID}
	if c.real != c.name {
		in.Real = c.real
	}
	in.SetModified(c.info.ModTime, c.looked)
	return in
}

// The ranks say how a name was found. In each kind, a name through a symbolic
// link ranks after a name without.
const (
	named = iota
	namedLink
	matched
	matchedLink
	walked
	walkedLink
)

// raise lowers the number of the rank of a file that the user named, or that a pattern matched.
func (c *candidate) raise(byUser bool) {
	if c.rank -= walked - matched; byUser {
		c.rank -= matched - named
	}
}

// directory is a directory to walk.
type directory struct {
	path   string
	real   string // path with symbolic links resolved
	link   bool   // whether path leads through a symbolic link
	hidden bool   // whether the directory is hidden, or in a hidden directory
}

// walker finds the files of one input of a search.
type walker struct {
	in          store.Location
	enterHidden bool            // whether to enter hidden directories, whose files are only listed as skipped
	seen        map[string]bool // directories that were walked, by path with symbolic links resolved
	// looked is a time before the entries were read.
	looked time.Time
	marks  *marks
	// links are links to directories, and hidden are hidden directories. They are walked
	// last: if a link's directory also has a name without links, it is walked under that name.
	links, hidden []directory

	files   []candidate
	skipped []Skipped
}

func newWalker(in store.Location, hidden bool, marks *marks) *walker {
	return &walker{in: in, enterHidden: hidden, seen: make(map[string]bool), marks: marks}
}

// real returns a path with symbolic links resolved. For a broken link it
// returns the path unchanged; the error comes when the path is opened.
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

// Names of backups, and of files that are being copied, downloaded or edited, end with one of
// unfinishedSuffixes.
var unfinishedSuffixes = []string{"._copying_", ".filepart", ".part", ".tmp", ".bak", ".crdownload", ".swp", "~"}

// isUnfinished reports whether a file has the name of an unfinished copy or of a backup.
func isUnfinished(p string) bool {
	name := strings.ToLower(path.Base(p))
	return slices.ContainsFunc(unfinishedSuffixes, func(suffix string) bool { return strings.HasSuffix(name, suffix) })
}

func (w *walker) skip(p, reason, same string) {
	w.skipped = append(w.skipped, Skipped{Path: w.in.Origin + p, Reason: reason, Same: same})
}

// all walks a directory and everything below it.
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

// walk walks a directory and the directories in it. It defers links and hidden directories.
func (w *walker) walk(ctx context.Context, d directory) error {
	//guard: skips a directory that was walked under another name
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
		case below.hidden && info.Dir && !info.Link && w.enterHidden:
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
