package inspect

import (
	"errors"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/cfile"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/parquet"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/trevni"
)

func TestGather(t *testing.T) {
	for _, format := range formats {
		t.Run(format.Name(), func(t *testing.T) {
			first, second := hops(t, format, 300), hops(t, format, 30)
			f := gather(t, format, first, second)
			if f.Files != len(first)+len(second) || f.Rows != 330 || f.Bytes != first.size()+second.size() || len(f.Columns) != 4 {
				t.Errorf("%+v", f)
			}
			want := []RowGroup{{Name: "part-0" + format.Suffix(), Rows: 300, Bytes: first.size()}, {Name: "part-1" + format.Suffix(), Rows: 30, Bytes: second.size()}}
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
			for i, c := range f.Columns {
				if want := format == parquet.Format && i == 3; c.Filter > 64 != want {
					t.Errorf("column %d has %d bytes of Bloom filters", i, c.Filter)
				}
			}
			codec, last, storedAs := "snappy", "snappy", "null[]"
			switch format { // formats whose columns have codecs of their own
			case trevni.Format:
				codec = "null"
			case cfile.Format:
				codec, last = "bitshuffle", "bitshuffle"
			case parquet.Format:
				storedAs = "LIST"
			}
			if c := f.Columns[3]; c.Parent != "hops[]" || c.Codec != last || f.Columns[0].Codec != codec || f.Columns[1].StoredAs != storedAs {
				t.Errorf("%+v", f.Columns)
			}
		})
	}
}

// Files share their metadata, except the checksums of their headers and blocks.
func TestSharedMetadata(t *testing.T) {
	format := trevni.Format
	hasChecksum := func(f *Figures) (found bool) {
		for _, m := range f.Metadata {
			found = found || m.Key == trevni.HeaderCRCKey
		}
		return found
	}
	one, two := gather(t, format, hops(t, format, 3)), gather(t, format, hops(t, format, 3), hops(t, format, 4))
	if !hasChecksum(one) || hasChecksum(two) || len(one.Metadata) != len(two.Metadata)+2 || two.schema() != hopsSchema {
		t.Errorf("metadata of one file: %v, of two files: %v", one.Metadata, two.Metadata)
	}
}

func TestNotCounted(t *testing.T) {
	for _, format := range formats {
		t.Run(format.Name(), func(t *testing.T) {
			f, err := Gather(t.Context(), listing(t, format, hops(t, format, 30)), Options{})
			if err != nil || f.Columns[0].Values == nil || f.Columns[1].Values != nil || f.Columns[3].Values != nil {
				t.Errorf("%+v", f.Columns)
			}
		})
	}
}

func TestDamage(t *testing.T) {
	for _, format := range formats {
		t.Run(format.Name(), func(t *testing.T) {
			sound := hops(t, format, 30)
			cut := maps.Clone(sound)
			for name, b := range cut {
				cut[name] = b[:len(b)/9]
			}
			cases := []struct {
				name  string
				parts []files
				rows  int64 // in the figures; -1: no figures
			}{
				{"the only file", []files{cut}, -1},
				{"a later file", []files{sound, cut}, 30},
				{"a file in the middle", []files{sound, cut, sound}, 60},
				{"other columns", []files{sound, rowless(t, format, "id", "words")}, 30},
				{"another name", []files{rowless(t, format, "a", "b"), rowless(t, format, "a", "c")}, 0},
				{"one column less", []files{rowless(t, format, "a", "b"), rowless(t, format, "a")}, 0},
				{"one column more", []files{rowless(t, format, "a"), rowless(t, format, "a", "b")}, 0},
			}
			for _, c := range cases {
				t.Run(c.name, func(t *testing.T) {
					f, err := Gather(t.Context(), listing(t, format, c.parts...), Options{Count: true})
					if d := (*damage.Error)(nil); !errors.As(err, &d) || d.File == "" {
						t.Errorf("error %v", err)
					}
					if (f == nil) != (c.rows < 0) || f != nil && f.Rows != c.rows {
						t.Errorf("figures %+v", f)
					}
				})
			}
			l := listing(t, format, sound)
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

// Gather fails if its memory is too small for the figures of all columns.
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

// The figures, the damage and the progress do not depend on the number of workers.
func TestParallel(t *testing.T) {
	for _, format := range formats {
		t.Run(format.Name(), func(t *testing.T) {
			var parts []files
			for i := range 12 {
				part := hops(t, format, 10+i)
				if i%5 == 3 {
					for name, b := range part {
						part[name] = b[:len(b)/9]
					}
				}
				parts = append(parts, part)
			}
			parts[7] = rowless(t, format, "id", "words")
			l := listing(t, format, parts...)
			gather := func(workers int) (*Figures, string, []int64) {
				var progress []int64
				f, err := Gather(t.Context(), l, Options{Count: true, Workers: workers, Progress: func(rows int64, files int) { progress = append(progress, rows, int64(files)) }})
				if !errors.As(err, new(*damage.Error)) {
					t.Fatal(err)
				}
				return f, err.Error(), progress
			}
			f, text, progress := gather(0)
			for range 20 {
				if g, other, reported := gather(4); !reflect.DeepEqual(f, g) || other != text || !slices.Equal(progress, reported) {
					t.Fatalf("%+v, %s, %d, want %+v, %s, %d", g, other, reported, f, text, progress)
				}
			}
			l.Parts[5].Files = slices.Clone(l.Parts[5].Files)
			for i := range l.Parts[5].Files {
				l.Parts[5].Files[i].Name = strings.Replace(l.Parts[5].Files[i].Name, l.Parts[5].Name, l.Path+"/none", 1)
			}
			if f, err := Gather(t.Context(), l, Options{Workers: 4}); f != nil || !errors.Is(err, store.ErrNotExist) {
				t.Errorf("a missing file: %+v, %v", f, err)
			}
		})
	}
}

// With memory for one part, several workers read all parts.
func TestParallelWithinMemory(t *testing.T) {
	names := make([]string, 50)
	for i := range names {
		names[i] = "c" + strconv.Itoa(i)
	}
	part := rowless(t, parquet.Format, names...)
	l := listing(t, parquet.Format, part, part, part, part)
	at := []store.Location{{Store: store.Local(), Path: l.Path}}
	var small *dataset.Listing
	for size := int64(1000); ; {
		pool := budget.New(size)
		one, err := dataset.List(t.Context(), at, dataset.Options{Formats: formats, Partial: true, Memory: pool})
		testenv.Must(t, err)
		_, err = Gather(t.Context(), one, Options{Count: true})
		if err == nil {
			small = one
			break
		}
		var refused *budget.Error
		if !errors.As(err, &refused) || refused.Need <= size {
			t.Fatal(err)
		}
		size = refused.Need
	}
	for range 10 {
		if f, err := Gather(t.Context(), small, Options{Count: true, Workers: 4}); err != nil || f.Files != 4 {
			t.Fatalf("%+v, %v", f, err)
		}
	}
}
