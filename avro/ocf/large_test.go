package ocf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// Large blocks, which are written separately, have the same form in the file as others.
func TestWriterOfLargeBlocks(t *testing.T) {
	for _, codec := range []string{"null", "snappy", "deflate", "zstandard"} {
		var out bytes.Buffer
		w, err := NewWriter(&out, `"bytes"`, codec, testSync)
		testenv.Must(t, err)
		var blocks []testBlock
		for i, size := range []int{5, largeBlock - 1, largeBlock, largeBlock + 1, 0, 5 << 18, 100} {
			blocks = append(blocks, testBlock{int64(i), noise(uint64(i), size)})
		}
		for i, b := range blocks {
			start := out.Len()
			testenv.Must(t, w.AppendBlock(b.rows, b.data))
			if codec != codecNull {
				continue
			}
			want := binary.AppendVarint(binary.AppendVarint(nil, b.rows), int64(len(b.data)))
			want = append(append(want, b.data...), testSync[:]...)
			if !bytes.Equal(out.Bytes()[start:], want) {
				t.Errorf("block %d of %d bytes is written as %d different bytes", i, len(b.data), out.Len()-start)
			}
		}
		file := out.Bytes()
		s := scanner(mustHeader(t, file), file, Range{0, int64(len(file))})
		d := newDecoder(t, codec, 1<<30)
		var b Block
		for i, want := range blocks {
			if err := s.Next(t.Context(), &b); err != nil {
				t.Fatalf("%s, block %d: %v", codec, i, err)
			}
			if got, err := d.Decode(nil, &b, "f.avro"); err != nil || b.Rows != want.rows || !bytes.Equal(got, want.data) {
				t.Errorf("%s, block %d: %d rows, %d bytes, %v", codec, i, b.Rows, len(got), err)
			}
		}
		if err := s.Next(t.Context(), &b); !errors.Is(err, io.EOF) {
			t.Errorf("%s, after the last block: %v", codec, err)
		}
	}
}

// The writer does not keep the memory of a large block for small blocks after it.
func TestWriterForgetsLargeBlocks(t *testing.T) {
	w, err := NewWriter(io.Discard, `"bytes"`, "null", testSync)
	testenv.Must(t, err)
	for _, size := range []int{3 << 20, 10} {
		testenv.Must(t, w.AppendBlock(1, make([]byte, size)))
		if n := w.encoder.stored.Cap() + cap(w.out); n > 1<<10 {
			t.Errorf("%d bytes are kept after a block of %d", n, size)
		}
	}
}

func TestWriterOfLargeBlocksPoisoned(t *testing.T) {
	large := make([]byte, largeBlock+1)
	for left := range 4 { // writes of the head, the data and the marker
		out := &brokenWriter{left: 1}
		w, err := NewWriter(out, `"bytes"`, "null", testSync)
		testenv.Must(t, err)
		out.left = left
		first := w.AppendBlock(1, large)
		if failed := left < 3; failed != errors.Is(first, errBroken) || !failed && first != nil {
			t.Fatalf("%d writes: %v", left, first)
		} else if !failed {
			continue
		}
		out.left = 9
		for _, data := range [][]byte{large, nil} {
			if err := w.AppendBlock(1, data); !errors.Is(err, first) || out.left != 9 {
				t.Errorf("after a failed write: %v, and %d writes", err, 9-out.left)
			}
		}
	}
}

// The bound covers the memory that the writer holds for a block.
func TestEncodedBound(t *testing.T) {
	for _, codec := range append([]string{""}, allCodecs...) {
		for _, data := range [][]byte{noise(1, 1000), words(2, 1000), words(4, 30_000), make([]byte, 100_000), noise(5, 70_001)} {
			var out bytes.Buffer
			w, err := NewWriter(&out, `"bytes"`, codec, testSync)
			testenv.Must(t, err)
			head := out.Len()
			testenv.Must(t, w.AppendBlock(1, data))
			bound := EncodedBound(codec, int64(len(data)))
			if n := int64(out.Len() - head - SyncSize - 2*maxVarint); n > bound {
				t.Errorf("%q: %d bytes become %d, more than %d", codec, len(data), n, bound)
			}
			if bound > 3*int64(len(data))+2<<10 {
				t.Errorf("%q: a bound of %d for %d bytes", codec, bound, len(data))
			}
		}
	}
}

// maxCap records the largest capacity of the written slices.
type maxCap int

func (w *maxCap) Write(p []byte) (int, error) {
	*w = max(*w, maxCap(cap(p)))
	return len(p), nil
}

