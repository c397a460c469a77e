package main

import (
	avro "encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
)

// indexedNaN converts rows with an index on a number, which is NaN in two rows, infinite in two,
// and the id in the others.
func indexedNaN(t *testing.T, typ string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	var rows [][]byte
	for id := range 200 {
		d := float64(id)
		switch id {
		case 20, 120:
			d = math.NaN()
		case 40:
			d = math.Inf(1)
		case 60:
			d = math.Inf(-1)
		}
		row := appendVarint(nil, id)
		bits, bits32 := math.Float64bits(d), math.Float32bits(float32(d))
		if id == 120 { // a NaN with a sign
			bits, bits32 = bits|1<<63, bits32|1<<31
		}
		if typ == "float" {
			row = avro.LittleEndian.AppendUint32(row, bits32)
		} else {
			row = avro.LittleEndian.AppendUint64(row, bits)
		}
		rows = append(rows, row)
	}
	avroRows(t, filepath.Join(dir, "a.avro"), `{"type":"record","name":"R","fields":[{"name":"id","type":"long"},{"name":"d","type":"`+typ+`"}]}`, rows...)
	rowtocol(t, dir, nil, "convert", "--index", "d", "a.avro", "out").want(t, 0)
	return dir
}

// TestLookupNaN checks that NaN is found by its key, is in no range, and is no bound.
func TestLookupNaN(t *testing.T) {
	for _, typ := range []string{"float", "double"} {
		dir := indexedNaN(t, typ)
		found := func(args ...string) (ids string) {
			out := rowtocol(t, dir, nil, append([]string{"lookup", "--columns", "id", "--to", "csv", "out"}, args...)...).want(t, 0).stdout
			return strings.ReplaceAll(strings.TrimSpace(strings.TrimPrefix(out, "id\n")), "\n", " ")
		}
		for _, c := range []struct{ arg, ids string }{
			{"NaN", "20 120"}, {"--range=197..", "40 197 198 199"}, {"--range=..2", "0 1 2 60"}, {"--range=199..Infinity", "40 199"},
		} {
			if ids := found(c.arg); ids != c.ids {
				t.Errorf("%s %s: %s, want %s", typ, c.arg, ids, c.ids)
			}
		}
		if ids := found("--range=.."); strings.Count(ids, " ") != 197 || strings.Contains(" "+ids+" ", " 20 ") {
			t.Errorf("%s without bounds: %s", typ, ids)
		}
		for _, r := range []string{"NaN..", "..NaN", "5..NaN", "NaN..NaN", "nan..5"} {
			rowtocol(t, dir, nil, "lookup", "--range", r, "out").want(t, 1, "d: NaN is in no range")
		}
	}
}

// TestWhereNaNByIndex checks that conditions select the same rows with an index.
func TestWhereNaNByIndex(t *testing.T) {
	dir := indexedNaN(t, "double")
	used := 0
	for _, number := range []string{"3", "196"} {
		for _, o := range []string{"=", "<", "<=", ">", ">=", "!="} {
			for _, form := range []string{"d %s %s", "not (d %s %s)", "d %s %s and d <> d"} {
				where := fmt.Sprintf(form, o, number)
				got := rowtocol(t, dir, nil, "cat", "--columns", "id", "--stats", "--where", where, "out").want(t, 0)
				want := rowtocol(t, dir, nil, "cat", "--columns", "id", "--where", where, "a.avro").want(t, 0)
				if got.stdout != want.stdout {
					t.Errorf("%s: %q, want %q", where, got.stdout, want.stdout)
				}
				if strings.Contains(got.stderr, "by the index") {
					used++
				}
			}
		}
	}
	if used < 8 {
		t.Errorf("an index was used for only %d conditions", used)
	}
}
