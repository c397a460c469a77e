package main

import (
	"bytes"
	varints "encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/trevni"
)

// TestTooDeepForArrow checks that types too deep for Arrow are refused before the first byte.
func TestTooDeepForArrow(t *testing.T) {
	dir := t.TempDir()
	typ := `"int"`
	for i := range 65 {
		typ = fmt.Sprintf(`{"type":"record","name":"R%d","fields":[{"name":"f","type":%s}]}`, i, typ)
	}
	write(t, filepath.Join(dir, "a.avro"), encodeAvro(t, typ, []byte{2}))
	rowtocol(t, dir, nil, "cat", "--to", "json", "a.avro").want(t, 0)
	rowtocol(t, dir, nil, "cat", "--to", "arrow", "a.avro").want(t, 3, "a.avro: field f.f", "64 levels of Arrow").prints(t, "")
	rowtocol(t, dir, nil, "cat", "--to", "parquet", "a.avro").want(t, 0)
}

// TestManyEnumFields checks that all fields of an enum share its symbols in memory.
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
	write(t, filepath.Join(dir, "a.avro"), encodeAvro(t, schema+`]}`, make([]byte, fields)))
	rowtocol(t, dir, nil, "cat", "--to", "arrow", "--memory", "32MiB", "--output", "rows", "a.avro").want(t, 0)
	rowtocol(t, dir, nil, "cat", "--to", "parquet", "--memory", "128MiB", "--output", "rows.parquet", "a.avro").want(t, 0)
	rowtocol(t, dir, nil, "cat", "--to", "arrow", "--memory", "32MiB", "--columns", "f0", "a.avro").want(t, 0)
}

// TestLargeRowsOfManyColumns checks that workers leave the memory for large rows to the Parquet file.
func TestLargeRowsOfManyColumns(t *testing.T) {
	dir := t.TempDir()
	var fields []string
	for i := range 140 {
		fields = append(fields, fmt.Sprintf(`{"name":"f%d","type":"string"}`, i))
	}
	var rows [][]byte
	for i := range 700 {
		size := 1
		if i%100 == 99 {
			size = 20_000_000
		}
		row := varints.AppendVarint(nil, int64(size))
		row = append(row, bytes.Repeat([]byte{'x'}, size)...)
		rows = append(rows, append(row, make([]byte, len(fields)-1)...))
	}
	write(t, filepath.Join(dir, "a.avro"), encodeAvro(t, `{"type":"record","name":"R","fields":[`+strings.Join(fields, ",")+`]}`, rows...))
	rowtocol(t, dir, nil, "convert", "a.avro", "out").want(t, 0)
	for range 3 {
		rowtocol(t, dir, nil, "cat", "--to", "parquet", "--memory", "256MiB", "--workers", "8", "--output", "rows.parquet", "--overwrite", "out").want(t, 0)
	}
}

// TestExpandedSchema checks that every command refuses a small schema that expands to many
// columns, before the columns are made.
func TestExpandedSchema(t *testing.T) {
	dir := t.TempDir()
	schema := `{"type":"record","name":"R0","fields":[{"name":"a","type":"int"},{"name":"b","type":"int"}]}`
	for i := 1; i < 16; i++ {
		schema = fmt.Sprintf(`{"type":"record","name":"R%d","fields":[{"name":"a","type":%s},{"name":"b","type":"R%d"}]}`, i, schema, i-1)
	}
	write(t, filepath.Join(dir, "a.avro"), encodeAvro(t, schema, make([]byte, 1<<16)))
	for _, args := range []string{
		"convert a.avro out", "plan a.avro out -o plan.json", "cat a.avro", "cat --to arrow a.avro", "stats a.avro", "count a.avro",
		"head a.avro", "schema --shredded a.avro",
	} {
		rowtocol(t, dir, nil, append(strings.Fields(args), "--memory", "32MiB")...).want(t, 1, "65536 columns: too little memory: about --memory ")
	}
	rowtocol(t, dir, nil, "count", "--memory", "256MiB", "a.avro").want(t, 0, "1")
}

// writeClaims writes an Avro file of blocks with the same data, each of which claims to
// hold a number of rows.
func writeClaims(t *testing.T, name, field string, blocks int, rows int64, data []byte) {
	t.Helper()
	write(t, name, avrotest.File(t, `{"type":"record","name":"R","fields":[{"name":"f","type":`+field+`}]}`, syncMarker, rows, slices.Repeat([][]byte{data}, blocks)...))
}

