package publish

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// laterStore is a store whose clock went on since its files were written.
type laterStore struct {
	store.Store
	by time.Duration
}

func (s laterStore) Stat(ctx context.Context, p string) (store.Info, error) {
	info, err := s.Store.Stat(ctx, p)
	if path.Base(p) == manifest.LockName {
		info.ModTime = info.ModTime.Add(s.by)
	}
	return info, err
}

// later returns the same destination after some time.
func later(d *Destination, by time.Duration) *Destination { return at(laterStore{d.st, by}, d.path) }

// keeping returns the same destination for a process that keeps the outputs that it replaces.
func keeping(d *Destination, keep time.Duration) *Destination {
	k := at(d.st, d.path)
	k.keep = keep
	return k
}

// wantFiles requires that the files of an output are in its directory, with their contents.
func wantFiles(t *testing.T, d *Destination, dir string, s *manifest.Success) {
	t.Helper()
	for _, f := range s.Files() {
		size, crc, err := store.Sum(t.Context(), d.st, path.Join(dir, f.Name), -1)
		if err != nil || size != f.Bytes || crc != f.CRC32C {
			t.Errorf("%s of output %s: %d bytes, CRC %08x: %v", f.Name, s.ID, size, crc, err)
		}
	}
}

// wantKept requires that status finds these kept outputs and nothing else that is left over.
func wantKept(t *testing.T, d *Destination, ids ...string) {
	t.Helper()
	s := mustStatus(t, d)
	if len(s.Kept) != len(ids) || len(s.Debris)+len(s.Foreign)+len(s.Unfinished) > 0 || s.State.Leftovers || s.Damage != "" {
		t.Errorf("kept %+v, want %q; status %+v", s.Kept, ids, s)
	}
	for _, id := range ids {
		if !strings.Contains(fmt.Sprint(s.Kept), manifest.KeptName(id)) {
			t.Errorf("output %s is not among the kept ones: %+v", id, s.Kept)
		}
	}
}

// TestKeepReplaced checks that a replaced output and its increment stay for their time, also
// after other outputs are published, and are removed then.
func TestKeepReplaced(t *testing.T) {
	for name, end := range map[string]func(d *Destination) error{
		"clean": func(d *Destination) error {
			cleaned, err := d.Clean(t.Context(), 0)
			if got := kinds(cleaned.Removed); got != strings.Repeat(keptOutput+", ", 2)+keptOutput || cleaned.Removed[0].Bytes == 0 {
				t.Errorf("removed %+v", cleaned.Removed)
			}
			return err
		},
		"the next holder": func(d *Destination) error {
			claimAndRelease(t, d)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, st := inMemory(t)
			p := publishOutput(t, d, st, "P")
			i := publishIncrement(t, d, "I")
			q := publishOutput(t, keeping(d, time.Hour), st, "Q")
			wantKept(t, d, p.ID, i.ID)
			r := publishOutput(t, keeping(d, time.Minute), st, "R")
			publishOutput(t, d, st, "S")
			wantKept(t, d, p.ID, i.ID, q.ID)
			wantFiles(t, d, d.path, p)
			wantFiles(t, d, dirOf(d, i), i)
			wantFiles(t, d, d.path, q)
			if s := mustStatus(t, d); strings.Contains(namesBelow(t, st, d.path), r.ID) || !s.Finished(requestOf("S")) {
				t.Errorf("got %+v", s.State)
			}
			kept := mustStatus(t, d).Kept
			for _, l := range kept {
				for want, of := range map[time.Duration]string{time.Hour: p.ID + i.ID, time.Minute: q.ID} {
					if strings.Contains(of, path.Base(l.Name)[len(manifest.KeptName("")):]) && (l.Until.Sub(l.Changed) != want || l.Bytes == 0) {
						t.Errorf("got %+v, want it kept for %v", l, want)
					}
				}
			}
			cleaned, err := later(d, 59*time.Second).Clean(t.Context(), 0)
			if err != nil || len(cleaned.Removed) > 0 || len(cleaned.Kept) != 3 {
				t.Errorf("removed %+v, kept %+v, %v", cleaned.Removed, cleaned.Kept, err)
			}
			testenv.Must(t, end(later(d, 2*time.Hour)))
			wantOnlyOutput(t, st, d.path)
		})
	}
}

