package task

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/formattest"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
	"github.com/rowtocol/rowtocol/trevni"
)

// splitOptions returns options with a format whose parts are directories of files with
// the given names.
func splitOptions(t testing.TB, names ...string) Options {
	o := options(t)
	o.Formats = format.Registry{formattest.Split{Format: trevni.Format, Names: names}}
	return o
}

// TestPartOfSeveralFiles checks that the files of a part that is a directory together have the
// bytes that one file would have.
func TestPartOfSeveralFiles(t *testing.T) {
	in, _ := writeInput(t, t.TempDir(), "a.avro", 8)
	p := newPlan(t, 8<<10, in)
	wholeDir, whole := mustRun(t, p, options(t))
	dir, results := mustRun(t, p, splitOptions(t, "b", "a"))
	known := 0
	for i, res := range results {
		if again, err := NewWork(p, nil, store.Local(), dir).Finished(t.Context(), i); err != nil || again == nil {
			t.Errorf("task %d: %v, %v", i, again, err)
		}
		known += len(res.Parts) + 1
		for j, part := range res.Parts {
			if e := part.Entry(); !e.Dir || !strings.HasSuffix(e.Name, ".split.staged") || len(e.Files) != 2 ||
				e.Files[0].Name != e.Name+"/b" || e.Files[1].Name != e.Name+"/a" {
				t.Errorf("a part is %+v", e)
			}
			var got []byte
			for _, f := range part.Files {
				b, err := os.ReadFile(filepath.Join(dir, f.Name))
				testenv.Must(t, err)
				got = append(got, b...)
			}
			want, err := os.ReadFile(filepath.Join(wholeDir, whole[i].Parts[j].Files[0].Name))
			if err != nil || string(got) != string(want) {
				t.Errorf("part %d of task %d has %d bytes, want %d; or the bytes differ, %v", j, i, len(got), len(want), err)
			}
		}
	}
	if left := fileNames(t, dir); len(left) != known {
		t.Errorf("the directory has %q, want %d files", left, known)
	}
}

// TestDefectiveOutputs checks that invalid names of a format's outputs are refused.
func TestDefectiveOutputs(t *testing.T) {
	in, _ := writeInput(t, t.TempDir(), "a.avro", 1)
	p := newPlan(t, 1<<20, in)
	for _, tt := range []struct {
		names []string
		want  string
	}{
		{[]string{}, "without outputs"},
		{[]string{"", ""}, `"" is not a valid name for one of 2 outputs`},
		{[]string{"a", ""}, `"" is not a valid name`},
		{[]string{"a", "b/c"}, `"b/c" is not a valid name`},
		{[]string{"..", "a"}, `".." is not a valid name`},
		{[]string{"a/../../b"}, `"a/../../b" is not a valid name`},
		{[]string{"_a", "b"}, `"_a" is not a valid name`},
		{[]string{"a", "b", "a"}, `two outputs have the name "a"`},
	} {
		dir, _, err := run(t, p, splitOptions(t, tt.names...))
		if err == nil || !strings.Contains(err.Error(), "format trevni: ") || !strings.Contains(err.Error(), tt.want) || failure.HasKind(err) {
			t.Errorf("%q: error is %v, want %q", tt.names, err, tt.want)
		}
		if left := fileNames(t, dir); len(left) > 0 {
			t.Errorf("%q: left %q", tt.names, left)
		}
	}
}

// TestChangedDirectory checks what Finished returns after the directory of a part was changed.
func TestChangedDirectory(t *testing.T) {
	in, _ := writeInput(t, t.TempDir(), "a.avro", 1)
	p := newPlan(t, 1<<20, in)
	for name, change := range map[string]func(part, elsewhere string) error{
		"is a link": func(part, elsewhere string) error {
			return errors.Join(os.Rename(part, elsewhere+"/x"), os.Symlink(elsewhere+"/x", part))
		},
		"first is a link": func(part, elsewhere string) error {
			return errors.Join(os.Rename(part+"/first", elsewhere+"/x"), os.Symlink(elsewhere+"/x", part+"/first"))
		},
		"third is not a file of the part": func(part, _ string) error { return os.WriteFile(part+"/third", nil, 0o666) },
		"gone: a file":                    func(part, _ string) error { return os.Remove(part + "/first") },
		"gone: all":                       func(part, _ string) error { return os.RemoveAll(part) },
		"is not a directory":              func(part, _ string) error { return errors.Join(os.RemoveAll(part), os.WriteFile(part, nil, 0o666)) },
		"with CRC-32C":                    func(part, _ string) error { return os.Truncate(part+"/second", 1) },
	} {
		dir, results := mustRun(t, p, splitOptions(t))
		testenv.Must(t, change(filepath.Join(dir, results[0].Parts[0].Entry().Name), t.TempDir()))
		res, err := NewWork(p, nil, store.Local(), dir).Finished(t.Context(), 0)
		if res != nil {
			t.Errorf("%s: the task is finished", name)
		}
		if !strings.HasPrefix(name, "gone: ") {
			failuretest.Want(t, err, failure.Foreign, name)
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMaxUploads checks that maxUploads files of a part are written at a time.
func TestMaxUploads(t *testing.T) {
	in, _ := writeInput(t, t.TempDir(), "a.avro", 1)
	var names []string
	for i := range 3 * maxUploads {
		names = append(names, fmt.Sprint(i))
	}
	o := splitOptions(t, names...)
	o.Workers = 1
	var mu sync.Mutex
	now, most := 0, 0
	full := make(chan struct{}) // closed when maxUploads files are open
	st := storetest.Inject(store.Local(), func(c *storetest.Call) error {
		switch c.Op {
		case storetest.Create:
			mu.Lock()
			if now++; now > most {
				if most = now; most == maxUploads {
					close(full)
				}
			}
			mu.Unlock()
		case storetest.Commit: // waits until maxUploads files are open, or for a time limit
			select {
			case <-full:
			case <-time.After(10 * time.Second):
			}
			mu.Lock()
			now--
			mu.Unlock()
		}
		return c.Do()
	})
	res, err := mustOpen(t, newPlan(t, 1<<20, in), o).Run(t.Context(), st, t.TempDir(), []int{0})
	testenv.Must(t, err)
	if most != maxUploads {
		t.Errorf("%d files were written at a time, want %d", most, maxUploads)
	}
	for i, f := range res[0].Parts[0].Files {
		if path.Base(f.Name) != names[i] {
			t.Errorf("file %d is %s, want %s", i, f.Name, names[i])
		}
	}
}
