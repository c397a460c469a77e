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
	"github.com/parquet-go/parquet-go"

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
	rowtocol(t, dir, nil, "convert", "--row-group-size", "4000B", "--block-size", "256", name+".avro", name).want(t, 0)
}

// readRecords reads an Arrow stream that cat has written.
func readRecords(t *testing.T, out string) (*arrowgo.Schema, arrowgo.RecordBatch) {
	t.Helper()
	source, err := ipc.NewReader(strings.NewReader(out))
	must(t, err)
	if !source.Next() || source.RecordBatch().NumRows() != stampRows {
		t.Fatal(source.Err())
	}
	return source.Schema(), source.RecordBatch()
}

// TestCatForms checks the types of each form of Arrow, and that all have the same values.
func TestCatForms(t *testing.T) {
	dir := t.TempDir()
	convertStamps(t, dir, "s", -1, 0, 0)
	const dense, structs = "dense_union<null: type=null, nullable=0, string: type=utf8, nullable=1, long: type=timestamp[%s, tz=UTC], nullable=2>", "struct<string: utf8 nullable, long: timestamp[%s, tz=UTC] nullable>"
	for _, c := range []struct{ flags, union, ms, ns, noon, tick string }{
		{"", dense, "ms", "ns", "time32[ms]", "time64[us]"},
		{"--unions dense --times exact", dense, "ms", "ns", "time32[ms]", "time64[us]"},
		{"--unions struct", structs, "ms", "ns", "time32[ms]", "time64[us]"},
		{"--times spark", dense, "us", "us", "int32", "int64"},
		{"--unions struct --times spark", structs, "us", "us", "int32", "int64"},
	} {
		args := append([]string{"cat", "--to", "arrow", "s"}, strings.Fields(c.flags)...)
		schema, rows := readRecords(t, rowtocol(t, dir, nil, args...).want(t, 0).stdout)
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

// TestCatParquetForms checks the types of Parquet, and that all have the same values.
func TestCatParquetForms(t *testing.T) {
	dir := t.TempDir()
	convertStamps(t, dir, "s", -1, 0, 0)
	const schema = `message Stamps {
	required int64 id (INT(64,true));
	required int64 ms (TIMESTAMP(isAdjustedToUTC=true,unit=%s));
	required int64 us (TIMESTAMP(isAdjustedToUTC=false,unit=MICROS));
	required group ns (LIST) {
		repeated group list {
			optional group element {
				optional binary member0 (STRING);
				optional int64 member1 (TIMESTAMP(isAdjustedToUTC=true,unit=%s));
			}
		}
	}
	required int32 noon%s;
	optional int64 tick%s;
}`
	for _, c := range []struct {
		flags, ms, ns, noon, tick string
		perMilli, perMicro        int64
	}{
		{"", "MILLIS", "NANOS", " (TIME(isAdjustedToUTC=false,unit=MILLIS))", " (TIME(isAdjustedToUTC=false,unit=MICROS))", 1, 1000},
		{"--unions struct --times spark", "MICROS", "MICROS", " (INT(32,true))", " (INT(64,true))", 1000, 1},
	} {
		out := rowtocol(t, dir, nil, append([]string{"cat", "--to", "parquet", "s"}, strings.Fields(c.flags)...)...).want(t, 0).stdout
		f, err := parquet.OpenFile(strings.NewReader(out), int64(len(out)))
		must(t, err)
		if got, want := f.Schema().String(), fmt.Sprintf(schema, c.ms, c.ns, c.noon, c.tick); got != want {
			t.Errorf("%q:\n%s, want\n%s", c.flags, got, want)
		}
		rows := make([]parquet.Row, stampRows+1)
		n, _ := f.RowGroups()[0].Rows().ReadRows(rows)
		if n != stampRows || len(f.RowGroups()) != 1 {
			t.Fatalf("%q: %d rows in the first of %d row groups", c.flags, n, len(f.RowGroups()))
		}
		for id, row := range rows[:n] {
			values := make(map[int][]int64)
			row.Range(func(col int, v []parquet.Value) bool {
				for _, v := range v {
					if !v.IsNull() {
						values[col] = append(values[col], v.Int64())
					}
				}
				return true
			})
			if values[1][0] != -int64(id)*c.perMilli || values[2][0] != int64(id) || values[4][1] != 5*c.perMicro {
				t.Fatalf("%q: row %d has %v", c.flags, id, values)
			}
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
		parquet        string // the reason in Parquet
	}{
		{"ns", 0, 5001, "column ns[]/long: ", "5001 ns is no whole number of microseconds", "5001 nanoseconds are not a whole number of microseconds"},
		{"low", math.MinInt64/1000 - 1, 0, "column ms: ", "-9223372036854776 ms is more microseconds than 64 bits hold", "-9223372036854776 milliseconds are more microseconds than 64 bits hold"},
		{"high", math.MaxInt64/1000 + 1, 0, "column ms: ", "9223372036854776 ms is more microseconds than 64 bits hold", "9223372036854776 milliseconds are more microseconds than 64 bits hold"},
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
			reason := c.reason
			if strings.Contains(flags, "parquet") {
				reason = c.parquet
			}
			args := append([]string{"cat", "--times", "spark", "--overwrite", "--output", "out", c.name}, strings.Fields(flags)...)
			rowtocol(t, dir, nil, args...).want(t, 3, place, reason)
			rowtocol(t, dir, nil, append(args, "--times", "exact")...).want(t, 0)
			rowtocol(t, dir, nil, append(args, "--limit", "3")...).want(t, 0)
		}
	}
}
