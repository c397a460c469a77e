package stats

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// collect returns the figures of vectors of a column.
func collect(t *testing.T, c column.Column, vectors ...*column.Vector) Column {
	t.Helper()
	sketches := newSketches(1, budget.New(1<<20).NewHeap())
	all, err := newFigures([]column.Column{c}, sketches)
	testenv.Must(t, err)
	for _, v := range vectors {
		one, err := newFigures([]column.Column{c}, sketches)
		testenv.Must(t, err)
		testenv.Must(t, one.add(func(int) *column.Vector { return v }))
		all.merge(one)
	}
	r := all.result()[0]
	if _, err := json.Marshal(r); err != nil {
		t.Errorf("%+v: %v", r, err)
	}
	return r
}

func TestDistinct(t *testing.T) {
	v := &column.Vector{}
	for i := range int64(100_000) {
		v.Longs = append(v.Longs, i*i)
		switch n := i + 1; n {
		case 1, 10, 1000, 3000, 20_000, 100_000:
			v.Values = len(v.Longs)
			got := *collect(t, column.Column{Name: "n", Type: column.Long, Parent: -1}, v, v).Distinct
			off := n / 50
			if n <= 3000 {
				off = n / 1000
			}
			if once := *collect(t, column.Column{Name: "n", Type: column.Long, Parent: -1}, v).Distinct; once > n {
				t.Errorf("got %d distinct values of %d", once, n)
			}
			if got < n-off || got > n+off {
				t.Errorf("got %d distinct values, want about %d", got, n)
			}
		}
	}
}

// Types are those of the schema.
func TestTypes(t *testing.T) {
	for want, c := range map[string]column.Column{
		"long":           {Type: column.Long},
		"date":           {Type: column.Int, Logical: column.LogicalDate},
		"decimal(5,2)[]": {Type: column.Bytes, Logical: column.LogicalDecimal, Precision: 5, Scale: 2, Array: true},
		"enum[]":         {Type: column.Int, Symbols: []string{"a"}, Array: true},
	} {
		if r := collect(t, c); r.Type != want {
			t.Errorf("%s, want %s", r.Type, want)
		}
	}
}

// Distinct counts the symbols of an enum that occur.
func TestSymbols(t *testing.T) {
	enum := column.Column{Name: "e", Type: column.Int, Symbols: []string{"b", "a", "c"}, Parent: -1}
	r := collect(t, enum, &column.Vector{Ints: []int32{0, 1, 0}, Values: 3})
	if r.Min != "a" || r.Max != "b" || *r.Distinct != 2 || r.Values != 3 {
		t.Errorf("%+v", r)
	}
}

func TestLongTexts(t *testing.T) {
	text := []byte(strings.Repeat("é", 50) + strings.Repeat("x", 1000))
	r := collect(t, column.Column{Name: "s", Type: column.String, Parent: -1}, &column.Vector{Offsets: []int32{0, 1, int32(len(text) + 2)}, Data: slices.Concat([]byte("ab"), text), Values: 2})
	if !r.Cut || r.Min != "a" || r.Max != "b"+strings.Repeat("é", 31) || r.Length.Max != int64(len(text))+1 {
		t.Errorf("%+v", r)
	}
}

// Only the value that is too long is cut.
func TestOneLongText(t *testing.T) {
	for _, c := range []struct {
		kind     column.Type
		min, max string // of the column
	}{
		{column.Bytes, "YQ==", strings.Repeat("enp6", 21)},
		{column.String, "a", strings.Repeat("z", 64)},
	} {
		data := []byte("a" + strings.Repeat("z", 100))
		r := collect(t, column.Column{Name: "c", Type: c.kind, Parent: -1}, &column.Vector{Offsets: []int32{0, 1, int32(len(data))}, Data: data, Values: 2})
		if !r.Cut || r.Min != c.min || r.Max != c.max {
			t.Errorf("%v: %+v", c.kind, r)
		}
	}
	whole := strings.Repeat("z", 63) + "\xff"
	r := collect(t, column.Column{Name: "c", Type: column.String, Parent: -1}, &column.Vector{Offsets: []int32{0, 64}, Data: []byte(whole), Values: 1})
	if r.Cut || r.Min != strings.Repeat("z", 63)+"\uFFFD" {
		t.Errorf("a whole text of 64 bytes: %+v", r)
	}
}

// New fails if the memory is too small for the columns.
func TestMemory(t *testing.T) {
	columns := make([]column.Column, 1000)
	if _, err := newFigures(columns, newSketches(len(columns), budget.New(1<<20).NewHeap())); err == nil || !strings.Contains(err.Error(), "1000 columns") {
		t.Error(err)
	}
}
