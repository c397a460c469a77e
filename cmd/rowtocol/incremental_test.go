package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/soak"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// incrementNames returns the names of the increments in dir/out, sorted by number.
func incrementNames(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "out"))
	must(t, err)
	for _, e := range entries {
		if _, _, ok := manifest.ParseIncrement(e.Name()); ok {
			names = append(names, e.Name())
		}
	}
	return names
}

// wantIDs checks the IDs of the rows of dir/out, in their order.
func wantIDs(t *testing.T, dir string, ids ...int) {
	t.Helper()
	o := rowtocol(t, dir, nil, "cat", "out", "--columns", "id").want(t, 0)
	var got []int
	for _, line := range strings.Fields(o.stdout) {
		var row struct{ ID int }
		must(t, json.Unmarshal([]byte(line), &row))
		got = append(got, row.ID)
	}
	if !slices.Equal(got, ids) {
		t.Errorf("the rows are %v, want %v", got, ids)
	}
}

func idRange(first, rows int) (ids []int) {
	for i := range rows {
		ids = append(ids, first+i)
	}
	return ids
}

// convertIncremental converts the new inputs of dir/in to dir/out.
func convertIncremental(t *testing.T, dir string, args ...string) output {
	t.Helper()
	return rowtocol(t, dir, nil, append([]string{"convert", "--incremental", "in", "out"}, args...)...)
}

func TestIncremental(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/a.avro", 0, 30)
	convertIncremental(t, dir).want(t, 0, "out: 30 rows")
	writePairs(t, dir, "in/0.avro", 100, 20)
	writePairs(t, dir, "in/c.avro", 200, 10)
	var r converted
	convertIncremental(t, dir, "--json", "--row-group-size", "1MiB").want(t, 0).object(t, &r)
	if r.Inputs != 2 || r.Rows != 30 || r.Nothing {
		t.Errorf("%+v", r)
	}
	names := incrementNames(t, dir)
	if _, err := os.Stat(dir + "/out/_SUCCESS"); err == nil || len(names) != 2 {
		t.Fatalf("the increments are %q, want 2 without an output: %v", names, err)
	}
	for i, name := range names {
		s := manifestIn(t, filepath.Join(dir, "out", name))
		if s.Sequence != int64(i)+1 || !s.Increment || s.Base != "" || name != manifest.IncrementName(s.Sequence, s.ID) {
			t.Errorf("%s is increment %d, %s, of the output %q", name, s.Sequence, s.ID, s.Base)
		}
	}
	wantIDs(t, dir, slices.Concat(idRange(0, 30), idRange(100, 20), idRange(200, 10))...)
	rowtocol(t, dir, nil, "count", "out").want(t, 0, "60")
	rowtocol(t, dir, nil, "verify", "out", "--against", "in", "--require-complete").want(t, 0)
	rowtocol(t, dir, nil, "inspect", "out").want(t, 0, "60 rows")

	before := fileSums(t, dir)
	convertIncremental(t, dir, "--dry-run").want(t, 0, "0 inputs", "holds")
	convertIncremental(t, dir).want(t, 0, "nothing to do")
	convertIncremental(t, dir, "--exit-nothing", "99").want(t, 99)
	rowtocol(t, dir, nil, "convert", "in", "out").want(t, 9, "increments (2)", "--incremental adds")
	convertIncremental(t, dir, "--overwrite").want(t, 1, "--overwrite")
	convertIncremental(t, dir, "--recursive", "bytes").want(t, 9, "recursive")
	write(t, dir+"/other.avsc", []byte(`{"type":"record","name":"Pair","namespace":"t","fields":[{"name":"id","type":"long"}]}`))
	convertIncremental(t, dir, "--schema", "other.avsc").want(t, 9, "schema")
	write(t, dir+"/same.avsc", []byte(strings.Replace(pairSchema, `"type":"record"`, `"doc":"the same", "type":"record"`, 1)))
	convertIncremental(t, dir, "--schema", "same.avsc").want(t, 0, "nothing to do")
	delete(before, "/tmp")
	after := fileSums(t, dir)
	delete(after, "/other.avsc")
	delete(after, "/same.avsc")
	if len(before) != len(after) {
		t.Errorf("runs without effect changed %v to %v", before, after)
	}

	// --overwrite makes one output of all.
	rowtocol(t, dir, nil, "convert", "--overwrite", "in", "out").want(t, 0, "60 rows")
	if names := incrementNames(t, dir); len(names) > 0 {
		t.Errorf("%q are left", names)
	}
	wantIDs(t, dir, slices.Concat(idRange(100, 20), idRange(0, 30), idRange(200, 10))...)
	writePairs(t, dir, "in/d.avro", 300, 5)
	convertIncremental(t, dir).want(t, 0, "5 rows")
	s, out := manifestIn(t, filepath.Join(dir, "out", incrementNames(t, dir)[0])), manifestIn(t, dir+"/out")
	if s.Base != out.ID || s.Sequence != 4 || out.Sequence != 3 {
		t.Errorf("increment %d belongs to %s, want the output %d, %s", s.Sequence, s.Base, out.Sequence, out.ID)
	}
	wantIDs(t, dir, slices.Concat(idRange(100, 20), idRange(0, 30), idRange(200, 10), idRange(300, 5))...)
}

