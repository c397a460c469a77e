package dataset_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/cfile"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/hfile"
	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/internal/mailgen"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/parquet"
	"github.com/rowtocol/rowtocol/store"
)

// openAvro opens an Avro file.
func openAvro(t *testing.T, name string, memory *budget.Pool) *dataset.Dataset {
	t.Helper()
	return open(t, name, dataset.Options{Formats: formats, Memory: memory})
}

// wantRows fails the test unless a query returns the rows.
func wantRows(t *testing.T, d *dataset.Dataset, q dataset.Query, want [][]byte) dataset.Stats {
	t.Helper()
	s, err := d.Scan(t.Context(), q)
	testenv.Must(t, err)
	defer s.Close()
	for i := 0; ; i++ {
		row, err := s.Next(nil)
		if err == io.EOF && i == len(want) {
			return s.Stats()
		}
		if err != nil || i == len(want) || !bytes.Equal(row, want[i]) {
			t.Fatalf("row %d of %d: %x, %v", i, len(want), row, err)
		}
	}
}

// Rows of an Avro file are the same with little memory and from any offset.
func TestAvroRows(t *testing.T) {
	rows := mails(3, 3000)
	name := filepath.Join(t.TempDir(), "mail.avro")
	writeAvro(t, name, mailgen.Schema, rows)
	for _, memory := range []*budget.Pool{nil, budget.New(16 << 20)} {
		d := openAvro(t, name, memory)
		for _, n := range []int{0, 1, 49, 50, 51, 1234, 2999, 3000} {
			s := wantRows(t, d, dataset.Query{Offset: int64(n), Limit: -1}, rows[n:])
			if s.Skipped != int64(n) || n < 3000 && s.BytesRead == 0 {
				t.Errorf("%+v", s)
			}
			wantRows(t, d, dataset.Query{Offset: int64(n), Limit: 7}, rows[n:min(n+7, 3000)])
		}
		if memory != nil && memory.Available() != memory.Size() {
			t.Errorf("%d bytes are still reserved", memory.Size()-memory.Available())
		}
		s, err := d.Count(t.Context(), dataset.Query{})
		if err != nil || s.Rows != 3000 {
			t.Errorf("%+v, %v", s, err)
		}
	}
}

// Rows of an Avro file are read with any formats in the registry.
func TestAvroRowsOfAnyRegistry(t *testing.T) {
	rows := mails(3, 100)
	name := filepath.Join(t.TempDir(), "mail.avro")
	writeAvro(t, name, mailgen.Schema, rows)
	for _, known := range []format.Registry{{hfile.Format, cfile.Format}, {parquet.Format}} {
		d, err := dataset.Open(t.Context(), locations(store.Local(), name), dataset.Options{Formats: known})
		testenv.Must(t, err)
		wantRows(t, d, dataset.Query{Limit: -1}, rows)
	}
}

// A stream can be read once: a second query fails because it would miss rows.
func TestStreamIsReadOnce(t *testing.T) {
	rows := mails(3, 10)
	b := bytes.NewReader(avrotest.Make(t, mailgen.Schema, "snappy", avrotest.Block{Rows: 10, Data: bytes.Join(rows, nil)}))
	d, err := dataset.Open(t.Context(), []store.Location{{Path: "in"}}, dataset.Options{Formats: formats, Stream: b})
	testenv.Must(t, err)
	wantRows(t, d, dataset.Query{Limit: -1}, rows)
	s, err := d.Scan(t.Context(), dataset.Query{Limit: -1})
	testenv.Must(t, err)
	if _, err := s.Next(nil); !errors.Is(err, dataset.ErrQuery) {
		t.Error(err)
	}
	s.Close()
}

