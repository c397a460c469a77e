package dataset

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/budget"
	"github.com/rowtocol/rowtocol/damage"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/manifest"
	"github.com/rowtocol/rowtocol/store"
)

const (
	runPrefix = "run="
)

// ErrUnfinished is a directory without _SUCCESS: whatever makes it may not
// have ended.
var ErrUnfinished = errors.New("not a finished output")

// unfinished is an ErrUnfinished that says more.
type unfinished struct{ reason string }

func (u *unfinished) Error() string        { return u.reason }
func (u *unfinished) Is(target error) bool { return target == ErrUnfinished }

// ErrChanging is an output that is being made or replaced: a retry may help.
var ErrChanging = errors.New("the output is being changed")

// Options say what is accepted.
type Options struct {
	// Formats are the formats that are read.
	Formats format.Registry
	// Partial reads a directory without _SUCCESS: the column files that it
	// holds, whether or not they are all.
	Partial bool
	// MaxBlock is the size in bytes of the largest uncompressed block that is
	// decoded; 0 is format.DefaultMaxBlock.
	MaxBlock int64
	// Memory is what reading may take; nil is memory without end. What does not fit
	// it is a *budget.Error.
	Memory *budget.Pool
}

// Listing says which files make up a dataset.
type Listing struct {
	Store store.Store
	// Path is the path that was listed.
	Path string
	// Dir is whether Path is a directory.
	Dir bool
	// Runs are the committed outputs, in the order of their names: none for a
	// file, one for a plain output.
	Runs []Run
	// Parts are the row groups in the order of their rows.
	Parts   []Part
	Formats format.Registry // those that are known

	maxBlock int64        // as in Options
	memory   *budget.Pool // as in Options
}

// Run is one committed output.
type Run struct {
	Path    string
	Success *manifest.Success
}

// Success returns the manifest if the whole dataset is one committed output,
// else nil.
func (l *Listing) Success() *manifest.Success {
	if len(l.Runs) == 1 {
		return l.Runs[0].Success
	}
	return nil
}

// List finds the files of a dataset: path is a column file, or a directory of the
// files of one row group, in which there are no directories; or a directory with
// _SUCCESS; or one with directories run=… that have each their own, whose rows
// follow each other in the order of their names, after the directory's own. No
// column file is opened.
func List(ctx context.Context, st store.Store, path string, o Options) (*Listing, error) {
	info, err := st.Stat(ctx, path)
	if err != nil {
		return nil, err
	}
	l := &Listing{Store: st, Path: path, Dir: info.Dir, Formats: o.Formats, maxBlock: o.MaxBlock, memory: o.Memory}
	if info.Dir {
		return l, l.addDirectory(ctx, o)
	}
	return l, l.addPart(ctx, info)
}

