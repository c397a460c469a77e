package lookup_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/rowtocol/rowtocol/avro/rowkey"
	"github.com/rowtocol/rowtocol/cfile"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/dataset/lookup"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/internal/mailgen"
	"github.com/rowtocol/rowtocol/internal/soak"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/plan"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/parquet"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/trevni"
)

var formats = format.Registry{trevni.Format, cfile.Format, parquet.Format}

// newDataset makes a dataset of messages with indexes.
func newDataset(t testing.TB, rows int64, o manifest.Options) *dataset.Dataset {
	t.Helper()
	base := t.TempDir()
	f, err := os.Create(filepath.Join(base, "mail.avro"))
	testenv.Must(t, err)
	if err := errors.Join(mailgen.Write(f, mailgen.Options{Rows: rows, Seed: 1}), f.Close()); err != nil {
		t.Fatal(err)
	}
	o.MaxLostRows = -1
	if o.Format == "" {
		o.Format = trevni.Format.Name()
	}
	dest := filepath.Join(base, "out")
	_, err = job.Convert(t.Context(), job.Request{
		Asked:   plan.Asked{Inputs: []string{f.Name()}, Dest: dest, Output: o},
		Options: job.Options{Environment: task.Environment{Workers: 1, TempDir: base, Formats: formats}},
	})
	testenv.Must(t, err)
	d, err := dataset.Open(t.Context(), []store.Location{{Store: store.Local(), Path: dest}}, dataset.Options{Formats: formats})
	testenv.Must(t, err)
	return d
}

// openIndex opens an index; fields may be "" if there is one.
func openIndex(t testing.TB, d *dataset.Dataset, fields string) *lookup.Table {
	t.Helper()
	x, err := lookup.Open(d, fields, budget.New(64<<20))
	testenv.Must(t, err)
	t.Cleanup(x.Close)
	return x
}

// rowsOf returns the rows of a query and the statistics of its reads.
func rowsOf(t testing.TB, d *dataset.Dataset, q dataset.Query) (rows [][]byte, read dataset.Stats) {
	t.Helper()
	q.Limit = -1
	s, err := d.Scan(t.Context(), q)
	testenv.Must(t, err)
	defer s.Close()
	for {
		row, err := s.Next(nil)
		if errors.Is(err, io.EOF) {
			return rows, s.Stats()
		}
		testenv.Must(t, err)
		rows = append(rows, row)
	}
}

// exactly returns a RangeFunc for one key.
func exactly(text string) func(*rowkey.Spec) (rowkey.Range, error) {
	return func(s *rowkey.Spec) (rowkey.Range, error) { return s.Exactly(text) }
}

// find returns the rows that an index finds, and the statistics of reading their columns.
func find(t testing.TB, d *dataset.Dataset, x *lookup.Table, ask func(*rowkey.Spec) (rowkey.Range, error), columns ...string) ([][]byte, dataset.Stats) {
	t.Helper()
	found, err := x.Find(t.Context(), ask)
	testenv.Must(t, err)
	defer found.Release()
	rows, read := rowsOf(t, d, dataset.Query{Only: found.Only, Columns: columns})
	if int64(len(rows)) != found.Count {
		t.Fatalf("got %d rows, found %d", len(rows), found.Count)
	}
	return rows, read
}

// TestFind finds by random keys, present or not, the same rows as a scan of all rows.
func TestFind(t *testing.T) {
	rows, group := int64(1000), int64(192<<10)
	if soak.Full() {
		rows, group = 200_000, 16<<20
	}
	d := newDataset(t, rows, manifest.Options{RowGroupSize: group, Index: []string{"id"}})
	if len(d.Parts()) < 3 {
		t.Fatalf("%d parts", len(d.Parts()))
	}
	whole, _ := rowsOf(t, d, dataset.Query{})
	ids, _ := rowsOf(t, d, dataset.Query{Columns: []string{"id"}})
	wanted := map[int64][][]byte{}
	for i, id := range ids {
		n, _ := binary.Varint(id)
		wanted[n] = append(wanted[n], whole[i])
	}
	present := slices.Sorted(maps.Keys(wanted))
	x, random := openIndex(t, d, ""), rand.New(rand.NewPCG(1, 2))
	for i := range soak.Rounds(100, 1000) {
		n := present[random.IntN(len(present))]
		if i%2 == 1 {
			n += random.Int64N(5) - 2
		}
		got, _ := find(t, d, x, exactly(strconv.FormatInt(n, 10)))
		if !slices.EqualFunc(got, wanted[n], bytes.Equal) {
			t.Fatalf("id %d: %d rows, want %d", n, len(got), len(wanted[n]))
		}
	}
}

