package main

import "testing"

// TestAlikeFields checks that names of fields that engines mix up are a warning, and an error with
// --strict.
func TestAlikeFields(t *testing.T) {
	dir := t.TempDir()
	avroRows(t, dir+"/a.avro", `{"type":"record","name":"R","fields":[{"name":"id","type":"int"},{"name":"ID","type":"int"}]}`, []byte{2, 4})
	const alike = `fields \"id\" and \"ID\" differ only in case`
	rowtocol(t, dir, nil, "convert", "--format", "parquet", "a.avro", "out").want(t, 0, alike)
	rowtocol(t, dir, nil, "convert", "--format", "parquet", "--json", "a.avro", "json").want(t, 0, `"warnings": [`, alike)
	rowtocol(t, dir, nil, "convert", "--format", "parquet", "--strict", "a.avro", "strict").want(t, 3, alike)
	rowtocol(t, dir, nil, "convert", "--strict", "a.avro", "trevni").want(t, 0)
}

// TestOddDecimals checks that a decimal that engines refuse ends a conversion, and that a schema
// without decimals keeps it.
func TestOddDecimals(t *testing.T) {
	dir := t.TempDir()
	record := func(typ string) string {
		return `{"type":"record","name":"R","fields":[{"name":"d","type":` + typ + `}]}`
	}
	avroRows(t, dir+"/a.avro", record(`{"type":"bytes","logicalType":"decimal","precision":2}`), []byte{2, 99}, []byte{2, 100})
	write(t, dir+"/plain.avsc", []byte(record(`"bytes"`)))
	for _, onDamage := range []string{"fail", "skip"} {
		rowtocol(t, dir, nil, "convert", "--format", "parquet", "--on-damage", onDamage, "a.avro", "out").
			want(t, 3, "a.avro", "column d", "row 1", "0x64 has more digits than its precision, 2", "--schema")
	}
	rowtocol(t, dir, nil, "convert", "--format", "parquet", "--schema", "plain.avsc", "a.avro", "out").want(t, 0, "2 rows")
	rowtocol(t, dir, nil, "verify", "out", "--against", "a.avro").want(t, 0, "2 rows of 1 input are equal")
}

// TestReplacedUTF8 checks that --invalid-utf8 replace counts the strings that it changes, that keys
// of an index change with them, and that verify accepts exactly this change.
func TestReplacedUTF8(t *testing.T) {
	dir := t.TempDir()
	const schema = `{"type":"record","name":"R","fields":[{"name":"id","type":"int"},{"name":"name","type":["null","string"]}]}`
	avroRows(t, dir+"/a.avro", schema, []byte("\x02\x02\x02a"), []byte("\x04\x02\x06a\xff\xff"), []byte("\x06\x00"), []byte("\x08\x02\x02\xff"))
	run := func(args ...string) output { t.Helper(); return rowtocol(t, dir, nil, args...) }
	const changed = "2 strings were not UTF-8 and got U+FFFD"
	run("convert", "--format", "parquet", "--invalid-utf8", "replace", "--index", "name", "--json", "a.avro", "out").
		want(t, 0, `"strings": 2`, "values changed: "+changed)
	run("convert", "--format", "parquet", "--invalid-utf8", "replace", "--index", "name", "a.avro", "out").want(t, 0, "already")
	run("cat", "out").want(t, 0, `{"id":2,"name":"a`+"\uFFFD"+`"}`, `{"id":4,"name":"`+"\uFFFD"+`"}`)
	run("lookup", "out", "a\uFFFD").want(t, 0, `"id":2`)
	run("verify", "out").want(t, 0)
	run("verify", "out", "--against", "a.avro").want(t, 0, "4 rows of 1 input are equal", changed)
	run("verify", "out", "--against", "a.avro", "--require-complete").want(t, 6, "2 values", changed, "what to do: convert with another --format")
	run("convert", "--format", "parquet", "--invalid-utf8", "keep", "a.avro", "other").want(t, 1, "keep", "is not one of refuse, replace")
	run("convert", "--invalid-utf8", "replace", "a.avro", "other").want(t, 1, "--invalid-utf8 is not an option of the format trevni, but of parquet")
	run("convert", "--compression", "zstd", "a.avro", "other").want(t, 1, "--compression is not an option of the format trevni, but of cfile and parquet")

	avroRows(t, dir+"/a.avro", schema, []byte("\x02\x02\x02a"), []byte("\x04\x02\x06b\xff\xff"), []byte("\x06\x00"), []byte("\x08\x02\x02\xff"))
	run("verify", "out", "--against", "a.avro").want(t, 6)
}

// TestRecursiveUTF8 checks that verify compares strings in columns of Avro data as they are, and other
// strings as --invalid-utf8 replace changes them.
func TestRecursiveUTF8(t *testing.T) {
	dir := t.TempDir()
	const schema = `{"type":"record","name":"R","fields":[{"name":"s","type":"string"},{"name":"next","type":["null","R"]}]}`
	avroRows(t, dir+"/a.avro", schema, []byte("\x02\xff\x02\x02\xfe\x00"))
	rowtocol(t, dir, nil, "convert", "--format", "parquet", "--recursive", "bytes", "--invalid-utf8", "replace", "a.avro", "out").
		want(t, 0, "1 string was not UTF-8 and got U+FFFD")
	rowtocol(t, dir, nil, "verify", "out", "--against", "a.avro").want(t, 0, "1 row of 1 input is equal", "by hamba 1")
}

// TestSortedRows checks that --sorted-by accepts rows that ascend, and names the first row that
// does not.
func TestSortedRows(t *testing.T) {
	dir := t.TempDir()
	const schema = `{"type":"record","name":"R","fields":[{"name":"id","type":"int"},{"name":"name","type":["null","string"]}]}`
	avroRows(t, dir+"/a.avro", schema, []byte("\x02\x00"), []byte("\x02\x02\x02a"), []byte("\x04\x00"))
	avroRows(t, dir+"/b.avro", schema, []byte("\x02\x02\x02b"), []byte("\x02\x02\x02a"))
	convert := func(code int, words []string, args ...string) {
		t.Helper()
		rowtocol(t, dir, nil, append([]string{"convert", "--format", "parquet"}, args...)...).want(t, code, words...)
	}
	convert(0, []string{"sorted by id, name"}, "--sorted-by", "id,name", "--dry-run", "a.avro", "out")
	convert(0, []string{"3 rows"}, "--sorted-by", "id,name", "a.avro", "out")
	convert(0, []string{"already"}, "--sorted-by", "id,name", "a.avro", "out")
	convert(9, []string{"--sorted-by was id,name and is id"}, "--sorted-by", "id", "a.avro", "out")
	convert(3, []string{"b.avro", "row 1", "field name", "--sorted-by says that the rows ascend"}, "--sorted-by", "id,name", "b.avro", "other")
	convert(3, []string{"b.avro", "row 0", "field id"}, "--sorted-by", "id", "a.avro", "b.avro", "other")
	convert(3, []string{"b.avro", "row 1", "field name"}, "--sorted-by", "name", "--index", "id", "b.avro", "other")
	convert(1, []string{"--sorted-by", "no field", "nome"}, "--sorted-by", "nome", "a.avro", "other")
	convert(1, []string{"is given twice"}, "--sorted-by", "id", "--sorted-by", "name", "a.avro", "other")
}
