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

// TestMemoryWithoutUnit checks that a job file and a flag say what a small number probably means.
func TestMemoryWithoutUnit(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/job.yaml", []byte("memory: 512\n"))
	rowtocol(t, dir, nil, "count", "--config", "job.yaml", "in").want(t, 1, "job.yaml:1: memory: 512 is a number of bytes; did you mean 512MiB?")
	rowtocol(t, dir, nil, "submit", "--memory", "512", "in", "out").want(t, 1, "--memory: 512 is a number of bytes; did you mean 512MiB?")
	rowtocol(t, dir, nil, "count", "--memory", "100000", "in").want(t, 1, "--memory must be at least 16MiB")
}
