package main

import (
	varints "encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/avro/shred"
)

// recordOf returns the schema of a record with a field f of a type.
func recordOf(typ string) string {
	return `{"type":"record","name":"R","fields":[{"name":"f","type":` + typ + `}]}`
}

func logicalType(kind, logical string) string {
	return fmt.Sprintf(`{"type":%q,"logicalType":%s}`, kind, logical)
}

func varint(n int64) []byte { return varints.AppendVarint(nil, n) }

// TestChangedMeaning adds an input whose values have another meaning than those of the
// destination, as an increment and as a late file of a partition.
func TestChangedMeaning(t *testing.T) {
	decimal, text := `{"type":"bytes","logicalType":"decimal","precision":10,"scale":2}`, []byte("\x1a540916767918")
	for _, tt := range []struct {
		name, first, second string
		row                 []byte
		refusals            []string // texts of the refusal; nil if there is none
	}{
		{"decimal to string", `"string"`, decimal, []byte{4, 1, 2}, []string{"field f: ", "bytes (decimal(10,2))", "string"}},
		{"string to decimal", decimal, `"string"`, text, []string{"field f: ", "bytes (decimal(10,2))", "string"}},
		{"optional string to decimal", `["null",` + decimal + `]`, `["null","string"]`, append([]byte{2}, text...), []string{"field f: ", "bytes (decimal(10,2))"}},
		{"scale", decimal, strings.Replace(decimal, `:2}`, `:3}`, 1), []byte{4, 1, 2}, []string{"decimal(10,3)", "decimal(10,2)"}},
		{"less precision", decimal, strings.Replace(decimal, `10`, `12`, 1), []byte{4, 1, 2}, []string{"decimal(12,2)", "decimal(10,2)"}},
		{"more precision", strings.Replace(decimal, `10`, `12`, 1), decimal, []byte{4, 1, 2}, nil},
		{"unit", logicalType("long", `"timestamp-micros"`), logicalType("long", `"timestamp-millis"`), varint(5), []string{"timestamp-millis", "timestamp-micros", "without --schema"}},
		{"date", logicalType("long", `"timestamp-millis"`), logicalType("int", `"date"`), varint(5), []string{"int (date)", "long (timestamp-millis)"}},
		{"local", logicalType("long", `"timestamp-millis"`), logicalType("long", `"local-timestamp-millis"`), varint(5), []string{"local-timestamp-millis"}},
		{"a logical type", `"long"`, logicalType("long", `"timestamp-millis"`), varint(5), []string{"timestamp-millis", "without --schema"}},
		{"uuid", `"string"`, logicalType("string", `"uuid"`), []byte("\x02x"), nil},
		{"connect.name", `{"type":"long","connect.name":"Timestamp"}`, `{"type":"long","connect.name":"MicroTimestamp"}`, varint(5), []string{"MicroTimestamp", "connect.name differs"}},
		{"rounded", `"double"`, `"long"`, varint(1<<53 + 1), []string{"row 0", "field f: ", "does not hold 9007199254740993 exactly"}},
		{"exact", `"double"`, `"long"`, varint(1 << 53), nil},
		{"symbol", `{"type":"enum","name":"E","symbols":["A","B"],"default":"A"}`, `{"type":"enum","name":"E","symbols":["A","B","C"]}`, []byte{4}, []string{"row 0", "field f: ", "lacks the symbol"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir+"/in/dt=1/a.avro", encodeAvro(t, recordOf(tt.first)))
			rowtocol(t, dir, nil, "convert", "--incremental", "in", "out").want(t, 0)
			rowtocol(t, dir, nil, "convert", "--partitioned", "in", "tree").want(t, 0)
			write(t, dir+"/in/dt=1/b.avro", encodeAvro(t, recordOf(tt.second), tt.row))
			code := 0
			if tt.refusals != nil {
				code = 3
			}
			rowtocol(t, dir, nil, "convert", "--incremental", "in", "out").want(t, code, tt.refusals...)
			rowtocol(t, dir, nil, "convert", "--partitioned", "in", "tree").want(t, code, tt.refusals...)
			if code == 0 {
				rowtocol(t, dir, nil, "verify", "out", "--against", "in", "--require-complete").want(t, 0, "1 row")
			}
		})
	}
}

