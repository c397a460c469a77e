package publish

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
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
	"github.com/rowtocol/rowtocol/job/manifest/manifesttest"
	"github.com/rowtocol/rowtocol/store"
)

// makeOlder sets the times of everything below a directory, except signs of life, to an hour
// ago.
func makeOlder(t *testing.T, dir string) {
	t.Helper()
	then := time.Now().Add(-time.Hour)
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err == nil && !strings.Contains(name, "/alive-") {
			err = os.Chtimes(name, then, then)
		}
		return err
	})
	testenv.Must(t, err)
}

// kinds joins the kinds of leftovers.
func kinds(all []Leftover) string {
	var texts []string
	for _, l := range all {
		texts = append(texts, l.What)
	}
	return strings.Join(texts, ", ")
}

// newLittered returns a destination on local disk with an output, debris, and the work of two
// plans, one of them an hour old.
func newLittered(t *testing.T) (d *Destination, m *manifest.Success) {
	t.Helper()
	d, m = onDisk(t)
	makeOlder(t, stageInDir(t, d, planFor(t, d, "old", 2)))
	stageInDir(t, d, planFor(t, d, "new", 2))
	err := errors.Join(os.WriteFile(d.pathOf("part-00000-0-0123456789abcdef.trv"), []byte("abc"), 0o666), os.MkdirAll(d.workDir()+"/trash-1/a", 0o777))
	testenv.Must(t, err)
	return d, m
}

func TestClean(t *testing.T) {
	d, m := newLittered(t)
	cleaned, err := d.Clean(t.Context(), 2*time.Hour)
	if err != nil || kinds(cleaned.Removed) != "file of no output, remains of a removal" || kinds(cleaned.Kept) != "tasks of a plan, tasks of a plan" {
		t.Fatalf("removed %v, kept %v, %v", cleaned.Removed, cleaned.Kept, err)
	}
	cleaned, err = d.Clean(t.Context(), 30*time.Minute)
	if err != nil || kinds(cleaned.Removed) != "tasks of a plan" || kinds(cleaned.Kept) != "tasks of a plan" {
		t.Fatalf("removed %v, kept %v, %v", cleaned.Removed, cleaned.Kept, err)
	}
	if l, name := cleaned.Removed[0], d.relative(d.StagingPath(planFor(t, d, "old", 2).ID)); l.Name != name || l.Bytes == 0 || l.Changed.IsZero() {
		t.Errorf("got leftover %+v, want %s", l, name)
	}
	if s := mustStatus(t, d); s.Success.ID != m.ID || s.Damage != "" || len(s.Unfinished) != 1 || s.Unfinished[0].Tasks != 2 || len(s.Leftovers()) != 1 {
		t.Errorf("%+v", s)
	}
	if cleaned, err = d.Clean(t.Context(), 0); err != nil || kinds(cleaned.Removed) != "tasks of a plan" {
		t.Errorf("%+v %v", cleaned, err)
	}
	wantOnlyOutput(t, store.Local(), d.path)
	if cleaned, err = d.Clean(t.Context(), 0); err != nil || len(cleaned.Removed)+len(cleaned.Kept) > 0 {
		t.Errorf("%+v %v", cleaned, err)
	}
}

// TestCleanHeldDestination checks that Clean refuses a destination whose holder lives.
func TestCleanHeldDestination(t *testing.T) {
	d, st := inMemory(t)
	_, err := d.Clean(t.Context(), 0)
	failuretest.Want(t, err, failure.Input, "does not exist")
	testenv.Must(t, st.Mkdir(t.Context(), d.path))
	d.times = Times{Heartbeat: time.Millisecond, Stale: time.Hour}
	c, _ := mustClaim(t, d)
	stageWork(t, c, "P")
	d.now, d.sleep = time.Now, sleep
	_, err = d.Clean(t.Context(), 0)
	failuretest.Want(t, err, failure.Locked, "is locked by")
	mustRelease(t, c)
	if s := mustStatus(t, d); len(s.Unfinished) != 1 {
		t.Errorf("%+v", s)
	}
}

