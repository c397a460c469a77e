package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// Types that are nested deeper than Arrow takes are refused before the first byte.
func TestTooDeepForArrow(t *testing.T) {
	dir := t.TempDir()
	typ := `"int"`
	for i := range 65 {
		typ = fmt.Sprintf(`{"type":"record","name":"R%d","fields":[{"name":"f","type":%s}]}`, i, typ)
	}
	write(t, filepath.Join(dir, "a.avro"), file(t, typ, []byte{2}))
	rowtocol(t, dir, nil, "cat", "--to", "json", "a.avro").want(t, 0)
	for _, to := range []string{"arrow", "parquet"} {
		o := rowtocol(t, dir, nil, "cat", "--to", to, "a.avro").want(t, 3, "a.avro: field f.f", "64 levels of Arrow")
		if o.stdout != "" {
			t.Errorf("%s: %d bytes came first", to, len(o.stdout))
		}
	}
}

// An enum's symbols are accounted for once in an Arrow stream, and in each column of
// Parquet.
func TestManyEnumFields(t *testing.T) {
	dir := t.TempDir()
	const symbols, fields = 5000, 300
	names := make([]string, symbols)
	for i := range names {
		names[i] = fmt.Sprintf(`"symbol_%0100d"`, i)
	}
	schema := `{"type":"record","name":"R","fields":[{"name":"f0","type":{"type":"enum","name":"E","symbols":[` + strings.Join(names, ",") + `]}}`
	for i := 1; i < fields; i++ {
		schema += fmt.Sprintf(`,{"name":"f%d","type":"E"}`, i)
	}
	write(t, filepath.Join(dir, "a.avro"), file(t, schema+`]}`, make([]byte, fields)))
	rowtocol(t, dir, nil, "cat", "--to", "arrow", "--memory", "32MiB", "--output", "rows", "a.avro").want(t, 0)
	rowtocol(t, dir, nil, "cat", "--to", "parquet", "--memory", "256MiB", "a.avro").want(t, 1, "enum E of 5000 symbols", "too little memory")
	rowtocol(t, dir, nil, "cat", "--to", "arrow", "--memory", "32MiB", "--columns", "f0", "a.avro").want(t, 0)
}

// A schema of few bytes that stands for many columns is refused before they are made,
// whoever reads it.
func TestExpandedSchema(t *testing.T) {
	dir := t.TempDir()
	schema := `{"type":"record","name":"R0","fields":[{"name":"a","type":"int"},{"name":"b","type":"int"}]}`
	for i := 1; i < 16; i++ {
		schema = fmt.Sprintf(`{"type":"record","name":"R%d","fields":[{"name":"a","type":%s},{"name":"b","type":"R%d"}]}`, i, schema, i-1)
	}
	write(t, filepath.Join(dir, "a.avro"), file(t, schema, make([]byte, 1<<16)))
	for _, args := range []string{
		"convert a.avro out", "plan a.avro out -o plan.json", "cat a.avro", "cat --to arrow a.avro", "stats a.avro", "count a.avro",
		"head a.avro", "schema --shredded a.avro",
	} {
		rowtocol(t, dir, nil, append(strings.Fields(args), "--memory", "32MiB")...).want(t, 1, "65536 columns: too little memory: it needs --memory ")
	}
	rowtocol(t, dir, nil, "count", "--memory", "256MiB", "a.avro").want(t, 0, "1")
}
