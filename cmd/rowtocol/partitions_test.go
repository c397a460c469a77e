package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// partitionActions returns the action of each partition, or the exit code of its failure.
func partitionActions(t *testing.T, o output) string {
	t.Helper()
	var r partitioned
	o.object(t, &r)
	var all []string
	for _, p := range r.Partitions {
		what := p.Action
		if what == "" || p.Exit == 8 {
			what += fmt.Sprint(p.Exit)
		}
		all = append(all, p.Partition+":"+what)
	}
	return strings.Join(all, " ")
}

// convertAll runs convert --partitioned src dest, and compares the partitions' actions.
func convertAll(t *testing.T, dir string, code int, want string, flags ...string) output {
	t.Helper()
	args := append(append([]string{"convert", "--json", "--partitioned"}, flags...), "src", "dest")
	o := rowtocol(t, dir, nil, args...).want(t, code)
	if got := partitionActions(t, o); got != want {
		t.Errorf("%s: %s, want %s\n%s", flags, got, want, o.stderr)
	}
	return o
}

// wantIDsOf checks the IDs of all rows of dest; in want each is in braces.
func wantIDsOf(t *testing.T, dir, dest, want string) {
	t.Helper()
	if got := strings.ReplaceAll(catLine(t, dir, "--columns", "id", dest), `"id":`, ""); got != want {
		t.Errorf("%s has the rows %s, want %s", dest, got, want)
	}
}

func TestPartitions(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "src/dt=1/h=1/a", 0, 2)
	writePairs(t, dir, "src/dt=1/h=2/a", 2, 2)
	writePairs(t, dir, "src/dt=2/h=1/a", 4, 2)
	write(t, dir+"/src/_SUCCESS", nil)
	write(t, dir+"/src/dt=1/README", []byte("text"))
	convertAll(t, dir, 0, "dt=1/h=1:output dt=1/h=2:output dt=2/h=1:output", "--dry-run")
	wantAbsent(t, dir+"/dest")
	convertAll(t, dir, 0, "dt=1/h=1:output dt=1/h=2:output dt=2/h=1:output")
	if got := catLine(t, dir, "--columns", "id,dt,h", "dest"); !strings.HasPrefix(got, `{"id":0,"dt":1,"h":1}`) || !strings.HasSuffix(got, `{"id":5,"dt":2,"h":1}`) {
		t.Errorf("%s", got)
	}
	before := fileSums(t, dir+"/dest")
	convertAll(t, dir, 99, "dt=1/h=1:nothing dt=1/h=2:nothing dt=2/h=1:nothing", "--exit-nothing", "99")
	wantUnchanged(t, dir+"/dest", before)

	// A late file, a new partition, and one that lost a file.
	writePairs(t, dir, "src/dt=1/h=2/b", 10, 2)
	writePairs(t, dir, "src/dt=3/h=1/a", 12, 2)
	must(t, os.Remove(dir+"/src/dt=1/h=1/a"))
	writePairs(t, dir, "src/dt=1/h=1/b", 14, 2)
	convertAll(t, dir, 0, "dt=1/h=1:increment dt=1/h=2:increment dt=2/h=1:nothing dt=3/h=1:output", "--dry-run")
	convertAll(t, dir, 0, "dt=1/h=1:increment dt=1/h=2:increment dt=2/h=1:nothing dt=3/h=1:output")
	wantIDsOf(t, dir, "dest", "{0} {1} {14} {15} {2} {3} {10} {11} {4} {5} {12} {13}")
	rowtocol(t, dir, nil, "verify", "dest/dt=1/h=2", "--against", "src/dt=1/h=2", "--require-complete").want(t, 0, "4 rows of 2 inputs are equal")
	rowtocol(t, dir, nil, "count", "dest").want(t, 0, "12")

	// --reprocess makes one output, except of the partition that would lose rows.
	convertAll(t, dir, 9, "dt=1/h=1:9 dt=1/h=2:output dt=2/h=1:nothing dt=3/h=1:nothing", "--reprocess", "--dry-run")
	o := convertAll(t, dir, 9, "dt=1/h=1:9 dt=1/h=2:output dt=2/h=1:nothing dt=3/h=1:nothing", "--reprocess")
	o.want(t, 9, "partition dt=1/h=1", "/src/dt=1/h=1/a, which is not among its inputs any more")
	if runs, _ := filepath.Glob(dir + "/dest/dt=1/h=2/increment-*"); len(runs) > 0 {
		t.Errorf("increments: %s", runs)
	}
	wantIDsOf(t, dir, "dest", "{0} {1} {14} {15} {2} {3} {10} {11} {4} {5} {12} {13}")
}

