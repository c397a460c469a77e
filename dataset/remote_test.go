package dataset_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/cfile"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// slowStore is a store whose large reads wait: until a test releases one through gate,
// the patience is over, or the context ends.
type slowStore struct {
	store.Store
	larger               int   // than this many bytes wait
	fails                error // if not nil, these reads fail with it at once
	patience             time.Duration
	gate                 chan struct{}
	waiting, mostWaiting atomic.Int64 // reads
	bytes                atomic.Int64 // read
}

type slowStoreFile struct {
	store.File
	ctx  context.Context
	slow *slowStore
}

func (f *slowStore) Open(ctx context.Context, path string) (store.File, error) {
	file, err := f.Store.Open(ctx, path)
	return &slowStoreFile{file, ctx, f}, err
}

func (f *slowStoreFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	if len(p) > f.slow.larger {
		if f.slow.fails != nil {
			return 0, f.slow.fails
		}
		now := f.slow.waiting.Add(1)
		defer f.slow.waiting.Add(-1)
		for most := f.slow.mostWaiting.Load(); now > most && !f.slow.mostWaiting.CompareAndSwap(most, now); most = f.slow.mostWaiting.Load() {
		}
		select {
		case <-f.slow.gate:
		case <-time.After(f.slow.patience):
		case <-f.ctx.Done():
			return 0, f.ctx.Err()
		}
	}
	n, err := f.File.ReadAt(p, off)
	f.slow.bytes.Add(int64(n))
	return n, err
}

// openedOn opens the same dataset on another store.
func openedOn(t *testing.T, st store.Store, d *dataset.Dataset) *dataset.Dataset {
	t.Helper()
	other := openOn(t, st, filepath.Dir(d.Parts()[0].Name), dataset.Options{Formats: formats})
	return other
}

// Parts on remote storage are read ahead.
func TestRemoteParts(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		local := archive(t, f, 40_000)
		for name, test := range map[string]func(t *testing.T, local *dataset.Dataset){
			"ahead of rows": testAheadOfRows, "patience": testPatienceOnce, "close": testClose, "limit": testLimit, "whole parts": testWholeParts, "concurrently": testConcurrently, "workers": testPiecesOfWorkers, "files": testFilesOfWorkers, "canceled workers": testCanceledWorkers,
			"runs of a plan": testRunsOfPlan, "few rows": testFewRows,
		} {
			t.Run(name, func(t *testing.T) { test(t, local) })
		}
	})
}

// Storage is read while rows are consumed.
func testAheadOfRows(t *testing.T, local *dataset.Dataset) {
	for _, columns := range [][]string{{"body"}, {"body", "received", "subject"}} {
		st := &slowStore{Store: store.Local(), larger: 128 << 10, patience: 200 * time.Millisecond, gate: make(chan struct{})}
		b, err := openedOn(t, st, local).Batches(t.Context(), dataset.Query{Columns: columns, Limit: -1})
		testenv.Must(t, err)
		overlapping := 0
		for b.Next() {
			time.Sleep(time.Millisecond) // the rows are processed
			if st.waiting.Load() > 0 {
				overlapping++
			}
			for n := st.waiting.Load(); n > 0; n-- {
				select {
				case st.gate <- struct{}{}:
				case <-time.After(st.patience):
				}
			}
		}
		if b.Err() != nil || overlapping == 0 || st.mostWaiting.Load() > 5 { // four in the background and one that is waited for
			t.Errorf("%v: reads during %d batches, at most %d at a time, %v", columns, overlapping, st.mostWaiting.Load(), b.Err())
		}
		b.Close()
		if s := b.Stats(); s.BytesRead != st.bytes.Load() {
			t.Errorf("%d bytes counted, %d read", s.BytesRead, st.bytes.Load())
		}
	}
}

// readRange is a range of a file that is read, or a byte of it.
type readRange struct {
	name string
	off  int64
	n    int
}

