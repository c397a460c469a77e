package dataset

import (
	"context"
	"errors"
	"fmt"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/dataset/where"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/store"
)

// Dataset is a sequence of rows in column files and Avro files. It is immutable and
// may be used concurrently, except that only one query can read a stream. Each Scan
// belongs to one goroutine.
type Dataset struct {
	list     *Listing
	sections []*section
	rows     int64 // number of rows; -1 if it is not known
}

// section is consecutive parts whose rows have the same schema.
type section struct {
	first, end int            // indexes in Listing.Parts: the first part, and the part after the last one
	name       string         // path of the output or the file that has the schema
	schema     string         // text of the schema
	same       string         // cache: the latest text, other than schema, that proved to be the same schema
	files      *shred.Mapping // columns of the rows in the files
	mapping    *shred.Mapping // columns of the rows, followed by those of the keys of directories
	keys       []int          // indexes of these keys in Listing.keys
}

// Open opens the files that List finds as one dataset. It reads the manifests of
// committed outputs and the headers of other files. Different rows may have different
// schemas: each query checks that all rows that it needs have the same schema.
func Open(ctx context.Context, at []store.Location, o Options) (*Dataset, error) {
	l, err := List(ctx, at, o)
	if err != nil {
		return nil, err
	}
	return l.Dataset(ctx)
}

// Dataset opens the listed files.
func (l *Listing) Dataset(ctx context.Context) (*Dataset, error) {
	d := &Dataset{list: l}
	for i := range l.Parts {
		p := &l.Parts[i]
		if err := d.addPart(ctx, i, p); err != nil {
			return nil, err
		}
		if p.Rows < 0 || d.rows < 0 {
			d.rows = -1
		} else {
			d.rows += p.Rows
		}
	}
	return d, nil
}

// addPart adds a part to the last section, or begins another section with the part.
func (d *Dataset) addPart(ctx context.Context, i int, p *Part) (err error) {
	if p.Output >= 0 && d.list.Outputs[p.Output].schema != "" {
		err = d.addSchema(&d.list.Outputs[p.Output], i)
	} else {
		err = d.measure(ctx, i, p)
	}
	if err == nil {
		d.sections[len(d.sections)-1].end = i + 1
	}
	return err
}

// last returns the section to which parts are added. If there is no section, it returns
// an empty one.
func (d *Dataset) last() *section {
	if n := len(d.sections); n > 0 {
		return d.sections[n-1]
	}
	return &section{}
}

// addSchema adds part i, with the schema in its output's manifest.
func (d *Dataset) addSchema(r *Output, i int) error {
	if d.last().is(r.schema) {
		return nil
	}
	schema, err := shred.ParseSchema(r.schema)
	if err != nil {
		return in(r.Path, err)
	}
	m, err := shred.Map(schema, shred.Options{RecursiveBytes: r.recursiveBytes, Memory: d.list.memory.NewHeap()})
	if err != nil {
		return in(r.Path, err)
	}
	return d.addMapping(r.Path, i, m)
}

// measure adds part i, with the schema and, unless it is an Avro file, the number of rows
// in its files.
func (d *Dataset) measure(ctx context.Context, i int, p *Part) error {
	if h, err := d.list.avroHeader(ctx, p); err != nil {
		return err
	} else if h != nil {
		return d.addAvro(i, p, h)
	}
	f, err := d.list.Open(ctx, p)
	if err != nil {
		return err
	}
	defer f.Close()
	if p.Rows < 0 {
		p.Rows, p.format = f.Rows(), f.Format
	}
	if d.last().is(f.Schema()) {
		return nil // the columns are checked when they are read
	}
	m, err := mapPart(f)
	if err != nil {
		return err
	}
	return d.addMapping(p.Name, i, m)
}

// addMapping begins a section with part i, unless its rows have the last section's
// schema.
func (d *Dataset) addMapping(name string, i int, m *shred.Mapping) error {
	last := d.last()
	if last.files != nil && last.files.Schema.Same(m.Schema) {
		last.same = m.Schema.JSON()
		return nil
	}
	s := &section{first: i, end: i, name: name, schema: m.Schema.JSON(), files: m}
	var err error
	if s.mapping, s.keys, err = extend(m, d.list.keys); err != nil {
		return in(name, err)
	}
	d.sections = append(d.sections, s)
	return nil
}

// is reports whether schema is a known text of the section's schema.
func (s *section) is(schema string) bool {
	return s.files != nil && (schema == s.schema || schema == s.same)
}

// differs returns the error that the rows of section i have another schema than the rows
// of section i-1.
func (d *Dataset) differs(i int) error {
	return damage.New(damage.Schema, d.sections[i].name, -1, "the rows have a different schema than those of %s; --schema resolves them to one", d.sections[i-1].name)
}

// Schema returns the schema of the first rows. If other rows have another schema, Scan
// and Batches fail when they need these rows. Schema returns nil if the dataset is an
// output that was made without inputs.
func (d *Dataset) Schema() *shred.Schema {
	if len(d.sections) == 0 {
		return nil
	}
	return d.sections[0].mapping.Schema
}

// Mapping returns the columns of Schema, or nil if Schema is nil.
func (d *Dataset) Mapping() *shred.Mapping {
	if len(d.sections) == 0 {
		return nil
	}
	return d.sections[0].mapping
}

// Path returns the opened paths, separated by spaces, for messages.
func (d *Dataset) Path() string { return d.list.Path }

// Parts returns the parts in row order. Do not change them.
func (d *Dataset) Parts() []Part { return d.list.Parts }

// Outputs returns the committed outputs of the dataset. Part.Output is an index into
// them.
func (d *Dataset) Outputs() []Output { return d.list.Outputs }

// Spans returns ranges of values of single fields. Every row that meets the condition has
// values in these ranges. If there are no rows, or the rows have several schemas, Spans
// returns no ranges. Otherwise it fails if the condition does not fit the rows.
func (d *Dataset) Spans(condition string) ([]where.Span, error) {
	if len(d.sections) != 1 {
		return nil, nil
	}
	p, err := where.Parse(condition, d.sections[0].mapping)
	if err != nil {
		return nil, &queryError{err}
	}
	return p.Spans(), nil
}

// choose returns the mapping of the fields that paths name, and the numbers of its
// columns in the section. If paths is nil, all fields are named.
func (s *section) choose(paths []string) (*shred.Mapping, []int, error) {
	if paths != nil {
		m, columns, err := s.mapping.Project(paths)
		if err != nil {
			return nil, nil, &queryError{err}
		}
		return m, columns, nil
	}
	return s.mapping, allColumns(s.mapping), nil
}

// ErrQuery is returned for a query that does not fit the dataset.
var ErrQuery = errors.New("the query does not fit the data")

// queryError is an ErrQuery with a reason.
type queryError struct{ err error }

func (q *queryError) Error() string        { return q.err.Error() }
func (q *queryError) Unwrap() error        { return q.err }
func (q *queryError) Is(target error) bool { return target == ErrQuery }

func queryf(format string, args ...any) error { return &queryError{fmt.Errorf(format, args...)} }
