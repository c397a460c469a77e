package dataset_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

const textSchema = `{"type":"record","name":"R","fields":[{"name":"id","type":"long"},{"name":"text","type":"string"},{"name":"words","type":{"type":"array","items":"bytes"}}]}`

// textSet makes a committed output of one part, whose rows have texts of these sizes,
// and returns the rows.
func textSet(t testing.TB, f format.Format, sizes []int) (dir string, rows [][]byte) {
	t.Helper()
	for i, size := range sizes {
		row := binary.AppendVarint(nil, int64(i))
		text := strings.Repeat(string(rune('a'+i%26)), size)
		row = append(binary.AppendVarint(row, int64(size)), text...)
		rows = append(rows, append(row, 2, 2, byte(i), 0)) // a word of a byte
	}
	base := t.TempDir()
	writeAvro(t, filepath.Join(base, "in.avro"), textSchema, rows)
	dir = filepath.Join(base, "out.columns")
	convert(t, f, filepath.Join(base, "in.avro"), dir, settings{rowGroup: 128 << 20, choices: map[string][]string{"codec": {"null"}}})
	return dir, rows
}

// someLarge returns sizes of texts: the large ones, spread among small ones.
func someLarge(rows int, large ...int) []int {
	sizes := make([]int, rows)
	for i := range sizes {
		sizes[i] = 5 + i%9
	}
	for i, size := range large {
		sizes[(i+1)*rows/(len(large)+1)] = size
	}
	return sizes
}

// growMemory calls do with growing memory until it succeeds. Each failure must say how
// much memory it needs, and do must always release all memory. refused counts the
// failures.
func growMemory(t *testing.T, what string, do func(memory *budget.Pool) error) (refused int) {
	t.Helper()
	for size := int64(1000); ; refused++ {
		pool := budget.New(size)
		err := do(pool)
		if pool.Available() != size {
			t.Fatalf("%s: %d of %d bytes left at the end (%v)", what, pool.Available(), size, err)
		}
		if err == nil {
			return refused
		}
		var e *budget.Error
		if !errors.As(err, &e) || isDamage(err) || e.Have != size || e.Need <= size || refused > 500 {
			t.Fatalf("%s: with %d bytes: %v", what, size, err)
		}
		size = e.Need
	}
}

// queries read the outputs of these tests in every way.
var queries = []dataset.Query{
	{Limit: -1},
	{Limit: -1, Columns: []string{"text"}},
	{Limit: -1, Columns: []string{"id"}, Where: `text != "x"`},
	{Limit: -1, Where: "id % 3 == 0"},
	{Limit: 70, Offset: 60, BatchRows: 7},
	{Limit: -1, Copies: 3},
}

// The rows are the same with just enough memory and without a limit. With less memory
// the query fails.
func TestLeastMemory(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		dir, all := textSet(t, f, someLarge(200, 1200<<10, 100<<10))
		for i, q := range queries {
			want, _, err := scan(t, open(t, dir, dataset.Options{Formats: formats}), q)
			if err != nil || i == 0 && !slices.EqualFunc(want, all, bytes.Equal) {
				t.Fatalf("%+v: %d rows, %v", q, len(want), err)
			}
			for name, read := range map[string]func(testing.TB, *dataset.Dataset, dataset.Query) ([][]byte, dataset.Stats, error){"scan": scan, "batches": batches} {
				what := fmt.Sprintf("%s of %+v", name, q)
				refused := growMemory(t, what, func(memory *budget.Pool) error {
					d, err := dataset.Open(t.Context(), locations(store.Local(), dir), dataset.Options{Formats: formats, Memory: memory})
					if err != nil {
						return err
					}
					rows, _, err := read(t, d, q)
					if err == nil && !slices.EqualFunc(rows, want, bytes.Equal) {
						t.Errorf("%s: %d rows, want %d", what, len(rows), len(want))
					}
					return err
				})
				if refused == 0 {
					t.Errorf("%s: never ran out of memory", what)
				}
			}
		}
	})
}

// Verify works with just enough memory and says how much it needs.
func TestVerifyWithinMemory(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		dir, _ := textSet(t, f, someLarge(200, 2<<20, 100<<10))
		growMemory(t, "verify", func(memory *budget.Pool) error {
			l, err := dataset.List(t.Context(), locations(store.Local(), dir), dataset.Options{Formats: formats, Memory: memory})
			if err != nil {
				return err
			}
			p, err := l.Open(t.Context(), &l.Parts[0])
			if err != nil {
				return err
			}
			defer p.Close()
			return p.Verify(t.Context(), nil)
		})
	})
}

