package dataset

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/store"
)

const testBlock = 64 << 10

// slowFile is a stored file whose reads a test can hold and fail.
type slowFile struct {
	store.File // nil

	mu    sync.Mutex
	reads []span // of all reads
	holds func(off int64) bool
	held  int
	gate  chan struct{} // closed to release the held reads
	fails func(off int64) (bytes int, err error, failed bool)
}

func newSlowFile() (*slowFile, *file) {
	s := &slowFile{gate: make(chan struct{})}
	return s, &file{name: "slow", size: 1 << 40, pool: budget.NewFiles(1), open: func() (store.File, error) { return s, nil }}
}

func (s *slowFile) Size() int64 { return 1 << 40 }

func (s *slowFile) ReadAt(p []byte, off int64) (n int, err error) {
	s.mu.Lock()
	s.reads = append(s.reads, span{off, off + int64(len(p))})
	fails, gate, hold := s.fails, s.gate, s.holds != nil && s.holds(off)
	if hold {
		s.held++
	}
	s.mu.Unlock()
	if hold {
		<-gate
	}
	n = len(p)
	if fails != nil {
		if got, reason, failed := fails(off); failed {
			n, err = got, reason
		}
	}
	content(p[:n], off)
	return n, err
}

// content fills p with the content of the file at an offset.
func content(p []byte, off int64) {
	for len(p) > 0 {
		n := copy(p, noise[off%int64(len(noise)):])
		p, off = p[n:], off+int64(n)
	}
}

var noise = func() []byte {
	b, rng := make([]byte, 1<<20-3), rand.New(rand.NewPCG(1, 2))
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}()

// hold makes reads wait if which returns true for their offset.
func (s *slowFile) hold(which func(off int64) bool) {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds = which
}

// release lets the held reads continue.
func (s *slowFile) release() {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.gate)
	s.gate, s.holds, s.held = make(chan struct{}), nil, 0
}

// waiting returns how many reads are held once all goroutines wait.
func (s *slowFile) waiting() int {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}

// count returns how often a byte was read, and how many bytes were read in total.
func (s *slowFile) count(off int64) (n int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.reads {
		if off >= r.from && off < r.to {
			n++
		}
		bytes += r.to - r.from
	}
	return n, bytes
}

// columnReader reads a column block by block.
type columnReader struct {
	t        *testing.T
	a        *ahead
	in       *file
	col      int
	off, end int64
}

// next reads the next block.
func (r *columnReader) next() {
	r.t.Helper()
	if err := r.try(); err != nil {
		r.t.Fatalf("column %d at %d: %v", r.col, r.off, err)
	}
}

// try reads the next block and checks the bytes that were read.
func (r *columnReader) try() error {
	r.t.Helper()
	p := make([]byte, min(testBlock, r.end-r.off))
	n, err := r.a.readBlock(r.in, r.col, p, r.off, r.end)
	want := make([]byte, n)
	if content(want, r.off); !bytes.Equal(p[:n], want) {
		r.t.Fatalf("column %d at %d: wrong bytes", r.col, r.off)
	}
	if err == nil {
		r.off += int64(n)
	}
	return err
}

// kept returns the pieces of the column.
func (r *columnReader) kept() []*piece {
	r.a.mu.Lock()
	defer r.a.mu.Unlock()
	return slices.Clone(r.a.of(columnID{r.in, r.col}).kept)
}

// following returns a piece that begins after the last block, or nil.
func (r *columnReader) following() *piece {
	for _, q := range r.kept() {
		if q.start >= r.off {
			return q
		}
	}
	return nil
}

// toBackground reads blocks until a piece is read in the background, and returns
// the end of that piece.
func (r *columnReader) toBackground() int64 {
	r.t.Helper()
	for range 100 {
		r.next()
		if q := r.following(); q != nil {
			synctest.Wait()
			return q.end()
		}
	}
	r.t.Fatal("no piece is read in the background")
	return 0
}

// aloneAhead returns an ahead of its own pieces.
func aloneAhead(t *testing.T) *ahead { return newAhead(t.Context(), newPieces(nil)) }

