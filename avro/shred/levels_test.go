package shred_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/randavro"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// entry is the levels of an entry.
type entry struct{ rep, def int }

// reference makes the entries of rows in the plainest way: at each null and empty list it
// visits all leaves below.
type reference struct {
	m       *shred.Mapping
	leaf    []bool
	entries [][][]entry // by column and row
	values  [][][]byte  // the values, by column and row
	rest    []byte      // of the row
}

func newReference(m *shred.Mapping) *reference {
	f := &reference{m: m, leaf: make([]bool, len(m.Columns)), entries: make([][][]entry, len(m.Columns)), values: make([][][]byte, len(m.Columns))}
	for i := range m.Columns {
		f.leaf[i] = !slices.ContainsFunc(m.Columns, func(c column.Column) bool { return c.Parent == i })
	}
	return f
}

// row adds a row in its plain form.
func (f *reference) row(datum []byte) {
	for i := range f.m.Columns {
		f.entries[i] = append(f.entries[i], nil)
		f.values[i] = append(f.values[i], nil)
	}
	f.rest = datum
	f.walk(f.m.Root(), 0, 0, 0)
	if len(f.rest) > 0 {
		panic("bytes are left")
	}
}

func (f *reference) long() int {
	v, n := binary.Varint(f.rest)
	f.rest = f.rest[n:]
	return int(v)
}

func (f *reference) add(col, rep, def int) {
	last := len(f.entries[col]) - 1
	f.entries[col][last] = append(f.entries[col][last], entry{rep, def})
}

// absent adds an entry to the leaves at and below a column.
func (f *reference) absent(col, rep, def int) {
	for i := range f.m.Columns {
		above := i
		for above > col {
			above = f.m.Columns[above].Parent
		}
		if f.leaf[i] && above == col {
			f.add(i, rep, def)
		}
	}
}

// walk visits a place. lists is the number of lists around it, rep the repetition level of its
// first entry, def the number of optional and repeated places around it.
func (f *reference) walk(p shred.Place, lists, rep, def int) {
	switch kind := p.Type().Kind; {
	case p.Leaf():
		f.simple(p, rep, def)
	case kind == shred.KindRecord:
		for i := range p.Type().Fields {
			f.walk(p.Field(i), lists, rep, def)
		}
	case kind == shred.KindUnion:
		f.union(p, lists, rep, def)
	default:
		n := f.long()
		if n == 0 {
			f.absent(p.Column(), rep, def)
			return
		}
		for i := range n {
			if i == 1 {
				rep = lists + 1
			}
			if kind == shred.KindMap {
				f.value(p.Key(), func() int { return f.long() })
				f.add(p.Key(), rep, def+1)
			}
			if f.leaf[p.Column()] && !p.Items().Leaf() {
				f.add(p.Column(), rep, def+1)
			}
			f.walk(p.Items(), lists+1, rep, def+1)
		}
		if f.long() != 0 {
			panic("a second block")
		}
	}
}

func (f *reference) union(p shred.Place, lists, rep, def int) {
	branches := p.Type().Branches
	chosen := f.long()
	null := slices.IndexFunc(branches, func(n *shred.Node) bool { return n.Kind == shred.KindNull })
	around := def
	if null >= 0 && len(branches) > 2 {
		around++
	}
	for i := range branches {
		col, branch := p.Branch(i)
		switch {
		case i == null:
		case i == chosen:
			if f.leaf[col] && !branch.Leaf() {
				f.add(col, rep, around+1)
			}
			f.walk(branch, lists, rep, around+1)
		case chosen == null:
			f.absent(col, rep, def)
		default:
			f.absent(col, rep, around)
		}
	}
}

// value takes a value. size reads its length, or all of it, and returns the size of the rest.
func (f *reference) value(col int, size func() int) {
	before := f.rest
	n := size()
	f.rest = f.rest[n:]
	last := len(f.values[col]) - 1
	f.values[col][last] = append(f.values[col][last], before[:len(before)-len(f.rest)]...)
}

