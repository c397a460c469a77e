package dataset_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/internal/mailgen"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// TestOnly reads chosen rows of parts, with and without a condition and an offset.
func TestOnly(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		dir, _ := mailSet(t, f, 150)
		d := open(t, dir, dataset.Options{Formats: formats})
		all, _, err := scan(t, d, dataset.Query{Limit: -1})
		testenv.Must(t, err)
		if len(d.Parts()) < 3 {
			t.Fatalf("%d parts", len(d.Parts()))
		}
		only, want, first := map[int][]int64{}, [][]byte(nil), int64(0)
		for i, p := range d.Parts() {
			if i != 1 {
				for _, row := range []int64{0, 1, p.Rows / 2, p.Rows - 1} {
					only[i], want = append(only[i], row), append(want, all[first+row])
				}
			}
			first += p.Rows
		}
		for name, test := range map[string]struct {
			q    dataset.Query
			want [][]byte
		}{
			"all":         {dataset.Query{Limit: -1}, want},
			"a condition": {dataset.Query{Limit: -1, Where: "id >= 0"}, want},
			"none match":  {dataset.Query{Limit: -1, Where: "id < 0"}, nil},
			"some":        {dataset.Query{Offset: 5, Limit: 2}, want[5:7]},
		} {
			test.q.Only = only
			got, _, err := scan(t, d, test.q)
			if err != nil || !bytes.Equal(bytes.Join(got, nil), bytes.Join(test.want, nil)) {
				t.Errorf("%s: %d rows, %v, want %d", name, len(got), err, len(test.want))
			}
		}
		if got, _, err := scan(t, d, dataset.Query{Limit: -1, Only: map[int][]int64{}}); err != nil || got != nil {
			t.Errorf("no rows chosen: got %d, %v", len(got), err)
		}
	})
}

// TestOnlyOfALargePart chooses many rows of a part that is read in several ranges.
func TestOnlyOfALargePart(t *testing.T) {
	sizes := make([]int, 6000)
	for i := range sizes {
		sizes[i] = 3000 + i%9
	}
	eachFormat(t, func(t *testing.T, f format.Format) {
		dir, all := textSet(t, f, sizes)
		d := open(t, dir, dataset.Options{Formats: formats})
		var only []int64
		var want [][]byte
		for i := range all {
			if i%3 != 1 && i < 5000 {
				only, want = append(only, int64(i)), append(want, all[i])
			}
		}
		for _, workers := range []int{1, 3} {
			for _, q := range []dataset.Query{{Limit: -1}, {Offset: 700, Limit: 2000}} {
				q.Only, q.Workers = map[int][]int64{0: only}, workers
				want := want[q.Offset:]
				if q.Limit >= 0 {
					want = want[:q.Limit]
				}
				got, s, err := scan(t, d, q)
				if err != nil || !slices.EqualFunc(got, want, bytes.Equal) || s.Skipped != q.Offset {
					t.Errorf("%d workers: %+v: %d rows, %v, want %d", workers, s, len(got), err, len(want))
				}
			}
		}
	})
}

// TestOnlyReadsBlocks reads one row: one block of each column is read.
func TestOnlyReadsBlocks(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		dir := onePart(t, f)
		d := open(t, dir, dataset.Options{Formats: formats})
		for _, columns := range [][]string{{"id"}, {"id", "to"}} {
			row := d.Parts()[0].Rows / 2
			got, s, err := scan(t, d, dataset.Query{Columns: columns, Limit: -1, Only: map[int][]int64{0: {row}}})
			if err != nil || len(got) != 1 {
				t.Fatalf("%d rows, %v", len(got), err)
			}
			all, _, err := scan(t, d, dataset.Query{Columns: columns, Offset: row, Limit: 1})
			if err != nil || !bytes.Equal(got[0], all[0]) {
				t.Errorf("%v: got a different row, %v", columns, err)
			}
			if most := int64(2*len(columns) - 1); s.BlocksRead > most { // an array's lengths may have blocks of their own
				t.Errorf("%v: %d of %d blocks were read, want at most %d", columns, s.BlocksRead, s.Blocks, most)
			}
		}
	})
}

// TestOnlyRefused chooses rows that do not exist or are not in ascending order.
func TestOnlyRefused(t *testing.T) {
	dir, _ := mailSet(t, formats[0], 50)
	d := open(t, dir, dataset.Options{Formats: formats})
	rows := d.Parts()[0].Rows
	for _, only := range []map[int][]int64{{-1: {0}}, {len(d.Parts()): {0}}, {0: {-1}}, {0: {rows}}, {0: {3, 3}}, {0: {3, 2}}} {
		if _, _, err := scan(t, d, dataset.Query{Limit: -1, Only: only}); !errors.Is(err, dataset.ErrQuery) {
			t.Errorf("%v: %v", only, err)
		}
	}
}

// onePart makes an output of one part with many blocks in a column.
func onePart(t *testing.T, f format.Format) (dir string) {
	t.Helper()
	base := t.TempDir()
	writeAvro(t, filepath.Join(base, "mail.avro"), mailgen.Schema, mails(1, 1000))
	dir = filepath.Join(base, "mail.columns")
	convert(t, f, filepath.Join(base, "mail.avro"), dir, settings{blockSize: 4 << 10, rowGroup: 8 << 20})
	return dir
}
