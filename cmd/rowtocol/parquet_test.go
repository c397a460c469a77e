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