// TestCleanWithForeignFiles checks what Clean removes from a destination that holds foreign
// files, such as the output of a newer program.
func TestCleanWithForeignFiles(t *testing.T) {
	d, _ := newLittered(t)
	testenv.Must(t, os.WriteFile(d.pathOf(manifest.SuccessName), manifesttest.Seal([]byte(`{"version":3}`)), 0o666))
	testenv.Must(t, os.Symlink("/", d.workDir()+"/plan-x"), os.WriteFile(d.workDir()+"/plan-y", nil, 0o666))
	before, err := filepath.Glob(d.path + "/*")
	testenv.Must(t, err)
	cleaned, err := d.Clean(t.Context(), 0)
	failuretest.Want(t, err, failure.Foreign, "unknown version", "plan-x (not a directory)", "plan-y (not a directory)")
	if got := kinds(cleaned.Removed); got != "tasks of a plan, tasks of a plan, remains of a removal" || len(cleaned.Kept) > 0 {
		t.Errorf("removed %s, kept %v", got, cleaned.Kept)
	}
	if after, err := filepath.Glob(d.path + "/*"); err != nil || strings.Join(after, " ") != strings.Join(before, " ") || len(before) < 4 {
		t.Errorf("got files %v, want %v (%v)", after, before, err)
	}
	if _, err := d.Clean(t.Context(), 0); !errors.Is(err, failure.Foreign) {
		t.Errorf("the second time: got %v, want %v", err, failure.Foreign)
	}
}

// TestClaimWithForeignFiles checks that a claim does not change a destination that holds a
// foreign file.
func TestClaimWithForeignFiles(t *testing.T) {
	d, st := inMemory(t)
	publishOutput(t, d, st, "P")
	debris, others := d.pathOf("part-00000-0-0123456789abcdef.trv"), d.pathOf("others")
	for _, name := range []string{debris, others} {
		testenv.Must(t, st.WriteFile(t.Context(), name, nil, true))
	}
	for _, stays := range []bool{true, false} {
		claimAndRelease(t, d)
		if _, err := st.Stat(t.Context(), debris); (err == nil) != stays {
			t.Errorf("debris: got %v, want kept %v", err, stays)
		}
		if err := st.Remove(t.Context(), others); stays && err != nil {
			t.Fatal(err)
		}
	}
}

