package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// timesEntry writes rows of all times, with nanoseconds that are whole microseconds.
func timesEntry(t *testing.T) entry {
	t.Helper()
	var fields []string
	for _, logical := range []string{"time-millis", "time-micros", "timestamp-millis", "timestamp-micros", "timestamp-nanos", "local-timestamp-millis", "local-timestamp-micros", "local-timestamp-nanos"} {
		typ := "long"
		if logical == "time-millis" {
			typ = "int"
		}
		fields = append(fields, fmt.Sprintf(`{"name":"f%d","type":["null",{"type":%q,"logicalType":%q}]}`, len(fields), typ, logical))
	}
	const rows = 3000
	var data []byte
	for i := range int64(rows) {
		for f := range int64(len(fields)) {
			v := (i*7_777 + f) % 86_399_999 // a time of day in milliseconds
			switch {
			case i%11 == f:
				data = append(data, 0)
				continue
			case f > 1:
				v = (i - rows/2) * 987_654_321_000
			}
			data = varints(append(data, 2), v)
		}
	}
	schema := `{"type":"record","name":"Times","fields":[` + strings.Join(fields, ",") + `]}`
	return entry{file: "times.avro", path: writeAvro(t, "times", schema, block{rows, data}), rows: rows, class: "ok"}
}

// TestParquetTimes has engines read times in the types of Spark and Iceberg, and parquet-java in
// the Avro types of these. cat must return the rows of the input.
func TestParquetTimes(t *testing.T) {
	needJava(t)
	t.Parallel()
	dir := t.TempDir()
	entries := madeEntries(t, dir)
	for _, c := range []struct {
		times   string
		entries []entry
	}{
		{"spark", []entry{timesEntry(t)}},
		{"iceberg", []entry{timesEntry(t), entries[0], entries[1]}},
	} {
		converted := convertAll(t, c.entries, "--format=parquet", "--times="+c.times)
		wantLimits(t, converted, engineFaults(t, converted, c.times))
		wantWitnesses(t, converted)
		for _, k := range converted {
			wantRoundTrip(t, k)
		}
		if c.times == "spark" {
			continue // no schema resolves nanoseconds to microseconds
		}
		java := []conversion{converted[0], converted[2]}
		for i := range java {
			file := filepath.Join(t.TempDir(), "stored.avsc")
			must(t, os.WriteFile(file, []byte(storedSchema(t, java[i].parts[0])), 0o600))
			java[i].path = toAvro(t, java[i].path, "--schema="+file)
		}
		wantLimits(t, java, javaFaults(t, java))
	}
	r := run(t, "convert", "--format=parquet", "--times=spark", entries[0].path, filepath.Join(dir, "refused"))
	r.want(t, 3).wantComplaint(t, "all.avro", "column nanos", "row 0", "1700000000123456789 nanoseconds are not a whole number of microseconds")
}

// storedSchema returns the Avro schema that a part has for Java.
func storedSchema(t *testing.T, part string) string {
	t.Helper()
	var report struct {
		Result struct {
			Metadata []struct{ Key, Value string }
		}
	}
	must(t, json.Unmarshal([]byte(run(t, "inspect", "--json", part).want(t, 0).stdout), &report))
	for _, m := range report.Result.Metadata {
		if m.Key == "parquet.avro.schema" {
			return m.Value
		}
	}
	return ""
}

// TestParquetReplacedText has engines read strings that were not UTF-8. Their values must be those
// of a file that has U+FFFD in these places.
func TestParquetReplacedText(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"record","name":"R","fields":[{"name":"s","type":"string"},{"name":"m","type":{"type":"map","values":"string"}}]}`
	file := func(name string, change func(string) string) entry {
		var data []byte
		const rows = 500
		for i := range rows {
			s := change(fmt.Sprintf("%d \xe9\xe8 caf\xe9 %s", i, strings.Repeat("\xff", i%3)))
			data = append(sized(sized(varints(sized(data, s), 1), s), s), 0)
		}
		return entry{file: name, path: writeAvro(t, name, schema, block{rows, data}), rows: rows, class: "ok"}
	}
	latin := file("latin", func(s string) string { return s })
	valid := file("valid", func(s string) string { return strings.ToValidUTF8(s, "\uFFFD") })
	converted := convertAll(t, []entry{latin}, "--format=parquet", "--invalid-utf8=replace")
	run(t, "verify", converted[0].dest, "--against", latin.path).want(t, 0)
	run(t, "verify", converted[0].dest, "--against", latin.path, "--require-complete").want(t, 6)
	converted[0].path = valid.path
	wantLimits(t, converted, engineFaults(t, converted))
	wantRoundTrip(t, converted[0])
}

// TestParquetSortedRows has pyarrow find the columns by which rows are sorted, and engines read
// such files.
func TestParquetSortedRows(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"record","name":"R","fields":[{"name":"s","type":"string"},{"name":"o","type":["null","long"]}]}`
	var data []byte
	const rows = 4000
	for i := range int64(rows) {
		data = sized(data, fmt.Sprintf("%05d", i/7))
		if i%7 < 2 {
			data = append(data, 0)
		} else {
			data = varints(append(data, 2), i%7)
		}
	}
	e := entry{file: "sorted", path: writeAvro(t, "sorted", schema, block{rows, data}), rows: rows, class: "ok"}
	converted := convertAll(t, []entry{e}, "--format=parquet", "--sorted-by=s,o", "--compression=none", "--row-group-size=8KiB", "--block-size=1KiB")
	if len(converted[0].parts) < 2 {
		t.Errorf("%d parts", len(converted[0].parts))
	}
	wantLimits(t, converted, engineFaults(t, converted))
	const program = "import sys, pyarrow.parquet as pq\nfor p in sys.argv[1:]: print(pq.read_metadata(p).row_group(0).sorting_columns)"
	for line := range strings.Lines(pythonWith(t, nil, "-c", append([]string{program}, converted[0].parts...)...)) {
		const want = "(SortingColumn(column_index=0, descending=False, nulls_first=True), SortingColumn(column_index=1, descending=False, nulls_first=True))"
		if strings.TrimSpace(line) != want {
			t.Errorf("pyarrow finds the columns %s", line)
		}
	}
}
