package cfile

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/format/formattest"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// Blocks of any values stay below their bounds, which formattest checks.
func TestBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	compressions := []string{"none", "snappy", "lz4", "zlib"}
	text := func(b []byte, n int) []byte {
		b = binary.AppendVarint(b, int64(n))
		for range n {
			b = append(b, byte(r.Uint32()))
		}
		return b
	}
	enum := func(symbols, length int) string {
		var names []string
		for i := range symbols {
			names = append(names, fmt.Sprintf("%q", fmt.Sprintf("S%0*d", length, i)))
		}
		return `{"type":"enum","name":"E","symbols":[` + strings.Join(names, ",") + `]}`
	}
	for _, test := range []struct {
		typ       string
		encodings string
		value     func(b []byte, i int) []byte
	}{
		{`"boolean"`, "rle plain", func(b []byte, i int) []byte { return append(b, byte(i/9%2)) }},
		{`"int"`, "bitshuffle rle plain", func(b []byte, i int) []byte { return append(b, byte(r.Uint32()&0x7f)) }},
		{`"long"`, "bitshuffle rle plain", func(b []byte, i int) []byte { return append(b, byte(i/8&0x7f)) }},
		{`"long"`, "bitshuffle rle plain", func(b []byte, i int) []byte { return binary.AppendVarint(b, int64(r.Uint64())) }},
		{`"double"`, "bitshuffle plain", func(b []byte, i int) []byte { return binary.LittleEndian.AppendUint64(b, r.Uint64()) }},
		{`{"type":"fixed","name":"D","size":9,"logicalType":"decimal","precision":19}`, "bitshuffle plain", func(b []byte, i int) []byte {
			return binary.BigEndian.AppendUint64(append(b, 0), r.Uint64()>>1)
		}},
		{`"string"`, "dict plain prefix", func(b []byte, i int) []byte { return append(b, 0) }},
		{`"bytes"`, "dict plain prefix", func(b []byte, i int) []byte { return text(b, i%3) }},
		{`"bytes"`, "dict plain prefix", func(b []byte, i int) []byte { return text(b, r.IntN(40)) }},
		{`"bytes"`, "dict plain prefix", func(b []byte, i int) []byte { return text(b, 3000+r.IntN(4000)) }},
		{enum(3, 1), "dict plain prefix physical", func(b []byte, i int) []byte { return append(b, 2*byte(i%3)) }},
		{enum(60, 200), "dict plain prefix", func(b []byte, i int) []byte { return append(b, 2*byte(r.IntN(60))) }},
	} {
		for encoding := range strings.FieldsSeq(test.encodings) {
			for shape, wrap := range map[string]func(b []byte, i int) []byte{
				"%s":          test.value,
				`["null",%s]`: func(b []byte, i int) []byte { return test.value(append(b, 2), i) },
				`[%s,"null"]`: func(b []byte, i int) []byte { return append(b, 2) },
				`["null",%s,{"type":"array","items":"null"}]`: func(b []byte, i int) []byte { return test.value(append(b, 2), i) },
				`{"type":"array","items":%s}`: func(b []byte, i int) []byte {
					return append(test.value(test.value(append(b, 4), 2*i), 2*i+1), 0)
				},
			} {
				schema := `{"type":"record","name":"R","fields":[{"name":"v","type":` + fmt.Sprintf(shape, test.typ) + `}]}`
				rows := make([][]byte, 1000)
				for i := range rows {
					rows[i] = wrap(nil, i)
				}
				name := formattest.Mapping(t, schema).Columns[0].Name
				formattest.Rows(t, Format, map[string][]string{"compression": {compressions[r.IntN(4)]}, "encoding": {name + "=" + encoding}}, schema, rows, 1<<r.IntN(18)).Files(t)
			}
		}
	}
}

// A row raises a bound by at most its bytes times the growth.
func TestGrowth(t *testing.T) {
	cols := formattest.Mapping(t, shapesSchema).Columns
	s := formattest.Source{Format: Format, Schema: shapesSchema, Columns: cols}
	g, _, err := s.Begin(t)
	testenv.Must(t, err)
	r := rand.New(rand.NewPCG(2, 1))
	for range 20_000 {
		col, rows, data, lengths := r.IntN(len(cols)), r.Int64N(5000), r.IntN(50_000), r.IntN(5000)
		more, length := r.IntN(9), r.IntN(2)
		if more+length == 0 {
			continue
		}
		before, after := g.Bound(col, rows, data, lengths), g.Bound(col, rows+1, data+more, lengths+length)
		if limit := int64(more+4*length) * g.Growth(); after > before+limit {
			t.Fatalf("column %s: a row of %d bytes and %d lengths raises the bound of %d rows from %d to %d", cols[col].Name, more, length, rows, before, after)
		}
	}
}
