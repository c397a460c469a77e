package source

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/parquet"
	"github.com/rowtocol/rowtocol/store"
)

// Source is what a destination holds at one moment.
type Source struct {
	// URI names the destination.
	URI string
	// Outputs are the names of the outputs and increments: for each the path of its directory
	// below the destination, joined with the ID of the output if that is not in the path.
	Outputs []string
	// Files are the files that have rows, in the order of their rows.
	Files []File
	// Keys are the names of the keys of directories, the outermost first.
	Keys []string

	at      store.Location
	listing *dataset.Listing
}

// File is a file of an output.
type File struct {
	// URI names the file, without escapes.
	URI         string
	Bytes, Rows int64
	// Keys are the keys of the directories of the file, as in Source.Keys.
	Keys []manifest.Key

	part *dataset.Part
}

// Locate returns a destination. A local path becomes absolute, because a table names files by it.
func Locate(resolve func(string) (store.Location, error), dest string) (store.Location, error) {
	at, err := resolve(dest)
	if err == nil && at.Origin == "" {
		at.Path, err = filepath.Abs(at.Path)
	}
	return at, err
}

// URI returns the location of a path next to at, with a scheme.
func URI(at store.Location, p string) string {
	if at.Origin == "" {
		return "file://" + p
	}
	return at.Origin + p
}

// Read reads the _SUCCESS files of a destination.
func Read(ctx context.Context, at store.Location, memory *budget.Pool) (*Source, error) {
	l, err := dataset.List(ctx, []store.Location{at}, dataset.Options{Formats: format.Registry{parquet.Format}, Memory: memory})
	if err != nil {
		return nil, explain(err)
	}
	s := &Source{URI: URI(at, at.Path), at: at, listing: l}
	for i := range l.Outputs {
		s.Outputs = append(s.Outputs, nameOutput(at.Path, &l.Outputs[i]))
	}
	if len(l.Sets) > 0 {
		for _, k := range l.Sets[0].Keys {
			s.Keys = append(s.Keys, k.Name)
		}
	}
	for i := range l.Parts {
		p := &l.Parts[i]
		//guard: refuses a file that no _SUCCESS lists (tests: ./tables)
		if p.Output < 0 {
			return nil, failure.New(failure.Input, "%s is a file, not the destination of a conversion", p.Name)
		}
		if p.Rows == 0 {
			continue
		}
		s.Files = append(s.Files, File{URI: URI(at, p.Name), Bytes: p.Bytes, Rows: p.Rows, Keys: l.Sets[p.Set].Keys, part: p})
	}
	return s, nil
}

// explain gives a kind to the error of a destination that no table can hold.
func explain(err error) error {
	switch {
	case errors.Is(err, format.ErrUnknown):
		return failure.As(failure.Input, fmt.Errorf("a table has Parquet files only: %w", err))
	//guard: does not try again if there is no destination (tests: ./tables)
	case errors.Is(err, store.ErrNotExist), errors.Is(err, dataset.ErrUnfinished):
		return failure.As(failure.Input, err)
	}
	return err
}

func nameOutput(dest string, o *dataset.Output) string {
	below := strings.TrimPrefix(strings.TrimPrefix(o.Path, dest), "/")
	if strings.HasSuffix(below, o.ID) {
		return below
	}
	return path.Join(below, o.ID)
}

// Inside returns the name of an output, as in Outputs, from the URI of one of its files.
func Inside(destination, uri string) (output string, ok bool) {
	below, ok := strings.CutPrefix(uri, destination+"/")
	id, named := manifest.OutputID(path.Base(below))
	if !ok || !named {
		return "", false
	}
	dir := path.Dir(below)
	if strings.HasSuffix(dir, id) {
		return dir, true
	}
	return path.Join(dir, id), true
}

// Unchanged reports whether the destination still holds the same outputs.
func (s *Source) Unchanged(ctx context.Context, memory *budget.Pool) (bool, error) {
	now, err := Read(ctx, s.at, memory)
	if err != nil {
		return false, err
	}
	return strings.Join(now.Outputs, "\n") == strings.Join(s.Outputs, "\n"), nil
}

// Open opens a file. The error is dataset.ErrChanging if its output was replaced.
func (s *Source) Open(ctx context.Context, f *File) (store.File, error) {
	opened, err := f.part.Store.Open(ctx, f.part.Name)
	if err != nil {
		return nil, s.listing.Lost(ctx, f.part, f.part.Name, err)
	}
	//guard: refuses a file of another size than _SUCCESS says (tests: ./tables)
	if opened.Size() != f.Bytes {
		_ = opened.Close() // only read
		return nil, s.listing.Lost(ctx, f.part, f.part.Name, fmt.Errorf("%d bytes, expected %d: %w", opened.Size(), f.Bytes, store.ErrReplaced))
	}
	return opened, nil
}
