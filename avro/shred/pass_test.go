package shred_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/randavro"
)

// someColumns returns each column with a probability of one in n, and its parents.
func someColumns(r *rand.Rand, all []column.Column, n int) (numbers []int) {
	wanted := make([]bool, len(all))
	for i := len(all) - 1; i >= 0; i-- {
		wanted[i] = wanted[i] || r.IntN(n) == 0
		if p := all[i].Parent; p >= 0 && wanted[i] {
			wanted[p] = true
		}
	}
	for i, w := range wanted {
		if w {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

func newPartial(m *shred.Mapping, numbers []int) *walker {
	chosen := column.Choose(m.Columns, numbers)
	bufs := column.NewBuffers(chosen, column.Interleaved, 1<<20)
	return &walker{m, bufs, shred.NewPartialShredder(m, numbers, bufs), 0}
}

// checkPartial walks rows for some columns, and compares sizes, errors, items and these columns
// with those of a walk for all columns.
func checkPartial(t *testing.T, m *shred.Mapping, numbers []int, rows [][]byte) {
	t.Helper()
	for _, plainly := range []bool{false, true} {
		all, some := newWalker(m, column.Interleaved, 1<<20), newPartial(m, numbers)
		walk := some.Row
		if plainly {
			walk = some.RowPlainly
		}
		for i, row := range rows {
			want, wantErr := all.Row(row)
			n, err := walk(row)
			if n != want || fmt.Sprint(err) != fmt.Sprint(wantErr) || some.EmptyItems() != all.EmptyItems() {
				t.Fatalf("row %d, % x\n%d bytes, %v, %d items without bytes\nwant %d, %v, %d\ncolumns %d of %s", i, row,
					n, err, some.EmptyItems(), want, wantErr, all.EmptyItems(), numbers, m.Schema.JSON())
			}
			if err != nil {
				all.bufs.Reset()
				some.bufs.Reset()
				continue
			}
			blocks := finish(all.bufs, 1)
			for i, data := range finish(some.bufs, 1) {
				if want := blocks[numbers[i]]; !bytes.Equal(data, want) {
					t.Fatalf("column %s: % x, want % x", m.Columns[numbers[i]].Name, data, want)
				}
			}
		}
	}
}

// alikes is a schema with runs of values that are walked together.
var alikes = record(33, `"int"`, `"long"`, `"double"`, `["null","int"]`, `["string","null"]`, `["null",{"type":"array","items":"double"}]`, `"boolean"`)

// alikeRow returns a row of alikes: long runs of nulls, and numbers of any size.
func alikeRow(r *rand.Rand) (row []byte) {
	row = []byte{1}
	number := func(bits int) {
		v := r.Uint64() >> (64 - bits + r.IntN(bits))
		if r.IntN(3) == 0 {
			v = 0
		}
		for ; v >= 0x80; v >>= 7 {
			row = append(row, byte(v)|0x80)
		}
		row = append(row, byte(v))
	}
	value := []func(){
		func() { number(32) },
		func() { number(64) },
		func() { row = append(row, "8 bytes."...) },
		func() { row = append(row, 4) },
		func() { row = append(row, []string{"\x06abc", "\x00"}[r.IntN(2)]...) }, // also empty ones: 00 is not null here
		func() { row = append(row, "\x0212345678\x00"...) },
		func() { row = append(row, byte(r.IntN(2))) },
	}
	for k := range value {
		for range 33 {
			switch optional := k >= 3 && k <= 5; {
			case !optional:
				value[k]()
			case r.IntN(12) > 0 && k != 4 || r.IntN(4) > 0:
				row = append(row, "\x00\x02\x00"[k-3])
			default:
				row = append(row, "\x02\x00\x02"[k-3])
				value[k]()
			}
		}
	}
	return row
}

// A walk for some columns finds the same rows, damage and values as a walk for all.
func TestPartialRows(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 5))
		text := randavro.Schema(r)
		switch {
		case seed%10 == 0:
			text = simpleEverywhere()
		case seed%10 == 1:
			text = alikes
		}
		m := mapping(t, text, shred.Options{RecursiveBytes: true})
		var rows [][]byte
		for range 3 {
			if seed%10 == 1 {
				rows = append(rows, alikeRow(r))
				continue
			}
			plain, odd := randavro.Pair(r, m.Schema.Root())
			rows = append(rows, plain, odd)
		}
		rows = withDamage(r, rows)
		checkPartial(t, m, nil, rows)
		checkPartial(t, m, someColumns(r, m.Columns, 1+r.IntN(8)), rows)
	}
}

