package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/rowtocol/rowtocol/job/manifest"
)

// suspendAtLock starts the program in dir, and suspends it when it waits for the lock of dir/out.
// By then it has read the destination and found its inputs. resume lets it finish.
func suspendAtLock(t *testing.T, dir string, args ...string) (resume func() output) {
	t.Helper()
	lock := filepath.Join(dir, "out", manifest.LockName)
	write(t, lock, []byte("no holder"))
	cmd := startCmd(t, dir, command(t, args...))
	waitFor(t, filepath.Join(dir, "out", manifest.WorkName, "*", "lock-*"))
	suspend(t, cmd.Process.Pid)
	must(t, os.Remove(lock))
	return func() output {
		t.Helper()
		must(t, cmd.Process.Signal(syscall.SIGCONT))
		return waitCmd(t, cmd)
	}
}

// suspend stops a process that the test started, and returns when no thread of it runs. That may
// take long on a busy machine.
func suspend(t *testing.T, pid int) {
	t.Helper()
	must(t, syscall.Kill(pid, syscall.SIGSTOP))
	for {
		var status syscall.WaitStatus
		switch _, err := syscall.Wait4(pid, &status, syscall.WUNTRACED, nil); {
		case errors.Is(err, syscall.EINTR):
		case err != nil || !status.Stopped():
			t.Fatalf("the process was not suspended: %v, %v", status, err)
		default:
			return
		}
	}
}

// TestOverwriteLooksAgain publishes an output or increment after an --overwrite has read the
// destination, and before it has the lock. The --overwrite must convert the new input as well,
// or leave the destination unchanged.
func TestOverwriteLooksAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		convert []string // flags and input of the other run
		gone    bool     // whether its input is removed afterwards
		code    int
		text    string
		ids     []int
	}{
		"an increment": {[]string{"--incremental", "in"}, false, 0, "20 rows", idRange(0, 20)},
		"an increment whose input is gone": {
			[]string{"--incremental", "in"}, true, 9, "in/b.avro, which is not among its inputs any more", idRange(0, 20),
		},
		"an output": {[]string{"--overwrite", "in/b.avro"}, false, 0, "20 rows", idRange(0, 20)},
		"an output whose input is gone": {
			[]string{"--overwrite", "in/b.avro"}, true, 9, "in/b.avro, which is not among its inputs any more", idRange(10, 10),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			writePairs(t, dir, "in/a.avro", 0, 10)
			rowtocol(t, dir, nil, "convert", "in", "out").want(t, 0)
			resume := suspendAtLock(t, dir, "convert", "--overwrite", "--row-group-size", "1MiB", "in", "out")
			writePairs(t, dir, "in/b.avro", 10, 10)
			rowtocol(t, dir, nil, slices.Concat([]string{"convert"}, tc.convert, []string{"out"})...).want(t, 0)
			if tc.gone {
				must(t, os.Remove(dir+"/in/b.avro"))
			}
			resume().want(t, tc.code, tc.text)
			wantIDs(t, dir, tc.ids...)
			rowtocol(t, dir, nil, "verify", "out").want(t, 0)
		})
	}
}

// TestCommitReplacesWhatItsPlanSaw checks that commit --overwrite is refused if an increment or an
// output was published after the plan was made, and that its work stays.
func TestCommitReplacesWhatItsPlanSaw(t *testing.T) {
	for name, other := range map[string][]string{
		"increment-00000003-": {"--incremental", "in"}, "output ": {"--overwrite", "in"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			step := func(code int, args ...string) output {
				t.Helper()
				return rowtocol(t, dir, nil, args...).want(t, code)
			}
			writePairs(t, dir, "in/a.avro", 0, 10)
			step(0, "convert", "in", "out")
			writePairs(t, dir, "in/b.avro", 10, 10)
			step(0, "convert", "--incremental", "in", "out")
			step(0, "plan", "in", "out", "-o", "p.json")
			step(0, "task", "--plan", "p.json", "--task", "0")
			writePairs(t, dir, "in/c.avro", 20, 10)
			step(0, slices.Concat([]string{"convert"}, other, []string{"out"})...)
			step(9, "commit", "--overwrite", "--plan", "p.json").want(t, 9, "got another output after plan", name)
			wantIDs(t, dir, idRange(0, 30)...)
			step(0, "plan", "in", "out", "-o", "p.json")
			step(0, "task", "--plan", "p.json", "--task", "0")
			if name != "output " {
				step(9, "commit", "--plan", "p.json").want(t, 9, "--overwrite")
			}
			step(0, "commit", "--overwrite", "--plan", "p.json")
			wantIDs(t, dir, idRange(0, 30)...)
		})
	}
}

