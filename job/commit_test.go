package job

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rowtocol/rowtocol/manifest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

func TestResume(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "a.avro")
	writeInput(t, in, testSchema, 1, 40)
	ref := request(t, filepath.Join(dir, "ref"), in)
	tasks := len(mustConvert(t, ref).Plan.Tasks)
	want := tree(t, ref.Dest)

	ctx, cancel := context.WithCancel(context.Background())
	r := request(t, filepath.Join(dir, "out"), in)
	r.Workers = 1
	r.Progress = func(p Progress) {
		if p.Tasks == 3 {
			cancel()
		}
	}
	if _, err := Convert(ctx, r); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	for name := range tree(t, r.Dest) {
		if !strings.HasPrefix(name, workName+"/") || store.IsTemp(filepath.Base(name)) {
			t.Errorf("%s was left", name)
		}
	}
	// One of the three lost its part, and is done again.
	parts, err := filepath.Glob(filepath.Join(r.Dest, workName, "*", "part-00001.trv"))
	if err != nil || len(parts) != 1 {
		t.Fatal(parts, err)
	}
	if err := os.Truncate(parts[0], 10); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(parts[0]); err != nil {
		t.Fatal(err)
	}
	r.Progress = nil
	if out := mustConvert(t, r); out.Resumed != 2 || len(out.Plan.Tasks) != tasks {
		t.Errorf("resumed %d of %d", out.Resumed, len(out.Plan.Tasks))
	}
	sameTree(t, tree(t, r.Dest), want)
}

func TestOverwrite(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "a.avro")
	writeInput(t, in, testSchema, 1, 40)
	r := request(t, filepath.Join(dir, "out"), in)
	mustConvert(t, r)
	old := tree(t, r.Dest)

	writeInput(t, in, testSchema, 2, 10)
	_, err := Convert(context.Background(), r)
	wantKind(t, err, ErrConflict, "--overwrite")
	sameTree(t, tree(t, r.Dest), old)

	r.Overwrite = true
	mustConvert(t, r)
	ref := request(t, filepath.Join(dir, "ref"), in)
	mustConvert(t, ref)
	want := tree(t, ref.Dest)
	sameTree(t, tree(t, r.Dest), want)

	// A part that was changed since is noticed, and made again on request.
	if err := os.Truncate(filepath.Join(r.Dest, "part-00000.trv"), 7); err != nil {
		t.Fatal(err)
	}
	r.Overwrite = false
	_, err = Convert(context.Background(), r)
	wantKind(t, err, ErrConflict, "part-00000.trv has 7 bytes")
	r.Overwrite = true
	mustConvert(t, r)
	sameTree(t, tree(t, r.Dest), want)
}

// crash is a store that stops working at its n-th change, as for a process
// that is killed: that call and all later ones fail, reads included.
type crash struct {
	store.Store
	left int // changes until the end
	late bool
	dead bool
}

var errCrash = errors.New("killed")

func (c *crash) change(do func() error) error {
	if c.dead {
		return errCrash
	}
	c.left--
	if c.left > 0 {
		return do()
	}
	c.dead = true
	if c.late {
		_ = do()
	}
	return errCrash
}

func (c *crash) Create(ctx context.Context, p string, o store.CreateOptions) (w store.Writer, err error) {
	err = c.change(func() error {
		w, err = c.Store.Create(ctx, p, o)
		return err
	})
	if err != nil {
		return nil, err
	}
	return crashWriter{w, c}, nil
}

func (c *crash) Rename(ctx context.Context, from, to string) error {
	return c.change(func() error { return c.Store.Rename(ctx, from, to) })
}

func (c *crash) Remove(ctx context.Context, p string) error {
	return c.change(func() error { return c.Store.Remove(ctx, p) })
}

func (c *crash) RemoveAll(ctx context.Context, p string) error {
	return c.change(func() error { return c.Store.RemoveAll(ctx, p) })
}

func (c *crash) MkdirAll(ctx context.Context, p string) error {
	return c.change(func() error { return c.Store.MkdirAll(ctx, p) })
}

func (c *crash) WriteFile(ctx context.Context, p string, b []byte, exclusive bool) error {
	return c.change(func() error { return c.Store.WriteFile(ctx, p, b, exclusive) })
}

type crashWriter struct {
	store.Writer
	c *crash
}