// TestPartitionsFail checks that all partitions are tried, and which exit code is that of all.
func TestPartitionsFail(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "src/k=1/a", 0, 2)
	b := writePairs(t, dir, "src/k=2/a", 2, 100)
	write(t, dir+"/src/k=2/a", b[:len(b)-5]) // damaged
	writePairs(t, dir, "src/k=3/a", 4, 2)
	writePairs(t, dir, "src/k=4/x=1/a", 6, 2)
	write(t, dir+"/dest/k=3/notes", []byte("text"))
	write(t, dir+"/src/k=4/x=2/a", nil) // empty
	must(t, os.MkdirAll(dir+"/src/k=5", 0o700))
	convertAll(t, dir, 3, "k=1:output k=2:3 k=3:9 k=4/x=1:output k=4/x=2:3 k=5:3").want(t, 3, "4 failures in 6 partitions; the most serious: partition k=2: ")
	for _, gone := range []string{"k=2", "k=4/x=2", "k=5"} {
		wantAbsent(t, dir+"/dest/"+gone)
	}
	wantCat(t, dir, `{"id":0} {"id":1}`, "--columns", "id", "dest/k=1")
	// Losses are reported in each run.
	must(t, os.RemoveAll(dir+"/src/k=5"))
	writePairs(t, dir, "src/k=4/x=2/a", 8, 2)
	convertAll(t, dir, 9, "k=1:nothing k=2:output8 k=3:9 k=4/x=1:nothing k=4/x=2:output", "--on-damage", "skip")
	must(t, os.RemoveAll(dir+"/dest/k=3"))
	convertAll(t, dir, 8, "k=1:nothing k=2:nothing8 k=3:output k=4/x=1:nothing k=4/x=2:nothing", "--on-damage", "skip", "--exit-nothing", "99")
	// An input that changed.
	writePairs(t, dir, "src/k=1/a", 100, 5)
	convertAll(t, dir, 3, "k=1:3 k=2:nothing8 k=3:nothing k=4/x=1:nothing k=4/x=2:nothing", "--on-damage", "skip").want(t, 3, "k=1", "changed since it was converted")
	convertAll(t, dir, 8, "k=1:output k=2:nothing8 k=3:nothing k=4/x=1:nothing k=4/x=2:nothing", "--on-damage", "skip", "--reprocess")
	wantCat(t, dir, `{"id":100}`, "--columns", "id", "--limit", "1", "dest/k=1")
}

// TestPartitionsWait checks that incomplete partitions are left out.
func TestPartitionsWait(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "src/k=1/a", 0, 2)
	writePairs(t, dir, "src/k=2/a", 2, 2)
	write(t, dir+"/src/k=2/_SUCCESS", nil)
	convertAll(t, dir, 0, "k=1:nothing k=2:output", "--require-marker", "_SUCCESS")
	wantAbsent(t, dir+"/dest/k=1")
	touch(t, dir+"/src/k=1/a", 3*time.Hour)
	writePairs(t, dir, "src/k=1/b", 4, 2)
	convertAll(t, dir, 0, "k=1:output k=2:nothing", "--min-age", "1h")
	convertAll(t, dir, 0, "k=1:nothing k=2:nothing", "--min-age", "1h")
	convertAll(t, dir, 0, "k=1:nothing k=2:nothing", "--reprocess", "--until", "2021-01-01")
	convertAll(t, dir, 0, "k=1:increment k=2:nothing")
	convertAll(t, dir, 9, "k=1:9 k=2:nothing", "--min-age", "1h", "--reprocess")
	convertAll(t, dir, 0, "k=1:output k=2:nothing", "--reprocess")
	convertAll(t, dir, 0, "k=1:nothing k=2:nothing", "--reprocess", "--codec", "null")
	convertAll(t, dir, 0, "k=1:output k=2:output", "--reprocess", "--index", "id")
	rowtocol(t, dir, nil, "lookup", "dest", "4").want(t, 0, `"id":4`)
	convertAll(t, dir, 0, "k=1:nothing k=2:nothing", "--reprocess", "--index", "id")
	convertAll(t, dir, 0, "k=1:nothing k=2:nothing", "--reprocess")
	write(t, dir+"/id.avsc", []byte(`{"type":"record","name":"Pair","namespace":"t","fields":[{"name":"id","type":"long"}]}`))
	convertAll(t, dir, 9, "k=1:9 k=2:9", "--schema", "id.avsc")
	convertAll(t, dir, 0, "k=1:output k=2:output", "--reprocess", "--schema", "id.avsc")
}