func (f *reference) simple(p shred.Place, rep, def int) {
	col := p.Column()
	f.add(col, rep, def)
	switch n := p.Type(); n.Kind {
	case shred.KindNull:
	case shred.KindBoolean:
		f.value(col, func() int { return 1 })
	case shred.KindInt, shred.KindLong, shred.KindEnum:
		f.value(col, func() int { f.long(); return 0 })
	case shred.KindFloat:
		f.value(col, func() int { return 4 })
	case shred.KindDouble:
		f.value(col, func() int { return 8 })
	case shred.KindFixed:
		last := len(f.values[col]) - 1
		f.values[col][last] = binary.AppendVarint(f.values[col][last], int64(n.Size))
		f.value(col, func() int { return n.Size })
	default:
		f.value(col, func() int { return f.long() })
	}
}

// words returns the words of entries.
func words(entries []entry) (out []uint32) {
	for i := 0; i < len(entries); {
		n := 1
		for ; i+n < len(entries) && n < 2048 && entries[i+n] == entries[i]; n++ {
		}
		out = append(out, uint32(entries[i].def|entries[i].rep<<11|(n-1)<<21))
		i += n
	}
	return out
}

// check compares a block with the reference.
func (f *reference) check(t *testing.T, col int, b *column.Block) {
	t.Helper()
	c := &f.m.Columns[col]
	if !f.leaf[col] {
		if len(b.Data)+len(b.Lengths) > 0 {
			t.Fatalf("place %s has %d bytes, %d words\n%s", c.Name, len(b.Data), len(b.Lengths), f.m.Schema.JSON())
		}
		return
	}
	entries := slices.Concat(f.entries[col][b.FirstRow : b.FirstRow+b.Rows]...)
	want := words(entries)
	if c.Def == 0 && c.Rep == 0 {
		want = nil
	}
	if !slices.Equal(b.Lengths, want) {
		t.Fatalf("%s, rows from %d: words %x, want %x\n%s", c.Name, b.FirstRow, b.Lengths, want, f.m.Schema.JSON())
	}
	if values := slices.Concat(f.values[col][b.FirstRow : b.FirstRow+b.Rows]...); !bytes.Equal(b.Data, values) {
		t.Fatalf("%s, rows from %d: values % x, want % x\n%s", c.Name, b.FirstRow, b.Data, values, f.m.Schema.JSON())
	}
	for _, e := range entries {
		if e.rep > int(c.Rep) || e.def > int(c.Def) {
			t.Fatalf("%s: entry %v above the column's levels %d, %d\n%s", c.Name, e, c.Rep, c.Def, f.m.Schema.JSON())
		}
	}
}

// nullsEverywhere returns a schema with nulls, and records without fields, at all kinds of
// places.
func nullsEverywhere() string {
	var fields []string
	for _, typ := range []string{
		`"null"`, `{"type":"record","name":"Z#","fields":[]}`,
		`{"type":"record","name":"N#","fields":[{"name":"a","type":"null"},{"name":"b","type":["null","int"]},{"name":"c","type":"boolean"}]}`,
		`{"type":"array","items":"null"}`, `{"type":"array","items":{"type":"record","name":"A#","fields":[{"name":"a","type":"null"},{"name":"b","type":"null"}]}}`,
		`{"type":"map","values":["null","long"]}`,
	} {
		for _, in := range []string{
			`TYPE`, `{"type":"array","items":TYPE}`, `{"type":"map","values":TYPE}`, `["null",TYPE]`, `[TYPE,"string"]`, `["null",TYPE,"string"]`, `[TYPE]`,
			`{"type":"array","items":{"type":"array","items":TYPE}}`, `{"type":"array","items":["null",TYPE,"int"]}`,
			`["null",{"type":"record","name":"O#","fields":[{"name":"x","type":TYPE},{"name":"y","type":"int"}]}]`,
		} {
			if typ == `"null"` && strings.Contains(in, `"null",TYPE`) {
				continue
			}
			field := `{"name":"f#","type":` + strings.ReplaceAll(in, "TYPE", typ) + `}`
			fields = append(fields, strings.ReplaceAll(field, "#", strconv.Itoa(len(fields))))
		}
	}
	return `{"type":"record","name":"R","fields":[` + strings.Join(fields, ",") + `]}`
}

