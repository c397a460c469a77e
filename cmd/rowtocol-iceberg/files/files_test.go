package files

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/store"
)

// Another process makes each directory just before.
func TestMkdirAtOnce(t *testing.T) {
	st := store.Intercept(store.Local(), func(c *store.Call) error {
		if c.Op == store.OpMkdir {
			if err := store.Local().Mkdir(t.Context(), c.Path); err != nil {
				return err
			}
		}
		return c.Do()
	})
	f := NewFS(t.Context(), func(location string) (store.Location, error) { return store.Location{Store: st, Path: location}, nil })
	testenv.Must(t, f.WriteFile(t.TempDir()+"/a/b/c", []byte("x")))
}

func TestFS(t *testing.T) {
	f := NewFS(t.Context(), store.Resolve)
	dir := "file://" + t.TempDir()
	w, err := f.Create(dir + "/new/file")
	testenv.Must(t, err)
	_, err = w.ReadFrom(strings.NewReader("text"))
	testenv.Must(t, err, w.Close())
	if err := w.Close(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("closed twice: %v", err)
	}
	r, err := f.Open(dir + "/new/file")
	testenv.Must(t, err)
	_, err = r.Seek(2, io.SeekStart)
	testenv.Must(t, err)
	b, err := io.ReadAll(r)
	info, _ := r.Stat()
	if err != nil || string(b) != "xt" || info.Size() != 4 {
		t.Errorf("%q, %v", b, err)
	}
	testenv.Must(t, r.Close(), f.WriteFile(dir+"/other", []byte("old")))
	if err := f.RenameNoReplace(dir+"/new/file", dir+"/other"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("it replaces: %v", err)
	}
	testenv.Must(t, f.Rename(dir+"/new/file", dir+"/other"))
	if b, err := f.ReadFile(dir + "/other"); string(b) != "text" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := f.Stat(dir + "/new/file"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	testenv.Must(t, f.MkdirAll(dir+"/deep/er"), f.WriteFile(dir+"/deep/x", nil), f.WriteFile(dir+"/deep/er/y", nil))
	for _, tt := range []struct {
		skip string
		err  error
		want string
	}{
		{"", nil, "deep er y x new other"},
		{"er", fs.SkipDir, "deep er x new other"},
		{"y", fs.SkipAll, "deep er y"},
	} {
		var names []string
		testenv.Must(t, f.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || name == dir {
				return err
			}
			names = append(names, filepath.Base(name))
			if d.Name() == tt.skip {
				return tt.err
			}
			return nil
		}))
		if got := strings.Join(names, " "); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.skip, got, tt.want)
		}
	}
	testenv.Must(t, f.Remove(dir+"/other"), f.RemoveAll(dir+"/deep"))
	if err := f.WalkDir(dir+"/deep", func(_ string, _ fs.DirEntry, err error) error { return err }); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
