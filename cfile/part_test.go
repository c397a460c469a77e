package cfile

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"maps"
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

// memoryFile is a file of a part in memory.
type memoryFile struct {
	*bytes.Reader
	name string
}

func (f memoryFile) Name() string { return f.name }
func (f memoryFile) ReadBlock(p []byte, _ int, off, _ int64) (int, error) {
	return f.ReadAt(p, off)
}

// openFiles opens a part of files by their names, "" of a lone one.
func openFiles(f format.Format, files map[string][]byte) (format.Part, error) {
	var all []format.File
	for name, b := range files {
		all = append(all, memoryFile{bytes.NewReader(b), path.Join("p.cfiles", name)})
	}
	return f.Open(all, format.OpenOptions{MaxBlock: 1 << 20})
}

func mustOpen(t testing.TB, f format.Format, files map[string][]byte) format.Part {
	t.Helper()
	p, err := openFiles(f, files)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func mapSchema(t testing.TB, schema string) *shred.Mapping {
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

// writePart returns the files of a part of rows.
func writePart(t testing.TB, f format.Format, chosen map[string][]string, schema string, rows [][]byte, blockSize int) map[string][]byte {
	t.Helper()
	m := mapSchema(t, schema)
	var s *shred.Shredder
	return formattest.Source{
		Format: f, Options: formattest.Options(t, f, chosen), Schema: schema, Columns: m.Columns, BlockSize: blockSize, Rows: len(rows),
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

const smallSchema = `{"type":"record","name":"R","fields":[
	{"name":"id","type":"long"},
	{"name":"ok","type":"boolean"},
	{"name":"score","type":["null","double"]},
	{"name":"name","type":"string"},
	{"name":"suit","type":{"type":"enum","name":"S","symbols":["spades","hearts"]}},
	{"name":"price","type":{"type":"fixed","name":"P","size":3,"logicalType":"decimal","precision":5,"scale":2}},
	{"name":"hops","type":{"type":"array","items":{"type":"record","name":"H","fields":[
		{"name":"port","type":"int"},{"name":"none","type":"null"},{"name":"tags","type":{"type":"array","items":"null"}},
		{"name":"host","type":["string","null"]}]}}}]}`

// smallRows are a few rows of smallSchema, with ascending ids.
func smallRows(n int) (rows [][]byte) {
	for i := range n {
		row := append(binary.AppendVarint(nil, int64(i)), byte(i&1))
		if i%3 == 0 {
			row = append(row, 0)
		} else {
			row = append(row, 2, 0, 0, 0, 0, 0, 0, byte(i), 0x40)
		}
		row = append(row, byte(2*(i%16)))
		row = append(row, "abcdefghijklmnop"[:i%16]...)
		row = append(row, byte(2*(i&1)), 0, byte(i), byte(i))
		if i%4 > 0 {
			row = append(row, byte(2*(i%4)))
			for k := range i % 4 {
				row = append(row, byte(2*k), 4, 0)
				if k == 1 {
					row = append(row, 2)
				} else {
					row = append(row, 0, 6, 'a', 'b', byte('0'+i%10))
				}
			}
		}
		rows = append(rows, append(row, 0))
	}
	return rows
}

var smallChoices = []map[string][]string{
	{"compression": {"none"}, "sorted-by": {"id"}},
	{"compression": {"zlib"}},
	{"encoding": {"name=plain", "suit=physical", "price=physical", "hops[]#host/string=prefix"}},
}

// smallPart is a part of a few small blocks.
func smallPart(t testing.TB, choice int) map[string][]byte {
	t.Helper()
	return writePart(t, Format, smallChoices[choice], smallSchema, smallRows(12), 6)
}

// checkPart opens a part and does with it whatever can be done. It returns the first
// error, and requires each to be damage.
func checkPart(t *testing.T, files map[string][]byte) error {
	t.Helper()
	p, err := openFiles(Format, files)
	if err != nil {
		if !partDamage(err) {
			t.Errorf("opened: %v", err)
		}
		return err
	}
	if err = p.Verify(t.Context()); err != nil && !partDamage(err) {
		t.Errorf("verified: %v", err)
	}
	if dumped := p.Dump(io.Discard); dumped != nil && !partDamage(dumped) {
		t.Errorf("dumped: %v", dumped)
	}
	for i := range p.Columns() {
		if _, err := p.Blocks(i); err != nil && !partDamage(err) {
			t.Errorf("blocks: %v", err)
		}
		c, failed := p.(format.ColumnPart).Cursor(i)
		if failed == nil {
			failed = c.SeekRow(p.Rows() / 2)
		}
		v := column.Vector{Most: 1 << 12}
		for n := 0; failed == nil && n < 1000; n++ {
			v.Reset()
			_, _, failed = c.Read(&v, 10)
		}
		if failed != nil && !errors.Is(failed, io.EOF) && !errors.Is(failed, column.ErrFull) && !partDamage(failed) {
			t.Errorf("read: %v", failed)
		}
	}
	return err
}

func partDamage(err error) bool {
	var d *damage.Error
	return errors.As(err, &d) && strings.HasPrefix(d.File, "p.cfiles")
}

// Whatever byte is changed, that is noticed, in the file that has it.
func TestFlippedBytes(t *testing.T) {
	for choice := range smallChoices {
		files := smallPart(t, choice)
		if err := checkPart(t, files); err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(1, uint64(choice)))
		for name, b := range files {
			for i := 0; i < len(b); i += soak.Rounds(1+r.IntN(5), 1) {
				change := byte(1 + r.IntN(255))
				b[i] ^= change
				var d *damage.Error
				if err := verifyFiles(t, files); !errors.As(err, &d) || path.Base(d.File) != name {
					t.Errorf("%s, byte %d of %d changed by %#x: %v", name, i, len(b), change, err)
				}
				b[i] ^= change
			}
		}
	}
}

func verifyFiles(t *testing.T, files map[string][]byte) error {
	p, err := openFiles(Format, files)
	if err == nil {
		err = p.Verify(t.Context())
	}
	return err
}

// A file more, less, longer or shorter is noticed.
func TestOtherFiles(t *testing.T) {
	for name, change := range map[string]func(map[string][]byte){
		"no document":       func(f map[string][]byte) { delete(f, documentName) },
		"no column":         func(f map[string][]byte) { delete(f, "00002.cf") },
		"a file more":       func(f map[string][]byte) { f["other"] = nil },
		"a column more":     func(f map[string][]byte) { f["00099.cf"] = f["00000.cf"] },
		"a longer column":   func(f map[string][]byte) { f["00000.cf"] = append(f["00000.cf"], 0) },
		"a shorter one":     func(f map[string][]byte) { f["00000.cf"] = f["00000.cf"][1:] },
		"an empty one":      func(f map[string][]byte) { f["00000.cf"] = nil },
		"an empty document": func(f map[string][]byte) { f[documentName] = nil },
		"a short document":  func(f map[string][]byte) { f[documentName] = f[documentName][:9] },
		"swapped columns":   func(f map[string][]byte) { f["00000.cf"], f["00003.cf"] = f["00003.cf"], f["00000.cf"] },
		"swapped lengths": func(f map[string][]byte) {
			f["00006.lengths.cf"], f["00009.lengths.cf"] = f["00009.lengths.cf"], f["00006.lengths.cf"]
		},
	} {
		files := maps.Clone(smallPart(t, 0))
		change(files)
		if checkPart(t, files) == nil {
			t.Error(name)
		}
	}
}

// Whatever is read of random columns, in whatever order, is what Trevni gives.
func TestCursorsAgreeWithTrevni(t *testing.T) {
	for seed := range soak.Rounds[uint64](8, 60) {
		r := rand.New(rand.NewPCG(seed, 3))
		schema := randavro.Schema(r)
		parsed, err := shred.ParseSchema(schema)
		if err != nil {
			t.Fatal(err)
		}
		rows := make([][]byte, 60)
		for i := range rows {
			rows[i], _ = randavro.Pair(r, parsed.Root())
		}
		many := map[string][]string{"many-files": {"true"}, "codec": {"null"}}
		p := mustOpen(t, Format, writePart(t, Format, many, schema, rows, 100))
		want := mustOpen(t, trevni.Format, writePart(t, trevni.Format, many, schema, rows, 300))
		if err := p.Verify(t.Context()); err != nil || p.Schema() != schema || p.Rows() != want.Rows() {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for col := range p.Columns() {
			walkCursors(t, r, p, want, col)
		}
	}
}

// walkCursors moves two cursors alike.
func walkCursors(t *testing.T, r *rand.Rand, p, want format.Part, col int) {
	t.Helper()
	a, err := p.(format.ColumnPart).Cursor(col)
	if err != nil {
		t.Fatal(err)
	}
	b, err := want.(format.ColumnPart).Cursor(col)
	if err != nil {
		t.Fatal(err)
	}
	left := unitsFrom(t, p, col, 0)
	for range 60 {
		var x, y int64
		var errX, errY error
		var v, w column.Vector
		n := r.IntN(r.IntN(left+1) + 1)
		switch r.IntN(4) {
		case 0:
			row := r.Int64N(p.Rows() + 1)
			errX, errY = a.SeekRow(row), b.SeekRow(row)
			left = unitsFrom(t, p, col, row)
		case 1:
			x, errX = a.Skip(int64(n))
			y, errY = b.Skip(int64(n))
			left -= n
		default:
			x, errX = readMany(a, &v, n)
			y, errY = readMany(b, &w, n)
			left -= n
		}
		if errX != nil || errY != nil || x != y || !sameVectors(&v, &w) {
			t.Fatalf("column %s: %d items and %+v (%v), want %d and %+v (%v)", p.Columns()[col].Name, x, v, errX, y, w, errY)
		}
	}
	if _, err := a.Skip(int64(left)); err != nil {
		t.Fatal(err)
	}
	if n, _, err := a.Read(new(column.Vector), 1); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("behind the end: %d, %v", n, err)
	}
	if _, err := a.Skip(1); !partDamage(err) {
		t.Errorf("skipping beyond the end: %v", err)
	}
	if n, _, err := a.Read(new(column.Vector), 1); n != 0 || !partDamage(err) {
		t.Errorf("after an error: %d, %v", n, err)
	}
	if a.SeekRow(-1) == nil || a.SeekRow(p.Rows()+1) == nil {
		t.Error("a seek to no row")
	}
}

// readMany reads n units.
func readMany(c format.Cursor, v *column.Vector, n int) (items int64, err error) {
	for n > 0 {
		read, more, err := c.Read(v, n)
		if err != nil {
			return items, err
		}
		n, items = n-read, items+int64(more)
	}
	return items, nil
}

// unitsFrom is the number of units of a column from a row on.
func unitsFrom(t *testing.T, p format.Part, col int, row int64) (n int) {
	t.Helper()
	c, err := p.(format.ColumnPart).Cursor(col)
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

// sameVectors compares vectors of which absent slices are empty ones, and NaN equal to
// itself.
func sameVectors(a, b *column.Vector) bool {
	return reflect.DeepEqual(vectorText(a), vectorText(b))
}

func vectorText(v *column.Vector) []string {
	offsets := v.Offsets
	if len(offsets) == 1 {
		offsets = nil
	}
	var floats []uint64
	for _, f := range v.Floats {
		floats = append(floats, uint64(math.Float32bits(f)))
	}
	for _, f := range v.Doubles {
		floats = append(floats, math.Float64bits(f))
	}
	var all []string
	for _, part := range []any{v.Lengths, v.Ints, v.Longs, v.Bools, offsets, string(v.Data), v.Values, floats} {
		text, _ := json.Marshal(part)
		all = append(all, strings.ReplaceAll(string(text), "null", "[]"))
	}
	return all
}
