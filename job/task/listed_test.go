package task

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/manifest/manifesttest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/memstore"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// statCounter is a store that counts calls of Stat.
type statCounter struct {
	*memstore.Client
	n int
}

func (l *statCounter) Stat(ctx context.Context, p string) (store.Info, error) {
	l.n++
	return l.Client.Stat(ctx, p)
}

// TestListedWork checks that Find finds listed tasks without a lookup of each file. It also
// finds tasks that ran again after the listing, but not tasks that first ran after it.
func TestListedWork(t *testing.T) {
	input, _ := writeInput(t, t.TempDir(), "a", 40)
	p, st := newPlan(t, 5000, input), &statCounter{Client: memstore.New().Client()}
	r := mustOpen(t, p, options(t))
	w := NewWork(p, nil, st, "/none")
	testenv.Must(t, w.list(t.Context()))
	if res, err := w.Finished(t.Context(), 0); res != nil || err != nil {
		t.Errorf("without a directory: %+v, %v", res, err)
	}
	n := len(p.Tasks)
	if n < 3 {
		t.Fatalf("%d tasks", n)
	}
	if _, err := r.Run(t.Context(), st, "/", allTasks(p)[1:]); err != nil {
		t.Fatal(err)
	}
	w, st.n = NewWork(p, nil, st, "/"), 0
	testenv.Must(t, w.list(t.Context()))
	again, err := r.Run(t.Context(), st, "/", []int{0, 1})
	testenv.Must(t, err)
	st.n = 0
	for i := range p.Tasks {
		res, err := w.Finished(t.Context(), i)
		if err != nil || (res == nil) != (i == 0) {
			t.Errorf("task %d: %+v, %v", i, res, err)
		}
		if i == 1 && !slices.Equal(res.Files(), again[1].Files()) {
			t.Errorf("the task that ran again left %+v, want %+v", res.Files(), again[1].Files())
		}
	}
	if st.n != 1 { // one call, for the part that is not listed
		t.Errorf("%d files were looked up", st.n)
	}
}

// sparseStore is a store whose listings have only names and sizes of files, and that counts
// calls of ReadFile.
type sparseStore struct {
	*memstore.Client
	fileIDs bool // whether listings have file IDs as well
	reads   int
}

func (b *sparseStore) List(ctx context.Context, dir string) ([]store.Info, error) {
	infos, err := b.Client.List(ctx, dir)
	for i := range infos {
		infos[i].ModTime = time.Time{}
		if !b.fileIDs {
			infos[i].FileID = 0
		}
	}
	return infos, err
}

func (b *sparseStore) ReadFile(ctx context.Context, p string, most int64) ([]byte, error) {
	b.reads++
	return b.Client.ReadFile(ctx, p, most)
}

// TestResultUnchanged checks how the result and the part of a task are compared with earlier
// ones, in a directory that was renamed.
func TestResultUnchanged(t *testing.T) {
	input, _ := writeInput(t, t.TempDir(), "a", 40)
	p := newPlan(t, 5000, input)
	nothing := func(store.Store, string, string) error { return nil }
	for _, fileIDs := range []bool{true, false} {
		for name, tt := range map[string]struct {
			change func(st store.Store, result, part string) error
			want   bool
		}{
			"nothing":      {nothing, true},
			"part is gone": {func(st store.Store, _, part string) error { return st.Remove(t.Context(), part) }, false},
			"a longer part": {func(st store.Store, _, part string) error {
				return st.WriteFile(t.Context(), part, make([]byte, 1<<20), false)
			}, false},
			"no result": {func(st store.Store, result, _ string) error { return st.Remove(t.Context(), result) }, false},
			"another result": {func(st store.Store, result, _ string) error {
				b, err := st.ReadFile(t.Context(), result, manifest.MaxSize)
				if err == nil {
					err = st.WriteFile(t.Context(), result, manifesttest.Seal(bytes.Replace(b, []byte(`"rows_in": `), []byte(`"rows_in":1`), 1)), false)
				}
				return err
			}, false},
		} {
			st := &sparseStore{Client: memstore.New().Client(), fileIDs: fileIDs}
			testenv.Must(t, st.Mkdir(t.Context(), "/work"))
			results, err := mustOpen(t, p, options(t)).Run(t.Context(), st, "/work", []int{1})
			testenv.Must(t, err)
			res, before := results[0], NewWork(p, nil, st, "/work")
			testenv.Must(t, before.list(t.Context()))
			testenv.Must(t, tt.change(st, "/work/"+manifest.TaskName(1), "/work/"+res.Files()[0].Name))
			testenv.Must(t, st.Rename(t.Context(), "/work", "/taken"))
			now := NewWork(p, nil, st, "/taken")
			testenv.Must(t, now.list(t.Context()))
			st.reads = 0
			if got := now.resultUnchanged(t.Context(), before, res); got != tt.want || fileIDs && tt.want && st.reads > 0 {
				t.Errorf("%s, file IDs %v: %v after %d reads", name, fileIDs, got, st.reads)
			}
			if now.resultUnchanged(t.Context(), NewWork(p, nil, st, "/work"), res) {
				t.Errorf("%s: a result that was not listed before is unchanged", name)
			}
		}
	}
}