// brokenStore is a store that records all reads, and cannot read one byte.
func brokenStore(reads *[]readRange, byte readRange) store.Store {
	var mu sync.Mutex
	return storetest.Inject(store.Local(), func(c *storetest.Call) error {
		if c.Op != storetest.ReadAt {
			return c.Do()
		}
		mu.Lock()
		*reads = append(*reads, readRange{c.Path, c.Offset, len(c.Data)})
		mu.Unlock()
		before := byte.off - c.Offset
		if byte.name != c.Path || before < 0 || before >= int64(len(c.Data)) {
			return c.Do()
		}
		c.Data = c.Data[:before]
		return cmp.Or(c.Do(), error(syscall.EIO))
	})
}

// If a byte cannot be read, storage is retried until its patience ends just once, and
// the rows before are returned.
func testPatienceOnce(t *testing.T, local *dataset.Dataset) {
	query := dataset.Query{Columns: []string{"body"}, Limit: -1}
	var reads, again []readRange
	want, _, err := scan(t, openedOn(t, brokenStore(&reads, readRange{}), local), query)
	testenv.Must(t, err)
	given := 0
	for _, r := range reads {
		if r.n <= 64<<10 {
			continue // not a piece
		}
		var waited atomic.Int64
		patience := store.Patience{Limit: time.Minute, Sleep: func(_ context.Context, d time.Duration) error {
			waited.Add(int64(d))
			return nil
		}}
		bad := brokenStore(&again, readRange{r.name, r.off + int64(r.n/2), 1})
		got, _, err := scan(t, openedOn(t, store.WithRetry(bad, patience), local), query)
		if !errors.Is(err, syscall.EIO) || isDamage(err) || time.Duration(waited.Load()) != patience.Limit {
			t.Errorf("waited %s, %v", time.Duration(waited.Load()), err)
		}
		if !slices.EqualFunc(got, want[:len(got)], bytes.Equal) || len(got) < given {
			t.Errorf("%d rows, but %d when an earlier byte could not be read", len(got), given)
		}
		given = len(got)
	}
	if given < len(want)/2 {
		t.Errorf("%d rows before the last piece, of %d in all", given, len(want))
	}
}

