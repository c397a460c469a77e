package e2e

import (
	"fmt"
	"testing"
)

// filteredColumns are the columns of parquetfilters.py that get a Bloom filter.
var filteredColumns = []string{
	"id", "number", "text", "raw", "few", "mark", "color", "day", "millis", "local", "clock", "uid", "rec.x", "tags", "labels>key", "labels>value",
}

// TestParquetFilters writes Bloom filters. They must have all values of their columns for
// parquet-java and DuckDB, and few others. DuckDB and rowtocol must read less by them, and
// rowtocol by the nulls and bounds of pages.
func TestParquetFilters(t *testing.T) {
	needJava(t)
	t.Parallel()
	dir := t.TempDir()
	avro, plain, filtered := dir+"/rows.avro", dir+"/plain", dir+"/filtered"
	python(t, "parquetfilters.py", "make", avro)
	convert := func(dest string, flags ...string) string {
		args := append([]string{"convert", "--json", "--format=parquet", "--block-size=16KiB", avro, dest}, flags...)
		return run(t, args...).want(t, 0).report(t).parts(dest)[0]
	}
	var filters []string
	for _, c := range filteredColumns {
		filters = append(filters, "--bloom-filter="+c)
	}
	plainFile, filteredFile := convert(plain), convert(filtered, filters...)
	run(t, "verify", filtered, "--against", avro).want(t, 0)

	lines := java.call(t, "filters", filteredFile)
	if len(lines) != len(filteredColumns) {
		t.Errorf("parquet-java reads %d filters: %s", len(lines), lines)
	}
	for _, line := range lines {
		var column string
		var values, found, others int
		if _, err := fmt.Sscan(line, &column, &values, &found, &others); err != nil || values < 1000 || found != values || others > 200 {
			t.Errorf("column, values, those in the filter, others of 10,000: %s, %v", line, err)
		}
	}
	python(t, "parquetfilters.py", "judge", plainFile, filteredFile)

	selected := func(dest, condition string) (rows, bytes int64) {
		r := run(t, "cat", "--json", "--columns", "id", "--where", condition, "--output", dir+"/ids.csv", "--to", "csv", "--overwrite", dest).want(t, 0).report(t)
		return r.Result.Rows, r.Result.Read
	}
	for _, c := range []struct {
		dest, condition string
		rows            int64
		whole           string // a condition on the same columns by which nothing is skipped
	}{
		{plain, "early < '00010'", 10, "early + '' < '00010'"},
		{plain, "early >= '01990' and late is null", 10, "early + '' >= '01990' and late + '' is null"},
		{plain, "late > '19995'", 5, "late + '' > '19995'"},
		{filtered, "id = 4000001", 0, "id + 0 = 4000001"},
		{filtered, "rec.x in (4000001, 4000003)", 0, "rec.x + 0 in (4000001, 4000003)"},
		{filtered, "any(tags, # = 'tag 4000001')", 0, "any(tags, # + '' = 'tag 4000001')"},
		{filtered, "text = 'text 4000001'", 0, "text + '' = 'text 4000001'"},
		{plain, "few = 'few 1'", 0, "few + '' = 'few 1'"}, // by the dictionary
	} {
		rows, part := selected(c.dest, c.condition)
		same, whole := selected(c.dest, c.whole)
		t.Logf("%s: %d bytes read, %d of the whole columns, with the footer", c.condition, part, whole)
		const footer = 64 << 10 // the first read
		if rows != c.rows || same != rows || 2*(part-footer) > whole-footer {
			t.Errorf("%s: %d rows, expected %d and at most half the bytes", c.condition, rows, c.rows)
		}
	}
}
