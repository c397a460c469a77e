package inspect

import (
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/cfile"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/trevni"
)

func TestGather(t *testing.T) {
	for _, of := range formats {
		t.Run(of.Name(), func(t *testing.T) {
			first, second := hops(t, of, 300), hops(t, of, 30)
			f := gather(t, of, first, second)
			if f.Files != len(first)+len(second) || f.Rows != 330 || f.Bytes != first.size()+second.size() || len(f.Columns) != 4 {
				t.Errorf("%+v", f)
			}
			want := []RowGroup{{Name: "part-0" + of.Suffix(), Rows: 300, Bytes: first.size()}, {Name: "part-1" + of.Suffix(), Rows: 30, Bytes: second.size()}}
			var stored int64
			for i, g := range f.RowGroups {
				stored += g.Stored
				if g.Stored = 0; g != want[i] {
					t.Errorf("row group %d: %+v", i, g)
				}
			}
			share := 0.0
			for i, values := range []int64{330, 330, 330, 330} {
				c := f.Columns[i]
				if c.Values == nil || *c.Values != values || c.Blocks != 2 || c.Number != i {
					t.Errorf("column %d: %+v", i, c)
				}
				if math.Abs(c.Ratio*float64(c.Stored)-float64(c.Raw)) > 1e-6 {
					t.Errorf("column %d: ratio %v of %d to %d", i, c.Ratio, c.Raw, c.Stored)
				}
				share += c.Share
			}
			if math.Abs(share-1) > 1e-9 || stored != f.Stored || f.Blocks != 8 {
				t.Errorf("shares sum to %v, row groups to %d of %d, %d blocks", share, stored, f.Stored, f.Blocks)
			}
			codec, last := "snappy", "snappy"
			switch of { // that have codecs of columns
			case trevni.Format:
				codec = "null"
			case cfile.Format:
				codec, last = "bitshuffle", "bitshuffle"
			}
			if c := f.Columns[3]; c.Parent != "hops[]" || c.Codec != last || f.Columns[0].Codec != codec || f.Columns[1].TypeName != "null[]" {
				t.Errorf("%+v", f.Columns)
			}
		})
	}
}

// Each file has its own checksums of its header and its blocks; the rest they share.
func TestSharedMetadata(t *testing.T) {
	of := trevni.Format
	key := func(f *Figures) (found bool) {
		for _, m := range f.Metadata {
			found = found || m.Key == trevni.HeaderCRCKey
		}
		return found
	}
	one, two := gather(t, of, hops(t, of, 3)), gather(t, of, hops(t, of, 3), hops(t, of, 4))
	if !key(one) || key(two) || len(one.Metadata) != len(two.Metadata)+2 || two.schema() != hopsSchema {
		t.Errorf("of one file %v, of two %v", one.Metadata, two.Metadata)
	}
}

func TestNotCounted(t *testing.T) {
	for _, of := range formats {
		t.Run(of.Name(), func(t *testing.T) {
			f, err := Gather(t.Context(), listing(t, of, hops(t, of, 30)), Options{})
			if err != nil || f.Columns[0].Values == nil || f.Columns[1].Values != nil || f.Columns[3].Values != nil {
				t.Errorf("%+v", f.Columns)
			}
		})
	}
}

func TestDamage(t *testing.T) {
	for _, of := range formats {
		t.Run(of.Name(), func(t *testing.T) {
			sound := hops(t, of, 30)
			cut := maps.Clone(sound)
			for name, b := range cut {
				cut[name] = b[:len(b)/9]
			}
			cases := []struct {
				name  string
				parts []files
				rows  int64 // of the figures; -1: there are none
			}{
				{"the only file", []files{cut}, -1},
				{"a later file", []files{sound, cut}, 30},
				{"a file in the middle", []files{sound, cut, sound}, 60},
				{"other columns", []files{sound, rowless(t, of, "id", "words")}, 30},
				{"another name", []files{rowless(t, of, "a", "b"), rowless(t, of, "a", "c")}, 0},
				{"a column less", []files{rowless(t, of, "a", "b"), rowless(t, of, "a")}, 0},
				{"a column more", []files{rowless(t, of, "a"), rowless(t, of, "a", "b")}, 0},
			}
			for _, c := range cases {
				t.Run(c.name, func(t *testing.T) {
					f, err := Gather(t.Context(), listing(t, of, c.parts...), Options{Count: true})
					if d := (*damage.Error)(nil); !errors.As(err, &d) || d.File == "" {
						t.Errorf("error %v", err)
					}
					if (f == nil) != (c.rows < 0) || f != nil && f.Rows != c.rows {
						t.Errorf("figures %+v", f)
					}
				})
			}
			l := listing(t, of, sound)
			none := l.Parts[0]
			none.Files = slices.Clone(none.Files)
			for i := range none.Files {
				none.Files[i].Name = strings.Replace(none.Files[i].Name, none.Name, l.Path+"/none", 1)
			}
			l.Parts = append(l.Parts, none)
			if f, err := Gather(t.Context(), l, Options{}); f != nil || !errors.Is(err, store.ErrNotExist) {
				t.Errorf("a missing file: %+v, %v", f, err)
			}
		})
	}
}

// Figures of more columns than there is memory for are refused.
func TestFiguresWithinMemory(t *testing.T) {
	const columns = 100
	names := make([]string, columns)
	for i := range names {
		names[i] = "c" + strconv.Itoa(i)
	}
	l := listing(t, trevni.Format, rowless(t, trevni.Format, names...))
	for _, left := range []int64{-1, 0} {
		memory := budget.New(columns*columnMemory + left).NewHeap()
		f, err := Gather(t.Context(), l, Options{Memory: memory})
		if refused := (*budget.Error)(nil); errors.As(err, &refused) != (left < 0) || (f == nil) != (left < 0) {
			t.Errorf("with %d bytes left: %v, %v", left, f, err)
		}
	}
}