func (w crashWriter) Write(p []byte) (int, error) {
	n := len(p)
	err := w.c.change(func() (err error) { n, err = w.Writer.Write(p); return err })
	return n, err
}

func (w crashWriter) Commit(ctx context.Context) error {
	return w.c.change(func() error { return w.Writer.Commit(ctx) })
}

func (w crashWriter) Abort() error {
	if w.c.dead {
		return errCrash
	}
	return w.Writer.Abort()
}

// on resolves every location to one store.
func on(st store.Store) Resolve {
	return func(location string) (store.Location, error) {
		return store.Location{Store: st, Path: location}, nil
	}
}

// scene is a destination before a job, and what it must look like after it.
type scene struct {
	dir, in   string
	overwrite bool
	old, want map[string]string
}

func newScene(t *testing.T, overwrite bool) *scene {
	t.Helper()
	s := &scene{dir: t.TempDir(), overwrite: overwrite}
	s.in = filepath.Join(s.dir, "a.avro")
	if overwrite {
		writeInput(t, s.in, testSchema, 1, 15)
		ref := request(t, filepath.Join(s.dir, "old"), s.in)
		mustConvert(t, ref)
		s.old = tree(t, ref.Dest)
	}
	writeInput(t, s.in, testSchema, 2, 12)
	ref := request(t, filepath.Join(s.dir, "ref"), s.in)
	mustConvert(t, ref)
	s.want = tree(t, ref.Dest)
	return s
}

// begin makes a destination in its first state and the request to change it.
func (s *scene) begin(t *testing.T, name string, st store.Store) Request {
	t.Helper()
	dest := filepath.Join(s.dir, name)
	if s.overwrite {
		if err := os.CopyFS(dest, os.DirFS(filepath.Join(s.dir, "old"))); err != nil {
			t.Fatal(err)
		}
	}
	r := request(t, dest, s.in)
	r.Workers, r.Overwrite = 1, s.overwrite
	r.Resolve = on(st)
	return r
}

// check looks at a destination after a failure as a reader would: complete
// files under output names only, and no _SUCCESS over anything but a whole
// dataset.
func (s *scene) check(t *testing.T, dest string) {
	t.Helper()
	got := tree(t, dest)
	for name, sum := range got {
		if strings.HasPrefix(name, "part-") && sum != s.old[name] && sum != s.want[name] {
			t.Errorf("%s holds neither the old nor the new bytes", name)
		}
	}
	success, ok := got[successName]
	if !ok {
		return
	}
	whole := s.want
	if success != s.want[successName] {
		whole = s.old
	}
	for name, sum := range whole {
		if got[name] != sum {
			t.Errorf("there is a _SUCCESS, but %s is not its file", name)
		}
	}
}

func TestCrashes(t *testing.T) {
	for _, overwrite := range []bool{false, true} {
		s := newScene(t, overwrite)
		for n, ended := 1, false; !ended; n++ {
			for _, late := range []bool{false, true} {
				c := &crash{Store: store.Local(), left: n, late: late}
				r := s.begin(t, fmt.Sprint("crash", n, late), c)
				_, err := Convert(context.Background(), r)
				ended = !c.dead
				if err == nil && c.dead && tree(t, r.Dest)[successName] != s.want[successName] {
					t.Fatalf("change %d failed, and the job did not notice", n)
				}
				s.check(t, r.Dest)
				r.Resolve = nil
				mustConvert(t, r)
				sameTree(t, tree(t, r.Dest), s.want)
				if t.Failed() {
					t.Fatalf("after a crash at change %d (late: %v, overwrite: %v): %v", n, late, overwrite, err)
				}
			}
		}
	}
}

