package publish

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// killPublish publishes an output and is killed before the n-th rename, or before the last
// rename if n is 0. The first rename takes the work. The second moves the manifest of a former
// output out.
func killPublish(t *testing.T, d *Destination, name string, n int) {
	t.Helper()
	if publishUntilKilled(t, d, stageWork, name, n) != nil {
		t.Fatal("the run was not killed")
	}
}

// publishUntilKilled does what killPublish does, for work that a function stages. It returns
// the output if there were fewer renames.
func publishUntilKilled(t *testing.T, d *Destination, stage func(*testing.T, *Claim, string) *work, name string, n int) *manifest.Success {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	st := &killAtRename{Store: d.st, left: n, to: manifest.SuccessName, end: cancel}
	first := At(store.Location{Store: st, Path: d.path}, Options{Times: d.times, Movers: 1, Now: d.now, Sleep: d.sleep, KeepReplaced: d.keep})
	c, held, err := first.Claim(ctx)
	testenv.Must(t, err)
	r := stage(t, c, name)
	st.counts = true
	s, err := c.Publish(held, r.Plan, r.Work, nil)
	abandon(c)
	if err != nil {
		return nil
	}
	return s
}

// abandon ends a claim as if its process ended.
func abandon(c *Claim) {
	c.cancel(nil)
	c.heartbeats.Wait()
	liveHolders.Delete(c.id)
}

// pendingID returns the ID of the pending output.
func pendingID(t *testing.T, d *Destination) string {
	t.Helper()
	return pendingOutputs(t, d)[0].ID
}

// pendingHolderDir returns the directory of the holder of the pending output.
func pendingHolderDir(t *testing.T, d *Destination) string {
	t.Helper()
	return path.Dir(staged(t, d, pending)[0])
}

// killAtRename is a store for a process that is killed before its n-th rename.
type killAtRename struct {
	store.Store
	counts bool
	left   int    // number of renames left; 0 to be killed before the rename to the name to
	to     string // base name of a file, if left is 0
	end    func()
}

func (e *killAtRename) Rename(ctx context.Context, from, to string) error {
	if e.counts {
		if e.left--; e.left == 0 || e.left < 0 && path.Base(to) == e.to {
			e.end()
			return context.Canceled
		}
	}
	return e.Store.Rename(ctx, from, to)
}

// staged returns the files in the work directory whose names begin with a
// prefix.
func staged(t *testing.T, d *Destination, prefix string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(d.workDir(), func(p string, e os.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(e.Name(), prefix) {
			files = append(files, p)
		}
		return err
	})
	testenv.Must(t, err)
	return files
}

// TestRollForward checks that the output of a run is completed that was killed before any of
// its renames, after the next run was killed as well.
func TestRollForward(t *testing.T) {
	for n := 1; ; n++ {
		for m, ended := 1, false; !ended; m++ {
			d, st := inMemory(t)
			publishOutput(t, d, st, "P")
			if publishUntilKilled(t, d, stageWork, "Q", n) != nil {
				return
			}
			s := stateOf(t, d)
			if s.Finished(requestOf("P")) || s.CheckReplaceable(requestOf("P"), false) != nil {
				t.Errorf("killed at rename %d: the pending output does not count", n)
			}
			next := at(&killAtRename{Store: st, counts: true, left: m, end: func() {}}, d.path)
			next.movers = 1
			c, _, err := next.Claim(t.Context())
			if ended = err == nil; ended {
				abandon(c)
			}
			c, _ = mustClaim(t, at(st, d.path))
			if !c.State().Finished(requestOf("Q")) {
				t.Errorf("killed at rename %d, and the next at %d: the output was not completed", n, m)
			}
			mustRelease(t, c)
			wantOnlyOutput(t, st, d.path)
		}
	}
}

// moveAndLink moves a file or directory out of the destination, and leaves a link to it.
func moveAndLink(dest, name string) error {
	elsewhere := filepath.Join(filepath.Dir(dest), "elsewhere")
	return errors.Join(os.Rename(name, elsewhere), os.Symlink(elsewhere, name))
}

// TestRollForwardOverEmptyDirectory checks that an output is completed over the empty
// directory that an interrupted rename left.
func TestRollForwardOverEmptyDirectory(t *testing.T) {
	d, _ := onDisk(t)
	killPublish(t, d, "Q", 2)
	dir := staged(t, d, "part-00001")[0]
	id := pendingID(t, d)
	testenv.Must(t, os.Mkdir(d.pathOf(manifest.Published(path.Base(dir), id)), 0o777))
	wantFinished(t, d, "Q")
}

