package testformat

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"maps"
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/soak"
)

const schema = `{"type":"record","name":"R","fields":[
	{"name":"id","type":"long"},
	{"name":"ok","type":"boolean"},
	{"name":"score","type":["null","double"]},
	{"name":"name","type":"string"},
	{"name":"hops","type":{"type":"array","items":{"type":"record","name":"H","fields":[
		{"name":"port","type":"int"},{"name":"none","type":"null"},{"name":"tags","type":{"type":"array","items":"null"}}]}}}]}`

// sample is a part of a few small blocks.
func sample(t testing.TB, codec string) map[string][]byte {
	t.Helper()
	var rows [][]byte
	for i := range 12 {
		row := []byte{byte(2 * i), byte(i & 1)}
		if i%3 == 0 {
			row = append(row, 0)
		} else {
			row = append(row, 2, 0, 0, 0, 0, 0, 0, byte(i), 0x40)
		}
		row = append(row, byte(2*i))
		row = append(row, "abcdefghijklmnop"[:i]...)
		if i%4 > 0 {
			row = append(row, byte(2*(i%4)))
			for k := range i % 4 {
				row = append(row, byte(2*k), 4, 0)
			}
		}
		rows = append(rows, append(row, 0))
	}
	return write(t, Format, `{"codec":"`+codec+`","marker":"here"}`, schema, rows, 6)
}

// check opens a part and does with it whatever can be done. It returns the first
// error, and requires each to be damage.
func check(t *testing.T, files map[string][]byte) error {
	t.Helper()
	p, err := openPart(Format, files)
	if err != nil {
		if !isDamage(err) {
			t.Errorf("opened: %v", err)
		}
		return err
	}
	if err = p.Verify(t.Context()); err != nil && !isDamage(err) {
		t.Errorf("verified: %v", err)
	}
	if dumped := p.Dump(io.Discard); dumped != nil && !isDamage(dumped) {
		t.Errorf("dumped: %v", dumped)
	}
	for i := range p.Columns() {
		c, failed := p.Cursor(i)
		if failed == nil {
			failed = c.SeekRow(p.Rows() / 2)
		}
		var v column.Vector
		for n := 0; failed == nil && n < 1000; n++ {
			_, _, failed = c.Read(&v, 10)
		}
		if failed != nil && !errors.Is(failed, io.EOF) && !isDamage(failed) {
			t.Errorf("read: %v", failed)
		}
	}
	return err
}

// Whatever bit is flipped, that is noticed, in the file that has it.
func TestFlippedBits(t *testing.T) {
	for _, codec := range codecs {
		files := sample(t, codec)
		if err := check(t, files); err != nil {
			t.Fatal(err)
		}
		for name, b := range files {
			for i := range b {
				b[i] ^= 1 << (i % 8)
				var d *damage.Error
				if err := check(t, files); !errors.As(err, &d) || path.Base(d.File) != name {
					t.Errorf("%s, byte %d: %v", name, i, err)
				}
				b[i] ^= 1 << (i % 8)
			}
		}
	}
}

// seal gives an index the CRC that it should have.
func seal(index []byte) []byte {
	end := len(index) - crc32.Size
	return order.AppendUint32(index[:end:end], crc32.Checksum(index[:end], castagnoli))
}

// Whatever an index with the right CRC says, nothing but damage comes of it.
func TestHostileIndex(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	samples := []map[string][]byte{sample(t, codecs[0]), sample(t, codecs[1])}
	for i := range soak.Rounds(1500, 40_000) {
		files := maps.Clone(samples[i%2])
		index := bytes.Clone(files[indexName])
		for range 1 + r.IntN(2) {
			at := r.IntN(len(index))
			switch r.IntN(3) {
			case 0:
				index[at] ^= 1 << r.IntN(8)
			case 1:
				index[at] = byte(r.Uint32())
			default:
				for k := range min(4, len(index)-at) {
					index[at+k] = 0xff
				}
			}
		}
		files[indexName] = seal(index)
		_ = check(t, files)
	}
}