// TestKnownInputs checks that known inputs are not opened if size and time are the same, and
// are otherwise recognized by their bytes.
func TestKnownInputs(t *testing.T) {
	for _, first := range []string{"--incremental", "--json"} { // an increment, and an output
		dir := t.TempDir()
		file := dir + "/in/a.avro"
		whole := writePairs(t, dir, "in/a.avro", 0, 30)
		old := time.Now().Add(-time.Hour)
		must(t, os.Chtimes(file, old, old))
		rowtocol(t, dir, nil, "convert", first, "in", "out").want(t, 0)
		info, err := os.Stat(file)
		must(t, err)
		writePairs(t, dir, "in/b.avro", 30, 30)
		write(t, file, make([]byte, len(whole)))
		must(t, os.Chtimes(file, time.Now(), info.ModTime()))
		convertIncremental(t, dir).want(t, 0, "30 rows")
		convertIncremental(t, dir).want(t, 0, "nothing to do")
		runs := incrementNames(t, dir)
		holder := "out"
		if first == "--incremental" {
			holder = "out/" + runs[0]
		}

		write(t, file, whole) // touched
		convertIncremental(t, dir).want(t, 0, "nothing to do")
		write(t, file, make([]byte, len(whole)))
		convertIncremental(t, dir).want(t, 3, file+" changed", "is not one now", holder+`"`)
		write(t, file, whole)
		flip(t, file, -20, 1)
		convertIncremental(t, dir).want(t, 3, file+" changed", "identity", holder+`"`)
		writePairs(t, dir, "in/a.avro", 0, 31)
		convertIncremental(t, dir).want(t, 3, file+" changed", "bytes", holder+`"`)
		write(t, file, nil)
		convertIncremental(t, dir).want(t, 3, file+" changed", "empty", holder+`"`)
		must(t, os.Remove(file))
		convertIncremental(t, dir).want(t, 0, "nothing to do")
		wantIDs(t, dir, idRange(0, 60)...)
	}
}

// TestSchemaOfIncrements resolves inputs of another schema to that of the first increment.
func TestSchemaOfIncrements(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/a.avro", 0, 3)
	convertIncremental(t, dir).want(t, 0)
	grown := strings.Replace(pairSchema, `"fields":[`, `"fields":[{"name":"more","type":"long"},`, 1)
	write(t, dir+"/in/b.avro", encodeAvro(t, grown, []byte{2, 14, 0})) // more 1, ID 7, no words
	convertIncremental(t, dir).want(t, 0, "1 row")
	wantIDs(t, dir, 0, 1, 2, 7)
	rowtocol(t, dir, nil, "verify", "out").want(t, 0, "4 rows")

	other := strings.Replace(pairSchema, `"id","type":"long"`, `"id","type":"string"`, 1)
	write(t, dir+"/in/c.avro", encodeAvro(t, other, []byte{0, 0}))
	convertIncremental(t, dir).want(t, 3, "in/c.avro")
}

// TestLossesOfIncrements checks that the last increment's losses are reported again.
func TestLossesOfIncrements(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/a.avro", 0, 30)
	flip(t, dir+"/in/a.avro", -20, 0xff)
	skip := []string{"--on-damage", "skip"}
	convertIncremental(t, dir).want(t, 3)
	convertIncremental(t, dir, skip...).want(t, 8)
	convertIncremental(t, dir, skip...).want(t, 8, "nothing to do")
	writePairs(t, dir, "in/b.avro", 30, 10)
	convertIncremental(t, dir, skip...).want(t, 0)
	convertIncremental(t, dir).want(t, 0, "nothing to do")
}

