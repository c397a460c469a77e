package dataset

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// numberedFiles makes n files that contain their numbers; at most limit are open at a time.
func numberedFiles(t *testing.T, n, limit int) (*storetest.Counter, []*file) {
	t.Helper()
	faulty, pool, dir := storetest.NewFaulty(store.Local()), budget.NewFiles(limit), t.TempDir()
	files := make([]*file, n)
	for i := range files {
		name := filepath.Join(dir, strconv.Itoa(i))
		if err := os.WriteFile(name, []byte{byte(i)}, 0o666); err != nil {
			t.Fatal(err)
		}
		files[i] = &file{name: name, size: 1, pool: pool, open: func() (store.File, error) { return faulty.Open(t.Context(), name) }}
	}
	return faulty.Counter, files
}

// checkNumber reads a file's number.
func (f *file) checkNumber(t *testing.T, want int) {
	t.Helper()
	var b [1]byte
	if n, err := f.ReadAt(b[:], 0); n != 1 || err != nil || int(b[0]) != want {
		t.Errorf("%s: %d bytes, %d, %v; want %d", f.name, n, b[0], err, want)
	}
}

// A file that is opened again by its name must be the same file.
func TestOpenFilesReplaced(t *testing.T) {
	for name, replace := range map[string]func(path string) error{
		"renamed": func(path string) error {
			return errors.Join(os.WriteFile(path+".new", []byte{9}, 0o666), os.Rename(path+".new", path))
		},
		"linked": func(path string) error {
			return errors.Join(os.Remove(path), os.Symlink(filepath.Join(filepath.Dir(path), "2"), path))
		},
		"longer": func(path string) error { return os.WriteFile(path, []byte{0, 0}, 0o666) },
	} {
		faulty, files := numberedFiles(t, 3, 1)
		files[0].checkNumber(t, 0)
		testenv.Must(t, replace(files[0].name))
		files[0].checkNumber(t, 0) // it is still open
		files[1].checkNumber(t, 1)
		for range 2 {
			if _, err := files[0].ReadAt(make([]byte, 1), 0); !errors.Is(err, store.ErrReplaced) || faulty.OpenFiles() > 1 {
				t.Errorf("%s: %v with %d open files", name, err, faulty.OpenFiles())
			}
		}
	}
}
