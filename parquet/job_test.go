package parquet

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/randavro"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// TestParallel encodes the blocks on several goroutines. The file is the same.
func TestParallel(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 8))
		schema := randavro.Schema(r)
		rows := randomRows(t, r, schema, 2000)
		o := randomOptions(t, r, schema, testCodecs)
		want := fileOf(t, schema, o, 1000, rows)
		if got := parallelFile(t, schema, o, rows, 1000); !bytes.Equal(got, want) {
			t.Fatalf("seed %d: a file of %d bytes, want %d", seed, len(got), len(want))
		}
	}
}

// parallelFile writes a file whose jobs wait for each other as the mapper's do.
func parallelFile(t *testing.T, schema string, o options, rows [][]byte, blockSize int) []byte {
	type task struct {
		col    int
		block  column.Block
		job    format.EncodeJob
		stored []byte
		err    error
	}
	g := newGroupMaker(t, schema, o, blockSize)
	var queue []*task
	next := make(chan *task, 1<<16)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for j := range next {
				j.stored, j.err = j.job.Encode(nil)
			}
		})
	}
	begin := func(col int) {
		j := &task{col: col}
		g.bufs.Cols[col].Finish(g.rows, &j.block)
		var err error
		j.job, err = g.group.Begin(col, &j.block)
		testenv.Must(t, err)
		queue = append(queue, j)
		next <- j
	}
	for _, row := range rows {
		_, err := g.shredder.Row(row)
		testenv.Must(t, err)
		g.rows++
		for _, col := range g.bufs.Due() {
			begin(col)
		}
		g.bufs.ClearDue()
	}
	for col := range g.bufs.Cols {
		if g.bufs.Cols[col].FirstRow() < g.rows {
			begin(col)
		}
	}
	close(next)
	workers.Wait()
	for _, j := range queue {
		testenv.Must(t, j.err, g.group.End(j.col, j.job, len(j.stored)))
		g.spills[j.col] = append(g.spills[j.col], j.stored...)
	}
	return g.finish()
}

// TestWrongBlocks gives blocks that do not fit the rows, the columns or their levels.
func TestWrongBlocks(t *testing.T) {
	const schema = `{"type":"record","name":"R","fields":[{"name":"i","type":"int"},{"name":"s","type":["null","string"]},
		{"name":"e","type":{"type":"enum","name":"E","symbols":["A"]}},{"name":"d","type":"double"},{"name":"b","type":"boolean"},
		{"name":"f","type":{"type":"fixed","name":"F","size":2}}]}`
	parsed, err := shred.ParseSchema(schema)
	testenv.Must(t, err)
	m, err := shred.Map(parsed, shred.Options{})
	testenv.Must(t, err)
	for _, tt := range []struct {
		col   int
		block column.Block
		err   string
	}{
		{0, column.Block{Rows: 0}, "a block of 0 rows"},
		{0, column.Block{Rows: 1, FirstRow: 1}, "begins with row 1, expected row 0"},
		{0, column.Block{Rows: 2, Data: []byte{2}}, "2 values in 1 bytes"},
		{0, column.Block{Rows: 1, Data: []byte{2, 2}}, "1 bytes after the values"},
		{0, column.Block{Rows: 1, Data: []byte{0x80}}, "cut short"},
		{1, column.Block{Rows: 2, Data: []byte{0}, Lengths: []uint32{1}}, "a block of 2 rows has levels of 1"},
		{1, column.Block{Rows: 1, Data: []byte{4, 'a'}, Lengths: []uint32{1}}, "end too early"},
		{1, column.Block{Rows: 1, Data: []byte{1}, Lengths: []uint32{1}}, "end too early"},
		{1, column.Block{Rows: 1, Data: []byte{0x80}, Lengths: []uint32{1}}, "end too early"},
		{2, column.Block{Rows: 1, Data: []byte{2}}, "end too early"},
		{2, column.Block{Rows: 1, Data: []byte{1}}, "end too early"},
		{2, column.Block{Rows: 1, Data: []byte{0x80}}, "end too early"},
		{3, column.Block{Rows: 1, Data: []byte{2}}, "end too early"},
		{4, column.Block{Rows: 2, Data: []byte{1}}, "end too early"},
		{5, column.Block{Rows: 1, Data: []byte{2, 1}}, "has 1 bytes, want 2"},
	} {
		g, err := newPart(&options{}, schema, m.Columns, 64<<10)
		testenv.Must(t, err)
		job, err := g.Begin(tt.col, &tt.block)
		if err == nil {
			var b []byte
			b, err = job.Encode([]byte("x"))
			if !bytes.HasPrefix(b, []byte("x")) {
				t.Errorf("%v: dst became %q", tt.block, b)
			}
		}
		if err == nil || !strings.Contains(err.Error(), tt.err) {
			t.Errorf("column %d, %v: got %v, want %q", tt.col, tt.block, err, tt.err)
		}
	}
	g, err := newPart(&options{}, schema, m.Columns, 64<<10)
	testenv.Must(t, err)
	if _, err := g.Finish(1); err == nil || !strings.Contains(err.Error(), "has 0 of 1 rows") {
		t.Errorf("missing rows: got %v", err)
	}
	if _, err := newPart(&options{}, schema, m.Columns[:1], 64<<10); err == nil {
		t.Error("a schema with other columns is accepted")
	}
	block := column.Block{Rows: 1, Data: []byte{2}}
	job, err := g.Begin(0, &block)
	testenv.Must(t, err)
	if err := g.End(0, job, 3); err == nil || !strings.Contains(err.Error(), "3 stored bytes, expected 0") {
		t.Errorf("wrong size: got %v", err)
	}
	if err := g.End(0, nil, 3); err == nil {
		t.Error("End accepts a missing job")
	}
}

