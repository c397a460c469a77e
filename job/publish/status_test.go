package publish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/memstore"
)

// mustStatus returns the status of a destination, and requires that Status changes nothing.
func mustStatus(t *testing.T, d *Destination) *Status {
	t.Helper()
	before := namesBelow(t, d.st, d.path)
	s, err := d.Status(t.Context())
	testenv.Must(t, err)
	if after := namesBelow(t, d.st, d.path); after != before {
		t.Errorf("Status changed %s to %s", before, after)
	}
	return s
}

// mustWriteLock writes the lock of a holder.
func mustWriteLock(t *testing.T, d *Destination, h holder) {
	t.Helper()
	text, err := json.Marshal(h)
	if err == nil {
		err = d.st.WriteFile(t.Context(), d.pathOf(manifest.LockName), text, true)
	}
	testenv.Must(t, err)
}

func TestStatus(t *testing.T) {
	d, st := inMemory(t)
	_, err := d.Status(t.Context())
	failuretest.Want(t, err, failure.Input, "does not exist")
	testenv.Must(t, st.WriteFile(t.Context(), "/parent/file", nil, true))
	_, err = at(st, "/parent/file").Status(t.Context())
	failuretest.Want(t, err, failure.Usage, "is a file")
	m := publishOutput(t, d, st, "P")
	if s := mustStatus(t, d); s.Success.ID != m.ID || s.Lock != nil || s.Unfinished != nil || s.Debris != nil || s.Foreign != nil || s.Damage != "" {
		t.Errorf("%+v", s)
	}
	c, _ := mustClaim(t, d)
	r := stageWorkOfTasks(t, c, "Q", 3)
	testenv.Must(t, st.Remove(t.Context(), path.Join(r.Dir, manifest.TaskName(1))), st.Mkdir(t.Context(), d.pathOf("part-00000-0-0123456789abcdef.trv")),
		st.WriteFile(t.Context(), d.pathOf("other's"), nil, true), st.Mkdir(t.Context(), d.workDir()+"/trash-1"),
		st.WriteFile(t.Context(), d.workDir()+"/trash-1/a", []byte("abc"), true), st.WriteFile(t.Context(), d.workDir()+"/"+manifest.NewID(), nil, true))
	s := mustStatus(t, d)
	if l := s.Lock; l == nil || l.Holder != c.id || l.PID != os.Getpid() || l.Dead || l.Since.IsZero() || l.Seen.IsZero() || l.Host == "" {
		t.Errorf("lock %+v", l)
	}
	if len(s.Unfinished) != 1 || len(s.Debris) != 2 || len(s.LeftAlone) != 1 || len(s.Foreign) != 1 || s.Foreign[0] != "other's" {
		t.Fatalf("%+v", s)
	}
	w := s.Unfinished[0]
	if w.Name != d.relative(r.Dir) || w.What != planWork || w.Held || w.Holder != "" || w.PlanID != r.Plan.ID || len(w.Plan.Tasks) != 3 || w.Tasks != 2 || w.Rows != 2 || w.Input != 1 || w.Bytes == 0 || w.Output != "" || w.Changed.IsZero() {
		t.Errorf("work %+v", w)
	}
	if p, err := d.Progress(t.Context(), r.Plan.ID); err != nil || p.Tasks != w.Tasks || p.Input != w.Input {
		t.Errorf("progress %+v, %v", p, err)
	}
	if s.Debris[0].What != trash && s.Debris[1].What != trash || s.LeftAlone[0].What != strayFile {
		t.Errorf("debris %+v", s.Debris)
	}
	mustRelease(t, c)
	s = mustStatus(t, d)
	if s.Lock != nil || len(s.Unfinished) != 1 || s.Unfinished[0].Held || len(s.Leftovers()) != 3 {
		t.Errorf("%+v", s)
	}
	claimAndRelease(t, d)
	if s = mustStatus(t, d); len(s.LeftAlone) != 1 {
		t.Errorf("a holder removed files next to foreign ones: %+v", s)
	}
}

