package dataset_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/cfile"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/internal/mailgen"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/parquet"
	"github.com/rowtocol/rowtocol/trevni"
)

// archives are the directories that archive has made; making one takes long.
var archives = map[string]string{}

// archive returns an output of messages in one part, with an index of values on
// their ascending numbers. Tests share it and do not change it.
func archive(t testing.TB, f format.Format, rows int64) *dataset.Dataset {
	t.Helper()
	key := fmt.Sprint(f.Name(), rows)
	if archives[key] == "" {
		dir, err := os.MkdirTemp("", "archive-")
		testenv.Must(t, err)
		archives[key] = dir
		makeArchive(t, f, rows, dir)
	}
	return open(t, filepath.Join(archives[key], "mail.columns"), dataset.Options{Formats: formats})
}

func makeArchive(t testing.TB, f format.Format, rows int64, base string) {
	t.Helper()
	in, err := os.Create(filepath.Join(base, "mail.avro"))
	testenv.Must(t, err)
	if err := mailgen.Write(in, mailgen.Options{Rows: rows, Seed: 1}); err != nil {
		t.Fatal(err)
	}
	testenv.Must(t, in.Close())
	convert(t, f, in.Name(), filepath.Join(base, "mail.columns"), settings{
		rowGroup: 128 << 20, choices: map[string][]string{"values": {"id", "from"}, "sorted-by": {"id"}},
	})
}

// columnSizes returns the bytes of each column's blocks and their entries in tables.
func columnSizes(t testing.TB, d *dataset.Dataset) map[string]int64 {
	t.Helper()
	p := openPart(t, d.Parts()[0].Store, d.Parts()[0].Name)
	defer p.Close()
	sizes := map[string]int64{}
	for i, c := range p.Columns() {
		blocks, err := p.Blocks(i)
		testenv.Must(t, err)
		for _, b := range blocks {
			sizes[c.Name] += b.StoredSize + 100
		}
		switch p.Format {
		case cfile.Format:
			sizes[c.Name] += oneBlock // indexes, and perhaps a dictionary
		case parquet.Format:
			sizes[c.Name] += oneBlock // perhaps a dictionary
		}
	}
	return sizes
}

const (
	firstReads = 64<<10 + 4<<10 // of header and table; they may read too much
	oneBlock   = 80 << 10
)

// If the values of a column ascend, its blocks that a condition excludes are not read,
// and neither are their rows in other columns.
func TestConditionsSkipBlocks(t *testing.T) {
	for _, f := range formats {
		d := archive(t, f, 40_000)
		read := func(where string) (rows int, bytes int64) {
			got, stats, err := scan(t, d, dataset.Query{Columns: []string{"id", "body"}, Where: where, Limit: -1})
			testenv.Must(t, err)
			return len(got), stats.BytesRead
		}
		all, most := read("id >= 0")
		for _, where := range []string{"id < 300", "id >= 17000 and id < 17200", "id > 40000 and id <= 40300"} {
			if rows, n := read(where); rows == 0 || rows > 300 || n > most/8 {
				t.Errorf("%s: %s: %d rows of %d, %d bytes read of %d", f.Name(), where, rows, all, n, most)
			}
		}
		if rows, n := read("id > 1000000"); rows != 0 || n > most/50 {
			t.Errorf("%s: %d rows after the last one, %d bytes read of %d", f.Name(), rows, n, most)
		}
	}
}

// A query reads only the columns that it names and the columns above them.
func TestQueriesReadTheirColumnsOnly(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		d := archive(t, f, 40_000)
		size := columnSizes(t, d)
		for _, test := range []struct {
			query   dataset.Query
			columns []string
		}{
			{dataset.Query{Columns: []string{"score"}, Limit: -1}, []string{"score/double"}},
			{dataset.Query{Columns: []string{"received.host"}, Limit: -1}, []string{"received[]", "received[]#host"}},
			{dataset.Query{Columns: []string{"id", "seen"}, Limit: -1}, []string{"id", "seen"}},
			{dataset.Query{Columns: []string{"score"}, Where: "score > 3", Limit: -1}, []string{"score/double"}},
			{dataset.Query{Columns: []string{"received.protocol", "size"}, Where: "size > 3", Limit: -1}, []string{"received[]", "received[]#protocol/string", "size/int"}},
			{dataset.Query{Columns: []string{}, Where: "seen", Limit: -1}, []string{"seen"}},
			{dataset.Query{Columns: []string{}, Limit: -1}, nil},
		} {
			most := int64(firstReads + oneBlock)
			for _, c := range test.columns {
				most += size[c] + 4<<10
			}
			_, scanned, err := scan(t, d, test.query)
			testenv.Must(t, err)
			_, batched, err := batches(t, d, test.query)
			testenv.Must(t, err)
			for _, s := range []dataset.Stats{scanned, batched} {
				// A CFile may count a block of the part as several. A page of Parquet is read
				// once, but it is a block of each column whose lengths it has.
				shared := f == parquet.Format && slices.Contains(test.columns, "received[]")
				if s.BytesRead > most || s.BlocksRead < s.Blocks && !shared || s.BlocksRead > s.Blocks && f != cfile.Format {
					t.Errorf("%+v: %+v, want at most %d bytes", test.query, s, most)
				}
			}
		}
	})
}

