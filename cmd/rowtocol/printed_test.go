package main

import (
	avro "encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
)

// printedTypes returns the types of keys, with extreme values as Avro encodes them.
func printedTypes() map[string][]string {
	long := func(all ...int64) (values []string) {
		for _, n := range all {
			values = append(values, string(avro.AppendVarint(nil, n)))
		}
		return values
	}
	sized := func(all ...string) (values []string) {
		for _, s := range all {
			values = append(values, long(int64(len(s)))[0]+s)
		}
		return values
	}
	double := func(all ...float64) (values []string) {
		for _, d := range all {
			values = append(values, string(avro.LittleEndian.AppendUint64(nil, math.Float64bits(d))))
		}
		return values
	}
	single := func(all ...float32) (values []string) {
		for _, d := range all {
			values = append(values, string(avro.LittleEndian.AppendUint32(nil, math.Float32bits(d))))
		}
		return values
	}
	ints := long(math.MinInt32, math.MinInt32+1, -719_529, -1, 0, 1, 11_016, 2_932_897, math.MaxInt32)
	longs := long(math.MinInt64, math.MinInt64+1, -62_167_219_200_001, -1, 0, 1, 951_782_400_000, 253_402_300_800_000, math.MaxInt64)
	logical := func(kind, name string) string { return fmt.Sprintf(`{"type":%q,"logicalType":%q}`, kind, name) }
	fixed := func(size int, more string) string {
		return fmt.Sprintf(`{"type":"fixed","name":"F","size":%d%s}`, size, more)
	}
	types := map[string][]string{
		`"int"`: ints, `"long"`: longs, `"boolean"`: {"\x00", "\x01"}, `["null","int"]`: {"\x02\x05"},
		`"float"`:                              single(-math.MaxFloat32, -0.1, 0, math.SmallestNonzeroFloat32, 1.0/3, 16_777_216, math.MaxFloat32, float32(math.Inf(1)), float32(math.Inf(-1))),
		`"double"`:                             double(-math.MaxFloat64, -0.1, 0, math.SmallestNonzeroFloat64, 1e21, 1e-7, math.MaxFloat64, math.Inf(1), math.Inf(-1)),
		`"string"`:                             sized("", " ", "a,b", "a..b", `"`, `\`, "'", "[", `{"a":1}`, "-", "ä €", "\t", "null"),
		`"bytes"`:                              sized("", "\x00", "\xff\xfe", "x'00'", strings.Repeat("\x00", 100)),
		fixed(3, ""):                           {"\x00\x00\x00", "\xff\xff\xff", "abc"},
		fixed(12, `,"logicalType":"duration"`): {strings.Repeat("\x00", 12), strings.Repeat("\xff", 12), "\x01\x00\x00\x00\x02\x00\x00\x00\xbc\x0b\x00\x00"},
		fixed(16, `,"logicalType":"uuid"`):     {strings.Repeat("\x00", 16), strings.Repeat("\xff", 16), "0123456789abcdef"},
		logical("string", "uuid"):              sized("01234567-89ab-cdef-0123-456789abcdef", "01234567-89AB-CDEF-0123-456789ABCDE0"),
		`{"type":"enum","name":"E","symbols":["A","b_1"]}`:                       long(0, 1),
		`{"type":"bytes","logicalType":"decimal","precision":4,"scale":2}`:       sized("", "\x80", "\x7f\xff", "\xff", "\x01", "\x01"+strings.Repeat("\x00", 1000)),
		`{"type":"bytes","logicalType":"decimal","precision":2000,"scale":1001}`: sized("", "\x01", "\xd7\x6d\xf8", "\x80"),
		fixed(9, `,"logicalType":"decimal","precision":20,"scale":0`):            {strings.Repeat("\x00", 9), "\x80" + strings.Repeat("\x00", 8), "\x7f" + strings.Repeat("\xff", 8)},
	}
	for _, name := range []string{"date", "time-millis"} {
		types[logical("int", name)] = ints
	}
	for _, name := range []string{"time-micros", "timestamp-millis", "timestamp-micros", "timestamp-nanos", "local-timestamp-millis", "local-timestamp-micros", "local-timestamp-nanos"} {
		types[logical("long", name)] = longs
	}
	return types
}

// TestPrintedValuesAreFound checks that lookup and conditions accept values as cat prints them;
// lookup also accepts them in a JSON array.
func TestPrintedValuesAreFound(t *testing.T) {
	for typ, values := range printedTypes() {
		dir := t.TempDir()
		var rows [][]byte
		for i, v := range values {
			rows = append(rows, append(appendVarint(nil, i), v...))
		}
		avroRows(t, filepath.Join(dir, "a.avro"), `{"type":"record","name":"R","fields":[{"name":"id","type":"long"},{"name":"v","type":`+typ+`}]}`, rows...)
		rowtocol(t, dir, nil, "convert", "--index", "v", "a.avro", "out").want(t, 0)
		printed := rowtocol(t, dir, nil, "cat", "out").want(t, 0).stdout
		var plain, arrays []string
		for line := range strings.Lines(printed) {
			var row struct{ V json.RawMessage }
			must(t, json.Unmarshal([]byte(line), &row))
			text := string(row.V)
			_ = json.Unmarshal(row.V, &text) // a string without its quotes
			plain, arrays = append(plain, text), append(arrays, "["+string(row.V)+"]")
		}
		for _, keys := range [][]string{plain, arrays} {
			cmd := command(t, "lookup", "out", "-")
			cmd.Dir, cmd.Stdin = dir, strings.NewReader(strings.Join(keys, "\n")+"\n")
			if found, err := cmd.Output(); err != nil || string(found) != printed {
				t.Errorf("%s: %v\nlookup of %q: %s\nwant %s", typ, err, keys, found, printed)
			}
		}
		testPrintedConditions(t, dir, typ, plain)
	}
}

// testPrintedConditions selects each row by its printed value. Bytes and infinities have another
// form in conditions, and decimals that are printed as base64 have none.
func testPrintedConditions(t *testing.T, dir, typ string, printed []string) {
	t.Helper()
	decimal := strings.Contains(typ, "decimal")
	if typ == `"bytes"` || strings.Contains(typ, `"size":3`) || strings.Contains(typ, "1001") {
		return
	}
	number := decimal || strings.Contains(`"int" "long" "float" "double" "boolean" ["null","int"]`, typ)
	for id, text := range printed {
		constant := "'" + strings.ReplaceAll(text, "'", "''") + "'"
		outside := strings.Contains(typ, "time-") && strings.Trim(text, "-0123456789") == "" // of the 24 hours
		if number || outside {
			constant = text
		}
		if strings.Contains(text, "Infinity") || decimal && len(text) > 1000 {
			continue
		}
		rowtocol(t, dir, nil, "cat", "--columns", "id", "--where", "v = "+constant, "out").want(t, 0).prints(t, fmt.Sprintf("{\"id\":%d}\n", id))
	}
}
