package dataset_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/internal/mailgen"
	"github.com/rowtocol/rowtocol/internal/randavro"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/store"
)

// readAs reads the rows of a query in one of three ways, and returns them with the error that ended
// them. In the way "alone", one worker reads all but the first rows.
func readAs(t *testing.T, way string, d *dataset.Dataset, q dataset.Query) (rows [][]byte, err error) {
	t.Helper()
	if way == "scan" {
		s, err := d.Scan(t.Context(), q)
		testenv.Must(t, err)
		defer s.Close()
		for {
			row, err := s.Next(nil)
			if err != nil {
				return rows, err
			}
			rows = append(rows, row)
		}
	}
	p, err := d.Plan(q)
	testenv.Must(t, err)
	r := dataset.RowResults(t.Context(), p, func(w *dataset.Waiting) func(*dataset.Rows, func(*dataset.Buffer) error) error {
		return func(rows *dataset.Rows, emit func(*dataset.Buffer) error) error {
			for {
				b, err := w.Buffer()
				if err != nil {
					return err
				}
				if b.Data, err = rows.Next(b.Data); err == io.EOF {
					b.Release()
					return nil
				} else if err != nil {
					b.Release()
					return err
				}
				if err := emit(b); err != nil {
					return err
				}
			}
		}
	})
	defer r.Close()
	for {
		b, err := r.Next()
		if err != nil {
			return rows, err
		}
		rows = append(rows, bytes.Clone(b.Data))
		b.Release()
		if way == "alone" && len(rows) == 50 && r.Alone() && r.Alone() {
			t.Error("several workers read after Alone")
		}
	}
}

// batchTexts returns the values of each batch of a query as text, with the error that ended them.
func batchTexts(t *testing.T, d *dataset.Dataset, q dataset.Query) (texts []string, err error) {
	t.Helper()
	p, err := d.Plan(q)
	testenv.Must(t, err)
	m, err := p.Mapping()
	testenv.Must(t, err)
	r, err := dataset.BatchResults(t.Context(), p, func() func(*dataset.RangeBatches, func(string) error) error {
		return func(b *dataset.RangeBatches, emit func(string) error) error {
			for {
				if err := b.Next(); err != nil {
					if err == io.EOF {
						return nil
					}
					return err
				}
				release := b.Keep()
				var text strings.Builder
				for i := range m.Columns {
					v := *b.Vector(i)
					v.Limit = 0 // depends on the free memory
					fmt.Fprintln(&text, v)
				}
				release()
				if err := emit(text.String()); err != nil {
					return err
				}
			}
		}
	})
	testenv.Must(t, err)
	defer r.Close()
	for {
		text, err := r.Next()
		if err != nil {
			return texts, err
		}
		texts = append(texts, text)
	}
}

// Batches do not depend on the number of workers, and damage is met after the same ones.
func TestWorkersMakeBatches(t *testing.T) {
	same := func(t *testing.T, path string) {
		t.Helper()
		memory := budget.New(256 << 20)
		d := openIn(t, path, memory)
		for _, q := range []dataset.Query{{Limit: -1}, {Limit: 700, Offset: 1333}, {Limit: -1, Where: "seen"}, {Limit: -1, BatchRows: 100}} {
			want, wantErr := batchTexts(t, d, q)
			q.Workers = 3
			got, err := batchTexts(t, d, q)
			if fmt.Sprint(err) != fmt.Sprint(wantErr) || !slices.Equal(got, want) || wantErr == io.EOF && len(want) == 0 {
				t.Errorf("%+v: %d batches, then %v; one worker makes %d, then %v", q, len(got), err, len(want), wantErr)
			}
		}
		if left := memory.Size() - memory.Available(); left != 0 {
			t.Errorf("%d bytes are still reserved", left)
		}
	}
	eachSet(t, same)
	eachFormat(t, func(t *testing.T, f format.Format) {
		dir := wideSet(t, f, 3000)
		parts := partsOf(t, dir)
		damagePart(t, parts[len(parts)-1])
		same(t, dir)
	})
}

