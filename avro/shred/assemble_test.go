package shred_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/randavro"
)

// source has one block of a column.
type source struct {
	data  []byte
	items int64
	name  string
	done  bool
}

func (s *source) Next(r *column.Reader) error {
	if s.done {
		return io.EOF
	}
	s.done = true
	r.Load(s.data, s.items)
	return nil
}

func (s *source) Damaged(kind damage.Kind, pos int, reason string, args ...any) error {
	e := damage.New(kind, "", int64(pos), reason, args...)
	e.Column = s.name
	return e
}

// readers returns a reader for each column, of one block of whole rows.
func readers(m *shred.Mapping, rows int64, data [][]byte) []*column.Reader {
	out := make([]*column.Reader, len(data))
	children := make([]int64, len(data)) // 0 where the block is too short
	for i, c := range m.Columns {
		items := rows
		if c.Parent >= 0 {
			items = children[c.Parent]
		}
		if c.Array {
			children[i], _ = column.NewReader(c, true, &source{data: data[i], items: items}).Skip(items)
		}
		out[i] = column.NewReader(c, true, &source{data: data[i], items: items, name: c.Name})
	}
	return out
}

func mapping(t testing.TB, text string, o shred.Options) *shred.Mapping {
	t.Helper()
	s, err := shred.ParseSchema(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	m, err := shred.Map(s, o)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return m
}

func newBuffers(m *shred.Mapping) *column.Buffers {
	return column.NewBuffers(m.Columns, column.Interleaved, 1<<20)
}

// finish returns the data of each column in bufs.
func finish(bufs *column.Buffers, rows int64) [][]byte {
	data := make([][]byte, len(bufs.Cols))
	for i := range data {
		var b column.Block
		bufs.Cols[i].Finish(rows, &b)
		data[i] = b.Data
	}
	return data
}

// assembler returns an assembler for the next rows of columns.
func assembler(m *shred.Mapping, cols []*column.Reader, rows int64) *shred.Assembler {
	in := make([]shred.Values, len(cols))
	for i, c := range cols {
		in[i] = c
	}
	a := shred.NewAssembler(m, in, nil)
	a.Start(rows)
	return a
}

// columns shreds rows and returns a reader for each column.
func columns(t testing.TB, m *shred.Mapping, rows [][]byte) []*column.Reader {
	t.Helper()
	return readers(m, int64(len(rows)), shredded(t, m, rows))
}

// shredded shreds rows and returns the data of each column.
func shredded(t testing.TB, m *shred.Mapping, rows [][]byte) [][]byte {
	t.Helper()
	bufs := newBuffers(m)
	s := shred.NewShredder(m, bufs)
	for i, row := range rows {
		if n, err := s.Row(row); err != nil || n != len(row) {
			t.Fatalf("row %d of %d bytes, % x: %d, %v\n%s", i, len(row), row, n, err, m.Schema.JSON())
		}
	}
	return finish(bufs, int64(len(rows)))
}

func TestRoundTripOfRandomData(t *testing.T) {
	const recursive = `{"type":"record","name":"R","fields":[{"name":"v","type":"long"},
		{"name":"kids","type":{"type":"array","items":"R"}},{"name":"next","type":["null","R"]}]}`
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		text, raw := randavro.Schema(r), seed%20 == 0
		if raw {
			text = recursive
		}
		m := mapping(t, text, shred.Options{RecursiveBytes: true})
		var want, rows [][]byte
		for range 20 {
			plain, odd := randavro.Pair(r, m.Schema.Root())
			if raw { // values kept as Avro bytes keep their form
				odd = plain
			}
			want, rows = append(want, plain), append(rows, odd)
		}
		cols := columns(t, m, rows)
		a := assembler(m, cols, int64(len(want)))
		for i := range want {
			got, err := a.Row([]byte("before"))
			if err != nil || !bytes.Equal(got, append([]byte("before"), want[i]...)) {
				t.Fatalf("seed %d row %d: %v\nrow  % x\ngot  % x\nwant % x\n%s", seed, i, err, rows[i], got, want[i], text)
			}
		}
		skipRows(t, m, columns(t, m, rows), want, r)
		for i, c := range cols {
			if err := c.EndBlock(); err != nil || c.Left() > 0 {
				t.Fatalf("seed %d: column %s has %d items left over: %v", seed, m.Columns[i].Name, c.Left(), err)
			}
		}
	}
}