// TestForeignIncrements checks that foreign files at the place of increments are refused.
func TestForeignIncrements(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, out, increment string){
		"name": func(t *testing.T, out, _ string) { write(t, out+"/increment-x/a", nil) },
		"no manifest": func(t *testing.T, out, _ string) {
			write(t, out+"/"+manifest.IncrementName(9, "0123456789abcdef")+"/part", nil)
		},
		"a copy": func(t *testing.T, out, increment string) {
			write(t, out+"/"+manifest.IncrementName(9, "0123456789abcdef")+"/_SUCCESS", read(t, out+"/"+increment+"/_SUCCESS"))
		},
		"a link": func(t *testing.T, out, increment string) {
			must(t, os.Symlink(out+"/"+increment, out+"/"+manifest.IncrementName(9, "0123456789abcdef")))
		},
		"a file in an increment":       func(t *testing.T, out, increment string) { write(t, out+"/"+increment+"/x", nil) },
		"a lock in an increment":       func(t *testing.T, out, increment string) { write(t, out+"/"+increment+"/_lock", nil) },
		"an increment in an increment": func(t *testing.T, out, increment string) { write(t, out+"/"+increment+"/"+increment+"/x", nil) },
		"another part in an increment": func(t *testing.T, out, increment string) {
			write(t, out+"/"+increment+"/part-00000-0-0123456789abcdef.trv", nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writePairs(t, dir, "in/a.avro", 0, 3)
			convertIncremental(t, dir).want(t, 0)
			spoil(t, dir+"/out", incrementNames(t, dir)[0])
			before := incrementNames(t, dir)
			for _, mode := range []string{"--incremental", "--overwrite"} {
				rowtocol(t, dir, nil, "convert", mode, "in", "out").want(t, 9, "did not write", "increment-")
			}
			if after := incrementNames(t, dir); !slices.Equal(after, before) {
				t.Errorf("%v became %v", before, after)
			}
		})
	}

	dir := t.TempDir()
	writePairs(t, dir, "in/a.avro", 0, 3)
	convertIncremental(t, dir).want(t, 0)
	increment := filepath.Join(dir, "out", incrementNames(t, dir)[0])
	must(t, os.Remove(partOf(t, increment, 0)))
	convertIncremental(t, dir).want(t, 9, filepath.Base(increment), "is missing", "--overwrite without --incremental")
	rowtocol(t, dir, nil, "convert", "--overwrite", "in", "out").want(t, 0, "3 rows")
}

// TestStepsOfIncrements commits plans of new inputs in several orders.
func TestStepsOfIncrements(t *testing.T) {
	dir := t.TempDir()
	step := func(code int, args ...string) output {
		t.Helper()
		return rowtocol(t, dir, nil, args...).want(t, code)
	}
	plan := func(name string, inputs ...string) {
		t.Helper()
		step(0, slices.Concat([]string{"plan", "--incremental"}, inputs, []string{"out", "-o", name})...)
		step(0, "task", "--plan", name, "--task", "0")
	}
	writePairs(t, dir, "in/a.avro", 0, 10)
	writePairs(t, dir, "more/b.avro", 10, 10)
	plan("a.json", "in")
	plan("ab.json", "in", "more")
	plan("b.json", "more")
	step(1, "commit", "--plan", "a.json", "--overwrite")
	step(0, "commit", "--plan", "a.json")
	step(0, "commit", "--plan", "a.json").want(t, 0, "nothing to do")
	step(0, "task", "--plan", "a.json", "--task", "0")
	step(9, "commit", "--plan", "ab.json").want(t, 9, dir+"/in/a.avro was committed in ", incrementNames(t, dir)[0])
	step(0, "commit", "--plan", "b.json")
	wantIDs(t, dir, idRange(0, 20)...)

	// Without new inputs a plan has no tasks.
	var p planned
	step(0, "plan", "--incremental", "--json", "in", "out", "-o", "none.json").object(t, &p)
	if !p.Finished || p.Tasks != 0 || p.Inputs != 0 {
		t.Errorf("%+v", p)
	}
	rowtocol(t, dir, nil, "commit", "--plan", "none.json", "--exit-nothing", "99").want(t, 99, "nothing to do")

	// The output that the increment was to be added to was replaced.
	writePairs(t, dir, "in/c.avro", 20, 10)
	plan("c.json", "in")
	step(0, "convert", "--overwrite", "in/a.avro", "out")
	step(9, "commit", "--plan", "c.json").want(t, 9, "got another output")
	plan("c.json", "in")
	step(0, "commit", "--plan", "c.json")
	wantIDs(t, dir, slices.Concat(idRange(0, 10), idRange(20, 10))...)

	// A plan with another schema, made before the first increment was published.
	other := t.TempDir()
	writePairs(t, other, "in/a.avro", 0, 10)
	write(t, other+"/small.avsc", []byte(`{"type":"record","name":"Pair","namespace":"t","fields":[{"name":"id","type":"long"}]}`))
	writePairs(t, other, "more/b.avro", 10, 10)
	rowtocol(t, other, nil, "plan", "--incremental", "--schema", "small.avsc", "more", "out", "-o", "p.json").want(t, 0)
	rowtocol(t, other, nil, "task", "--plan", "p.json", "--task", "0").want(t, 0)
	convertIncremental(t, other).want(t, 0)
	rowtocol(t, other, nil, "commit", "--plan", "p.json").want(t, 9, "another schema")
}