// eachSet calls test with paths of datasets of several ranges.
func eachSet(t *testing.T, test func(t *testing.T, path string)) {
	t.Run("avro", func(t *testing.T) {
		name := filepath.Join(t.TempDir(), "mail.avro")
		writeAvro(t, name, mailgen.Schema, mails(3, 3000))
		test(t, name)
	})
	eachFormat(t, func(t *testing.T, f format.Format) {
		dir, _ := mailSet(t, f, 1500)
		test(t, dir)
		t.Run("wide", func(t *testing.T) { test(t, wideSet(t, f, 3000)) })
	})
}

// wideSet makes an output of mails with so many more columns that workers read rows by turns. Each part
// has several turns.
func wideSet(t *testing.T, f format.Format, n int) (dir string) {
	t.Helper()
	return wideSetOf(t, f, n, settings{rowGroup: 1 << 20, blockSize: 16 << 10})
}

func wideSetOf(t *testing.T, f format.Format, n int, s settings) (dir string) {
	t.Helper()
	var fields strings.Builder
	types := []string{`"long"`, `["null","int"]`, `"boolean"`, `"double"`, `["string","null"]`, `{"type":"array","items":"int"}`}
	for i := range 140 {
		fmt.Fprintf(&fields, `,{"name":"f%d","type":%s}`, i, types[i%len(types)])
	}
	more := `{"type":"record","name":"More","fields":[{"name":"first","type":"string"}` + fields.String() + `]}`
	schema := strings.TrimRight(mailgen.Schema, " \n")
	schema = strings.TrimSuffix(schema, "]}") + `,{"name":"more","type":` + more + `}]}`
	root, r := avrotest.Parse(t, more).Root(), rand.New(rand.NewPCG(1, 41))
	rows := mails(5, n)
	for i := range rows {
		rows[i] = append(rows[i], randavro.Datum(r, root)...)
	}
	base := t.TempDir()
	writeAvro(t, filepath.Join(base, "wide.avro"), schema, rows)
	dir = filepath.Join(base, "wide.columns")
	convert(t, f, filepath.Join(base, "wide.avro"), dir, s)
	return dir
}

func openIn(t *testing.T, path string, memory *budget.Pool) *dataset.Dataset {
	t.Helper()
	return open(t, path, dataset.Options{Formats: formats, Memory: memory})
}

// Rows, their places, their figures and batches do not depend on the number of workers.
func TestWorkers(t *testing.T) {
	resolved := avrotest.Parse(t, `{"type":"record","name":"mail.Message","fields":[{"name":"id","type":"double"},{"name":"subject","type":["null","string"]}]}`)
	eachSet(t, func(t *testing.T, path string) {
		d := openIn(t, path, nil)
		for _, q := range []dataset.Query{
			{Limit: -1},
			{Limit: -1, Columns: []string{"received.host", "id"}},
			{Limit: -1, Where: "score > 5"},
			{Limit: -1, Where: "false"},
			{Limit: 700, Offset: 333},
			{Limit: 70, Offset: 33, Where: "seen"},
			{Limit: -1, Schema: resolved},
			{Limit: 0},
		} {
			one, err := readAs(t, "scan", d, q)
			if err != io.EOF {
				t.Fatal(err)
			}
			_, batched, err := batches(t, d, q)
			testenv.Must(t, err)
			q.Workers = 3
			for _, way := range []string{"scan", "results", "alone"} {
				if rows, err := readAs(t, way, d, q); err != io.EOF || !slices.EqualFunc(rows, one, bytes.Equal) {
					t.Errorf("%s: %+v: %d rows, want %d, %v", way, q, len(rows), len(one), err)
				}
			}
			if _, stats, err := scan(t, d, q); err != nil || stats.Rows != int64(len(one)) || batched.Rows != stats.Rows || stats.Skipped != batched.Skipped {
				t.Errorf("%+v: %+v, want %+v, %v", q, stats, batched, err)
			}
			if q.Limit >= 0 {
				continue
			}
			if c, err := d.Count(t.Context(), q); err != nil || c.Rows != int64(len(one)) {
				t.Errorf("%+v: counted %d rows, want %d, %v", q, c.Rows, len(one), err)
			}
		}
	})
}