// A file more, less, longer or shorter is noticed.
func TestOtherFiles(t *testing.T) {
	for name, change := range map[string]func(map[string][]byte){
		"no index":        func(f map[string][]byte) { delete(f, indexName) },
		"no column":       func(f map[string][]byte) { delete(f, columnName(2)) },
		"a file more":     func(f map[string][]byte) { f["other"] = nil },
		"a column more":   func(f map[string][]byte) { f[columnName(99)] = nil },
		"a longer column": func(f map[string][]byte) { f[columnName(0)] = append(f[columnName(0)], 0) },
		"a shorter one":   func(f map[string][]byte) { f[columnName(0)] = f[columnName(0)][1:] },
		"an empty index":  func(f map[string][]byte) { f[indexName] = nil },
		"a short index":   func(f map[string][]byte) { f[indexName] = f[indexName][:9] },
		"swapped columns": func(f map[string][]byte) { f[columnName(0)], f[columnName(3)] = f[columnName(3)], f[columnName(0)] },
		"bytes behind the index": func(f map[string][]byte) {
			f[indexName] = seal(append(f[indexName], 0))
		},
	} {
		files := maps.Clone(sample(t, "null"))
		change(files)
		if check(t, files) == nil {
			t.Error(name)
		}
	}
}

// changed is the sample with the last block of a column changed, and with an index
// that tells of the block as it is then.
func changed(t *testing.T, col int, change func(before uint32, b *block, stored []byte)) map[string][]byte {
	t.Helper()
	files := sample(t, "null")
	p := mustOpen(t, Format, files).(*part)
	c := &p.columns[col]
	before, last := uint32(0), len(c.blocks)-1
	if last > 0 {
		before = c.blocks[last-1].sum
	}
	b := &c.blocks[last]
	stored := files[columnName(col)][b.offset:]
	index := files[indexName]
	at := bytes.Index(index, b.append(nil))
	if at < 0 || bytes.Count(index, b.append(nil)) != 1 {
		t.Fatal("the block is not found in the index")
	}
	old := len(b.append(nil))
	change(before, b, stored)
	end := len(stored) - crc32.Size
	order.PutUint32(stored[end:], crc32.Checksum(stored[:end], castagnoli))
	files[indexName] = seal(append(index[:at:at], append(b.append(nil), index[at+old:]...)...))
	return files
}

