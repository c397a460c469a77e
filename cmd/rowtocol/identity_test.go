package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/avrotest"
)

// writeLongs writes an input of blocks of 1,000 rows, with an old modification time. Files of
// different versions have the same length and, if they are large, the same header and end:
// only rows of the first half differ.
func writeLongs(t *testing.T, name string, blocks, version int) {
	t.Helper()
	all := make([][]byte, blocks)
	for i := range all {
		for row := range 1000 {
			id := 1<<30 + i*1000 + row
			if i < blocks/2 {
				id += version * 1_000_000
			}
			all[i] = appendVarint(all[i], id)
		}
	}
	write(t, name, avrotest.File(t, `{"type":"record","name":"R","fields":[{"name":"id","type":"long"}]}`, syncMarker, 1000, all...))
	touch(t, name, time.Hour+time.Duration(version)*time.Minute)
}

// touch sets the modification time of a file to a duration ago.
func touch(t *testing.T, name string, age time.Duration) {
	t.Helper()
	at := time.Now().Add(-age)
	must(t, os.Chtimes(name, at, at))
}

// wantRows checks the number of rows of a destination.
func wantRows(t *testing.T, dir, dest string, rows int) {
	t.Helper()
	if got := strings.TrimSpace(rowtocol(t, dir, nil, "count", dest).want(t, 0).stdout); got != fmt.Sprint(rows) {
		t.Errorf("%s holds %s rows, want %d", dest, got, rows)
	}
}

// TestSameInput gives converted inputs other names, copies and times.
func TestSameInput(t *testing.T) {
	same := func(dir string) (a, other string) { return dir + "/in/a.avro", dir + "/in/b.avro" }
	for name, tc := range map[string]struct {
		change func(t *testing.T, dir string)
		args   []string // in place of --incremental in out
		exit   int
		rows   int
		text   string
	}{
		"hard link": {func(t *testing.T, dir string) { a, b := same(dir); must(t, os.Link(a, b)) }, nil, 0, 2000, "the same file as"},
		"touched hard link": {func(t *testing.T, dir string) {
			a, b := same(dir)
			must(t, os.Link(a, b))
			touch(t, a, time.Minute)
		}, nil, 0, 2000, "the same file as"},
		"symbolic link":   {func(t *testing.T, dir string) { a, b := same(dir); must(t, os.Symlink(a, b)) }, nil, 0, 2000, "the same file as"},
		"renamed":         {func(t *testing.T, dir string) { a, b := same(dir); must(t, os.Rename(a, b)) }, nil, 0, 2000, "the same file as"},
		"second spelling": {func(t *testing.T, dir string) { must(t, os.Symlink("in", dir+"/link")) }, []string{"--incremental", "link", "out"}, 0, 2000, "the same file as"},
		"touched":         {func(t *testing.T, dir string) { a, _ := same(dir); touch(t, a, time.Minute) }, nil, 0, 2000, ""},
		"restored": {func(t *testing.T, dir string) {
			a, _ := same(dir)
			b, info := read(t, a), stat(t, a)
			must(t, os.Rename(a, dir+"/gone"))
			write(t, a, b)
			must(t, os.Chtimes(a, info.ModTime(), info.ModTime()))
		}, nil, 0, 2000, ""},
		"copy":         {copyInput, nil, 0, 4000, "the same content as"},
		"copy skipped": {copyInput, []string{"--incremental", "--copies", "skip", "in", "out"}, 0, 2000, "the same content as"},
		"copy refused": {copyInput, []string{"--incremental", "--copies", "refuse", "in", "out"}, 3, 2000, "the same content as"},
		"moved": {func(t *testing.T, dir string) {
			a, _ := same(dir)
			copyInput(t, dir)
			must(t, os.MkdirAll(dir+"/k=1", 0o700))
			must(t, os.Rename(dir+"/in/b.avro", dir+"/k=1/a.avro"))
			must(t, os.Remove(a))
		}, []string{"--incremental", "--moved", "in=k=1", "--moved", "DIR/in=DIR/k=1", "k=1", "out"}, 0, 2000, ""},
		"rewritten":                        {func(t *testing.T, dir string) { a, _ := same(dir); writeLongs(t, a, 2, 1) }, nil, 3, 2000, "changed"},
		"rewritten, without --incremental": {func(t *testing.T, dir string) { a, _ := same(dir); writeLongs(t, a, 2, 1) }, []string{"in", "whole"}, 9, 2000, "changed"},
		"touched, without --incremental":   {func(t *testing.T, dir string) { a, _ := same(dir); touch(t, a, time.Minute) }, []string{"in", "whole"}, 0, 2000, "nothing to do"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			writeLongs(t, dir+"/in/a.avro", 2, 0)
			convertIncremental(t, dir).want(t, 0)
			rowtocol(t, dir, nil, "convert", "in", "whole").want(t, 0)
			tc.change(t, dir)
			args := tc.args
			if args == nil {
				args = []string{"--incremental", "in", "out"}
			}
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "DIR", dir)
			}
			for range 2 {
				o := rowtocol(t, dir, nil, append([]string{"convert"}, args...)...)
				if o.code != tc.exit || !strings.Contains(o.stderr+o.stdout, tc.text) {
					t.Fatalf("exit %d, want %d and %q\n%s%s", o.code, tc.exit, tc.text, o.stdout, o.stderr)
				}
				wantRows(t, dir, args[len(args)-1], tc.rows)
				if tc.exit == 0 && tc.rows == 2000 && tc.text == "the same file as" {
					rowtocol(t, dir, nil, "verify", "--require-complete", "--against", args[len(args)-2], "out").want(t, 0)
				}
				if tc.rows > 2000 {
					break
				}
			}
		})
	}
}

