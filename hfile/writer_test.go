package hfile_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/hfile"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// cell is a cell to write.
type cell struct {
	key   hfile.Key
	value []byte
}

// put returns a cell with only a row, as in Hudi's files.
func put(row, value string) cell {
	return cell{hfile.AppendKey(nil, []byte(row), nil, nil, hfile.LatestTimestamp, hfile.Put), []byte(value)}
}

// numbered returns n cells with even numbers.
func numbered(n int) []cell {
	cells := make([]cell, n)
	for i := range cells {
		cells[i] = put(fmt.Sprintf("key-%07d", 2*i), fmt.Sprintf("value %d %s", i, strings.Repeat("x", i%40)))
	}
	return cells
}

// write returns a file of cells, and checks the bound of its size before every cell.
func write(t testing.TB, o hfile.WriterOptions, cells []cell) []byte {
	t.Helper()
	var file bytes.Buffer
	w, err := hfile.NewWriter(&file, o)
	testenv.Must(t, err)
	bound := int64(-1)
	for _, c := range cells {
		bound = w.Bound(len(c.key), len(c.value))
		testenv.Must(t, w.Append(c.key, c.value))
	}
	testenv.Must(t, w.Close())
	if bound >= 0 && int64(file.Len()) > bound {
		t.Errorf("the file has %d bytes, the bound was %d", file.Len(), bound)
	}
	return file.Bytes()
}

func open(t testing.TB, file []byte) *hfile.Reader {
	t.Helper()
	r, err := hfile.Open(bytes.NewReader(file), int64(len(file)), hfile.OpenOptions{Name: "test.hfile"})
	testenv.Must(t, err)
	t.Cleanup(r.Close)
	return r
}

// scan returns all cells of a file.
func scan(t testing.TB, r *hfile.Reader) (cells []cell) {
	t.Helper()
	s := r.Scan()
	defer s.Close()
	for s.Next() {
		cells = append(cells, cell{bytes.Clone(s.Key()), bytes.Clone(s.Value())})
	}
	testenv.Must(t, s.Err())
	return cells
}

func checkCells(t testing.TB, got, want []cell) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d cells, want %d", len(got), len(want))
	}
	for i := range want {
		if !bytes.Equal(got[i].key, want[i].key) || !bytes.Equal(got[i].value, want[i].value) {
			t.Fatalf("cell %d is %s %q, want %s %q", i, got[i].key, got[i].value, want[i].key, want[i].value)
		}
	}
}

