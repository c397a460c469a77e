package manifest

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/store"
)

func TestWalk(t *testing.T) {
	st := store.Local()
	top := t.TempDir()
	for _, dir := range []string{"a=1/b=x%20y", "a=1/%61=2", "a=" + noValue, "_hidden=1", "=1", "plain"} {
		testenv.Must(t, os.MkdirAll(filepath.Join(top, dir), 0o777))
	}
	var entered, others []string
	w := Walker{Store: st,
		Enter: func(b Branch, infos []store.Info, err error) ([]store.Info, error) {
			name := b.Below
			for _, k := range b.Keys {
				name += ";" + k.Name + ":" + k.Value
				if k.Null {
					name += "null"
				}
			}
			entered = append(entered, name)
			return infos, err
		},
		Other: func(b Branch, info store.Info, twice bool) error {
			name := b.Below + " " + info.Name
			if twice {
				name += " twice"
			}
			others = append(others, name)
			return nil
		}}
	testenv.Must(t, w.Walk(t.Context(), Branch{Path: top}))
	slices.Sort(entered)
	slices.Sort(others)
	if want := []string{"", "a=1/b=x%20y;a:1;b:x y", "a=1;a:1", "a=" + noValue + ";a:null"}; !slices.Equal(entered, want) {
		t.Errorf("entered %q", entered)
	}
	if want := []string{" =1", " plain", "a=1 %61=2 twice"}; !slices.Equal(others, want) {
		t.Errorf("others %q", others)
	}
	if err := w.Walk(t.Context(), Branch{Path: top + "/none"}); !errors.Is(err, store.ErrNotExist) {
		t.Error(err)
	}
}