func stat(t *testing.T, name string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(name)
	must(t, err)
	return info
}

// copyInput copies in/a.avro to in/b.avro.
func copyInput(t *testing.T, dir string) {
	t.Helper()
	write(t, dir+"/in/b.avro", read(t, dir+"/in/a.avro"))
}

// TestTouchedTree reads touched files once, and then knows them by their new time.
func TestTouchedTree(t *testing.T) {
	dir := t.TempDir()
	file := dir + "/in/a.avro"
	writeLongs(t, file, 2, 0)
	convertIncremental(t, dir).want(t, 0)
	touch(t, file, time.Minute)
	convertIncremental(t, dir).want(t, 0, "nothing to do")
	info := stat(t, file)
	write(t, file, make([]byte, info.Size()))
	must(t, os.Chtimes(file, info.ModTime(), info.ModTime()))
	convertIncremental(t, dir).want(t, 0, "nothing to do") // the file was not opened
	must(t, os.Remove(dir+"/out/_inputs"))
	convertIncremental(t, dir).want(t, 3, "changed")
	writeLongs(t, file, 2, 0)
	touch(t, file, 2*time.Minute)
	rowtocol(t, dir, nil, "plan", "-o", "plan.json", "--incremental", "in", "out").want(t, 0)
	if _, err := os.Stat(dir + "/out/_inputs"); err != nil {
		t.Errorf("a plan does not note the input that it read: %v", err)
	}
}

// TestEqualInputs checks that equal files are converted, with a warning.
func TestEqualInputs(t *testing.T) {
	dir := t.TempDir()
	writeLongs(t, dir+"/in/a.avro", 1, 0)
	copyInput(t, dir)
	var r converted
	rowtocol(t, dir, nil, "convert", "--json", "in", "out").want(t, 0, "the same content as").object(t, &r)
	if r.Copies != 1 || r.Rows != 2000 {
		t.Errorf("got %d copies and %d rows", r.Copies, r.Rows)
	}
	rowtocol(t, dir, nil, "convert", "--copies", "skip", "in", "skipped").want(t, 0)
	wantRows(t, dir, "skipped", 1000)
	rowtocol(t, dir, nil, "verify", "skipped", "--against", "in", "--require-complete").want(t, 0)
	writeLongs(t, dir+"/in/c.avro", 2, 9)
	rowtocol(t, dir, nil, "verify", "skipped", "--against", "in", "--require-complete").want(t, 6, "c.avro")
	must(t, os.Remove(dir+"/in/c.avro"))
	rowtocol(t, dir, nil, "convert", "--copies", "refuse", "in", "refused").want(t, 3, "the same content as")
	rowtocol(t, dir, nil, "convert", "--copies", "none", "in", "refused").want(t, 1, "--copies")
}

