package trevni

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// sampleColumns returns columns of every type and shape: plain, array, child, array
// under an array, and a boolean in each.
func sampleColumns() []column.Column {
	return []column.Column{
		{Name: "n", Type: column.Null, Parent: -1},
		{Name: "b", Type: column.Boolean, Parent: -1},
		{Name: "i", Type: column.Int, Parent: -1},
		{Name: "l", Type: column.Long, Parent: -1},
		{Name: "f32", Type: column.Fixed32, Parent: -1},
		{Name: "f64", Type: column.Fixed64, Parent: -1},
		{Name: "f", Type: column.Float, Parent: -1},
		{Name: "d", Type: column.Double, Parent: -1},
		{Name: "s", Type: column.String, Parent: -1},
		{Name: "y", Type: column.Bytes, Parent: -1},
		{Name: "b[]", Type: column.Boolean, Array: true, Parent: -1},
		{Name: "s[]", Type: column.String, Array: true, Parent: -1},
		{Name: "r[]", Type: column.Null, Array: true, Parent: -1},
		{Name: "r[]#b", Type: column.Boolean, Parent: 12},
		{Name: "r[]#s", Type: column.String, Parent: 12},
		{Name: "r[]#n", Type: column.Null, Parent: 12},
		{Name: "r[]#o/int", Type: column.Int, Array: true, Parent: 12},
		{Name: "r[]#q[]", Type: column.Null, Array: true, Parent: 12},
		{Name: "r[]#q[]#b", Type: column.Boolean, Parent: 17},
		{Name: "r[]#q[]#l", Type: column.Long, Parent: 17},
		{Name: "r[]#q[]#b[]", Type: column.Boolean, Array: true, Parent: 17},
	}
}

// unit has the values of a column for a row or an item of its parent: a sequence,
// or one value. Values are as Cursor.Value returns them.
type unit []string

// units has all units of a column, and the index of each row's first unit.
type units struct {
	all   []unit
	start []int
}

// sampler fills a writer with random rows and keeps them for comparison.
type sampler struct {
	cols []column.Column
	rng  *rand.Rand
	want []units
}

func newSampler(seed uint64) *sampler {
	cols := sampleColumns()
	return &sampler{cols: cols, rng: rand.New(rand.NewPCG(seed, 1)), want: make([]units, len(cols))}
}

func (s *sampler) row(w *Writer, row int) {
	for i := range s.cols {
		s.want[i].start = append(s.want[i].start, len(s.want[i].all))
	}
	for i := range s.cols {
		if s.cols[i].Parent < 0 {
			s.item(w, i, row)
		}
	}
}

// item adds one item of column i: a value, or a sequence, with the items of its children.
func (s *sampler) item(w *Writer, i, row int) {
	c := &s.cols[i]
	n := 1
	if c.Array {
		n = []int{0, 0, 0, 1, 1, 2, 9}[s.rng.IntN(7)]
		w.Column(i).Length(uint32(n))
	}
	u := make(unit, n)
	for k := range u {
		v := randomValue(s.rng, c.Type, row)
		switch c.Type {
		case column.Null:
		case column.Boolean:
			w.Column(i).AppendBool(v[0] == 1)
		default:
			w.Column(i).Append(v)
		}
		u[k] = string(v)
		for j := range s.cols {
			if s.cols[j].Parent == i {
				s.item(w, j, row)
			}
		}
	}
	s.want[i].all = append(s.want[i].all, u)
}

// randomValue returns an encoded value. Ints ascend with the row.
func randomValue(rng *rand.Rand, t column.Type, row int) []byte {
	switch t {
	case column.Null:
		return nil
	case column.Boolean:
		return []byte{byte(rng.IntN(2))}
	case column.Int:
		return binary.AppendVarint(nil, int64(row/3))
	case column.Long:
		return binary.AppendVarint(nil, int64(rng.Uint64())>>rng.IntN(64))
	case column.Fixed32, column.Float:
		return binary.LittleEndian.AppendUint32(nil, rng.Uint32())
	case column.Fixed64, column.Double:
		return binary.LittleEndian.AppendUint64(nil, rng.Uint64())
	}
	v := make([]byte, rng.IntN(20))
	for i := range v {
		v[i] = 'a' + byte(rng.IntN(26))
	}
	return appendBytes(nil, v)
}

