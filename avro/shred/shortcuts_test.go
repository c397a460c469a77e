package shred_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/randavro"
)

// walker is a Shredder with its columns.
type walker struct {
	m    *shred.Mapping
	bufs *column.Buffers
	*shred.Shredder
	rows int64
}

func newWalker(m *shred.Mapping, layout column.Layout, blockSize int) *walker {
	bufs := column.NewBuffers(m.Columns, layout, blockSize)
	return &walker{m, bufs, shred.NewShredder(m, bufs), 0}
}

// outcome describes the result of a row: the blocks that are due, or the error.
func (w *walker) outcome(n int, err error) string {
	w.rows++
	due := slices.Clone(w.bufs.Due())
	w.bufs.ClearDue()
	if err != nil {
		w.bufs.Reset()
		return err.Error()
	}
	return fmt.Sprintf("%d bytes, %d not UTF-8%s", n, w.InvalidUTF8(), w.blocks(due))
}

// blocks finishes the blocks of columns and describes them.
func (w *walker) blocks(cols []int) string {
	var text strings.Builder
	for _, col := range cols {
		var b column.Block
		w.bufs.Cols[col].Finish(w.rows, &b)
		fmt.Fprintf(&text, "\n%s: % x %d, %d rows", w.m.Columns[col].Name, b.Data, b.Lengths, b.Rows)
	}
	return text.String()
}

func (w *walker) all() string {
	cols := make([]int, len(w.bufs.Cols))
	for i := range cols {
		cols[i] = i
	}
	return w.blocks(cols)
}

// checkShortcuts walks rows with shortcuts and without.
func checkShortcuts(t *testing.T, m *shred.Mapping, layout column.Layout, blockSize int, rows [][]byte) {
	t.Helper()
	short, plain := newWalker(m, layout, blockSize), newWalker(m, layout, blockSize)
	for i, row := range rows {
		got, want := short.outcome(short.Row(row)), plain.outcome(plain.RowPlainly(row))
		if got != want {
			t.Fatalf("row %d, % x: %s\nwant %s\n%s", i, row, got, want, m.Schema.JSON())
		}
	}
	if got, want := short.all(), plain.all(); got != want {
		t.Fatalf("columns%s\nwant%s\n%s", got, want, m.Schema.JSON())
	}
}

// simpleEverywhere returns a schema with every simple type alone, after null,
// before null, in an array, in a map and in a union of three.
func simpleEverywhere() string {
	named := 0
	var fields []string
	for _, typ := range []string{`"null"`, `"boolean"`, `"int"`, `"long"`, `"float"`, `"double"`, `"bytes"`, `"string"`, "enum", "fixed"} {
		for _, in := range []string{`%s`, `["null",%s]`, `[%s,"null"]`, `{"type":"array","items":%s}`, `{"type":"map","values":%s}`,
			`{"type":"array","items":["null",%s]}`, `["null",{"type":"array","items":%s}]`, `[{"type":"array","items":"null"},%s,"null"]`} {
			if typ == `"null"` && strings.Contains(in, `"null"`) {
				continue
			}
			text := typ
			switch named++; typ {
			case "enum":
				text = fmt.Sprintf(`{"type":"enum","name":"E%d","symbols":["A","B","C"]}`, named)
			case "fixed":
				text = fmt.Sprintf(`{"type":"fixed","name":"F%d","size":5}`, named)
			}
			fields = append(fields, fmt.Sprintf(`{"name":"f%d","type":`+in+`}`, named, text))
		}
	}
	return `{"type":"record","name":"R","fields":[` + strings.Join(fields, ",") + `]}`
}

// withDamage returns rows, and their data cut at every byte and with bytes
// changed, before others and at the end.
func withDamage(r *rand.Rand, rows [][]byte) [][]byte {
	var out [][]byte
	for _, row := range rows {
		out = append(out, row, append(slices.Clip(row), row...))
		for k := range min(len(row), 300) {
			bad := slices.Concat(row, row)
			bad[k] ^= 1 << r.IntN(8)
			out = append(out, row[:k], bad, bad[:len(row)])
		}
	}
	return out
}

func TestShortcutsChangeNothing(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 3))
		text := randavro.Schema(r)
		if seed%10 == 0 {
			text = simpleEverywhere()
		}
		m := mapping(t, text, shred.Options{})
		var rows [][]byte
		for range 4 {
			plain, odd := randavro.Pair(r, m.Schema.Root())
			rows = append(rows, plain, odd)
		}
		for _, layout := range []column.Layout{column.Interleaved, column.Split, column.Levels} {
			checkShortcuts(t, m, layout, []int{1, 40, 1000}[seed%3], withDamage(r, rows))
		}
	}
}

// Consecutive rows are walked by shortcuts, except the last few bytes.
func TestRowAllocatesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	m := mapping(t, simpleEverywhere(), shred.Options{})
	data := randavro.Datum(r, m.Schema.Root())
	for _, layout := range []column.Layout{column.Interleaved, column.Split, column.Levels} {
		checkAllocations(t, newWalker(m, layout, 1<<16), data)
	}
}

func checkAllocations(t *testing.T, w *walker, data []byte) {
	t.Helper()
	if n := testing.AllocsPerRun(100, func() {
		w.bufs.Reset()
		if _, err := w.Row(data); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Row(data); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations per row", n)
	}
}