// TestGrowth adds rows one at a time. Growth bounds what each byte and each length adds to Bound.
func TestGrowth(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 9))
		schema := randavro.Schema(r)
		g := newGroupMaker(t, schema, randomOptions(t, r, schema, testCodecs), 64<<10)
		growth := g.group.Growth()
		for col := range g.bufs.Cols {
			for range 200 {
				rows, data, lengths := r.Int64N(100_000), r.IntN(100_000), r.IntN(20_000)
				before := g.group.Bound(col, rows, data, lengths)
				if grown := g.group.Bound(col, rows+1, data+1, lengths) - before; grown > growth {
					t.Fatalf("seed %d, column %d: a byte adds %d to the bound; Growth is %d", seed, col, grown, growth)
				}
				if grown := g.group.Bound(col, rows+1, data, lengths+1) - before; grown > 4*growth {
					t.Fatalf("seed %d, column %d: a length adds %d to the bound; Growth is %d", seed, col, grown, growth)
				}
			}
		}
	}
}

// Encoding a block allocates nothing in the long run, except for the indexes.
func TestEncodeDoesNotAllocate(t *testing.T) {
	const schema = `{"type":"record","name":"R","fields":[{"name":"v","type":%s}]}`
	for _, typ := range []string{`"long"`, `["null","string"]`, `{"type":"array","items":"double"}`, `{"type":"enum","name":"E","symbols":["A","B"]}`, `"boolean"`} {
		schema := fmt.Sprintf(schema, typ)
		r := rand.New(rand.NewPCG(1, 9))
		rows := randomRows(t, r, schema, 5000)
		for _, codec := range testCodecs {
			encodeOften(t, schema, rows, options{Compression: codec, BloomFilters: allFiltered(t, schema)})
		}
		tree, err := newTree(schema, timesExact)
		testenv.Must(t, err)
		l := &tree.leaves[0]
		for _, e := range encodingNames(kindOf(l).encodings()) {
			encodeOften(t, schema, rows, options{Encodings: map[string]string{l.Name: e}, PageVersion: 2})
		}
	}
}

// encodeOften encodes the rows, which have one column, and fails the test if this allocates.
func encodeOften(t *testing.T, schema string, rows [][]byte, o options) {
	t.Helper()
	g := newGroupMaker(t, schema, o, 1<<20)
	for _, row := range rows {
		g.row(row)
	}
	var block column.Block
	g.bufs.Cols[0].Finish(g.rows, &block)
	dst := make([]byte, 0, 1<<20)
	c := &g.group.columns[0]
	run := func() {
		job, err := g.group.Begin(0, &block)
		testenv.Must(t, err)
		dst, err = job.Encode(dst[:0])
		testenv.Must(t, err)
		testenv.Must(t, g.group.End(0, job, len(dst)))
		block.FirstRow += block.Rows
		c.pages, c.bounds = c.pages[:0], c.bounds[:0]
	}
	for range 5 {
		run()
	}
	if n := testing.AllocsPerRun(50, run); n >= 1 {
		t.Errorf("%s, %+v: %v allocations per block", schema, o, n)
	}
}

// Symbols count by their size: pages end, and the bound of a job has the memory for them.
func TestLargeSymbols(t *testing.T) {
	const size = 2000
	var symbols []string
	for i := range 100 {
		symbols = append(symbols, fmt.Sprintf(`"S%0*d"`, size-1, i))
	}
	schema := `{"type":"record","name":"R","fields":[{"name":"v","type":{"type":"enum","name":"E","symbols":[` + strings.Join(symbols, ",") + `]}},
		{"name":"a","type":{"type":"array","items":"E"}}]}`
	g := newGroupMaker(t, schema, options{Compression: "none"}, 1<<20)
	for i := range g.group.columns {
		g.group.columns[i].turns.pass(0, true) // no dictionary
	}
	for i := range 3000 {
		g.row([]byte{byte(i % 50 * 2), 0})
	}
	file := g.finish()
	for _, p := range g.group.columns[0].pages {
		if p.entries == 0 || p.raw > pageBytes+2*size {
			t.Errorf("a page of %d values and %d bytes", p.entries, p.raw)
		}
	}
	if blocks := g.group.columns[0].begunJobs; blocks < 5 {
		t.Errorf("%d bytes are in %d blocks", len(file), blocks)
	}

	const items = 20_000
	block := column.Block{Rows: 1, Data: make([]byte, items)}
	for left := items; left > 0; {
		n := min(left, 1<<11)
		rep := uint32(1)
		if left == items {
			n, rep = 1, 0
		}
		block.Lengths = append(block.Lengths, 1|rep<<11|uint32(n-1)<<21)
		left -= n
	}
	g = newGroupMaker(t, schema, options{Compression: "none"}, 1<<20)
	g.group.columns[1].turns.pass(0, true)
	job, err := g.group.Begin(1, &block)
	testenv.Must(t, err)
	stored, err := job.Encode(nil)
	testenv.Must(t, err)
	if n := int64(len(stored)); n < items*size || job.Bound() < 2*n {
		t.Errorf("%d bytes and as much working memory; the bound is %d", n, job.Bound())
	}
}
