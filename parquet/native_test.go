package parquet

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// TestNative checks the types and encodings that a part has for each column, against the text that
// parquet-cli prints.
func TestNative(t *testing.T) {
	const schema = `{"type":"record","name":"R","fields":[
		{"name":"i","type":"int"},{"name":"b","type":"boolean"},
		{"name":"t","type":{"type":"long","logicalType":"timestamp-micros"}},
		{"name":"l","type":{"type":"long","logicalType":"local-timestamp-millis"}},
		{"name":"c","type":{"type":"int","logicalType":"time-millis"}},
		{"name":"d","type":{"type":"fixed","name":"F","size":2,"logicalType":"decimal","precision":4,"scale":1}},
		{"name":"s","type":"bytes"},{"name":"u","type":["null",{"type":"record","name":"I","fields":[{"name":"x","type":"float"}]}]},
		{"name":"a","type":{"type":"array","items":"string"}},
		{"name":"m","type":{"type":"map","values":"double"}}]}`
	row := []byte("\x02\x01\x02\x02\x02\x00\x01\x04ab\x00\x00\x00")
	rows := [][]byte{row}
	for i := range 10_000 { // equal values, and then distinct ones, with which a dictionary ends
		r := bytes.Clone(row)
		if i > 3000 {
			r[len(r)-5], r[len(r)-4] = byte(i), byte(i>>8)
		}
		rows = append(rows, r)
	}
	p := mustOpen(t, fileOf(t, schema, options{Encodings: map[string]string{"i": "delta_binary_packed", "b": "rle"}}, 4<<10, rows))
	want := map[string]string{
		"i": "INT32 [DELTA_BINARY_PACKED]", "b": "BOOLEAN [RLE]", "t": "INT64 TIMESTAMP(MICROS,true) [RLE_DICTIONARY]",
		"l": "INT64 TIMESTAMP(MILLIS,false) [RLE_DICTIONARY]", "c": "INT32 TIME(MILLIS,false) [RLE_DICTIONARY]",
		"d": "FIXED_LEN_BYTE_ARRAY(2) DECIMAL(4,1) [RLE_DICTIONARY]", "s": "BYTE_ARRAY [PLAIN RLE_DICTIONARY]",
		"u/I": "group []", "u/I#x": "FLOAT [RLE_DICTIONARY]", "a[]": "BYTE_ARRAY STRING [RLE_DICTIONARY]",
		"m>": "MAP []", "m>key": "BYTE_ARRAY STRING [RLE_DICTIONARY]", "m>value": "DOUBLE [RLE_DICTIONARY]",
	}
	for i, c := range p.Columns() {
		n := p.Native(i)
		if got := fmt.Sprintf("%s %v", n.Type, n.Encodings); got != want[c.Name] {
			t.Errorf("%s: got %s, want %s", c.Name, got, want[c.Name])
		}
	}
}

// TestNullPagesAreCoded checks that pages of nulls alone, first or later ones, leave the dictionary
// the one of all values, so that readers can look for values in it.
func TestNullPagesAreCoded(t *testing.T) {
	const schema = `{"type":"record","name":"R","fields":[{"name":"s","type":["null","string"]},{"name":"n","type":["null","long"]}]}`
	for _, version := range []int{1, 2} {
		var rows [][]byte
		for i := range 5 * maxPageRows {
			if i/maxPageRows == 2 {
				rows = append(rows, []byte{2, 2, 'a' + byte(i%3), 0})
			} else {
				rows = append(rows, []byte{0, 0})
			}
		}
		p := mustOpen(t, fileOf(t, schema, options{PageVersion: version}, 1<<20, rows))
		if lacks, _, err := p.Lacks(0, [][]byte{{2, 'x'}}, 0); !lacks || err != nil {
			t.Errorf("version %d: lacks a value that is not there: %v, %v", version, lacks, err)
		}
		for col, word := range [][]byte{{2, 'b'}, {2}} {
			if n := p.Native(col); len(n.Encodings) != 1 || n.Encodings[0] != "RLE_DICTIONARY" {
				t.Errorf("version %d, column %d: got %v", version, col, n.Encodings)
			}
			lacks, _, err := p.Lacks(col, [][]byte{word}, 0)
			if absent := col == 1; lacks != absent || err != nil {
				t.Errorf("version %d, column %d: lacks a value: %v, %v", version, col, lacks, err)
			}
		}
		testenv.Must(t, p.Verify(t.Context(), nil))
	}
}