// The bound also covers the memory of large blocks, which may exceed their bytes.
func TestEncodedBoundOfMemory(t *testing.T) {
	for _, codec := range []string{"null", "snappy", "deflate", "zstandard"} {
		var memory maxCap
		w, err := NewWriter(&memory, `"bytes"`, codec, testSync)
		testenv.Must(t, err)
		for i, size := range []int{largeBlock + 1, 2 << 20, 3<<20 + 7} {
			memory = 0
			testenv.Must(t, w.AppendBlock(1, noise(uint64(i), size)))
			// The allocator rounds up.
			if bound := EncodedBound(codec, int64(size)); int64(memory) > bound+bound/64 || int(memory) < size {
				t.Errorf("%s: %d bytes take %d, more than %d", codec, size, memory, bound)
			}
		}
	}
}

func TestCheckEnd(t *testing.T) {
	file := writeFile(t, "null", manyBlocks(20)...)
	s := scanner(mustHeader(t, file), file, Range{0, int64(len(file))})
	for i := range 20 {
		var b Block
		for range 2 {
			if err := s.CheckEnd(t.Context()); err != nil {
				t.Fatalf("block %d: %v", i, err)
			}
		}
		if err := s.Next(t.Context(), &b); err != nil || b.Rows != int64(i) {
			t.Fatalf("block %d: %d rows, %v", i, b.Rows, err)
		}
	}
	if err := s.CheckEnd(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("after the last block: %v", err)
	}
}

// CheckEnd and Next fail on the same blocks, and Resync skips these in the same way.
func TestCheckEndOfDamage(t *testing.T) {
	good := writeFile(t, "null", testBlock{1, []byte("good")})
	tail := long(3) + long(5) + "after" + sync16
	for _, c := range []struct {
		name, bad string
		kind      damage.Kind
		offset    int64 // from the start of the bad block
	}{
		{"size too small", long(2) + long(1) + "xyz" + sync16, damage.Sync, 3},
		{"size too large", long(2) + long(9) + "xyz" + sync16, damage.Sync, 11},
		{"size beyond the end", long(2) + long(1<<40) + "xyz" + sync16, damage.Truncated, 1},
		{"negative size", long(2) + long(-7) + sync16, damage.Size, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := append(bytes.Clone(good), c.bad+tail...)
			at := int64(len(good))
			var errs []error
			for _, call := range []func(s *Scanner) error{
				func(s *Scanner) error { return s.CheckEnd(t.Context()) },
				func(s *Scanner) error { return s.Next(t.Context(), new(Block)) },
			} {
				s := scanner(mustHeader(t, file), file, Range{0, int64(len(file))})
				var b Block
				testenv.Must(t, s.Next(t.Context(), &b))
				err := call(s)
				wantDamage(t, err, c.kind, at+c.offset)
				errs = append(errs, err)
				for _, again := range []error{s.CheckEnd(t.Context()), s.Next(t.Context(), &b)} {
					if !errors.Is(again, err) {
						t.Errorf("damage was not sticky: %v", again)
					}
				}
				lost, err := s.Resync(t.Context())
				if want := (Range{at, at + int64(len(c.bad))}); err != nil || lost != want {
					t.Errorf("lost %v, want %v: %v", lost, want, err)
				}
				if err := s.CheckEnd(t.Context()); err != nil {
					t.Errorf("after Resync: %v", err)
				}
				if err := s.Next(t.Context(), &b); err != nil || string(b.Data) != "after" {
					t.Errorf("after Resync: %q, %v", b.Data, err)
				}
			}
			if errs[0].Error() != errs[1].Error() {
				t.Errorf("CheckEnd: %v; Next: %v", errs[0], errs[1])
			}
		})
	}
}

// A failing disk is not damage, and CheckEnd may be called again.
func TestCheckEndIOError(t *testing.T) {
	file := writeFile(t, "null", testBlock{1, noise(1, 3<<20)})
	boom := errors.New("boom")
	for fail := 1; fail < 3; fail++ {
		s := NewScanner(&flaky{r: bytes.NewReader(file), fail: fail, err: boom}, int64(len(file)), "f.avro", mustHeader(t, file), Range{0, int64(len(file))})
		if err := s.CheckEnd(t.Context()); !errors.Is(err, boom) || isDamage(err) {
			t.Errorf("read %d failed: %v", fail, err)
		}
		if err := s.CheckEnd(t.Context()); err != nil {
			t.Errorf("again after read %d failed: %v", fail, err)
		}
	}
}