// TestFindOther finds the same rows as a condition: by indexes on several fields and on text, and
// in parts of several files.
func TestFindOther(t *testing.T) {
	for _, name := range formats.Names() {
		d := newDataset(t, 300, manifest.Options{Format: name, RowGroupSize: 256 << 10, Index: []string{"folder,id", "from", "score"}})
		from, _ := rowsOf(t, d, dataset.Query{Columns: []string{"from"}})
		sender := string(from[7][1:])
		if len(sender) > 63 {
			t.Fatal("the sender is too long: its length takes more than one byte")
		}
		for _, test := range []struct {
			index, where string
			ask          func(*rowkey.Spec) (rowkey.Range, error)
		}{
			{"folder,id", "folder == 'SPAM'", exactly("SPAM")},
			{"from", "from == '" + sender + "'", exactly(sender)},
			{"from", "from >= 'a' && from < 'd'", func(s *rowkey.Spec) (rowkey.Range, error) {
				r, err := s.Between("a", "")
				r.To = []byte("d")
				return r, err
			}},
			{"score", "score >= 0.25 && score <= 0.5", func(s *rowkey.Spec) (rowkey.Range, error) { return s.Between("0.25", "0.5") }},
		} {
			want, _ := rowsOf(t, d, dataset.Query{Where: test.where})
			if got, _ := find(t, d, openIndex(t, d, test.index), test.ask); !slices.EqualFunc(got, want, bytes.Equal) {
				t.Errorf("%s: %s: %d rows, want %d", name, test.where, len(got), len(want))
			}
		}
	}
}

// TestFindReadsLittle reads two columns of one row: one or two blocks of each column, and of
// the index one or two blocks, the Bloom filter and the block index.
func TestFindReadsLittle(t *testing.T) {
	rows, most := int64(3000), int64(256<<10)
	o := manifest.Options{BlockSize: 4 << 10, Index: []string{"id"}}
	if soak.Full() {
		rows, most, o.BlockSize = 450_000, 1<<20, 0
	}
	d := newDataset(t, rows, o)
	ids, all := rowsOf(t, d, dataset.Query{Columns: []string{"id"}})
	if soak.Full() && all.FileBytes < 100<<20 {
		t.Fatalf("the dataset has only %d bytes", all.FileBytes)
	}
	n, _ := binary.Varint(ids[len(ids)/2])
	x := openIndex(t, d, "")
	got, s := find(t, d, x, exactly(strconv.FormatInt(n, 10)), "from", "subject")
	if len(got) != 1 || s.BlocksRead > 5 || s.Blocks <= s.BlocksRead {
		t.Errorf("%d rows, %d of %d blocks read", len(got), s.BlocksRead, s.Blocks)
	}
	if read := s.BytesRead + x.BytesRead(); read > most {
		t.Errorf("%d bytes of columns and %d of the index read, want at most %d", s.BytesRead, x.BytesRead(), most)
	} else {
		t.Logf("%d bytes of columns, of %d, and %d of the index", s.BytesRead, s.FileBytes, x.BytesRead())
	}
}

