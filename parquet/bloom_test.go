package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/bloom"
	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/formattest"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// allFiltered returns all columns that can have a Bloom filter.
func allFiltered(t testing.TB, schema string) (names []string) {
	t.Helper()
	tree, err := newTree(schema, timesExact)
	testenv.Must(t, err)
	for i := range tree.leaves {
		if filterable(&tree.leaves[i]) == nil {
			names = append(names, tree.leaves[i].Name)
		}
	}
	return names
}

// checkFilter checks that a Bloom filter has all values of a column for parquet-go.
func checkFilter(t testing.TB, l *leaf, f parquet.BloomFilter, entries []levelEntry) {
	t.Helper()
	if f == nil {
		t.Fatalf("column %s has no Bloom filter", l.Name)
	}
	for _, e := range entries {
		if e.value == nil {
			continue
		}
		if ok, err := f.Check(otherValue(l, e.value)); err != nil || !ok {
			t.Fatalf("column %s: the Bloom filter does not have %x, %v", l.Name, e.value, err)
		}
	}
}

// otherValue returns a value of parquet-go.
func otherValue(l *leaf, plain []byte) parquet.Value {
	switch l.physical {
	case pq.Int32:
		return parquet.Int32Value(int32(binary.LittleEndian.Uint32(plain)))
	case pq.Int64:
		return parquet.Int64Value(int64(binary.LittleEndian.Uint64(plain)))
	case pq.FixedLenByteArray:
		return parquet.FixedLenByteArrayValue(plain)
	}
	return parquet.ByteArrayValue(plain)
}

// A Bloom filter is as small as its distinct values allow, and has about 1 % of other values.
func TestFilterSizes(t *testing.T) {
	for _, distinct := range []int{0, 1, 2, 20, 1000, 40_000, 300_000} {
		for _, repeats := range []int{1, 3} {
			f := filter{limit: maxFilter}
			for i := range distinct * repeats {
				f.insert(appendHashes(nil, binary.LittleEndian.AppendUint64(nil, uint64(i%max(distinct, 1))), 8))
			}
			n := int64(distinct * repeats)
			b, err := f.finish(n)
			testenv.Must(t, err)
			if most := f.bound(n) + filterHeaderBound; int64(len(b)) > most {
				t.Errorf("%d values: a filter of %d bytes, at most %d", n, len(b), most)
			}
			var h pq.BloomFilterHeader
			head, err := unmarshal("", 0, b, &h)
			testenv.Must(t, err)
			bits := b[head:]
			if most := max(32, 4*distinct); len(bits) > most || int(h.NumBytes) != len(bits) {
				t.Errorf("%d distinct values: a filter of %d bytes, its header says %d", distinct, len(bits), h.NumBytes)
			}
			const others = 100_000
			found := 0
			for i := range others {
				if bloom.MakeSplitBlockFilter(bits).Check(xxhash.Sum64String(fmt.Sprint(i))) {
					found++
				}
			}
			if found > others*13/1000 || distinct == 0 && found > 0 {
				t.Errorf("%d distinct values: a filter of %d bytes has %d of %d other values", distinct, len(bits), found, others)
			}
		}
	}
}

// Values that all have the same block do not make a filter large.
func TestFilterOfCollisions(t *testing.T) {
	f := filter{limit: maxFilter}
	hashes := make([]uint64, 500)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range hashes {
		hashes[i] = uint64(r.Uint32())
	}
	f.insert(hashes)
	b, err := f.finish(int64(len(hashes)))
	testenv.Must(t, err)
	if most := f.bound(int64(len(hashes))) + filterHeaderBound; int64(len(b)) > most {
		t.Errorf("a filter of %d bytes, at most %d", len(b), most)
	}
}

