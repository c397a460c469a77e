package reducer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/spill"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// sample returns an output of some MiB, of literals and of ranges of three columns
// out of order, with its spill and the bytes that it must have.
func sample(t testing.TB) (format.Output, *spill.Spill, []byte) {
	t.Helper()
	folder, err := spill.OpenFolder(t.TempDir())
	testenv.Must(t, err)
	t.Cleanup(func() { _ = folder.Close() })
	sp, err := folder.New(3, spill.Options{})
	testenv.Must(t, err)
	r := rand.New(rand.NewPCG(3, 4))
	cols := make([][]byte, 3)
	for col := range cols {
		cols[col] = make([]byte, 700_000*(col+1))
		for i := range cols[col] {
			cols[col][i] = byte(r.Uint32())
		}
		testenv.Must(t, sp.Append(col, cols[col]))
	}
	var out format.Output
	var want []byte
	literal := func(s string) {
		out.Pieces = append(out.Pieces, format.Literal([]byte(s)))
		want = append(want, s...)
	}
	spilled := func(col int, off, n int64) {
		out.Pieces = append(out.Pieces, format.Spilled(col, off, n))
		want = append(want, cols[col][off:off+n]...)
	}
	literal("header")
	spilled(2, 0, 2_100_000)
	literal("")
	spilled(0, 100, 699_000)
	spilled(1, 5, 0)
	literal("middle")
	spilled(1, 1_399_999, 1)
	spilled(0, 0, 700_000)
	out.Size = int64(len(want))
	return out, sp, want
}

// named returns a function that always returns the same name.
func named(path string) func() string { return func() string { return path } }

func TestWrite(t *testing.T) {
	out, sp, want := sample(t)
	path := filepath.Join(t.TempDir(), "part-00000.trv")
	w, err := Write(t.Context(), store.Local(), named(path), out, sp)
	testenv.Must(t, err)
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("the file differs from the pieces, %v", err)
	}
	expected := Written{Path: path, Size: int64(len(want)), CRC32C: crc32.Checksum(want, castagnoli)}
	if w != expected {
		t.Errorf("written is %+v, want %+v", w, expected)
	}
	onlyFile(t, path)
}

func TestWriteEmpty(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if w, err := Write(t.Context(), store.Local(), named(path), format.Output{}, nil); err != nil || w.Size != 0 || w.CRC32C != 0 {
		t.Errorf("%+v, %v", w, err)
	}
	onlyFile(t, path)
}

// onlyFile fails the test unless path exists and is the only file of its directory.
func onlyFile(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 || entries[0].Name() != filepath.Base(path) {
		t.Errorf("the directory has %v, %v", entries, err)
	}
}

// nothingLeft fails the test if the directory of a path is not empty.
func nothingLeft(t *testing.T, path, what string, args ...any) {
	t.Helper()
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 0 {
		t.Errorf(what+": left %v", append(args, left)...)
	}
}

// TestNameTaken writes an output whose name is taken: the file there does not change.
func TestNameTaken(t *testing.T) {
	out, sp, want := sample(t)
	path := filepath.Join(t.TempDir(), "f")
	for _, other := range [][]byte{[]byte("short"), want} {
		testenv.Must(t, os.WriteFile(path, other, 0o666))
		if _, err := Write(t.Context(), store.Local(), named(path), out, sp); !errors.Is(err, store.ErrExist) {
			t.Errorf("got %v", err)
		}
		if got, _ := os.ReadFile(path); !bytes.Equal(got, other) {
			t.Error("the existing file has changed")
		}
		onlyFile(t, path)
	}
}

// retrying makes a store retry failed operations without waiting.
func retrying(st store.Store) store.Store {
	return store.WithRetry(st, store.Patience{Limit: time.Minute, Sleep: func(context.Context, time.Duration) error { return nil }})
}