// TestFindAll finds the rows of many requests as Find does for one after another, and reads about
// the blocks of the index once.
func TestFindAll(t *testing.T) {
	d := newDataset(t, 3000, manifest.Options{RowGroupSize: 256 << 10, Index: []string{"id", "folder"}})
	if len(d.Parts()) < 3 {
		t.Fatalf("%d parts", len(d.Parts()))
	}
	ids, _ := rowsOf(t, d, dataset.Query{Columns: []string{"id"}})
	random := rand.New(rand.NewPCG(1, 2))
	var all []lookup.RangeFunc
	for _, i := range random.Perm(len(ids)) {
		n, _ := binary.Varint(ids[i])
		all = append(all, exactly(strconv.FormatInt(n, 10)))
	}
	folders := []lookup.RangeFunc{exactly("SPAM"), exactly("ARCHIVE"), exactly("INBOX"), func(s *rowkey.Spec) (rowkey.Range, error) { return s.Between("", "") }, exactly("SPAM")}
	for name, test := range map[string]struct {
		index string
		asks  []lookup.RangeFunc
		limit int64
	}{
		"many ids":         {"id", all[:700], 0},
		"some ids":         {"id", append(all[:50:50], append(all[20:30:30], exactly("-1"), exactly("-2"))...), 0},
		"some, limited":    {"id", all[:300], 200},
		"folders":          {"folder", folders, 0},
		"folders, limited": {"folder", folders[2:], 5},
		"all rows, part":   {"folder", folders[3:], 1400},
	} {
		one, many := openIndex(t, d, test.index), openIndex(t, d, test.index)
		var want [][]byte
		left := test.limit
		for _, ask := range test.asks {
			one.Limit(left)
			rows, _ := find(t, d, one, ask)
			if want = append(want, rows...); test.limit > 0 {
				if left -= int64(len(rows)); left == 0 {
					break
				}
			}
		}
		many.Limit(test.limit)
		found, err := many.FindAll(t.Context(), test.asks)
		testenv.Must(t, err)
		read, _ := rowsOf(t, d, dataset.Query{Only: found.Only})
		got := make([][]byte, len(found.Order))
		for i, n := range found.Order {
			got[i] = read[n]
		}
		if int64(len(got)) != found.Count || !slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("%s: %d rows, counted %d, want %d", name, len(got), found.Count, len(want))
		}
		found.Release()
		var size int64
		for _, f := range d.Outputs()[0].Index {
			size += f.Bytes
		}
		if many.BytesRead() > 2*size {
			t.Errorf("%s: %d bytes read of indexes of %d bytes", name, many.BytesRead(), size)
		}
	}
}

// TestFindAllRefused checks that an error of one request ends the search of all.
func TestFindAllRefused(t *testing.T) {
	d := newDataset(t, 50, manifest.Options{Index: []string{"id"}})
	memory := budget.New(1 << 20)
	x, err := lookup.Open(d, "", memory)
	testenv.Must(t, err)
	wrong := errors.New("a wrong key")
	found, err := x.FindAll(t.Context(), []lookup.RangeFunc{exactly("1"), func(*rowkey.Spec) (rowkey.Range, error) { return rowkey.Range{}, wrong }})
	if found != nil || !errors.Is(err, wrong) {
		t.Errorf("got %v, %v", found, err)
	}
	x.Close()
	if memory.Available() != 1<<20 {
		t.Errorf("%d bytes are free at the end", memory.Available())
	}
}

// TestOpenRefused opens indexes that do not exist, or none of several.
func TestOpenRefused(t *testing.T) {
	none := newDataset(t, 10, manifest.Options{})
	two := newDataset(t, 10, manifest.Options{Index: []string{"id", "from"}})
	for _, test := range []struct {
		d      *dataset.Dataset
		fields string
	}{{none, ""}, {none, "id"}, {two, ""}, {two, "date"}} {
		if _, err := lookup.Open(test.d, test.fields, budget.New(1<<20)); !errors.Is(err, lookup.ErrNoIndex) {
			t.Errorf("%q: %v", test.fields, err)
		}
	}
}

// TestFindBounded checks that Release releases the memory of the found rows.
func TestFindBounded(t *testing.T) {
	d := newDataset(t, 400, manifest.Options{Index: []string{"folder"}})
	x, err := lookup.Open(d, "", budget.New(1<<20))
	testenv.Must(t, err)
	defer x.Close()
	all := func(s *rowkey.Spec) (rowkey.Range, error) { return s.Between("", "") }
	for range 300 { // without Release, 400 rows of 24 bytes each would exceed the memory
		found, err := x.Find(t.Context(), all)
		if err != nil || found.Count != 400 {
			t.Fatal(err)
		}
		found.Release()
		if found, err = x.FindAll(t.Context(), []lookup.RangeFunc{all, all}); err != nil || found.Count != 800 {
			t.Fatal(err)
		}
		found.Release()
	}
}