// A piece is read while the one before it is consumed. A columnReader that needs it waits
// for it. The first one or two blocks cause at most a small piece.
func TestPiecesOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, in := newSlowFile()
		r := &columnReader{t, aloneAhead(t), in, 0, 1000, 20 << 20}
		r.next()
		r.next()
		if want := []span{{1000, 1000 + testBlock}, {1000 + testBlock, 1000 + 3*testBlock}}; !slices.Equal(s.reads, want) {
			t.Errorf("two blocks took reads of %v, want %v", s.reads, want)
		}
		held := r.toBackground()
		s.hold(func(off int64) bool { return off == held })
		for r.off+testBlock <= held {
			r.next()
		}
		if s.waiting() != 1 {
			t.Fatal("no read is running while blocks are consumed")
		}
		var err error
		ended := make(chan struct{})
		go func() {
			err = r.try()
			close(ended)
		}()
		synctest.Wait()
		select {
		case <-ended:
			t.Errorf("a block was returned before its piece was read: %v", err)
		default:
		}
		s.release()
		if <-ended; err != nil {
			t.Error(err)
		}
		for r.off < r.end {
			r.next()
		}
		r.a.pieces.close()
		for off := int64(1000); off < r.end; off += 500 {
			if n, _ := s.count(off); n != 1 {
				t.Fatalf("the byte at %d was read %d times", off, n)
			}
		}
		if _, bytes := s.count(0); bytes != r.end-1000 || r.a.bytesRead() != bytes || r.a.held != 0 {
			t.Errorf("%d bytes read of %d, %d held", bytes, r.end-1000, r.a.held)
		}
	})
}

// The error of a read in the background is returned to the columnReader of these bytes,
// without another read. Bytes before it are returned, and later reads succeed.
func TestPieceFails(t *testing.T) {
	failure := errors.New("it failed")
	for _, got := range []int{0, 3*testBlock + 100} {
		for reason, want := range map[error]error{failure: failure, nil: io.ErrUnexpectedEOF, io.EOF: io.EOF} {
			synctest.Test(t, func(t *testing.T) {
				s, in := newSlowFile()
				r := &columnReader{t, aloneAhead(t), in, 0, 1, 20 << 20}
				bad := r.toBackground()
				s.fails = func(off int64) (int, error, bool) { return got, reason, off == bad }
				for r.off+testBlock <= bad+int64(got) {
					r.next()
				}
				if err := r.try(); err != want {
					t.Errorf("%d bytes, then %v: %v", got, reason, err)
				}
				if n, _ := s.count(bad + int64(got)); n != 1 {
					t.Errorf("%d bytes, then %v: the storage was read %d times", got, reason, n)
				}
				s.fails = nil
				for r.off < r.end {
					r.next()
				}
				r.a.pieces.close()
			})
		}
	}
}

// A columnReader that seeks does not wait for a piece that was begun. The piece's memory is
// not reused before its read has ended.
func TestPieceIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, in := newSlowFile()
		r := &columnReader{t, aloneAhead(t), in, 0, 1, 60 << 20}
		held := r.toBackground()
		s.hold(func(off int64) bool { return off == held })
		for s.waiting() == 0 {
			r.next()
		}
		r.off = 40 << 20
		again := r.toBackground()
		if s.waiting() != 1 {
			t.Error("the held read has ended")
		}
		s.release() // the held read ends before the piece at the new offset is consumed
		synctest.Wait()
		for r.off < again+lonePiece {
			r.next()
		}
		r.off = r.end - 10
		r.next()
		r.a.pieces.close()
		if _, bytes := s.count(0); r.a.bytesRead() != bytes || r.a.held != 0 {
			t.Errorf("%d bytes read, counted otherwise; or %d held, want 0", bytes, r.a.held)
		}
	})
}

// A background place is taken while a read runs, not until its bytes are consumed. A
// column without a place is read when its bytes are needed.
func TestPlacesInBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, in := newSlowFile()
		a := aloneAhead(t)
		var all []*columnReader
		held := map[int64]bool{}
		for col := range 2 * piecesAhead {
			r := &columnReader{t, a, in, col, int64(col)<<30 + 1, int64(col)<<30 + 12<<20}
			all, held[r.toBackground()] = append(all, r), col < piecesAhead
		}
		s.hold(func(off int64) bool { return held[off] })
		for i, r := range all[:piecesAhead] {
			for s.waiting() == i {
				r.next()
			}
		}
		for _, r := range all[piecesAhead:] {
			for r.off < r.end {
				before := r.following()
				if r.next(); before == nil && r.following() != nil {
					t.Fatalf("%d reads in the background", piecesAhead+1)
				}
			}
		}
		s.release()
		for _, r := range all[:piecesAhead] {
			for r.off < r.end {
				r.next()
			}
		}
		a.pieces.close()
		if a.held != 0 {
			t.Errorf("%d bytes are held at the end", a.held)
		}
	})
}

