package trevni

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/randavro"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// unitsIn returns the units of a vector.
func unitsIn(c *Column, v *column.Vector) []unit {
	lengths := v.Lengths
	if !c.Array {
		lengths = make([]int32, v.Values)
		for i := range lengths {
			lengths[i] = 1
		}
	}
	all := make([]unit, len(lengths))
	k := 0
	for i, n := range lengths {
		all[i] = make(unit, n)
		for j := range all[i] {
			all[i][j] = string(encoded(c.Type, v, k))
			k++
		}
	}
	return all
}

// encoded returns value k of a vector as Cursor.Value does.
func encoded(t column.Type, v *column.Vector, k int) []byte {
	switch t {
	case column.Boolean:
		if v.Bools[k] {
			return []byte{1}
		}
		return []byte{0}
	case column.Int:
		return binary.AppendVarint(nil, int64(v.Ints[k]))
	case column.Long:
		return binary.AppendVarint(nil, v.Longs[k])
	case column.Fixed32:
		return binary.LittleEndian.AppendUint32(nil, uint32(v.Ints[k]))
	case column.Fixed64:
		return binary.LittleEndian.AppendUint64(nil, uint64(v.Longs[k]))
	case column.Float:
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(v.Floats[k]))
	case column.Double:
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v.Doubles[k]))
	case column.String, column.Bytes:
		return appendBytes(nil, v.Data[v.Offsets[k]:v.Offsets[k+1]])
	}
	return nil
}

// walk does operations on a column, which next chooses, and compares their results
// with the column's units.
func walk(t *testing.T, f *File, col int, want *units, operations int, next func(n int) int) {
	t.Helper()
	c, err := f.Cursor(col)
	testenv.Must(t, err)
	var v column.Vector
	at, rows := 0, len(want.start)-1
	for _, row := range []int{-1, rows + 1} {
		if err := c.SeekRow(int64(row)); err == nil || isDamage(err) {
			t.Errorf("seek to row %d of %d: %v", row, rows, err)
		}
	}
	testenv.Must(t, c.SeekRow(0))
	for range operations {
		left := len(want.all) - at
		switch next(4) {
		case 0: // some units, sometimes all
			n := min(next(1+left), next(1+left))
			v.Reset()
			if next(4) == 0 {
				v = column.Vector{}
			}
			items, err := readMany(c, &v, n)
			if err != nil {
				t.Fatalf("column %s: read %d at %d of %d: %v", c.col.Name, n, at, len(want.all), err)
			}
			wantUnits(t, c, at, unitsIn(c.col, &v), items, want.all[at:at+n])
			at += n
		case 1:
			n := min(next(1+left), next(1+left))
			items, err := c.Skip(int64(n))
			if err != nil || items != countItems(want.all[at:at+n]) {
				t.Fatalf("column %s: skip %d at %d of %d: %d items, %v", c.col.Name, n, at, len(want.all), items, err)
			}
			at += n
		case 2: // often to a near row
			row := next(rows + 1)
			if next(3) > 0 && at < want.start[row] {
				row = next(row + 1)
			}
			if err := c.SeekRow(int64(row)); err != nil {
				t.Fatalf("column %s: row %d: %v", c.col.Name, row, err)
			}
			at = want.start[row]
		case 3: // one unit, perhaps not all of its values
			if left > 0 {
				wantPart(t, c, at, want.all[at], next)
				at++
			}
		}
	}
	if free := c.col.Type == column.Null && !c.col.Array && c.col.Parent >= 0; at == len(want.all) && !free {
		if _, _, err := c.Read(&v, 1); !errors.Is(err, io.EOF) {
			t.Fatalf("column %s: read beyond the end: %v", c.col.Name, err)
		}
	}
}

// readMany reads n units.
func readMany(c *Cursor, v *column.Vector, n int) (items int, err error) {
	for n > 0 {
		read, more, err := c.Read(v, n)
		if err != nil {
			return items, err
		}
		n, items = n-read, items+more
	}
	return items, nil
}

func countItems(all []unit) (n int64) {
	for _, u := range all {
		n += int64(len(u))
	}
	return n
}

func wantUnits(t *testing.T, c *Cursor, at int, got []unit, items int, want []unit) {
	t.Helper()
	if int64(items) != countItems(want) || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Fatalf("column %s at %d: %d items\ngot  %q\nwant %q", c.col.Name, at, items, got, want)
	}
}

