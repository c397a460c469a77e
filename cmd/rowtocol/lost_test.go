package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// headerDamages are ways to damage the header of an Avro file, and a text of the reason.
var headerDamages = map[string]struct {
	damage func([]byte) []byte
	reason string
}{
	"truncated": {func(b []byte) []byte { return b[:30] }, "truncated"},
	"magic":     {func(b []byte) []byte { b[1] ^= 1; return b }, "not an Avro object container file"},
	"codec":     {func(b []byte) []byte { return bytes.Replace(b, []byte("\x08null"), []byte("\x08nu1l"), 1) }, "unknown codec"},
	"schema":    {func(b []byte) []byte { return bytes.Replace(b, []byte(`"record"`), []byte(`"recOrd"`), 1) }, "schema: "},
}

// damageHeader writes a file of pairs whose header is damaged, and returns its sound bytes.
func damageHeader(t *testing.T, dir, name, how string, first, rows int) []byte {
	t.Helper()
	sound := writePairs(t, dir, name, first, rows)
	write(t, filepath.Join(dir, name), headerDamages[how].damage(bytes.Clone(sound)))
	return sound
}

// TestDamagedHeader converts inputs, one with a damaged header. That file is lost as a
// whole if the request allows damage. Otherwise the message says what helps.
func TestDamagedHeader(t *testing.T) {
	for how, d := range headerDamages {
		t.Run(how, func(t *testing.T) {
			dir := t.TempDir()
			writePairs(t, dir, "in/a.avro", 0, 50)
			damageHeader(t, dir, "in/b.avro", how, 50, 50)
			writePairs(t, dir, "in/c.avro", 100, 50)
			const inputs = "in/*.avro" // a directory skips a file without the magic
			convert := func(args ...string) output {
				return rowtocol(t, dir, nil, append([]string{"convert", inputs}, args...)...)
			}
			help := []string{"b.avro", d.reason, "--on-damage skip or quarantine", "--exclude"}
			rowtocol(t, dir, nil, "convert", "in/a.avro", "other").want(t, 0)
			convert("out").want(t, 3, help...).lacks(t, "without the damaged block")
			convert("out", "--dry-run").want(t, 3, help...)
			rowtocol(t, dir, nil, "plan", inputs, "out", "-o", "p.json").want(t, 3, help...)
			rowtocol(t, dir, nil, "status", "--input", inputs, "other").want(t, 3, help...)
			convert("out", "--on-damage", "skip", "--max-lost-rows", "1000").want(t, 3, "b.avro", "its number of rows is unknown", "--exclude")
			wantAbsent(t, dir+"/out")

			convert("out", "--on-damage", "skip", "--dry-run").want(t, 0, "b.avro is lost as a whole")
			var c converted
			convert("out", "--on-damage", "skip", "--json").want(t, 8, "the whole file", "b.avro", d.reason).object(t, &c)
			if c.Rows != 100 || c.Inputs != 3 || len(c.Losses) != 1 || !c.Losses[0].Whole || c.Losses[0].Rows != -1 {
				t.Errorf("%d rows of %d inputs, lost %+v", c.Rows, c.Inputs, c.Losses)
			}
			before := fileSums(t, dir+"/out")
			convert("out", "--on-damage", "skip").want(t, 8, "nothing to do")
			wantUnchanged(t, dir+"/out", before)
			rowtocol(t, dir, nil, "verify", "out", "--against", inputs).want(t, 0, "b.avro")
			rowtocol(t, dir, nil, "verify", "out", "--against", inputs, "--require-complete").want(t, 6, "the whole file", "b.avro")

			convert("kept", "--on-damage", "quarantine").want(t, 8)
			if copied := read(t, globOne(t, dir+"/kept/_quarantine/*/*")); !bytes.Equal(copied, read(t, dir+"/in/b.avro")) {
				t.Errorf("%d bytes are quarantined", len(copied))
			}
			rowtocol(t, dir, nil, "plan", inputs, "steps", "-o", "plan.json", "--on-damage", "skip").want(t, 0, "b.avro is lost as a whole")
			rowtocol(t, dir, nil, "commit", "--plan", "plan.json").want(t, 4)
			rowtocol(t, dir, nil, "task", "--plan", "plan.json", "--share", "0/1").want(t, 0)
			rowtocol(t, dir, nil, "commit", "--plan", "plan.json").want(t, 8, "the whole file", "b.avro")
			rowtocol(t, dir, nil, "commit", "--plan", "plan.json").want(t, 8, "nothing to do")
			rowtocol(t, dir, nil, "count", "steps").want(t, 0, "100")
		})
	}
}

