package main

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rowtocol/rowtocol/store"
)

// TestReplacesItsOwnOutput checks that a file of a form that cat writes is replaced, but not a
// column file that commands read, also if both have the same format.
func TestReplacesItsOwnOutput(t *testing.T) {
	dir := t.TempDir()
	mail, err := filepath.Abs("../../testdata/mail")
	must(t, err)
	for name, args := range map[string][]string{"columns": nil, "parquet": {"--format", "parquet"}} {
		rowtocol(t, dir, nil, append([]string{"convert", mail, name}, args...)...).want(t, 0)
		parts, err := filepath.Glob(filepath.Join(dir, name, "part-*"))
		if err != nil || len(parts) == 0 {
			t.Fatal(parts, err)
		}
		if err := checkFree(t.Context(), store.Location{Store: store.Local(), Path: parts[0]}, true); !errors.Is(err, store.ErrExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	rowtocol(t, dir, nil, "cat", "--to", "parquet", "--output", "rows.parquet", "columns").want(t, 0)
	if err := checkFree(t.Context(), store.Location{Store: store.Local(), Path: dir + "/rows.parquet"}, true); err != nil {
		t.Error(err)
	}
}

func TestFitColumns(t *testing.T) {
	for _, tt := range []struct {
		widths []int
		width  int
		want   []int
	}{
		{[]int{2, 24, 6}, 80, []int{2, 24, 6}},
		{[]int{2, 24, 6}, 33, []int{2, 24}}, // half a time would be misread
		{[]int{2, 24, 60, 6}, 60, []int{2, 24, 22, 6}},
		{[]int{2, 60, 50}, 56, []int{2, 25, 25}},
		{[]int{60, 24}, 41, []int{41}},
		{[]int{24}, 10, []int{10}},
	} {
		if got := fitColumns(tt.widths, tt.width); !slices.Equal(got, tt.want) {
			t.Errorf("%v in %d: %v, want %v", tt.widths, tt.width, got, tt.want)
		}
	}
}
