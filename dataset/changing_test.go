package dataset_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/mailgen"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// replacements are possible states of _SUCCESS when a part of its dataset is missing,
// with the expected error.
var replacements = []struct {
	name    string
	replace func(t *testing.T, dir string, s *manifest.Success)
	want    func(error) bool
}{
	{"it lists the part", func(*testing.T, string, *manifest.Success) {}, isDamage},
	{"it is gone", func(t *testing.T, dir string, _ *manifest.Success) { remove(t, dir, manifest.SuccessName) }, isChanging},
	{"it is of another output", func(t *testing.T, dir string, s *manifest.Success) {
		s.ID, s.Parts = manifest.NewID(), nil
		writeSuccess(t, dir, s)
	}, isChanging},
	{"it is of another program", func(t *testing.T, dir string, _ *manifest.Success) {
		write(t, filepath.Join(dir, manifest.SuccessName), "")
	}, isChanging},
	{"it is a directory", func(t *testing.T, dir string, _ *manifest.Success) {
		remove(t, dir, manifest.SuccessName)
		testenv.Must(t, os.Mkdir(filepath.Join(dir, manifest.SuccessName), 0o777))
	}, isChanging},
}

func isChanging(err error) bool { return errors.Is(err, dataset.ErrChanging) && !isDamage(err) }

// A missing part is damage only if the current _SUCCESS still lists it.
func TestMissingPart(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		for _, test := range replacements {
			t.Run(test.name, func(t *testing.T) {
				dir, part, s := singlePart(t, f)
				d := open(t, dir, dataset.Options{Formats: formats})
				remove(t, dir, part)
				test.replace(t, dir, s)
				if _, _, err := scan(t, d, dataset.Query{Limit: -1}); !test.want(err) {
					t.Errorf("%v", err)
				}
			})
		}
	})
}

// A part can vanish between two reads if the store does not keep the bytes of open
// files.
func TestPartVanishes(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		dir, _, _ := singlePart(t, f)
		whole := storetest.NewFaulty(store.Local())
		testenv.Must(t, scanOn(t, whole, dir, nil))
		reads := whole.Calls(storetest.ReadAt)
		if reads < 2 {
			t.Fatalf("%d reads, want one before the blocks and one of a block", reads)
		}
		for _, gone := range []error{store.ErrNotExist, store.ErrReplaced} {
			for n := range reads {
				for _, test := range replacements {
					dir, _, s := singlePart(t, f)
					faulty := storetest.NewFaulty(store.Local(), storetest.Fault{Op: storetest.ReadAt, N: n + 1, Err: gone})
					if err := scanOn(t, faulty, dir, func() { test.replace(t, dir, s) }); !test.want(err) {
						t.Errorf("%v at read %d, %s: %v", gone, n+1, test.name, err)
					}
				}
			}
		}
		faulty := storetest.NewFaulty(store.Local(), storetest.Fault{Op: storetest.ReadAt, N: 1, Err: syscall.EIO})
		if err := scanOn(t, faulty, dir, func() { remove(t, dir, manifest.SuccessName) }); !errors.Is(err, syscall.EIO) || isChanging(err) {
			t.Errorf("failing disk: %v", err)
		}
	})
}

// A file that has become shorter since it was opened is damaged.
func TestPartIsCut(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		dir, part, _ := singlePart(t, f)
		avro := filepath.Join(t.TempDir(), "mail.avro")
		writeAvro(t, avro, mailgen.Schema, mails(1, 50))
		for _, test := range []struct {
			path   string
			before int // reads that detect the kind of file
		}{{dir, 0}, {filepath.Join(dir, part), 1}, {avro, 1}} {
			whole := storetest.NewFaulty(store.Local())
			testenv.Must(t, scanAll(t, whole, test.path))
			reads := whole.Calls(storetest.ReadAt)
			if reads <= test.before {
				t.Fatalf("%s: %d reads", test.path, reads)
			}
			for n := test.before; n < reads; n++ {
				cut := storetest.NewFaulty(store.Local(), storetest.Fault{Op: storetest.ReadAt, N: n + 1, Err: io.EOF})
				wantKind(t, scanAll(t, cut, test.path), damage.Truncated)
			}
		}
	})
}

