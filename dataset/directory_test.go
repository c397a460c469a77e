package dataset_test

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"testing"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// TestDirectoryAsAPart lists a part of several files by the manifest, by its
// name, and by the directory that contains it.
func TestDirectoryAsAPart(t *testing.T) {
	dir, id := t.TempDir(), manifest.NewID()
	name := manifest.PartName(0, 0, id, ".trv")
	part := filepath.Join(dir, name)
	write := func(name, text string) {
		t.Helper()
		testenv.Must(t, errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(text), 0o666)))
	}
	write(part+"/a", "12")
	write(part+"/b", "345")
	write(part+"/.a.crc", "hidden")
	list := func(path string, partial bool) *dataset.Part {
		t.Helper()
		l, err := dataset.List(t.Context(), locations(store.Local(), path), dataset.Options{Formats: formats, Partial: partial})
		if err != nil || len(l.Parts) != 1 {
			t.Fatalf("%+v, %v", l, err)
		}
		return &l.Parts[0]
	}
	check := func(p *dataset.Part) {
		t.Helper()
		if p.Name != part || p.Bytes != 5 || len(p.Files) != 2 || p.Files[0].Name != part+"/a" || p.Files[1].Bytes != 3 {
			t.Errorf("%+v", p)
		}
	}
	check(list(part, false))
	check(list(dir, true))
	writeSuccess(t, dir, &manifest.Success{
		Version: manifest.Version, ID: id, Request: manifest.Request{Options: manifest.Options{Format: "trevni"}},
		Parts: []manifest.Part{{Files: []manifest.File{{Name: path.Join(name, "a"), Bytes: 2}, {Name: path.Join(name, "b"), Bytes: 3}}}},
		Bytes: 5,
	})
	check(list(dir, false))
}

// TestDestinationNamedLikeAPart lists a destination whose name is like a part's.
func TestDestinationNamedLikeAPart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mail.trv")
	testenv.Must(t, errors.Join(os.MkdirAll(dir+"/"+manifest.WorkName, 0o777), os.WriteFile(dir+"/"+manifest.LockName, nil, 0o666)))
	if _, err := dataset.List(t.Context(), locations(store.Local(), dir), dataset.Options{Formats: formats}); !errors.Is(err, dataset.ErrChanging) {
		t.Errorf("got %v, want ErrChanging", err)
	}
}
