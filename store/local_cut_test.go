package store

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// process is a process that uses local disk below a directory.
type process struct {
	local
	t   *testing.T
	dir string
}

func (p process) path(name string) string { return path.Join(p.dir, name) }

// step is a call to a store, or a few that make one promise.
type step struct {
	name string
	do   func(p process) error
	fail error // what do returns
	// want is what the step changes, by name; gone is the end of a name.
	want tree
	// moved are the names, old and new, of a file that the step must not lose.
	moved [2]string
	// torn is a name that may have any content or none during the step, like a
	// temporary name; if the step promises nothing, also after it.
	torn      string
	noPromise bool
}

const gone = "\x00gone"

// write creates a file with several writes, and commits or aborts it.
func write(name string, commit bool, writes ...string) step {
	s := step{name: "create " + name, torn: name, noPromise: !commit}
	if commit {
		s.want = tree{name: strings.Join(writes, "")}
	}
	s.do = func(p process) error {
		w, err := p.Create(p.t.Context(), p.path(name), CreateOptions{Size: -1})
		if err != nil {
			return err
		}
		for _, data := range writes {
			if _, err := w.Write([]byte(data)); err != nil {
				return err
			}
		}
		if commit {
			return w.Commit(p.t.Context())
		}
		return w.Abort()
	}
	return s
}

// copied creates a file by a copy in the kernel.
func copied(name, data string) step {
	return step{name: "copy " + name, torn: name, want: tree{name: data}, do: func(p process) (err error) {
		from := filepath.Join(p.t.TempDir(), "from")
		if err := os.WriteFile(from, []byte(data), 0o666); err != nil {
			return err
		}
		src, err := os.Open(from)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, src.Close()) }()
		w, err := p.Create(p.t.Context(), p.path(name), CreateOptions{Size: int64(len(data))})
		if err != nil {
			return err
		}
		if _, err := io.Copy(w, src); err != nil {
			return err
		}
		return w.Commit(p.t.Context())
	}}
}

func mkdir(name string) step {
	return step{name: "make " + name, want: tree{name + "/": ""}, do: func(p process) error {
		return p.Mkdir(p.t.Context(), p.path(name))
	}}
}

// mkdirIfMissing is mkdir for a directory that may exist.
func mkdirIfMissing(name string) step {
	return step{name: "make " + name + " if it is missing", do: func(p process) error {
		if err := p.Mkdir(p.t.Context(), p.path(name)); !errors.Is(err, ErrExist) {
			return err
		}
		return nil
	}}
}

// mkdirBelow makes a directory, and its parent if that does not exist.
func mkdirBelow(dir, name string) step {
	return step{name: "make " + name + " in " + dir, do: func(p process) error {
		if _, err := p.Stat(p.t.Context(), p.path(dir)); err != nil {
			if err := p.Mkdir(p.t.Context(), p.path(dir)); err != nil {
				return err
			}
		}
		return p.Mkdir(p.t.Context(), p.path(path.Join(dir, name)))
	}}
}

func rename(from, to string, want tree) step {
	return step{name: "rename " + from, want: want, moved: [2]string{from, to}, do: func(p process) error {
		return p.Rename(p.t.Context(), p.path(from), p.path(to))
	}}
}

func writeFile(name, data string, exclusive bool) step {
	return step{name: "write " + name, want: tree{name: data}, do: func(p process) error {
		return p.WriteFile(p.t.Context(), p.path(name), []byte(data), exclusive)
	}}
}

func remove(name string) step {
	return step{name: "remove " + name, want: tree{name: gone}, do: func(p process) error {
		return p.Remove(p.t.Context(), p.path(name))
	}}
}

func removeAll(name string, want tree) step {
	return step{name: "remove all of " + name, want: want, do: func(p process) error {
		return p.RemoveAll(p.t.Context(), p.path(name))
	}}
}