// The limit of a filter is a power of two, as some readers demand, and less if memory is short.
func TestFilterLimit(t *testing.T) {
	for _, tt := range []struct{ n, blockSize, want int }{
		{1, 64 << 10, 1 << 20}, {16, 64 << 10, 1 << 20}, {17, 64 << 10, 512 << 10}, {1, 5000, 64 << 10}, {10_000, 4 << 10, 1 << 10}, {1 << 22, 1, bloom.BlockSize},
	} {
		if got := filterLimit(tt.n, tt.blockSize); got != tt.want {
			t.Errorf("%d columns, blocks of %d: %d, want %d", tt.n, tt.blockSize, got, tt.want)
		}
	}
	without, err := Format.Writer(nil)
	testenv.Must(t, err)
	with, err := Format.Writer([]byte(`{"bloom_filters":["a","b"]}`))
	testenv.Must(t, err)
	if got := with.Memory(10, 64<<10) - without.Memory(10, 64<<10); got != 2*2<<20 {
		t.Errorf("two filters need %d bytes", got)
	}
}

// Many more values than a filter has room for leave its size at the limit.
func TestFullFilter(t *testing.T) {
	const schema = `{"type":"record","name":"R","fields":[{"name":"v","type":"long"}]}`
	var rows [][]byte
	for i := range 20_000 {
		rows = append(rows, binary.AppendVarint(nil, int64(i)))
	}
	file := fileOf(t, schema, options{BloomFilters: []string{"v"}}, 300, rows)
	checkFile(t, schema, rows, file)
	if got := mustOpen(t, file).chunks[0].filter.size; got != 4096+filterHead+1 {
		t.Errorf("a filter of %d bytes", got)
	}
}

// Lacks finds values by the Bloom filter and by the dictionary, and only in columns that have
// one of them.
func TestLacks(t *testing.T) {
	const schema = `{"type":"record","name":"R","fields":[
		{"name":"coded","type":"string"},{"name":"plain","type":["null","long"]},{"name":"list","type":{"type":"array","items":"int"}},
		{"name":"enum","type":{"type":"enum","name":"E","symbols":["A","B","C"]}},{"name":"fix","type":{"type":"fixed","name":"F","size":2}},
		{"name":"mixed","type":"bytes"},{"name":"real","type":"double"},{"name":"flag","type":"boolean"}]}`
	r := rand.New(rand.NewPCG(1, 1))
	var rows [][]byte
	for i := range 6000 {
		row := appendText(nil, fmt.Sprint("text ", i%100))
		row = binary.AppendVarint(append(row, 2), int64(2*i))
		row = append(row, 4, byte(2*(i%7)), 20, 0)
		row = append(row, byte(2*(i%2)))
		row = append(row, byte(i%50), 1)
		row = appendText(row, fmt.Sprintf("%0100d", 2*max(i%3, i-4000)))
		row = append(appendDouble(row, float64(i%3)), 1)
		rows = append(rows, row)
	}
	sized := func(s string) []byte { return appendText(nil, s) }
	number := func(n int64) []byte { return binary.AppendVarint(nil, n) }
	for _, filtered := range []bool{false, true} {
		chosen := map[string][]string{}
		if filtered {
			chosen[optionFilter] = allFiltered(t, schema)
		}
		b := formattest.Rows(t, Format, chosen, schema, rows, 4<<10).Files(t)[""]
		for _, file := range [][]byte{b, newRewriter(t, b, r).file()} {
			p := mustOpen(t, file)
			testenv.Must(t, p.Verify(t.Context(), nil))
			rewritten := p.checksums.size < 0 // which leaves no dictionaries
			for _, tt := range []struct {
				column string
				values [][]byte
				lacks  bool // by the dictionary
				filter bool // by the filter
			}{
				{"coded", [][]byte{sized("text 7")}, false, false},
				{"coded", [][]byte{sized("text 100")}, true, true},
				{"coded", [][]byte{sized("text 100"), sized("text 99")}, false, false},
				{"coded", [][]byte{sized("")}, true, true},
				{"plain/long", [][]byte{number(10)}, false, false},
				{"plain/long", [][]byte{number(11)}, false, true},
				{"plain/long", [][]byte{number(11), number(13), number(15)}, false, true},
				{"plain/long", [][]byte{number(11), number(13), number(14)}, false, false},
				{"list[]", [][]byte{number(6)}, false, false},
				{"list[]", [][]byte{number(7)}, true, true},
				{"list[]", [][]byte{number(1 << 40)}, true, true},
				{"enum", [][]byte{number(1)}, false, false},
				{"enum", [][]byte{number(2)}, true, true},
				{"fix", [][]byte{{4, 7, 1}}, false, false},
				{"fix", [][]byte{{4, 7, 2}}, true, true},
				{"mixed", [][]byte{sized(fmt.Sprintf("%0100d", 4))}, false, false},
				{"mixed", [][]byte{sized(fmt.Sprintf("%0100d", 3998))}, false, false},
				{"mixed", [][]byte{sized(fmt.Sprintf("%0100d", 5))}, false, true},
				{"real", [][]byte{appendDouble(nil, 9)}, false, false},
				{"flag", [][]byte{{0}}, false, false},
			} {
				col := columnNamed(t, p, tt.column)
				got, end, err := p.Lacks(col, tt.values, 7)
				want := tt.lacks && !rewritten || tt.filter && filtered
				if err != nil || got != want || end != p.Rows() {
					t.Errorf("%s, filter %v, rewritten %v: lacks %q: %v, %v", tt.column, filtered, rewritten, tt.values, got, err)
				}
			}
		}
	}
}