func TestWritten(t *testing.T) {
	withColumns := func() (cells []cell) {
		for row := range 300 {
			for q := range 3 {
				for ts := range 3 {
					key := hfile.AppendKey(nil, fmt.Appendf(nil, "row%04d", row), []byte("f"), fmt.Appendf(nil, "q%d", q), int64(10-ts), hfile.Put)
					cells = append(cells, cell{key, fmt.Appendf(nil, "%d %d", q, ts)})
				}
			}
		}
		return cells
	}()
	duplicates := slices.Repeat([]cell{put("a", "1"), put("b", "2")}, 1)
	for range 500 {
		duplicates = append(duplicates, put("c", "same"))
	}
	for name, c := range map[string]struct {
		o      hfile.WriterOptions
		cells  []cell
		levels int
	}{
		"no cells":           {levels: 1},
		"no cells, filter":   {o: hfile.WriterOptions{RowBloom: true, Codec: hfile.GZ}, levels: 1},
		"one cell":           {cells: numbered(1), levels: 1},
		"one level":          {cells: numbered(5000), levels: 1},
		"gzip":               {o: hfile.WriterOptions{Codec: hfile.GZ, RowBloom: true}, cells: numbered(5000), levels: 1},
		"two levels":         {o: hfile.WriterOptions{BlockSize: 256, IndexBlockSize: 4096}, cells: numbered(2000), levels: 2},
		"many levels":        {o: hfile.WriterOptions{BlockSize: 100, IndexBlockSize: 150, RowBloom: true}, cells: numbered(3000), levels: 6},
		"many levels, gzip":  {o: hfile.WriterOptions{BlockSize: 100, IndexBlockSize: 300, Codec: hfile.GZ}, cells: numbered(2000), levels: 4},
		"columns":            {o: hfile.WriterOptions{BlockSize: 1000, RowBloom: true}, cells: withColumns, levels: 1},
		"equal keys":         {o: hfile.WriterOptions{BlockSize: 100}, cells: duplicates, levels: 1},
		"empty values":       {cells: []cell{put("", ""), put("a", ""), put("b", "")}, levels: 1},
		"meta blocks":        {o: hfile.WriterOptions{Meta: []hfile.Pair{{Key: "z", Value: []byte("last")}, {Key: "a"}}}, cells: numbered(10), levels: 1},
		"longest row":        {o: hfile.WriterOptions{RowBloom: true}, cells: []cell{put(strings.Repeat("r", hfile.MaxRow), "v")}, levels: 1},
		"a value over block": {cells: []cell{put("a", strings.Repeat("v", 300<<10)), put("b", "1")}, levels: 1},
	} {
		t.Run(name, func(t *testing.T) {
			file := write(t, c.o, c.cells)
			r := open(t, file)
			if r.Trailer().Levels != c.levels || r.Entries() != int64(len(c.cells)) {
				t.Errorf("%d levels, %d cells; want %d, %d", r.Trailer().Levels, r.Entries(), c.levels, len(c.cells))
			}
			checkCells(t, scan(t, r), c.cells)
			if err := r.Verify(context.Background()); err != nil {
				t.Error(err)
			}
			if r.Unverified() {
				t.Error("blocks have no checksums")
			}
			checkSeeks(t, r, c.cells)
			for _, m := range c.o.Meta {
				if got, err := r.Meta(m.Key); err != nil || got == nil || !bytes.Equal(got, m.Value) {
					t.Errorf("meta block %s is %q, %v", m.Key, got, err)
				}
			}
			if again := write(t, c.o, c.cells); !bytes.Equal(again, file) {
				t.Error("the same cells gave a different file")
			}
		})
	}
}

// checkSeeks seeks to cells in order and at random, to rows between them, before the first and
// after the last, and checks the Bloom filter.
func checkSeeks(t *testing.T, r *hfile.Reader, cells []cell) {
	t.Helper()
	s := r.Scan()
	defer s.Close()
	var targets []hfile.Key
	step := max(len(cells)/200, 1)
	for i := 0; i < len(cells); i += step {
		row := cells[i].key.Row()
		targets = append(targets, cells[i].key, hfile.AppendRowKey(nil, row))
		if len(row) < hfile.MaxRow {
			targets = append(targets, hfile.AppendRowKey(nil, append(bytes.Clone(row), 0)))
		}
		if has, err := s.MayContainRow(row); !has || err != nil {
			t.Fatalf("the filter does not have %q: %v", row, err)
		}
	}
	targets = append(targets, hfile.AppendRowKey(nil, nil), hfile.AppendRowKey(nil, []byte{255, 255}))
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 2 {
		for _, target := range targets {
			i, _ := slices.BinarySearchFunc(cells, target, func(c cell, key hfile.Key) int { return c.key.Compare(key) })
			found := s.Seek(target)
			if s.Err() != nil || found != (i < len(cells)) {
				t.Fatalf("round %d: seek to %s: %v, %v; want cell %d of %d", round, target, found, s.Err(), i, len(cells))
			}
			if found && !bytes.Equal(s.Key(), cells[i].key) {
				t.Fatalf("round %d: seek to %s found %s, want %s", round, target, s.Key(), cells[i].key)
			}
			if found && i+1 < len(cells) && (!s.Next() || !bytes.Equal(s.Key(), cells[i+1].key)) {
				t.Fatalf("round %d: after %s comes %s, want %s", round, cells[i].key, s.Key(), cells[i+1].key)
			}
		}
		random.Shuffle(len(targets), func(i, j int) { targets[i], targets[j] = targets[j], targets[i] })
	}
}