// TestCopiesInPartitions finds a copy in another partition.
func TestCopiesInPartitions(t *testing.T) {
	dir := t.TempDir()
	writeLongs(t, dir+"/in/dt=1/a.avro", 1, 0)
	writeLongs(t, dir+"/in/dt=2/b.avro", 1, 1)
	rowtocol(t, dir, nil, "convert", "--partitioned", "--copies", "refuse", "in", "refused").want(t, 3, "the same content as")
	wantRows(t, dir, "refused", 1000)
	rowtocol(t, dir, nil, "convert", "--partitioned", "--copies", "skip", "in", "skipped").want(t, 0, "the same content as")
	wantRows(t, dir, "skipped", 1000)
	rowtocol(t, dir, nil, "convert", "--partitioned", "in", "taken").want(t, 0)
	wantRows(t, dir, "taken", 2000)
}

// TestMovedNothing checks that --moved refuses a tree from which DEST has no input: all
// inputs would be converted again.
func TestMovedNothing(t *testing.T) {
	dir := t.TempDir()
	writeLongs(t, dir+"/in/a.avro", 1, 0)
	rowtocol(t, dir, nil, "convert", "--incremental", "--moved", "old=in", "in", "out").want(t, 0)
	must(t, os.CopyFS(dir+"/new", os.DirFS(dir+"/in")))
	for _, mode := range []string{"--incremental", "--overwrite"} {
		rowtocol(t, dir, nil, "convert", mode, "--moved", "inn=new", "new", "out").want(t, 1, "knows no input below "+dir+"/inn")
	}
	rowtocol(t, dir, nil, "convert", "--incremental", "--moved", "in=middle", "--moved", "middle=new", "new", "out").want(t, 0, "nothing to do")
	wantRows(t, dir, "out", 1000)
}

// TestLinkedPartitions converts a file that is linked in several partitions only once, in one
// run and in two.
func TestLinkedPartitions(t *testing.T) {
	for _, together := range []bool{true, false} {
		for name, link := range map[string]func(from, to string) error{"hard": os.Link, "symbolic": os.Symlink} {
			dir := t.TempDir()
			writeLongs(t, dir+"/in/dt=1/a.avro", 1, 0)
			writeLongs(t, dir+"/in/dt=2/b.avro", 1, 1)
			convert := func() output { return rowtocol(t, dir, nil, "convert", "--partitioned", "in", "out").want(t, 0) }
			if !together {
				convert()
			}
			must(t, link(dir+"/in/dt=1/a.avro", dir+"/in/dt=2/a.avro"))
			must(t, os.Mkdir(dir+"/in/dt=3", 0o700))
			must(t, link(dir+"/in/dt=1/a.avro", dir+"/in/dt=3/a.avro"))
			if o := convert(); !strings.Contains(o.stderr, `"level":"WARN","msg":"skipped"`) || !strings.Contains(o.stderr, "partition dt=1 has") || strings.Contains(o.stderr, "could not be noted") {
				t.Errorf("%s link, together: %v: %s", name, together, o.stderr)
			}
			wantRows(t, dir, "out", 2000)
			// Now the partition that had the file is gone.
			must(t, os.RemoveAll(dir+"/in/dt=1"))
			if name == "hard" {
				convert()
				wantRows(t, dir, "out", 2000)
			}
		}
	}
}

