package input

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/failure"
	"github.com/rowtocol/rowtocol/manifest"
	"github.com/rowtocol/rowtocol/ocf"
	"github.com/rowtocol/rowtocol/store"
)

// write writes an Avro file of so many blocks of one string.
func write(t *testing.T, file, value string, blocks int) {
	t.Helper()
	var out strings.Builder
	w, err := ocf.NewWriter(&out, `"string"`, "null", [16]byte{1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	for range blocks {
		if err := w.AppendBlock(1, append([]byte{byte(2 * len(value))}, value...)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(out.String()), 0o666); err != nil {
		t.Fatal(err)
	}
}

func describe(t *testing.T, file string) manifest.Input {
	t.Helper()
	in, _, err := Describe(t.Context(), nil, file)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// on resolves every location to one store.
func on(st store.Store) Resolve {
	return func(location string) (store.Location, error) {
		return store.Location{Store: st, Path: location}, nil
	}
}

func wantKind(t *testing.T, err, kind error, text string) {
	t.Helper()
	if err == nil || failure.KindOf(err) != kind || !strings.Contains(err.Error(), text) {
		t.Errorf("got error %v of kind %v, want kind %v and %q", err, failure.KindOf(err), kind, text)
	}
}
