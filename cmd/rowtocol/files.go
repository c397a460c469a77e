package main

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/rowtocol/rowtocol/damage"
	"github.com/rowtocol/rowtocol/job"
	"github.com/rowtocol/rowtocol/manifest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/trevni"
)

// columns is what a command that looks at columns was pointed at: one file,
// or the parts of a committed output.
type columns struct {
	store   store.Store
	path    string
	success *manifest.Success // nil for a single file
	files   []string          // paths, in row order
}

// openColumns resolves FILE|DIR.
func (a *app) openColumns(ctx context.Context, location string) (*columns, error) {
	at, err := a.resolve(location)
	if err != nil {
		return nil, err
	}
	st, p := at.Store, at.Path
	info, err := st.Stat(ctx, p)
	if err != nil {
		return nil, err
	}
	c := &columns{store: st, path: p, files: []string{p}}
	if !info.Dir {
		return c, nil
	}
	name := path.Join(p, successName)
	text, err := st.ReadFile(ctx, name, manifest.MaxSize)
	if errors.Is(err, store.ErrNotExist) {
		return nil, fmt.Errorf("%s is not a finished output: it has no %s; name a file in it to look at that alone: %w", location, successName, job.ErrInput)
	}
	if err != nil {
		return nil, err
	}
	if c.success, err = manifest.DecodeSuccess(text); err != nil {
		d := damage.New(damage.Header, name, -1, "the manifest does not parse")
		d.Err = err
		return nil, d
	}
	c.files = c.files[:0]
	for _, part := range c.success.Parts {
		c.files = append(c.files, path.Join(p, part.Name))
	}
	return c, nil
}

const successName = "_SUCCESS"

// openFile opens one Trevni file; the caller closes the store's file.
func openFile(ctx context.Context, st store.Store, name string) (*trevni.File, store.File, error) {
	in, err := st.Open(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	f, err := openTrevni(in, name)
	if err != nil {
		_ = in.Close() // only read
		return nil, nil, err
	}
	return f, in, nil
}

// openTrevni opens a Trevni file, and tells what an Avro file is that was
// taken for one.
func openTrevni(in store.File, name string) (*trevni.File, error) {
	f, err := trevni.Open(in, in.Size(), name)
	if err != nil && isAvro(in) {
		return nil, fmt.Errorf("%w (this is an Avro object container file: convert it first)", err)
	}
	return f, err
}

// isAvro says whether a file begins as Avro object container files do.
func isAvro(in store.File) bool {
	var magic [4]byte
	n, _ := in.ReadAt(magic[:], 0) // a file too short or unreadable is no Avro file
	return n == 4 && string(magic[:]) == "Obj\x01"
}