// TestRollForwardOverPlacedDirectory checks that an output is completed if a rename of a
// directory left it in both places, as a power cut can: the one in its place stays there.
func TestRollForwardOverPlacedDirectory(t *testing.T) {
	d, _ := onDisk(t)
	killPublish(t, d, "Q", 2)
	dir := staged(t, d, "part-00001")[0]
	place := d.pathOf(manifest.Published(path.Base(dir), pendingID(t, d)))
	testenv.Must(t, os.CopyFS(place, os.DirFS(dir)))
	wantFinished(t, at(&hookStore{Store: d.st, rename: func(from, _ string, do func() error) error {
		if from == place {
			t.Errorf("%s was moved out", from)
		}
		return do()
	}}, d.path), "Q")
}

// TestReplacedPartIsNotRead checks that the files of a part that was moved out are not
// read as manifests because of their names: they may be large.
func TestReplacedPartIsNotRead(t *testing.T) {
	d, _ := onDisk(t)
	killPublish(t, d, "Q", 0)
	if out := staged(t, d, "retired-b"); len(out) != 1 || !strings.Contains(out[0], "/"+old+"-") {
		t.Fatalf("got files %q moved out", out)
	}
	c, _ := mustClaim(t, at(&hookStore{Store: store.Local(), read: func(p string) error {
		if strings.Contains(p, "/"+old+"-") {
			t.Errorf("%s was read", p)
		}
		return nil
	}}, d.path))
	mustRelease(t, c)
	wantOnlyOutput(t, store.Local(), d.path)
}

// TestRollForwardWithLostFiles checks that a pending output is given up, and made again, if a
// file of it was changed or removed.
func TestRollForwardWithLostFiles(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, d *Destination) error{
		"a bit": func(t *testing.T, d *Destination) error {
			return os.WriteFile(staged(t, d, "part-00000")[0], []byte("task 0 of R"), 0o666)
		},
		"a part gone":   func(t *testing.T, d *Destination) error { return os.Remove(staged(t, d, "part-00000")[0]) },
		"a part a link": func(t *testing.T, d *Destination) error { return moveAndLink(d.path, staged(t, d, "part-00000")[0]) },
		"a bit inside": func(t *testing.T, d *Destination) error {
			return os.WriteFile(staged(t, d, "part-00001")[0]+"/a", []byte("task 1 of R"), 0o666)
		},
		"a file inside gone": func(t *testing.T, d *Destination) error { return os.Remove(staged(t, d, "part-00001")[0] + "/a") },
		"a file inside a link": func(t *testing.T, d *Destination) error {
			return moveAndLink(d.path, staged(t, d, "part-00001")[0]+"/a")
		},
		"a directory a link": func(t *testing.T, d *Destination) error { return moveAndLink(d.path, staged(t, d, "part-00001")[0]) },
		"a directory a file": func(t *testing.T, d *Destination) error {
			dir := staged(t, d, "part-00001")[0]
			return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o666))
		},
		"a directory gone": func(t *testing.T, d *Destination) error { return os.RemoveAll(staged(t, d, "part-00001")[0]) },
		"one more inside": func(t *testing.T, d *Destination) error {
			return os.WriteFile(staged(t, d, "part-00001")[0]+"/c", nil, 0o666)
		},
		"files of a part in two places": func(t *testing.T, d *Destination) error {
			dir := staged(t, d, "part-00001")[0]
			id := pendingID(t, d)
			to := d.pathOf(manifest.Published(path.Base(dir), id))
			return errors.Join(os.Mkdir(to, 0o777), os.Rename(dir+"/a", to+"/a"))
		},
	} {
		// The manifest of the former output is in its place at rename 2, but not at 3.
		for _, rename := range []int{2, 3} {
			d, m := onDisk(t)
			killPublish(t, d, "Q", rename)
			testenv.Must(t, change(t, d))
			c, _ := mustClaim(t, d)
			if s := c.State(); s.ID() != m.ID || s.Finished(requestOf("Q")) || s.CheckReplaceable(requestOf("Q"), true) != nil {
				t.Errorf("%s: killed at rename %d: got output %q, want %q", name, rename, s.ID(), m.ID)
			}
			mustRelease(t, c)
			publishOutput(t, d, store.Local(), "Q")
			wantOnlyOutput(t, store.Local(), d.path)
		}
	}
}