// Memory is bounded even if blocks claim more rows or items than their bytes can
// limit.
func TestAvroWithoutBytes(t *testing.T) {
	const schema = `{"type":"record","name":"N","fields":[{"name":"n","type":"null"}]}`
	name := filepath.Join(t.TempDir(), "n.avro")
	open := func(counts ...int64) *dataset.Dataset {
		var blocks []avrotest.Block
		for _, n := range counts {
			blocks = append(blocks, avrotest.Block{Rows: n})
		}
		write(t, name, string(avrotest.Make(t, schema, "null", blocks...)))
		return openAvro(t, name, budget.New(16<<20))
	}
	wantRows(t, open(100_000, 0, 5), dataset.Query{Limit: -1}, make([][]byte, 100_005))
	d := open(math.MaxInt64, 1)
	s, err := d.Scan(t.Context(), dataset.Query{Limit: -1})
	testenv.Must(t, err)
	defer s.Close()
	if _, err := s.Next(nil); !errors.As(err, new(*damage.Error)) || !strings.Contains(err.Error(), "9223372036854775807 rows of 0 bytes") {
		t.Error(err)
	}
	if _, err := d.Count(t.Context(), dataset.Query{}); !errors.As(err, new(*damage.Error)) {
		t.Error(err)
	}
	open(math.MaxInt64)
	d, err = dataset.Open(t.Context(), locations(store.Local(), name, name), dataset.Options{Formats: formats})
	testenv.Must(t, err)
	if s, err := d.Count(t.Context(), dataset.Query{}); !errors.As(err, new(*damage.Error)) {
		t.Errorf("%d rows, %v", s.Rows, err)
	}
}

// A listing can be opened several times.
func TestAvroIsOpenedAgain(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.avro")
	writeAvro(t, name, `"long"`, [][]byte{{2}, {4}})
	l := list(t, store.Local(), name, dataset.Options{Formats: formats})
	for range 2 {
		d, err := l.Dataset(t.Context())
		testenv.Must(t, err)
		wantRows(t, d, dataset.Query{Limit: -1}, [][]byte{{2}, {4}})
	}
}

// A scan returns all rows of a block before a damaged one.
func TestAvroRowsBeforeDamage(t *testing.T) {
	text := append(binary.AppendVarint(nil, 1000), bytes.Repeat([]byte("x"), 1000)...)
	for _, c := range []struct {
		schema string
		sound  [][]byte
		bad    []byte
	}{
		{`"string"`, slices.Repeat([][]byte{text}, 40), binary.AppendVarint(nil, -1)},
		{`{"type":"array","items":"null"}`, [][]byte{append(binary.AppendVarint(nil, 600_000), 0), append(binary.AppendVarint(nil, 7), 0), {0}}, []byte{1}},
	} {
		name := filepath.Join(t.TempDir(), "a.avro")
		writeAvro(t, name, c.schema, append(slices.Clone(c.sound), c.bad))
		rows, _, err := scan(t, openAvro(t, name, nil), dataset.Query{Limit: -1})
		var d *damage.Error
		if !errors.As(err, &d) || d.Row != int64(len(c.sound)) || !slices.EqualFunc(rows, c.sound, bytes.Equal) {
			t.Errorf("%s: %d rows of %d, %v", c.schema, len(rows), len(c.sound), err)
		}
	}
}

// Rows that exceed a block's count are damage.
func TestAvroRowsNotCounted(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.avro")
	write(t, name, string(avrotest.Make(t, `"long"`, "null", avrotest.Block{Rows: 1, Data: []byte{2, 4}})))
	rows, _, err := scan(t, openAvro(t, name, nil), dataset.Query{Limit: -1})
	var d *damage.Error
	if !errors.As(err, &d) || d.Kind != damage.Count || len(rows) != 1 {
		t.Errorf("%x, %v", rows, err)
	}
}

// A scan returns a large value or fails for lack of memory. It never omits it.
func TestAvroLargeValues(t *testing.T) {
	var rows [][]byte
	for _, n := range []int{10, 4 << 20, 20} {
		rows = append(rows, append(binary.AppendVarint(nil, int64(n)), bytes.Repeat([]byte("x"), n)...))
	}
	name := filepath.Join(t.TempDir(), "a.avro")
	writeAvro(t, name, `"string"`, rows)
	all, refused := false, false
	for memory := int64(10); memory <= 40; memory += 2 {
		got, _, err := scan(t, openAvro(t, name, budget.New(memory<<20)), dataset.Query{Limit: -1})
		switch {
		case err == nil && slices.EqualFunc(got, rows, bytes.Equal):
			all = true
		case errors.As(err, new(*budget.Error)):
			refused = refused || strings.Contains(err.Error(), "values of")
		default:
			t.Errorf("%d MiB: %d rows, %v", memory, len(got), err)
		}
	}
	if !all || !refused {
		t.Errorf("returned all rows: %t, failed for lack of memory: %t; want both", all, refused)
	}
}