// TestRepeated fails an upload once, in each way that is retried.
func TestRepeated(t *testing.T) {
	out, sp, want := sample(t)
	for _, fault := range []storetest.Fault{
		{Op: storetest.Create, N: 1, Err: syscall.EIO},
		{Op: storetest.Write, N: 2, Err: syscall.EIO},
		{Op: storetest.Commit, N: 1, Err: syscall.EIO},
		{Op: storetest.ReadAt, N: 1}, // a bit flips
	} {
		dir, tries := t.TempDir(), 0
		next := func() string {
			tries++
			return filepath.Join(dir, fmt.Sprint("f", tries))
		}
		w, err := Write(t.Context(), retrying(storetest.NewFaulty(store.Local(), fault)), next, out, sp)
		if err != nil || tries != 2 || w.Path != filepath.Join(dir, "f2") || w.CRC32C != crc32.Checksum(want, castagnoli) {
			t.Errorf("%+v: %+v after %d tries, %v", fault, w, tries, err)
		}
		onlyFile(t, w.Path)
	}
}

func TestCopy(t *testing.T) {
	const text = "0123456789"
	path := filepath.Join(t.TempDir(), "f")
	w, err := Copy(t.Context(), store.Local(), named(path), io.NewSectionReader(strings.NewReader(text), 2, 5))
	if want := (Written{Path: path, Size: 5, CRC32C: crc32.Checksum([]byte(text[2:7]), castagnoli)}); err != nil || w != want {
		t.Errorf("%+v, %v; want %+v", w, err, want)
	}
	if got, err := os.ReadFile(path); string(got) != text[2:7] {
		t.Errorf("copied %q, %v", got, err)
	}
}

// failingReader fails each read.
type failingReader struct{ err error }

func (f failingReader) ReadAt([]byte, int64) (int, error) { return 0, f.err }

func TestCopySourceFails(t *testing.T) {
	for _, source := range []struct{ err, want error }{
		{syscall.EIO, syscall.EIO},
		{io.EOF, io.ErrUnexpectedEOF},
	} {
		path := filepath.Join(t.TempDir(), "f")
		faulty := storetest.NewFaulty(store.Local())
		_, err := Copy(t.Context(), retrying(faulty), named(path), io.NewSectionReader(failingReader{source.err}, 0, 5))
		if !errors.Is(err, source.want) || faulty.Calls(storetest.Create) != 1 {
			t.Errorf("%v: error %v after %d tries", source.err, err, faulty.Calls(storetest.Create))
		}
		nothingLeft(t, path, "%v", source.err)
	}
}

func TestFaults(t *testing.T) {
	out, sp, _ := sample(t)
	probe := storetest.NewFaulty(store.Local())
	if _, err := Write(t.Context(), probe, named(filepath.Join(t.TempDir(), "f")), out, sp); err != nil {
		t.Fatal(err)
	}
	failed := 0
	for _, op := range storetest.Ops {
		for n := 1; n <= probe.Calls(op); n++ {
			for _, late := range []bool{false, true} {
				failed++
				fault := storetest.Fault{Op: op, N: n, Err: syscall.EIO, Late: late}
				path := filepath.Join(t.TempDir(), "f")
				_, err := Write(t.Context(), storetest.NewFaulty(store.Local(), fault), named(path), out, sp)
				if !errors.Is(err, syscall.EIO) || store.Classify(err) != store.Retryable {
					t.Errorf("%+v: got %v", fault, err)
				}
				left, _ := os.ReadDir(filepath.Dir(path))
				// If Create fails late, Write does not know its file and leaves it.
				if op == storetest.Create && late {
					if len(left) != 1 {
						t.Errorf("%+v: left %v", fault, left)
					}
				} else if len(left) != 0 {
					t.Errorf("%+v: left %v", fault, left)
				}
			}
		}
	}
	if failed < 2*(1+3+1+1+4) {
		t.Errorf("only %d faults were tried", failed)
	}
}

