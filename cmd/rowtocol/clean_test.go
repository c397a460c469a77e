package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// makeOlder makes everything below a directory older by days.
func makeOlder(t *testing.T, dir string, days int) {
	t.Helper()
	then := time.Now().AddDate(0, 0, -days)
	err := filepath.WalkDir(dir, func(name string, _ os.DirEntry, err error) error {
		if err == nil {
			err = os.Chtimes(name, then, then)
		}
		return err
	})
	must(t, err)
}

// kindsOf returns the kinds of leftovers, in one line.
func kindsOf(all []removable) string {
	var texts []string
	for _, r := range all {
		texts = append(texts, r.What)
	}
	return strings.Join(texts, ", ")
}

func TestClean(t *testing.T) {
	dir := t.TempDir()
	rowtocol(t, dir, nil, "clean", "out").want(t, 3, "does not exist")
	wantAbsent(t, dir+"/out")
	rowtocol(t, dir, nil, "clean", "--older-than", "-1h", "out").want(t, 1, "--older-than")
	rowtocol(t, dir, nil, "clean", "--older-than", "week", "out").want(t, 1, "--older-than")

	leaveKilledRun(t, dir, 3000)
	must(t, os.Remove(dir+"/out/_lock"))
	rowtocol(t, dir, nil, "task", "--plan", "plan.json", "--task", "1").want(t, 0)
	write(t, dir+"/out/_index/0123456789abcdef/id", []byte("abc"))
	write(t, dir+"/out/.rowtocol/plan-0123456789abcdef0123456789abcdef/task-00000.json", []byte("abc"))
	makeOlder(t, dir+"/out/.rowtocol/plan-0123456789abcdef0123456789abcdef", 9)

	before := fileSums(t, dir)
	var c cleaned
	rowtocol(t, dir, nil, "clean", "--json", "--dry-run", "out").want(t, 0).object(t, &c)
	wantUnchanged(t, dir, before)
	if kindsOf(c.Removed) != "tasks of a plan, tasks of a plan, file of no output, left by an earlier run" || !c.DryRun || c.Bytes == 0 {
		t.Fatalf("%+v", c)
	}
	if old, young := c.Removed[0].From, c.Removed[1].From; !old.Before(time.Now()) || young.Before(time.Now().Add(6*24*time.Hour)) || !c.Removed[2].From.IsZero() {
		t.Errorf("%+v", c)
	}
	rowtocol(t, dir, nil, "clean", "--dry-run", "out").want(t, 0, "4 leftovers could be removed", "clean removes it from")

	would := c.Removed[0]
	if o := rowtocol(t, dir, nil, "clean", "--quiet", "--dry-run", "out").want(t, 0, "4 leftovers"); o.stderr != "" {
		t.Error(o.stderr)
	}
	rowtocol(t, dir, nil, "clean", "--json", "out").want(t, 0).object(t, &c)
	if kindsOf(c.Removed) != "tasks of a plan, file of no output, left by an earlier run" || kindsOf(c.Kept) != "tasks of a plan" || c.Removed[0].Name != would.Name || c.Removed[0].Bytes != would.Bytes {
		t.Errorf("%+v, want %+v as in the dry run", c, would)
	}
	rowtocol(t, dir, nil, "clean", "out").want(t, 0, "nothing removed", "kept for now")
	rowtocol(t, dir, nil, "task", "--plan", "plan.json", "--task", "1").want(t, 0, "was done before")
	rowtocol(t, dir, nil, "clean", "--older-than", "0s", "out").want(t, 0, "1 leftover removed", "plan-")
	if entries, err := os.ReadDir(dir + "/out"); err != nil || len(entries) > 0 {
		t.Errorf("%v %v", entries, err)
	}
}

// TestCleanLeavesAlone checks that clean keeps valid outputs, foreign files and held work.
func TestCleanLeavesAlone(t *testing.T) {
	dir := t.TempDir()
	makeOutput(t, dir, "out", 0)
	writePairs(t, dir, "late.avro", 50, 5)
	rowtocol(t, dir, nil, "convert", "--incremental", "late.avro", "out").want(t, 0)
	makeOlder(t, dir+"/out", 99)
	before := fileSums(t, dir+"/out")
	rowtocol(t, dir, nil, "clean", "--older-than", "0s", "out").want(t, 0, "nothing removed")
	write(t, dir+"/out/.rowtocol/trash-1/x", []byte("abc"))
	rowtocol(t, dir, nil, "clean", "--older-than", "0s", "out").want(t, 0, "1 leftover removed, 3 B")
	if o := rowtocol(t, dir, nil, "clean", "--quiet", "out").want(t, 0); o.stdout+o.stderr != "" {
		t.Errorf("for cron: %s%s", o.stdout, o.stderr)
	}
	wantUnchanged(t, dir+"/out", before)

	write(t, dir+"/out/.rowtocol/trash-1/x", []byte("abc"))
	release := holdLock(t, dir+"/out")
	rowtocol(t, dir, nil, "clean", "--dry-run", "out").want(t, 0, "exit 5")
	rowtocol(t, dir, nil, "clean", "out").want(t, 5, "is locked by process")
	release()

	write(t, dir+"/out/.rowtocol/trash-1/x", []byte("abc"))
	write(t, dir+"/out/others", nil)
	write(t, dir+"/out/part-00000-0-0123456789abcdef.trv", nil)
	before = fileSums(t, dir+"/out")
	rowtocol(t, dir, nil, "clean", "--dry-run", "out").want(t, 9, "others", "trash-1")
	wantUnchanged(t, dir+"/out", before)
	rowtocol(t, dir, nil, "clean", "out").want(t, 9, "others", "1 leftover removed")
	delete(before, "/.rowtocol/trash-1/x")
	wantUnchanged(t, dir+"/out", before)
}

// TestCleanTree checks that all partitions are cleaned, even if one is refused.
func TestCleanTree(t *testing.T) {
	dir := makeTree(t, "mail/dt=1", "mail/dt=2")
	write(t, dir+"/mail/dt=1/others", nil)
	for _, p := range []string{"dt=1", "dt=2", "dt=3"} {
		write(t, dir+"/mail/"+p+"/.rowtocol/trash-1/x", []byte("abc"))
	}
	var c cleaned
	rowtocol(t, dir, nil, "clean", "--json", "mail").want(t, 9).object(t, &c)
	if len(c.Partitions) != 3 || c.Bytes != 9 || c.Partitions[0].Error == nil || c.Partitions[2].Error != nil || kindsOf(c.Partitions[2].Removed) != "remains of a removal" {
		t.Errorf("%+v", c)
	}
	rowtocol(t, dir, nil, "verify", "mail/dt=2").want(t, 0)
	rowtocol(t, dir, nil, "clean", "mail").want(t, 9, "mail/dt=2: nothing removed", "others")
}