// If a row cannot be resolved, the error has its number in the file.
func TestAvroRowNumberOfDamage(t *testing.T) {
	name := filepath.Join(t.TempDir(), "u.avro")
	var rows [][]byte
	for i := range 300_000 {
		rows = append(rows, []byte{byte(i / 299_999 * 2), 0})
	}
	writeAvro(t, name, `["int","string"]`, rows)
	reader := avrotest.Parse(t, `"int"`)
	s, err := openAvro(t, name, nil).Scan(t.Context(), dataset.Query{Limit: -1, Schema: reader})
	testenv.Must(t, err)
	defer s.Close()
	var row []byte
	n := int64(0)
	for ; err == nil; n++ {
		row, err = s.Next(row[:0])
	}
	var d *damage.Error
	if !errors.As(err, &d) || d.Row != 299_999 || d.File != name || n != 300_000 {
		t.Errorf("row %d: %v", n, err)
	}
}

// Reading an Avro file uses the memory of its blocks again, with any number of workers, and
// frees it at the end.
func TestAvroBlocksAreReused(t *testing.T) {
	const size = 64 << 20
	var rows [][]byte
	for i := range size >> 10 {
		rows = append(rows, append(binary.AppendVarint(nil, 1022), bytes.Repeat([]byte{byte('a' + i%26)}, 1022)...))
	}
	name := filepath.Join(t.TempDir(), "a.avro")
	writeAvro(t, name, `"bytes"`, rows)
	for _, workers := range []int{1, 3} {
		pool := budget.New(32 << 20)
		d := openAvro(t, name, pool)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s, err := d.Scan(t.Context(), dataset.Query{Limit: -1, Workers: workers})
		testenv.Must(t, err)
		var row []byte
		for i := range rows {
			if row, err = s.Next(row[:0]); err != nil || !bytes.Equal(row, rows[i]) {
				t.Fatalf("%d workers, row %d: %.20q, %v", workers, i, row, err)
			}
		}
		runtime.ReadMemStats(&after)
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > size*3/4 {
			t.Errorf("%d workers: %d bytes allocated for %d bytes of blocks", workers, allocated, size)
		}
		s.Close()
		if used := pool.Size() - pool.Available(); used != 0 {
			t.Errorf("%d workers: %d bytes are reserved after Close", workers, used)
		}
	}
}

// A block without rows is decoded, wherever it is.
func TestAvroBlocksWithoutRows(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.avro")
	for rows := range int64(3) { // before the block without rows
		for _, damaged := range []bool{false, true} {
			blocks := []avrotest.Block{{Rows: rows, Data: []byte{2, 4}[:rows]}, {}}
			file := avrotest.Make(t, `"long"`, "deflate", blocks...)
			if damaged {
				file[len(file)-ocf.SyncSize-1] ^= 0xff
			}
			write(t, name, string(file))
			for _, workers := range []int{1, 3} {
				got, err := readAs(t, "results", openAvro(t, name, nil), dataset.Query{Limit: -1, Workers: workers})
				if errors.As(err, new(*damage.Error)) != damaged || !damaged && err != io.EOF || int64(len(got)) != rows {
					t.Errorf("%d workers, %d rows, damaged %t: %d rows, %v", workers, rows, damaged, len(got), err)
				}
			}
			if got, _, err := scan(t, openAvro(t, name, nil), dataset.Query{Limit: rows}); int64(len(got)) != rows || err != nil && !damaged {
				t.Errorf("limit %d, damaged %t: %d rows, %v", rows, damaged, len(got), err)
			}
		}
	}
}