// TestPatienceCountsOnce makes one kind of operation always fail: an upload does not wait
// longer than one operation.
func TestPatienceCountsOnce(t *testing.T) {
	out, sp, _ := sample(t)
	for _, op := range []storetest.Op{storetest.Create, storetest.Open, storetest.ReadAt} {
		var waited time.Duration
		p := store.Patience{Limit: time.Minute, Sleep: func(_ context.Context, d time.Duration) error {
			waited += d
			return nil
		}}
		st := store.WithRetry(storetest.NewFaulty(store.Local(), storetest.Fault{Op: op, Err: syscall.EIO}), p)
		_, err := Write(t.Context(), st, named(filepath.Join(t.TempDir(), "f")), out, sp)
		if !errors.Is(err, syscall.EIO) || waited != p.Limit {
			t.Errorf("%s: waited %s, want %s: %v", op, waited, p.Limit, err)
		}
	}
}

func TestRemovalFailsToo(t *testing.T) {
	out, sp, _ := sample(t)
	path := filepath.Join(t.TempDir(), "f")
	st := storetest.NewFaulty(store.Local(),
		storetest.Fault{Op: storetest.ReadAt, N: 1, Err: syscall.EIO},
		storetest.Fault{Op: storetest.Remove, Err: syscall.ENOSPC})
	_, err := Write(t.Context(), st, named(path), out, sp)
	if !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), syscall.ENOSPC.Error()) {
		t.Errorf("got %v, want the first error and the text of the second", err)
	}
}

func TestSilentCorruption(t *testing.T) {
	out, sp, _ := sample(t)
	for _, fault := range []storetest.Fault{{Op: storetest.Write, N: 2}, {Op: storetest.ReadAt, N: 1}, {Op: storetest.ReadAt, N: 4}} {
		path := filepath.Join(t.TempDir(), "f")
		_, err := Write(t.Context(), storetest.NewFaulty(store.Local(), fault), named(path), out, sp)
		if !errors.Is(err, store.ErrMismatch) {
			t.Errorf("%+v: got %v", fault, err)
		}
		nothingLeft(t, path, "%+v", fault)
	}
}

// TestCanceled cancels the context at the n-th call of Open or Write.
func TestCanceled(t *testing.T) {
	out, sp, _ := sample(t)
	for n := 1; n <= 5; n++ {
		ctx, cancel := context.WithCancel(t.Context())
		path := filepath.Join(t.TempDir(), "f")
		calls := 0
		st := storetest.Inject(store.Local(), func(c *storetest.Call) error {
			if c.Op == storetest.Open || c.Op == storetest.Write {
				if calls++; calls == n {
					cancel()
				}
			}
			return c.Do()
		})
		_, err := Write(ctx, st, named(path), out, sp)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("stopped at call %d: %v", n, err)
		}
		nothingLeft(t, path, "stopped at call %d", n)
		cancel()
	}
}

// deafStore is a store that ignores contexts. It cancels one at the n-th call to a
// writer.
type deafStore struct {
	store.Store
	n, calls int
	cancel   context.CancelFunc
}

func (d *deafStore) call() {
	if d.calls++; d.calls == d.n {
		d.cancel()
	}
}

func (d *deafStore) Open(ctx context.Context, path string) (store.File, error) {
	return d.Store.Open(context.WithoutCancel(ctx), path)
}

func (d *deafStore) Create(ctx context.Context, path string, o store.CreateOptions) (store.Writer, error) {
	w, err := d.Store.Create(context.WithoutCancel(ctx), path, o)
	return &deafWriter{w, d}, err
}

type deafWriter struct {
	store.Writer
	d *deafStore
}

func (w *deafWriter) Write(p []byte) (int, error) {
	w.d.call()
	return w.Writer.Write(p)
}

func (w *deafWriter) ReadFrom(r io.Reader) (int64, error) {
	w.d.call()
	return w.Writer.(io.ReaderFrom).ReadFrom(r)
}

func (w *deafWriter) Commit(ctx context.Context) error {
	return w.Writer.Commit(context.WithoutCancel(ctx))
}