// Lacks finds times that are stored in another unit than that of the rows.
func TestLacksOfTimes(t *testing.T) {
	const schema = `{"type":"record","name":"R","fields":[{"name":"millis","type":{"type":"long","logicalType":"timestamp-millis"}},
		{"name":"nanos","type":{"type":"long","logicalType":"timestamp-nanos"}}]}`
	var rows [][]byte
	for i := range int64(6000) {
		rows = append(rows, binary.AppendVarint(binary.AppendVarint(nil, 3*i), 3000*i))
	}
	chosen := map[string][]string{optionFilter: {"millis", "nanos"}, optionTimes: {"spark"}}
	p := mustOpen(t, formattest.Rows(t, Format, chosen, schema, rows, 4<<10).Files(t)[""])
	for col, values := range map[string]map[int64]bool{
		"millis": {300: false, 301: true, math.MaxInt64: true, math.MaxInt64 / 1000 * 2: true},
		"nanos":  {300_000: false, 301_000: true, 300_001: true},
	} {
		for v, want := range values {
			if got, _, err := p.Lacks(columnNamed(t, p, col), [][]byte{binary.AppendVarint(nil, v)}, 0); err != nil || got != want {
				t.Errorf("%s: lacks %d: %v, %v", col, v, got, err)
			}
		}
	}
}

func columnNamed(t *testing.T, p format.Part, name string) int {
	t.Helper()
	var names []string
	for i, c := range p.Columns() {
		if c.Name == name {
			return i
		}
		names = append(names, c.Name)
	}
	t.Fatalf("no column %q in %s", name, strings.Join(names, ", "))
	return -1
}

// Values that are cut off stop the filter.
func TestFilterOfWrongBlocks(t *testing.T) {
	for _, typ := range []string{`"string"`, `"long"`, `{"type":"enum","name":"E","symbols":["A"]}`} {
		schema := fmt.Sprintf(`{"type":"record","name":"R","fields":[{"name":"v","type":%s}]}`, typ)
		g := newGroupMaker(t, schema, options{BloomFilters: []string{"v"}}, 1<<10)
		g.group.columns[0].turns.pass(0, true) // no dictionary
		job, err := g.group.Begin(0, &column.Block{Rows: 3, Data: []byte{0, 0}})
		testenv.Must(t, err)
		if _, err := job.Encode(nil); err == nil {
			t.Errorf("%s: two values of three rows are accepted", typ)
		}
	}
}

// A dump shows the filter with its header.
func TestFilterIsDumped(t *testing.T) {
	var out bytes.Buffer
	testenv.Must(t, mustOpen(t, smallFile(t, "none")).Dump(&out))
	for _, line := range []string{"Bloom filter of", "1 blocks of 32 bytes", "NumBytes"} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("the dump has no %q", line)
		}
	}
}
