package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// ErrUnfinished is returned for a directory without _SUCCESS. The run that writes it may
// not have ended.
var ErrUnfinished = errors.New("not a finished output")

// unfinished is an ErrUnfinished with a reason.
type unfinished struct{ reason string }

func (u *unfinished) Error() string        { return u.reason }
func (u *unfinished) Is(target error) bool { return target == ErrUnfinished }

// ErrChanging is returned for an output that is being made or replaced. A retry may
// help.
var ErrChanging = errors.New("the output is being changed")

// Options control what List accepts.
type Options struct {
	// Formats are the formats to read.
	Formats format.Registry
	// Partial reads the column files in a directory without _SUCCESS, even if some are
	// missing.
	Partial bool
	// Stream is an Avro file, which is read for a location without a store. One query can
	// read it, from the start as far as the query needs rows.
	Stream io.Reader
	// Memory is the pool for reading; nil is no limit. A request that does not fit into
	// the pool fails with a *budget.Error.
	Memory *budget.Pool
	// Keyless reads rows as they are in the files, without the keys of directories.
	Keyless bool
}

// Listing is the files that make up a dataset.
type Listing struct {
	// Path is the listed paths, separated by spaces, for messages.
	Path string
	// Dir is false if the listing is a single file.
	Dir bool
	// Sets are the listed files and the directories of outputs, including the outputs in
	// trees.
	Sets []Set
	// Outputs are the committed outputs, in the order of their rows.
	Outputs []Output
	// Parts are the row groups in the order of their rows.
	Parts []Part
	// Strays are paths in the directories of a tree that do not belong to the tree.
	Strays  []string
	Formats format.Registry // the known formats

	keys   []keyColumn  // columns of the keys of all sets
	memory *budget.Pool // Options.Memory
}

// Set is a file, or a directory of one output, or of the outputs of several increments.
type Set struct {
	Path string
	// Keys are the keys of the set's directories that become fields, outermost first. All
	// sets of a listing have keys of the same names.
	Keys []manifest.Key

	named int // how many of Keys are in the path that the user named
}

// Output is one committed output.
type Output struct {
	Store store.Store
	Path  string
	ID    string
	Made  *manifest.Made
	// Losses are the ranges of inputs whose rows the output lacks.
	Losses []manifest.Loss
	// Index are the files of the output's key indexes, named relative to Path.
	// IndexFields are the fields of each index. Fingerprint identifies the indexed row
	// groups: see manifest.Fingerprint. All three are empty if there is no index.
	Index       []manifest.File
	IndexFields []string
	Fingerprint string

	sequence       int64
	schema         string
	recursiveBytes bool
}

// Schema returns the JSON of the rows' schema from the output's manifest.
func (r *Output) Schema() string { return r.schema }

// Of returns the listing of one output, without the keys of directories.
func (l *Listing) Of(output int) *Listing {
	listing := &Listing{
		Path: l.Outputs[output].Path, Dir: true, Outputs: l.Outputs[output : output+1], Formats: l.Formats, memory: l.memory,
	}
	for _, p := range l.Parts {
		if p.Output == output {
			listing.Sets = []Set{{Path: l.Sets[p.Set].Path}}
			p.Output, p.Set = 0, 0
			listing.Parts = append(listing.Parts, p)
		}
	}
	return listing
}

// Losses returns the ranges of inputs that are missing from the outputs.
func (l *Listing) Losses() (all []manifest.Loss) {
	for i := range l.Outputs {
		all = append(all, l.Outputs[i].Losses...)
	}
	return all
}

// finder lists one of the locations of a listing.
type finder struct {
	*Listing
	store   store.Store
	partial bool
	named   int              // number of keys in the path that the user named
	held    manifest.Holders // inputs of the current output and its increments
}

// addTree adds the parts of a directory. If the directories in it are named by keys, it
// adds the parts of these directories.
func (l *finder) addTree(ctx context.Context, top manifest.Branch) error {
	w := manifest.Walker{Store: l.store,
		Enter: func(b manifest.Branch, infos []store.Info, err error) ([]store.Info, error) {
			if err != nil {
				return nil, err
			}
			return l.addDirectory(ctx, b, infos)
		},
		Other: func(_ manifest.Branch, info store.Info, duplicate bool) error {
			//guard: refuses two directories of one key
			if k, _ := manifest.ParseKey(info.Name); duplicate {
				return duplicateKey(info.Path, k.Name)
			}
			l.Strays = append(l.Strays, info.Path)
			return nil
		}}
	return w.Walk(ctx, top)
}

