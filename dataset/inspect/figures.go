package inspect

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/internal/parallel"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// Figures are the sizes of one row group, or of all row groups of outputs or files. Raw is the
// number of bytes of blocks before compression, and Stored the number after compression.
// Headers and block tables are counted only in Bytes.
type Figures struct {
	Path      string     `json:"path"`
	Files     int        `json:"files"`
	Bytes     int64      `json:"bytes"` // size of the files
	Rows      int64      `json:"rows"`
	Format    string     `json:"format"`
	Version   int        `json:"version"`         // version of the format
	Holds     string     `json:"holds,omitempty"` // kind of contents, if they are not the rows of a table
	Blocks    int64      `json:"blocks"`
	Raw       int64      `json:"raw_bytes"`
	Stored    int64      `json:"stored_bytes"`
	Metadata  []Metadata `json:"metadata"`
	Columns   []Column   `json:"columns"`
	RowGroups []RowGroup `json:"row_groups"`
	Datasets  []Dataset  `json:"datasets,omitempty"` // empty for a single dataset
	// Made says when a committed output was made, and by which version. It is nil unless
	// there is exactly one output and either is known.
	Made *manifest.Made `json:"made,omitempty"`
	// Losses are the damaged ranges that committed outputs left out.
	Losses []manifest.Loss `json:"losses"`
}

// Metadata is a key-value pair that the headers of all files share.
type Metadata struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	Hex   bool   `json:"hex,omitempty"` // the value is binary, shown as hexadecimal digits

	schema bool // the value is the schema
}

// Column holds the sums of one column over the files.
type Column struct {
	Number int    `json:"-"` // position in the files
	Name   string `json:"name"`
	Type   string `json:"type"`
	// StoredAs is the type of the stored values in tables. NativeType is the same in the terms of
	// a format with types of its own, and Encodings are the encodings of its blocks.
	StoredAs   string   `json:"-"`
	NativeType string   `json:"native_type,omitempty"`
	Encodings  []string `json:"encodings,omitempty"`
	SchemaType string   `json:"-"`                 // the type in the schema
	Meaning    string   `json:"logical,omitempty"` // see column.Column
	Array      bool     `json:"array"`
	Parent     string   `json:"parent,omitempty"`
	ParentNo   int      `json:"-"` // -1 at the top
	Codec      string   `json:"codec"`
	Checksum   string   `json:"checksum"`
	ValueIndex bool     `json:"values_index"`
	Values     *int64   `json:"values"` // nil if they were not counted
	Blocks     int64    `json:"blocks"`
	Raw        int64    `json:"raw_bytes"`
	Stored     int64    `json:"stored_bytes"`
	Filter     int64    `json:"bloom_filter_bytes,omitempty"`
	Ratio      float64  `json:"ratio"` // raw bytes per stored byte; 0 if no bytes are stored
	Share      float64  `json:"share"` // part of the stored bytes of all columns, 0 to 1
}

// Dataset is one of the outputs or files that the figures sum up.
type Dataset struct {
	Path   string `json:"path"`
	Files  int    `json:"files"`
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes"`
	Stored int64  `json:"stored_bytes"` // of its blocks
}

// RowGroup is one part.
type RowGroup struct {
	Name   string `json:"name"` // path relative to Figures.Path if Figures.Path is one dataset
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes"`
	Stored int64  `json:"stored_bytes"` // of its blocks
}

// Options are the choices of Gather.
type Options struct {
	// Count makes Gather read the lengths of array columns. Without it, the numbers of
	// values that depend on them stay unknown.
	Count bool
	// Progress is called after each part if it is not nil, one call at a time, in the order of
	// the parts.
	Progress func(rows int64, files int)
	// Memory must have room for the figures and for the page, table or object made of
	// them. nil is no limit. Gather checks the room before it makes the figures. It
	// reserves nothing: block tables that are garbage already would fill the rest.
	Memory *budget.Heap
	// Workers is the number of parts that are read at once; 0 is 1. The figures do not depend
	// on it. A part that does not fit into memory next to others is read alone.
	Workers int
}

// columnMemory is the approximate memory of a column's figures and their output, in
// bytes.
const columnMemory = 2 << 10

// Gather adds up the figures of a dataset's files. With a *damage.Error, it also returns
// the figures that it could read, or nil if there are none. With any other error, it
// returns nil.
func Gather(ctx context.Context, l *dataset.Listing, o Options) (*Figures, error) {
	f := &Figures{Path: l.Path, Columns: []Column{}, Metadata: []Metadata{}, RowGroups: []RowGroup{}, Losses: append([]manifest.Loss{}, l.Losses()...)}
	if len(l.Outputs) == 1 {
		f.Made = l.Outputs[0].Made
	}
	if len(l.Sets) > 1 {
		for _, s := range l.Sets {
			f.Datasets = append(f.Datasets, Dataset{Path: s.Path})
		}
	}
	damaged, err := f.addAll(ctx, l, &o)
	if err != nil {
		return nil, err
	}
	f.total()
	return f, damaged
}