// scanAll opens a dataset and reads all rows.
func scanAll(t *testing.T, st store.Store, name string) error {
	t.Helper()
	d, err := dataset.Open(t.Context(), locations(st, name), dataset.Options{Formats: formats})
	if err == nil {
		_, _, err = scan(t, d, dataset.Query{Limit: -1})
	}
	return err
}

// If no manifest lists a missing file, the error is just that it does not exist.
func TestMissingFile(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		dir, part, _ := singlePart(t, f)
		d := open(t, filepath.Join(dir, part), dataset.Options{Formats: formats})
		remove(t, dir, part)
		if _, _, err := scan(t, d, dataset.Query{Limit: -1}); !errors.Is(err, store.ErrNotExist) || isChanging(err) {
			t.Errorf("%v", err)
		}
	})
}

// Unchanged compares the outputs with those that were listed.
func TestUnchanged(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		for _, test := range replacements {
			dir, _, s := singlePart(t, f)
			l := list(t, store.Local(), dir, dataset.Options{Formats: formats})
			test.replace(t, dir, s)
			faulty := *l
			faulty.Outputs = slices.Clone(l.Outputs)
			faulty.Outputs[0].Store = storetest.NewFaulty(store.Local(), storetest.Fault{Op: storetest.ReadFile, N: 1, Err: syscall.EACCES})
			if err := faulty.Unchanged(t.Context()); !errors.Is(err, syscall.EACCES) || isChanging(err) {
				t.Errorf("_SUCCESS cannot be read: %v", err)
			}
			if err := l.Unchanged(t.Context()); (err == nil) != (test.name == "it lists the part") || err != nil && !test.want(err) {
				t.Errorf("%s: %v", test.name, err)
			}
		}
	})
}

// A directory without _SUCCESS is changing if a run works on it or has begun to
// publish.
func TestNotFinished(t *testing.T) {
	const (
		pending = ".rowtocol/0123456789abcdef/run-00000002/pending-0123456789abcdef"
		plan    = ".rowtocol/plan-0123/plan.json"
	)
	for _, test := range []struct {
		name     string
		files    []string
		changing bool
	}{
		{"nothing", nil, false},
		{"a file", []string{"part-00000-0-0123456789abcdef.trv"}, false},
		{"a lock", []string{"_lock"}, true},
		{"an output that is being published", []string{pending}, true},
		{"an output that a former holder began to publish", []string{".rowtocol/0123456789abcdef/other-00000001/run-00000001/pending-1"}, true},
		{"a run that was stopped before publishing", []string{".rowtocol/0123456789abcdef/run-00000002/task-00000.json"}, false},
		{"a plan for other machines", []string{plan}, false},
		{"files that tasks of a plan left", []string{".rowtocol/plan-0123456789abcdef/pending-1"}, false},
		{"work of a plan that was taken over", []string{".rowtocol/0123456789abcdef/plan-0123456789abcdef-00000002/pending-1"}, false},
		{"files that are being removed", []string{".rowtocol/trash-0123456789abcdef/pending-1"}, false},
		{"a directory of another program", []string{"rowtocol/pending-0123456789abcdef"}, false},
		{"a file in the place of the directory", []string{".rowtocol"}, false},
	} {
		for _, inner := range []string{"", manifest.IncrementName(1, "0123456789abcdef")} {
			dir := t.TempDir()
			testenv.Must(t, os.MkdirAll(filepath.Join(dir, inner), 0o777))
			for _, name := range test.files {
				write(t, filepath.Join(dir, inner, name), "")
			}
			_, err := dataset.List(t.Context(), locations(store.Local(), dir), dataset.Options{Formats: formats})
			if errors.Is(err, dataset.ErrChanging) != test.changing || errors.Is(err, dataset.ErrUnfinished) == test.changing {
				t.Errorf("%s, in %q: %v", test.name, inner, err)
			}
		}
	}
}