// TestDirectoryUnchanged checks how a part of several files is compared with an earlier one.
// The files are not looked up one by one.
func TestDirectoryUnchanged(t *testing.T) {
	input, _ := writeInput(t, t.TempDir(), "a", 1)
	p := newPlan(t, 1<<20, input)
	for name, tt := range map[string]struct {
		change func(st store.Store, part string) error
		want   bool
	}{
		"nothing":           {func(store.Store, string) error { return nil }, true},
		"a file is gone":    {func(st store.Store, part string) error { return st.Remove(t.Context(), part+"/second") }, false},
		"another file":      {func(st store.Store, part string) error { return st.WriteFile(t.Context(), part+"/third", nil, true) }, false},
		"a file is changed": {func(st store.Store, part string) error { alter(t, st, part+"/second", flip); return nil }, false},
		"files are swapped": {func(st store.Store, part string) error {
			testenv.Must(t, st.Rename(t.Context(), part+"/first", part+"/third"))
			testenv.Must(t, st.Rename(t.Context(), part+"/second", part+"/first"))
			return st.Rename(t.Context(), part+"/third", part+"/second")
		}, false},
	} {
		st := &statCounter{Client: memstore.New().Client()}
		testenv.Must(t, st.Mkdir(t.Context(), "/work"))
		_, err := mustOpen(t, p, splitOptions(t)).Run(t.Context(), st, "/work", []int{0})
		testenv.Must(t, err)
		before := NewWork(p, nil, st, "/work")
		testenv.Must(t, before.list(t.Context()))
		st.n = 0
		res, err := before.Finished(t.Context(), 0)
		testenv.Must(t, err)
		if st.n != 0 {
			t.Errorf("%s: %d files were looked up", name, st.n)
		}
		testenv.Must(t, tt.change(st, "/work/"+res.Entries()[0].Name))
		testenv.Must(t, st.Rename(t.Context(), "/work", "/taken"))
		now := NewWork(p, nil, st, "/taken")
		testenv.Must(t, now.list(t.Context()))
		if got := now.resultUnchanged(t.Context(), before, res); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
		if res, err := now.Finished(t.Context(), 0); (res != nil && err == nil) != tt.want {
			t.Errorf("%s: %v, %v", name, res, err)
		}
	}
}

// TestCheck checks that Check finds the results of all tasks, or reports the tasks that are
// not done. Intact checks the same files, staged or not.
func TestCheck(t *testing.T) {
	input, _ := writeInput(t, t.TempDir(), "a", 40)
	p := newPlan(t, 5000, input)
	st := memstore.New().Client()
	testenv.Must(t, st.Mkdir(t.Context(), "/work"))
	o := splitOptions(t)
	_, err := mustOpen(t, p, o).Run(t.Context(), st, "/work", allTasks(p)[1:])
	testenv.Must(t, err)
	failuretest.Want(t, NewWork(p, nil, st, "/work").Check(t.Context(), nil), failure.Storage, fmt.Sprintf("1 of %d tasks of plan %s are not done: 0", len(p.Tasks), p.ID))
	_, err = mustOpen(t, p, o).Run(t.Context(), st, "/work", allTasks(p)[:1])
	testenv.Must(t, err)
	w := NewWork(p, nil, st, "/work")
	testenv.Must(t, w.Check(t.Context(), nil))
	testenv.Must(t, NewWork(p, nil, st, "/work").Check(t.Context(), w))

	entries := w.Results[0].Entries()
	file := "/work/" + entries[0].Files[0].Name
	sound := func(st store.Store, staged bool) bool {
		got, err := Intact(t.Context(), st, "/work", entries, staged)
		testenv.Must(t, err)
		return !slices.Contains(got, false)
	}
	if !sound(st, true) || !sound(st, false) {
		t.Error("checked files are not sound")
	}
	unreadable := storetest.NewFaulty(st, storetest.Fault{Op: storetest.Open, N: 1, Err: os.ErrPermission})
	if _, err := Intact(t.Context(), unreadable, "/work", entries, true); !errors.Is(err, os.ErrPermission) {
		t.Errorf("a file that cannot be read: %v", err)
	}
	more := path.Join(path.Dir(file), "more")
	testenv.Must(t, st.WriteFile(t.Context(), more, nil, true))
	if sound(st, true) || !sound(st, false) {
		t.Error("one more file must make only staged files unsound")
	}
	testenv.Must(t, st.Remove(t.Context(), more))
	alter(t, st, file, flip)
	if sound(st, true) || sound(st, false) {
		t.Error("a changed file is sound")
	}
	testenv.Must(t, st.Remove(t.Context(), file))
	if sound(st, true) || sound(st, false) {
		t.Error("a file that is gone is sound")
	}
}

