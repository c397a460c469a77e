package dataset

import (
	"context"
	"errors"
	"fmt"

	"github.com/rowtocol/rowtocol/damage"
	"github.com/rowtocol/rowtocol/manifest"
	"github.com/rowtocol/rowtocol/shred"
	"github.com/rowtocol/rowtocol/store"
)

// Dataset is a sequence of rows of one schema in column files. It is
// immutable and may be used concurrently; each Scan belongs to one goroutine.
type Dataset struct {
	list    *Listing
	mapping *shred.Mapping // nil without a schema
	schema  string         // the text that mapping is of
	rows    int64
}

// Open opens the dataset that List finds at path. Of a committed output it
// reads the manifests, of other files the headers.
func Open(ctx context.Context, st store.Store, path string, o Options) (*Dataset, error) {
	l, err := List(ctx, st, path, o)
	if err != nil {
		return nil, err
	}
	d := &Dataset{list: l}
	for _, r := range l.Runs {
		if err := d.addSchema(r.Path, r.Success); err != nil {
			return nil, err
		}
	}
	for i := range l.Parts {
		p := &l.Parts[i]
		if p.Rows < 0 {
			if err := d.measure(ctx, p); err != nil {
				return nil, err
			}
		}
		d.rows += p.Rows
	}
	return d, nil
}

// addSchema takes the schema of the first run that has one, and holds the
// others to it.
func (d *Dataset) addSchema(dir string, s *manifest.Success) error {
	if s.Schema == "" || s.Schema == d.schema {
		return nil
	}
	schema, err := shred.ParseSchema(s.Schema)
	if err != nil {
		return in(dir, err)
	}
	m, err := shred.Map(schema, shred.Options{RecursiveBytes: s.Request.Options.RecursiveBytes})
	if err != nil {
		return in(dir, err)
	}
	return d.setMapping(dir, m)
}

// measure reads from its files how many rows a part has, and of what schema.
func (d *Dataset) measure(ctx context.Context, p *Part) error {
	f, err := d.list.Open(ctx, p)
	if err != nil {
		return err
	}
	defer f.Close()
	p.Rows, p.format = f.Rows(), f.Format
	if d.mapping != nil && f.Schema() == d.schema {
		return nil // what its columns are is checked when they are read
	}
	m, err := mapPart(f)
	if err != nil {
		return err
	}
	return d.setMapping(p.Name, m)
}

// setMapping makes m the dataset's, or compares it with the one that is.
func (d *Dataset) setMapping(name string, m *shred.Mapping) error {
	if d.mapping == nil {
		d.mapping, d.schema = m, m.Schema.JSON()
		return nil
	}
	//guard: rows of two schemas would be given as of one
	if m.Schema.Canonical() != d.mapping.Schema.Canonical() {
		return damage.New(damage.Schema, name, -1, "the rows are of another schema than those before; convert the inputs of all runs with one --schema")
	}
	return nil
}

// Schema returns the schema of the rows; nil for the output of no input.
func (d *Dataset) Schema() *shred.Schema {
	if d.mapping == nil {
		return nil
	}
	return d.mapping.Schema
}

// Mapping returns the columns of the schema; nil for the output of no input.
func (d *Dataset) Mapping() *shred.Mapping { return d.mapping }

// Rows is the number of rows of all parts.
func (d *Dataset) Rows() int64 { return d.rows }

// Store is where the files are.
func (d *Dataset) Store() store.Store { return d.list.Store }

// Parts are the files, in the order of their rows. They must not be changed.
func (d *Dataset) Parts() []Part { return d.list.Parts }

// project returns the mapping of the fields that paths name, all if nil, and
// which columns of the dataset it takes.
func (d *Dataset) project(paths []string) (*shred.Mapping, []int, error) {
	if d.mapping == nil {
		if paths != nil {
			return nil, nil, queryf("the dataset is the output of no input, and has no columns")
		}
		return nil, nil, nil
	}
	if paths != nil {
		m, columns, err := d.mapping.Project(paths)
		if err != nil {
			return nil, nil, &queryError{err}
		}
		return m, columns, nil
	}
	columns := make([]int, len(d.mapping.Columns))
	for i := range columns {
		columns[i] = i
	}
	return d.mapping, columns, nil
}

// Success returns the manifest if the dataset is one committed output, else
// nil.
func (d *Dataset) Success() *manifest.Success { return d.list.Success() }

// ErrQuery is a query that does not fit the dataset.
var ErrQuery = errors.New("the query does not fit the data")

// queryError is an ErrQuery that says why.
type queryError struct{ err error }

func (q *queryError) Error() string        { return q.err.Error() }
func (q *queryError) Unwrap() error        { return q.err }
func (q *queryError) Is(target error) bool { return target == ErrQuery }

func queryf(format string, args ...any) error { return &queryError{fmt.Errorf(format, args...)} }