// TestWorkersPlaces checks that each row has the same place with any number of workers.
func TestWorkersPlaces(t *testing.T) {
	eachSet(t, func(t *testing.T, path string) {
		d := openIn(t, path, nil)
		one, err := d.Scan(t.Context(), dataset.Query{Limit: -1, Where: "id % 3 == 0"})
		testenv.Must(t, err)
		several, err := d.Scan(t.Context(), dataset.Query{Limit: -1, Where: "id % 3 == 0", Workers: 4})
		testenv.Must(t, err)
		n := 0
		for ; ; n++ {
			a, errA := one.Next(nil)
			b, errB := several.Next(nil)
			if errA != errB || !bytes.Equal(a, b) {
				t.Fatalf("row %d: %x, %v and %x, %v", n, a, errA, b, errB)
			}
			if errA != nil {
				break
			}
			partA, rowA := one.Place()
			partB, rowB := several.Place()
			if partA != partB || rowA != rowB {
				t.Fatalf("row %d: row %d of %s and row %d of %s", n, rowA, partA, rowB, partB)
			}
		}
		one.Close()
		several.Close()
		if n < 400 {
			t.Errorf("%d rows", n)
		}
	})
}

// If memory is too short for several workers, one reads the rest.
func TestWorkersInLittleMemory(t *testing.T) {
	eachSet(t, func(t *testing.T, path string) {
		want, err := readAs(t, "scan", openIn(t, path, nil), dataset.Query{Limit: -1})
		if err != io.EOF {
			t.Fatal(err)
		}
		enough := false
		for size := int64(4); size <= 32; size *= 2 {
			memory := budget.New(size << 20)
			l, err := dataset.List(t.Context(), locations(store.Local(), path), dataset.Options{Formats: formats, Memory: memory})
			testenv.Must(t, err)
			few, err := l.Dataset(t.Context())
			if err != nil {
				continue
			}
			one, errOne := readAs(t, "scan", few, dataset.Query{Limit: -1})
			for _, way := range []string{"scan", "results"} {
				several, err := readAs(t, way, few, dataset.Query{Limit: -1, Workers: 8})
				if errOne == io.EOF && (err != io.EOF || !slices.EqualFunc(several, want, bytes.Equal)) {
					t.Errorf("%d MiB: %s: %d rows, want %d, %v", size, way, len(several), len(one), err)
				}
				enough = enough || err == io.EOF
				if left := memory.Size() - memory.Available(); left != 0 {
					t.Errorf("%d MiB: %d bytes are still reserved", size, left)
				}
			}
		}
		if !enough {
			t.Error("never enough memory")
		}
	})
}

// The first damage in row order is returned, after the rows before it.
func TestWorkersMeetDamage(t *testing.T) {
	test := func(t *testing.T, dir string) {
		parts := partsOf(t, dir)
		for _, i := range []int{len(parts) * 2 / 3, len(parts) - 1} {
			damagePart(t, parts[i])
		}
		d := open(t, dir, dataset.Options{Formats: formats})
		one, errOne := readAs(t, "scan", d, dataset.Query{Limit: -1})
		for _, way := range []string{"scan", "results"} {
			several, err := readAs(t, way, d, dataset.Query{Limit: -1, Workers: 4})
			if !errors.As(err, new(*damage.Error)) || err.Error() != errOne.Error() || !slices.EqualFunc(one, several, bytes.Equal) {
				t.Errorf("%s: %d rows, %v; want %d rows, %v", way, len(several), err, len(one), errOne)
			}
		}
	}
	eachFormat(t, func(t *testing.T, f format.Format) {
		dir, _ := mailSet(t, f, 1500)
		test(t, dir)
		t.Run("wide", func(t *testing.T) { test(t, wideSet(t, f, 3000)) })
	})
}

// damagePart changes a byte in the middle of the largest file of a part.
func damagePart(t *testing.T, part string) {
	t.Helper()
	largest, data := "", []byte(nil)
	for name, content := range filesOf(t, part) {
		if len(content) > len(data) {
			largest, data = name, content
		}
	}
	data[len(data)/2] ^= 0x55
	name := filepath.Join(part, largest)
	testenv.Must(t, os.WriteFile(name, data, 0o600))
}

