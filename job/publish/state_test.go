package publish

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/manifest/manifesttest"
	"github.com/rowtocol/rowtocol/store"
)

// onDisk returns a destination on local disk that holds an output.
func onDisk(t *testing.T) (*Destination, *manifest.Success) {
	t.Helper()
	d := at(store.Local(), filepath.Join(t.TempDir(), "dest"))
	return d, publishOutput(t, d, store.Local(), "P")
}

func stateOf(t *testing.T, d *Destination) *State {
	t.Helper()
	s, err := d.ReadState(t.Context())
	testenv.Must(t, err)
	return s
}

func TestFinished(t *testing.T) {
	d, st := inMemory(t)
	if s := stateOf(t, d); s.Success != nil || s.Leftovers || s.Finished(requestOf("P")) || s.ID() != "" || s.CheckReplaceable(requestOf("P"), false) != nil {
		t.Errorf("nothing: %+v", s)
	}
	m := publishOutput(t, d, st, "P")
	wantOnlyOutput(t, st, d.path)
	s := stateOf(t, d)
	if !s.Finished(requestOf("P")) || s.Leftovers || s.ID() != m.ID || s.CheckReplaceable(requestOf("P"), false) != nil {
		t.Errorf("finished: %+v", s)
	}
	if s.Finished(requestOf("Q")) {
		t.Error("another request is finished")
	}
	failuretest.Want(t, s.CheckReplaceable(requestOf("Q"), false), failure.Foreign, "another request: input Q was added; input P is not named; --overwrite replaces the output")
	if err := s.CheckReplaceable(requestOf("Q"), true); err != nil {
		t.Error(err)
	}
	again := publishOutput(t, d, st, "Q")
	if again.Sequence != m.Sequence+1 {
		t.Errorf("got number %d after %d", again.Sequence, m.Sequence)
	}
	wantOnlyOutput(t, st, d.path)
	s = stateOf(t, d)
	old, now := planOf(t, "P"), planOf(t, "R")
	old.Replaces, now.Replaces = []string{m.ID}, s.OutputIDs()
	failuretest.Want(t, s.CheckPlan(old, true), failure.Foreign, "got another output after plan", ": output "+again.ID)
	failuretest.Want(t, s.CheckPlan(now, false), failure.Foreign, "--overwrite")
	if err := s.CheckPlan(now, true); err != nil {
		t.Error(err)
	}
}

// TestChanged checks that changes of an output after it was published are reported as damage.
func TestChanged(t *testing.T) {
	part := func(dir string) string {
		parts, _ := filepath.Glob(dir + "/part-00001*")
		return parts[0]
	}
	for name, change := range map[string]func(file, dir string) error{
		".trv/a is missing":        func(_, dir string) error { return os.Remove(part(dir) + "/a") },
		".trv/a has 3 bytes":       func(_, dir string) error { return os.Truncate(part(dir)+"/a", 3) },
		".trv/retired-b is a link": func(_, dir string) error { return moveAndLink(dir, part(dir)+"/retired-b") },
		".trv/a has 0 bytes, not 1": func(_, dir string) error {
			return errors.Join(os.Remove(part(dir)+"/a"), os.Mkdir(part(dir)+"/a", 0o777))
		},
		".trv is a link": func(_, dir string) error { return moveAndLink(dir, part(dir)) },
		".trv is not a directory": func(_, dir string) error {
			p := part(dir)
			return errors.Join(os.RemoveAll(p), os.WriteFile(p, []byte("task 1 of P"), 0o666))
		},
		".trv is missing": func(_, dir string) error { return os.RemoveAll(part(dir)) },
		"is missing":      func(file, _ string) error { return os.Remove(file) },
		"has 3 bytes":     func(file, _ string) error { return os.Truncate(file, 3) },
		"is a link": func(file, _ string) error {
			return errors.Join(os.Rename(file, filepath.Join(filepath.Dir(file), "../elsewhere")), os.Symlink("../elsewhere", file))
		},
		"/id is missing": func(_, dir string) error { return os.RemoveAll(dir + "/_index") },
		"/id has 2 bytes": func(_, dir string) error {
			index, err := filepath.Glob(dir + "/_index/*/id")
			return errors.Join(err, os.Truncate(index[0], 2))
		},
		"@0-2 is missing":   func(_, dir string) error { return os.RemoveAll(dir + "/_quarantine") },
		"has 0 bytes, not ": func(file, _ string) error { return errors.Join(os.Remove(file), os.Mkdir(file, 0o777)) },
	} {
		d, m := onDisk(t)
		testenv.Must(t, change(d.pathOf(m.Parts[0].Files[0].Name), d.path))
		s := stateOf(t, d)
		if s.Finished(requestOf("P")) {
			t.Errorf("%s: finished", name)
		}
		failuretest.Want(t, s.CheckReplaceable(requestOf("P"), false), failure.Foreign, name)
		if err := s.CheckReplaceable(requestOf("P"), true); err != nil {
			t.Error(err)
		}
	}
}

