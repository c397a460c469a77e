package main

import (
	"bytes"
	varints "encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	arrowgo "github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	parquetfile "github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/rowtocol/rowtocol/avro/ocf"
)

const stampSchema = `{"type":"record","name":"Stamps","fields":[
	{"name":"id","type":"long"},
	{"name":"ms","type":{"type":"long","logicalType":"timestamp-millis"}},
	{"name":"us","type":{"type":"long","logicalType":"local-timestamp-micros"}},
	{"name":"ns","type":{"type":"array","items":["null","string",{"type":"long","logicalType":"timestamp-nanos"}]}},
	{"name":"noon","type":{"type":"int","logicalType":"time-millis"}},
	{"name":"tick","type":["null",{"type":"long","logicalType":"time-micros"}]}]}`

const stampRows = 200

// convertStamps converts rows of times to several files. One row has the times ms and ns.
func convertStamps(t *testing.T, dir, name string, row int, ms, ns int64) {
	t.Helper()
	var b bytes.Buffer
	w, err := ocf.NewWriter(&b, stampSchema, "null", [16]byte{1})
	must(t, err)
	for id := range int64(stampRows) {
		values := []int64{id, -id, id, 3, 0, 2, -7000 * id, 2, 5000, 0, 43200000, 1, 86399999999}
		if int(id) == row {
			values[1], values[8] = ms, ns
		}
		var data []byte
		for _, v := range values {
			data = varints.AppendVarint(data, v)
		}
		must(t, w.AppendBlock(1, data))
	}
	write(t, filepath.Join(dir, name+".avro"), b.Bytes())
	rowtocol(t, dir, nil, "convert", "--row-group-size", "4000", "--block-size", "256", name+".avro", name).want(t, 0)
}

// readRecords reads an Arrow stream or a Parquet file that cat has written.
func readRecords(t *testing.T, to, out string) (*arrowgo.Schema, arrowgo.RecordBatch) {
	t.Helper()
	var source array.RecordReader
	if to == "arrow" {
		r, err := ipc.NewReader(strings.NewReader(out))
		must(t, err)
		source = r
	} else {
		f, err := parquetfile.NewParquetReader(strings.NewReader(out))
		must(t, err)
		r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{BatchSize: stampRows}, memory.DefaultAllocator)
		must(t, err)
		if source, err = r.GetRecordReader(t.Context(), nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	if !source.Next() || source.RecordBatch().NumRows() != stampRows {
		t.Fatal(source.Err())
	}
	return source.Schema(), source.RecordBatch()
}

// TestCatForms checks the types of each form, and that all have the same values.
func TestCatForms(t *testing.T) {
	dir := t.TempDir()
	convertStamps(t, dir, "s", -1, 0, 0)
	const dense, structs = "dense_union<null: type=null, nullable=0, string: type=utf8, nullable=1, long: type=timestamp[%s, tz=UTC], nullable=2>", "struct<string: utf8 nullable, long: timestamp[%s, tz=UTC] nullable>"
	for _, c := range []struct{ to, flags, union, ms, ns, noon, tick string }{
		{"arrow", "", dense, "ms", "ns", "time32[ms]", "time64[us]"},
		{"arrow", "--unions dense --times exact", dense, "ms", "ns", "time32[ms]", "time64[us]"},
		{"arrow", "--unions struct", structs, "ms", "ns", "time32[ms]", "time64[us]"},
		{"arrow", "--times spark", dense, "us", "us", "int32", "int64"},
		{"arrow", "--unions struct --times spark", structs, "us", "us", "int32", "int64"},
		{"parquet", "", structs, "ms", "ns", "time32[ms]", "time64[us]"},
		{"parquet", "--unions struct --times spark", structs, "us", "us", "int32", "int64"},
	} {
		args := append([]string{"cat", "--to", c.to, "s"}, strings.Fields(c.flags)...)
		schema, rows := readRecords(t, c.to, rowtocol(t, dir, nil, args...).want(t, 0).stdout)
		var types []string
		for _, f := range schema.Fields()[1:] {
			if l, ok := f.Type.(*arrowgo.ListType); ok {
				f.Type = l.Elem()
			}
			types = append(types, strings.ReplaceAll(fmt.Sprint(f.Type), ", nullable", " nullable"))
		}
		want := []string{"timestamp[" + c.ms + ", tz=UTC]", "timestamp[us]", fmt.Sprintf(c.union, c.ns), c.noon, c.tick}
		if got := strings.Join(types, "; "); got != strings.ReplaceAll(strings.Join(want, "; "), ", nullable", " nullable") {
			t.Errorf("%v:\n%s, want\n%s", args, got, strings.Join(want, "; "))
		}
		ms := rows.Column(1).(*array.Timestamp)
		for id := range stampRows {
			if got := ms.Value(id).ToTime(ms.DataType().(*arrowgo.TimestampType).Unit).UnixMilli(); got != -int64(id) {
				t.Errorf("%v: row %d: %d ms", args, id, got)
			}
		}
		items := rows.Column(3).(*array.List)
		values, last := items.ListValues(), 0
		switch u := values.(type) {
		case *array.DenseUnion:
			values, last = u.Field(2), 2*stampRows-1
		case *array.Struct:
			values, last = u.Field(1), 3*stampRows-1
		}
		stamps := values.(*array.Timestamp)
		if at := stamps.Value(last).ToTime(stamps.DataType().(*arrowgo.TimestampType).Unit).UnixNano(); at != 5000 {
			t.Errorf("%v: %d ns", args, at)
		}
	}
}

// TestCatRefusesToRoundTimes checks that a timestamp that microseconds cannot hold ends
// the output, and that the message has its value, its row and its file.
func TestCatRefusesToRoundTimes(t *testing.T) {
	dir := t.TempDir()
	const bad = 150
	for _, c := range []struct {
		name           string
		ms, ns         int64
		column, reason string
	}{
		{"ns", 0, 5001, "column ns[]/long: ", "5001 ns is no whole number of microseconds"},
		{"low", math.MinInt64/1000 - 1, 0, "column ms: ", "-9223372036854776 ms is more microseconds than 64 bits hold"},
		{"high", math.MaxInt64/1000 + 1, 0, "column ms: ", "9223372036854776 ms is more microseconds than 64 bits hold"},
	} {
		convertStamps(t, dir, c.name, bad, c.ms, c.ns)
		s := manifestIn(t, filepath.Join(dir, c.name))
		part, row := 0, int64(bad)
		for ; row >= s.Parts[part].Rows; part++ {
			row -= s.Parts[part].Rows
		}
		place := fmt.Sprintf("%s: %srow %d: ", filepath.Base(partOf(t, filepath.Join(dir, c.name), part)), c.column, row)
		if part == 0 || row == 0 {
			t.Fatal("not a place of a row: ", place)
		}
		for _, flags := range []string{"--to arrow", "--to arrow --unions struct", "--to parquet", "--to parquet --where id>100&&id!=120"} {
			args := append([]string{"cat", "--times", "spark", "--overwrite", "--output", "out", c.name}, strings.Fields(flags)...)
			rowtocol(t, dir, nil, args...).want(t, 3, place, c.reason)
			rowtocol(t, dir, nil, append(args, "--times", "exact")...).want(t, 0)
			rowtocol(t, dir, nil, append(args, "--limit", "3")...).want(t, 0)
		}
	}
}
