package dataset

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// numbered are files each of which holds its number, among which so many are open.
func numbered(t *testing.T, n, limit int) (*storetest.Counter, []*file) {
	t.Helper()
	of, among, dir := storetest.NewFaulty(store.Local()), newOpenFiles(limit), t.TempDir()
	files := make([]*file, n)
	for i := range files {
		name := filepath.Join(dir, strconv.Itoa(i))
		if err := os.WriteFile(name, []byte{byte(i)}, 0o666); err != nil {
			t.Fatal(err)
		}
		files[i] = &file{name: name, size: 1, among: among, open: func() (store.File, error) { return of.Open(t.Context(), name) }}
	}
	return of.Counter, files
}

// read reads a file's number.
func (f *file) read(t *testing.T, want int) {
	t.Helper()
	var b [1]byte
	if n, err := f.ReadAt(b[:], 0); n != 1 || err != nil || int(b[0]) != want {
		t.Errorf("%s: %d bytes, %d, %v; want %d", f.name, n, b[0], err, want)
	}
}

func TestOpenFiles(t *testing.T) {
	of, files := numbered(t, 5, 3)
	for _, step := range []struct{ file, opens int }{
		{0, 1}, {1, 2}, {2, 3}, {0, 3}, // all have room
		{3, 4}, {0, 4}, {2, 4}, // in place of 1
		{1, 5}, {0, 5}, // in place of 3
	} {
		if files[step.file].read(t, step.file); of.Calls(storetest.Open) != step.opens {
			t.Errorf("%+v: opened %d", step, of.Calls(storetest.Open))
		}
	}
	if of.MostFiles() != 3 {
		t.Errorf("%d files were open", of.MostFiles())
	}
	for _, f := range files {
		f.Close()
		if _, err := f.ReadAt(make([]byte, 1), 0); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("a read after the end: %v", err)
		}
	}
	if of.OpenFiles() != 0 || files[0].among.open != 0 || files[0].among.used.Len() != 0 {
		t.Errorf("%d files are open, of %d", of.OpenFiles(), files[0].among.open)
	}
}

// A file that cannot be opened takes no room.
func TestOpenFilesFail(t *testing.T) {
	of, files := numbered(t, 2, 1)
	files[0].read(t, 0)
	if err := os.Remove(files[1].name); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := files[1].ReadAt(make([]byte, 1), 0); !errors.Is(err, store.ErrNotExist) {
			t.Error(err)
		}
	}
	if files[0].read(t, 0); of.OpenFiles() != 1 || files[0].among.open != 1 {
		t.Errorf("%d files are open, of %d", of.OpenFiles(), files[0].among.open)
	}
}

// What a name leads to may be another file when it is opened again.
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
		of, files := numbered(t, 3, 1)
		files[0].read(t, 0)
		if err := replace(files[0].name); err != nil {
			t.Fatal(err)
		}
		files[0].read(t, 0) // is still open
		files[1].read(t, 1)
		for range 2 {
			if _, err := files[0].ReadAt(make([]byte, 1), 0); !errors.Is(err, store.ErrReplaced) || of.OpenFiles() > 1 {
				t.Errorf("%s: %v with %d open files", name, err, of.OpenFiles())
			}
		}
	}
}

// Files that are being read stay open, and are closed when they no longer are.
func TestOpenFilesTogether(t *testing.T) {
	const limit, readers = 4, 16
	of, files := numbered(t, 50, limit)
	var all sync.WaitGroup
	for r := range readers {
		all.Go(func() {
			for i := range 500 {
				n := (i*(r%3+1) + r*7) % len(files)
				files[n].read(t, n)
			}
		})
	}
	all.Wait()
	if of.MostFiles() > limit+readers || of.OpenFiles() > limit || of.OpenFiles() != files[0].among.open {
		t.Errorf("%d files were open, then %d of %d", of.MostFiles(), of.OpenFiles(), files[0].among.open)
	}
	for _, f := range files {
		all.Go(f.Close)
		all.Go(func() { _, _ = f.ReadAt(make([]byte, 1), 0) })
	}
	all.Wait()
	if of.OpenFiles() != 0 || files[0].among.open != 0 {
		t.Errorf("%d files are open at the end, of %d", of.OpenFiles(), files[0].among.open)
	}
}