// addDirectory adds the parts of a directory and of its increments. If directories named
// by keys are in it, addDirectory returns the sorted entries instead.
func (l *finder) addDirectory(ctx context.Context, b manifest.Branch, infos []store.Info) ([]store.Info, error) {
	sets, outputs, parts := len(l.Sets), len(l.Outputs), len(l.Parts)
	for try := 1; ; try++ {
		tree, err := l.tryDirectory(ctx, b, infos)
		switch {
		case err == nil && tree:
			slices.SortFunc(infos, func(a, b store.Info) int { return comparePaths(a.Path, b.Path) })
			return infos, nil
		case !errors.Is(err, errReplaced):
			return nil, err
		case try == listTries:
			return nil, fmt.Errorf("%s was replaced again and again while it was listed: %w", b.Path, ErrChanging)
		}
		l.Sets, l.Outputs, l.Parts = l.Sets[:sets], l.Outputs[:outputs], l.Parts[:parts]
		if infos, err = l.store.List(ctx, b.Path); err != nil {
			return nil, err
		}
	}
}

// tryDirectory is one try of addDirectory. It reports whether directories named by keys
// are in the directory. It fails with errReplaced if the output was replaced during the
// try.
func (l *finder) tryDirectory(ctx context.Context, at manifest.Branch, infos []store.Info) (tree bool, err error) {
	dir := at.Path
	finished := slices.ContainsFunc(infos, func(i store.Info) bool { return i.Name == manifest.SuccessName && !i.Dir })
	if !finished && l.Formats.OfName(dir) != nil && !slices.ContainsFunc(infos, func(i store.Info) bool { return i.Dir }) {
		l.addSet(at)
		return false, l.addPart(ctx, store.Info{Name: path.Base(dir), Path: dir, Dir: true})
	}
	l.Dir = true
	increments := slices.DeleteFunc(slices.Clone(infos), func(i store.Info) bool { return !i.Dir || !strings.HasPrefix(i.Name, manifest.IncrementPrefix) })
	if slices.ContainsFunc(infos, manifest.HasKey) {
		//guard: refuses increments next to directories named by keys
		if len(increments) > 0 {
			return false, damage.New(damage.Schema, dir, -1, "increments are next to directories that are named by keys")
		}
		//guard: refuses a directory that is both an output and a parent of outputs
		if finished {
			return false, damage.New(damage.Schema, dir, -1, "directories that are named by keys are in an output")
		}
		return true, nil
	}
	l.addSet(at)
	l.held = manifest.Holders{}
	switch {
	case finished:
		err = l.addOutput(ctx, dir)
	case l.partial:
		err = l.addFiles(ctx, infos)
	case len(increments) == 0:
		if err = underWay(ctx, l.store, dir, infos); err == nil && holdsAvro(ctx, l.store, infos) {
			err = &unfinished{fmt.Sprintf("%s is a directory of Avro files: convert it, or name the files in it", dir)}
		} else if err == nil {
			err = &unfinished{fmt.Sprintf("%s is not a finished output: it has no %s (rowtocol status says why); name a file in it to look at that alone", dir, manifest.SuccessName)}
		}
	}
	if err != nil || len(increments) == 0 {
		return false, err
	}
	b := &incrementDirs{dir: dir, all: infos, increments: increments, any: l.partial && !finished}
	if finished {
		top := l.Outputs[len(l.Outputs)-1]
		b.base, b.sequence = top.ID, top.sequence
	}
	return false, l.addIncrements(ctx, b)
}

// addSet begins another set.
func (l *finder) addSet(b manifest.Branch) {
	l.Sets = append(l.Sets, Set{Path: b.Path, Keys: b.Keys, named: l.named})
}

// addOutput adds the parts that a _SUCCESS lists.
func (l *finder) addOutput(ctx context.Context, dir string) error {
	out, s, err := l.readOutput(ctx, dir)
	if err != nil {
		return err
	}
	return l.addDisjoint(out, s)
}