// Reading one of many columns reads its own bytes and the header.
func TestOneOfManyColumns(t *testing.T) {
	const columns, rows = 1000, 100
	var fields []string
	for i := range columns {
		fields = append(fields, fmt.Sprintf(`{"name":"c%d","type":"long"}`, i))
	}
	data := make([][]byte, rows)
	for i := range data {
		for j := range columns {
			data[i] = binary.AppendVarint(data[i], int64(1000*i+j))
		}
	}
	dir := t.TempDir()
	writeAvro(t, dir+"/in.avro", `{"type":"record","name":"R","fields":[`+strings.Join(fields, ",")+`]}`, data)
	convert(t, trevni.Format, dir+"/in.avro", dir+"/out", settings{rowGroup: 128 << 20})
	d := open(t, dir+"/out", dataset.Options{Formats: formats})
	got, stats, err := scan(t, d, dataset.Query{Columns: []string{"c500"}, Limit: -1})
	// The header is read in two steps, of 64 and 256 KiB.
	if most := int64((64+256+4)<<10) + columnSizes(t, d)["c500"]; err != nil || len(got) != rows || stats.BytesRead > most {
		t.Errorf("%d rows, %+v, want at most %d bytes, %v", len(got), stats, most, err)
	}
}

// If the selected rows are close together, few blocks are read of the columns that
// the condition does not need.
func TestClusteredRowsAreCheap(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		const rows = 100_000
		d := archive(t, f, rows)
		size := columnSizes(t, d)
		last, _, err := scan(t, d, dataset.Query{Columns: []string{"id"}, Offset: rows * 6 / 10, Limit: 1})
		testenv.Must(t, err)
		id := native(t, `"long"`, last[0]).(int64)
		var other int64
		for name, n := range size {
			if name != "id" && name != "date" {
				other += n
			}
		}
		for _, test := range []struct {
			where string
			own   int64 // bytes of the condition's columns that may be read
		}{
			{fmt.Sprintf("date != null && id - 0 >= %d && id - 0 < %d", id, id+200), size["id"] + size["date"]}, // computed: uses no index
			{fmt.Sprintf("%d <= id < %d", id, id+200), 2 * oneBlock},
		} {
			got, stats, err := scan(t, d, dataset.Query{Where: test.where, Limit: -1})
			if err != nil || len(got) < 50 || len(got) > 200 {
				t.Fatalf("%s: %d rows, %v", test.where, len(got), err)
			}
			if read := stats.BytesRead - test.own - firstReads; read > other/20 {
				t.Errorf("%s: read %d bytes of %d of the other columns: %+v", test.where, read, other, stats)
			}
		}
		// An index does not exclude blocks of a column that does not ascend.
		all, _, err := scan(t, d, dataset.Query{Columns: []string{"from"}, Limit: -1})
		testenv.Must(t, err)
		from, want := native(t, `"string"`, all[777]).(string), 0
		for _, row := range all {
			if native(t, `"string"`, row).(string) == from {
				want++
			}
		}
		got, _, err := scan(t, d, dataset.Query{Columns: []string{"from"}, Where: fmt.Sprintf("from == %q", from), Limit: -1})
		if err != nil || len(got) != want || want < 100 {
			t.Errorf("%d rows from %s, want %d, %v", len(got), from, want, err)
		}
	})
}

// Reading a column allocates memory per vector and file, not per row.
func TestBatchesAllocateNothing(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		d := archive(t, f, 40_000)
		for _, where := range []string{"", "score > 5", `subject contains "re" || score < 0`} {
			b, err := d.Batches(t.Context(), dataset.Query{Columns: []string{"score", "received.date", "from"}, Where: where, Limit: -1, BatchRows: 250})
			testenv.Must(t, err)
			defer b.Close()
			for range 12 {
				b.Next()
			}
			var sum float64
			allocs := testing.AllocsPerRun(10, func() {
				if b.Next() {
					for _, v := range b.Vector(1).Doubles {
						sum += v
					}
				}
			})
			if b.Rows() == 0 || sum == 0 || allocs > 3 { // a block may be larger than the blocks before it
				t.Errorf("%q: %v allocations per batch, %d rows", where, allocs, b.Rows())
			}
		}
	})
}
