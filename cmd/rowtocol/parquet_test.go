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