// List does not follow links when it looks for an output that is being published.
func TestPendingElsewhere(t *testing.T) {
	elsewhere := t.TempDir()
	write(t, filepath.Join(elsewhere, "pending-0123456789abcdef"), "")
	for _, name := range []string{".rowtocol", ".rowtocol/0123456789abcdef"} {
		dir := t.TempDir()
		testenv.Must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777))
		testenv.Must(t, os.Symlink(elsewhere, filepath.Join(dir, name)))
		if _, err := dataset.List(t.Context(), locations(store.Local(), dir), dataset.Options{Formats: formats}); !errors.Is(err, dataset.ErrUnfinished) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A pipe, directory or link in the place of a part is damage, in that of a manifest an unfinished output.
func TestIrregularFile(t *testing.T) {
	kinds := map[string]func(name string) error{
		"a pipe":           func(name string) error { return syscall.Mkfifo(name, 0o666) },
		"a directory":      func(name string) error { return os.Mkdir(name, 0o777) },
		"a link to itself": func(name string) error { return os.Symlink(filepath.Base(name), name) },
	}
	eachFormat(t, func(t *testing.T, f format.Format) {
		for kind, put := range kinds {
			dir, name, _ := singlePart(t, f)
			part := filepath.Join(dir, name)
			testenv.Must(t, errors.Join(os.RemoveAll(part), put(part)))
			if err := scanOn(t, store.Local(), dir, nil); !isDamage(err) {
				t.Errorf("%s in the place of a part: %v", kind, err)
			}
			success := filepath.Join(dir, manifest.SuccessName)
			testenv.Must(t, errors.Join(os.Remove(success), put(success)))
			if _, err := dataset.List(t.Context(), locations(store.Local(), dir), dataset.Options{Formats: formats}); !errors.Is(err, dataset.ErrUnfinished) {
				t.Errorf("%s in the place of a manifest: %v", kind, err)
			}
		}
	})
}

// An output can be finished while its directory is listed, and its unfinished files
// can be moved.
func TestFinishedDuringListing(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		dir, _, _ := singlePart(t, f)
		if _, err := dataset.List(t.Context(), locations(hiding(manifest.SuccessName), dir), dataset.Options{Formats: formats}); !isChanging(err) {
			t.Errorf("finished during the listing: %v", err)
		}
		remove(t, dir, manifest.SuccessName)
		testenv.Must(t, os.Mkdir(filepath.Join(dir, manifest.WorkName), 0o777))
		for _, fault := range []storetest.Fault{
			{Op: storetest.List, N: 2, Err: store.ErrNotExist},
			{Op: storetest.List, N: 2, Err: syscall.EIO},
			{Op: storetest.Stat, N: 2, Err: syscall.EIO},
		} {
			_, err := dataset.List(t.Context(), locations(storetest.NewFaulty(store.Local(), fault), dir), dataset.Options{Formats: formats})
			if want := fault.Err; want == store.ErrNotExist && !errors.Is(err, dataset.ErrUnfinished) || want != store.ErrNotExist && !errors.Is(err, want) {
				t.Errorf("%v: %v", fault, err)
			}
		}
	})
}

// hiding is a store whose listings omit a name.
func hiding(name string) store.Store {
	return storetest.Inject(store.Local(), func(c *storetest.Call) error {
		err := c.Do()
		c.Infos = slices.DeleteFunc(c.Infos, func(i store.Info) bool { return i.Name == name })
		return err
	})
}

// singlePart makes an output of one part and returns its manifest.
func singlePart(t *testing.T, f format.Format) (dir, part string, s *manifest.Success) {
	t.Helper()
	dir = oneRowOutput(t, f, func(m *manifest.Success) { s = m })
	part, _, _ = strings.Cut(s.Parts[0].Files[0].Name, "/")
	return dir, part, s
}

// scanOn opens a dataset, calls change, and reads the rows.
func scanOn(t *testing.T, st store.Store, dir string, change func()) error {
	t.Helper()
	d := openOn(t, st, dir, dataset.Options{Formats: formats})
	if change != nil {
		change()
	}
	_, _, err := scan(t, d, dataset.Query{Limit: -1})
	return err
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	testenv.Must(t, os.RemoveAll(filepath.Join(dir, name)))
}

func write(t *testing.T, name, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(name), 0o777)
	if err == nil {
		err = os.WriteFile(name, []byte(text), 0o666)
	}
	testenv.Must(t, err)
}
