package main

import "testing"

// TestRowGroupSizeWithoutUnit checks that a small size without a unit is no size in bytes.
func TestRowGroupSizeWithoutUnit(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/a.avro", 0, 10)
	convert := func(size string) output {
		return rowtocol(t, dir, nil, "convert", "--dry-run", "--row-group-size", size, "in", "out")
	}
	for _, size := range []string{"128", "65535"} {
		convert(size).want(t, 1, "--row-group-size: "+size+" is a number of bytes; did you mean "+size+"MiB?")
		rowtocol(t, dir, []string{"ROWTOCOL_ROW_GROUP_SIZE=" + size}, "convert", "in", "out").want(t, 1, "did you mean "+size+"MiB?")
	}
	for _, size := range []string{"65536", "1000000", "65535B", "64KiB", "1023KiB"} {
		convert(size).want(t, 0, "which makes many small files")
	}
	convert("0").want(t, 1, "must be more than 0")
	for _, size := range []string{"1048576", "1MiB", "128MiB"} {
		convert(size).want(t, 0).lacks(t, "which makes many small files")
	}
}