// TestProgressOfFewFiles checks that the work of an empty directory has the directory's time,
// so that it counts as new, and that only documents of tasks are read.
func TestProgressOfFewFiles(t *testing.T) {
	st := store.Local()
	d := at(&hookStore{Store: st, read: func(p string) error {
		if path.Base(p) == "part-00000-0.trv" {
			t.Errorf("%s was read", p)
		}
		return nil
	}}, t.TempDir()+"/dest")
	dir, _, err := d.Staging(t.Context(), "p")
	testenv.Must(t, err)
	if w, err := d.Progress(t.Context(), "p"); err != nil || time.Since(w.Changed) > time.Hour {
		t.Errorf("an empty directory changed at %v, %v", w.Changed, err)
	}
	testenv.Must(t, os.WriteFile(dir+"/part-00000-0.trv", []byte("rows"), 0o666))
	if w, err := d.Progress(t.Context(), "p"); err != nil || w.Bytes != 4 || w.Tasks != 0 {
		t.Errorf("work %+v, %v", w, err)
	}
}

// TestStatusPending checks the status of a pending output whose work was taken or not, of a
// holder that lives and of a dead holder.
func TestStatusPending(t *testing.T) {
	for renames, taken := range map[int]bool{1: false, 2: true, 6: true, 0: true} {
		d, st := inMemory(t)
		killPublish(t, d, "P", renames)
		holder := mustStatus(t, d).Lock.Holder
		for _, held := range []bool{true, false} {
			if liveHolders.Delete(holder); held {
				liveHolders.Store(holder, true)
			}
			s := mustStatus(t, d)
			if !s.Pending() || s.Lock.Dead == held || slices.ContainsFunc(s.Leftovers(), func(l Leftover) bool { return l.Useful() || l.What == strayFile }) {
				t.Errorf("after %d renames: %+v", renames, s)
			}
			if w := s.Unfinished; len(w) != 1 || w[0].Held != held || w[0].Holder != holder || strings.Contains(w[0].Name, holder) != taken || w[0].Plan == nil || w[0].Tasks != 2 || w[0].Output == "" {
				t.Errorf("after %d renames: got work %+v", renames, w)
			}
		}
		cleaned, err := d.Clean(t.Context(), 0)
		if err != nil || len(cleaned.Kept) > 0 {
			t.Errorf("%+v %v", cleaned, err)
		}
		wantOnlyOutput(t, st, d.path)
	}
}

// TestStatusDuringRelease checks the status if the destination is released meanwhile.
func TestStatusDuringRelease(t *testing.T) {
	d, st := inMemory(t)
	c, _ := mustClaim(t, d)
	r := stageWork(t, c, "P")
	d.st = afterList{st, r.Dir, func() { mustRelease(t, c) }, new(bool)}
	s, err := d.Status(t.Context())
	if err != nil || s.Lock != nil || len(s.Unfinished) != 1 || s.Unfinished[0].Held {
		t.Errorf("%+v %v", s, err)
	}
}

// afterList is a store that calls a function after a directory is listed the first time.
type afterList struct {
	store.Store
	dir  string
	do   func()
	done *bool
}

func (o afterList) List(ctx context.Context, dir string) ([]store.Info, error) {
	if dir == o.dir && !*o.done {
		*o.done = true
		infos, err := o.Store.List(ctx, dir)
		o.do()
		return infos, err
	}
	return o.Store.List(ctx, dir)
}

