package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/avrotest"
)

// avroRows writes a file of one block with rows of a schema.
func avroRows(t *testing.T, name, schema string, rows ...[]byte) {
	t.Helper()
	write(t, name, avrotest.File(t, schema, syncMarker, int64(len(rows)), bytes.Join(rows, nil)))
}

// TestLongNamesOfFiles writes files under the longest names that the file system allows.
func TestLongNamesOfFiles(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "a.avro", 0, 10)
	name := strings.Repeat("ä", 125) // 250 bytes
	rowtocol(t, dir, nil, "cat", "--output", name+".json", "a.avro").want(t, 0)
	rowtocol(t, dir, nil, "plan", "-o", name+".plan", "a.avro", "out").want(t, 0)
	rowtocol(t, dir, nil, "convert", "a.avro", "out").want(t, 0)
	rowtocol(t, dir, nil, "inspect", "--html", name+".html", "out").want(t, 0)
}

// TestIndexOfLongNames makes indexes on fields with long names, which name the directories.
func TestIndexOfLongNames(t *testing.T) {
	for _, fields := range [][]string{
		{strings.Repeat("a", 122)}, {strings.Repeat("a", 123)}, {strings.Repeat("b", 128)}, {strings.Repeat("c", 129)},
		{strings.Repeat("d", 5000)}, {strings.Repeat("ä", 40)}, {strings.Repeat("e", 60), strings.Repeat("f", 60)},
	} {
		dir := t.TempDir()
		var schema []string
		var row []byte
		for i, name := range fields {
			schema = append(schema, fmt.Sprintf(`{"name":%q,"type":"long"}`, name))
			row = appendVarint(row, i+7)
		}
		avroRows(t, filepath.Join(dir, "a.avro"), `{"type":"record","name":"R","fields":[`+strings.Join(schema, ",")+`]}`, row)
		index, key := strings.Join(fields, ","), "7,8"[:2*len(fields)-1]
		rowtocol(t, dir, nil, "convert", "--index", index, "a.avro", "out").want(t, 0)
		rowtocol(t, dir, nil, "verify", "out").want(t, 0)
		if o := rowtocol(t, dir, nil, "lookup", "--by", index, "out", key).want(t, 0); !strings.Contains(o.stdout, ":7") {
			t.Errorf("%.10s…: %.100q", index, o.stdout)
		}
		var status struct {
			Result struct {
				Output struct{ Indexes []struct{ Fields string } }
			}
		}
		o := rowtocol(t, dir, nil, "status", "--json", "out").want(t, 0)
		if err := json.Unmarshal([]byte(o.stdout), &status); err != nil || len(status.Result.Output.Indexes) != 1 || status.Result.Output.Indexes[0].Fields != index {
			t.Errorf("%v: %.300s", err, o.stdout)
		}
	}
}