// skipRows reads some rows and skips those between them.
func skipRows(t *testing.T, m *shred.Mapping, cols []*column.Reader, want [][]byte, r *rand.Rand) {
	t.Helper()
	a := assembler(m, cols, int64(len(want)))
	for i := 0; i < len(want); i++ {
		n := min(r.IntN(4), len(want)-i)
		if err := a.Skip(n); err != nil {
			t.Fatalf("skip %d rows from row %d: %v\n%s", n, i, err, m.Schema.JSON())
		}
		if i += n; i == len(want) {
			break
		}
		if got, err := a.Row(nil); err != nil || !bytes.Equal(got, want[i]) {
			t.Fatalf("row %d: %v\ngot  % x\nwant % x\n%s", i, err, got, want[i], m.Schema.JSON())
		}
	}
	var e *damage.Error
	if err := a.Skip(1); !errors.As(err, &e) || e.Kind != damage.Count {
		t.Fatalf("skipped beyond the end: %v", err)
	}
}

func TestAssembleRefuses(t *testing.T) {
	many := binary.AppendVarint(nil, 1<<31-1)
	million := binary.AppendVarint(nil, 1<<20)
	for _, test := range []struct {
		name, typ string
		cols      [][]byte
		column    string
		reason    string
	}{
		{"two branches", `["int","null","string"]`, [][]byte{{2, 2}, {2, 0}}, "x/string", "second branch"},
		{"no branch", `["int","string"]`, [][]byte{{0}, {0}}, "x/string", "no branch"},
		{"length 2 in an optional", `["null","int"]`, [][]byte{{4, 2, 2}}, "x/int", "length 2"},
		{"length 2 in a nullable", `["null",{"type":"array","items":"int"}]`, [][]byte{{4}, {0, 0}}, "x/array", "length 2"},
		{"length 2 in a branch", `["null","int","long"]`, [][]byte{{4, 2, 2}, {0}}, "x/int", "length 2"},
		{"enum ordinal", `{"type":"enum","name":"E","symbols":["A","B"]}`, [][]byte{{4}}, "x", "ordinal 2"},
		{"negative ordinal", `{"type":"enum","name":"E","symbols":["A","B"]}`, [][]byte{{1}}, "x", "ordinal -1"},
		{"fixed size", `{"type":"fixed","name":"F","size":2}`, [][]byte{{2, 'a'}}, "x", "F has 2"},
		{"no value", `"string"`, [][]byte{{}}, "x", "inside a value"},
		{"no length", `{"type":"array","items":"int"}`, [][]byte{{}}, "x[]", "inside a value"},
		{"too few items", `{"type":"array","items":"int"}`, [][]byte{{6, 2, 2}}, "x[]", "inside a value"},
		{"too few bits", `{"type":"array","items":"boolean"}`, [][]byte{{18, 0}}, "x[]", "inside a value"},
		{"items in the next row", `{"type":"array","items":["null","int"]}`, [][]byte{{4}, {}}, "x[]/int", "inside a value"},
		{"2^31 nulls", `{"type":"array","items":"null"}`, [][]byte{many}, "x[]", "no bytes"},
		{"2^31 records", `{"type":"array","items":{"type":"record","name":"Q","fields":[{"name":"n","type":"null"}]}}`, [][]byte{many, {}}, "x[]", "no bytes"},
		{"2^31 integers", `{"type":"array","items":"int"}`, [][]byte{many}, "x[]", "inside a value"},
		{"map without keys", `{"type":"map","values":"null"}`, [][]byte{million, {}, {}}, "x>key", "inside a value"},
		{"map of 2^31 nulls", `{"type":"map","values":"null"}`, [][]byte{many, {}, {}}, "x>", "a row of more than"},
		{"not the recursive datum", `["null","R"]`, [][]byte{{2, 4, 0, 0}}, "x/R", "not one datum"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := mapping(t, `{"type":"record","name":"R","fields":[{"name":"x","type":`+test.typ+`}]}`, shred.Options{RecursiveBytes: true})
			if len(m.Columns) != len(test.cols) {
				t.Fatalf("%d columns", len(m.Columns))
			}
			_, err := assembler(m, readers(m, 1, test.cols), 1).Row(nil)
			var e *damage.Error
			if !errors.As(err, &e) || e.Column != test.column || !strings.Contains(e.Error(), test.reason) {
				t.Errorf("error %v, want column %s: …%s…", err, test.column, test.reason)
			}
		})
	}
}