// TestStatusOfUnexpectedFiles checks the status with links and foreign files in the work
// directory.
func TestStatusOfUnexpectedFiles(t *testing.T) {
	const size = 1 << 20
	big := filepath.Join(t.TempDir(), "big")
	testenv.Must(t, os.MkdirAll(big+"/holder/plan-1", 0o777), os.WriteFile(big+"/holder/plan-1/file", make([]byte, size), 0o666))
	result := func(dir string) error {
		p := planOf(t, "P")
		r := &manifest.TaskResult{Version: manifest.Version, Plan: p.ID, RowsIn: 1, Parts: []manifest.Part{{Rows: 1, Files: []manifest.File{{Name: manifest.StagedPart(0, 0, manifest.NewID(), ".trv")}}}}}
		doc, err := r.Encode()
		return errors.Join(err, os.WriteFile(big+"/result", doc, 0o666), os.MkdirAll(dir+"/.rowtocol/plan-"+p.ID, 0o777),
			os.Symlink(big+"/result", dir+"/.rowtocol/plan-"+p.ID+"/"+manifest.TaskName(0)))
	}
	for name, test := range map[string]struct {
		make func(dir string) error
		want string // work, debris, foreign
	}{
		"work is a link":   {func(dir string) error { return os.Symlink(big, dir+"/.rowtocol") }, "[] [] [.rowtocol (a link)]"},
		"work is a file":   {func(dir string) error { return os.WriteFile(dir+"/.rowtocol", nil, 0o666) }, "[] [] [.rowtocol]"},
		"holder is a link": {func(dir string) error { return linkInWorkDir(dir, big, "holder") }, "[] [.rowtocol/holder 0] []"},
		"plan is a link":   {func(dir string) error { return linkInWorkDir(dir, big, "plan-1") }, "[] [] [.rowtocol/plan-1 (not a directory)]"},
		"trash is a link":  {func(dir string) error { return linkInWorkDir(dir, big, "trash-1") }, "[] [.rowtocol/trash-1 0] []"},
		"result is a link": {result, "[.rowtocol/plan-ID 0] [] []"},
		"link in work": {func(dir string) error {
			return errors.Join(os.MkdirAll(dir+"/.rowtocol/plan-1", 0o777), os.Symlink(big, dir+"/.rowtocol/plan-1/x"))
		}, "[.rowtocol/plan-1 0] [] []"},
		"foreign _SUCCESS":   {func(dir string) error { return os.Mkdir(dir+"/_SUCCESS", 0o777) }, "[] [] [_SUCCESS (not a regular file)]"},
		"directory of locks": {func(dir string) error { return os.MkdirAll(dir+"/_lock/a", 0o777) }, "[] [] []"},
	} {
		dir := t.TempDir()
		testenv.Must(t, test.make(dir))
		s, err := at(store.Local(), dir).Status(t.Context())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text := func(works []Work) string {
			var all []string
			for _, w := range works {
				all = append(all, fmt.Sprint(w.Name, " ", w.Tasks))
			}
			return fmt.Sprint(all)
		}
		var debris []string
		for _, l := range s.Debris {
			debris = append(debris, fmt.Sprint(l.Name, " ", l.Bytes))
		}
		got := idPattern.ReplaceAllString(strings.ReplaceAll(fmt.Sprint(text(s.Unfinished), " ", debris, " ", s.Foreign), planOf(t, "P").ID, "ID"), "ID")
		if got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
		for _, w := range s.Unfinished {
			if w.Bytes >= size {
				t.Errorf("%s: got %d bytes, which are elsewhere", name, w.Bytes)
			}
		}
	}
}

// linkInWorkDir puts a link into the work directory.
func linkInWorkDir(dir, to, name string) error {
	return errors.Join(os.MkdirAll(dir+"/.rowtocol", 0o777), os.Symlink(to, dir+"/.rowtocol/"+name))
}