// TestIncrementalKilled kills conversions of new inputs while more arrive. After the last
// one each row must be there once.
func TestIncrementalKilled(t *testing.T) {
	dir := t.TempDir()
	args := []string{"convert", "--incremental", "in", "out", "--row-group-size", "6KiB", "--block-size", "512", "--workers", "1"}
	writePairs(t, dir, "in/0000.avro", 0, 1000)
	began := time.Now()
	rowtocol(t, dir, nil, args...).want(t, 0)
	took, rows, kills := time.Since(began), 1000, 0
	for i := range soak.Rounds(8, 400) {
		if i%2 == 0 {
			writePairs(t, dir, fmt.Sprintf("in/%04d.avro", i+1), rows, 1000)
			rows += 1000
		}
		cmd := startCmd(t, dir, command(t, args...))
		time.Sleep(rand.N(took))
		_ = cmd.Process.Kill() // it may have ended
		if waitCmd(t, cmd).code == -1 {
			kills++
		}
	}
	o := rowtocol(t, dir, nil, args...).want(t, 0)
	made := len(incrementNames(t, dir))
	t.Logf("%d kills, %d increments, %s", kills, made, strings.TrimSpace(o.stdout))
	// A run that was killed before it wrote its plan leaves an empty directory, which may be that of a
	// run under way.
	rowtocol(t, dir, nil, "clean", "--older-than", "0", "out").want(t, 0)
	// Besides the increments there is the marker of the last number. The file of known inputs
	// is there only if inputs were old enough when a run read them.
	if err := os.RemoveAll(dir + "/out/" + manifest.InputsName); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir + "/out"); err != nil || len(left) != made+1 || left[0].Name() != manifest.NumberName(int64(made)) {
		t.Errorf("%v is left: %v", left, err)
	}
	wantIDs(t, dir, idRange(0, rows)...)
}

// TestIncrementalAtOnce starts conversions of the same new inputs at the same time, and
// checks that no row is there twice.
func TestIncrementalAtOnce(t *testing.T) {
	dir := t.TempDir()
	rounds := soak.Rounds(3, 60)
	for round := range rounds {
		writePairs(t, dir, fmt.Sprintf("in/%04d.avro", round), 100*round, 100)
		var wg sync.WaitGroup
		codes := make([]int, 3)
		for i := range codes {
			wg.Go(func() {
				cmd := exec.Command(binary, "convert", "--incremental", "in", "out")
				cmd.Dir, cmd.Env = dir, command(t).Env
				_ = cmd.Run() // its exit code is checked below
				codes[i] = cmd.ProcessState.ExitCode()
			})
		}
		wg.Wait()
		if slices.ContainsFunc(codes, func(code int) bool { return code != 0 && code != 5 }) || !slices.Contains(codes, 0) {
			t.Errorf("the exit codes are %v, want 0 and 5 only, and a 0", codes)
		}
	}
	convertIncremental(t, dir).want(t, 0)
	wantIDs(t, dir, idRange(0, 100*rounds)...)
}
