package index

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/avro/rowkey"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/hfile"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/mapper"
	"github.com/rowtocol/rowtocol/store"
)

// randomRows returns rows with many equal keys, and some null keys.
func randomRows(random *rand.Rand, n int) []row {
	rows := make([]row, n)
	for i := range rows {
		rows[i] = row{random.Int64N(50) - 5, strings.Repeat(string(rune('a'+random.IntN(3))), random.IntN(4))}
	}
	return rows
}

// littleMemory is memory for a few keys.
const littleMemory = 2*spillBuffer + 1000

func TestIndexHasAllRows(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	tasks := [][][]row{
		{randomRows(random, 300), randomRows(random, 1), randomRows(random, 200)},
		{nil},
		{randomRows(random, 500)},
	}
	for name, c := range map[string]struct {
		memory int64 // memory of a sorter
		merge  int64 // memory of the merge
		size   int64 // ceiling of a file
		files  int   // least number of files
	}{
		"in memory":   {1 << 20, 1 << 20, 1 << 20, 1},
		"many runs":   {littleMemory, littleMemory, 1 << 20, 1},
		"small files": {1 << 20, 1 << 20, 9_000, 4},
		"no room":     {littleMemory, littleMemory, 1, 20},
	} {
		t.Run(name, func(t *testing.T) {
			s := mustSink(t, newPlan("id", "name"), 1<<30)
			s.memory, s.merge, s.size = c.memory, c.merge, c.size
			var o output
			for n, groups := range tasks {
				o.run(t, s, n, groups...)
			}
			o.merge(t, s)
			o.verify(t)
			indexes := o.indexes()
			if len(indexes) != 2 || indexes[0].Fields != "id" || indexes[1].Fields != "name" {
				t.Fatalf("indexes %+v", indexes)
			}
			for _, x := range indexes {
				want := wantRows(x.Fields, tasks...)
				if got := o.find(t, x, rowkey.Range{}); !slices.Equal(got, want) {
					t.Errorf("%s: %d rows, want %d", x.Fields, len(got), len(want))
				}
				if x.Entries() != int64(len(want)) || len(x.Files) < c.files {
					t.Errorf("%s: %d entries in %d files, want %d in at least %d", x.Fields, x.Entries(), len(x.Files), len(want), c.files)
				}
				checkFiles(t, &o, x, c.size)
			}
			before := o.files
			o.merge(t, s)
			for name := range before {
				if !bytes.Equal(before[name], o.files[name]) {
					t.Errorf("%s differs after a second merge", name)
				}
			}
		})
	}
}

// checkFiles checks sizes and key ranges of the files of an index.
func checkFiles(t *testing.T, o *output, x Index, size int64) {
	t.Helper()
	for i, f := range x.Files {
		if f.Bytes > size && f.Keys.Entries > 1 {
			t.Errorf("%s has %d bytes, the ceiling is %d", f.Name, f.Bytes, size)
		}
		if i > 0 && bytes.Compare(x.Files[i-1].Keys.Last, f.Keys.First) > 0 {
			t.Errorf("%s begins before the last key of the previous file", f.Name)
		}
		r, err := hfile.Open(bytes.NewReader(o.files[f.Name]), f.Bytes, hfile.OpenOptions{})
		testenv.Must(t, err)
		if string(r.Info().Value(infoFields)) != x.Fields || r.Entries() != f.Keys.Entries || !bytes.Equal(r.LastKey().Row(), f.Keys.Last) {
			t.Errorf("%s: fields %q, %d keys up to %x; the manifest says %+v", f.Name, r.Info().Value(infoFields), r.Entries(), r.LastKey().Row(), f.Keys)
		}
	}
}

