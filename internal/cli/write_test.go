package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// TestFailedReplacement checks that the replaced file is restored if the second rename fails.
func TestFailedReplacement(t *testing.T) {
	dir := t.TempDir()
	at := store.Location{Store: storetest.NewFaulty(store.Local(), storetest.Fault{Op: storetest.Rename, N: 2, Err: store.ErrUnavailable}), Path: dir + "/rows.json"}
	testenv.Must(t, os.WriteFile(at.Path, []byte("old"), 0o600))
	err := new(App).WriteFile(t.Context(), at, true, func(w io.Writer) error {
		_, err := io.WriteString(w, "new")
		return err
	})
	if !errors.Is(err, store.ErrUnavailable) {
		t.Error(err)
	}
	if data, err := os.ReadFile(at.Path); err != nil || string(data) != "old" {
		t.Errorf("the file holds %q, %v", data, err)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
		t.Errorf("left %v, %v", names, err)
	}
}

// TestUnfinished checks that an early end removes files only under temporary names.
func TestUnfinished(t *testing.T) {
	dir := t.TempDir()
	at := store.Location{Store: store.Local(), Path: dir + "/rows"}
	a := new(App)
	if err := a.WriteFile(t.Context(), at, false, func(w io.Writer) error {
		a.unfinished.clear()
		_, err := fmt.Fprint(w, "rows")
		return err
	}); err == nil {
		t.Error("the file stayed")
	}
	if err := a.WriteFile(t.Context(), at, false, func(w io.Writer) error {
		_, err := fmt.Fprint(w, "rows")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	a.unfinished.clear()
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
	if text, err := os.ReadFile(at.Path); err != nil || string(text) != "rows" {
		t.Errorf("%q, %v", text, err)
	}
}