// TestMeaningOfSchema checks which changes of meaning --schema allows.
func TestMeaningOfSchema(t *testing.T) {
	dir := t.TempDir()
	convert := func(reader string, args ...string) output {
		t.Helper()
		write(t, dir+"/r.avsc", []byte(recordOf(reader)))
		return rowtocol(t, dir, nil, append([]string{"convert", "--overwrite", "--schema", "r.avsc", "a.avro", "out"}, args...)...)
	}
	verify := func(code int, texts ...string) {
		t.Helper()
		rowtocol(t, dir, nil, "verify", "out", "--against", "a.avro").want(t, 0)
		rowtocol(t, dir, nil, "verify", "out", "--against", "a.avro", "--require-complete").want(t, code, texts...)
	}
	write(t, dir+"/a.avro", encodeAvro(t, recordOf(logicalType("long", `"timestamp-millis"`)), varint(1500), varint(-1)))

	convert(logicalType("long", `"timestamp-micros"`)).want(t, 0, "2 rows")
	rowtocol(t, dir, nil, "cat", "out").want(t, 0).prints(t, `{"f":"1970-01-01T00:00:01.500000Z"}`+"\n"+`{"f":"1969-12-31T23:59:59.999000Z"}`+"\n")
	verify(0, "by hamba 2")
	// A dropped logical type draws a warning.
	dropped := "the writer's long (timestamp-millis) is read as the reader's long"
	convert(`"long"`).want(t, 0, "field f: "+dropped)
	verify(6, "mean something else", dropped)
	convert(logicalType("long", `"local-timestamp-millis"`)).want(t, 3, "a.avro: field f: ", "local-timestamp-millis")
	convert(`"string"`).want(t, 3, "field f: ", "long (timestamp-millis)")
	rowtocol(t, dir, nil, "cat", "--schema", "r.avsc", "a.avro").want(t, 3, "field f: ")

	write(t, dir+"/a.avro", encodeAvro(t, recordOf(logicalType("long", `"timestamp-millis"`)), varint(0), varint(1<<62)))
	convert(logicalType("long", `"timestamp-micros"`)).want(t, 3, "a.avro: row 0", "field f: ", "too large for the reader's finer unit")
}

// TestAgainstAnotherMeaning replaces a resolved input with one whose rows resolve to the same
// bytes, but have another meaning.
func TestAgainstAnotherMeaning(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/r.avsc", []byte(recordOf(`"string"`)))
	write(t, dir+"/a.avro", encodeAvro(t, recordOf(`"bytes"`), []byte{2, 5}))
	rowtocol(t, dir, nil, "convert", "--schema", "r.avsc", "a.avro", "out").want(t, 0)
	rowtocol(t, dir, nil, "verify", "out", "--against", "a.avro", "--require-complete").want(t, 0)
	write(t, dir+"/a.avro", encodeAvro(t, recordOf(`{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}`), []byte{2, 5}))
	rowtocol(t, dir, nil, "verify", "out", "--against", "a.avro").want(t, 6, "a.avro", "mean something else", "field f: ", "decimal(9,2)")
}

// TestInexactValues checks the counts of values that resolution changes.
func TestInexactValues(t *testing.T) {
	dir := t.TempDir()
	enum := `{"type":"enum","name":"E","symbols":["A","B"],"default":"A"}`
	in := `{"type":"record","name":"R","fields":[{"name":"n","type":"long"},{"name":"e","type":` + strings.Replace(enum, `"B"`, `"B","C"`, 1) + `}]}`
	out := `{"type":"record","name":"R","fields":[{"name":"n","type":"double"},{"name":"e","type":` + enum + `}]}`
	large := varint(1<<53 + 1)
	write(t, dir+"/in/a.avro", encodeAvro(t, in, append(slices.Clone(large), 2), append(slices.Clone(large), 4), []byte{2, 0}))
	write(t, dir+"/in/b.avro", encodeAvro(t, in, append(slices.Clone(large), 4)))
	write(t, dir+"/r.avsc", []byte(out))
	var c converted
	o := rowtocol(t, dir, nil, "convert", "--schema", "r.avsc", "in", "out", "--json").want(t, 0, "values changed: 2 enum symbols became the schema's default, 3 numbers were rounded")
	o.object(t, &c)
	want := shred.Inexact{EnumDefaults: 2, Rounded: 3}
	if s := manifestIn(t, dir+"/out"); c.Inexact != want || s.Inexact != want {
		t.Errorf("--json has %+v and the manifest %+v, want %+v", c.Inexact, s.Inexact, want)
	}
	rowtocol(t, dir, nil, "verify", "out", "--against", "in").want(t, 0, "4 rows")
	rowtocol(t, dir, nil, "verify", "out", "--against", "in", "--require-complete").want(t, 6, "does not hold 5 values as the inputs have them: 2 enum symbols became the schema's default, 3 numbers were rounded", "what to do: convert with a --schema")
	rowtocol(t, dir, nil, "cat", "--schema", "r.avsc", "in/a.avro").want(t, 0, "1 enum symbol became the schema's default, 2 numbers were rounded")
	rowtocol(t, dir, nil, "stats", "--schema", "r.avsc", "in/a.avro").want(t, 0, "2 numbers were rounded")
	// The same in separate tasks.
	rowtocol(t, dir, nil, "plan", "--schema", "r.avsc", "in", "steps", "-o", "p.json").want(t, 0)
	rowtocol(t, dir, nil, "task", "--plan", "p.json", "--share", "0/1").want(t, 0)
	rowtocol(t, dir, nil, "commit", "--plan", "p.json").want(t, 0, "values changed")
}