// What no writer writes, but has the right checksums, is damage of some kind.
func TestContradictions(t *testing.T) {
	// resum makes a changed payload the one that was summed.
	resum := func(before uint32, b *block, stored []byte) {
		b.sum = crc32.Update(before, castagnoli, stored[4:4+b.payload])
		order.PutUint32(stored, b.sum)
	}
	for _, test := range []struct {
		name   string
		col    int
		kind   damage.Kind
		reason string
		change func(before uint32, b *block, stored []byte)
	}{
		{"a boolean of 2", 1, damage.Value, "a boolean is 2", func(before uint32, b *block, s []byte) { s[4] = 2; resum(before, b, s) }},
		{"a value of another block", 0, damage.Checksum, "the sum of", func(_ uint32, _ *block, s []byte) { s[4]++ }},
		{"a sum of another block", 0, damage.Checksum, "the sum of", func(_ uint32, _ *block, s []byte) { s[0]++ }},
		{"another sum in the index", 0, damage.Checksum, "the sum of", func(_ uint32, b *block, _ []byte) { b.sum++ }},
		{"another double before", 2, damage.Checksum, "the sum of", func(_ uint32, b *block, _ []byte) { b.before++ }},
		{"a negative length", 4, damage.Value, "length", func(before uint32, b *block, s []byte) { s[7] = 0x80; resum(before, b, s) }},
		{"other lengths", 4, damage.Count, "lengths of", func(before uint32, b *block, s []byte) { s[4]++; resum(before, b, s) }},
		{"a string beyond the block", 3, damage.Value, "value at byte", func(before uint32, b *block, s []byte) { s[4] = 0x7e; resum(before, b, s) }},
		{"a lower bound", 0, damage.Value, "the bounds", func(_ uint32, b *block, _ []byte) { b.min = []byte{1} }},
		{"an upper bound", 0, damage.Value, "the bounds", func(_ uint32, b *block, _ []byte) { b.max = []byte{0} }},
		{"a bound of another type", 0, damage.Value, "a bound that is no", func(_ uint32, b *block, _ []byte) { b.max = []byte{0, 0} }},
		{"half a bound", 0, damage.Value, "a bound that is no", func(_ uint32, b *block, _ []byte) { b.max = []byte{0x80} }},
		{"another payload", 0, damage.Codec, "expected", func(_ uint32, b *block, _ []byte) { b.payload++ }},
		{"a large block", 0, damage.Unsupported, "exceeds", func(_ uint32, b *block, _ []byte) { b.payload = 1<<20 + 1 }},
		{"many stored bytes", 0, damage.Size, "stored bytes of", func(_ uint32, b *block, _ []byte) { b.stored++ }},
	} {
		var d *damage.Error
		files := changed(t, test.col, test.change)
		if err := check(t, files); !errors.As(err, &d) || d.Kind != test.kind || !strings.Contains(d.Reason, test.reason) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// encode writes an index as decode reads it.
func encode(x *index) []byte {
	b := append([]byte(magic), version)
	b = order.AppendUint64(b, uint64(x.rows))
	b = appendText(appendText(appendText(b, x.codec), x.marker), x.schema)
	b = order.AppendUint32(b, uint32(len(x.columns)))
	for i := range x.columns {
		var s columnState
		s.describe(&x.columns[i].Column)
		order.PutUint32(s.index[s.blocksAt:], uint32(len(x.columns[i].blocks)))
		for _, k := range x.columns[i].blocks {
			s.index = k.append(s.index)
		}
		b = append(b, s.index...)
	}
	return order.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// An index that contradicts itself, or the blocks, is damage.
func TestImpossibleIndexes(t *testing.T) {
	// shift moves rows, or units, from a column's second block to the first.
	shift := func(x *index, col int, rows, units int64) {
		for i, sign := range []int64{1, -1} {
			b := &x.columns[col].blocks[i]
			b.rows, b.units, b.items = b.rows+sign*rows, b.units+sign*units, b.items+sign*units
		}
	}
	const id, ok, score, hops, port = 0, 1, 2, 4, 5
	for _, test := range []struct {
		name, reason string
		change       func(x *index)
	}{
		{"nothing", "", func(*index) {}},
		{"negative rows", "-1 rows", func(x *index) { x.rows, x.columns = -1, nil }},
		{"another codec", "codec", func(x *index) { x.codec = "bzip2" }},
		{"another type", "type 11", func(x *index) { x.columns[ok].Type = 11 }},
		{"its own parent", "the child of", func(x *index) { x.columns[port].Parent = port }},
		{"a parent without lengths", "the child of", func(x *index) { x.columns[port].Parent = id }},
		{"more rows", "units, expected", func(x *index) { x.rows++ }},
		{"more units of a child", "units, expected", func(x *index) { x.columns[port].blocks[0].units++; x.columns[port].blocks[0].items++ }},
		{"a block of no rows", "a block of 0 rows", func(x *index) { x.columns[port].blocks = append(x.columns[port].blocks, block{}) }},
		{"more units than rows", "a block of", func(x *index) { shift(x, id, 0, 1) }},
		{"more items than there can be", "items of", func(x *index) { x.columns[hops].blocks[0].items = maxItems + 1 }},
		{"less items than none", "items of", func(x *index) { x.columns[hops].blocks[0].items = -1 }},
		{"more items than units", "items of", func(x *index) { x.columns[id].blocks[0].items++ }},
		{"values of another block", "bytes of values", func(x *index) { shift(x, ok, 1, 1) }},
		{"lengths of another block", "lengths in", func(x *index) { x.columns[score].blocks[0].payload = 1; x.columns[score].blocks[0].stored = 1 }},
		{"rows of another block", "its first row with", func(x *index) { shift(x, port, 2, 0) }},
	} {
		files := sample(t, "null")
		x := mustOpen(t, Format, files).(*part).index
		test.change(x)
		files[indexName] = encode(x)
		if test.name == "lengths of another block" { // of the right size, and with the right sum
			b := files[columnName(score)]
			old := mustOpen(t, Format, sample(t, "null")).(*part).columns[score].blocks[0]
			b = append(b[:5:5], b[4+old.stored:]...)
			order.PutUint32(b[5:], crc32.Checksum(b[:5], castagnoli))
			files[columnName(score)] = b
		}
		var d *damage.Error
		if err := check(t, files); (err != nil) != (test.reason != "") || err != nil && (!errors.As(err, &d) || !strings.Contains(d.Reason, test.reason)) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// huge is a file that claims a size.
type huge struct{ file }

func (huge) Size() int64 { return maxIndex + 1 }

func TestSizesAreBounded(t *testing.T) {
	_, err := Format.Open([]format.File{huge{file{bytes.NewReader(nil), "p.split/" + indexName}}}, format.OpenOptions{})
	if d := (*damage.Error)(nil); !errors.As(err, &d) || d.Kind != damage.Unsupported {
		t.Errorf("an index that is too large: %v", err)
	}
	for _, test := range []struct{ claim, size int64 }{{1 << 20, 1 << 20}, {64, 5}} {
		stored := binary.AppendUvarint(nil, uint64(test.claim))
		if _, err := decompress(nil, "snappy", stored, test.size); err == nil || !strings.Contains(err.Error(), "claim to be") {
			t.Errorf("a few bytes of snappy that claim to be %d for %d: %v", test.claim, test.size, err)
		}
	}
	g := group(t)
	for _, b := range []column.Block{{Rows: 1<<31 + 1}, {Rows: 1, Data: make([]byte, maxPayload+1)}} {
		if _, err := g.Begin(0, &b); err == nil {
			t.Errorf("%d rows in %d bytes are taken", b.Rows, len(b.Data))
		}
	}
}

// group is a row group of one column of doubles.
func group(t *testing.T) format.RowGroup {
	t.Helper()
	w, err := Format.Writer(json.RawMessage(`{"codec":"null"}`))
	if err != nil {
		t.Fatal(err)
	}
	g, err := w.NewRowGroup("", []column.Column{{Name: "a", Type: column.Double, Parent: -1}}, 64<<10)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A dump claims each byte once.
func TestDump(t *testing.T) {
	files := sample(t, "snappy")
	var out bytes.Buffer
	if err := mustOpen(t, Format, files).Dump(&out); err != nil {
		t.Fatal(err)
	}
	claimed, size := 0, 0
	for _, b := range files {
		size += len(b)
	}
	for line := range bytes.Lines(out.Bytes()) {
		if len(line) > 57 && line[8] == ' ' {
			claimed += len(bytes.Fields(line[10:57]))
		}
	}
	if claimed != size || !bytes.Contains(out.Bytes(), []byte(`marker: "here"`)) {
		t.Errorf("%d bytes of %d:\n%s", claimed, size, out.Bytes())
	}
}

// Blocks are taken, and ended, in row order only; all of them have to come.
func TestOrderOfBlocks(t *testing.T) {
	g := group(t)
	begin := func(first, rows int64) (format.EncodeJob, error) {
		return g.Begin(0, &column.Block{Data: make([]byte, 8*rows), FirstRow: first, Rows: rows})
	}
	one, err := begin(0, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range [][2]int64{{0, 1}, {2, 1}, {1, 0}} {
		if _, err := begin(b[0], b[1]); err == nil {
			t.Errorf("%d rows from row %d are taken after one row", b[1], b[0])
		}
	}
	two, err := begin(1, 2)
	if err != nil {
		t.Fatal(err)
	}
	if g.End(0, two, 24) == nil || g.End(0, one, 16) != nil || g.End(0, two, 24) != nil {
		t.Error("blocks may end in any order")
	}
	if _, err := g.Finish(4); err == nil {
		t.Error("rows may be missing")
	}
}

func TestOptions(t *testing.T) {
	if o, err := Format.Options(nil); err != nil || string(o) != `{"codec":"snappy"}` {
		t.Errorf("%s, %v", o, err)
	}
	if o, err := Format.Options(map[string][]string{"codec": {"snappy", "null"}, "marker": {"m"}}); err != nil || string(o) != `{"codec":"null","marker":"m"}` {
		t.Errorf("%s, %v", o, err)
	}
	if _, err := Format.Options(map[string][]string{"codec": {"a=null"}}); err == nil {
		t.Error("a codec of one column is taken")
	}
	for _, document := range []string{`{"codec":"bzip2"}`, `{"codec":"null","levels":3}`, ``} {
		if _, err := Format.Writer(json.RawMessage(document)); err == nil {
			t.Errorf("%s is taken", document)
		}
	}
	if Format.Describe(json.RawMessage(`{"codec":"null"}`)) != "codec null" || Format.Describe(nil) != "unknown options" {
		t.Error(Format.Describe(nil))
	}
}

// Bounds leave out no value, and know which types have an order.
func TestBounds(t *testing.T) {
	p := mustOpen(t, Format, sample(t, "null"))
	for i, c := range p.Columns() {
		blocks, err := p.Blocks(i)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks {
			if c.Name == "id" && (b.Min[0] != byte(2*b.FirstRow) || b.Max[0] != byte(2*(b.FirstRow+b.Rows-1))) {
				t.Errorf("rows %d to %d: % x to % x", b.FirstRow, b.FirstRow+b.Rows, b.Min, b.Max)
			}
			if !c.Indexed && (b.Min != nil || b.Max != nil) {
				t.Errorf("column %s has bounds", c.Name)
			}
		}
	}
	long := append([]byte{40}, "twenty times a character"[:20]...)
	_, least, greatest, err := bounds(column.String, append(long, 2, 'a'))
	if err != nil || !bytes.Equal(least, []byte{2, 'a'}) || greatest != nil {
		t.Errorf("%q to %q, %v", least, greatest, err)
	}
	nan := []byte{0, 0, 0xc0, 0x7f, 0, 0, 0, 0}
	if _, least, greatest, _ := bounds(column.Float, nan); least != nil || greatest != nil {
		t.Error("NaN has bounds")
	}
}