// addToIndex adds a file to an output's index.
func addToIndex(dir, _ string) error {
	index, err := filepath.Glob(dir + "/_index/*")
	return errors.Join(err, os.WriteFile(index[0]+"/others", nil, 0o666))
}

// TestForeignFiles checks that nothing changes in a destination with foreign files, nor next
// to it.
func TestForeignFiles(t *testing.T) {
	write := func(name, text string) func(dir, victim string) error {
		return func(dir, _ string) error { return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666) }
	}
	link := func(name string) func(dir, victim string) error {
		return func(dir, victim string) error {
			return errors.Join(os.RemoveAll(filepath.Join(dir, name)), os.Symlink(victim, filepath.Join(dir, name)))
		}
	}
	sealed := func(text string) string { return string(manifesttest.Seal([]byte(text))) }
	for name, tc := range map[string]struct {
		do   func(dir, victim string) error
		text string
	}{
		"a file":             {write("notes.txt", "mine"), "notes.txt"},
		"a hidden file":      {write(".notes", "mine"), ".notes"},
		"Spark's part":       {write("part-00000-8a6bd39c-0000-0000-0000-1f8a9d7e0000-c000.avro", ""), "part-00000-8a6b"},
		"Spark's _SUCCESS":   {write("_SUCCESS", ""), "_SUCCESS (not a manifest"},
		"no checksum":        {write("_SUCCESS", `{"version": 2, "id": "00112233445566ff"}`), "put a copy of it back"},
		"a torn _SUCCESS":    {write("_SUCCESS", `{"version": 2, "id"`), "_SUCCESS (not a manifest"},
		"a binary _SUCCESS":  {write("_SUCCESS", "\x00\xff"), "_SUCCESS (not a manifest"},
		"a later _SUCCESS":   {write("_SUCCESS", sealed(`{"version": 99}`)), "it has 99"},
		"a way out":          {write("_SUCCESS", sealed(`{"version": 2, "id": "00112233445566ff", "parts": [{"files": [{"name": "sub/x"}]}]}`)), `"sub/x" is not the name`},
		"_SUCCESS is a link": {link("_SUCCESS"), "_SUCCESS (not a regular file)"},
		"_SUCCESS is a link to a file": {func(dir, victim string) error {
			return errors.Join(os.Remove(dir+"/_SUCCESS"), os.Symlink(victim+"/dir/file", dir+"/_SUCCESS"))
		}, "_SUCCESS (not a regular file)"},
		"_SUCCESS is a directory": {func(dir, _ string) error {
			return errors.Join(os.Remove(dir+"/_SUCCESS"), os.Mkdir(dir+"/_SUCCESS", 0o777))
		}, "_SUCCESS (not a regular file)"},
		"_SUCCESS is a pipe": {func(dir, _ string) error {
			return errors.Join(os.Remove(dir+"/_SUCCESS"), syscall.Mkfifo(dir+"/_SUCCESS", 0o666))
		}, "_SUCCESS (not a manifest of rowtocol: open"},
		"_SUCCESS is a link to itself": {func(dir, _ string) error {
			return errors.Join(os.Remove(dir+"/_SUCCESS"), os.Symlink("_SUCCESS", dir+"/_SUCCESS"))
		}, "_SUCCESS (not a regular file)"},
		".rowtocol is a link": {link(".rowtocol"), ".rowtocol (a link)"},
		".rowtocol is a file": {write(".rowtocol", ""), ".rowtocol"},
		"_quarantine":         {link("_quarantine"), "_quarantine (a link)"},
		"an index":            {func(dir, _ string) error { return os.WriteFile(dir+"/_index/x", nil, 0o666) }, "_index/x"},
		"inside an index":     {addToIndex, "/others"},
		"a copy":              {func(dir, _ string) error { return os.WriteFile(dir+"/_quarantine/x", nil, 0o666) }, "_quarantine/x"},
		"a file in a part": {func(dir, _ string) error {
			parts, _ := filepath.Glob(dir + "/part-00001*")
			return os.WriteFile(parts[0]+"/notes.txt", []byte("mine"), 0o666)
		}, ".trv/notes.txt"},
		"four files": {func(dir, victim string) error {
			return errors.Join(write("a", "")(dir, ""), write("b", "")(dir, ""), write("c", "")(dir, ""), write("d", "")(dir, ""))
		}, "a, b, c, and 1 more"},
	} {
		d, _ := onDisk(t)
		victim := t.TempDir()
		testenv.Must(t, os.MkdirAll(victim+"/dir/sub", 0o777), os.WriteFile(victim+"/dir/file", nil, 0o666), tc.do(d.path, victim))
		before := namesBelow(t, store.Local(), victim) + namesBelow(t, store.Local(), d.path)
		failuretest.Want(t, stateOf(t, d).CheckReplaceable(requestOf("Q"), true), failure.Foreign, tc.text)
		c, _, err := d.Claim(t.Context())
		if err == nil {
			failuretest.Want(t, c.State().CheckReplaceable(requestOf("Q"), true), failure.Foreign, tc.text)
			mustRelease(t, c)
		} else if !strings.Contains(name, ".rowtocol") {
			t.Errorf("%s: %v", name, err)
		}
		if after := namesBelow(t, store.Local(), victim) + namesBelow(t, store.Local(), d.path); after != before {
			t.Errorf("%s: got files %s\nwant %s", name, after, before)
		}
	}
}

