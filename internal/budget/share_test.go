package budget

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

const mib = 1 << 20

// newShare reserves size bytes for a share. It also returns a function that ends both.
func newShare(t *testing.T, p *Pool, size int64) (*Share, func()) {
	t.Helper()
	testenv.Must(t, p.Reserve(size))
	s := p.NewShare(size)
	return s, func() {
		s.Close()
		p.Release(size)
	}
}

// mustTake is Take that must succeed.
func mustTake(t *testing.T, s *Share, n int) []byte {
	t.Helper()
	b, err := s.Take(t.Context(), n)
	if err != nil || len(b) < n {
		t.Fatalf("got %d of %d bytes: %v", len(b), n, err)
	}
	b[0], b[n-1] = 1, 1
	return b
}

// wantLeft fails the test unless want bytes are left in the pool.
func wantLeft(t *testing.T, p *Pool, want int64, when string) {
	t.Helper()
	if got := p.Available(); got != want {
		t.Errorf("%s: left %d, want %d", when, got, want)
	}
}

// The size of a piece is at least the requested size and not much more. Rounding it up
// again does not change it.
func TestSizesOfPieces(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	sizes := []int{0, 1, minPiece - 1, minPiece, minPiece + 1, minSystemPiece - 1, minSystemPiece, minSystemPiece + 1, minMebibytePiece - 1, minMebibytePiece, minMebibytePiece + 1}
	for range 100_000 {
		sizes = append(sizes, r.IntN(1<<(1+r.IntN(30))))
	}
	for _, n := range sizes {
		got := roundUp(n)
		most := max(minPiece, n+n/4)
		if n >= minMebibytePiece {
			most = n + mib - 1
		}
		if got < n || got < minPiece || got > most || roundUp(got) != got || got > roundUp(n+1) {
			t.Fatalf("%d bytes: got %d, rounded again %d; one byte more: %d", n, got, roundUp(got), roundUp(n+1))
		}
	}
}

func TestPiecesAreUsedAgain(t *testing.T) {
	for _, n := range []int{1, 10_000, minSystemPiece, 3 * mib} {
		p := New(64 * mib)
		s, end := newShare(t, p, int64(2*roundUp(n)))
		a, b := s.Try(n), s.Try(n)
		if len(a) < n || len(b) < n || &a[0] == &b[0] {
			t.Fatalf("got %d and %d bytes, or the same piece", len(a), len(b))
		}
		if c := s.Try(n); c != nil {
			t.Errorf("got a third piece of %d bytes", len(c))
		}
		s.Give(a[:n/2]) // a part stands for the piece
		if c := s.Try(roundUp(n)); len(c) != len(a) || &c[0] != &a[0] {
			t.Errorf("got %d bytes, or not the free piece", len(c))
		}
		s.Give(nil)
		wantLeft(t, p, p.Size()-int64(2*roundUp(n)), "in use")
		end()
		wantLeft(t, p, p.Size(), "at the end")
	}
}

// Free pieces of other sizes are dropped to make room.
func TestFreePiecesAreDropped(t *testing.T) {
	for _, n := range []int{64 << 10, mib} {
		p := New(64 * mib)
		s, end := newShare(t, p, int64(4*n))
		var all [][]byte
		for range 4 {
			all = append(all, mustTake(t, s, n))
		}
		for _, b := range all[:3] {
			s.Give(b)
		}
		if b := s.Try(4 * n); b != nil {
			t.Error("got the whole share while a piece is in use")
		}
		if b := s.Try(3 * n); len(b) < 3*n {
			t.Errorf("got %d bytes in place of free pieces, want %d", len(b), 3*n)
		}
		if b := s.Try(1); b != nil {
			t.Errorf("got a piece of %d bytes beyond the share", len(b))
		}
		wantLeft(t, p, p.Size()-int64(4*n), "within the share")
		end()
		wantLeft(t, p, p.Size(), "at the end")
	}
}

// Pieces that do not fit the share are taken from the pool while they are in use.
func TestTakeBeyondTheShare(t *testing.T) {
	p := New(20 * mib)
	s, end := newShare(t, p, 2*mib)
	small := mustTake(t, s, mib)
	wantLeft(t, p, 18*mib, "within the share")
	large := mustTake(t, s, 8*mib)
	wantLeft(t, p, 11*mib, "with 9 MiB")
	second := mustTake(t, s, 8*mib) // in the same turn
	wantLeft(t, p, 3*mib, "with 17 MiB")
	if b := s.Try(mib); b != nil {
		t.Errorf("Try gave %d bytes beyond the share", len(b))
	}
	_, err := s.Take(t.Context(), 5*mib)
	wantError(t, err, 22*mib, 20*mib)
	wantLeft(t, p, 3*mib, "after an error")
	s.Give(large)
	wantLeft(t, p, 11*mib, "with 9 MiB again")
	s.Give(second)
	wantLeft(t, p, 18*mib, "within the share again")
	if len(p.turn) != 1 {
		t.Error("the turn has not ended")
	}
	s.Give(small)
	if again := mustTake(t, s, mib); &again[0] != &small[0] {
		t.Error("a piece within the share was not kept")
	}
	end()
	wantLeft(t, p, 20*mib, "at the end")
}