// TestFormerOutputIsRestored checks that the former output is restored if the output that was
// to replace it lost a file, unless files of the former one were moved out.
func TestFormerOutputIsRestored(t *testing.T) {
	for name, c := range map[string]struct {
		renames int // renames of the killed run
		back    bool
	}{
		"no file was moved":              {1, true},
		"all files were moved in":        {1 + 2*2 + 4, true},
		"a former file was moved out":    {1 + 2*2 + 4 + 1, false},
		"all former files are moved out": {1 + 2*2 + 4 + 4, false},
	} {
		d, m := onDisk(t)
		killPublish(t, d, "Q", 1+c.renames+1)
		id := pendingID(t, d)
		testenv.Must(t, os.RemoveAll(d.pathOf("part-00000-0-"+id+".trv")), removeAll(staged(t, d, "part-00000")))
		claimed, _ := mustClaim(t, d)
		if s := claimed.State(); (s.ID() == m.ID) != c.back || s.Finished(requestOf("P")) != c.back {
			t.Errorf("%s: got output %q, %s", name, s.ID(), s.damage)
		}
		mustRelease(t, claimed)
		publishOutput(t, d, store.Local(), "R")
		wantOnlyOutput(t, store.Local(), d.path)
	}
}

// TestForeignFileInPlacedPart checks that a pending output is completed after a foreign file
// in one of its parts is gone.
func TestForeignFileInPlacedPart(t *testing.T) {
	d, _ := onDisk(t)
	killPublish(t, d, "Q", 2+2*2+4+1)
	id := pendingID(t, d)
	others := d.pathOf("part-00001-0-" + id + ".trv/others")
	testenv.Must(t, os.WriteFile(others, nil, 0o666))
	_, _, err := d.Claim(t.Context())
	failuretest.Want(t, err, failure.Foreign, "others")
	testenv.Must(t, os.Remove(others))
	wantFinished(t, d, "Q")
}

// TestLinkInPlaceOfPlacedFile checks that a pending output is given up if a file in its place
// was replaced by a link to the file.
func TestLinkInPlaceOfPlacedFile(t *testing.T) {
	for _, name := range []string{"part-00000-0-", "part-00001-0-"} {
		d, m := onDisk(t)
		killPublish(t, d, "Q", 2+2*2+4+1)
		file := d.pathOf(name + pendingID(t, d) + ".trv")
		if info, err := os.Stat(file); err != nil {
			t.Fatal(err)
		} else if info.IsDir() {
			file += "/a"
		}
		testenv.Must(t, moveAndLink(d.path, file))
		c, _ := mustClaim(t, d)
		if c.State().ID() != m.ID {
			t.Errorf("%s: got output %q, want %q", name, c.State().ID(), m.ID)
		}
		mustRelease(t, c)
		publishOutput(t, d, store.Local(), "Q")
		wantOnlyOutput(t, store.Local(), d.path)
	}
}

// TestLatestFormerOutput checks that the later of two former outputs that lost no file is
// restored, and that foreign files are kept. One of the two had no files.
func TestLatestFormerOutput(t *testing.T) {
	d := at(store.Local(), filepath.Join(t.TempDir(), "dest"))
	c, _ := mustClaim(t, d)
	r := stageWorkOfTasks(t, c, "P", 0)
	mustPublish(t, c, r)
	mustRelease(t, c)
	killPublish(t, d, "Q", 0)
	kept := staged(t, d, retired)
	if len(kept) != 1 {
		t.Fatalf("got retired manifests %q", kept)
	}
	again := filepath.Join(d.workDir(), "0123456789abcdef", path.Base(kept[0]))
	text, err := os.ReadFile(kept[0])
	testenv.Must(t, err)
	m := publishOutput(t, d, store.Local(), "Q")
	killPublish(t, d, "R", 3)
	testenv.Must(t, os.Mkdir(path.Dir(again), 0o777), os.WriteFile(again, text, 0o666),
		os.Remove(staged(t, d, "part-00000")[0]), os.WriteFile(d.pathOf("others"), nil, 0o666))
	c, _ = mustClaim(t, d)
	if c.State().ID() != m.ID {
		t.Errorf("got output %q, want %q", c.State().ID(), m.ID)
	}
	mustRelease(t, c)
	if err := os.Remove(d.pathOf("others")); err != nil {
		t.Error(err)
	}
	publishOutput(t, d, store.Local(), "R")
	wantOnlyOutput(t, store.Local(), d.path)
}