// write returns a file of rows that fill appends.
func write(t testing.TB, schema string, cols []column.Column, o Options, rows int, fill func(w *Writer, row int)) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, schema, cols, o)
	testenv.Must(t, err)
	for row := range rows {
		fill(w, row)
		testenv.Must(t, w.EndRow())
	}
	testenv.Must(t, w.Close())
	if err := w.Close(); err == nil {
		t.Error("a second Close succeeded")
	}
	return out.Bytes()
}

// sampleFile writes a file of random rows. If every is positive, all blocks close
// after every rows.
func sampleFile(t testing.TB, s *sampler, rows, every int, o Options) []byte {
	t.Helper()
	return write(t, `{"type":"record"}`, s.cols, o, rows, func(w *Writer, row int) {
		// Blocks of different columns end at different rows.
		for i := range s.cols {
			if every > 0 && row > 0 && row%(every+i%5) == 0 {
				w.finish(i)
			}
		}
		w.bufs.ClearDue()
		s.row(w, row)
	})
}

func openBytes(t testing.TB, b []byte) *File {
	t.Helper()
	f, err := Open(bytes.NewReader(b), int64(len(b)), "test.trv")
	testenv.Must(t, err)
	return f
}

// reader reads rows of all columns with only Length and Value.
type reader struct {
	f    *File
	curs []*Cursor
	got  []units
}

func newReader(t testing.TB, f *File) *reader {
	t.Helper()
	r := &reader{f: f, got: make([]units, len(f.Columns()))}
	for i := range f.Columns() {
		c, err := f.Cursor(i)
		testenv.Must(t, err)
		r.curs = append(r.curs, c)
	}
	return r
}

// rows reads the next n rows.
func (r *reader) rows(t testing.TB, n int64) {
	t.Helper()
	for range n {
		for i := range r.got {
			r.got[i].start = append(r.got[i].start, len(r.got[i].all))
		}
		for i, c := range r.f.Columns() {
			if c.Parent < 0 {
				r.item(t, i)
			}
		}
	}
}

func (r *reader) item(t testing.TB, i int) {
	t.Helper()
	n := 1
	var err error
	if r.f.Columns()[i].Array {
		if n, err = r.curs[i].Length(); err != nil {
			t.Fatal(err)
		}
	}
	u := make(unit, n)
	for k := range u {
		v, err := r.curs[i].Value(nil)
		testenv.Must(t, err)
		u[k] = string(v)
		for j, c := range r.f.Columns() {
			if c.Parent == i {
				r.item(t, j)
			}
		}
	}
	r.got[i].all = append(r.got[i].all, u)
}

// unitsOf reads a whole file.
func unitsOf(t testing.TB, f *File) []units {
	t.Helper()
	r := newReader(t, f)
	r.rows(t, f.RowCount())
	for i := range r.got {
		r.got[i].start = append(r.got[i].start, len(r.got[i].all))
	}
	return r.got
}

// dropCRC makes a file one of another writer, without CRCs of header, tables and
// stored blocks, so that a test can change these and reach the checks after the CRCs.
func dropCRC(b []byte) []byte {
	for _, key := range []string{HeaderCRCKey, TableCRCKey, BlocksCRCKey} {
		b = bytes.ReplaceAll(b, []byte(key), []byte("other"+key[len("other"):]))
	}
	return b
}

// isDamage reports whether err is located damage.
func isDamage(err error) bool {
	var d *damage.Error
	return errors.As(err, &d) && d.File != ""
}

var errDisk = errors.New("disk on fire")

// failingReader fails every read from an offset on.
type failingReader struct {
	io.ReaderAt
	from int64
}

func (r failingReader) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > r.from {
		return 0, errDisk
	}
	return r.ReaderAt.ReadAt(p, off)
}
