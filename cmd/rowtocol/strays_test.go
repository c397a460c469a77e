package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// TestStrays finds unlisted files next to parts, and inside parts that are directories.
func TestStrays(t *testing.T) {
	dir, id := t.TempDir(), manifest.NewID()
	suffix := formats[0].Suffix()
	part, stray := manifest.PartName(0, 0, id, suffix), manifest.PartName(1, 0, id, suffix)
	s := &manifest.Success{
		Version: manifest.Version, ID: id, Request: manifest.Request{Options: manifest.Options{Format: formats[0].Name()}},
		Parts: []manifest.Part{{Files: []manifest.File{{Name: manifest.InPart(part, "a"), Bytes: 0}}}},
	}
	doc, err := s.Encode()
	must(t, err)
	find := func(files ...string) (found []string) {
		t.Helper()
		for _, name := range files {
			err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777), os.WriteFile(filepath.Join(dir, name), nil, 0o666))
			must(t, err)
		}
		l, err := dataset.List(t.Context(), []store.Location{{Store: store.Local(), Path: dir}}, dataset.Options{Formats: formats})
		must(t, err)
		errs, err := strays(t.Context(), l)
		must(t, err)
		for _, err := range errs {
			name, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), dir+"/"), ":")
			found = append(found, name)
		}
		return found
	}
	must(t, os.WriteFile(filepath.Join(dir, manifest.SuccessName), doc, 0o666))
	if found := find(part+"/a", part+"/.a.crc", "else/b"); len(found) > 0 {
		t.Errorf("found %q", found)
	}
	if found := find(part+"/b", stray+"/a", "c"); strings.Join(found, " ") != "c "+stray+" "+part+"/b" {
		t.Errorf("found %q", found)
	}
	must(t, os.RemoveAll(filepath.Join(dir, part)))
	if found := find(); strings.Join(found, " ") != "c "+stray {
		t.Errorf("without the part found %q", found)
	}
}