// Rows of any types are rejected as soon as they are too large.
func TestAssembleLimitsRows(t *testing.T) {
	for typ, row := range map[string]string{
		`{"type":"array","items":"string"}`:                       "\x04\x06abc\x06def\x00",
		`{"type":"map","values":"string"}`:                        "\x04\x02k\x04ab\x02l\x02c\x00",
		`{"type":"array","items":["null","string"]}`:              "\x06\x00\x02\x04ab\x02\x00\x00",
		`{"type":"map","values":["null","string"]}`:               "\x04\x02k\x02\x02a\x02l\x00\x00",
		`{"type":"array","items":{"type":"array","items":"int"}}`: "\x04\x04\x02\x02\x00\x02\x02\x00\x00",
	} {
		m := mapping(t, typ, shred.Options{})
		for _, spare := range []int{0, -1, 2 - len(row)} {
			a := assembler(m, columns(t, m, [][]byte{[]byte(row)}), 1)
			// The last byte ends the row and is not counted.
			a.LimitRows(len(row) - 1 + spare)
			got, err := a.Row([]byte("before"))
			var e *damage.Error
			if spare == 0 && (err != nil || string(got) != "before"+row) {
				t.Errorf("%s: %q, %v", typ, got, err)
			} else if spare < 0 && (!errors.As(err, &e) || e.Kind != damage.Size) {
				t.Errorf("%s, %d bytes too many: %q, %v", typ, -spare, got, err)
			}
		}
	}
}

// Rows after the last block are damage of the column that ends first.
func TestAssembleAfterTheEnd(t *testing.T) {
	for typ, column := range map[string]string{
		`"string"`: "x", `["null","int"]`: "x/int", `["null","int","long"]`: "x/int", `{"type":"array","items":"int"}`: "x[]",
		`{"type":"map","values":"int"}`: "x>", `["null",{"type":"map","values":"int"}]`: "x/map",
	} {
		m := mapping(t, `{"type":"record","name":"R","fields":[{"name":"x","type":`+typ+`}]}`, shred.Options{})
		_, err := assembler(m, readers(m, 0, make([][]byte, len(m.Columns))), 1).Row(nil)
		var e *damage.Error
		if !errors.As(err, &e) || e.Column != column || !strings.Contains(e.Reason, "ends before") {
			t.Errorf("%s: error %v, want that column %s ends", typ, err, column)
		}
	}
}

type failing struct{ *source }

var errDisk = errors.New("disk")

func (failing) Next(*column.Reader) error { return errDisk }

func TestAssemblePassesErrorsOn(t *testing.T) {
	m := mapping(t, `"int"`, shred.Options{})
	_, err := assembler(m, []*column.Reader{column.NewReader(m.Columns[0], true, failing{})}, 1).Row(nil)
	var e *damage.Error
	if !errors.Is(err, errDisk) || errors.As(err, &e) {
		t.Errorf("error %v, want the reader's own", err)
	}
}

func TestAssembleAllocatesNothing(t *testing.T) {
	const rows = 100
	r := rand.New(rand.NewPCG(7, 7))
	m := mapping(t, `{"type":"record","name":"R","fields":[{"name":"a","type":{"type":"array","items":["null","string"]}},
		{"name":"f","type":{"type":"fixed","name":"F","size":7}},{"name":"m","type":{"type":"map","values":"double"}}]}`, shred.Options{})
	var data [][]byte
	for range rows {
		data = append(data, randavro.Datum(r, m.Schema.Root()))
	}
	a := assembler(m, columns(t, m, data), rows)
	dst := make([]byte, 0, 1<<20)
	if n := testing.AllocsPerRun(rows-10, func() {
		if _, err := a.Row(dst); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations per row", n)
	}
}