// addDisjoint is addListed for an output that may share its directory with others. Two
// outputs of one directory must not hold the same inputs.
func (l *finder) addDisjoint(out Output, s *manifest.Success) error {
	//guard: refuses an increment whose inputs another output holds
	if duplicate := l.held.Add(out.Path, s); duplicate != nil {
		return damage.New(damage.Count, path.Join(out.Path, manifest.SuccessName), -1, "%s", duplicate)
	}
	return l.addListed(out, s)
}

// readOutput reads the _SUCCESS of a directory.
func (l *finder) readOutput(ctx context.Context, dir string) (Output, *manifest.Success, error) {
	out := Output{Store: l.store, Path: dir}
	s, err := out.success(ctx)
	if errors.Is(err, store.ErrNotExist) {
		infos, err := l.store.List(ctx, dir)
		if err == nil {
			err = underWay(ctx, l.store, dir, infos)
		}
		if err != nil {
			return out, nil, err
		}
		return out, nil, &unfinished{fmt.Sprintf("%s is not a finished output: it has no %s", dir, manifest.SuccessName)}
	}
	//guard: reports an unusable _SUCCESS as unfinished, not as failed storage
	if store.Absent(err) {
		return out, nil, &unfinished{fmt.Sprintf("%s is not a finished output: %v", dir, err)}
	}
	return out, s, err
}

// addListed adds the parts that the _SUCCESS of an output lists.
func (l *finder) addListed(out Output, s *manifest.Success) error {
	want, err := l.Formats.Named(s.Request.Options.Format)
	if err != nil {
		d := damage.New(damage.Unsupported, path.Join(out.Path, manifest.SuccessName), -1, "the output cannot be read by this program")
		d.Err = err
		return d
	}
	out.ID, out.Made, out.Losses = s.ID, s.Made, s.Losses
	out.Index, out.IndexFields = s.Index, s.Request.Options.Index
	if len(s.Index) > 0 {
		out.Fingerprint = manifest.Fingerprint(s.Parts)
	}
	out.sequence = s.Sequence
	out.schema, out.recursiveBytes = s.Schema, s.Request.Options.RecursiveBytes
	if n := len(l.Outputs); n > 0 && out.schema == l.Outputs[n-1].schema {
		out.schema = l.Outputs[n-1].schema // many outputs share one copy of the text
	}
	for i := range s.Parts {
		//guard: rejects a part with the name of another format
		if file := s.Parts[i].Entry().Name; l.Formats.OfName(file) != want {
			return damage.New(damage.Header, path.Join(out.Path, manifest.SuccessName), -1, "%s is listed as a part in the format %s", file, want.Name())
		}
		l.append(newPart(out.Path, &s.Parts[i], want), len(l.Outputs))
	}
	l.Outputs = append(l.Outputs, out)
	return nil
}

// append adds a part to the last set. output is the index of the output that lists the
// part, or -1.
func (l *finder) append(p Part, output int) {
	p.Store, p.Set, p.Output = l.store, len(l.Sets)-1, output
	l.Parts = append(l.Parts, p)
}

// addFiles adds the parts of a directory without a manifest in row order: by task, then
// by the number of the row group.
func (l *finder) addFiles(ctx context.Context, infos []store.Info) error {
	parts := slices.DeleteFunc(slices.Clone(infos), func(i store.Info) bool {
		return store.Hidden(i.Name) || strings.HasPrefix(i.Name, manifest.IncrementPrefix) || l.Formats.OfName(i.Name) == nil
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
func (l *finder) addPart(ctx context.Context, info store.Info) error {
	p := Part{Name: info.Path, Rows: -1, Bytes: info.Size, Files: []File{{Name: info.Path, Bytes: info.Size}}}
	if info.Dir {
		var err error
		if p.Files, p.Bytes, err = partFiles(ctx, l.store, info.Path); err != nil {
			return err
		}
		p.format = l.Formats.OfName(info.Path)
	}
	l.append(p, -1)
	return nil
}

// compareNumbered compares names with numbers in them: digits by value, the rest as
// text. If one name begins with the other, the shorter name comes first.
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

// digits returns the number that s begins with, or "".
func digits(s string) string {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return s[:n]
}