// TestDamagedHeaderIncremental loses a file as a whole in an increment. When the file is restored,
// the next increment has its rows.
func TestDamagedHeaderIncremental(t *testing.T) {
	dir := t.TempDir()
	convert := func(args ...string) output {
		return rowtocol(t, dir, nil, append([]string{"convert", "--incremental", "in", "out"}, args...)...)
	}
	sound := damageHeader(t, dir, "in/b.avro", "truncated", 50, 50)
	convert("--on-damage", "skip").want(t, 3, "no input has a header that can be read", "b.avro")
	must(t, os.Rename(dir+"/in/b.avro", dir+"/b.avro"))
	writePairs(t, dir, "in/a.avro", 0, 50)
	convert().want(t, 0, "50 rows")
	must(t, os.Rename(dir+"/b.avro", dir+"/in/b.avro"))
	convert().want(t, 3, "b.avro", "--on-damage skip or quarantine")
	convert("--on-damage", "quarantine").want(t, 8, "the whole file", "b.avro")
	rowtocol(t, dir, nil, "status", "out").want(t, 0, "50")
	convert("--on-damage", "quarantine").want(t, 8, "nothing to do")
	touch(t, dir+"/in/b.avro", time.Hour)
	convert().want(t, 8, "nothing to do")

	write(t, dir+"/in/b.avro", sound)
	rowtocol(t, dir, nil, "convert", "in", "out", "--on-damage", "quarantine").want(t, 9)
	convert().want(t, 0, "50 rows")
	convert().want(t, 0, "nothing to do")
	rowtocol(t, dir, nil, "verify", "out", "--against", "in", "--require-complete").want(t, 0, "100 rows of 2 inputs are equal")
	writePairs(t, dir, "in/b.avro", 50, 60)
	convert().want(t, 3, "changed since it was converted")
}

// TestExclude leaves inputs out by name.
func TestExclude(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/day=1/a.avro", 0, 10)
	writePairs(t, dir, "in/day=2/b.avro", 10, 10)
	damageHeader(t, dir, "in/day=2/bad.avro", "truncated", 20, 10)
	convert := func(args ...string) output { return rowtocol(t, dir, nil, append([]string{"convert"}, args...)...) }
	convert("in", "out").want(t, 3, "bad.avro", "--exclude")
	for i, pattern := range []string{"bad.*", "in/day=2/bad.avro", dir + "/in/*/b?d.avro"} {
		dest := string(rune('a' + i))
		convert("in", dest, "--exclude", pattern).want(t, 0, "20 rows", "excluded by ", "bad.avro")
		convert("in", dest, "--exclude", pattern).want(t, 0, "nothing to do")
		convert("in", dest, "--exclude", "other", "--on-damage", "skip").want(t, 9, "--exclude was ")
		convert("in/day=*/*.avro", dest, "--exclude", pattern).want(t, 0, "nothing to do")
		convert("in", dest, "--incremental", "--exclude", pattern).want(t, 0, "nothing to do")
		rowtocol(t, dir, nil, "verify", dest, "--against", "in").want(t, 0, "bad.avro", "excluded by")
		rowtocol(t, dir, nil, "verify", dest, "--against", "in", "--require-complete").want(t, 6, "bad.avro")
		rowtocol(t, dir, nil, "status", dest, "--input", "in", "--exclude", pattern).want(t, 0, "nothing")
	}
	convert("in/day=2/bad.avro", "in/day=1", "named", "--exclude", "bad*").want(t, 3, "bad.avro holds no Avro file but those that --exclude leaves out", "excluded by bad*")
	convert("in", "dry", "--dry-run", "--exclude", "bad*").want(t, 0, "day=2/bad.avro", "excluded by bad*")
	convert("in", "two", "--exclude", "bad*", "--exclude", "in/day=1").want(t, 0, "10 rows", "excluded by "+dir+"/in/day=1")
	convert("in", "two", "--exclude", "in/day=1/", "--exclude", "bad*").want(t, 0, "nothing to do")
	convert("in", "two", "--overwrite", "--exclude", "bad*", "--exclude", "b?d.avro", "--exclude", "typo*").want(t, 0, "--exclude typo* leaves nothing out").lacks(t, "b?d.avro leaves")
	convert("in", "x", "--exclude", "[").want(t, 1, "--exclude", "[")
	convert("in", "x", "--exclude", "").want(t, 1, "--exclude")
	convert("in", "tree", "--partitioned", "--exclude", "bad*", "--exclude", "in/day=1").want(t, 0)
	wantAbsent(t, dir+"/tree/day=1")
	rowtocol(t, dir, nil, "count", "tree/day=2").want(t, 0, "10")
	convert("in", "tree", "--partitioned", "--exclude", "bad*").want(t, 0)
	rowtocol(t, dir, nil, "count", "tree").want(t, 0, "20")
	write(t, dir+"/job.yaml", []byte("input: in\ndest: job\nexclude: [\"bad*\"]\n"))
	convert("--config", "job.yaml").want(t, 0, "20 rows")
	if o := rowtocol(t, dir, nil, "plan", "in", "job", "-o", "-", "--exclude", "bad*").want(t, 0); !strings.Contains(o.stdout, `"exclude"`) {
		t.Error("the plan does not name what is excluded")
	}
}
