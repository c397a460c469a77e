package main

import (
	"strings"
	"testing"
	"time"
)

// tableJob is a job file that rowtocol and rowtocol-iceberg share.
const tableJob = `input: [in]
dest: out
format: parquet
table:
  name: t.pairs
  catalog: sql
  uri: sqlite:///catalog.db
  warehouse: tables
  keep-snapshots: 10
  properties: {scope: all}
`

// TestTableOfJob checks that a job with a table chooses times for tables, and keeps replaced files,
// unless the user says otherwise.
func TestTableOfJob(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/a.avro", 0, 10)
	write(t, dir+"/job.yaml", []byte(tableJob))
	config := []string{"--config", "job.yaml"}
	times := func(want string) {
		t.Helper()
		if options := string(manifestIn(t, dir+"/out").Request.Options.FormatOptions); !strings.Contains(options, want) {
			t.Errorf("the options of the format are %s, want %s", options, want)
		}
	}
	rowtocol(t, dir, nil, append([]string{"convert"}, config...)...).want(t, 0)
	times(`"times": "iceberg"`)
	rowtocol(t, dir, nil, append([]string{"convert", "--format", "trevni"}, config...)...).want(t, 1, "--format: the job has a table, which needs the format parquet (--format trevni was given)")
	writePairs(t, dir, "in/b.avro", 10, 10)
	rowtocol(t, dir, nil, append([]string{"convert", "--overwrite"}, config...)...).want(t, 0)
	if s := statusIn(t, dir, "out"); len(s.Kept) != 1 || s.Kept[0].From.Sub(s.Kept[0].Changed) != 48*time.Hour {
		t.Errorf("kept %+v", s.Kept)
	}
	writePairs(t, dir, "in/c.avro", 20, 10)
	rowtocol(t, dir, nil, append([]string{"convert", "--overwrite", "--keep-replaced", "0s", "--times", "spark"}, config...)...).want(t, 0)
	times(`"times": "spark"`)
	if s := statusIn(t, dir, "out"); len(s.Kept) != 1 {
		t.Errorf("kept %+v", s.Kept)
	}
	rowtocol(t, dir, nil, append([]string{"plan", "in", "out", "-o", "plan.json"}, config...)...).want(t, 0)
	rowtocol(t, dir, nil, "task", "--plan", "plan.json", "--task", "0").want(t, 0)
	rowtocol(t, dir, nil, append([]string{"commit", "--overwrite", "--plan", "plan.json"}, config...)...).want(t, 0)
	times(`"times": "iceberg"`)
	if s := statusIn(t, dir, "out"); len(s.Kept) != 2 {
		t.Errorf("kept %+v", s.Kept)
	}
	rowtocol(t, dir, []string{"ROWTOCOL_TABLE=t.pairs", "ROWTOCOL_CATALOG=sql"}, "convert", "in", "trv").want(t, 1, "needs the format parquet")
}

// TestWrongTableOfJob checks that unknown keys of the section table are refused.
func TestWrongTableOfJob(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/a.avro", 0, 10)
	for text, want := range map[string]string{
		"table: {nam: a.b}\n":              `job.yaml:1: \"table.nam\" is not a flag of rowtocol; did you mean table.name?`,
		"table: a.b\n":                     `\"table\" is not a flag of rowtocol`,
		"catalog: sql\n":                   `\"catalog\" is not a flag of rowtocol`,
		"table: {name: a.b, name: a.c}\n":  "table.name is given twice",
		"table:\n  name:\n":                "job.yaml:2: table.name: has no value",
		"format: parquet\ntable: [a, b]\n": `\"table\" is not a flag of rowtocol`,
	} {
		write(t, dir+"/job.yaml", []byte(text))
		rowtocol(t, dir, nil, "convert", "--config", "job.yaml", "in", "out").want(t, 1, want)
	}
}
