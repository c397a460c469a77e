package e2e

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/soak"
)

// TestConditionsOfDuckDB selects rows of outputs by random conditions, and compares with
// DuckDB on a Parquet file of the same rows, or on the output itself.
func TestConditionsOfDuckDB(t *testing.T) {
	for seed := range soak.Rounds(1, 8) {
		dir := t.TempDir()
		avro, conditions := dir+"/rows.avro", dir+"/conditions.json"
		python(t, "conditions.py", "make", avro, conditions, strconv.Itoa(2*seed), strconv.Itoa(soak.Rounds(60, 250)))
		for _, format := range []string{"trevni", "parquet"} {
			columns := dir + "/" + format
			args := []string{"convert", "--format", format, "--row-group-size", "100KiB", "--block-size", "4KiB", avro, columns}
			parquet := columns + "/*.parquet"
			if format == "parquet" { // several parts, so that bounds, dictionaries and filters exclude some
				args[4] = "80KiB"
				for _, c := range []string{"i", "oi", "ol", "s", "os", "color", "day", "micros", "rec.x", "tags", "hops.host", "labels>value"} {
					args = append(args, "--bloom-filter", c)
				}
			}
			run(t, args...).want(t, 0)
			if format == "trevni" {
				parquet = dir + "/rows.parquet"
				run(t, "cat", "--to", "parquet", "--output", parquet, columns).want(t, 0)
			}
			answers := columns + ".json"
			must(t, os.WriteFile(answers, selectIDs(t, columns, conditions), 0o644))
			python(t, "conditions.py", "judge", parquet, conditions, answers)
		}
	}
}

// TestFiltersOfEngines selects rows of Parquet files by random conditions, and compares with
// pyarrow and Polars, which use the statistics of the files.
func TestFiltersOfEngines(t *testing.T) {
	for seed := range soak.Rounds(1, 8) {
		dir := t.TempDir()
		avro, conditions, answers, dest := dir+"/rows.avro", dir+"/conditions.json", dir+"/answers.json", dir+"/out"
		python(t, "filters.py", "make", avro, conditions, strconv.Itoa(2*seed+100), strconv.Itoa(soak.Rounds(40, 250)))
		r := run(t, "convert", "--json", "--format", "parquet", "--row-group-size", "150KiB", "--block-size", "4KiB", avro, dest).want(t, 0)
		must(t, os.WriteFile(answers, selectIDs(t, dest, conditions), 0o644))
		python(t, "filters.py", append([]string{"judge", conditions, answers}, r.report(t).parts(dest)...)...)
	}
}

// TestBoundsBesideNaN selects rows of a Parquet file of pyarrow. Its bounds leave out NaN, but
// conditions that are true of NaN must find it. In files of convert and cat, engines must find it.
func TestBoundsBesideNaN(t *testing.T) {
	dir := t.TempDir()
	file := dir + "/nan.parquet"
	python(t, "filters.py", "nan", file)
	run(t, "verify", file).want(t, 0)
	const all, nans = "200\n", "4\n"
	for condition, want := range map[string]string{
		"d <> 1": nans, "d <> d": nans, "not (d < 2)": nans, "not (d >= 1)": nans, "d not in (1, 2)": nans, "d <> 2": all, "not (d > 1)": all,
		"d = 1": "196\n", "d > 1": "0\n",
	} {
		if got := run(t, "count", "--where", condition, file).want(t, 0).stdout; got != want {
			t.Errorf("%s: %q rows, want %q", condition, got, want)
		}
	}
	run(t, "cat", "--to", "avro", "--output", dir+"/nan.avro", file).want(t, 0)
	run(t, "cat", "--to", "parquet", "--output", dir+"/cat.parquet", dir+"/nan.avro").want(t, 0)
	r := run(t, "convert", "--json", "--format", "parquet", dir+"/nan.avro", dir+"/out").want(t, 0)
	for _, part := range append(r.report(t).parts(dir+"/out"), dir+"/cat.parquet") {
		python(t, "filters.py", "find", part)
	}
}

// selectIDs returns, as JSON, the ids of the rows that meet each condition of a file.
func selectIDs(t *testing.T, columns, conditions string) []byte {
	t.Helper()
	text, err := os.ReadFile(conditions)
	must(t, err)
	var asked [][2]string
	must(t, json.Unmarshal(text, &asked))
	answered := make([][]int, len(asked))
	for i, condition := range asked {
		answered[i] = []int{}
		out := run(t, "cat", "--columns", "id", "--to", "csv", "--where", condition[0], columns).want(t, 0).stdout
		for _, line := range strings.Fields(out)[1:] {
			id, err := strconv.Atoi(line)
			must(t, err)
			answered[i] = append(answered[i], id)
		}
	}
	text, err = json.Marshal(answered)
	must(t, err)
	return text
}
