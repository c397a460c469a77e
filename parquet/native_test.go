package parquet

import (
	"bytes"
	"fmt"
	"testing"
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
		"u/I": "group []", "u/I#x": "FLOAT [PLAIN]", "a[]": "BYTE_ARRAY STRING [PLAIN]",
		"m>": "MAP []", "m>key": "BYTE_ARRAY STRING [PLAIN]", "m>value": "DOUBLE [PLAIN]",
	}
	for i, c := range p.Columns() {
		n := p.Native(i)
		if got := fmt.Sprintf("%s %v", n.Type, n.Encodings); got != want[c.Name] {
			t.Errorf("%s: got %s, want %s", c.Name, got, want[c.Name])
		}
	}
}
