package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// The keys of a tree's directories are columns as DuckDB's hive_partitioning has them.
func TestKeysOfDirectories(t *testing.T) {
	dir := t.TempDir()
	for i, leaf := range []string{
		"dt=2026-01-01/hour=7/place=a%20b%2Fc", "dt=2026-01-01/hour=10/place=x", "dt=2025-12-31/hour=9/place=__HIVE_DEFAULT_PARTITION__",
		"dt=2025-12-31/hour=23/place=%C3%A9", "dt=2025-12-31/hour=-1/place=1",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, "tree", leaf)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(dir, "parquet", leaf), 0o755); err != nil {
			t.Fatal(err)
		}
		avro := dir + "/mail.avro"
		writeMail(t, avro, int64(40+i))
		run(t, "convert", avro, filepath.Join(dir, "tree", leaf)).want(t, 0)
		run(t, "cat", "--columns", "id,from,size", "--to", "parquet", "--output", filepath.Join(dir, "parquet", leaf, "rows.parquet"), filepath.Join(dir, "tree", leaf)).want(t, 0)
	}
	run(t, "cat", "--columns", "id,from,size,dt,hour,place", "--to", "parquet", "--output", dir+"/rows.parquet", dir+"/tree").want(t, 0)
	python(t, "partitions.py", dir+"/parquet", dir+"/rows.parquet", "dt", "hour", "place")
}