// TestCanceledOnDeafStore cancels an upload on a store that ignores contexts.
func TestCanceledOnDeafStore(t *testing.T) {
	out, sp, _ := sample(t)
	st := &deafStore{Store: store.Local()}
	if _, err := Write(t.Context(), st, named(filepath.Join(t.TempDir(), "f")), out, sp); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= st.calls; n++ {
		ctx, cancel := context.WithCancel(t.Context())
		path := filepath.Join(t.TempDir(), "f")
		st := &deafStore{Store: store.Local(), n: n, cancel: cancel}
		_, err := Write(ctx, st, named(path), out, sp)
		if !errors.Is(err, context.Canceled) || st.calls != n {
			t.Errorf("canceled in call %d: %v after call %d", n, err, st.calls)
		}
		nothingLeft(t, path, "canceled in call %d", n)
	}
}

// A file that ends early is an error, even if its size is right.
func TestShortFile(t *testing.T) {
	out, sp, _ := sample(t)
	short := storetest.Inject(store.Local(), func(c *storetest.Call) error {
		if c.Op != storetest.ReadAt || c.Offset < out.Size/2 {
			return c.Do()
		}
		return io.EOF
	})
	_, err := Write(t.Context(), short, named(filepath.Join(t.TempDir(), "f")), out, sp)
	if !errors.Is(err, store.ErrMismatch) || !strings.Contains(err.Error(), "ends after") {
		t.Errorf("got %v", err)
	}
}

// grownFile is a file with one byte more than was written.
type grownFile struct{ store.File }

func (f grownFile) Size() int64 { return f.File.Size() + 1 }

func TestLongFile(t *testing.T) {
	out, sp, _ := sample(t)
	path := filepath.Join(t.TempDir(), "f")
	growing := storetest.Inject(store.Local(), func(c *storetest.Call) error {
		err := c.Do()
		if c.Op == storetest.Open {
			c.File = grownFile{c.File}
		}
		return err
	})
	if _, err := Write(t.Context(), growing, named(path), out, sp); !errors.Is(err, store.ErrMismatch) {
		t.Errorf("got %v", err)
	}
	nothingLeft(t, path, "a byte more")
}

func TestBadOutputs(t *testing.T) {
	_, sp, _ := sample(t)
	tests := map[string]struct {
		out     format.Output
		sp      *spill.Spill
		creates int // files
	}{
		"size too large":      {format.Output{Size: 4, Pieces: []format.Piece{format.Literal([]byte("abc"))}}, sp, 0},
		"size too small":      {format.Output{Size: 2, Pieces: []format.Piece{format.Literal([]byte("abc"))}}, sp, 0},
		"literal's length":    {format.Output{Size: 4, Pieces: []format.Piece{{Literal: []byte("abc"), Column: -1, Length: 4}}}, sp, 0},
		"nothing spilled":     {format.Output{Size: 1, Pieces: []format.Piece{format.Spilled(0, 0, 1)}}, nil, 0},
		"beyond the column":   {format.Output{Size: 2, Pieces: []format.Piece{format.Spilled(0, 699_999, 2)}}, sp, 1},
		"negative length":     {format.Output{Size: -1, Pieces: []format.Piece{format.Spilled(0, 0, -1)}}, sp, 1},
		"lengths that cancel": {format.Output{Size: 0, Pieces: []format.Piece{format.Spilled(0, 0, 1), format.Spilled(0, 0, -1)}}, sp, 1},
	}
	for name, tt := range tests {
		path := filepath.Join(t.TempDir(), "f")
		st := storetest.NewFaulty(store.Local())
		if _, err := Write(t.Context(), st, named(path), tt.out, tt.sp); err == nil {
			t.Errorf("%s: got no error", name)
		}
		if n := st.Calls(storetest.Create); n != tt.creates {
			t.Errorf("%s: %d files were created, want %d", name, n, tt.creates)
		}
		nothingLeft(t, path, "%s", name)
	}
}

func TestMemory(t *testing.T) {
	out, sp, _ := sample(t)
	path := filepath.Join(t.TempDir(), "f")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Write(t.Context(), store.Local(), named(path), out, sp)
	runtime.ReadMemStats(&after)
	testenv.Must(t, err)
	if n := after.TotalAlloc - before.TotalAlloc; n > BufferSize+64<<10 {
		t.Errorf("writing an output of %d bytes allocated %d", out.Size, n)
	}
}