// TestCleanDuringTasks checks that Clean keeps the work of a plan if a task ends meanwhile.
func TestCleanDuringTasks(t *testing.T) {
	d, _ := onDisk(t)
	dir := stageInDir(t, d, planFor(t, d, "old", 2))
	inner := d.st
	d.st = beforeRename{inner, dir, func() error { return errors.New("tasks that run lost their directory") }}
	if cleaned, err := d.Clean(t.Context(), time.Minute); err != nil || kinds(cleaned.Kept) != planWork {
		t.Fatalf("%+v %v", cleaned, err)
	}
	makeOlder(t, dir)
	d.st = beforeRename{inner, dir, func() error { return os.WriteFile(dir+"/task-00009.json", nil, 0o666) }}
	cleaned, err := d.Clean(t.Context(), time.Minute)
	if err != nil || len(cleaned.Removed) > 0 || kinds(cleaned.Kept) != planWork {
		t.Fatalf("%+v %v", cleaned, err)
	}
	if s := mustStatus(t, d); len(s.Unfinished) != 1 || s.Unfinished[0].Tasks != 2 || len(s.Debris) > 0 {
		t.Errorf("%+v", s)
	}
	// The work cannot be put back, because tasks made the directory again.
	makeOlder(t, dir)
	d.st = beforeRename{inner, dir, func() error { return os.WriteFile(dir+"/task-00008.json", nil, 0o666) }}
	d.st = remakeDir{d.st, dir}
	if _, err := d.Clean(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if s := mustStatus(t, d); len(s.Unfinished) != 1 || s.Unfinished[0].Tasks != 0 || len(s.Debris) > 0 {
		t.Errorf("%+v", s)
	}
}

// remakeDir is a store that makes a directory again after it was renamed.
type remakeDir struct {
	store.Store
	dir string
}

func (r remakeDir) Rename(ctx context.Context, from, to string) error {
	err := r.Store.Rename(ctx, from, to)
	if from == r.dir && err == nil {
		err = r.Store.Mkdir(ctx, r.dir)
	}
	return err
}

// beforeRename is a store that calls a function before a directory is renamed.
type beforeRename struct {
	store.Store
	dir string
	do  func() error
}

func (m beforeRename) Rename(ctx context.Context, from, to string) error {
	if from == m.dir {
		if err := m.do(); err != nil {
			return err
		}
	}
	return m.Store.Rename(ctx, from, to)
}

// TestCleanFails checks that leftovers stay that Clean could not remove because the store
// failed.
func TestCleanFails(t *testing.T) {
	d, m := newLittered(t)
	d.st = noTimeStore{d.st}
	if _, err := d.Clean(t.Context(), 0); err == nil {
		t.Fatal("clean did not fail")
	}
	d.st = store.Local()
	if s := mustStatus(t, d); s.ID() != m.ID || len(s.Unfinished) != 2 || s.Lock != nil {
		t.Errorf("%+v", s)
	}
}

// noTimeStore is a store that fails to return the time of the lock.
type noTimeStore struct{ store.Store }

func (u noTimeStore) Stat(ctx context.Context, p string) (store.Info, error) {
	if path.Base(p) == manifest.LockName {
		if info, err := u.Store.Stat(ctx, p); err == nil && len(info.Name) > 0 {
			return store.Info{}, errors.New("input/output error")
		}
	}
	return u.Store.Stat(ctx, p)
}

func TestUnlock(t *testing.T) {
	id, other := strings.Repeat("a", 16), strings.Repeat("b", 16)
	silent := holder{ID: id, PID: 7, Host: "far", Scope: "another machine"}
	for name, test := range map[string]struct {
		holder holder
		sleep  func(d *Destination, slept int) error // called while Unlock watches
		want   error
		slept  time.Duration
		left   bool
	}{
		"silent":            {silent, nil, nil, 15 * time.Second, false},
		"ended":             {holder{ID: id, PID: 1 << 30, Scope: processScope()}, nil, nil, 0, false},
		"of another holder": {holder{ID: other, PID: 7, Scope: "another machine"}, nil, failure.Locked, 0, true},
		"alive": {silent, func(d *Destination, slept int) error {
			if slept != 9 { // somewhat later than a heartbeat
				return nil
			}
			return d.st.WriteFile(context.Background(), path.Join(d.workDir(), id, "alive-1"), nil, true)
		}, failure.Locked, 0, true},
		"of another holder meanwhile": {silent, func(d *Destination, slept int) error {
			if slept != 3 {
				return nil
			}
			text := `{"holder":"` + other + `"}`
			return errors.Join(d.st.Remove(context.Background(), d.pathOf(manifest.LockName)), d.st.WriteFile(context.Background(), d.pathOf(manifest.LockName), []byte(text), true))
		}, failure.Locked, 0, true},
		"free meanwhile": {silent, func(d *Destination, slept int) error {
			if slept != 3 {
				return nil
			}
			return d.st.Remove(context.Background(), d.pathOf(manifest.LockName))
		}, nil, 0, false},
	} {
		d, st := inMemory(t)
		d.times = Times{}.withDefaults()
		testenv.Must(t, st.Mkdir(t.Context(), d.path), st.Mkdir(t.Context(), d.workDir()), st.Mkdir(t.Context(), path.Join(d.workDir(), test.holder.ID)),
			st.WriteFile(t.Context(), path.Join(d.workDir(), test.holder.ID, "old-1"), []byte("work"), true))
		mustWriteLock(t, d, test.holder)
		began, advance, slept := d.now(), d.sleep, 0
		d.sleep = func(ctx context.Context, n time.Duration) error {
			slept++
			err := advance(ctx, n)
			if test.sleep != nil {
				err = errors.Join(err, test.sleep(d, slept))
			}
			return err
		}
		_, err := d.Unlock(t.Context(), id)
		if !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", name, err, test.want)
		}
		if took := d.now().Sub(began); test.slept > 0 && (took < test.slept || took > test.slept+2*time.Second) {
			t.Errorf("%s: took %v, want %v", name, took, test.slept)
		}
		if _, err := st.Stat(t.Context(), d.pathOf(manifest.LockName)); (err == nil) != test.left {
			t.Errorf("%s: got lock %v, want %v", name, err == nil, test.left)
		}
		work := namesBelow(t, st, d.workDir())
		if !strings.HasSuffix(work, "ID/old-1") || strings.Count(" "+work+" ", " ID ") != 1 {
			t.Errorf("%s: got files %s", name, work)
		}
	}
	d, st := inMemory(t)
	_, err := d.Unlock(t.Context(), id)
	failuretest.Want(t, err, failure.Input, "does not exist")
	publishOutput(t, d, st, "P")
	if l, err := d.Unlock(t.Context(), id); l != nil || err != nil {
		t.Errorf("%v %v", l, err)
	}
	wantOnlyOutput(t, st, d.path)
}