// script returns steps of every kind, in directories at two depths.
func script() []step {
	taken := writeFile("g/lock", "other", true)
	taken.fail, taken.want, taken.noPromise = ErrExist, nil, true
	return []step{
		mkdir("d"),
		mkdir("d/e"),
		mkdir("d/e/f"),
		mkdir("g"),
		mkdirIfMissing("d/e"),
		write("d/a", true, "first ", "second"),
		write("empty", true),
		copied("d/e/b", "copied by the kernel"),
		rename("d/a", "d/c", tree{"d/a": gone, "d/c": "first second"}),
		rename("d/c", "g/c", tree{"d/c": gone, "g/c": "first second"}),
		writeFile("g/lock", "holder", true),
		taken,
		writeFile("g/lock", "another holder", false),
		writeFile("g/new", "", false),
		write("g/half", false, "half"),
		writeFile("g/lock", "the last", false),
		remove("g/c"),
		write("d/e/f/x", true, "x"),
		rename("d/e", "g/e", tree{
			"d/e/": gone, "d/e/b": gone, "d/e/f/": gone, "d/e/f/x": gone,
			"g/e/": "", "g/e/b": "copied by the kernel", "g/e/f/": "", "g/e/f/x": "x",
		}),
		rename("g/e/f", "g/e/h", tree{"g/e/f/": gone, "g/e/f/x": gone, "g/e/h/": "", "g/e/h/x": "x"}),
		remove("d/"),
		removeAll("g", tree{"g/": gone, "g/lock": gone, "g/new": gone, "g/e/": gone, "g/e/b": gone, "g/e/h/": gone, "g/e/h/x": gone}),
		removeAll("g", nil),
		removeAll("empty", tree{"empty": gone}),
	}
}

var fileSystems = map[string]recorder{
	"renameat2":            {},
	"no flag of renameat2": {noFlag: true},
}

// newProcess returns a process on a new directory of a kind of file system.
func newProcess(t *testing.T, kind recorder) (process, *recorder) {
	kind.t, kind.dir = t, t.TempDir()
	return process{local{&kind}, t, kind.dir}, &kind
}

// TestPowerCuts runs a script and cuts the power after each of its calls, with every
// possible outcome.
func TestPowerCuts(t *testing.T) {
	for name, kind := range fileSystems {
		t.Run(name, func(t *testing.T) {
			p, r := newProcess(t, kind)
			before, last, visited := tree{}, step{}, 0
			for _, s := range script() {
				begun := len(r.calls)
				if err := s.do(p); !errors.Is(err, s.fail) {
					t.Fatalf("%s: %v", s.name, err)
				}
				after := before.with(s.want)
				for i, c := range r.calls[begun:] {
					ended := begun+i+1 == len(r.calls)
					cuts(r.calls[:begun+i+1], func(got tree) {
						visited++
						if what := s.broken(last, before, after, got, ended); what != "" {
							t.Fatalf("%s, cut after %q of %s: %s\nbefore %v\nafter  %v\non disk %v", s.name, c.op, c.name, what, before, after, got)
						}
					})
				}
				before, last = after, s
			}
			t.Logf("%d calls, %d cuts", len(r.calls), visited)
		})
	}
}

// broken returns the promise that a cut broke, or "". last is the step before s; before
// and after are the visible trees before and after s.
func (s step) broken(last step, before, after, got tree, ended bool) string {
	mayDiffer := func(name string) bool {
		return IsTemp(path.Base(name)) || name == s.torn || last.noPromise && name == last.torn
	}
	kept := ended && !s.noPromise
	names := maps.Clone(before)
	maps.Copy(names, after)
	maps.Copy(names, got)
	for name := range names {
		switch {
		case kept && !same(got, after, name):
			return name + " differs from the durable state that was promised"
		case !kept && !mayDiffer(name) && !same(got, before, name) && !same(got, after, name):
			return name + " is neither as before nor as after the step"
		}
	}
	if from, to := s.moved[0], s.moved[1]; from != "" && !got.has(before, from) && !got.has(after, to) {
		return "the renamed file is lost"
	}
	return ""
}

// same reports whether a name is the same in two trees, or in neither.
func same(a, b tree, name string) bool {
	x, inA := a[name]
	y, inB := b[name]
	return x == y && inA == inB
}