// TestPartitionsOfOthers checks that files and directories between partitions are reported.
func TestPartitionsOfOthers(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "src/k=1/sub/a", 0, 2) // it belongs to the partition
	writePairs(t, dir, "src/k=2/a", 2, 2)
	for _, link := range []string{"latest", "k=last"} {
		must(t, os.Symlink("k=2", dir+"/src/"+link))
	}
	must(t, os.Remove(dir+"/src/latest"))
	convertAll(t, dir, 0, "k=1:output k=2:output")
	for name, text := range map[string]string{
		"a.avro": "it is an Avro file that is in no partition", "other/a": "no directory named key=value",
		"k=3/k=4/a": "its key is twice",
	} {
		writePairs(t, dir, "src/"+name, 4, 2)
		convertAll(t, dir, 3, "k=1:nothing k=2:nothing").want(t, 3, text, strings.Split(name, "/")[0])
		top, _, _ := strings.Cut(name, "/")
		must(t, os.RemoveAll(dir+"/src/"+top))
	}
	for args, text := range map[string]string{
		"--reprocess src dest": "--reprocess needs", "--partitioned --overwrite src dest": "--reprocess", "--partitioned --incremental src dest": "by itself",
		"--partitioned src/k=1 src/k=2 dest": "one directory", "--partitioned src src/dest": "inside of the input",
	} {
		rowtocol(t, dir, nil, append([]string{"convert"}, strings.Fields(args)...)...).want(t, 1, text)
	}
	rowtocol(t, dir, nil, "convert", "--partitioned", "none", "dest").want(t, 3, "does not exist")
	rowtocol(t, dir, nil, "convert", "--partitioned", "src/k=1", "other").want(t, 3, "it is no directory named key=value")
	must(t, os.Mkdir(dir+"/empty", 0o700))
	rowtocol(t, dir, nil, "convert", "--partitioned", "empty", "other").want(t, 3, "holds no directory named key=value")
	rowtocol(t, dir, nil, "convert", "--partitioned", "--allow-empty", "--exit-nothing", "9", "empty", "other").want(t, 9, "0 partitions converted")
	if o := rowtocol(t, dir, nil, "convert", "--quiet", "--partitioned", "--allow-empty", "empty", "other").want(t, 0); o.stdout+o.stderr != "" {
		t.Errorf("with -q: %s%s", o.stdout, o.stderr)
	}
	rowtocol(t, dir, nil, "convert", "--partitioned", "src", "no/dest").want(t, 7, "k=1")
}

// TestPartitionsInOutput checks that no partition is written into a directory that is an output.
func TestPartitionsInOutput(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "one", 100, 2)
	for _, flag := range []string{"--overwrite", "--incremental"} {
		for top, level := range map[string]string{"dest": "", "dest/k=1": "k=1/"} {
			for _, name := range []string{"src", "dest"} {
				must(t, os.RemoveAll(dir+"/"+name))
			}
			writePairs(t, dir, "src/k=2/h=1/a", 4, 2)
			must(t, os.MkdirAll(filepath.Dir(dir+"/"+top), 0o700))
			rowtocol(t, dir, nil, "convert", flag, "one", top).want(t, 0)
			writePairs(t, dir, "src/k=1/h=1/a", 2, 2)
			want, rows := "k=1/h=1:9 k=2/h=1:9", "{100} {101}"
			if level != "" {
				want = "k=1/h=1:9 k=2/h=1:output"
			}
			convertAll(t, dir, 9, want, "--dry-run")
			convertAll(t, dir, 9, want).want(t, 9, "partition k=1/h=1", "partitions in an output")
			wantIDsOf(t, dir, top, rows)
		}
	}
}