// TestLeftOut converts inputs with fields that the output lacks.
func TestLeftOut(t *testing.T) {
	narrow := `{"type":"record","name":"R","fields":[{"name":"id","type":"long"}]}`
	wide := `{"type":"record","name":"R","fields":[{"name":"id","type":"long"},{"name":"country","type":"string"}]}`
	for _, kind := range []string{"--incremental", "--partitioned", "--schema=narrow.avsc"} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir+"/narrow.avsc", []byte(narrow))
			write(t, dir+"/in/dt=1/a.avro", encodeAvro(t, narrow, varint(1)))
			rowtocol(t, dir, nil, "convert", kind, "in", "out").want(t, 0)
			rowtocol(t, dir, nil, "verify", "out", "--against", "in", "--require-complete").want(t, 0)
			for _, name := range []string{"b", "c"} {
				write(t, dir+"/in/dt=1/"+name+".avro", encodeAvro(t, wide, []byte{4, 4, 'd', 'e'}))
			}
			args := []string{"convert", kind, "in", "out"}
			if kind == "--schema=narrow.avsc" {
				args = append(args, "--overwrite")
			}
			rowtocol(t, dir, nil, append(args, "--strict")...).want(t, 3, "--strict", "in/dt=1/b.avro", "country")
			o := rowtocol(t, dir, nil, append(args, "--json")...).want(t, 0, "in/dt=1/b.avro (the first of 2)", "country", "left out")
			if kind != "--partitioned" {
				var c converted
				o.object(t, &c)
				if len(c.LeftOut) != 1 || c.LeftOut[0].Field != "country" || c.LeftOut[0].Inputs != 2 || !strings.HasSuffix(c.LeftOut[0].Input, "in/dt=1/b.avro") {
					t.Errorf("--json has the left-out fields %+v", c.LeftOut)
				}
			}
			rowtocol(t, dir, nil, "verify", "out", "--against", "in").want(t, 0, "3 rows", "the output lacks a field")
			rowtocol(t, dir, nil, "verify", "out", "--against", "in", "--require-complete").want(t, 6, "lacks 1 field", "country of ")
		})
	}
}

// TestSameSchemaInOtherWords converts inputs whose schemas differ only in their text.
func TestSameSchemaInOtherWords(t *testing.T) {
	dir := t.TempDir()
	const plain = `{"type":"record","name":"R","fields":[{"name":"f","type":"string"}]}`
	const java = `{"type":"record","name":"R","fields":[{"name":"f","type":{"type":"string","avro.java.string":"String"}}]}`
	const connect = `{"type":"record","name":"R","connect.version":2,"fields":[{"name":"f","type":"string","default":""}]}`
	row := []byte("\x02x")
	write(t, dir+"/in/a.avro", encodeAvro(t, plain, row))
	write(t, dir+"/in/b.avro", encodeAvro(t, java, row))
	rowtocol(t, dir, nil, "convert", "in", "out").want(t, 0, "2 rows")
	rowtocol(t, dir, nil, "verify", "out", "--against", "in", "--require-complete").want(t, 0, "by goavro 2")
	rowtocol(t, dir, nil, "verify", partOf(t, dir+"/out", 0), "--against", "in", "--require-complete").want(t, 0)
	write(t, dir+"/in/c.avro", encodeAvro(t, connect, row))
	rowtocol(t, dir, nil, "convert", "--incremental", "in", "out").want(t, 0, "1 row", "in/c.avro", "its default")
	rowtocol(t, dir, nil, "verify", "out", "--against", "in", "--require-complete").want(t, 0, "by goavro 3")
	rowtocol(t, dir, nil, "cat", "in/a.avro", "in/b.avro", "in/c.avro").want(t, 0)
	if s := manifestIn(t, dir+"/out"); s.Schema != plain {
		t.Errorf("the output has the schema %s", s.Schema)
	}
}