// has reports whether t has everything that another tree has at and below a name.
func (t tree) has(other tree, name string) bool {
	for n := range other {
		if (n == name || strings.HasPrefix(n, name+"/")) && !same(t, other, n) {
			return false
		}
	}
	return true
}

// with returns a tree with changes.
func (t tree) with(changes tree) tree {
	t = maps.Clone(t)
	maps.Copy(t, changes)
	maps.DeleteFunc(t, func(_, data string) bool { return data == gone })
	return t
}

// visible returns the tree that processes see.
func (p process) visible() tree {
	t := make(tree)
	err := filepath.WalkDir(p.dir, func(file string, e fs.DirEntry, err error) error {
		name, _ := filepath.Rel(p.dir, file)
		if err != nil || name == "." {
			return err
		}
		if e.IsDir() {
			t[name+"/"] = ""
			return nil
		}
		data, err := os.ReadFile(file)
		t[name] = string(data)
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return t
}

// TestPowerCutAfterKill kills a process at each of its calls and lets another make a
// change in the same directories. A cut after that must leave the visible tree,
// including the killed process's work, because the other relied on it.
func TestPowerCutAfterKill(t *testing.T) {
	made := []step{
		mkdir("d"), mkdir("e"), mkdir("e/full"), write("d/x", true, "x"), write("d/y", true, "y"), write("e/full/f", true, "f"),
	}
	tests := []struct{ killed, next step }{
		{mkdir("a"), mkdirIfMissing("a")},
		{mkdir("a"), mkdirBelow("a", "b")},
		{mkdir("d/a"), mkdirIfMissing("d/a")},
		{mkdir("d/a"), mkdirBelow("d/a", "b")},
		{removeAll("e", nil), removeAll("e", nil)},
		{rename("d/x", "e/x", nil), rename("d/y", "e/y", nil)},
		{rename("d/x", "d/z", nil), rename("d/y", "d/w", nil)},
		{rename("e/full", "d/full", nil), rename("d/x", "e/x", nil)},
		{writeFile("d/x", "new", false), writeFile("d/x", "newer", false)},
		{writeFile("d/lock", "dead", true), writeFile("d/other", "alive", true)},
		{write("d/new", true, "never committed"), write("d/other", true, "committed")},
		{remove("d/x"), remove("d/y")},
	}
	visited := 0
	for name, kind := range fileSystems {
		for _, tt := range tests {
			for n := 1; ; n++ {
				p, r := newProcess(t, kind)
				for _, s := range made {
					testenv.Must(t, s.do(p))
				}
				r.killAt = r.begun + n
				err := tt.killed.do(p)
				if err == nil {
					break
				}
				r.killAt = 0
				if next := tt.next.do(p); !errors.Is(err, errKilled) || next != nil {
					t.Fatalf("%s, %s killed at call %d: %v, then %v", name, tt.killed.name, n, err, next)
				}
				want := p.visible()
				cuts(r.calls, func(got tree) {
					visited++
					what := step{torn: tt.killed.torn}.broken(step{}, want, want, got, false)
					if what != "" {
						t.Fatalf("%s, %s killed at call %d, then %s: %s\nvisible %v\non disk %v", name, tt.killed.name, n, tt.next.name, what, want, got)
					}
				})
			}
		}
	}
	t.Logf("%d cuts", visited)
}

// TestFailedSyncs fails each sync of a script: the step that needs it must return the
// error.
func TestFailedSyncs(t *testing.T) {
	for name, kind := range fileSystems {
		for n := 1; ; n++ {
			p, r := newProcess(t, kind)
			r.failSync = n
			steps := script()
			failed := slices.ContainsFunc(steps, func(s step) bool {
				err := s.do(p)
				if (r.syncs >= n) != errors.Is(err, syscall.EIO) {
					t.Errorf("%s, sync %d fails: %s returns %v", name, n, s.name, err)
				}
				return r.syncs >= n
			})
			if !failed {
				break
			}
		}
	}
}