// Closing early releases all memory. A second Close does nothing.
func TestMemoryOfEarlyEnds(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		dir, _ := textSet(t, f, someLarge(200, 1<<20))
		const size = 64 << 20
		for _, q := range queries {
			pool := budget.New(size)
			d := open(t, dir, dataset.Options{Formats: formats, Memory: pool})
			s, err := d.Scan(t.Context(), q)
			if err == nil {
				_, err = s.Next(nil)
			}
			testenv.Must(t, err)
			if pool.Available() == size {
				t.Errorf("%+v: a running scan holds no memory", q)
			}
			s.Close()
			s.Close()
			if pool.Available() != size {
				t.Errorf("%+v: %d bytes left of %d after the scan is closed", q, pool.Available(), size)
			}
			b, err := d.Batches(t.Context(), q)
			testenv.Must(t, err)
			if !b.Next() || pool.Available() == size {
				t.Errorf("%+v: running batches hold no memory, %v", q, b.Err())
			}
			b.Close()
			b.Close()
			if pool.Available() != size {
				t.Errorf("%+v: %d bytes left of %d after the batches are closed", q, pool.Available(), size)
			}
		}
	})
}

// If memory is short, batches have fewer rows, and there is no error.
func TestSmallBatches(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		dir, want := textSet(t, f, slices.Repeat([]int{200 << 10}, 40))
		most := map[string]int{}
		for _, test := range []struct {
			name string
			size int64
			q    dataset.Query
		}{
			{"much", 1 << 30, dataset.Query{Limit: -1}},
			{"little for copies", 8 << 20, dataset.Query{Limit: -1, Copies: 3}},
			{"less for copies", 4 << 20, dataset.Query{Limit: -1, Copies: 3}},
		} {
			pool := budget.New(test.size)
			b, err := open(t, dir, dataset.Options{Formats: formats, Memory: pool}).Batches(t.Context(), test.q)
			testenv.Must(t, err)
			row := 0
			for b.Next() {
				most[test.name] = max(most[test.name], b.Rows())
				v := b.Vector(1)
				for i := range b.Rows() {
					text := v.Data[v.Offsets[i]:v.Offsets[i+1]]
					if !bytes.Contains(want[row], text) || len(text) != 200<<10 {
						t.Fatalf("%s: row %d has a text of %d bytes", test.name, row, len(text))
					}
					row++
				}
			}
			b.Close()
			if b.Err() != nil || row != len(want) || pool.Available() != test.size {
				t.Errorf("%s: %d rows, %d bytes left of %d, %v", test.name, row, pool.Available(), test.size, b.Err())
			}
		}
		if most["much"] <= max(most["little for copies"], most["less for copies"]) {
			t.Errorf("largest batches, in rows: %v", most)
		}
	})
}

// Vectors become small again two batches after an unusually large one, when that is known to be
// unusual.
func TestVectorsShrink(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		dir, _ := textSet(t, f, someLarge(300, 5<<20))
		const size = 256 << 20
		pool := budget.New(size)
		b, err := open(t, dir, dataset.Options{Formats: formats, Memory: pool}).Batches(t.Context(), dataset.Query{Limit: -1, BatchRows: 10})
		testenv.Must(t, err)
		defer b.Close()
		large, batch := -1, 0
		for ; b.Next(); batch++ {
			switch data := b.Vector(1).Data; {
			case len(data) >= 5<<20:
				large = batch
			case cap(data) > 2<<20 && batch > large+2:
				t.Fatalf("%d bytes allocated for %d, %d batches after the large one", cap(data), len(data), batch-large)
			}
		}
		if held := size - pool.Available(); b.Err() != nil || large < 0 || batch < large+4 || held > 3<<20 {
			t.Errorf("batch %d of %d is large, %d bytes held at the end, %v", large, batch, held, b.Err())
		}
	})
}