// Recursive data is checked as deep, and a list of nulls counts its items.
func TestPartialRowsOfRecursiveData(t *testing.T) {
	const schema = `{"type":"record","name":"R","fields":[{"name":"v","type":"long"},{"name":"nulls","type":{"type":"array","items":"null"}},
		{"name":"kids","type":{"type":"array","items":"R"}},{"name":"next","type":["null","R"]}]}`
	m := mapping(t, schema, shred.Options{RecursiveBytes: true})
	deep := func(levels int) []byte {
		var end []byte
		row := []byte{}
		for range levels {
			row = append(row, "\x02\x06\x00\x02"...)
			end = append(end, "\x00\x00"...)
		}
		return slices.Concat(row, []byte("\x02\x06\x00\x00\x00"), end)
	}
	var rows [][]byte
	for _, levels := range []int{0, 1, 3, 997, 998, 999, 1000, 1001, 1002} {
		rows = append(rows, deep(levels), append([]byte("\x02\x00\x00\x02"), deep(levels)...))
	}
	for _, numbers := range [][]int{nil, {0}, {1}, {3}} {
		checkPartial(t, m, numbers, rows)
	}
}

// record returns a schema with n fields of each type, in which # stands for the number of the field.
func record(n int, types ...string) string {
	fields := []string{`{"name":"before","type":"boolean"}`}
	for _, typ := range types {
		for range n {
			i := len(fields)
			fields = append(fields, fmt.Sprintf(`{"name":"f%d","type":%s}`, i, strings.ReplaceAll(typ, "#", fmt.Sprint(i))))
		}
	}
	return `{"type":"record","name":"R","fields":[` + strings.Join(fields, ",") + `]}`
}

// Many adjacent values end anywhere, and their sizes add up to more than 32 bits. The same byte is
// null in one union, and not in the next.
func TestPartialRowsOfManyValues(t *testing.T) {
	var rows [][]byte
	for size := range 200 {
		for _, value := range []string{"\x00", "\x02", "\xff\x7f", "\xff\xff\xff\xff\x0f", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"} {
			rows = append(rows, []byte("\x01" + strings.Repeat(value, 200))[:size])
		}
	}
	for _, schema := range []string{
		record(100, `"long"`), record(100, `"int"`), record(20, `"double"`),
		record(4, `["null","int"]`, `["string","null"]`), record(4, `{"type":"fixed","name":"F#","size":1073741824}`),
	} {
		checkPartial(t, mapping(t, schema, shred.Options{}), nil, rows)
	}
}

// Strings have lengths of one to four bytes, also negative ones and those beyond the end of the data.
func TestPartialRowsOfStrings(t *testing.T) {
	var rows [][]byte
	for _, size := range []int{0, 63, 64, 65, 8191, 8192, 8193, 1<<20 - 1, 1 << 20} {
		text := append(binary.AppendVarint(nil, int64(size)), make([]byte, size)...)
		row := slices.Concat([]byte{1}, text, []byte{2, 'x'}, text, []byte{2, 'y'})
		rows = append(rows, row, row[:len(row)-3], row[:len(row)/2], append(binary.AppendVarint([]byte{1}, -int64(size)), row[1:]...))
	}
	checkPartial(t, mapping(t, record(1, `"string"`, `"bytes"`, `"string"`, `"string"`), shred.Options{}), nil, rows)
}

func TestPartialRowAllocatesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	m := mapping(t, simpleEverywhere(), shred.Options{})
	data := randavro.Datum(r, m.Schema.Root())
	for _, numbers := range [][]int{nil, someColumns(r, m.Columns, 3)} {
		checkAllocations(t, newPartial(m, numbers), data)
	}
}