// TestFileInPlace checks that a file in place of the destination is refused.
func TestFileInPlace(t *testing.T) {
	d, st := inMemory(t)
	testenv.Must(t, st.WriteFile(t.Context(), d.path, nil, true))
	_, err := d.ReadState(t.Context())
	failuretest.Want(t, err, failure.Usage, "is a file")
	if _, _, err := d.Claim(t.Context()); err == nil {
		t.Error("a file was claimed")
	}
	nowhere := at(st, "/none/dest")
	_, _, err = nowhere.Claim(t.Context())
	failuretest.Want(t, err, failure.Refused, "its parent directory does not exist")
}

// TestTidy checks that Tidy removes the leftovers of a dead holder from a finished output.
func TestTidy(t *testing.T) {
	d, st := inMemory(t)
	publishOutput(t, d, st, "P")
	err := errors.Join(
		st.Mkdir(t.Context(), d.workDir()), st.Mkdir(t.Context(), d.workDir()+"/0123456789abcdef"), st.Mkdir(t.Context(), d.workDir()+"/trash-x"),
		st.WriteFile(t.Context(), d.pathOf("part-00007-0-00112233445566ff.trv"), nil, true),
		st.Mkdir(t.Context(), d.pathOf("_quarantine/00112233445566ff")),
	)
	testenv.Must(t, err)
	if !stateOf(t, d).Leftovers {
		t.Error("the destination has no leftovers")
	}
	if err := d.Tidy(t.Context()); err != nil {
		t.Error(err)
	}
	wantOnlyOutput(t, st, d.path)
}

// TestUnfinishedWork checks that work next to a finished output counts as leftovers only if a
// dead holder took it to publish it.
func TestUnfinishedWork(t *testing.T) {
	d, st := inMemory(t)
	publishOutput(t, d, st, "P")
	c, _ := mustClaim(t, d)
	stageWork(t, c, "Q")
	mustRelease(t, c)
	if s := stateOf(t, d); s.Leftovers || !s.Finished(requestOf("P")) {
		t.Errorf("%+v", s)
	}
	killPublish(t, d, "Q", 2)
	testenv.Must(t, st.Remove(t.Context(), d.pathOf(manifest.LockName)))
	if !stateOf(t, d).Leftovers {
		t.Error("the destination has no leftovers after the kill")
	}
	if err := d.Tidy(t.Context()); err != nil {
		t.Error(err)
	}
	if !stateOf(t, d).Finished(requestOf("Q")) {
		t.Error("the output was not completed")
	}
	wantOnlyOutput(t, st, d.path)
}

// TestCanceled checks what is left if the context ends at any step of a claim and a
// publication.
func TestCanceled(t *testing.T) {
	d, _ := inMemory(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := d.Claim(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("claim: %v", err)
	}
	c, _ := mustClaim(t, d)
	r := stageWork(t, c, "P")
	if _, err := c.Publish(ctx, r.Plan, r.Work, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("publish: %v", err)
	}
	mustRelease(t, c)
	claimAndRelease(t, d)
	if w := mustStatus(t, d).Unfinished; len(w) != 1 || w[0].Tasks != 2 || w[0].Output != "" {
		t.Errorf("got work %+v", w)
	}
}