// The memory of pieces that are read ahead of remote parts is reserved and released.
func TestMemoryOfPieces(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		local := archive(t, f, 40_000)
		dir := filepath.Dir(local.Parts()[0].Name)
		q := dataset.Query{Columns: []string{"body", "subject"}, Limit: 6000}
		want, _, err := scan(t, local, q)
		testenv.Must(t, err)
		read := func(st store.Store, pool *budget.Pool) (rows [][]byte, most int64, err error) {
			d, err := dataset.Open(t.Context(), locations(st, dir), dataset.Options{Formats: formats, Memory: pool})
			if err != nil {
				return nil, 0, err
			}
			s, err := d.Scan(t.Context(), q)
			if err != nil {
				return nil, 0, err
			}
			defer s.Close()
			for {
				row, err := s.Next(nil)
				if errors.Is(err, io.EOF) {
					return rows, most, nil
				}
				if err != nil {
					return nil, 0, err
				}
				rows = append(rows, row)
				most = max(most, pool.Size()-pool.Available())
			}
		}
		held := map[string]int64{}
		for _, test := range []struct {
			name string
			st   store.Store
			size int64
		}{
			{"local", store.Local(), 1 << 30},
			{"remote", storetest.NewFaulty(store.Local()), 1 << 30},
			{"remote, little", storetest.NewFaulty(store.Local()), 1 << 20},
		} {
			pool := budget.New(test.size)
			rows, most, err := read(test.st, pool)
			if err != nil || !slices.EqualFunc(rows, want, bytes.Equal) || pool.Available() != test.size {
				t.Errorf("%s: %d rows, want %d; %d bytes left of %d; %v", test.name, len(rows), len(want), pool.Available(), test.size, err)
			}
			held[test.name] = most
		}
		if held["remote"] < held["local"]+1<<20 || held["remote, little"] > 1<<20 {
			t.Errorf("most bytes held: %v", held)
		}
	})
}

// Rows that are resolved to another schema grow by its defaults, and memory is reserved
// for that.
func TestMemoryOfResolvedRows(t *testing.T) {
	const grown = 600 << 10
	reader := avrotest.Parse(t, `{"type":"record","name":"R","fields":[{"name":"id","type":"double"},{"name":"more","type":"string","default":"`+strings.Repeat("d", grown)+`"}]}`)
	eachFormat(t, func(t *testing.T, f format.Format) {
		dir, all := textSet(t, f, someLarge(5))
		q := dataset.Query{Limit: -1, Schema: reader}
		sizes := []int{0, 100, 70 << 10, 2 * grown}
		refused := growMemory(t, "resolved", func(memory *budget.Pool) error {
			d, err := dataset.Open(t.Context(), locations(store.Local(), dir), dataset.Options{Formats: formats, Memory: memory})
			if err != nil {
				return err
			}
			var want []byte
			for _, room := range sizes {
				s, err := d.Scan(t.Context(), q)
				if err != nil {
					return err
				}
				defer s.Close()
				var rows []byte
				for n := 0; ; n++ {
					row, err := s.Next(append(make([]byte, 0, room+3), "abc"...))
					if errors.Is(err, io.EOF) {
						if n != len(all) {
							t.Errorf("%d rows, want %d", n, len(all))
						}
						break
					}
					if err != nil {
						return err
					}
					if len(row) < grown || string(row[:3]) != "abc" {
						t.Fatalf("got a row of %d bytes, want abc and at least %d", len(row), grown)
					}
					rows = append(rows, row...)
				}
				if want == nil {
					want = rows
				}
				if !bytes.Equal(rows, want) {
					t.Errorf("with room for %d bytes the rows differ", room)
				}
				s.Close()
			}
			return nil
		})
		if refused < 2 {
			t.Errorf("ran out of memory %d times, want at least 2", refused)
		}
	})
}

// A row that is stored whole and does not fit into memory is refused with its size.
func TestMemoryOfWholeRow(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f.avro")
	row := append(binary.AppendVarint(nil, 4<<20), strings.Repeat("x", 4<<20)...)
	writeAvro(t, name, `{"type":"record","name":"R","fields":[{"name":"text","type":"string"}]}`, [][]byte{row})
	want := fmt.Sprintf("a row of %d bytes: ", len(row))
	for memory := int64(1 << 20); memory < 32<<20; memory += 1 << 20 {
		s, err := openAvro(t, name, budget.New(memory)).Scan(t.Context(), dataset.Query{Limit: -1})
		testenv.Must(t, err)
		_, err = s.Next(nil)
		s.Close()
		if err == nil {
			break
		}
		if strings.Contains(err.Error(), want) {
			return
		}
	}
	t.Errorf("no error has %q", want)
}