// TestUnlockLiveHolder checks that a holder that lives ends after Unlock took its lock, and
// that the work of its plan is kept.
func TestUnlockLiveHolder(t *testing.T) {
	d, st := inMemory(t)
	c, held, r := claimAndStage(t, d, "P")
	if l, err := at(st, d.path).Unlock(t.Context(), c.id); err != nil || l == nil || l.Holder != c.id || l.Dead {
		t.Fatalf("%+v %v", l, err)
	}
	_, err := c.Publish(held, r.Plan, r.Work, nil)
	failuretest.Want(t, c.LockedOr(t.Context(), err), failure.Locked, "taken over")
	if err := c.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if ids, err := d.StagedPlans(t.Context()); err != nil || !slices.Equal(ids, []string{r.Plan.ID}) {
		t.Errorf("got work of %q, %v", ids, err)
	}
}

// quotaStore is a store with a quota of names.
type quotaStore struct {
	store.Store
	t     *testing.T
	dir   string
	quota int
}

// checkQuota returns store.ErrQuota if there is no room for another name.
func (n *quotaStore) checkQuota() error {
	if len(strings.Fields(namesBelow(n.t, n.Store, n.dir))) >= n.quota {
		return store.ErrQuota
	}
	return nil
}

func (n *quotaStore) Mkdir(ctx context.Context, dir string) error {
	if _, err := n.Store.Stat(ctx, dir); err != nil {
		if err := n.checkQuota(); err != nil {
			return err
		}
	}
	return n.Store.Mkdir(ctx, dir)
}

func (n *quotaStore) WriteFile(ctx context.Context, p string, b []byte, exclusive bool) error {
	if err := n.checkQuota(); err != nil {
		return err
	}
	return n.Store.WriteFile(ctx, p, b, exclusive)
}

// TestCleanWithinQuota checks that Clean removes the trash first if a quota leaves no name for
// a lock.
func TestCleanWithinQuota(t *testing.T) {
	d, _ := newLittered(t)
	for i := range 4 {
		testenv.Must(t, os.MkdirAll(d.workDir()+"/trash-"+strings.Repeat("x", i+1), 0o777))
	}
	cleaned, err := atQuota(t, d).Clean(t.Context(), 30*time.Minute)
	if err != nil || len(cleaned.Kept) != 1 || !strings.Contains(kinds(cleaned.Removed), "tasks of a plan") || !strings.Contains(kinds(cleaned.Removed), "remains of a removal") {
		t.Errorf("removed %v, kept %v, %v", cleaned.Removed, cleaned.Kept, err)
	}
}