// TestMixedVersions rewrites an input between the tasks of a plan. Header and end stay the
// same, so no task notices it.
func TestMixedVersions(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "in", "a.avro")
	plan := func(options ...string) {
		rowtocol(t, dir, nil, append([]string{"plan", "-o", "plan.json", "--row-group-size", "200KiB", "in", "out"}, options...)...).want(t, 0)
	}
	task := func(n string) { rowtocol(t, dir, nil, "task", "--plan", "plan.json", "--task", n).want(t, 0) }
	commit := func(exit int, text string) {
		rowtocol(t, dir, nil, "commit", "--plan", "plan.json").want(t, exit, text)
	}
	writeLongs(t, file, 100, 0)
	plan()
	task("0")
	writeLongs(t, file, 100, 1)
	for n := 1; n < 4; n++ {
		rowtocol(t, dir, nil, "task", "--plan", "plan.json", "--task", fmt.Sprint(n))
	}
	commit(3, "changed during the job")
	wantAbsent(t, dir+"/out/_SUCCESS")
	// The plan of the new version has the same ID, and the task that read the old version
	// runs again.
	plan()
	for n := range 4 {
		rowtocol(t, dir, nil, "task", "--plan", "plan.json", "--task", fmt.Sprint(n))
	}
	commit(0, "")
	rowtocol(t, dir, nil, "verify", "--against", "in", "out").want(t, 0)
	// A file whose time alone changed is the same input.
	must(t, os.RemoveAll(dir+"/out"))
	plan()
	task("0")
	touch(t, file, time.Minute)
	for n := 1; n < 4; n++ {
		rowtocol(t, dir, nil, "task", "--plan", "plan.json", "--task", fmt.Sprint(n))
	}
	touch(t, file, time.Second*30)
	commit(0, "")
}

// TestCopyMeanwhile commits a plan after a copy of its input was committed.
func TestCopyMeanwhile(t *testing.T) {
	dir := t.TempDir()
	writeLongs(t, dir+"/in/a.avro", 1, 0)
	rowtocol(t, dir, nil, "plan", "-o", "plan.json", "--incremental", "--copies", "refuse", "in", "out").want(t, 0)
	rowtocol(t, dir, nil, "task", "--plan", "plan.json", "--task", "0").want(t, 0)
	write(t, dir+"/other/b.avro", read(t, dir+"/in/a.avro"))
	rowtocol(t, dir, nil, "convert", "--incremental", "other", "out").want(t, 0)
	rowtocol(t, dir, nil, "commit", "--plan", "plan.json").want(t, 9, "the same content as")
}

// TestRewrittenForAnotherPartition converts a file that was moved from one partition to
// another and then rewritten.
func TestRewrittenForAnotherPartition(t *testing.T) {
	dir := t.TempDir()
	writeLongs(t, dir+"/pool.avro", 2, 0)
	must(t, os.MkdirAll(dir+"/in/dt=1", 0o700))
	must(t, os.Symlink(dir+"/pool.avro", dir+"/in/dt=1/a.avro"))
	rowtocol(t, dir, nil, "convert", "--partitioned", "in", "out").want(t, 0)
	must(t, os.Rename(dir+"/in/dt=1", dir+"/in/dt=2"))
	writeLongs(t, dir+"/pool.avro", 2, 1)
	rowtocol(t, dir, nil, "convert", "--partitioned", "in", "out").want(t, 0)
	wantRows(t, dir, "out", 4000)
}

// TestPartitionThatCannotBeRead checks that a new input is refused as long as an unreadable
// partition may have its rows.
func TestPartitionThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	writeLongs(t, dir+"/in/dt=1/a.avro", 1, 0)
	writeLongs(t, dir+"/in/dt=2/b.avro", 1, 1)
	rowtocol(t, dir, nil, "convert", "--partitioned", "in", "out").want(t, 0)
	success := dir + "/out/dt=1/_SUCCESS"
	whole := read(t, success)
	must(t, os.Rename(dir+"/in/dt=1/a.avro", dir+"/in/dt=2/a.avro"))
	must(t, os.Remove(dir+"/in/dt=1"))
	for name, damaged := range map[string][]byte{"altered": bytes.Replace(whole, []byte("a.avro"), []byte("x.avro"), 1), "lost": nil} {
		if must(t, os.Remove(success)); damaged != nil {
			write(t, success, damaged)
		}
		rowtocol(t, dir, nil, "convert", "--partitioned", "in", "out").want(t, 9, "is new, unless partition dt=1 has its rows")
		write(t, success, whole)
		wantRows(t, dir, "out", 2000)
		if t.Failed() {
			t.Fatal(name)
		}
	}
	rowtocol(t, dir, nil, "convert", "--partitioned", "in", "out").want(t, 0)
	wantRows(t, dir, "out", 2000)
}

