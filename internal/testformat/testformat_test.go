package testformat

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"path"
	"reflect"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/format/formattest"
	"github.com/rowtocol/rowtocol/internal/randavro"
	"github.com/rowtocol/rowtocol/internal/soak"
	"github.com/rowtocol/rowtocol/trevni"
)

// file is a file of a part in memory.
type file struct {
	*bytes.Reader
	name string
}

func (f file) Name() string                                         { return f.name }
func (f file) ReadBlock(p []byte, _ int, off, _ int64) (int, error) { return f.ReadAt(p, off) }

// write returns the files of a part of rows.
func write(t testing.TB, f format.Format, options, schema string, rows [][]byte, blockSize int) map[string][]byte {
	t.Helper()
	m := mapping(t, schema)
	var s *shred.Shredder
	return formattest.Source{
		Format: f, Options: json.RawMessage(options), Schema: schema, Columns: m.Columns, BlockSize: blockSize, Rows: len(rows),
		Fill: func(bufs *column.Buffers, row int) {
			if s == nil {
				s = shred.NewShredder(m, bufs)
			}
			if _, err := s.Row(rows[row]); err != nil {
				t.Fatal(err)
			}
		},
	}.Files(t)
}

func mapping(t testing.TB, schema string) *shred.Mapping {
	t.Helper()
	s, err := shred.ParseSchema(schema)
	if err != nil {
		t.Fatal(err)
	}
	m, err := shred.Map(s, shred.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func openPart(f format.Format, files map[string][]byte) (format.Part, error) {
	var all []format.File
	for name, b := range files {
		all = append(all, file{bytes.NewReader(b), path.Join("p.split", name)})
	}
	return f.Open(all, format.OpenOptions{MaxBlock: 1 << 20})
}

func mustOpen(t testing.TB, f format.Format, files map[string][]byte) format.Part {
	t.Helper()
	p, err := openPart(f, files)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// randomRows are rows of a random schema; some integers are longer than need be.
func randomRows(t testing.TB, r *rand.Rand, n int) (schema string, rows [][]byte) {
	t.Helper()
	schema = randavro.Schema(r)
	parsed, err := shred.ParseSchema(schema)
	if err != nil {
		t.Fatal(err)
	}
	rows = make([][]byte, n)
	for i := range rows {
		plain, odd := randavro.Pair(r, parsed.Root())
		if rows[i] = plain; i%2 == 0 {
			rows[i] = odd
		}
	}
	return schema, rows
}

// readMany reads n units.
func readMany(c format.Cursor, v *column.Vector, n int) (items int, err error) {
	for n > 0 {
		read, more, err := c.Read(v, n)
		if err != nil {
			return items, err
		}
		n, items = n-read, items+more
	}
	return items, nil
}

// Whatever is read of random columns, in whatever order, is what Trevni gives.
func TestCursorsAgreeWithTrevni(t *testing.T) {
	for seed := range soak.Rounds[uint64](12, 60) {
		r := rand.New(rand.NewPCG(seed, 3))
		schema, rows := randomRows(t, r, 60)
		document := []string{`{"codec":"null"}`, `{"codec":"snappy"}`}[seed%2]
		p := mustOpen(t, Format, write(t, Format, document, schema, rows, 100))
		want := mustOpen(t, trevni.Format, write(t, trevni.Format, document, schema, rows, 300))
		if err := p.Verify(t.Context()); err != nil || p.Schema() != schema || p.Rows() != want.Rows() {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for col, c := range p.Columns() {
			w := want.Columns()[col].Column
			w.Optional, w.Nullable = false, false // Trevni does not keep it
			if !reflect.DeepEqual(c.Column, w) {
				t.Errorf("column %+v, want %+v", c.Column, w)
			}
			walk(t, r, p, want, col)
		}
	}
}

// walk moves two cursors alike.
func walk(t *testing.T, r *rand.Rand, p, want format.Part, col int) {
	t.Helper()
	a, err := p.Cursor(col)
	if err != nil {
		t.Fatal(err)
	}
	b, err := want.Cursor(col)
	if err != nil {
		t.Fatal(err)
	}
	left := units(t, p, col, 0)
	for range 60 {
		var x, y int64
		var errX, errY error
		var v, w column.Vector
		n := r.IntN(r.IntN(left+1) + 1)
		switch r.IntN(4) {
		case 0:
			row := r.Int64N(p.Rows() + 1)
			errX, errY = a.SeekRow(row), b.SeekRow(row)
			left = units(t, p, col, row)
		case 1:
			x, errX = a.Skip(int64(n))
			y, errY = b.Skip(int64(n))
			left -= n
		default:
			i, err := readMany(a, &v, n)
			k, errK := readMany(b, &w, n)
			x, errX, y, errY = int64(i), err, int64(k), errK
			left -= n
		}
		if errX != nil || errY != nil || x != y || !sameVector(&v, &w) {
			t.Fatalf("column %s: %d items and %+v (%v), want %d and %+v (%v)", p.Columns()[col].Name, x, v, errX, y, w, errY)
		}
	}
	if _, err := a.Skip(int64(left)); err != nil {
		t.Fatal(err)
	}
	if n, _, err := a.Read(new(column.Vector), 1); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("behind the end: %d, %v", n, err)
	}
	if _, err := a.Skip(1); !isDamage(err) {
		t.Errorf("skipping beyond the end: %v", err)
	}
	if n, _, err := a.Read(new(column.Vector), 1); n != 0 || !isDamage(err) {
		t.Errorf("after an error: %d, %v", n, err)
	}
	if a.SeekRow(-1) == nil || a.SeekRow(p.Rows()+1) == nil {
		t.Error("a seek to no row")
	}
}

// units is the number of units of a column from a row on. Trevni cannot tell:
// its nulls without lengths have no end.
func units(t *testing.T, p format.Part, col int, row int64) (n int) {
	t.Helper()
	c, err := p.Cursor(col)
	if err == nil {
		err = c.SeekRow(row)
	}
	for err == nil {
		var v column.Vector
		var read int
		read, _, err = c.Read(&v, 1000)
		n += read
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return n
}

// sameVector compares the text of vectors, to which an absent slice is an empty
// one, and NaN equal to itself.
func sameVector(a, b *column.Vector) bool {
	if len(a.Offsets) == 1 {
		a.Offsets = nil
	}
	if len(b.Offsets) == 1 {
		b.Offsets = nil
	}
	x, _ := json.Marshal([]any{a.Lengths, a.Ints, a.Longs, a.Bools, a.Offsets, a.Data, a.Values})
	y, _ := json.Marshal([]any{b.Lengths, b.Ints, b.Longs, b.Bools, b.Offsets, b.Data, b.Values})
	x, y = bytes.ReplaceAll(x, []byte("null"), []byte("[]")), bytes.ReplaceAll(y, []byte("null"), []byte("[]"))
	x, y = bytes.ReplaceAll(x, []byte(`""`), []byte("[]")), bytes.ReplaceAll(y, []byte(`""`), []byte("[]"))
	return bytes.Equal(x, y) && reflect.DeepEqual(floatBits(a), floatBits(b))
}

func isDamage(err error) bool {
	var d *damage.Error
	return errors.As(err, &d) && strings.HasPrefix(d.File, "p.split/")
}

func floatBits(v *column.Vector) (bits []uint64) {
	for _, f := range v.Floats {
		bits = append(bits, uint64(math.Float32bits(f)))
	}
	for _, f := range v.Doubles {
		bits = append(bits, math.Float64bits(f))
	}
	return bits
}