// TestCrashThenOther lets a job with other input, which is killed too, follow
// one that was killed while it published.
func TestCrashThenOther(t *testing.T) {
	for _, overwrite := range []bool{false, true} {
		s := newScene(t, overwrite)
		b, err := os.ReadFile(s.in)
		if err != nil {
			t.Fatal(err)
		}
		for n, ended := 1, false; !ended; n++ {
			first := &crash{Store: store.Local(), left: n}
			r := s.begin(t, fmt.Sprint("other", n), first)
			_, _ = Convert(context.Background(), r)
			ended = !first.dead
			writeInput(t, s.in, testSchema, 3, 5)
			second := &crash{Store: store.Local(), left: 5 + n%10}
			r.Resolve = on(second)
			r.Overwrite = overwrite || ended
			_, _ = Convert(context.Background(), r)
			r.Resolve = nil
			out, err := Convert(context.Background(), r)
			committed := KindOf(err) == ErrConflict && tree(t, r.Dest)[successName] == s.want[successName]
			if err != nil && !committed {
				t.Fatalf("crashes at changes %d and %d: %v", n, 5+n%10, err)
			}
			for name := range tree(t, r.Dest) {
				if name != successName && !committed && !hasPart(out.Manifest, name) {
					t.Errorf("crashes at changes %d and %d: %s was left", n, 5+n%10, name)
				}
			}
			if err := os.WriteFile(s.in, b, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func hasPart(m *manifest.Success, name string) bool {
	for _, p := range m.Parts {
		if p.Name == name {
			return true
		}
	}
	return false
}

var faults = []storetest.Fault{{Err: syscall.ENOSPC}, {Err: syscall.ENOSPC, Late: true}, {Err: syscall.EDQUOT}}

// faultsOf is the number of faults that make a difference for an operation.
func faultsOf(op storetest.Op) int {
	switch op {
	case storetest.Open, storetest.ReadAt, storetest.Stat, storetest.List, storetest.ReadFile:
		return 1
	}
	return len(faults)
}

// TestFaults fails each call of each operation once; the process lives on and
// clears up with a store that works again.
func TestFaults(t *testing.T) {
	for _, overwrite := range []bool{false, true} {
		s := newScene(t, overwrite)
		count := storetest.NewFaulty(store.Local())
		mustConvert(t, s.begin(t, "count", count))
		for _, op := range storetest.Ops {
			for n := 1; n <= count.Calls(op); n++ {
				for _, fault := range faults[:faultsOf(op)] {
					fault.Op, fault.N = op, n
					want := ErrStorage
					if fault.Err == syscall.EDQUOT {
						want = ErrFinal
					}
					r := s.begin(t, fmt.Sprint(op, n, fault), storetest.NewFaulty(store.Local(), fault))
					_, err := Convert(context.Background(), r)
					if err != nil && KindOf(err) != want {
						t.Errorf("error %v is of kind %v", err, KindOf(err))
					}
					s.check(t, r.Dest)
					if left := tree(t, r.TempDir); len(left) > 0 {
						t.Errorf("temporary files are left: %v", left)
					}
					r.Resolve = nil
					mustConvert(t, r)
					sameTree(t, tree(t, r.Dest), s.want)
					if t.Failed() {
						t.Fatalf("after %q %d failed (%+v, overwrite: %v): %v", op, n, fault, overwrite, err)
					}
				}
			}
		}
	}
}

// TestFullAndReadOnly checks that a destination that never works leaves
// nothing.
func TestFullAndReadOnly(t *testing.T) {
	for errno, kind := range map[syscall.Errno]error{syscall.ENOSPC: ErrStorage, syscall.EDQUOT: ErrFinal, syscall.EROFS: ErrFinal} {
		for _, op := range []storetest.Op{storetest.MkdirAll, storetest.WriteFile, storetest.Create, storetest.Write, storetest.Commit} {
			s := newScene(t, false)
			r := s.begin(t, "out", storetest.NewFaulty(store.Local(), storetest.Fault{Op: op, Err: errno}))
			_, err := Convert(context.Background(), r)
			wantKind(t, err, kind, errno.Error())
			if _, err := os.Stat(r.Dest); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s: the destination was left: %v", op, tree(t, r.Dest))
			}
		}
	}
}

func TestResultsAreChecked(t *testing.T) {
	s := newScene(t, false)
	// The parts' bytes change between the write and the read that verifies it.
	faulty := storetest.NewFaulty(store.Local(), storetest.Fault{Op: storetest.Write})
	r := s.begin(t, "out", faulty)
	_, err := Convert(context.Background(), r)
	wantKind(t, err, ErrStorage, "CRC")
	if _, err := os.Stat(r.Dest); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the destination was left: %v", tree(t, r.Dest))
	}
	out := mustConvert(t, request(t, filepath.Join(s.dir, "again"), s.in))
	doc, err := os.ReadFile(filepath.Join(s.dir, "again", successName))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := out.Manifest.Encode(); err != nil || !bytes.Equal(b, doc) {
		t.Errorf("the outcome is not what _SUCCESS says (%v)", err)
	}
}