// The memory of pieces is bounded for any number of columns and any order of reading
// them.
func TestPiecesAreBounded(t *testing.T) {
	const columns, size = 50, 4 << 20
	for name, test := range map[string]struct{ wanted, turn, total, least int }{
		"side by side":                          {columns, 1, size, 2 * testBlock},
		"side by side, without being announced": {0, 1, size, 2 * testBlock},
		"by many blocks":                        {columns, 9, size, 2 * testBlock},
		"one after the other":                   {0, size / testBlock, size, lonePiece / 2}, // then the column ends
		"one after the other, not to the end":   {0, size / testBlock, size + 8<<20, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testBound(t, columns, size, test.wanted, test.turn, test.total, test.least) })
		})
	}
}

// testBound reads size bytes of each column of total bytes, turn blocks of each in
// turn. Pieces of all columns must grow at least to least bytes.
func testBound(t *testing.T, columns, size, wanted, turn, total, least int) {
	_, in := newSlowFile()
	a := aloneAhead(t)
	a.wanted = wanted
	var all []*columnReader
	for col := range columns {
		at := int64(col)<<30 + 1
		all = append(all, &columnReader{t, a, in, col, at, at + int64(total)})
	}
	largest, most := make([]int, columns), int64(0)
	for range (size + turn*testBlock - 1) / (turn * testBlock) {
		for i, r := range all {
			for range turn {
				if r.off == r.end {
					break
				}
				r.next()
				for _, q := range r.kept() {
					largest[i] = max(largest[i], len(q.buf))
				}
				synctest.Wait()
				held := keptBytes(a.pieces)
				if held != a.held {
					t.Fatalf("%d bytes are held, %d counted", held, a.held)
				}
				most = max(most, held)
			}
		}
	}
	a.pieces.close()
	if most > readerBytes || slices.Min(largest) < least || slices.Max(largest) > lonePiece || wanted > 1 && slices.Max(largest) > pieceBytes {
		t.Errorf("%d bytes were held, pieces of %d to %d", most, slices.Min(largest), slices.Max(largest))
	}
}

// Blocks of any size, read in any order by several goroutines, have the right bytes, and
// all reads are counted.
func TestPiecesAtRandom(t *testing.T) {
	s, in := newSlowFile()
	a := aloneAhead(t)
	var wg sync.WaitGroup
	for seed := range uint64(4) {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(seed, 1))
			for range 25 {
				col := rng.Int64N(2)
				off, end, block := col<<30+rng.Int64N(30<<20), col<<30+30<<20, 1+rng.Int64N(1<<(10+rng.IntN(12)))
				for n := rng.IntN(60); n > 0 && off < end; n-- {
					p := make([]byte, min(block, end-off))
					if n, err := a.readBlock(in, int(col), p, off, end); n < len(p) || err != nil {
						t.Errorf("%d of %d bytes, %v", n, len(p), err)
					}
					want := make([]byte, len(p))
					if content(want, off); !bytes.Equal(p, want) {
						t.Error("wrong bytes")
					}
					if off += int64(len(p)); rng.IntN(10) == 0 {
						off += rng.Int64N(2 * block)
					}
				}
			}
		})
	}
	wg.Wait()
	a.pieces.close()
	if _, bytes := s.count(0); a.bytesRead() != bytes {
		t.Errorf("%d bytes read, counted otherwise", bytes)
	}
	if held := keptBytes(a.pieces); held != a.held || held > 4*pieceBytes+4*lonePiece {
		t.Errorf("%d bytes are held, %d counted", held, a.held)
	}
}

// keptBytes returns how many bytes the pieces have.
func keptBytes(s *pieces) (n int64) {
	for _, c := range s.kept {
		n += c.bytes()
	}
	return n
}
