package dataset

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/rowtocol/rowtocol/store"
)

// opened counts the files of a store that are open.
type opened struct {
	store.Store
	mu               sync.Mutex
	now, most, opens int
}

type openedFile struct {
	store.File
	of *opened
}

func (o *opened) Open(ctx context.Context, name string) (store.File, error) {
	f, err := o.Store.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.opens++
	o.now++
	o.most = max(o.most, o.now)
	return openedFile{f, o}, nil
}

func (f openedFile) Identity() store.Identity { return store.IdentityOf(f.File) }

func (f openedFile) Close() error {
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	f.of.now--
	return f.File.Close()
}

// numbered are files each of which holds its number, among which so many are open.
func numbered(t *testing.T, n, limit int) (*opened, []*file) {
	t.Helper()
	of, among, dir := &opened{Store: store.Local()}, newOpenFiles(limit), t.TempDir()
	files := make([]*file, n)
	for i := range files {
		name := filepath.Join(dir, strconv.Itoa(i))
		if err := os.WriteFile(name, []byte{byte(i)}, 0o666); err != nil {
			t.Fatal(err)
		}
		files[i] = &file{name: name, size: 1, among: among, open: func() (store.File, error) { return of.Open(t.Context(), name) }}
	}
	return of, files
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
		if files[step.file].read(t, step.file); of.opens != step.opens {
			t.Errorf("%+v: opened %d", step, of.opens)
		}
	}
	if of.most != 3 {
		t.Errorf("%d files were open", of.most)
	}
	for _, f := range files {
		f.Close()
		if _, err := f.ReadAt(make([]byte, 1), 0); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("a read after the end: %v", err)
		}
	}
	if of.now != 0 || files[0].among.open != 0 || files[0].among.used.Len() != 0 {
		t.Errorf("%d files are open, of %d", of.now, files[0].among.open)
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
	if files[0].read(t, 0); of.now != 1 || files[0].among.open != 1 {
		t.Errorf("%d files are open, of %d", of.now, files[0].among.open)
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
			if _, err := files[0].ReadAt(make([]byte, 1), 0); !errors.Is(err, store.ErrReplaced) || of.now > 1 {
				t.Errorf("%s: %v with %d open files", name, err, of.now)
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
	if of.most > limit+readers || of.now > limit || of.now != files[0].among.open {
		t.Errorf("%d files were open, then %d of %d", of.most, of.now, files[0].among.open)
	}
	for _, f := range files {
		all.Go(f.Close)
		all.Go(func() { _, _ = f.ReadAt(make([]byte, 1), 0) })
	}
	all.Wait()
	if of.now != 0 || files[0].among.open != 0 {
		t.Errorf("%d files are open at the end, of %d", of.now, files[0].among.open)
	}
}