// An error ends the turn, and keeps the pieces of the share.
func TestErrorEndsTheTurn(t *testing.T) {
	p := New(20 * mib)
	s, end := newShare(t, p, 2*mib)
	other, endOther := newShare(t, p, 2*mib)
	kept := mustTake(t, s, mib)
	_, err := s.Take(t.Context(), 18*mib)
	wantError(t, err, 21*mib, 20*mib)
	wantLeft(t, p, 16*mib, "after the error")
	for _, of := range []*Share{other, s} {
		b := mustTake(t, of, 16*mib) // hangs if the turn has not ended
		of.Give(b)
		wantLeft(t, p, 16*mib, "after a large piece")
	}
	if s.Give(kept); &mustTake(t, s, mib)[0] != &kept[0] {
		t.Error("the share lost its piece after an error")
	}
	end()
	endOther()
	wantLeft(t, p, 20*mib, "at the end")
}

func TestSharesTakeTurns(t *testing.T) {
	for name, give := range map[string]func(s *Share, large []byte){
		"Give":  (*Share).Give,
		"Close": func(s *Share, _ []byte) { s.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := New(20 * mib)
				first, end := newShare(t, p, 2*mib)
				second, endSecond := newShare(t, p, 2*mib)
				large := mustTake(t, first, 10*mib)
				var got []byte
				go func() {
					var err error
					if got, err = second.Take(t.Context(), 4*mib); err != nil {
						t.Error(err)
					}
				}()
				synctest.Wait()
				if got != nil {
					t.Error("two shares have the turn")
				}
				if b := second.Try(mib); b == nil {
					t.Error("no room in a share that waits for the turn")
				} else {
					second.Give(b)
				}
				give(first, large)
				synctest.Wait()
				if len(got) < 4*mib {
					t.Errorf("got %d bytes after the turn of the other share", len(got))
				}
				wantLeft(t, p, 14*mib, "in the second turn")
				end()
				endSecond()
				wantLeft(t, p, 20*mib, "at the end")
			})
		})
	}
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(20 * mib)
		first, end := newShare(t, p, 2*mib)
		second, endSecond := newShare(t, p, 2*mib)
		large := mustTake(t, first, 10*mib)
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("canceled by the test")
		var err error
		go func() {
			var b []byte
			if b, err = second.Take(ctx, 10*mib); b != nil {
				t.Errorf("got %d bytes", len(b))
			}
		}()
		synctest.Wait()
		if err != nil {
			t.Errorf("before the cancellation: got error %v", err)
		}
		cancel(cause)
		synctest.Wait()
		if !errors.Is(err, cause) {
			t.Errorf("got error %v, want %v", err, cause)
		}
		if b, err := second.Take(ctx, mib); len(b) < mib || err != nil {
			t.Errorf("within the share: got %d bytes, %v", len(b), err)
		}
		first.Give(large)
		if len(p.turn) != 1 {
			t.Error("the turn has not ended")
		}
		end()
		endSecond()
		wantLeft(t, p, 20*mib, "at the end")
	})
}

// Concurrent workers take and return pieces: each piece belongs to one worker, the pool is
// never exceeded, and all memory is returned.
func TestSharesOfManyWorkers(t *testing.T) {
	const workers, share = 4, 256 << 10
	p := New(workers*share + 2*mib)
	var running sync.WaitGroup
	for w := range workers {
		s, end := newShare(t, p, share)
		running.Go(func() {
			defer end()
			r := rand.New(rand.NewPCG(uint64(w), 2))
			var held [][]byte
			for range 300 {
				for _, b := range held {
					if b[0] != byte(w) || b[len(b)-1] != byte(w) {
						t.Error("a piece belongs to two workers")
					}
				}
				var b []byte
				if r.IntN(8) > 0 {
					b = s.Try(r.IntN(share / 2))
				} else {
					for _, b := range held { // Take requires it
						s.Give(b)
					}
					held = nil
					var err error
					if b, err = s.Take(t.Context(), r.IntN(2*mib)); err != nil {
						t.Error(err)
					}
				}
				if b != nil {
					b[0], b[len(b)-1] = byte(w), byte(w)
					held = append(held, b)
				}
				if len(held) > 0 && (b == nil || r.IntN(2) == 0) {
					last := len(held) - 1
					s.Give(held[last])
					held = held[:last]
				}
				if left := p.Available(); left < 0 {
					t.Errorf("left %d", left)
				}
			}
		})
	}
	running.Wait()
	wantLeft(t, p, p.Size(), "at the end")
	if len(p.turn) != 1 {
		t.Error("the turn has not ended")
	}
}
