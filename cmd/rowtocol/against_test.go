package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/trevni"
)

// encodeAvro returns an Avro file of rows.
func encodeAvro(t *testing.T, schema string, rows ...[]byte) []byte {
	t.Helper()
	return avrotest.File(t, schema, syncMarker, 1, rows...)
}

// TestDecoders verifies maps with the same key twice. goavro rejects them, and hamba
// cannot recognize them once they are resolved.
func TestDecoders(t *testing.T) {
	dir := t.TempDir()
	rows := slices.Repeat([][]byte{{4, 2, 'a', 2, 2, 'a', 4, 0}}, 20)
	write(t, dir+"/a.avro", encodeAvro(t, `{"type":"map","values":"int"}`, rows...))
	rowtocol(t, dir, nil, "convert", "a.avro", "out").want(t, 0)
	rowtocol(t, dir, nil, "verify", "out", "--against", "a.avro", "--require-complete").
		want(t, 0, "20 rows of 1 input are equal in the columns: compared by goavro 0, by hamba 20, not compared 0")

	write(t, dir+"/long.avsc", []byte(`{"type":"map","values":"long"}`))
	rowtocol(t, dir, nil, "convert", "--schema", "long.avsc", "a.avro", "long").want(t, 0)
	rowtocol(t, dir, nil, "verify", "long", "--against", "a.avro").want(t, 0, "NOT compared", "not compared 20", "the same key twice")
	var v verified
	o := rowtocol(t, dir, nil, "verify", "--json", "long", "--against", "a.avro").want(t, 0)
	if r := o.object(t, &v); r.Status != "incomplete" || *v.Complete || v.Against.NotCompared[0].Rows != 20 {
		t.Errorf("%+v %+v", r, v)
	}
	rowtocol(t, dir, nil, "verify", "--require-complete", "long", "--against", "a.avro").want(t, 6, "could not be compared")
}

// TestAgainstResolved compares inputs of two generations with one output.
func TestAgainstResolved(t *testing.T) {
	dir := t.TempDir()
	reader := `{"type":"record","name":"Pair","fields":[
		{"name":"tag","type":["null","string"],"default":null},
		{"name":"key","type":["null","double","string"],"aliases":["id"]}]}`
	write(t, dir+"/reader.avsc", []byte(reader))
	writePairs(t, dir, "in/a.avro", 0, 30)
	later := `{"type":"record","name":"Pair","fields":[{"name":"key","type":"float"},{"name":"tag","type":"string"}]}`
	write(t, dir+"/in/b.avro", encodeAvro(t, later, []byte{0, 0, 0x80, 0x3f, 2, 'x'}))
	write(t, dir+"/in/c.avro", encodeAvro(t, reader, []byte{2, 2, 'x', 4, 2, 'y'}, []byte{0, 0}))
	rowtocol(t, dir, nil, "convert", "--schema", "reader.avsc", "in", "out").want(t, 0, "33 rows")
	rowtocol(t, dir, nil, "verify", "out", "--against", "in", "--require-complete").want(t, 6, "the first is words of ")
	rowtocol(t, dir, nil, "verify", "out", "--against", "in").
		want(t, 0, "33 rows of 3 inputs are equal in the columns: compared by goavro 2, by hamba 31, not compared 0")

	write(t, dir+"/in/b.avro", encodeAvro(t, later, []byte{0, 0, 0x80, 0x40, 2, 'x'}))
	rowtocol(t, dir, nil, "verify", "out", "--against", "in").want(t, 6, "1 row differs", "field key", "has 4, the columns have 1")
}

// TestAgainstIncrements compares two increments whose inputs are not in the order of
// their paths.
func TestAgainstIncrements(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/b.avro", 0, 40)
	writePairs(t, dir, "in/a.avro", 40, 7)
	writePairs(t, dir, "in/c.avro", 47, 5)
	rowtocol(t, dir, nil, "convert", "--incremental", "in/b.avro", "out").want(t, 0)
	rowtocol(t, dir, nil, "convert", "--incremental", "in/a.avro", "in/c.avro", "out").want(t, 0)
	equal := "52 rows of 3 inputs are equal"
	rowtocol(t, dir, nil, "verify", "out", "--against", "in").want(t, 0, equal)

	must(t, errors.Join(os.CopyFS(filepath.Join(dir, "moved"), os.DirFS(filepath.Join(dir, "in"))), os.RemoveAll(filepath.Join(dir, "in"))))
	o := rowtocol(t, dir, nil, "verify", "out", "--against", "moved").want(t, 0, equal)
	if !strings.Contains(o.stderr, "not at the paths") {
		t.Errorf("no warning: %s", o.stderr)
	}
	rowtocol(t, dir, nil, "verify", "out", "--against", "moved/a.avro").want(t, 6, "rows differ")
	must(t, os.Rename(filepath.Join(dir, "moved/b.avro"), filepath.Join(dir, "moved/0.avro")))
	rowtocol(t, dir, nil, "verify", "out", "--against", "moved").want(t, 0, equal)
}