// Memory is reserved for columns of numbers, too.
func TestMemoryOfNumbers(t *testing.T) {
	schema := `{"type":"record","name":"R","fields":[{"name":"n","type":{"type":"array","items":"long"}}]}`
	part := columnPart(t, formats[0], schema, nil, 3, func(to *column.Buffers, row int) {
		n := []int{1, 1 << 20, 2}[row]
		to.Cols[0].Length(uint32(n))
		for i := range n {
			to.Cols[0].AppendVarint(int64(i % 60))
		}
	})
	refused := growMemory(t, "numbers", func(memory *budget.Pool) error {
		d, err := dataset.Open(t.Context(), locations(store.Local(), part), dataset.Options{Formats: formats, Memory: memory})
		if err != nil {
			return err
		}
		b, err := d.Batches(t.Context(), dataset.Query{Limit: -1})
		if err != nil {
			return err
		}
		defer b.Close()
		numbers := 0
		for b.Next() {
			numbers += len(b.Vector(0).Longs)
			if held, need := memory.Size()-memory.Available(), int64(8*cap(b.Vector(0).Longs)); held < need {
				t.Errorf("%d bytes are reserved, want at least %d", held, need)
			}
		}
		if b.Err() == nil && numbers != 1<<20+3 {
			t.Errorf("got %d numbers, want %d", numbers, 1<<20+3)
		}
		return b.Err()
	})
	if refused == 0 {
		t.Error("never ran out of memory")
	}
}

// The first error says how much memory a query needs to begin: a block of each of its columns.
func TestMemoryOfManyColumns(t *testing.T) {
	const columns, size = 30, 100 << 10
	var fields []string
	for i := range columns {
		fields = append(fields, fmt.Sprintf(`{"name":"f%d","type":"string"}`, i))
	}
	schema := `{"type":"record","name":"R","fields":[` + strings.Join(fields, ",") + `]}`
	eachFormat(t, func(t *testing.T, f format.Format) {
		part := columnPart(t, f, schema, nil, 1, func(to *column.Buffers, _ int) {
			for i := range columns {
				to.Cols[i].AppendSized(make([]byte, size))
			}
		})
		d := open(t, part, dataset.Options{Formats: formats, Memory: budget.New(1 << 20)})
		for _, test := range []struct {
			columns []string
			need    int64 // 0: memory suffices
		}{{nil, columns * size}, {[]string{"f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "f10", "f11"}, 12 * size}, {[]string{"f7"}, 0}} {
			_, _, err := scan(t, d, dataset.Query{Limit: -1, Columns: test.columns})
			var e *budget.Error
			if errors.As(err, &e) != (test.need > 0) || test.need == 0 && err != nil {
				t.Fatalf("%d columns: %v", len(test.columns), err)
			}
			if e != nil && e.Need < test.need {
				t.Errorf("%d columns: %v, want a need of at least %d bytes", len(test.columns), err, test.need)
			}
		}
	})
}

// Batches have all rows with any memory that suffices. They always reserve at least the
// memory of their vectors and its copies.
func TestBatchesStayWithinMemory(t *testing.T) {
	for _, tt := range []struct {
		sizes  []int
		memory int64
		copies []int
	}{
		{slices.Repeat([]int{200 << 10}, 40), 2 << 20, []int{0, 1}},
		{slices.Repeat([]int{200 << 10}, 40), 3 << 20, []int{0, 1}},
		{someLarge(300, 3<<20, 300<<10, 3<<20), 256 << 20, []int{0, 4}},
		{someLarge(2000, slices.Repeat([]int{700 << 10}, 40)...), 3 << 20, []int{1}},
	} {
		dir, _ := textSet(t, formats[0], tt.sizes)
		for _, copies := range tt.copies {
			pool := budget.New(tt.memory)
			b, err := open(t, dir, dataset.Options{Formats: formats, Memory: pool}).Batches(t.Context(), dataset.Query{Limit: -1, Copies: copies})
			testenv.Must(t, err)
			rows := 0
			for b.Next() {
				rows += b.Rows()
				data := b.Vector(1).Data
				need := int64(cap(data)) + int64(copies*len(data))
				if held := tt.memory - pool.Available(); held < need || pool.Available() > tt.memory {
					t.Errorf("%d copies: %d bytes of %d are reserved, want at least %d", copies, held, tt.memory, need)
				}
			}
			if b.Err() != nil || rows != len(tt.sizes) {
				t.Errorf("%d bytes, %d copies: %d rows of %d, %v", tt.memory, copies, rows, len(tt.sizes), b.Err())
			}
			if b.Close(); pool.Available() != tt.memory {
				t.Errorf("%d of %d bytes left", pool.Available(), tt.memory)
			}
		}
	}
}