// TestForeignManifestInPlaceOfFormer checks that a foreign manifest is kept in the place of
// that of a former output.
func TestForeignManifestInPlaceOfFormer(t *testing.T) {
	d, _ := onDisk(t)
	killPublish(t, d, "Q", 3)
	testenv.Must(t, os.Remove(staged(t, d, "part-00000")[0]), os.WriteFile(d.pathOf(manifest.SuccessName), nil, 0o666))
	_, _, err := d.Claim(t.Context())
	failuretest.Want(t, err, failure.Foreign, "_SUCCESS")
	testenv.Must(t, os.Remove(d.pathOf(manifest.SuccessName)))
	c, held := mustClaim(t, d)
	if err := c.Discard(held, mustStatus(t, d).Unfinished[0].PlanID); err != nil {
		t.Error(err)
	}
	mustRelease(t, c)
	wantFinished(t, d, "P")
}

// TestGivenUpWorkIsPutBack checks that the rest of the work is put back into the staging
// directory if a pending output lost a file.
func TestGivenUpWorkIsPutBack(t *testing.T) {
	d, m := onDisk(t)
	killPublish(t, d, "Q", 3)
	part := staged(t, d, "part-00000")[0]
	text, err := os.ReadFile(part)
	testenv.Must(t, err)
	testenv.Must(t, os.Remove(part))
	c, held := mustClaim(t, d)
	if c.State().ID() != m.ID || len(c.CompletedIDs()) > 0 {
		t.Errorf("got output %q, want %q", c.State().ID(), m.ID)
	}
	w := mustStatus(t, d).Unfinished
	if len(w) != 1 || w[0].Plan == nil || w[0].Tasks != 2 || w[0].Output != "" {
		t.Fatalf("got work %+v", w)
	}
	dir := d.StagingPath(w[0].PlanID)
	if err := os.WriteFile(path.Join(dir, path.Base(part)), text, 0o666); err != nil {
		t.Fatalf("a task cannot be done again: %v", err)
	}
	if _, err := c.Publish(held, w[0].Plan, checkedWork(t, d.st, dir, w[0].Plan).Work, nil); err != nil {
		t.Fatalf("commit again: %v", err)
	}
	mustRelease(t, c)
	if !stateOf(t, d).Finished(requestOf("Q")) {
		t.Error("the output is not committed")
	}
	wantOnlyOutput(t, store.Local(), d.path)
}

// removeAll removes files and directories.
func removeAll(files []string) (err error) {
	for _, file := range files {
		err = errors.Join(err, os.RemoveAll(file))
	}
	return err
}

// TestRollForwardWithoutResults checks that an output is completed without the results of its
// tasks, because the pending manifest names all files.
func TestRollForwardWithoutResults(t *testing.T) {
	for _, rename := range []int{2, 0} { // no file is in its place, or all are
		d, _ := onDisk(t)
		killPublish(t, d, "Q", rename)
		testenv.Must(t, removeAll(staged(t, d, "task-")))
		wantFinished(t, d, "Q")
	}
}

// TestPublishedOutputIsNotRolledForward checks that an output is not published again that a
// run published without clearing up.
func TestPublishedOutputIsNotRolledForward(t *testing.T) {
	d, st := inMemory(t)
	c, _, r := claimAndStage(t, d, "P")
	mustPublish(t, c, r)
	abandon(c)
	before, err := st.Stat(t.Context(), d.pathOf(manifest.SuccessName))
	testenv.Must(t, err)
	claimAndRelease(t, d)
	after, err := st.Stat(t.Context(), d.pathOf(manifest.SuccessName))
	if err != nil || after.FileID != before.FileID {
		t.Errorf("the output was published again (%v)", err)
	}
	wantOnlyOutput(t, st, d.path)
}

// TestOlderPendingOutput checks that a pending output is not completed if a later output is in
// place.
func TestOlderPendingOutput(t *testing.T) {
	d, _ := onDisk(t)
	killPublish(t, d, "Q", 2)
	back := moveAside(t, pendingHolderDir(t, d))
	publishOutput(t, d, store.Local(), "R")
	if m := publishOutput(t, d, store.Local(), "P"); m.Sequence != 3 {
		t.Fatalf("got number %d, want 3", m.Sequence)
	}
	back()
	c, _ := mustClaim(t, d)
	if !c.State().Finished(requestOf("P")) {
		t.Error("an older output replaced a newer one")
	}
	mustRelease(t, c)
	wantOnlyOutput(t, store.Local(), d.path)
}