// TestRestoredUnderAnotherName restores an increment whose input was renamed and converted
// again meanwhile.
func TestRestoredUnderAnotherName(t *testing.T) {
	dir := t.TempDir()
	writeLongs(t, dir+"/in/a.avro", 1, 0)
	rowtocol(t, dir, nil, "convert", "--incremental", "in", "out").want(t, 0)
	writeLongs(t, dir+"/in/b.avro", 2, 1)
	rowtocol(t, dir, nil, "convert", "--incremental", "in", "out").want(t, 0)
	runs, err := filepath.Glob(dir + "/out/increment-00000002-*")
	must(t, err)
	must(t, os.Rename(runs[0], dir+"/away"))
	must(t, os.Rename(dir+"/in/b.avro", dir+"/in/c.avro"))
	rowtocol(t, dir, nil, "convert", "--incremental", "in", "out").want(t, 0)
	must(t, os.Rename(dir+"/away", runs[0]))
	rowtocol(t, dir, nil, "count", "out").want(t, 3, "as well")
	rowtocol(t, dir, nil, "convert", "--incremental", "in", "out").want(t, 9, "as well")
}

// TestNameUsedAgain moves a known input, and converts other rows under its name.
func TestNameUsedAgain(t *testing.T) {
	dir := t.TempDir()
	writeLongs(t, dir+"/today/x.avro", 2, 0)
	rowtocol(t, dir, nil, "convert", "--incremental", "today", "out").want(t, 0)
	must(t, os.Rename(dir+"/today", dir+"/day1"))
	writeLongs(t, dir+"/today/x.avro", 2, 1)
	rowtocol(t, dir, nil, "convert", "--incremental", "--moved", "today=day1", "today", "out").want(t, 0)
	wantRows(t, dir, "out", 4000)
}

// TestLinkToAnotherFile points a link to another file that differs only in its bytes.
func TestLinkToAnotherFile(t *testing.T) {
	dir := t.TempDir()
	writeLongs(t, dir+"/1.avro", 40, 0)
	writeLongs(t, dir+"/2.avro", 40, 1)
	info, err := os.Stat(dir + "/1.avro")
	must(t, err)
	must(t, os.Chtimes(dir+"/2.avro", info.ModTime(), info.ModTime()))
	must(t, os.Mkdir(dir+"/in", 0o700))
	must(t, os.Symlink(dir+"/1.avro", dir+"/in/latest.avro"))
	rowtocol(t, dir, nil, "convert", "--incremental", "in", "out").want(t, 0)
	must(t, os.Remove(dir+"/in/latest.avro"))
	must(t, os.Symlink(dir+"/2.avro", dir+"/in/latest.avro"))
	rowtocol(t, dir, nil, "convert", "--incremental", "in", "out").want(t, 3, "changed since it was converted")
}

// TestMovedAndStillThere uses --moved for a tree that still has files in its old place.
func TestMovedAndStillThere(t *testing.T) {
	dir := t.TempDir()
	writeLongs(t, dir+"/o/a.avro", 2, 0)
	rowtocol(t, dir, nil, "convert", "--incremental", "o", "out").want(t, 0)
	for range 2 {
		rowtocol(t, dir, nil, "convert", "--incremental", "--moved", "o=n", "o", "out").want(t, 0, "nothing to do")
		wantRows(t, dir, "out", 2000)
	}
	must(t, os.Rename(dir+"/o", dir+"/n"))
	writeLongs(t, dir+"/o/a.avro", 2, 1)
	for range 2 {
		rowtocol(t, dir, nil, "convert", "--incremental", "--moved", "o=n", "o", "n", "out").want(t, 0)
		wantRows(t, dir, "out", 4000)
	}
}
