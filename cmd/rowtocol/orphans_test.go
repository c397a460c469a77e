package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestLostSuccess removes the _SUCCESS of an output whose inputs were deleted. Its rows and
// those of its increments must stay until --overwrite.
func TestLostSuccess(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/a.avro", 0, 30)
	rowtocol(t, dir, nil, "convert", "in", "out").want(t, 0)
	writePairs(t, dir, "in/b.avro", 30, 10)
	convertIncremental(t, dir).want(t, 0)
	for _, name := range []string{"in/a.avro", "in/b.avro"} {
		must(t, os.Remove(filepath.Join(dir, name)))
	}
	writePairs(t, dir, "in/c.avro", 40, 5)
	success, saved := filepath.Join(dir, "out/_SUCCESS"), filepath.Join(dir, "saved")
	must(t, os.Rename(success, saved))
	const lost = "belongs to is missing"
	for _, args := range [][]string{
		{"convert", "--incremental", "in", "out"},
		{"convert", "in", "out"},
		{"plan", "--incremental", "in", "out", "-o", "plan.json"},
	} {
		rowtocol(t, dir, nil, args...).want(t, 9, lost)
	}
	rowtocol(t, dir, nil, "clean", "out").want(t, 0)
	rowtocol(t, dir, nil, "status", "out").want(t, 0, "damaged", lost).lacks(t, "nothing of rowtocol's")
	rowtocol(t, dir, nil, "count", "out").want(t, 3)
	must(t, os.Rename(saved, success))
	convertIncremental(t, dir).want(t, 0)
	wantIDs(t, dir, idRange(0, 45)...)

	must(t, os.Rename(success, saved))
	rowtocol(t, dir, nil, "convert", "--overwrite", "in", "out").want(t, 0)
	wantIDs(t, dir, idRange(40, 5)...)
	if runs := incrementNames(t, dir); len(runs) > 0 {
		t.Errorf("the increments %v are left", runs)
	}
}

// TestLostSuccessOfAPartition checks that a partition of unknown inputs is not converted again.
func TestLostSuccessOfAPartition(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/k=1/a.avro", 0, 30)
	rowtocol(t, dir, nil, "convert", "--partitioned", "in", "out").want(t, 0)
	writePairs(t, dir, "in/k=1/a.avro", 30, 10)
	must(t, os.Remove(filepath.Join(dir, "out/k=1/_SUCCESS")))
	rowtocol(t, dir, nil, "convert", "--partitioned", "in", "out").want(t, 9, "k=1")
	rowtocol(t, dir, nil, "convert", "--partitioned", "--reprocess", "in", "out").want(t, 9, "rows of unknown inputs")
}