func TestBloomFilterExcludesMostAbsentRows(t *testing.T) {
	for _, n := range []int{1, 100, 20_000, 120_000} {
		r := open(t, write(t, hfile.WriterOptions{RowBloom: true}, numbered(n)))
		s := r.Scan()
		absent, found := 5000, 0
		for i := range absent {
			has, err := s.MayContainRow(fmt.Appendf(nil, "key-%07d", 2*i+1))
			testenv.Must(t, err)
			if has {
				found++
			}
		}
		s.Close()
		if found > absent/50 {
			t.Errorf("filter of %d rows: found %d of %d absent rows", n, found, absent)
		}
	}
}

func TestRefusedCells(t *testing.T) {
	row := func(s string) hfile.Key { return put(s, "").key }
	for name, c := range map[string]struct {
		keys  []hfile.Key
		order bool
	}{
		"rows":       {[]hfile.Key{row("b"), row("a")}, true},
		"timestamps": {[]hfile.Key{hfile.AppendKey(nil, []byte("a"), nil, nil, 1, hfile.Put), hfile.AppendKey(nil, []byte("a"), nil, nil, 2, hfile.Put)}, true},
	} {
		w, err := hfile.NewWriter(new(bytes.Buffer), hfile.WriterOptions{})
		testenv.Must(t, err)
		for _, k := range c.keys {
			err = w.Append(k, nil)
		}
		if errors.Is(err, hfile.ErrOrder) != c.order {
			t.Errorf("%s: %v", name, err)
		}
		if w.Close() == nil {
			t.Errorf("%s: the file was completed", name)
		}
	}
	w, err := hfile.NewWriter(new(bytes.Buffer), hfile.WriterOptions{})
	testenv.Must(t, err)
	large := make([]byte, hfile.MaxDataBlock/2)
	err = w.Append(row("a"), large)
	if err == nil {
		err = w.Append(row("a"), large)
	}
	if err == nil {
		t.Error("equal keys that do not fit a block were accepted")
	}
	for name, o := range map[string]hfile.WriterOptions{
		"codec": {Codec: hfile.Snappy}, "block": {BlockSize: -1}, "index block": {IndexBlockSize: hfile.MaxDataBlock + 1},
	} {
		if _, err := hfile.NewWriter(new(bytes.Buffer), o); err == nil {
			t.Errorf("an invalid %s was accepted", name)
		}
	}
}

// TestRandomCells checks that cells with random keys are read as they were written.
func TestRandomCells(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	part := func(limit int) []byte {
		b := make([]byte, random.IntN(limit))
		for i := range b {
			b[i] = byte(random.IntN(3)) * 127
		}
		return b
	}
	for range 10 {
		cells := make([]cell, random.IntN(400))
		for i := range cells {
			key := hfile.AppendKey(nil, part(5), part(3), part(3), int64(random.IntN(3)-1), hfile.KeyType(random.IntN(3)*4))
			cells[i] = cell{key, part(50)}
		}
		slices.SortStableFunc(cells, func(a, b cell) int { return a.key.Compare(b.key) })
		o := hfile.WriterOptions{BlockSize: 1 + random.IntN(500), IndexBlockSize: 1 + random.IntN(300), RowBloom: random.IntN(2) == 0}
		if random.IntN(2) == 0 {
			o.Codec = hfile.GZ
		}
		r := open(t, write(t, o, cells))
		checkCells(t, scan(t, r), cells)
		if err := r.Verify(context.Background()); err != nil {
			t.Error(err)
		}
		checkSeeks(t, r, cells)
	}
}

// fullDisk fails every write.
type fullDisk struct{}

var errFull = errors.New("disk full")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

// Every call returns the first error.
func TestCloseOfAFailedFile(t *testing.T) {
	w, err := hfile.NewWriter(fullDisk{}, hfile.WriterOptions{})
	testenv.Must(t, err)
	for range 2 {
		if err := w.Close(); !errors.Is(err, errFull) {
			t.Errorf("Close: %v", err)
		}
	}
}