// TestReprocessLooksAgain publishes a late input of a partition after --reprocess has found its
// inputs. It must find the late input as well, without a warning.
func TestReprocessLooksAgain(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/k=1/a.avro", 0, 10)
	rowtocol(t, dir, nil, "convert", "--partitioned", "in", "parts").want(t, 0)
	must(t, os.Symlink("parts/k=1", dir+"/out"))
	writePairs(t, dir, "in/k=1/b.avro", 10, 10)
	resume := suspendAtLock(t, dir, "convert", "--partitioned", "--reprocess", "in", "parts")
	writePairs(t, dir, "in/k=1/c.avro", 20, 10)
	rowtocol(t, dir, nil, "convert", "--partitioned", "in", "parts").want(t, 0)
	resume().want(t, 0).lacks(t, "not among")
	wantIDs(t, dir, idRange(0, 30)...)
	if _, err := os.Stat(dir + "/parts/k=1/_SUCCESS"); err != nil {
		t.Error(err)
	}
}

// TestRestoredIncrement restores an increment whose inputs were converted again. No command may
// read rows twice or accept the destination.
func TestRestoredIncrement(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/a.avro", 0, 10)
	convertIncremental(t, dir, "--index", "id").want(t, 0)
	writePairs(t, dir, "in/b.avro", 10, 5)
	convertIncremental(t, dir, "--index", "id").want(t, 0)
	writePairs(t, dir, "in/c.avro", 15, 5)
	convertIncremental(t, dir, "--index", "id").want(t, 0)
	increment := incrementNames(t, dir)[1]
	must(t, os.Rename(dir+"/out/"+increment, dir+"/trash"))
	convertIncremental(t, dir, "--index", "id").want(t, 0, "5 rows")
	wantIDs(t, dir, slices.Concat(idRange(0, 10), idRange(15, 5), idRange(10, 5))...)
	must(t, os.Rename(dir+"/trash", dir+"/out/"+increment))
	again := incrementNames(t, dir)[3]
	for _, args := range [][]string{
		{"count", "out"}, {"cat", "out"}, {"head", "out"}, {"lookup", "out", "12"}, {"inspect", "out"}, {"stats", "out"}, {"schema", "out"},
		{"cat", "out", "--where", "id = 12"},
	} {
		rowtocol(t, dir, nil, args...).want(t, 3, "the rows of "+dir+"/in/b.avro are in ", increment, again)
	}
	rowtocol(t, dir, nil, "verify", "out").want(t, 6, dir+"/in/b.avro")
	convertIncremental(t, dir, "--index", "id").want(t, 9, dir+"/in/b.avro", increment, again)
	rowtocol(t, dir, nil, "status", "out").want(t, 0, dir+"/in/b.avro", increment)
	rowtocol(t, dir, nil, "plan", "--incremental", "in", "out", "-o", "p.json").want(t, 9, "in/b.avro")
	must(t, os.RemoveAll(dir+"/out/"+increment))
	convertIncremental(t, dir, "--index", "id").want(t, 0, "nothing to do")
	wantIDs(t, dir, slices.Concat(idRange(0, 10), idRange(15, 5), idRange(10, 5))...)
	rowtocol(t, dir, nil, "lookup", "out", "12").want(t, 0)
}

// TestHighestIncrementComesBack restores the highest increment after the next one was published.
// It counts if it has inputs of its own. If its input was converted again, readers refuse.
func TestHighestIncrementComesBack(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"a", "b", "c"} {
		writePairs(t, dir, "in/"+name+".avro", 10*i, 10)
		convertIncremental(t, dir).want(t, 0, "10 rows")
	}
	last := incrementNames(t, dir)[2]
	mustMove := func(from, to string) {
		t.Helper()
		must(t, os.Rename(dir+"/"+from, dir+"/"+to))
	}
	mustMove("out/"+last, "trash")
	mustMove("in/c.avro", "c.avro")
	writePairs(t, dir, "in/d.avro", 30, 10)
	convertIncremental(t, dir).want(t, 0, "10 rows")
	mustMove("trash", "out/"+last)
	mustMove("c.avro", "in/c.avro")
	names := incrementNames(t, dir)
	for i, name := range names {
		if sequence, _, _ := manifest.ParseIncrement(name); sequence != int64(i)+1 {
			t.Errorf("increments %q", names)
		}
	}
	convertIncremental(t, dir).want(t, 0, "nothing to do")
	rowtocol(t, dir, nil, "count", "out").want(t, 0, "40")
	wantIDs(t, dir, idRange(0, 40)...)
	rowtocol(t, dir, nil, "verify", "out", "--against", "in", "--require-complete").want(t, 0)
	if s := statusIn(t, dir, "out"); len(s.Increments) != 4 || s.Damage != "" || len(s.Debris)+len(s.Foreign) > 0 {
		t.Errorf("%+v", s)
	}

	last = names[3]
	mustMove("out/"+last, "trash")
	convertIncremental(t, dir).want(t, 0, "10 rows")
	again := incrementNames(t, dir)[3]
	mustMove("trash", "out/"+last)
	rowtocol(t, dir, nil, "count", "out").want(t, 3, "in/d.avro", last, again)
	convertIncremental(t, dir).want(t, 9, "in/d.avro", last, again)
	rowtocol(t, dir, nil, "status", "out").want(t, 0, "in/d.avro", last)
	if sequence, _, _ := manifest.ParseIncrement(again); sequence != 5 {
		t.Errorf("%s came after %s", again, last)
	}
}
