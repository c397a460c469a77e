package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"sync"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// Part is a file, or the files of a directory. It is one row group, unless a format.FileWriter or
// another program wrote it.
type Part struct {
	Store  store.Store
	Name   string // path of the file or the directory
	Rows   int64  // number of rows; -1 if it is not known before the files are read
	Bytes  int64  // size of all files
	Files  []File
	Set    int // index in Listing.Sets
	Output int // index in Listing.Outputs of the output that lists it, or -1
	// Task and RowGroup identify the part in the output's indexes.
	Task, RowGroup int

	format format.Format // nil if it is not known before the file is read
	avro   bool          // the part is known to be an Avro file
	stream *avroBlocks   // blocks of a stream, which one query can read; nil for a file
}

// File is a file of a part.
type File struct {
	Name  string // path of the file
	Bytes int64
	Entry *manifest.File // entry of the file in _SUCCESS, or nil
}

// OpenPart is a part that can be read. The caller closes it.
type OpenPart struct {
	format.Part
	// Format is the format of the files.
	Format  format.Format
	name    string
	files   []*source
	read    *Stats // counts of the reads; nil if they are not counted
	ahead   *ahead // nil for local files
	release func() // ends the use of the files; nil for a part without files
	memory  *budget.Heap

	mu     sync.Mutex    // guards growth, for readers that use the part by turns
	growth damage.Growth // growth of the files
}

// Cursor returns a cursor before the first row of a column. The part's format stores
// columns separately.
func (o *OpenPart) Cursor(col int) (format.Cursor, error) {
	return o.Part.(format.ColumnPart).Cursor(col)
}

// Open opens the files of a part, and reads their headers.
func (l *Listing) Open(ctx context.Context, p *Part) (*OpenPart, error) {
	return l.open(ctx, p, new(sharedFiles), nil)
}

// open opens a part for a reader, which shares files on remote storage with others.
func (l *Listing) open(ctx context.Context, p *Part, shared *sharedFiles, read *Stats) (_ *OpenPart, err error) {
	until, end := context.WithCancel(ctx)
	files, release := shared.open(until, p, l.memory)
	o := &OpenPart{Format: p.format, name: p.Name, read: read, memory: l.memory.NewHeap(), release: func() { release(); end() }}
	if files.pieces != nil {
		o.ahead = newAhead(until, files.pieces)
	}
	defer func() {
		if err != nil {
			o.Close()
		}
	}()
	lost := func(name string, err error) error {
		if until.Err() != nil && ctx.Err() == nil {
			return &fs.PathError{Op: "read", Path: name, Err: fs.ErrClosed}
		}
		return l.Lost(ctx, p, name, err)
	}
	opened := make([]format.File, len(files.files))
	for i, f := range files.files {
		s := &source{file: f, read: read, ahead: o.ahead, memory: o.memory, lost: lost}
		o.files, opened[i] = append(o.files, s), s
	}
	if o.Format == nil {
		if o.Format, err = recognize(l.Formats, opened[0]); err != nil {
			return nil, err
		}
	}
	if o.Part, err = o.Format.Open(opened, format.OpenOptions{Memory: o.memory}); err != nil {
		return nil, err
	}
	o.growth = damage.Growth{Stored: p.Bytes}
	return o, o.grow(o.Rows())
}

// grow adds rows, or items that take no bytes, to the growth of the files.
func (o *OpenPart) grow(rows int64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.growth.Rows += rows
	return o.growth.Check(o.name, -1)
}

// unopened returns a part whose files will not be read.
func (l *Listing) unopened(p *Part) *OpenPart {
	return &OpenPart{name: p.Name, memory: l.memory.NewHeap()}
}

// Meanings returns the columns of the rows' schema, which define the meaning of values.
// It returns nil if there is no schema, or if the schema has other columns than the part.
func (o *OpenPart) Meanings() []column.Column {
	s, err := shred.ParseSchema(o.Schema())
	if err != nil {
		return nil
	}
	m, err := shred.Map(s, shred.Options{RecursiveBytes: true, Memory: o.memory})
	if err != nil {
		return nil
	}
	same := slices.EqualFunc(m.Columns, o.Columns(), func(c column.Column, stored format.Column) bool {
		return c.Name == stored.Name && c.Type == stored.Type && c.Array == stored.Array
	})
	if !same {
		return nil
	}
	return m.Columns
}

// Verify implements format.Part. It also checks that the schema, if there is one,
// matches the columns. A part on remote storage is read from its start to its end, without run:
// reads at several places of a file take a request each.
func (o *OpenPart) Verify(ctx context.Context, run format.Runner) error {
	if o.ahead != nil {
		o.ahead.all()
		run = nil
	}
	if rows, ok := o.Part.(format.RowPart); ok {
		return o.verifyBoth(ctx, run, rows)
	}
	err := o.Part.Verify(ctx, run)
	if o.Schema() == "" || err != nil && !errors.As(err, new(*damage.Error)) {
		return err
	}
	//guard: rejects columns that cannot become rows
	_, mapped := mapPart(o)
	return errors.Join(err, mapped)
}

// Close ends the reads in progress and closes the files, unless other readers use them.
func (o *OpenPart) Close() {
	if o.ahead != nil {
		o.ahead.removeReader()
	}
	if o.release != nil {
		o.release()
	}
	if o.ahead != nil && o.read != nil {
		o.read.BytesRead += o.ahead.bytesRead()
	}
	o.memory.Close()
}

