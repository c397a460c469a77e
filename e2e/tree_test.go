package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKeysOfDirectories compares the keys of a tree's directories with the columns of
// DuckDB's hive_partitioning. Neither it nor pyarrow sees a key in an increment.
func TestKeysOfDirectories(t *testing.T) {
	dir := t.TempDir()
	for i, leaf := range []string{
		"dt=2026-01-01/hour=7/place=a%20b%2Fc", "dt=2026-01-01/hour=10/place=x", "dt=2025-12-31/hour=9/place=__HIVE_DEFAULT_PARTITION__",
		"dt=2025-12-31/hour=23/place=%C3%A9", "dt=2025-12-31/hour=-1/place=1",
	} {
		out := filepath.Join(dir, "tree", leaf)
		must(t, os.MkdirAll(filepath.Dir(out), 0o755))
		toParquet := func(from string) {
			to := filepath.Join(dir, "parquet", strings.TrimPrefix(from, dir+"/tree"), "rows.parquet")
			must(t, os.MkdirAll(filepath.Dir(to), 0o755))
			run(t, "cat", "--columns", "id,from,size", "--to", "parquet", "--output", to, from).want(t, 0)
		}
		avro := fmt.Sprintf("%s/mail%d.avro", dir, i)
		writeMail(t, avro, int64(40+i))
		run(t, "convert", avro, out).want(t, 0)
		toParquet(out)
		late := fmt.Sprintf("%s/late%d.avro", dir, i)
		writeMail(t, late, int64(10+i))
		run(t, "convert", "--incremental", late, out).want(t, 0)
		increments, err := filepath.Glob(filepath.Join(out, "increment-*"))
		if err != nil || len(increments) != 1 {
			t.Fatal(increments, err)
		}
		toParquet(increments[0])
	}
	run(t, "cat", "--columns", "id,from,size,dt,hour,place", "--to", "parquet", "--output", dir+"/rows.parquet", dir+"/tree").want(t, 0)
	python(t, "partitions.py", dir+"/parquet", dir+"/rows.parquet", "dt", "hour", "place")
}

// TestPolarsPattern has Polars read Parquet files by the patterns that docs/reading.md names.
func TestPolarsPattern(t *testing.T) {
	dir := t.TempDir()
	for i, leaf := range []string{"dt=2026-01-01", "dt=2026-01-02"} {
		must(t, os.MkdirAll(filepath.Join(dir, "in", leaf), 0o755))
		writeMail(t, fmt.Sprintf("%s/in/%s/a.avro", dir, leaf), int64(40+i))
	}
	for range 2 {
		run(t, "convert", "--format", "parquet", "--index", "id", "--incremental", dir+"/in", dir+"/out").want(t, 0)
		run(t, "convert", "--format", "parquet", "--partitioned", dir+"/in", dir+"/tree").want(t, 0)
		writeMail(t, dir+"/in/dt=2026-01-01/b.avro", 10)
	}
	for _, args := range [][]string{{"out"}, {"tree", "dt"}} {
		rows := strings.TrimSpace(run(t, "count", dir+"/"+args[0]).want(t, 0).stdout)
		python(t, "polarspattern.py", append([]string{dir + "/" + args[0], rows}, args[1:]...)...)
	}
}