// TestLevels compares blocks that are finished when they are due, and at random rows, with
// the reference.
func TestLevels(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 21))
		text := randavro.Schema(r)
		switch seed % 10 {
		case 0:
			text = simpleEverywhere()
		case 1:
			text = nullsEverywhere()
		}
		m := mapping(t, text, shred.Options{})
		f := newReference(m)
		w := newWalker(m, column.Levels, []int{1, 40, 1000, 1 << 16}[seed/10%4])
		check := func(col int) {
			var b column.Block
			_, most := w.bufs.Cols[col].Size()
			w.bufs.Cols[col].Finish(w.rows, &b)
			if f.check(t, col, &b); len(b.Lengths) > most {
				t.Fatalf("%s: %d words, Size says at most %d\n%s", m.Columns[col].Name, len(b.Lengths), most, text)
			}
		}
		for range 60 {
			plain, odd := randavro.Pair(r, m.Schema.Root())
			f.row(plain)
			n, err := w.Row(odd)
			w.rows++
			if err != nil || n != len(odd) {
				t.Fatalf("seed %d: %d of %d bytes, %v", seed, n, len(odd), err)
			}
			for _, col := range w.bufs.Due() {
				check(col)
			}
			w.bufs.ClearDue()
			for r.IntN(3) == 0 {
				check(r.IntN(len(m.Columns)))
			}
		}
		for col := range m.Columns {
			check(col)
		}
	}
}

// Blocks become due by the rows alone, whether Size is called or not. The values and words of a row are
// within Growth.
func TestLevelsAreDueByRows(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 22))
		text := randavro.Schema(r)
		if seed%4 == 0 {
			text = nullsEverywhere()
		}
		m := mapping(t, text, shred.Options{})
		a, b := newWalker(m, column.Levels, 100), newWalker(m, column.Levels, 100)
		perRow, perByte, bounded := a.Growth()
		before := size(b.bufs)
		for range 100 {
			row := randavro.Datum(r, m.Schema.Root())
			got, err := a.Row(row)
			want, _ := b.Row(row)
			after := size(b.bufs)
			if len(a.bufs.Due()) == 0 && bounded && after > before+perRow+perByte*len(row) {
				t.Fatalf("seed %d: size %d after a row of %d bytes, before it %d; growth %d, %d\n%s", seed, after, len(row), before, perRow, perByte, text)
			}
			if a, b := a.outcome(got, err), b.outcome(want, err); a != b {
				t.Fatalf("seed %d: %s\nafter Size %s", seed, a, b)
			}
			before = size(b.bufs)
		}
	}
}

// Growth counts an entry of each leaf for each row, and of the leaves below a list for each item.
func TestGrowthOfLevels(t *testing.T) {
	var nulls, fields strings.Builder
	for i := range 30 {
		fmt.Fprintf(&nulls, `,{"name":"n%d","type":"null"}`, i)
		fmt.Fprintf(&fields, `,{"name":"f%d","type":["null","int"]}`, i)
	}
	record := `{"type":"record","name":"T","fields":[` + fields.String()[1:] + `]}`
	present := "\x02" + strings.Repeat("\x00", 30)
	for _, c := range []struct {
		name, typ   string
		first, last string // rows
		perByte     int    // at most
	}{
		{"nulls", `"boolean"`, "\x00", "\x01", 3},
		{"nullable", `["null",` + record + `]`, present, "\x00", 3},
		{"union", `["null",` + record + `,"int"]`, present, "\x00", 3},
		{"union without null", `["int",` + record + `]`, present, "\x00\x00", 3},
		{"list", `{"type":"array","items":` + record + `}`, present + "\x00", "\x00", 3 + 4*30},
		{"items", `{"type":"array","items":["null",` + record + `]}`, present + "\x00", "\x06" + "\x00\x00\x00\x00", 3 + 4*30},
	} {
		w := newWalker(mapping(t, `{"type":"record","name":"R","fields":[{"name":"x","type":`+c.typ+`}`+nulls.String()+`]}`, shred.Options{}), column.Levels, 1<<16)
		for range 2048 {
			_, err := w.Row([]byte(c.first))
			testenv.Must(t, err)
		}
		before := size(w.bufs)
		_, err := w.Row([]byte(c.last))
		testenv.Must(t, err)
		grown := size(w.bufs) - before
		perRow, perByte, ok := w.Growth()
		if !ok || grown < 4*30 || grown > perRow+perByte*len(c.last) || perRow > 4*61 || perByte > c.perByte {
			t.Errorf("%s: %d bytes more after a row of %d; growth %d, %d, %t", c.name, grown, len(c.last), perRow, perByte, ok)
		}
	}
	for _, typ := range []string{`{"type":"fixed","name":"F","size":0}`, `{"type":"array","items":"null"}`, `{"type":"array","items":{"type":"record","name":"E","fields":[]}}`} {
		if _, _, ok := newWalker(mapping(t, typ, shred.Options{}), column.Levels, 1<<16).Growth(); ok {
			t.Errorf("%s: growth is bounded", typ)
		}
	}
}