// TestVouch checks that Check does not read the files of tasks that ran after the directory
// was listed, if AddResults found that the files have their lengths.
func TestVouch(t *testing.T) {
	input, _ := writeInput(t, t.TempDir(), "a", 1)
	p := newPlan(t, 1<<20, input)
	split := func(t testing.TB) Options { return splitOptions(t) }
	none := func(store.Store, string) error { return nil }
	for name, tt := range map[string]struct {
		options func(testing.TB) Options
		change  func(st store.Store, part string) error
		want    bool
	}{
		"a file":      {options, none, true},
		"file is cut": {options, func(st store.Store, part string) error { return st.WriteFile(t.Context(), part, []byte("x"), false) }, false},
		"no file":     {options, func(st store.Store, part string) error { return st.Remove(t.Context(), part) }, false},
		"a directory": {split, none, true},
		"cut in directory": {split, func(st store.Store, part string) error {
			return st.WriteFile(t.Context(), part+"/second", []byte("x"), false)
		}, false},
		"gone from directory": {split, func(st store.Store, part string) error { return st.Remove(t.Context(), part+"/second") }, false},
		"added to directory":  {split, func(st store.Store, part string) error { return st.WriteFile(t.Context(), part+"/third", nil, true) }, false},
	} {
		st := memstore.New().Client()
		testenv.Must(t, st.Mkdir(t.Context(), "/work"))
		before := NewWork(p, nil, st, "/work")
		testenv.Must(t, before.list(t.Context()))
		results, err := mustOpen(t, p, tt.options(t)).Run(t.Context(), st, "/work", []int{0})
		testenv.Must(t, err)
		testenv.Must(t, tt.change(st, "/work/"+results[0].Entries()[0].Name))
		testenv.Must(t, before.AddResults(t.Context(), append(results, nil)))
		now := NewWork(p, nil, st, "/work")
		testenv.Must(t, now.list(t.Context()))
		if got := now.resultUnchanged(t.Context(), before, results[0]); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestOverwrittenInPlace checks that a change of a file in a part is noticed if the file was
// overwritten in place, which does not change its directory.
func TestOverwrittenInPlace(t *testing.T) {
	input, _ := writeInput(t, t.TempDir(), "a", 1)
	p := newPlan(t, 1<<20, input)
	dir, results := mustRun(t, p, splitOptions(t))
	before, now := NewWork(p, nil, store.Local(), dir), NewWork(p, nil, store.Local(), dir)
	testenv.Must(t, before.list(t.Context()))
	res, err := before.Finished(t.Context(), 0)
	testenv.Must(t, err)
	testenv.Must(t, now.list(t.Context()))
	if !now.resultUnchanged(t.Context(), before, res) {
		t.Error("the unchanged result is reported as changed")
	}
	file := filepath.Join(dir, results[0].Files()[1].Name)
	b, err := os.ReadFile(file)
	testenv.Must(t, err)
	testenv.Must(t, os.WriteFile(file, flip(b), 0o666))
	testenv.Must(t, os.Chtimes(file, time.Time{}, time.Now().Add(time.Second))) // a later time with a clock of any resolution
	if now.resultUnchanged(t.Context(), before, res) {
		t.Error("the overwritten file is reported as unchanged")
	}
}

// TestReadsOfPieces checks that a result is refused that does not have a read for each piece.
func TestReadsOfPieces(t *testing.T) {
	input, _ := writeInput(t, t.TempDir(), "a", 40)
	p := newPlan(t, 5000, input)
	st := memstore.New().Client()
	testenv.Must(t, st.Mkdir(t.Context(), "/work"))
	results, err := mustOpen(t, p, options(t)).Run(t.Context(), st, "/work", []int{1})
	testenv.Must(t, err)
	res := *results[0]
	for _, reads := range [][]manifest.Read{nil, append(slices.Clone(res.Reads), manifest.Read{})} {
		res.Reads = reads
		doc, err := res.Encode()
		testenv.Must(t, err)
		testenv.Must(t, st.WriteFile(t.Context(), "/work/"+manifest.TaskName(1), doc, false))
		_, err = NewWork(p, nil, st, "/work").Finished(t.Context(), 1)
		failuretest.Want(t, err, failure.Foreign, "lists reads of")
	}
}