// TestStatusDuringRuns checks that the status of a destination that another process fills
// repeatedly has no foreign files.
func TestStatusDuringRuns(t *testing.T) {
	d, st := inMemory(t)
	publishOutput(t, d, st, "P")
	done := make(chan struct{})
	other := at(st, d.path)
	go func() {
		defer close(done)
		for i := range 40 {
			publishOutput(t, other, st, fmt.Sprint(i))
		}
	}()
	reads := 0
	for ended := false; !ended; reads++ {
		select {
		case <-done:
			ended = true
		default:
		}
		s, err := d.Status(t.Context())
		testenv.Must(t, err)
		if len(s.Foreign) > 0 {
			t.Fatalf("got foreign files %v", s.Foreign)
		}
	}
	if s := mustStatus(t, d); s.Lock != nil || s.Damage != "" || len(s.Debris) > 0 || s.Success.Sequence != 41 {
		t.Errorf("after %d reads: %+v", reads, s)
	}
}

// TestStatusWithChangingHolders checks that the status is read again while the lock changes
// hands, but only a few times.
func TestStatusWithChangingHolders(t *testing.T) {
	for changes, want := range map[int]int{0: 1, 2: 3, 100: statusTries} {
		inner, st := inMemory(t)
		publishOutput(t, inner, st, "P")
		mustWriteLock(t, inner, holder{ID: manifest.NewID()})
		reads := 0
		d := at(&hookStore{Store: st, read: func(p string) error {
			if path.Base(p) != manifest.SuccessName {
				return nil
			}
			if reads++; reads <= changes {
				if err := st.Remove(t.Context(), inner.pathOf(manifest.LockName)); err != nil {
					return err
				}
				mustWriteLock(t, inner, holder{ID: manifest.NewID()})
			}
			return nil
		}}, inner.path)
		if s := mustStatus(t, d); reads != want || s.Success == nil || s.Lock == nil {
			t.Errorf("a lock that changed hands %d times: got %d reads, want %d: %+v", changes, reads, want, s)
		}
	}
}

func TestTree(t *testing.T) {
	st := memstore.New().Client()
	mkdirs := func(names ...string) {
		t.Helper()
		for _, name := range names {
			for i := range len(name) {
				if i > 0 && name[i] == '/' || i == len(name)-1 {
					if err := st.Mkdir(t.Context(), strings.TrimSuffix(name[:i+1], "/")); err != nil && !errors.Is(err, store.ErrExist) {
						t.Fatal(err)
					}
				}
			}
		}
	}
	deep := "/deep"
	for i := range 80 {
		deep += fmt.Sprintf("/k%02d=1", i)
	}
	mkdirs("/tree/dt=1", "/tree/dt=2/h=1", "/tree/dt=2/h=2/.rowtocol/x", "/tree/dt=3/_index/a", "/tree/dt=3/h=1", "/tree/dt=4/increment-00000001-0123456789abcdef/a=b", "/tree/plain", "/tree/_temporary",
		"/empty", "/single/.rowtocol", "/single/dt=1", "/plain/a", "/increments/increment-00000001-0123456789abcdef", "/others/increment-1", deep)
	for _, test := range []struct{ dir, partitions, others string }{
		{"/tree", "dt=1 dt=2/h=1 dt=2/h=2 dt=3/h=1 dt=4", "plain"},
		{"/empty", "none", ""},
		{"/single", "none", ""},
		{"/plain", "none", ""},
		{"/increments", "none", ""},
		{"/others", "none", ""},
		{"/missing", "none", ""},
		{"/deep", strings.TrimPrefix(deep[:len("/deep")+maxKeys*6], "/deep/"), ""},
	} {
		tree, err := FindTree(t.Context(), store.Location{Store: st, Path: test.dir})
		testenv.Must(t, err)
		got, others := "none", ""
		if tree != nil {
			var all []string
			for _, p := range tree.Partitions {
				all = append(all, strings.TrimPrefix(p.Path, test.dir+"/"))
			}
			got, others = strings.Join(all, " "), strings.Join(tree.Beside, " ")
		}
		if got != test.partitions || others != test.others {
			t.Errorf("%s: got %s and %s, want %s and %s", test.dir, got, others, test.partitions, test.others)
		}
	}
}