// TestPartitionsFailLate checks that the others are tried if a partition cannot be listed or
// was changed.
func TestPartitionsFailLate(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "src/k=1/a", 0, 2)
	writePairs(t, dir, "src/k=3/a", 2, 2)
	must(t, os.Symlink("nowhere", dir+"/src/k=2"))
	convertAll(t, dir, 3, "k=1:output k=2:3 k=3:output").want(t, 3, "src/k=2 does not exist")
	for flags, text := range map[string]string{"--since 2026-01-02 --until 2026-01-01": "nothing was modified", "--require-marker a/b": "name of a file"} {
		rowtocol(t, dir, nil, append([]string{"convert", "--partitioned", "src", "dest"}, strings.Fields(flags)...)...).want(t, 1, text).lacks(t, "partition failed")
	}
	parts := globOne(t, dir+"/dest/k=1/part-*")
	write(t, parts, []byte("cut"))
	convertAll(t, dir, 3, "k=1:9 k=2:3 k=3:nothing").want(t, 3, "was changed", "for partitions, --reprocess")
	for link, to := range map[string]string{"into": "src/k=1", "all": "src"} {
		must(t, os.Symlink(to, dir+"/"+link))
		for _, dest := range []string{link, link + "/new"} {
			rowtocol(t, dir, nil, "convert", "--partitioned", "src", dest).want(t, 1, "inside of the input")
		}
	}
}

// TestInputInTwoOutputs checks that an increment with the rows of the output is found.
func TestInputInTwoOutputs(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "src/k=1/a", 0, 2)
	convertAll(t, dir, 0, "k=1:output")
	rowtocol(t, dir, nil, "convert", "src/k=1/a", "copy").want(t, 0)
	changeManifest(t, dir+"/copy", func(s *manifest.Success) {
		s.Increment, s.Base, s.Sequence = true, manifestIn(t, dir+"/dest/k=1").ID, 2
	})
	must(t, os.Rename(dir+"/copy", dir+"/dest/k=1/"+manifest.IncrementName(2, manifestIn(t, dir+"/copy").ID)))
	rowtocol(t, dir, nil, "verify", "dest").want(t, 6, "/src/k=1/a are in", "as well")
}

// TestPartitionsStopped checks that a signal ends the run at once, and that a rerun resumes it.
func TestPartitionsStopped(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for i := range 60 {
		writePairs(t, dir, fmt.Sprintf("src/k=%03d/a", i), i, 1)
		want = append(want, fmt.Sprintf("{%d}", i))
	}
	cmd := startRowtocol(t, dir, "convert", "--json", "--partitioned", "src", "dest")
	waitFor(t, dir+"/dest/k=003/_SUCCESS")
	must(t, cmd.Process.Signal(syscall.SIGTERM))
	began := time.Now()
	o := waitCmd(t, cmd)
	o.want(t, 143)
	if took := time.Since(began); took > stopLimit || strings.Contains(o.stderr, givenUp) {
		t.Errorf("the run ended only after %v: %s", took, o.stderr)
	}
	if done, _ := filepath.Glob(dir + "/dest/*/_SUCCESS"); len(done) < 4 || len(done) == 60 {
		t.Errorf("%d partitions were converted, want some, but not all", len(done))
	}
	rowtocol(t, dir, nil, "convert", "--partitioned", "src", "dest").want(t, 0, "0 failed")
	wantIDsOf(t, dir, "dest", strings.Join(want, " "))
}

// TestPartitionsHelp checks that the help lists the exit codes of partitions in order of weight.
func TestPartitionsHelp(t *testing.T) {
	failures := slices.DeleteFunc(slices.Clone(cli.Exits), func(e cli.Exit) bool {
		return e.Code == 0 || e.Code == 130 || e.Code == 6 // no failed conversion ends with these
	})
	slices.SortStableFunc(failures, func(a, b cli.Exit) int { return failure.Compare(a.Kind, b.Kind) })
	var codes []string
	for _, e := range failures {
		codes = append(codes, e.Label())
	}
	help := strings.ReplaceAll(partitionedLong, "\n", " ")
	if want := "the codes are " + strings.Join(codes, ", ") + ", 0."; !strings.Contains(help, want) {
		t.Errorf("the help lacks: %s", want)
	}
}
