package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/format/formattest"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// smallGroups returns a file of three row groups with a few small pages, of 9, 1 and 20 rows.
func smallGroups(t testing.TB) []byte {
	t.Helper()
	rows := formattest.SmallRows(30)
	o := options{BloomFilters: []string{"id", "name"}}
	return groupedFile(t, formattest.SmallSchema, o, 24, [][][]byte{rows[:9], rows[9:10], rows[10:]}, column.Unlimited{})
}

// dividedFile returns a file whose rows are divided into up to four row groups at random.
func dividedFile(t testing.TB, r *rand.Rand, schema string, o options, blockSize int, rows [][]byte) []byte {
	t.Helper()
	var groups [][][]byte
	for len(groups) < 3 && len(rows) > 1 && r.IntN(4) > 0 {
		n := 1 + r.IntN(len(rows)-1)
		groups, rows = append(groups, rows[:n]), rows[n:]
	}
	return groupedFile(t, schema, o, blockSize, append(groups, rows), column.Unlimited{})
}

// wordRows returns rows of a string. Each hundred of them have ten words of their own.
func wordRows(n, size int) (rows [][]byte) {
	for i := range n {
		rows = append(rows, appendText(nil, fmt.Sprintf("%0*d", size, i/100*10+i%10)))
	}
	return rows
}

// Lacks answers for the row group of a row, by its dictionary and its filter.
func TestLacksOfRowGroups(t *testing.T) {
	for _, filters := range [][]string{nil, {"string"}} {
		p := mustOpen(t, formattest.Rows(t, Format, map[string][]string{optionFilter: filters}, `"string"`, wordRows(400, 3), 1<<10).File(t, 4))
		for row := range p.Rows() {
			lacks, end, err := p.Lacks(0, [][]byte{appendText(nil, "015"), appendText(nil, "031")}, row)
			if err != nil || lacks != (row/100%2 == 0) || end != (row/100+1)*100 {
				t.Fatalf("row %d: %v until %d, %v", row, lacks, end, err)
			}
		}
	}
}

// Cursors of many row groups have the dictionaries and the pages of a few in memory.
func TestMemoryOfRowGroups(t *testing.T) {
	const schema = `{"type":"record","name":"R","fields":[{"name":"a","type":{"type":"array","items":` +
		`{"type":"record","name":"I","fields":[{"name":"s","type":"string"}]}}}]}`
	const groups, group = 40, 10 * 1000 // bytes of the words of a row group
	var rows [][]byte
	for _, row := range wordRows(100*groups, 1000) {
		rows = append(rows, append(append([]byte{2}, row...), 0))
	}
	var memory formattest.Memory
	p, err := openFile(formattest.Rows(t, Format, nil, schema, rows, 1<<20).File(t, groups), format.OpenOptions{Memory: &memory})
	testenv.Must(t, err)
	for col := range 2 { // the lengths of the lists, and the strings
		if _, err := p.Blocks(col); err != nil {
			t.Fatal(err)
		}
	}
	before, steady := memory.Held, int64(0)
	lengths, values := p.(*part).cursor(0), p.(*part).cursor(1)
	for i := range int64(groups) {
		for _, c := range []*cursor{lengths, values} {
			testenv.Must(t, c.SeekRow(100*i+50))
			_, _, err := c.Read(new(column.Vector), 10)
			testenv.Must(t, err)
		}
		if lengths.reader.held == nil || lengths.reader.held != values.reader.held {
			t.Fatalf("row group %d: the cursors do not share a page", i)
		}
		if _, _, err := p.(format.Searcher).Lacks(1, [][]byte{appendText(nil, "?")}, 100*i); err != nil {
			t.Fatal(err)
		}
		held := memory.Held - before
		if i == 4 {
			steady = held
		}
		if i >= 4 && (held != steady || held < 2*group || held > 4*group) {
			t.Fatalf("row group %d: %d bytes are held for row groups of %d, %d bytes after a few of them", i, held, group, steady)
		}
	}
}

