package shred_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/column"
	"github.com/rowtocol/rowtocol/damage"
	"github.com/rowtocol/rowtocol/internal/randavro"
	"github.com/rowtocol/rowtocol/shred"
)

// reader reads a block with the split layout.
type reader struct {
	typ     column.Type
	lengths []uint32
	data    []byte
}

func (r *reader) Length() (int, error) {
	if len(r.lengths) == 0 {
		return 0, io.EOF
	}
	n := r.lengths[0]
	r.lengths = r.lengths[1:]
	return int(n), nil
}

func (r *reader) Value(dst []byte) ([]byte, error) {
	if r.typ == column.Null {
		return dst, nil
	}
	if len(r.data) == 0 {
		return dst, io.EOF
	}
	n := 0
	switch r.typ {
	case column.Boolean:
		n = 1
	case column.Float:
		n = 4
	case column.Double:
		n = 8
	case column.Int, column.Long:
		_, n = binary.Varint(r.data)
	default:
		size, k := binary.Varint(r.data)
		n = k + int(size)
	}
	dst = append(dst, r.data[:n]...)
	r.data = r.data[n:]
	return dst, nil
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
	return column.NewBuffers(m.Columns, column.Split, 1<<20)
}

// finish returns a reader per column of what bufs hold.
func finish(m *shred.Mapping, bufs *column.Buffers, rows int64) []*reader {
	out := make([]*reader, len(m.Columns))
	for i := range out {
		var b column.Block
		bufs.Cols[i].Finish(rows, &b)
		out[i] = &reader{m.Columns[i].Type, b.Lengths, b.Data}
	}
	return out
}

// columns shreds rows and returns a reader per column.
func columns(t testing.TB, m *shred.Mapping, rows [][]byte) []*reader {
	t.Helper()
	bufs := newBuffers(m)
	s := shred.NewShredder(m, bufs)
	for i, row := range rows {
		if n, err := s.Row(row); err != nil || n != len(row) {
			t.Fatalf("row %d of %d bytes, % x: %d, %v\n%s", i, len(row), row, n, err, m.Schema.JSON())
		}
	}
	return finish(m, bufs, int64(len(rows)))
}

func assembler(m *shred.Mapping, cols []*reader) *shred.Assembler {
	readers := make([]shred.ValueReader, len(cols))
	for i, c := range cols {
		readers[i] = c
	}
	return shred.NewAssembler(m, readers)
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
			if raw { // what is kept as Avro bytes is kept in its form
				odd = plain
			}
			want, rows = append(want, plain), append(rows, odd)
		}
		cols := columns(t, m, rows)
		a := assembler(m, cols)
		for i := range want {
			got, err := a.Row([]byte("before"))
			if err != nil || !bytes.Equal(got, append([]byte("before"), want[i]...)) {
				t.Fatalf("seed %d row %d: %v\nrow  % x\ngot  % x\nwant % x\n%s", seed, i, err, rows[i], got, want[i], text)
			}
		}
		for i, c := range cols {
			if len(c.lengths) > 0 || len(c.data) > 0 {
				t.Fatalf("seed %d: column %s has %d lengths and %d bytes left over", seed, m.Columns[i].Name, len(c.lengths), len(c.data))
			}
		}
	}
}

func TestAssembleRefuses(t *testing.T) {
	for _, test := range []struct {
		name, typ string
		cols      []reader
		column    string
		reason    string
	}{
		{"two branches", `["int","null","string"]`, []reader{{lengths: []uint32{1}, data: []byte{2}}, {lengths: []uint32{1}, data: []byte{0}}}, "x/string", "second branch"},
		{"no branch", `["int","string"]`, []reader{{lengths: []uint32{0}}, {lengths: []uint32{0}}}, "x/string", "no branch"},
		{"length 2 in a branch", `["null","int"]`, []reader{{lengths: []uint32{2}, data: []byte{2, 2}}}, "x/int", "length 2"},
		{"enum ordinal", `{"type":"enum","name":"E","symbols":["A","B"]}`, []reader{{data: []byte{4}}}, "x", "ordinal 2"},
		{"negative ordinal", `{"type":"enum","name":"E","symbols":["A","B"]}`, []reader{{data: []byte{1}}}, "x", "ordinal -1"},
		{"fixed size", `{"type":"fixed","name":"F","size":2}`, []reader{{data: []byte{2, 'a'}}}, "x", "F has 2"},
		{"no value", `"string"`, []reader{{}}, "x", "ends before"},
		{"no length", `{"type":"array","items":"int"}`, []reader{{}}, "x[]", "ends before"},
		{"too few items", `{"type":"array","items":"int"}`, []reader{{lengths: []uint32{3}, data: []byte{2, 2}}}, "x[]", "ends before"},
		{"2^31 nulls", `{"type":"array","items":"null"}`, []reader{{lengths: []uint32{1<<31 - 1}}}, "x[]", "no bytes"},
		{"map without keys", `{"type":"map","values":"null"}`, []reader{{lengths: []uint32{1<<31 - 1}}, {}, {}}, "x>key", "ends before"},
		{"not the recursive datum", `["null","R"]`, []reader{{lengths: []uint32{1}, data: []byte{4, 0, 0}}}, "x/R", "not one datum"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := mapping(t, `{"type":"record","name":"R","fields":[{"name":"x","type":`+test.typ+`}]}`, shred.Options{RecursiveBytes: true})
			if len(m.Columns) != len(test.cols) {
				t.Fatalf("%d columns", len(m.Columns))
			}
			cols := make([]*reader, len(test.cols))
			for i := range cols {
				cols[i] = &test.cols[i]
				cols[i].typ = m.Columns[i].Type
			}
			_, err := assembler(m, cols).Row(nil)
			var e *damage.Error
			if !errors.As(err, &e) || e.Column != test.column || !strings.Contains(e.Reason, test.reason) {
				t.Errorf("error %v, want column %s: …%s…", err, test.column, test.reason)
			}
		})
	}
}

type failing struct{ shred.ValueReader }

var errDisk = errors.New("disk")

func (failing) Value(dst []byte) ([]byte, error) { return dst, errDisk }

func TestAssemblePassesErrorsOn(t *testing.T) {
	m := mapping(t, `"int"`, shred.Options{})
	_, err := shred.NewAssembler(m, []shred.ValueReader{failing{}}).Row(nil)
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
	a := assembler(m, columns(t, m, data))
	dst := make([]byte, 0, 1<<20)
	if n := testing.AllocsPerRun(rows-10, func() {
		if _, err := a.Row(dst); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations per row", n)
	}
}