// TestClaimsAreBounded checks the bounds on the rows and items that few bytes may claim.
func TestClaimsAreBounded(t *testing.T) {
	dir := t.TempDir()
	const million = 1 << 20
	items := append(appendVarint(nil, million), 0)
	writeClaims(t, filepath.Join(dir, "rows.avro"), `"null"`, 20_000, 16*million, nil)
	writeClaims(t, filepath.Join(dir, "items.avro"), `{"type":"array","items":"null"}`, 100, 16, bytes.Repeat(items, 16))
	for _, args := range []string{"convert items.avro out", "convert --on-damage skip items.avro out", "stats items.avro"} {
		rowtocol(t, dir, nil, strings.Fields(args)...).want(t, 3, "items.avro: offset ", "a file may stand for")
	}
	rowtocol(t, dir, nil, "inspect", "rows.avro").want(t, 3, "rows.avro: offset ", "a file may stand for")
	rowtocol(t, dir, nil, "count", "rows.avro").want(t, 0, fmt.Sprint(20_000*16*million))
}

// TestColumnOfManyNulls checks the bound on the rows of a column file of nulls.
func TestColumnOfManyNulls(t *testing.T) {
	dir := t.TempDir()
	const schema = `{"type":"record","name":"R","fields":[{"name":"f","type":"null"}]}`
	writeNulls(t, filepath.Join(dir, "most.trv"), schema, column.Block{Rows: 1 << 28})
	writeNulls(t, filepath.Join(dir, "more.trv"), schema, column.Block{Rows: 1 << 30})
	rowtocol(t, dir, nil, "count", "most.trv").want(t, 0, fmt.Sprint(1<<28))
	rowtocol(t, dir, nil, "verify", "most.trv").want(t, 0, "sound")
	for _, args := range []string{"cat", "head", "stats", "inspect", "verify", "count"} {
		code := 3
		if args == "verify" {
			code = 6
		}
		rowtocol(t, dir, nil, args, "more.trv").want(t, code, "more.trv: unsupported: ", "stand for 1073741824 rows", "a file may stand for")
	}
}

// TestManyItemsOfNull checks the bound on items that take no bytes.
func TestManyItemsOfNull(t *testing.T) {
	dir := t.TempDir()
	const rows, items = 400, 1 << 20
	b := column.Block{Rows: rows, Data: bytes.Repeat(varints.AppendVarint(nil, items), rows)}
	for name, field := range map[string]string{
		"nulls": `"null"`, "records": `{"type":"record","name":"E","fields":[{"name":"n","type":"null"},{"name":"o","type":"null"}]}`,
	} {
		more := []column.Block{b}
		if name == "records" {
			field := column.Block{Rows: rows}
			more = []column.Block{b, field, field}
		}
		writeNulls(t, filepath.Join(dir, name+".trv"), `{"type":"record","name":"R","fields":[{"name":"f","type":{"type":"array","items":`+field+`}}]}`, more...)
		rowtocol(t, dir, nil, "stats", name+".trv").want(t, 3, name+".trv: ", "a file may stand for")
		rowtocol(t, dir, nil, "cat", "--limit", "1", name+".trv").want(t, 0)
	}
	rowtocol(t, dir, nil, "cat", "--to", "avro", "--output", "rows.avro", "nulls.trv").want(t, 3, "nulls.trv: row ", "a file may stand for")
}

// writeNulls writes a Trevni file of columns without values, each with one block.
func writeNulls(t *testing.T, name, text string, blocks ...column.Block) {
	t.Helper()
	schema, err := shred.ParseSchema(text)
	must(t, err)
	m, err := shred.Map(schema, shred.Options{})
	must(t, err)
	group, err := trevni.NewGroupWriter(trevni.Options{}).NewRowGroup(schema.JSON(), m.Columns, 64<<10)
	must(t, err)
	stored := make([][]byte, len(blocks))
	for i := range blocks {
		job, err := group.Begin(i, &blocks[i])
		if err == nil {
			stored[i], err = job.Encode(nil)
		}
		if err == nil {
			err = group.End(i, job, len(stored[i]))
		}
		must(t, err)
	}
	outputs, err := group.Finish(blocks[0].Rows)
	must(t, err)
	var b []byte
	for _, p := range outputs[0].Pieces {
		if p.Column < 0 {
			b = append(b, p.Literal...)
		} else {
			b = append(b, stored[p.Column][p.Offset:p.Offset+p.Length]...)
		}
	}
	write(t, name, b)
}