// Close does not wait for reads that run, or that pause before a retry. After it, the
// part can no longer be read.
func testClose(t *testing.T, local *dataset.Dataset) {
	dir := filepath.Dir(local.Parts()[0].Name)
	hung := &slowStore{Store: store.Local(), larger: 256 << 10, patience: time.Hour}
	failing := &slowStore{Store: store.Local(), larger: 256 << 10, fails: syscall.EIO}
	waits := make(chan struct{}, 100)
	patient := store.WithRetry(failing, store.Patience{Limit: time.Hour, Waiting: func(string, error, time.Duration) { waits <- struct{}{} }})
	for name, test := range map[string]struct {
		st    store.Store
		begun func() bool
	}{
		"a read":  {hung, func() bool { return hung.waiting.Load() > 0 }},
		"a pause": {patient, func() bool { return len(waits) > 0 }},
	} {
		l := list(t, test.st, dir, dataset.Options{Formats: formats})
		p, err := l.Open(t.Context(), &l.Parts[0])
		testenv.Must(t, err)
		body := slices.IndexFunc(p.Columns(), func(c format.Column) bool { return c.Name == "body" })
		blocks, err := p.Blocks(body)
		testenv.Must(t, err)
		c, err := p.Cursor(body)
		testenv.Must(t, err)
		var v column.Vector
		for i := 0; !test.begun(); i++ {
			v.Reset()
			if _, _, err := c.Read(&v, int(blocks[i].Rows)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
		closed := make(chan struct{})
		go func() {
			p.Close()
			close(closed)
		}()
		select {
		case <-closed:
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: Close waits", name)
		}
		last, err := p.Cursor(body)
		if err == nil {
			err = last.SeekRow(p.Rows() - 1)
		}
		if err == nil {
			_, _, err = last.Read(&v, 1)
		}
		if !errors.Is(err, fs.ErrClosed) || isDamage(err) {
			t.Errorf("%s: after Close: %v", name, err)
		}
	}
}

// Reads that have begun after the last row of a query are counted, and end with the query.
func testLimit(t *testing.T, local *dataset.Dataset) {
	st := &slowStore{Store: store.Local(), larger: 256 << 10, patience: time.Second}
	d := openedOn(t, st, local)
	for rows := int64(100); st.mostWaiting.Load() == 0; rows += 100 {
		st.bytes.Store(0)
		got, stats, err := scan(t, d, dataset.Query{Columns: []string{"body"}, Limit: rows})
		if err != nil || int64(len(got)) != rows || stats.BytesRead != st.bytes.Load() || st.waiting.Load() > 0 {
			t.Fatalf("%d rows of %d, %d bytes counted, %d read, %d reads still run, %v", len(got), rows, stats.BytesRead, st.bytes.Load(), st.waiting.Load(), err)
		}
	}
}

// Reading whole parts, column after column, takes few requests.
func testWholeParts(t *testing.T, local *dataset.Dataset) {
	st := &streamStore{Store: store.Local()}
	p := openPart(t, st, local.Parts()[0].Name)
	defer p.Close()
	if err := p.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
	blocks := 0
	for i := range p.Columns() {
		table, err := p.Blocks(i)
		testenv.Must(t, err)
		blocks += len(table)
	}
	most := 3 * len(p.Columns())
	if p.Format == cfile.Format {
		most = 6 * len(local.Parts()[0].Files) // header, footer, index, dictionary, blocks
	}
	if reads := int(st.requests.Load()); reads > most {
		t.Errorf("%d requests for %d blocks in %d columns", reads, blocks, len(p.Columns()))
	}
}

// Several goroutines may read a part, even the same columns.
func testConcurrently(t *testing.T, local *dataset.Dataset) {
	var want []uint32
	for _, st := range []store.Store{store.Local(), storetest.NewFaulty(store.Local())} {
		p := openPart(t, st, local.Parts()[0].Name)
		sums := make([]uint32, 2*len(p.Columns()))
		var wg sync.WaitGroup
		for i := range sums {
			wg.Go(func() {
				var err error
				if sums[i], err = sumOf(p, i/2); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		p.Close()
		if want == nil {
			want = sums
		}
		if !slices.Equal(sums, want) {
			t.Errorf("sums %x, want %x", sums, want)
		}
	}
}

// sumOf returns a checksum of the lengths and values of a column.
func sumOf(p *dataset.OpenPart, col int) (sum uint32, err error) {
	c, err := p.Cursor(col)
	var v column.Vector
	for err == nil {
		v.Reset()
		if _, _, err = c.Read(&v, 1000); err == nil {
			sum = crc32.Update(crc32.Update(sum, crc32.IEEETable, v.Data), crc32.IEEETable, fmt.Append(nil, v.Lengths, v.Longs, v.Values))
		}
	}
	if err == io.EOF {
		err = nil
	}
	return sum, err
}

// Workers that read different rows of a part read few bytes that others read as well.
func testPiecesOfWorkers(t *testing.T, local *dataset.Dataset) {
	st := &slowStore{Store: store.Local(), larger: math.MaxInt}
	d := openedOn(t, st, local)
	opened, stored := st.bytes.Load(), int64(0)
	for i := range d.Parts() {
		stored += d.Parts()[i].Bytes
	}
	rows, err := d.Scan(t.Context(), dataset.Query{Limit: -1, Workers: 2})
	testenv.Must(t, err)
	defer rows.Close()
	for err == nil {
		_, err = rows.Next(nil)
	}
	if read := st.bytes.Load() - opened; err != io.EOF || read > stored*12/10 {
		t.Errorf("%d bytes read of %d, %v", read, stored, err)
	}
}

// Workers that read a part at the same time open its files once.
func testFilesOfWorkers(t *testing.T, local *dataset.Dataset) {
	st := storetest.NewFaulty(store.Local())
	d := openedOn(t, st, local)
	opened, files, rows := st.Calls(storetest.Open), 0, int64(0)
	for i := range d.Parts() {
		files, rows = files+len(d.Parts()[i].Files), rows+d.Parts()[i].Rows
	}
	got, _, err := scan(t, d, dataset.Query{Limit: -1, Workers: 3})
	if opened = st.Calls(storetest.Open) - opened; err != nil || int64(len(got)) != rows || opened > files*3/2 {
		t.Errorf("%d rows of %d, %d files opened of %d, %v", len(got), rows, opened, files, err)
	}
}

// If a query is canceled, workers do not wait for storage that hangs.
func testCanceledWorkers(t *testing.T, local *dataset.Dataset) {
	st := &slowStore{Store: store.Local(), larger: math.MaxInt, patience: time.Hour}
	d := openedOn(t, st, local)
	st.larger = 0
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	rows, err := d.Scan(ctx, dataset.Query{Limit: -1, Workers: 2})
	testenv.Must(t, err)
	ended := make(chan error)
	go func() {
		_, err := rows.Next(nil)
		rows.Close()
		ended <- err
	}()
	for st.waiting.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("workers wait for storage")
	}
}

// Two runs of a plan share nothing: one of them is canceled while storage hangs.
func testRunsOfPlan(t *testing.T, local *dataset.Dataset) {
	st := &slowStore{Store: store.Local(), larger: math.MaxInt, patience: time.Hour}
	p, err := openedOn(t, st, local).Plan(dataset.Query{Limit: -1, Workers: 1})
	testenv.Must(t, err)
	st.larger = 0
	ctx, cancel := context.WithCancel(t.Context())
	other, cancelOther := context.WithCancel(t.Context())
	defer cancelOther()
	canceled, ended := make(chan error, 1), make(chan error, 1)
	read := func(ctx context.Context, err chan error) {
		b, failed := p.Batches(ctx)
		if failed == nil {
			b.Next()
			failed = b.Err()
			b.Close()
		}
		err <- failed
	}
	go read(ctx, canceled)
	go read(other, ended)
	for st.waiting.Load() < 2 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	select {
	case err := <-canceled:
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the canceled run waits for storage")
	}
	cancelOther()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A query of few rows reads few bytes, also in the middle of a part.
func testFewRows(t *testing.T, local *dataset.Dataset) {
	st := &slowStore{Store: store.Local(), larger: math.MaxInt}
	d := openedOn(t, st, local)
	for _, q := range []dataset.Query{
		{Limit: 2000}, {Offset: 20_000, Limit: 2000}, {Limit: -1, Only: map[int][]int64{0: {20_000, 20_001, 29_000, 35_000}}},
	} {
		for q.Workers = range 3 {
			before := st.bytes.Load()
			_, _, err := scan(t, d, q)
			if read := st.bytes.Load() - before; err != nil || read > d.Parts()[0].Bytes/2 {
				t.Errorf("%+v: %d bytes read of %d, %v", q, read, d.Parts()[0].Bytes, err)
			}
		}
	}
}

// Three workers read no more bytes of parts with many columns than one, rows and batches alike.
func TestRemoteTurns(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		st := &slowStore{Store: store.Local(), larger: math.MaxInt}
		d := openOn(t, st, wideSet(t, f, 2000), dataset.Options{Formats: formats})
		var rows [2][][]byte
		var batches [2][]string
		var ofRows, ofBatches [2]int64
		for i, workers := range []int{1, 3} {
			q, before := dataset.Query{Limit: -1, Workers: workers}, st.bytes.Load()
			var err error
			if rows[i], err = readAs(t, "results", d, q); err != io.EOF {
				t.Fatal(err)
			}
			ofRows[i] = st.bytes.Load() - before
			if batches[i], err = batchTexts(t, d, q); err != io.EOF {
				t.Fatal(err)
			}
			ofBatches[i] = st.bytes.Load() - before - ofRows[i]
		}
		if !slices.EqualFunc(rows[0], rows[1], bytes.Equal) || ofRows[1] > ofRows[0]*21/20 {
			t.Errorf("%d rows of %d bytes, with one worker %d rows of %d bytes", len(rows[1]), ofRows[1], len(rows[0]), ofRows[0])
		}
		if !slices.Equal(batches[0], batches[1]) || ofBatches[1] > ofBatches[0]*21/20 {
			t.Errorf("%d batches of %d bytes, with one worker %d batches of %d bytes", len(batches[1]), ofBatches[1], len(batches[0]), ofBatches[0])
		}
	})
}