// recognize returns the format of a file.
func recognize(formats format.Registry, f format.File) (format.Format, error) {
	head := make([]byte, min(f.Size(), format.HeadSize))
	// The read of an empty file checks that the file exists.
	if n, err := f.ReadAt(head, 0); n < len(head) || err != nil && err != io.EOF {
		return nil, in(f.Name(), err)
	}
	if found := formats.OfFile(head); found != nil {
		return found, nil
	}
	if len(head) == 0 {
		return nil, damage.New(damage.Magic, f.Name(), 0, "the file is empty")
	}
	err := damage.New(damage.Magic, f.Name(), 0, "the file begins with % x, unlike any column file", head[:min(len(head), 4)])
	if isAvro(head) {
		return nil, fmt.Errorf("%w (this is an Avro object container file: convert it first)", err)
	}
	return nil, err
}

// IsAvro reports whether a file begins like an Avro object container file.
func IsAvro(in io.ReaderAt) bool {
	var magic [4]byte
	n, _ := in.ReadAt(magic[:], 0) // a file too short or unreadable is no Avro file
	return isAvro(magic[:n])
}

func isAvro(head []byte) bool { return len(head) >= 4 && string(head[:4]) == "Obj\x01" }

// mapPart returns the mapping of a part's schema to its columns. Only the columns show
// whether recursive types are stored as bytes.
func mapPart(p *OpenPart) (*shred.Mapping, error) {
	if p.Schema() == "" {
		if h, ok := p.Part.(format.Holder); ok {
			return nil, damage.New(damage.Schema, p.name, -1, "the file holds %s, and no rows", h.Contents())
		}
		return nil, damage.New(damage.Schema, p.name, -1, "the file has no Avro schema, so its columns cannot become rows")
	}
	schema, err := shred.ParseSchema(p.Schema())
	if err != nil {
		return nil, in(p.name, err)
	}
	m, err := shred.Map(schema, shred.Options{Memory: p.memory})
	if err != nil {
		if m, err = shred.Map(schema, shred.Options{RecursiveBytes: true, Memory: p.memory}); err != nil {
			return nil, in(p.name, err)
		}
	}
	return m, checkColumns(p, m)
}

// checkColumns compares a part's columns with the columns of its schema, unless the part
// stores whole rows.
func checkColumns(p *OpenPart, m *shred.Mapping) error {
	if _, ok := p.Part.(format.RowPart); ok {
		return nil
	}
	cols := p.Columns()
	//guard: rejects other columns than the schema's
	if len(cols) != len(m.Columns) {
		return damage.New(damage.Schema, p.name, -1, "the schema makes %d columns, the file has %d", len(m.Columns), len(cols))
	}
	for i := range cols {
		//guard: rejects other columns than the schema's
		if want := &m.Columns[i]; !sameColumn(&cols[i].Column, want) {
			if want.Name == cols[i].Name {
				return damage.New(damage.Schema, p.name, -1, "column %d %q has a different type in the schema than in the file", i, want.Name)
			}
			return damage.New(damage.Schema, p.name, -1, "the schema makes column %d %q, the file has %q", i, want.Name, cols[i].Name)
		}
	}
	return nil
}

// sameColumn reports whether a column of a file is a column of the schema. It compares
// the meaning of values only if the file states it.
func sameColumn(is, want *column.Column) bool {
	return is.Name == want.Name && is.Type == want.Type && is.Array == want.Array && is.Parent == want.Parent &&
		(is.Logical == column.LogicalNone || is.Logical == want.Logical && is.Precision == want.Precision && is.Scale == want.Scale) &&
		(is.FixedSize == 0 || is.FixedSize == want.FixedSize) &&
		(is.Symbols == nil || slices.Equal(is.Symbols, want.Symbols))
}

// in adds the name of a file to an error, unless the error names a file already.
func in(name string, err error) error {
	if damage.SetFile(err, name) {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// partFiles returns the files of a directory that is a part, without hidden files:
// Hadoop's clients put hidden files with checksums next to files on local disk.
func partFiles(ctx context.Context, st store.Store, dir string) (files []File, bytes int64, err error) {
	infos, err := st.List(ctx, dir)
	if err != nil {
		return nil, 0, err
	}
	for _, i := range infos {
		if !i.Dir && !store.Hidden(i.Name) {
			files, bytes = append(files, File{Name: i.Path, Bytes: i.Size}), bytes+i.Size
		}
	}
	if len(files) == 0 {
		return nil, 0, damage.New(damage.Header, dir, -1, "the directory of a part is empty")
	}
	return files, bytes, nil
}

// newPart returns the part that _SUCCESS describes.
func newPart(dir string, p *manifest.Part, f format.Format) Part {
	part := Part{Rows: p.Rows, Task: p.Task, RowGroup: p.RowGroup, format: f}
	for i := range p.Files {
		f := &p.Files[i]
		part.Files = append(part.Files, File{Name: path.Join(dir, f.Name), Bytes: f.Bytes, Entry: f})
		part.Bytes += f.Bytes
	}
	part.Name = path.Join(dir, p.Entry().Name)
	return part
}