// A scan that is closed or cancelled early leaves no goroutine and no memory.
func TestWorkersStop(t *testing.T) {
	eachSet(t, func(t *testing.T, path string) {
		memory := budget.New(64 << 20)
		d := openIn(t, path, memory)
		for _, n := range []int{0, 1, 200} {
			ctx, cancel := context.WithCancel(t.Context())
			s, err := d.Scan(ctx, dataset.Query{Limit: -1, Workers: 3})
			testenv.Must(t, err)
			for range n {
				_, err = s.Next(nil)
				testenv.Must(t, err)
			}
			if n == 1 {
				cancel()
				for err == nil {
					_, err = s.Next(nil)
				}
				if !errors.Is(err, context.Canceled) {
					t.Errorf("%v after cancellation", err)
				}
			}
			s.Close()
			cancel()
			if _, err := s.Next(nil); err == nil {
				t.Error("a row after Close")
			}
			if left := memory.Size() - memory.Available(); left != 0 {
				t.Errorf("after %d rows, %d bytes are still reserved", n, left)
			}
		}
	})
}

// A part that waits for the reader of the next turn is closed if reading is cancelled at any moment.
func TestWorkersCloseSharedParts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 44))
	memory := budget.New(256 << 20)
	d := openIn(t, wideSet(t, formats[0], 2000), memory)
	for range 60 {
		ctx, cancel := context.WithCancel(t.Context())
		p, err := d.Plan(dataset.Query{Limit: -1, Workers: 3})
		testenv.Must(t, err)
		naps := make(chan time.Duration, 1000)
		for range cap(naps) {
			naps <- time.Duration(r.IntN(2000)) * time.Microsecond
		}
		results := dataset.RowResults(ctx, p, func(*dataset.Waiting) func(*dataset.Rows, func(int) error) error {
			return func(rows *dataset.Rows, emit func(int) error) (err error) {
				time.Sleep(<-naps)
				for err == nil {
					_, err = rows.Next(nil)
				}
				if err == io.EOF {
					err = emit(1)
				}
				return err
			}
		})
		_, err = results.Next()
		testenv.Must(t, err)
		cancel()
		time.Sleep(3 * time.Millisecond) // readers end before the next result is asked for
		for err == nil {
			_, err = results.Next()
		}
		results.Close()
		if left := memory.Size() - memory.Available(); left != 0 || !errors.Is(err, context.Canceled) {
			t.Fatalf("%d bytes are still reserved after %v", left, err)
		}
	}
}

// counted is a result. live is the number of results that were not released.
type counted struct{ live *atomic.Int64 }

func (c counted) Release() { c.live.Add(-1) }

// Results that are not returned, because one worker reads their rows again or because of Close, are
// released.
func TestDroppedResultsAreReleased(t *testing.T) {
	name := filepath.Join(t.TempDir(), "mail.avro")
	writeAvro(t, name, mailgen.Schema, mails(3, 3000))
	p, err := openIn(t, name, nil).Plan(dataset.Query{Limit: -1, Workers: 2})
	testenv.Must(t, err)
	for _, short := range []error{new(budget.Error), nil} {
		var live, ranges atomic.Int64
		third := make(chan struct{}) // a third range has a result
		r := dataset.RowResults(t.Context(), p, func(w *dataset.Waiting) func(*dataset.Rows, func(counted) error) error {
			return func(rows *dataset.Rows, emit func(counted) error) (err error) {
				number := ranges.Add(1)
				for err == nil {
					_, err = rows.Next(nil)
				}
				if number == 1 {
					if <-third; short != nil {
						return short
					}
				}
				if err == io.EOF {
					live.Add(1)
					if err = emit(counted{&live}); err != nil {
						live.Add(-1)
					}
				}
				if number == 3 {
					close(third)
				}
				return err
			}
		})
		returned := int64(0)
		for err = nil; err == nil && (short != nil || returned == 0); {
			if _, err = r.Next(); err == nil {
				returned++
			}
		}
		r.Close()
		if n := live.Load(); n != returned || err != nil && err != io.EOF {
			t.Errorf("%d results are in use, but %d were returned: %v", n, returned, err)
		}
	}
}