// TestKeptAfterKill checks that outputs are kept if the run that replaces them is killed before
// any of its renames, and if the next run is killed as well. Other outputs were kept before.
func TestKeptAfterKill(t *testing.T) {
	for n := 1; ; n++ {
		for m, ended := 1, false; !ended; m += 3 {
			d, st := inMemory(t)
			publishOutput(t, d, st, "O")
			h := publishIncrement(t, d, "H")
			p := publishOutput(t, keeping(d, time.Hour), st, "P")
			i := publishIncrement(t, d, "I")
			if publishUntilKilled(t, keeping(d, time.Hour), stageWork, "Q", n) != nil {
				return
			}
			next := at(&killAtRename{Store: st, counts: true, left: m, end: func() {}}, d.path)
			next.movers = 1
			c, _, err := next.Claim(t.Context())
			if ended = err == nil; ended {
				abandon(c)
			}
			claimAndRelease(t, d)
			for dir, s := range map[string]*manifest.Success{dirOf(d, h): h, d.path: p, dirOf(d, i): i} {
				wantFiles(t, d, dir, s)
			}
			if s := mustStatus(t, d); len(s.Kept) != 4 || len(s.Debris) > 0 || !s.Finished(requestOf("Q")) {
				t.Errorf("killed at rename %d, and the next at %d: kept %+v, left %+v", n, m, s.Kept, s.Debris)
			}
			claimAndRelease(t, later(d, 2*time.Hour))
			wantOnlyOutput(t, st, d.path)
			if t.Failed() {
				t.Fatalf("killed at rename %d, and the next at %d", n, m)
			}
		}
	}
}

// TestKeptTimeBeginsAnew checks that the time of a kept output begins again if another run
// completes the output that replaces it: until then, readers found the former one.
func TestKeptTimeBeginsAnew(t *testing.T) {
	d, _ := onDisk(t)
	p := stateOf(t, d).Success
	killPublish(t, keeping(d, 90*time.Minute), "Q", 0)
	wantFiles(t, d, d.path, p)
	makeOlder(t, d.workDir())
	claimAndRelease(t, later(d, time.Hour))
	s := mustStatus(t, d)
	if len(s.Kept) != 1 || time.Since(s.Kept[0].Changed) > 30*time.Minute || !s.Finished(requestOf("Q")) {
		t.Errorf("got %+v", s.Kept)
	}
	wantFiles(t, d, d.path, p)
}

// TestKeptOutputIsPutBack checks that an output stays whole that was to be kept, but was not
// replaced in the end.
func TestKeptOutputIsPutBack(t *testing.T) {
	d, m := onDisk(t)
	i := publishIncrement(t, d, "I")
	killPublish(t, keeping(d, time.Hour), "Q", 6) // its document is written
	if len(staged(t, d, manifest.KeptName(""))) != 2 {
		t.Fatal("the documents are not written")
	}
	testenv.Must(t, removeAll(staged(t, d, "part-")))
	claimAndRelease(t, d)
	claimAndRelease(t, later(d, 2*time.Hour))
	s := mustStatus(t, d)
	if s.Success == nil || s.Success.ID != m.ID || len(s.Increments) != 1 || len(s.Kept) > 0 || s.Damage != "" {
		t.Errorf("%+v", s)
	}
	wantFiles(t, d, d.path, m)
	wantFiles(t, d, dirOf(d, i), i)
}

// TestIncrementsAreKept checks that increments are kept that were added to no output.
func TestIncrementsAreKept(t *testing.T) {
	d, st := inMemory(t)
	i := publishIncrement(t, d, "I")
	publishOutput(t, keeping(d, time.Hour), st, "Q")
	wantKept(t, d, i.ID)
	wantFiles(t, d, dirOf(d, i), i)
	claimAndRelease(t, later(d, 2*time.Hour))
	wantOnlyOutput(t, st, d.path)
}

// TestUnreadableKeptDocument checks that a document that says nothing about an output keeps
// nothing: the next holder removes it.
func TestUnreadableKeptDocument(t *testing.T) {
	for name, change := range map[string]func(text []byte, file string) error{
		"torn": func(text []byte, file string) error { return os.WriteFile(file, text[:len(text)/2], 0o666) },
		"another output": func(_ []byte, file string) error {
			return os.Rename(file, path.Dir(file)+"/"+manifest.KeptName("0123456789abcdef"))
		},
		"a directory": func(_ []byte, file string) error { return errors.Join(os.Remove(file), os.Mkdir(file, 0o777)) },
		"a link":      func(_ []byte, file string) error { return moveAndLink(path.Dir(path.Dir(file)), file) },
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := onDisk(t)
			publishOutput(t, keeping(d, time.Hour), d.st, "Q")
			file := staged(t, d, manifest.KeptName(""))[0]
			text, err := os.ReadFile(file)
			testenv.Must(t, err)
			testenv.Must(t, change(text, file))
			if s := mustStatus(t, d); len(s.Kept)+len(s.Debris) == 0 || len(s.Foreign) > 0 {
				t.Errorf("%+v", s)
			} else if len(s.Kept) > 0 && (s.Kept[0].What != damagedKept || !s.Kept[0].Until.IsZero()) {
				t.Errorf("a document that keeps nothing: %+v", s.Kept[0])
			}
			claimAndRelease(t, d)
			wantOnlyOutput(t, d.st, d.path)
		})
	}
}