// wantPart reads a unit with Length and Value, up to some value.
func wantPart(t *testing.T, c *Cursor, at int, want unit, next func(n int) int) {
	t.Helper()
	n := len(want)
	if c.col.Array {
		if got, err := c.Length(); err != nil || got != n {
			t.Fatalf("column %s: length %d at %d, %v, want %d", c.col.Name, got, at, err, n)
		}
		n = next(n + 1)
	}
	for k := range n {
		got, err := c.Value(nil)
		if err != nil || string(got) != want[k] {
			t.Fatalf("column %s: value %q at %d, %v, want %q", c.col.Name, got, at, err, want[k])
		}
	}
	if n == len(want) && c.col.Array {
		if _, err := c.Value(nil); !errors.Is(err, column.ErrNoValue) {
			t.Fatalf("column %s: a value after the sequence at %d: %v", c.col.Name, at, err)
		}
	}
}

// walkAll does random operations on every column of a file.
func walkAll(t *testing.T, f *File, rng *rand.Rand) {
	t.Helper()
	want := unitsOf(t, f)
	for i := range want {
		walk(t, f, i, &want[i], 60, rng.IntN)
	}
}

func TestOperationsAgree(t *testing.T) {
	for i, codec := range codecNames {
		rng := rand.New(rand.NewPCG(uint64(i), 5))
		walkAll(t, openBytes(t, sampleFile(t, newSampler(uint64(i)), 300, 20, Options{Codec: codec})), rng)
	}
}

func TestOperationsAgreeOnRandomSchemas(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 6))
		s, err := shred.ParseSchema(randavro.Schema(rng))
		testenv.Must(t, err)
		m, err := shred.Map(s, shred.Options{RecursiveBytes: true})
		testenv.Must(t, err)
		var shredder *shred.Shredder
		b := write(t, s.JSON(), m.Columns, Options{Codec: codecNames[seed%3]}, 100, func(w *Writer, row int) {
			if row == 0 {
				shredder = shred.NewShredder(m, w.bufs)
			} else if rng.IntN(4) == 0 {
				w.finish(rng.IntN(len(m.Columns)))
			}
			if _, err := shredder.Row(randavro.Datum(rng, s.Root())); err != nil {
				t.Fatal(err)
			}
		})
		walkAll(t, openBytes(t, b), rng)
	}
}

// Versions 0 and 1 have no repeated lengths.
func TestOperationsAgreeOnOldVersions(t *testing.T) {
	f := openBytes(t, sampleFile(t, newSampler(8), 200, 0, Options{}))
	want := unitsOf(t, f)
	for version := range byte(2) {
		old := rawFile{version: version, rows: f.RowCount()}
		for i, c := range f.Columns() {
			text := c.Name + " " + c.Type.String()
			if c.Array {
				text += " array"
			}
			if c.Parent >= 0 {
				text += " parent=" + f.Columns()[c.Parent].Name
			}
			old.cols = append(old.cols, rawColumn{meta: meta(text), rows: uint32(f.RowCount()), data: withoutRepeats(&c, want[i].all)})
		}
		g := openBytes(t, old.bytes())
		for i := range want {
			walk(t, g, i, &want[i], 60, rand.New(rand.NewPCG(uint64(version), 7)).IntN)
		}
	}
}

// withoutRepeats encodes a column as versions 0 and 1 do.
func withoutRepeats(c *Column, all []unit) (b []byte) {
	bit := 0
	for _, u := range all {
		if c.Array {
			b, bit = binary.AppendVarint(b, int64(len(u))), 0
		}
		for _, v := range u {
			if c.Type != column.Boolean {
				b = append(b, v...)
				continue
			}
			if bit%8 == 0 {
				b = append(b, 0)
			}
			b[len(b)-1] |= v[0] << (bit % 8)
			bit++
		}
	}
	return b
}

// FuzzOperations does operations that the input chooses on every column of a random file.
func FuzzOperations(f *testing.F) {
	f.Add(uint64(1), uint8(0), []byte{0, 5, 5, 0, 2, 9, 0, 0, 3, 1})
	f.Add(uint64(2), uint8(3), []byte{2, 40, 0, 3, 2, 1, 7, 7, 0, 200, 200, 1})
	f.Fuzz(func(t *testing.T, seed uint64, every uint8, ops []byte) {
		file := openBytes(t, sampleFile(t, newSampler(seed), 40, int(every%16), Options{Codec: "null"}))
		want := unitsOf(t, file)
		for i := range want {
			p := 0
			next := func(n int) int {
				p++
				return int(ops[(p-1)%len(ops)]) % n
			}
			if len(ops) > 0 {
				walk(t, file, i, &want[i], len(ops), next)
			}
		}
	})
}