// atQuota returns a destination on local disk with as many names as a quota allows.
func atQuota(t *testing.T, d *Destination) *Destination {
	n := &quotaStore{Store: store.Local(), t: t, dir: d.path}
	n.quota = len(strings.Fields(namesBelow(t, n.Store, d.path)))
	return at(n, d.path)
}

// TestCleanAdvice checks that Clean succeeds after the command in its error was run, if a
// quota leaves no name.
func TestCleanAdvice(t *testing.T) {
	for _, tc := range []struct {
		name    string
		prepare func(t *testing.T, d *Destination)
		removes string
	}{
		{"an old and a new plan", func(t *testing.T, d *Destination) {
			stageInDir(t, d, planFor(t, d, "new", 2))
			makeOlder(t, stageInDir(t, d, planFor(t, d, "old", 2)))
		}, "tasks of a plan"},
		{"a file and a plan", func(t *testing.T, d *Destination) {
			stageInDir(t, d, planFor(t, d, "new", 2))
			testenv.Must(t, os.WriteFile(d.pathOf("part-00000-0-0123456789abcdef.trv"), nil, 0o666))
		}, "file of no output, tasks of a plan"},
		{"files", func(t *testing.T, d *Destination) {
			for i := range 10 {
				testenv.Must(t, os.WriteFile(d.pathOf(fmt.Sprintf("part-0000%d-0-0123456789abcdef.trv", i)), nil, 0o666))
			}
		}, "file of no output"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := at(store.Local(), filepath.Join(t.TempDir(), "it's a [dest]"))
			m := publishOutput(t, d, store.Local(), "P")
			tc.prepare(t, d)
			d = atQuota(t, d)
			_, err := d.Clean(t.Context(), 0)
			failuretest.Want(t, err, failure.Refused, "a quota is used up", "while no run works on the destination", "(this removes: "+tc.removes+"): rm -r -- ")
			_, command, _ := strings.Cut(err.Error(), "): ")
			if out, err := exec.CommandContext(t.Context(), "sh", "-c", command).CombinedOutput(); err != nil || len(out) > 0 {
				t.Fatalf("%s: %v: %s", command, err, out)
			}
			if _, err := d.Clean(t.Context(), 0); err != nil {
				t.Errorf("after %s: %v", command, err)
			}
			if s := mustStatus(t, d); s.Success.ID != m.ID || s.Damage != "" || len(s.Leftovers()) > 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestAdviceOnHDFS checks that names are quoted for the shell, and that characters are escaped
// which Hadoop's shell would read as a pattern.
func TestAdviceOnHDFS(t *testing.T) {
	d := At(store.Location{Store: store.Local(), Origin: "hdfs://nn:8020", Path: "/o'k/a[1]{2}*?"}, Options{})
	got := d.adviseRemoval([]Leftover{{Name: ".rowtocol/plan-1", What: planWork, names: 9}, {Name: "increment-1", What: replacedIncrement, names: claimNames}})
	want := `(this removes: increment of an output that was replaced): hdfs dfs -rm -r -skipTrash 'hdfs://nn:8020/o'\''k/a\[1\]\{2\}\*\?/increment-1'`
	if !strings.HasSuffix(got, want) {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// TestRemovable checks that leftovers are left out that only a holder may remove.
func TestRemovable(t *testing.T) {
	all := []Leftover{{What: formerHolder}, {What: trash}, {What: strayFile}}
	s := &Status{State: &State{}, Debris: all, Unfinished: []Work{{Leftover: Leftover{What: planWork}}}}
	if got := kinds(s.removable()); got != "tasks of a plan, file of no output" {
		t.Errorf("got %s", got)
	}
	s.Damage = "a part is missing"
	if got := kinds(s.removable()); got != "tasks of a plan" {
		t.Errorf("damaged: got %s", got)
	}
}
