package formattest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// Options returns the document of options from the choices that the format has.
func Options(t testing.TB, f format.Format, choices map[string][]string) json.RawMessage {
	t.Helper()
	known := make(map[string][]string)
	for _, c := range f.Choices() {
		if values := choices[c.Name]; values != nil {
			known[c.Name] = values
		}
	}
	document, err := f.Options(known)
	testenv.Must(t, err)
	return document
}

// Source holds the rows and options of a part.
type Source struct {
	Format    format.Format
	Options   json.RawMessage // nil for the format's defaults
	Schema    string
	Columns   []column.Column
	BlockSize int // 0 for 64 KiB
	Rows      int
	// Fill appends a row to the columns. The columns need not fit the schema. All calls for a row
	// group get the same buffers.
	Fill func(to *column.Buffers, row int)
}

// Begin returns a row group of the source's columns with their open blocks, or the
// error of the format.
func (s *Source) Begin(t testing.TB) (format.RowGroup, *column.Buffers, error) {
	t.Helper()
	s.ensureDefaults(t)
	w, err := s.Format.Writer(s.Options)
	testenv.Must(t, err)
	return s.begin(w.(format.ColumnWriter))
}

func (s *Source) ensureDefaults(t testing.TB) {
	if s.Options == nil {
		s.Options = Options(t, s.Format, nil)
	}
	if s.BlockSize == 0 {
		s.BlockSize = 64 << 10
	}
}

func (s *Source) begin(w format.ColumnWriter) (format.RowGroup, *column.Buffers, error) {
	g, err := w.NewRowGroup(s.Schema, s.Columns, s.BlockSize)
	return g, column.NewBuffers(s.Columns, w.Layout(), s.BlockSize), err
}

// Files makes the files of a part and returns their bytes by name. The name of a single file
// is "". It encodes due blocks in reverse order, as workers may do, and checks that the files
// have the sizes that the format states.
func (s Source) Files(t testing.TB) map[string][]byte {
	t.Helper()
	g, bufs, err := s.Begin(t)
	testenv.Must(t, err)
	p := &maker{t: t, group: g, bufs: bufs, spill: make([][]byte, len(s.Columns))}
	return p.fill(s.Fill, 0, s.Rows)
}

// File makes a file of row groups, which have about as many rows each, and returns its bytes. The
// format is a format.MultiGroup.
func (s Source) File(t testing.TB, groups int) (file []byte) {
	t.Helper()
	s.ensureDefaults(t)
	w, err := s.Format.(format.MultiGroup).NewFile(s.Options, column.Unlimited{})
	testenv.Must(t, err)
	for i := range groups {
		g, bufs, err := s.begin(w)
		testenv.Must(t, err)
		p := &maker{t: t, group: g, bufs: bufs, spill: make([][]byte, len(s.Columns))}
		file = append(file, p.fill(s.Fill, s.Rows*i/groups, s.Rows*(i+1)/groups)[""]...)
	}
	end, err := w.End()
	testenv.Must(t, err)
	return append(file, (&maker{t: t}).bytes(&end)...)
}

// Write writes the files of a part to a directory and returns the path of the part: a
// file, or a directory of files.
func (s Source) Write(t testing.TB, dir, name string) string {
	t.Helper()
	part := filepath.Join(dir, name+s.Format.Suffix())
	for name, b := range s.Files(t) {
		err := os.MkdirAll(filepath.Dir(filepath.Join(part, name)), 0o777)
		if err == nil {
			err = os.WriteFile(filepath.Join(part, name), b, 0o666)
		}
		testenv.Must(t, err)
	}
	return part
}

// maker makes a part.
type maker struct {
	t     testing.TB
	group format.RowGroup
	bufs  *column.Buffers
	spill [][]byte
}

// fill adds rows, and returns the files of the row group.
func (p *maker) fill(add func(to *column.Buffers, row int), from, to int) map[string][]byte {
	p.t.Helper()
	rows := int64(to - from)
	for row := from; row < to; row++ {
		add(p.bufs, row)
		p.store(p.bufs.Due(), int64(row-from+1))
		p.bufs.ClearDue()
	}
	var rest []int
	for i := range p.bufs.Cols {
		if p.bufs.Cols[i].FirstRow() < rows {
			rest = append(rest, i)
		}
	}
	p.store(rest, rows)
	return p.finish(rows)
}

// store encodes the open blocks of columns.
func (p *maker) store(cols []int, next int64) {
	p.t.Helper()
	blocks, jobs := make([]column.Block, len(cols)), make([]format.EncodeJob, len(cols))
	before, bound := p.group.Size(), int64(0)
	var err error
	for i, col := range cols {
		p.bufs.Cols[col].Finish(next, &blocks[i])
		bound += p.group.Bound(col, blocks[i].Rows, len(blocks[i].Data), len(blocks[i].Lengths))
		if jobs[i], err = p.group.Begin(col, &blocks[i]); err != nil {
			p.t.Fatal(err)
		}
	}
	stored := make([][]byte, len(cols))
	for i := len(jobs) - 1; i >= 0; i-- {
		bound := jobs[i].Bound()
		if stored[i], err = jobs[i].Encode(nil); err != nil {
			p.t.Fatal(err)
		}
		if n := int64(len(stored[i])); n > bound {
			p.t.Errorf("a block of column %d has %d bytes, its bound is %d", cols[i], n, bound)
		}
	}
	for i, col := range cols {
		p.spill[col] = append(p.spill[col], stored[i]...)
		if err := p.group.End(col, jobs[i], len(stored[i])); err != nil {
			p.t.Fatal(err)
		}
	}
	if grown := p.group.Size() - before; grown > bound {
		p.t.Errorf("%d blocks raise the size by %d, their bound is %d", len(cols), grown, bound)
	}
}

func (p *maker) finish(rows int64) map[string][]byte {
	p.t.Helper()
	outputs, err := p.group.Finish(rows)
	if err != nil {
		p.t.Fatal(err)
	}
	files, size := map[string][]byte{}, int64(0)
	for i := range outputs {
		o := &outputs[i]
		files[o.Name], size = p.bytes(o), size+o.Size
	}
	if p.group.Size() != size {
		p.t.Errorf("the row group says that it has %d bytes, its files have %d", p.group.Size(), size)
	}
	return files
}

// bytes returns the bytes of an output.
func (p *maker) bytes(o *format.Output) []byte {
	p.t.Helper()
	b := []byte{}
	for _, piece := range o.Pieces {
		if piece.Column < 0 {
			b = append(b, piece.Literal...)
		} else {
			b = append(b, p.spill[piece.Column][piece.Offset:piece.Offset+piece.Length]...)
		}
	}
	if int64(len(b)) != o.Size {
		p.t.Errorf("file %q has %d bytes, its output states %d", o.Name, len(b), o.Size)
	}
	return b
}
