package main

import (
	"fmt"
	"slices"
	"testing"
)

// TestInputAndDestFlags sets inputs and destination in the job file and the environment.
// Arguments override them, and ambiguous arguments are refused.
func TestInputAndDestFlags(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/a.avro", 0, 10)
	writePairs(t, dir, "in/b.avro", 10, 10)
	writePairs(t, dir, "c.avro", 20, 5)
	write(t, dir+"/job.yaml", []byte("input: [in/a.avro, in/b.avro]\ndest: from.file\n"))
	write(t, dir+"/half.yaml", []byte("dest: from.file\n"))
	for _, tt := range []struct {
		args, env []string
		dest      string
		rows      int64
	}{
		{[]string{"--config", "job.yaml"}, nil, "from.file", 20},
		{[]string{"--config", "job.yaml", "c.avro", "from.arguments"}, nil, "from.arguments", 5},
		{[]string{"--config", "job.yaml", "--input", "c.avro", "--dest", "from.flags"}, nil, "from.flags", 5},
		{[]string{"--config", "job.yaml"}, []string{"ROWTOCOL_INPUT=in/a.avro,c.avro", "ROWTOCOL_DEST=from.environment"}, "from.environment", 15},
		{[]string{"--input", "in", "--input", "c.avro", "--dest", "from.two"}, nil, "from.two", 25},
	} {
		var c converted
		rowtocol(t, dir, tt.env, append([]string{"convert", "--json"}, tt.args...)...).want(t, 0).object(t, &c)
		if c.Dest != tt.dest || c.Rows != tt.rows {
			t.Errorf("convert %s %s: %d rows in %s, want %d in %s", tt.env, tt.args, c.Rows, c.Dest, tt.rows, tt.dest)
		}
		rowtocol(t, dir, tt.env, append([]string{"plan", "-o", "plan.json"}, tt.args...)...).want(t, 0, tt.dest+" holds the output of this plan already")
	}
	before := fileSums(t, dir)
	for _, tt := range []struct {
		args []string
		text string
	}{
		{nil, "needs inputs and a destination"},
		{[]string{"--input", "in"}, "needs inputs and a destination"},
		{[]string{"--config", "half.yaml"}, "needs inputs and a destination"},
		{[]string{"out"}, "cannot run with 1 argument"},
		{[]string{"--config", "job.yaml", "out"}, "cannot run with 1 argument"},
		{[]string{"--input", "in", "c.avro", "out"}, "--input and arguments"},
		{[]string{"--dest", "out", "in", "c.avro"}, "--dest and arguments"},
	} {
		rowtocol(t, dir, nil, append([]string{"convert"}, tt.args...)...).want(t, 1, tt.text)
		rowtocol(t, dir, nil, append([]string{"plan", "-o", "new.json"}, tt.args...)...).want(t, 1, tt.text)
	}
	wantUnchanged(t, dir, before)
}

// TestShares checks that shares cover each task once, for any number of shares.
func TestShares(t *testing.T) {
	dir := t.TempDir()
	p := plannedSteps(t, dir, 3000)
	shares := p.Tasks - 1
	var all []int
	for i := range shares {
		var done tasksDone
		rowtocol(t, dir, nil, "task", "--json", "--plan", "plan.json", "--share", fmt.Sprintf("%d/%d", i, shares)).want(t, 0).object(t, &done)
		all = append(all, done.Tasks...)
	}
	slices.Sort(all)
	for n := range p.Tasks {
		if len(all) != p.Tasks || all[n] != n {
			t.Fatalf("the tasks %v ran, of %d", all, p.Tasks)
		}
	}
	rowtocol(t, dir, nil, "task", "--exit-nothing", "99", "--plan", "plan.json", "--share", fmt.Sprintf("%d/%d", p.Tasks, p.Tasks+1)).want(t, 99)
	rowtocol(t, dir, nil, "commit", "--plan", "plan.json").want(t, 0)
	for _, share := range []string{"1", "/", "0/0", "2/2", "-1/2", "a/b", "1/2/3", "0/99999999999999999999"} {
		rowtocol(t, dir, nil, "task", "--plan", "plan.json", "--share", share).want(t, 1, "--share")
	}
	rowtocol(t, dir, nil, "task", "--plan", "plan.json", "--share", "0/2", "--task", "0").want(t, 1, "--share")
}