// TestColumnsWithoutRows verifies a column file whose blocks are sound, but which holds an
// optional value twice in one row.
func TestColumnsWithoutRows(t *testing.T) {
	dir := t.TempDir()
	text := `{"type":"record","name":"R","fields":[{"name":"x","type":["null","int"]}]}`
	schema, err := shred.ParseSchema(text)
	must(t, err)
	m, err := shred.Map(schema, shred.Options{})
	must(t, err)
	var b bytes.Buffer
	w, err := trevni.NewWriter(&b, text, m.Columns, trevni.Options{})
	must(t, err)
	w.Column(0).Length(2)
	w.Column(0).AppendVarint(1)
	w.Column(0).AppendVarint(2)
	must(t, errors.Join(w.EndRow(), w.Close()))
	write(t, dir+"/r.trv", b.Bytes())
	write(t, dir+"/r.avro", encodeAvro(t, text, []byte{2, 2}))
	rowtocol(t, dir, nil, "verify", "r.trv").want(t, 0, "sound")
	rowtocol(t, dir, nil, "verify", "r.trv", "--against", "r.avro").want(t, 6, "r.trv", "row 0", "length 2")
}

// TestAgainstAnotherSchema compares inputs whose rows have the same bytes as those of the
// output, but another meaning.
func TestAgainstAnotherSchema(t *testing.T) {
	dir := t.TempDir()
	const enum = `{"type":"enum","name":"E","symbols":["A","B"]}`
	write(t, dir+"/in/a", encodeAvro(t, enum, []byte{0}, []byte{2}))
	write(t, dir+"/in/b", encodeAvro(t, enum, []byte{2}))
	rowtocol(t, dir, nil, "convert", "in", "out").want(t, 0, "3 rows")
	rowtocol(t, dir, nil, "verify", "out", "--against", "in", "--require-complete").want(t, 0)

	swapped := `{"type":"enum","name":"E","symbols":["B","A"]}`
	write(t, dir+"/in/b", encodeAvro(t, swapped, []byte{2}))
	rowtocol(t, dir, nil, "verify", "out", "--against", "in").want(t, 6, "in/b", "another schema than those of the output")
	rowtocol(t, dir, nil, "verify", partOf(t, dir+"/out", 0), "--against", "in").want(t, 6, "in/b", "another schema")
	// The report lists files that the output was not made from separately.
	write(t, dir+"/in/b", encodeAvro(t, enum, []byte{2}))
	write(t, dir+"/in/c", encodeAvro(t, swapped))
	rowtocol(t, dir, nil, "verify", "out", "--against", "in").want(t, 0, "in/c", "the output was not made from it")
	rowtocol(t, dir, nil, "verify", "out", "--against", "in", "--require-complete").want(t, 6, "in/c")
}

// TestAgainstSchemas verifies sound outputs of two schemas.
func TestAgainstSchemas(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/a", encodeAvro(t, `"long"`, []byte{2}))
	write(t, dir+"/b", encodeAvro(t, `"int"`, []byte{2}))
	must(t, os.Mkdir(dir+"/out", 0o777))
	rowtocol(t, dir, nil, "convert", "a", "out/day=1").want(t, 0)
	rowtocol(t, dir, nil, "convert", "b", "out/day=2").want(t, 0)
	rowtocol(t, dir, nil, "verify", "out", "--against", "a", "--against", "b").want(t, 1, "one schema at a time", "out/day=2")
	rowtocol(t, dir, nil, "verify", "out/day=2", "--against", "b", "--require-complete").want(t, 0)
}

// TestAgainstFewerFields checks that verify reports fields that the output lacks.
func TestAgainstFewerFields(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "a", 0, 3)
	write(t, dir+"/narrow", []byte(`{"type":"record","name":"Pair","fields":[{"name":"id","type":"long"}]}`))
	rowtocol(t, dir, nil, "convert", "--schema", "narrow", "a", "out").want(t, 0)
	rowtocol(t, dir, nil, "verify", "out", "--against", "a").want(t, 0, "3 rows", "the output lacks a field", "words")
	rowtocol(t, dir, nil, "verify", "out", "--against", "a", "--require-complete").want(t, 6, "lacks 1 field", "words of ", "/a")
	var v verified
	o := rowtocol(t, dir, nil, "verify", "out", "--against", "a", "--json").want(t, 0)
	if r := o.object(t, &v); r.Status != "incomplete" || *v.Complete || len(v.LeftOut) != 1 || v.LeftOut[0] != (manifest.LeftOut{Field: "words", Input: dir + "/a", Inputs: 1}) {
		t.Errorf("%+v", v)
	}
}

// TestAgainstNoFile compares with a path that is not a file, and with a missing one.
func TestAgainstNoFile(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/a", 0, 3)
	rowtocol(t, dir, nil, "convert", "in", "out").want(t, 0)
	makeFIFO(t, dir+"/pipe")
	rowtocol(t, dir, nil, "verify", "out", "--against", "pipe").want(t, 3, "a named pipe is not a regular file")
	rowtocol(t, dir, nil, "verify", "out", "--against", "in/*.avro").want(t, 3, "no file matches the pattern").lacks(t, "--allow-empty")
}