// A row group without rows is passed over.
func TestEmptyRowGroups(t *testing.T) {
	for at := range 4 {
		r := rand.New(rand.NewPCG(uint64(at), 3))
		w := newRewriter(t, smallGroups(t), r)
		w.footer = func(m *pq.FileMetaData) {
			empty := pq.RowGroup{Columns: slices.Clone(m.RowGroups[0].Columns)}
			for i := range empty.Columns {
				c := &empty.Columns[i]
				d := &c.MetaData
				c.OffsetIndexOffset, c.OffsetIndexLength, d.BloomFilterOffset, d.BloomFilterLength = 0, 0, 0, 0
				d.NumValues, d.TotalCompressedSize, d.TotalUncompressedSize = 0, 0, 0
			}
			m.RowGroups = slices.Insert(slices.Clone(m.RowGroups), at, empty)
		}
		file := w.file()
		testenv.Must(t, checkPart(t, file))
		checkAgainst(t, uint64(at), r, file, mustOpen(t, smallGroups(t)), formattest.SmallSchema)
	}
}

// Row groups that contradict the file, their indexes or each other are damage.
func TestRowGroupsThatContradict(t *testing.T) {
	file := groupedFile(t, formattest.SmallSchema, options{}, 24, [][][]byte{formattest.SmallRows(9), formattest.SmallRows(20)}, column.Unlimited{})
	second := func(x *indexes, leaf int) *pq.ColumnMetaData { return &x.RowGroups[1].Columns[leaf].MetaData }
	const leaves = hostLeaf + 1
	for _, c := range []struct {
		name   string
		kind   damage.Kind
		reason string
		change func(x *indexes)
	}{
		{"nothing", "", "", func(*indexes) {}},
		{"more rows", damage.Count, "the file has 30 rows, its row groups 29", func(x *indexes) { x.NumRows++ }},
		{"fewer rows", damage.Count, "the file has 19 rows after", func(x *indexes) { x.NumRows-- }},
		{"negative rows", damage.Count, "row group 0 has -1 rows", func(x *indexes) { x.RowGroups[0].NumRows = -1 }},
		{"rows of another group", damage.Count, "values", func(x *indexes) { x.RowGroups[0].NumRows++; x.RowGroups[1].NumRows-- }},
		{"a missing group", damage.Count, "its row groups 9", func(x *indexes) { x.RowGroups = x.RowGroups[:1] }},
		{"a group twice", damage.Count, "the file has 0 rows", func(x *indexes) { x.RowGroups = append(x.RowGroups, x.RowGroups[1]) }},
		{"a chunk more", damage.Count, "leaves", func(x *indexes) { x.RowGroups[1].Columns = append(x.RowGroups[1].Columns, x.RowGroups[1].Columns[0]) }},
		{"another type", damage.Schema, "type", func(x *indexes) { second(x, idLeaf).Type = pq.Int32 }},
		{"another column", damage.Schema, "path", func(x *indexes) { second(x, idLeaf).PathInSchema = []string{"ok"} }},
		{"other nulls", damage.Count, "nulls, the footer", func(x *indexes) { second(x, scoreLeaf).Statistics.NullCount++ }},
		{"a wrong minimum", damage.Value, "outside its bounds", func(x *indexes) { second(x, idLeaf).Statistics.MinValue = binary.LittleEndian.AppendUint64(nil, 1) }},
		{"a wrong minimum of a page", damage.Value, "outside its bounds", func(x *indexes) {
			x.columns[leaves+idLeaf].MinValues[0] = binary.LittleEndian.AppendUint64(nil, 1)
		}},
		{"rows of the file", damage.Count, "expected it to begin with row 9", func(x *indexes) {
			for i := range x.offsets[leaves+idLeaf].PageLocations {
				x.offsets[leaves+idLeaf].PageLocations[i].FirstRowIndex += 9
			}
		}},
		{"chunks of another group", damage.Size, "overlaps", func(x *indexes) {
			*second(x, okLeaf) = *x.chunk(okLeaf)
			second(x, okLeaf).NumValues = 20
		}},
	} {
		b := reindexed(t, file, c.change)
		wantDamage(t, c.name, verifyFile(t, b), c.kind, c.reason)
		_ = checkPart(t, b)
		var memory formattest.Memory
		if _, err := openFile(b, format.OpenOptions{Memory: &memory}); err != nil && memory.Held > 0 {
			t.Errorf("%s: %d bytes are held after an error", c.name, memory.Held)
		}
	}
}