func TestFind(t *testing.T) {
	var rows []row
	for i := range 2000 {
		rows = append(rows, row{int64(i / 2 * 2), fmt.Sprint(i)})
	}
	s := mustSink(t, newPlan("id"), 1<<30)
	s.size = 30_000
	var o output
	o.run(t, s, 0, rows)
	o.merge(t, s)
	x := o.indexes()[0]
	if len(x.Files) < 3 {
		t.Fatalf("%d files", len(x.Files))
	}
	spec := s.specs[0]
	for _, c := range []struct {
		from, to string
		want     int
	}{{"0", "0", 2}, {"1", "1", 0}, {"1998", "1998", 2}, {"1999", "", 0}, {"", "-1", 0}, {"10", "20", 12}, {"", "", 2000}, {"1501", "1503", 2}, {"600", "1400", 802}} {
		r, err := spec.Between(c.from, c.to)
		testenv.Must(t, err)
		if got := o.find(t, x, r); len(got) != c.want {
			t.Errorf("%s to %s: %d rows, want %d", c.from, c.to, len(got), c.want)
		}
	}
	stop := errors.New("enough")
	r := NewReader(x, func(_ context.Context, name string) (store.File, error) { return newFileOf(o.files[name], name), nil }, nil)
	defer r.Close()
	if err := r.Find(t.Context(), rowkey.Range{}, func([]byte, Position) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
}

// TestDamagedIndex checks that errors have the name of the damaged file.
func TestDamagedIndex(t *testing.T) {
	s := mustSink(t, newPlan("id"), 1<<30)
	var o output
	o.run(t, s, 0, []row{{1, ""}, {2, ""}})
	o.merge(t, s)
	x := o.indexes()[0]
	file := x.Files[0].Name
	for name, change := range map[string]func(b []byte) []byte{
		"a bit of a cell": func(b []byte) []byte { b[50] ^= 1; return b },
		"cut":             func(b []byte) []byte { return b[:len(b)-1] },
	} {
		r := NewReader(x, func(context.Context, string) (store.File, error) {
			return newFileOf(change(bytes.Clone(o.files[file])), file), nil
		}, nil)
		err := r.Find(t.Context(), rowkey.Range{}, func([]byte, Position) error { return nil })
		r.Close()
		var d *damage.Error
		if !errors.As(err, &d) || d.File != file {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestIndexOfAnotherOutput checks that an index that differs from the manifest is refused.
func TestIndexOfAnotherOutput(t *testing.T) {
	s := mustSink(t, newPlan("id"), 1<<30)
	var o output
	o.run(t, s, 0, []row{{1, ""}, {2, ""}})
	o.merge(t, s)
	for name, change := range map[string]func(x *Index, keys *manifest.KeyRange){
		"another output": func(x *Index, _ *manifest.KeyRange) { x.Fingerprint += "x" },
		"other fields":   func(x *Index, _ *manifest.KeyRange) { x.Fields = "name" },
		"entries":        func(_ *Index, keys *manifest.KeyRange) { keys.Entries++ },
		"the last key":   func(_ *Index, keys *manifest.KeyRange) { keys.Last = append(bytes.Clone(keys.Last), 0) },
		"size":           func(x *Index, _ *manifest.KeyRange) { x.Files[0].Bytes++ },
	} {
		x := o.indexes()[0]
		keys := *x.Files[0].Keys
		x.Files[0].Keys = &keys
		change(&x, &keys)
		open := 0
		r := NewReader(x, func(_ context.Context, name string) (store.File, error) {
			open++
			return countedFile{newFileOf(o.files[name], name), &open}, nil
		}, nil)
		err := r.Find(t.Context(), rowkey.Range{}, func([]byte, Position) error { return nil })
		r.Close()
		var d *damage.Error
		if !errors.As(err, &d) || d.File != x.Files[0].Name || open != 0 {
			t.Errorf("%s: %v; %d files stay open", name, err, open)
		}
	}
}

// TestOpenFiles checks that keys are found in an index of more files than are open at a time.
func TestOpenFiles(t *testing.T) {
	s := mustSink(t, newPlan("id"), 1<<30)
	s.size = 20_000
	var o output
	rows := make([]row, 2000)
	for i := range rows {
		rows[i].id = int64(i)
	}
	o.run(t, s, 0, rows)
	o.merge(t, s)
	x := o.indexes()[0]
	const most = 2
	if len(x.Files) <= most {
		t.Fatalf("%d files are too few", len(x.Files))
	}
	open := 0
	r := NewReader(x, func(_ context.Context, name string) (store.File, error) {
		if open++; open > most {
			t.Fatalf("%d files are open", open)
		}
		return countedFile{newFileOf(o.files[name], name), &open}, nil
	}, nil)
	r.maxOpen = most
	for range 2 {
		n := 0
		if err := r.Find(t.Context(), rowkey.Range{}, func([]byte, Position) error { n++; return nil }); err != nil || n != len(rows) {
			t.Errorf("%d of %d keys, %v", n, len(rows), err)
		}
	}
	r.Close()
	if open != 0 {
		t.Errorf("%d files stay open", open)
	}
}

func TestNoRows(t *testing.T) {
	s := mustSink(t, newPlan("id,name"), 1<<30)
	var o output
	o.run(t, s, 0, nil)
	o.merge(t, s)
	x := o.indexes()
	if len(x) != 1 || x[0].Fields != "id,name" || len(x[0].Files) != 1 || x[0].Entries() != 0 {
		t.Fatalf("%+v", x)
	}
	o.verify(t)
	if got := o.find(t, x[0], rowkey.Range{}); len(got) > 0 {
		t.Errorf("%q", got)
	}
}

func TestNullsAreCounted(t *testing.T) {
	s := mustSink(t, newPlan("id"), 1<<30)
	var o output
	o.run(t, s, 0, []row{{-1, ""}, {5, ""}})
	o.run(t, s, 1, []row{{-1, ""}, {-1, ""}})
	o.merge(t, s)
	for name, b := range o.files {
		r, err := hfile.Open(bytes.NewReader(b), int64(len(b)), hfile.OpenOptions{})
		testenv.Must(t, err)
		if n, err := nullsOf(r); n != 3 || err != nil {
			t.Errorf("%s: %d rows without a key, %v", name, n, err)
		}
	}
}

func TestRefusedRows(t *testing.T) {
	s := mustSink(t, newPlan("name"), 1<<30)
	for name, r := range map[string]mapper.Row{
		"long key":    {Keys: [][]byte{{}}},
		"large row":   {Number: math.MaxUint32 + 1},
		"large group": {Group: math.MaxUint32 + 1},
	} {
		a, err := s.Begin(0, newFolder(t))
		testenv.Must(t, err)
		length := 1
		if r.Keys != nil {
			length = hfile.MaxRow + 1
		}
		_, key := row{name: strings.Repeat("x", length)}.encode()
		r.Keys = [][]byte{key}
		if err := a.Row(&r); err == nil {
			t.Errorf("%s: the row is accepted", name)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestOf(t *testing.T) {
	if s, err := NewSink(newPlan(), 1<<30); s != nil || err != nil {
		t.Errorf("without an index: %v, %v", s, err)
	}
	for _, indexes := range [][]string{{"missing"}, {"id", "id"}, {strings.Repeat("id,", 60) + "name"}} {
		_, err := NewSink(newPlan(indexes...), 1<<30)
		failuretest.Want(t, err, failure.Usage, "key")
	}
	a, b := mustSink(t, newPlan("id", "name"), 1<<30), mustSink(t, newPlan("id,name"), 1<<30)
	if a.Name() == b.Name() {
		t.Errorf("two sinks have the name %q", a.Name())
	}
	if s := mustSink(t, newPlan("id", "name"), 16<<20); s.Memory() > 1<<20 || s.Memory() < 2*minMemory {
		t.Errorf("the sink takes %d bytes of 16 MiB", s.Memory())
	}
}

// TestManyTasks checks that the keys of many tasks are merged with at most one side file open
// at a time.
func TestManyTasks(t *testing.T) {
	s := mustSink(t, newPlan("id"), 1<<30)
	s.merge = littleMemory
	var o output
	var tasks [][][]row
	for i := range 70 {
		rows := []row{{int64(i * 7 % 50), ""}, {int64(i % 3), ""}}
		tasks = append(tasks, [][]row{rows})
		o.run(t, s, i, rows)
	}
	open, most := 0, 0
	for i, f := range o.side {
		inner := f.Open
		o.side[i].Open = func(ctx context.Context) (store.File, error) {
			in, err := inner(ctx)
			open++
			most = max(most, open)
			return countedFile{in, &open}, err
		}
	}
	o.merge(t, s)
	if got, want := o.find(t, o.indexes()[0], rowkey.Range{}), wantRows("id", tasks...); !slices.Equal(got, want) {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
	if open != 0 || most > 1 {
		t.Errorf("%d side files stay open, at most %d were open at a time", open, most)
	}
}

// TestInterrupted checks that Finish returns the error of a context that has ended.
func TestInterrupted(t *testing.T) {
	s := mustSink(t, newPlan("id"), 1<<30)
	s.memory = littleMemory
	a, err := s.Begin(0, newFolder(t))
	testenv.Must(t, err)
	id, _ := row{1, ""}.encode()
	for i := range int64(500) {
		testenv.Must(t, a.Row(&mapper.Row{Number: i, Keys: [][]byte{id}}))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.Finish(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// countedFile decrements open when it is closed.
type countedFile struct {
	store.File
	open *int
}

func (c countedFile) Close() error { *c.open--; return c.File.Close() }

func BenchmarkSort(b *testing.B) {
	s, err := NewSink(newPlan("id"), 512<<20)
	testenv.Must(b, err)
	random := rand.New(rand.NewPCG(1, 2))
	values := make([][]byte, 1<<16)
	for i := range values {
		values[i], _ = row{id: random.Int64()}.encode()
	}
	b.ReportAllocs()
	for range b.N {
		a, err := s.Begin(0, newFolder(b))
		testenv.Must(b, err)
		r := mapper.Row{Keys: make([][]byte, 1)}
		for i := range 1_000_000 {
			r.Number, r.Keys[0] = int64(i), values[i&(1<<16-1)]
			testenv.Must(b, a.Row(&r))
		}
		if _, err := a.Finish(b.Context()); err != nil {
			b.Fatal(err)
		}
		_ = a.Close()
	}
}

var _ task.Sink = (*Sink)(nil)

func BenchmarkMerge(b *testing.B) {
	for _, tasks := range []int{1, 20, 200} {
		b.Run(fmt.Sprintf("%d tasks", tasks), func(b *testing.B) {
			s := mustSink(b, newPlan("id"), 512<<20)
			random := rand.New(rand.NewPCG(1, 2))
			var o output
			for n := range tasks {
				rows := make([]row, 2_000_000/tasks)
				for i := range rows {
					rows[i].id = random.Int64()
				}
				o.run(b, s, n, rows)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				o.merge(b, s)
			}
		})
	}
}
