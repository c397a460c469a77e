package main

import (
	"os"
	"testing"
)

// TestWatchersOutside names report files that are other documents, or in destinations. The run
// must be refused before any work; a wrong flag is reported first.
func TestWatchersOutside(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/a.avro", 0, 10)
	writePairs(t, dir, "days/dt=1/a.avro", 0, 10)
	rowtocol(t, dir, nil, "convert", "in", "out").want(t, 0)
	rowtocol(t, dir, nil, "convert", "--incremental", "in", "grown").want(t, 0)
	rowtocol(t, dir, nil, "convert", "--partitioned", "days", "tree").want(t, 0)
	rowtocol(t, dir, nil, "plan", "in", "new", "-o", "plan.json").want(t, 0)
	rowtocol(t, dir, nil, "convert", "--lineage", "runs.jsonl", "in", "out").want(t, 0)
	write(t, dir+"/job.json", []byte(`{"codec": "snappy"}`))
	write(t, dir+"/pairs.avsc", []byte(pairSchema))
	write(t, dir+"/working/.rowtocol/0123456789abcdef/x", nil)
	write(t, dir+"/locked/_lock", nil)
	must(t, os.Symlink("out/_SUCCESS", dir+"/link"))
	before := fileSums(t, dir)
	for _, c := range []struct{ flag, name, text string }{
		{"--lineage", "out/_SUCCESS", "not an OpenLineage event"},
		{"--lineage", "link", "not an OpenLineage event"},
		{"--lineage", "plan.json", "not an OpenLineage event"},
		{"--lineage", "job.json", "not an OpenLineage event"},
		{"--lineage", "pairs.avsc", "not an OpenLineage event"},
		{"--lineage", "in/a.avro", "not an OpenLineage event"},
		{"--lineage", "in", "is not a regular file"},
		{"--lineage", "out/runs.jsonl", "is a destination"},
		{"--lineage", "grown/runs.jsonl", "is a destination"},
		{"--lineage", "tree/runs.jsonl", "is a destination"},
		{"--lineage", "tree/dt=1/runs.jsonl", "is a destination"},
		{"--lineage", "working/runs.jsonl", "is a destination"},
		{"--lineage", "locked/below/runs.jsonl", "is a destination"},
		{"--lineage", "new/runs.jsonl", "in the destination"},
		{"--metrics-file", "out/m.prom", "is a destination"},
		{"--metrics-file", "grown/m.prom", "is a destination"},
		{"--metrics-file", "tree/m.prom", "is a destination"},
		{"--metrics-file", "new/dt=1/m.prom", "in the destination"},
		{"--metrics-file", "out", "is a destination"},
		{"--metrics-file", "new/", "in the destination"},
	} {
		rowtocol(t, dir, nil, "convert", c.flag, c.name, "in", "new").want(t, 1, c.flag, c.text)
		if c.text != "in the destination" {
			rowtocol(t, dir, nil, "convert", c.flag, c.name, "--memory", "none", "in", "new").want(t, 1, "--memory")
		}
		rowtocol(t, dir, nil, "commit", c.flag, c.name, "--plan", "plan.json").want(t, 1, c.flag, c.text)
	}
	for _, out := range []string{"out/p.json", "grown/p.json", "tree/p.json", "tree/dt=1/p.json", "working/p.json", "locked/p.json"} {
		rowtocol(t, dir, nil, "plan", "in", "new", "-o", out).want(t, 1, "--output", "is a destination")
		rowtocol(t, dir, nil, "cat", "out", "--output", out).want(t, 1, "--output", "is a destination")
		rowtocol(t, dir, nil, "inspect", "grown", "--html", out).want(t, 1, "--html", "is a destination")
	}
	wantUnchanged(t, dir, before)
	must(t, os.Symlink("out/runs.jsonl", dir+"/nowhere"))
	rowtocol(t, dir, nil, "convert", "--lineage", "nowhere", "in", "new").want(t, 1, "--lineage", "leads nowhere")
}
