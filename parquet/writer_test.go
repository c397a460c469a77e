package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/internal/randavro"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// TestRandomFiles writes random rows of random schemas and compares what parquet-go reads, the
// statistics and the indexes with the rows.
func TestRandomFiles(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		schema := randavro.Schema(r)
		// parquet-go reads pages of lz4_raw into memory that it then does not use.
		o := randomOptions(t, r, schema, []string{"snappy", "zstd", "gzip", "none"})
		// It takes the value 1 of a repeat of booleans for a byte of eight booleans.
		maps.DeleteFunc(o.Encodings, func(_, name string) bool { return name == "rle" })
		n := []int{0, 1, 7, 300, 3000}[r.IntN(5)]
		blockSize := []int{200, 4 << 10, 64 << 10}[r.IntN(3)]
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rows := randomRows(t, r, schema, n)
			checkFile(t, schema, rows, fileOf(t, schema, o, blockSize, rows))
		})
	}
}

// randomRows returns random rows. Many of them repeat.
func randomRows(t testing.TB, r *rand.Rand, schema string, n int) [][]byte {
	parsed, err := shred.ParseSchema(schema)
	testenv.Must(t, err)
	rows := make([][]byte, n)
	for i := range rows {
		if i > 10 && r.IntN(3) > 0 {
			rows[i] = rows[r.IntN(i)]
			continue
		}
		rows[i], _ = randavro.Pair(r, parsed.Root())
	}
	return rows
}

// randomOptions returns options with one of the codecs. Half of the time, each column has a random
// encoding.
func randomOptions(t testing.TB, r *rand.Rand, schema string, codecs []string) options {
	t.Helper()
	o := options{Compression: codecs[r.IntN(len(codecs))], PageVersion: r.IntN(3)}
	if r.IntN(2) == 0 {
		o.BloomFilters = allFiltered(t, schema)
	}
	if r.IntN(2) == 0 {
		return o
	}
	tree, err := newTree(schema, timesExact)
	testenv.Must(t, err)
	o.Encodings = make(map[string]string)
	for i := range tree.leaves {
		names := encodingNames(kindOf(&tree.leaves[i]).encodings())
		o.Encodings[tree.leaves[i].Name] = names[r.IntN(len(names))]
	}
	return o
}

// checkFile compares a file with its rows.
func checkFile(t testing.TB, schema string, rows [][]byte, file []byte) {
	t.Helper()
	if len(rows) == 0 {
		checkGroups(t, schema, nil, file)
	} else {
		checkGroups(t, schema, [][][]byte{rows}, file)
	}
}

// checkGroups compares a file with the rows of its row groups.
func checkGroups(t testing.TB, schema string, groups [][][]byte, file []byte) {
	t.Helper()
	f := openByOther(t, file)
	if len(f.RowGroups()) != len(groups) {
		t.Fatalf("%d row groups, want %d", len(f.RowGroups()), len(groups))
	}
	total := int64(0)
	for g, rows := range groups {
		ref := newReference(t, schema)
		for _, row := range rows {
			ref.row(row)
			if len(ref.b) > 0 {
				t.Fatalf("%d bytes after a row", len(ref.b))
			}
		}
		if n := f.RowGroups()[g].NumRows(); n != int64(len(rows)) {
			t.Fatalf("%d rows, want %d", n, len(rows))
		}
		total += int64(len(rows))
		for i, chunk := range f.RowGroups()[g].ColumnChunks() {
			l := &ref.tree.leaves[i]
			if f.Metadata().RowGroups[g].Columns[i].MetaData.BloomFilterOffset > 0 {
				checkFilter(t, l, chunk.BloomFilter(), ref.entries[i])
			}
			got := readChunk(t, l, chunk)
			if k := difference(got, ref.entries[i]); k >= 0 {
				t.Fatalf("column %s: entry %d of %d is %v, want %v of %d, in rows of %s",
					l.Name, k, len(got), got[k:min(k+1, len(got))], ref.entries[i][k:min(k+1, len(ref.entries[i]))], len(ref.entries[i]), schema)
			}
		}
		checkChunks(t, file, f.Metadata(), g, ref)
	}
	if f.NumRows() != total {
		t.Fatalf("%d rows, want %d", f.NumRows(), total)
	}
}

// difference returns the number of the first entry that differs, or -1.
func difference(a, b []levelEntry) int {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i].rep != b[i].rep || a[i].def != b[i].def || (a[i].value == nil) != (b[i].value == nil) || !bytes.Equal(a[i].value, b[i].value) {
			return i
		}
	}
	return -1
}

// readChunk reads all entries by parquet-go.
func readChunk(t testing.TB, l *leaf, chunk parquet.ColumnChunk) (all []levelEntry) {
	t.Helper()
	pages := chunk.Pages()
	defer func() { testenv.Must(t, pages.Close()) }()
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return all
		}
		testenv.Must(t, err)
		values := make([]parquet.Value, page.NumValues())
		if n, err := page.Values().ReadValues(values); n != len(values) || err != nil && !errors.Is(err, io.EOF) {
			t.Fatalf("column %s: %d of %d values: %v", l.Name, n, len(values), err)
		}
		for _, v := range values {
			e := levelEntry{rep: v.RepetitionLevel(), def: v.DefinitionLevel()}
			if !v.IsNull() {
				e.value = plainValue(v)
			}
			all = append(all, e)
		}
	}
}

// plainValue returns a value as statistics have it.
func plainValue(v parquet.Value) []byte {
	switch v.Kind() {
	case parquet.Boolean:
		if v.Boolean() {
			return []byte{1}
		}
		return []byte{0}
	case parquet.Int32, parquet.Float:
		return binary.LittleEndian.AppendUint32(nil, v.Uint32())
	case parquet.Int64, parquet.Double:
		return binary.LittleEndian.AppendUint64(nil, v.Uint64())
	}
	return append([]byte{}, v.ByteArray()...)
}