// size returns the bytes of the open blocks.
func size(bufs *column.Buffers) (bytes int) {
	for i := range bufs.Cols {
		data, lengths := bufs.Cols[i].Size()
		bytes += data + 4*lengths
	}
	return bytes
}

// Nulls above many leaves are rejected if they would take too much memory.
func TestLevelsOfARowAreLimited(t *testing.T) {
	var fields strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&fields, `,{"name":"f%d","type":["null","int"]}`, i)
	}
	m := mapping(t, `{"type":"array","items":{"type":"array","items":["null",{"type":"record","name":"R","fields":[`+fields.String()[1:]+`]}]}}`, shred.Options{})
	row := func(lists int) []byte {
		datum := binary.AppendVarint(nil, int64(lists))
		for i := range lists {
			if i%2 == 0 {
				datum = append(datum, 0)
			} else {
				datum = append(datum, 4, 0, 0, 0)
			}
		}
		return append(datum, 0)
	}
	w := newWalker(m, column.Levels, 1<<10)
	_, err := w.Row(row(100))
	testenv.Must(t, err)
	w.bufs.Reset()
	_, err = w.Row(row(10_000))
	var e *damage.Error
	if !errors.As(err, &e) || e.Kind != damage.Unsupported {
		t.Errorf("error %v", err)
	}
	if n := size(w.bufs); n > 40<<20 {
		t.Errorf("%d bytes of open blocks", n)
	}
	w.bufs.Reset()
	_, err = w.Row(row(100))
	testenv.Must(t, err)
}

// Levels of columns are those of Parquet.
func TestColumnLevels(t *testing.T) {
	m := mapping(t, `{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"n","type":"null"},{"name":"o","type":["int","null"]},
		{"name":"l","type":{"type":"array","items":"int"}},{"name":"ln","type":{"type":"array","items":"null"}},{"name":"lo","type":{"type":"array","items":["null","int"]}},
		{"name":"m","type":{"type":"map","values":{"type":"array","items":"long"}}},{"name":"u","type":["int","string"]},
		{"name":"v","type":["int","null",{"type":"record","name":"E","fields":[]}]},{"name":"q","type":["null",{"type":"array","items":"E"}]}]}`, shred.Options{})
	want := map[string]entry{
		"a": {0, 0}, "n": {0, 1}, "o/int": {0, 1}, "l[]": {1, 1}, "ln[]": {1, 2}, "lo[]": {1, 1}, "lo[]/int": {1, 2}, "m>": {1, 1}, "m>key": {1, 1},
		"m>value[]": {2, 2}, "u/int": {0, 1}, "u/string": {0, 1}, "v/int": {0, 2}, "v/E": {0, 2}, "q/array": {0, 1}, "q/array[]": {1, 2},
	}
	for _, c := range m.Columns {
		if w, ok := want[c.Name]; !ok || w != (entry{int(c.Rep), int(c.Def)}) {
			t.Errorf("%s: repetition level %d, definition level %d, want %v", c.Name, c.Rep, c.Def, w)
		}
	}
	if len(m.Columns) != len(want) {
		t.Errorf("columns %+v", m.Columns)
	}
}