// Damage in lengths is located in its row group.
func TestDamageInLengthsOfRowGroups(t *testing.T) {
	const schema = `{"type":"array","items":["null","int"]}`
	rows := [][]byte{{4, 2, 2, 0, 0, 0}, {0}, {2, 2, 4, 0}}
	file := formattest.Rows(t, Format, map[string][]string{optionCompression: {"none"}}, schema, slices.Concat(rows, rows), 1<<10).File(t, 2)
	w := newRewriter(t, file, rand.New(rand.NewPCG(0, 0)))
	w.header = func(chunk, _ int, h *pq.PageHeader, body []byte) []byte {
		if chunk == 0 {
			return body
		}
		return w.levelPage(h, []uint32{0, 0, 1, 0}, []uint32{2, 0, 1, 2}, 2) // an item of no list
	}
	w.footer = func(m *pq.FileMetaData) {
		to := &m.RowGroups[1].Columns[0].MetaData
		to.Codec, to.Statistics = pq.Uncompressed, pq.Statistics{}
	}
	p := mustOpen(t, w.file())
	err := p.Verify(t.Context(), nil)
	wantDamage(t, "an item of no list", err, damage.Value, "without a list")
	if d := (*damage.Error)(nil); errors.As(err, &d) && d.Offset != p.chunk(1, 0).start {
		t.Errorf("the damage is at %d, and not at %d", d.Offset, p.chunk(1, 0).start)
	}
}

// The memory for column chunks is reserved, also if the file is tiny.
func TestManyRowGroups(t *testing.T) {
	const groups = 20_000
	w := newRewriter(t, formattest.Rows(t, Format, nil, oneLong, [][]byte{{2}}, 1<<10).Files(t)[""], rand.New(rand.NewPCG(1, 1)))
	w.footer = func(m *pq.FileMetaData) { m.RowGroups, m.NumRows = slices.Repeat(m.RowGroups, groups), groups }
	file := w.file()
	var memory formattest.Memory
	p, err := openFile(file, format.OpenOptions{Memory: &memory})
	testenv.Must(t, err, readColumn(p, 0, groups-1))
	if memory.Held < 100*groups {
		t.Errorf("%d bytes are held for %d row groups", memory.Held, groups)
	}
	least := formattest.Memory{Limit: memory.Peak - memory.Held/2}
	if _, err := openFile(file, format.OpenOptions{Memory: &least}); !errors.Is(err, formattest.ErrMemory) || least.Held != 0 {
		t.Errorf("with %d of %d bytes: %v, %d bytes are held", least.Limit, memory.Peak, err, least.Held)
	}
}

// The names of codecs that row groups have, the sizes of filters and the indexes are those of all
// row groups.
func TestColumnsOfRowGroups(t *testing.T) {
	rows := [][]byte{{0, 0, 0, 0, 0, 0, 0xf8, 0x3f}, {0, 0, 0, 0, 0, 0, 0xf8, 0x7f}} // 1.5, NaN
	file := formattest.Rows(t, Format, nil, `"double"`, slices.Concat(rows, rows[:1]), 1<<10).File(t, 3)
	p := mustOpen(t, reindexed(t, file, func(x *indexes) { x.RowGroups[1].Columns[0].MetaData.Codec = pq.Zstd }))
	if c := p.Columns()[0]; c.Codec != "snappy+zstd" || c.Indexed {
		t.Errorf("%+v", c)
	}
	p = mustOpen(t, smallGroups(t))
	sum := int64(0)
	for i := range 3 {
		sum += p.chunk(i, idLeaf).filter.size
	}
	if c := p.Columns()[0]; c.Filter != sum || c.Codec != "snappy" || !c.Indexed {
		t.Errorf("%+v, want filters of %d bytes", c, sum)
	}
}

// A dump names the row groups.
func TestDumpNamesRowGroups(t *testing.T) {
	var out bytes.Buffer
	testenv.Must(t, mustOpen(t, smallGroups(t)).Dump(&out))
	for _, line := range []string{"row group 1: rows 9 to 10", `column index of "id" in row group 0`, `page 0 of "id" in row group 2: rows 10 to `} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("the dump has no %q", line)
		}
	}
}