// addAll adds the figures of all parts, in their order. damaged is the damage in parts.
func (f *Figures) addAll(ctx context.Context, l *dataset.Listing, o *Options) (damaged, err error) {
	added := make([]chan struct{}, len(l.Parts)) // each is closed after its part was added
	for i := range added {
		added[i] = make(chan struct{})
	}
	var memory sync.RWMutex // is locked to read a part while no other part is read
	err = parallel.Do(ctx, len(l.Parts), max(o.Workers, 1), func(ctx context.Context, i int) error {
		memory.RLock()
		p, err := readPart(ctx, l, i, o)
		memory.RUnlock()
		if i > 0 {
			select {
			case <-added[i-1]:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		//guard: reads a part again that had too little memory next to other parts
		if errors.As(err, new(*budget.Error)) {
			memory.Lock()
			p, err = readPart(ctx, l, i, o)
			memory.Unlock()
		}
		if p != nil {
			if other := f.add(l, &l.Parts[i], p); other != nil {
				err = other
			}
		}
		err = l.Lost(ctx, &l.Parts[i], l.Parts[i].Name, err)
		if err != nil && (!errors.As(err, new(*damage.Error)) || len(f.Columns) == 0) {
			return err
		}
		damaged = errors.Join(damaged, err)
		if o.Progress != nil {
			o.Progress(f.Rows, i+1)
		}
		close(added[i])
		return nil
	})
	return damaged, err
}

// partFigures are the figures of a part.
type partFigures struct {
	first    *Figures // format, contents and columns; nil unless it is the first part
	rows     int64
	metadata []Metadata
	columns  []columnFigures
}

// columnFigures are the figures of a column of a part.
type columnFigures struct {
	name                        string
	values                      int64 // -1 if they are not known
	blocks, raw, stored, filter int64
	native                      *format.Native // nil unless the format tells it
}

// readPart reads the figures of part number i. With an error, it returns those that it could
// read, or nil.
func readPart(ctx context.Context, l *dataset.Listing, i int, o *Options) (*partFigures, error) {
	part := &l.Parts[i]
	file, err := l.Open(ctx, part)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	cols := file.Columns()
	p := &partFigures{rows: file.Rows(), columns: make([]columnFigures, len(cols))}
	if i == 0 {
		//guard: checks memory before it collects the figures of many columns
		if err := o.Memory.Check(int64(len(cols)) * columnMemory); err != nil {
			return nil, fmt.Errorf("%s: figures of %d columns: %w", part.Name, len(cols), err)
		}
		p.first = &Figures{}
		p.first.start(file)
	}
	p.metadata = metadata(file)
	counts, damaged := countValues(ctx, file, o.Count)
	native, _ := file.Part.(format.NativePart)
	for i := range cols {
		c := columnFigures{name: cols[i].Name, values: counts[i], filter: cols[i].Filter}
		if native != nil {
			n := native.Native(i)
			c.native = &n
		}
		blocks, err := file.Blocks(i)
		damaged = errors.Join(damaged, err)
		c.blocks = int64(len(blocks))
		for _, b := range blocks {
			c.raw, c.stored = c.raw+b.RawSize, c.stored+b.StoredSize
		}
		p.columns[i] = c
	}
	return p, damaged
}

// add adds a part's figures. It fails if the part has other columns than the parts before it.
func (f *Figures) add(l *dataset.Listing, part *dataset.Part, p *partFigures) error {
	if s := p.first; s != nil {
		f.Format, f.Version, f.Holds, f.Metadata, f.Columns = s.Format, s.Version, s.Holds, p.metadata, s.Columns
	}
	if err := f.match(p, part.Name); err != nil {
		return err
	}
	group := RowGroup{Name: path.Base(part.Name), Rows: p.rows, Bytes: part.Bytes}
	if below, ok := strings.CutPrefix(part.Name, l.Path+"/"); ok {
		group.Name = below
	} else if len(l.Sets) > 1 {
		group.Name = part.Name
	}
	f.Files, f.Bytes, f.Rows = f.Files+len(part.Files), f.Bytes+group.Bytes, f.Rows+group.Rows
	f.shareMetadata(p)
	for i := range f.Columns {
		c, of := &f.Columns[i], &p.columns[i]
		if of.native != nil {
			c.addNative(of.native)
		}
		c.Filter, c.Blocks, c.Raw, c.Stored = c.Filter+of.filter, c.Blocks+of.blocks, c.Raw+of.raw, c.Stored+of.stored
		group.Stored += of.stored
		if of.values < 0 || c.Values == nil {
			c.Values = nil
		} else {
			*c.Values += of.values
		}
	}
	f.RowGroups = append(f.RowGroups, group)
	if len(f.Datasets) > 0 {
		d := &f.Datasets[part.Set]
		d.Files, d.Rows, d.Bytes, d.Stored = d.Files+len(part.Files), d.Rows+group.Rows, d.Bytes+group.Bytes, d.Stored+group.Stored
	}
	return nil
}

// start sets the format, the contents and the columns from the first file.
func (f *Figures) start(file *dataset.OpenPart) {
	f.Format, f.Version = file.Format.Name(), file.Version()
	if h, ok := file.Part.(format.Holder); ok {
		f.Holds = h.Contents()
	}
	cols, meanings := file.Columns(), file.Meanings()
	for i, c := range cols {
		s := Column{
			Number: i, Name: c.Name, Type: c.Type.String(), StoredAs: c.TypeName(), SchemaType: c.TypeName(), Array: c.Array, ParentNo: c.Parent,
			Codec: c.Codec, Checksum: c.Checksum, ValueIndex: c.Indexed, Values: new(int64),
		}
		if c.Parent >= 0 {
			s.Parent = cols[c.Parent].Name
		}
		if meanings != nil {
			s.Meaning, s.SchemaType = meanings[i].Meaning(), meanings[i].SchemaType()
		}
		f.Columns = append(f.Columns, s)
	}
}

// addNative adds how a file stores the column.
func (c *Column) addNative(n *format.Native) {
	c.NativeType, c.StoredAs = n.Type, n.Type
	for _, e := range n.Encodings {
		if !slices.Contains(c.Encodings, e) {
			c.Encodings = append(c.Encodings, e)
		}
	}
}

// match checks that a part has the columns of the parts before it.
func (f *Figures) match(p *partFigures, name string) error {
	//guard: rejects files with other columns
	if len(p.columns) != len(f.Columns) {
		return damage.New(damage.Header, name, -1, "the file has %d columns, the files before it %d", len(p.columns), len(f.Columns))
	}
	for i := range p.columns {
		//guard: rejects files with columns of other names
		if p.columns[i].name != f.Columns[i].Name {
			return damage.New(damage.Header, name, -1, "column %d is %q, in the files before it %q", i, p.columns[i].name, f.Columns[i].Name)
		}
	}
	return nil
}

func metadata(file *dataset.OpenPart) []Metadata {
	all := make([]Metadata, 0, len(file.Metadata()))
	for _, kv := range file.Metadata() {
		m := Metadata{Key: kv.Key, Value: string(kv.Value), schema: kv.Schema}
		if kv.Binary || !utf8.Valid(kv.Value) {
			m.Value, m.Hex = fmt.Sprintf("%x", kv.Value), true
		}
		all = append(all, m)
	}
	return all
}

// shareMetadata drops metadata that differs in another file, such as checksums.
func (f *Figures) shareMetadata(p *partFigures) {
	if len(f.RowGroups) == 0 {
		return
	}
	f.Holds = ""
	others := map[Metadata]bool{}
	for _, m := range p.metadata {
		others[m] = true
	}
	shared := f.Metadata[:0]
	for _, m := range f.Metadata {
		if others[m] {
			shared = append(shared, m)
		}
	}
	f.Metadata = shared
}

// total computes the sums over all columns, and the ratios and shares.
func (f *Figures) total() {
	for i := range f.Columns {
		c := &f.Columns[i]
		f.Blocks, f.Raw, f.Stored = f.Blocks+c.Blocks, f.Raw+c.Raw, f.Stored+c.Stored
	}
	for i := range f.Columns {
		c := &f.Columns[i]
		if c.Stored > 0 {
			c.Ratio, c.Share = float64(c.Raw)/float64(c.Stored), float64(c.Stored)/float64(f.Stored)
		}
	}
}

// countValues returns the number of values of each column, or -1 if it is not known. The
// numbers of array columns and of the columns in arrays depend on lengths, which are read
// only if count is set.
func countValues(ctx context.Context, f *dataset.OpenPart, count bool) (counts []int64, damaged error) {
	cols := f.Columns()
	counts = make([]int64, len(cols))
	for i, c := range cols {
		n := f.Rows()
		if c.Parent >= 0 {
			n = counts[c.Parent]
		}
		counts[i] = n
		if !c.Array || n < 0 {
			continue
		}
		counts[i] = -1
		if !count {
			continue
		}
		total, err := sumLengths(ctx, f, i, n)
		if err != nil {
			damaged = errors.Join(damaged, err)
			continue
		}
		counts[i] = total
	}
	return counts, damaged
}

// sumLengths adds up the n lengths of an array column.
func sumLengths(ctx context.Context, f *dataset.OpenPart, col int, n int64) (int64, error) {
	cursor, err := f.Cursor(col)
	if err != nil {
		return 0, err
	}
	const step = 1 << 16 // rows or items between checks of the context
	var total int64
	for n > 0 {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		k := min(n, step)
		items, err := cursor.Skip(k)
		if err != nil {
			return 0, err
		}
		total, n = total+items, n-k
	}
	return total, nil
}

// Schema reports whether the pair is the Avro schema of the rows.
func (m *Metadata) Schema() bool { return m.schema }

// schema returns the text of the Avro schema, empty if there is none.
func (f *Figures) schema() string {
	for _, m := range f.Metadata {
		if m.schema && !m.Hex {
			return m.Value
		}
	}
	return ""
}