// A vector is bounded, even if a few bytes encode many lengths.
func TestReadBoundsVectors(t *testing.T) {
	const rows = 1 << 28
	repeat := binary.AppendVarint(nil, 3-2*rows)
	f := openBytes(t, rawFile{version: 2, rows: rows, cols: []rawColumn{
		{meta: meta("a null array"), rows: rows, data: repeat}, {meta: meta("n null"), rows: rows},
	}}.bytes())
	for i := range f.Columns() {
		c, err := f.Cursor(i)
		testenv.Must(t, err)
		before := allocated()
		if _, _, err := c.Read(new(column.Vector), rows); c.col.Array && !errors.Is(err, column.ErrFull) {
			t.Errorf("%d rows in one vector: %v", rows, err)
		}
		if n := allocated() - before; n > 1<<20 {
			t.Errorf("%d bytes allocated", n)
		}
		if err := c.SeekRow(rows - 1); err != nil {
			t.Error(err)
		}
		if _, _, err := c.Read(new(column.Vector), 1); err != nil {
			t.Error(err)
		}
		if _, err := c.Value(nil); c.col.Array != errors.Is(err, column.ErrNoValue) && !errors.Is(err, io.EOF) {
			t.Error(err)
		}
	}
}

// countingReader counts reads and their bytes.
type countingReader struct {
	*bytes.Reader
	n     int64
	reads int
}

func (r *countingReader) ReadAt(p []byte, off int64) (int, error) {
	r.n += int64(len(p))
	r.reads++
	return r.Reader.ReadAt(p, off)
}

// Columns that are read together read the blocks of their parents once, and a seek
// within a block reads nothing.
func TestParentsAreReadOnce(t *testing.T) {
	b := sampleFile(t, newSampler(4), 500, 0, Options{})
	r := &countingReader{Reader: bytes.NewReader(b)}
	f, err := Open(r, int64(len(b)), "test.trv")
	testenv.Must(t, err)
	curs := newReader(t, f).curs
	blocks := int64(0)
	for i, c := range f.Columns() {
		table, err := f.Blocks(i)
		if err != nil || len(table) != 1 {
			t.Fatalf("%d blocks, %v", len(table), err)
		}
		blocks += table[0].StoredSize + int64(checksumSize(c.Checksum))
	}
	r.n = 0
	for _, row := range []int64{3, 90, 91, 400, 20} {
		for _, c := range curs {
			testenv.Must(t, c.SeekRow(row))
		}
	}
	if r.n != blocks {
		t.Errorf("%d bytes read of blocks of %d", r.n, blocks)
	}
}

// heldReader counts the reads from each offset. A read at the offset held blocks until
// released is closed.
type heldReader struct {
	*bytes.Reader
	mu       sync.Mutex
	reads    map[int64]int
	held     int64
	entered  chan struct{}
	released chan struct{}
}

func (r *heldReader) ReadAt(p []byte, off int64) (int, error) {
	r.mu.Lock()
	r.reads[off]++
	r.mu.Unlock()
	if off == r.held {
		r.entered <- struct{}{}
		<-r.released
	}
	return r.Reader.ReadAt(p, off)
}

// Each block table is read once, and the reader of one column does not wait for the
// table of another.
func TestTablesAreReadOnce(t *testing.T) {
	b := sampleFile(t, newSampler(4), 50, 0, Options{})
	columns := openBytes(t, b).Columns()
	r := &heldReader{
		Reader: bytes.NewReader(b), reads: map[int64]int{}, held: columns[1].Start,
		entered: make(chan struct{}, 8), released: make(chan struct{}),
	}
	f, err := Open(r, int64(len(b)), "test.trv")
	testenv.Must(t, err)
	var wg sync.WaitGroup
	blocks := func(col int) {
		if table, err := f.Blocks(col); err != nil || len(table) != 1 {
			t.Errorf("column %d: %d blocks, %v", col, len(table), err)
		}
	}
	wg.Go(func() { blocks(1) })
	<-r.entered
	wg.Go(func() { blocks(1) })
	for col := range columns {
		if col != 1 {
			blocks(col)
		}
	}
	close(r.released)
	wg.Wait()
	for i, c := range columns {
		if n := r.reads[c.Start]; n != 1 {
			t.Errorf("column %d: its table was read %d times", i, n)
		}
	}
	testenv.Must(t, f.Verify(t.Context()))
	for i, c := range columns {
		if n := r.reads[c.Start]; n != 2 {
			t.Errorf("column %d: its table was read %d times, once by Verify", i, n)
		}
	}
}

// A table that could not be read can be read later.
func TestTableIsReadAgain(t *testing.T) {
	b := sampleFile(t, newSampler(4), 50, 0, Options{})
	r := &failingReader{ReaderAt: bytes.NewReader(b), from: int64(len(b))}
	f, err := Open(r, int64(len(b)), "test.trv")
	testenv.Must(t, err)
	r.from = 0
	if _, err := f.Blocks(0); !errors.Is(err, errDisk) {
		t.Errorf("a failing disk: %v", err)
	}
	r.from = int64(len(b))
	if _, err := f.Blocks(0); err != nil {
		t.Error(err)
	}
}