// TestKeptDocumentMoves checks that a document is not called damaged that a holder moves away, or
// replaces, while Status reads it.
func TestKeptDocumentMoves(t *testing.T) {
	for name, back := range map[string]bool{"moved away": false, "replaced": true} {
		t.Run(name, func(t *testing.T) {
			d, st := inMemory(t)
			publishOutput(t, d, st, "P")
			publishOutput(t, keeping(d, time.Hour), st, "Q")
			file, reads := d.pathOf(mustStatus(t, d).Kept[0].Name), 0
			reader := at(storetest.Inject(st, func(c *storetest.Call) error {
				if c.Op != storetest.ReadFile || c.Path != file {
					return c.Do()
				}
				if reads++; reads > 1 {
					return c.Do()
				}
				testenv.Must(t, st.Rename(t.Context(), file, "/parent/aside"))
				err := c.Do()
				if back {
					testenv.Must(t, st.Rename(t.Context(), "/parent/aside", file))
				}
				return err
			}), d.path)
			s, err := reader.Status(t.Context())
			testenv.Must(t, err)
			if back && (len(s.Kept) != 1 || s.Kept[0].What != keptOutput) || !back && len(s.Kept) > 0 {
				t.Errorf("got %+v", s.Kept)
			}
		})
	}
}

// TestForeignFileIsNotKept checks that a document without an ID does not hide foreign files.
func TestForeignFileIsNotKept(t *testing.T) {
	d, _ := onDisk(t)
	err := errors.Join(os.MkdirAll(d.workDir(), 0o777), os.WriteFile(d.workDir()+"/"+manifest.KeptName(""), nil, 0o666), os.WriteFile(d.pathOf("foreign"), nil, 0o666))
	testenv.Must(t, err)
	if s := stateOf(t, d); len(s.foreign) != 1 {
		t.Errorf("got foreign files %q", s.foreign)
	}
}

// TestKeptOutputIsTheLatest checks that the output that is kept is the one that was replaced last,
// if the same holder took over the manifests of several.
func TestKeptOutputIsTheLatest(t *testing.T) {
	for n := 1; ; n++ {
		d, m := onDisk(t)
		if publishUntilKilled(t, keeping(d, time.Hour), stageWork, "Q", n) != nil {
			return
		}
		if q := stateOf(t, d); q.Success != nil && q.ID() != m.ID {
			publishOutput(t, keeping(d, time.Hour), d.st, "R")
			wantKept(t, d, m.ID, q.ID())
			wantFiles(t, d, d.path, q.Success)
		}
	}
}

// TestRetiredBy checks that an output replaces the latest of those that it names.
func TestRetiredBy(t *testing.T) {
	var c Claim
	for i, id := range []string{"a", "c", "b", "d"} {
		c.found.retired = append(c.found.retired, &retiredOutput{Success: &manifest.Success{ID: id, Sequence: []int64{1, 3, 2, 4}[i]}})
	}
	if r := c.retiredBy(&manifest.Success{Replaces: []string{"a", "b", "c"}}); r == nil || r.ID != "c" {
		t.Errorf("got %+v, want c", r)
	}
	if r := c.retiredBy(&manifest.Success{Replaces: []string{"x"}}); r != nil {
		t.Errorf("got %+v, want none", r)
	}
}

// TestKeptNextToDamage checks that nothing is removed while the destination is damaged, and that
// a damaged output can be replaced next to a kept one. An increment without its output is not kept.
func TestKeptNextToDamage(t *testing.T) {
	d, m := onDisk(t)
	q := publishOutput(t, keeping(d, time.Hour), d.st, "Q")
	publishIncrement(t, d, "I")
	testenv.Must(t, os.Remove(d.pathOf(manifest.SuccessName)))
	for i := range q.Parts {
		testenv.Must(t, os.RemoveAll(d.pathOf(q.Parts[i].Entry().Name)))
	}
	claimAndRelease(t, later(d, 2*time.Hour))
	wantFiles(t, d, d.path, m)
	if s := mustStatus(t, d); s.Damage == "" {
		t.Error("a destination without its output is not damaged")
	}
	publishOutput(t, keeping(d, time.Hour), d.st, "R")
	wantKept(t, d, m.ID)
	wantFiles(t, d, d.path, m)
	claimAndRelease(t, later(d, 2*time.Hour))
	wantOnlyOutput(t, d.st, d.path)
}