// addDirectory adds the parts of a directory, and of the runs in it.
func (l *Listing) addDirectory(ctx context.Context, o Options) error {
	infos, err := l.Store.List(ctx, l.Path)
	if err != nil {
		return err
	}
	finished := slices.ContainsFunc(infos, func(i store.Info) bool { return i.Name == manifest.SuccessName && !i.Dir })
	runs := slices.DeleteFunc(slices.Clone(infos), func(i store.Info) bool { return !i.Dir || !strings.HasPrefix(i.Name, runPrefix) })
	if finished {
		if err := l.addRun(ctx, l.Path); err != nil {
			return err
		}
	} else if l.Formats.OfName(l.Path) != nil && !slices.ContainsFunc(infos, func(i store.Info) bool { return i.Dir }) {
		l.Dir = false
		return l.addPart(ctx, store.Info{Name: path.Base(l.Path), Path: l.Path, Dir: true})
	} else if o.Partial {
		if err := l.addFiles(ctx, infos); err != nil {
			return err
		}
	} else if len(runs) == 0 {
		if err := underWay(ctx, l.Store, l.Path, infos); err != nil {
			return err
		}
		return &unfinished{fmt.Sprintf("%s is not a finished output: it has no %s; name a file in it to look at that alone", l.Path, manifest.SuccessName)}
	}
	for _, run := range runs {
		err := l.addRun(ctx, run.Path)
		if o.Partial && errors.Is(err, ErrUnfinished) {
			if infos, err = l.Store.List(ctx, run.Path); err == nil {
				err = l.addFiles(ctx, infos)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addRun adds the parts that a _SUCCESS lists.
func (l *Listing) addRun(ctx context.Context, dir string) error {
	name := path.Join(dir, manifest.SuccessName)
	text, err := l.Store.ReadFile(ctx, name, manifest.MaxSize)
	if errors.Is(err, store.ErrNotExist) {
		infos, err := l.Store.List(ctx, dir)
		if err == nil {
			err = underWay(ctx, l.Store, dir, infos)
		}
		if err != nil {
			return err
		}
		return &unfinished{fmt.Sprintf("%s is not a finished run: it has no %s", dir, manifest.SuccessName)}
	}
	//guard: what stands in the place of a manifest would be a matter of storage
	if store.Absent(err) {
		return &unfinished{fmt.Sprintf("%s is not a finished run: %v", dir, err)}
	}
	if err != nil {
		return err
	}
	s, err := manifest.DecodeSuccess(text)
	if err != nil {
		d := damage.New(damage.Header, name, -1, "the manifest does not parse")
		d.Err = err
		return d
	}
	of, err := l.Formats.Named(s.Request.Options.Format)
	if err != nil {
		d := damage.New(damage.Unsupported, name, -1, "the output cannot be read by this program")
		d.Err = err
		return d
	}
	for i := range s.Parts {
		l.Parts = append(l.Parts, newPart(dir, &s.Parts[i], of, len(l.Runs)))
	}
	l.Runs = append(l.Runs, Run{dir, s})
	return nil
}

// addFiles adds the parts of a directory that nothing lists, in row order: what
// a task made comes before what the next one did, and its row groups follow each
// other by their numbers.
func (l *Listing) addFiles(ctx context.Context, infos []store.Info) error {
	parts := slices.DeleteFunc(slices.Clone(infos), func(i store.Info) bool {
		return store.Hidden(i.Name) || strings.HasPrefix(i.Name, runPrefix) || l.Formats.OfName(i.Name) == nil
	})
	slices.SortFunc(parts, func(a, b store.Info) int {
		return compareNumbered(strings.TrimSuffix(a.Path, path.Ext(a.Path)), strings.TrimSuffix(b.Path, path.Ext(b.Path)))
	})
	for _, info := range parts {
		if err := l.addPart(ctx, info); err != nil {
			return err
		}
	}
	return nil
}

// addPart adds a file, or a directory that is a part.
func (l *Listing) addPart(ctx context.Context, info store.Info) error {
	p := Part{Name: info.Path, Rows: -1, Bytes: info.Size, Files: []File{{Name: info.Path, Bytes: info.Size}}}
	if info.Dir {
		var err error
		if p.Files, p.Bytes, err = partFiles(ctx, l.Store, info.Path); err != nil {
			return err
		}
		p.format = l.Formats.OfName(info.Path)
	}
	l.Parts = append(l.Parts, p)
	return nil
}

// compareNumbered orders names with numbers in them: by text outside of the
// digits and by value inside. A name comes before those that it begins.
func compareNumbered(a, b string) int {
	for a != "" && b != "" {
		if x, y := digits(a), digits(b); x != "" && y != "" {
			a, b = a[len(x):], b[len(y):]
			x, y = strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
			if len(x) != len(y) {
				return len(x) - len(y)
			}
			if c := strings.Compare(x, y); c != 0 {
				return c
			}
			continue
		}
		if a[0] != b[0] {
			return int(a[0]) - int(b[0])
		}
		a, b = a[1:], b[1:]
	}
	return len(a) - len(b)
}

// digits is the number that s begins with, "" if it does not.
func digits(s string) string {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return s[:n]
}
