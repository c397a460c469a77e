package parquet

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"testing"

	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/internal/randavro"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// groupedFile returns a file of row groups.
func groupedFile(t testing.TB, schema string, o options, blockSize int, groups [][][]byte, memory column.Account) []byte {
	t.Helper()
	doc, err := json.Marshal(o)
	testenv.Must(t, err)
	w, err := Format.NewFile(doc, memory)
	testenv.Must(t, err)
	m := avrotest.Map(t, schema)
	var file []byte
	for _, rows := range groups {
		group, err := w.NewRowGroup(schema, m.Columns, blockSize)
		testenv.Must(t, err)
		g := makerOf(t, m, group.(*rowGroup), blockSize)
		for _, r := range rows {
			g.row(r)
		}
		file = append(file, g.finish()...)
	}
	end, err := w.End()
	testenv.Must(t, err)
	return append(file, resolve(end, nil)...)
}

// TestRandomGroups writes files of several row groups, which parquet-go reads.
func TestRandomGroups(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 11))
		schema := randavro.Schema(r)
		o := options{Compression: []string{"snappy", "zstd", "gzip", "none"}[seed%4]}
		if seed%3 == 0 {
			o.BloomFilters = allFiltered(t, schema)
		}
		groups := make([][][]byte, 1+r.IntN(4))
		for i := range groups {
			groups[i] = randomRows(t, r, schema, 1+r.IntN(300))
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			file := groupedFile(t, schema, o, 1<<10, groups, column.Unlimited{})
			checkGroups(t, schema, groups, file)
			checkChecksums(t, file)
			if len(groups) > 1 {
				return
			}
			if p := mustOpen(t, file); p.Rows() != int64(len(groups[0])) || !bytes.Contains(file, []byte(format.ExportKey)) {
				t.Errorf("%d rows, want %d", p.Rows(), len(groups[0]))
			}
		})
	}
}

// checkChecksums compares the table of checksums with the headers and the indexes of a file.
func checkChecksums(t *testing.T, file []byte) {
	t.Helper()
	var want []byte
	add := func(b []byte) {
		want = binary.LittleEndian.AppendUint32(want, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
	}
	f := openByOther(t, file)
	last := int64(len(magic)) // the end of the chunks before
	for _, g := range f.Metadata().RowGroups {
		filters := int64(0)
		for i := range g.Columns {
			c := &g.Columns[i]
			at := c.MetaData.DataPageOffset
			if d := c.MetaData.DictionaryPageOffset; d > 0 {
				at = d
			}
			if at != last {
				t.Fatalf("a column chunk begins at %d, want %d", at, last)
			}
			for last += c.MetaData.TotalCompressedSize; at < last; {
				var head pq.PageHeader
				n, err := unmarshal("", at, file[at:], &head)
				testenv.Must(t, err)
				add(file[at : at+int64(n)])
				at += int64(n) + int64(head.CompressedPageSize)
			}
			for _, s := range []section{{c.ColumnIndexOffset, int64(c.ColumnIndexLength)}, {c.OffsetIndexOffset, int64(c.OffsetIndexLength)}} {
				if s.size > 0 {
					add(file[s.offset:s.end()])
				}
			}
			if n := int64(c.MetaData.BloomFilterLength); n > 0 {
				at := c.MetaData.BloomFilterOffset
				add(file[at : at+n])
				filters += n
			}
		}
		last += filters // they follow the chunks of their row group
	}
	footer := len(file) - trailer - int(binary.LittleEndian.Uint32(file[len(file)-trailer:]))
	if got := file[footer-len(want) : footer]; !bytes.Equal(got, want) {
		t.Errorf("the table of checksums is\n%x, want\n%x", got, want)
	}
	text, _ := f.Lookup(checksumsKey)
	zeroed := bytes.Clone(file[footer : len(file)-trailer])
	at := bytes.LastIndex(zeroed, []byte(text)) + len(text) - footerDigits
	copy(zeroed[at:], "00000000")
	if want := checksumsText(want, crc32.Checksum(zeroed, crc32.MakeTable(crc32.Castagnoli))); text != want {
		t.Errorf("%s is %q, want %q", checksumsKey, text, want)
	}
}

const oneLong = `{"type":"record","name":"R","fields":[{"name":"id","type":"long"}]}`

// The memory for the indexes and the footer of a file is reserved.
func TestGroupsWithinMemory(t *testing.T) {
	pool := budget.New(64 << 10)
	heap := pool.NewHeap()
	w, err := Format.NewFile(nil, heap)
	testenv.Must(t, err)
	m := avrotest.Map(t, oneLong)
	groups := 0
	for ; err == nil; groups++ {
		group, groupErr := w.NewRowGroup(oneLong, m.Columns, 1<<10)
		testenv.Must(t, groupErr)
		g := makerOf(t, m, group.(*rowGroup), 1<<10)
		g.row([]byte{2})
		g.close(0)
		_, err = g.group.Finish(1)
	}
	if !errors.As(err, new(*budget.Error)) || groups < 20 || groups > 64 {
		t.Errorf("%d row groups: %v", groups, err)
	}
	heap.Close()
	if pool.Available() != pool.Size() {
		t.Errorf("%d bytes left", pool.Available())
	}
}

func TestFileRefuses(t *testing.T) {
	if _, err := Format.NewFile([]byte(`{"unknown":1}`), column.Unlimited{}); err == nil {
		t.Error("an unknown option is ignored")
	}
	w, err := Format.NewFile(nil, column.Unlimited{})
	testenv.Must(t, err)
	m := avrotest.Map(t, oneLong)
	_, err = w.NewRowGroup(oneLong, m.Columns, 1<<10)
	testenv.Must(t, err)
	if _, err := w.NewRowGroup(strings.ReplaceAll(oneLong, "R", "S"), m.Columns, 1<<10); err == nil {
		t.Error("a row group has another schema")
	}
	f := w.(*fileWriter).file
	for n, ok := range map[int]bool{1<<15 - 1: true, 1 << 15: false} {
		f.groups = make([]pq.RowGroup, n)
		group, err := w.NewRowGroup(oneLong, m.Columns, 1<<10)
		testenv.Must(t, err)
		g := makerOf(t, m, group.(*rowGroup), 1<<10)
		g.row([]byte{2})
		g.close(0)
		if _, err := g.group.Finish(1); (err == nil) != ok {
			t.Errorf("row group %d: %v", n, err)
		}
	}
}
