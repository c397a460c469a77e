package budget

import (
	"context"
	"math"
	"math/bits"
	"sync"
)

const (
	// minPiece is the smallest size of a piece.
	minPiece = 4 << 10
	// minSystemPiece is the size from which pieces come from the system.
	minSystemPiece = 256 << 10
	// minMebibytePiece is the size from which pieces are rounded up to whole mebibytes.
	minMebibytePiece = 16 << 20
)

// Share is memory that one worker takes in pieces. Its methods are safe for concurrent
// use, except that only one goroutine may call Take and Close.
type Share struct {
	pool *Pool
	size int64 // bytes that the worker has reserved

	mu    sync.Mutex
	used  int64            // bytes of all pieces, free ones included
	extra int64            // bytes reserved beyond size during the turn
	turn  bool             // this share has the turn
	free  map[int][][]byte // pieces to be used again, by size
	large map[*byte][]byte // pieces from the system, free or not
}

// NewShare returns a share of size bytes, which its owner has reserved. A nil pool has no
// limit.
func (p *Pool) NewShare(size int64) *Share {
	if p == nil {
		p = New(math.MaxInt64)
	}
	return &Share{pool: p, size: size, free: make(map[int][][]byte), large: make(map[*byte][]byte)}
}

// Try returns a piece of at least n bytes with arbitrary content, or nil if the share has
// no room for it now.
func (s *Share) Try(n int) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, _ := s.piece(roundUp(n))
	return b
}

// Take returns a piece like Try. If the piece does not fit the share, Take waits for the turn. In
// the turn it can take all memory that is left in the pool. If that memory is not enough, Take
// returns an *Error. If ctx ends while Take waits, it returns the cause. Before a call, give back
// all pieces that are not needed.
func (s *Share) Take(ctx context.Context, n int) ([]byte, error) {
	size := roundUp(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := s.piece(size)
	if b != nil || err != nil {
		return b, err
	}
	if !s.turn {
		s.mu.Unlock()
		select {
		case <-s.pool.turn:
			s.mu.Lock()
		case <-ctx.Done():
			s.mu.Lock()
			return nil, context.Cause(ctx)
		}
		s.turn = true
	}
	s.dropFree(int64(size))
	if more := s.used + int64(size) - s.size - s.extra; more > 0 {
		err = s.pool.Reserve(more)
		if err == nil {
			s.extra += more
		}
	}
	if err == nil {
		b, err = s.piece(size)
	}
	s.returnExtra()
	return b, err
}

// Give returns a piece, which must not be used afterwards. It ignores nil.
func (s *Share) Give(b []byte) {
	if cap(b) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b = b[:cap(b)]
	s.free[len(b)] = append(s.free[len(b)], b)
	if s.turn {
		s.dropFree(0)
		s.returnExtra()
	}
}

// Close returns all pieces, including those in use.
func (s *Share) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.large {
		releasePages(b)
	}
	clear(s.large)
	clear(s.free)
	s.used = 0
	s.returnExtra()
}

// piece returns a free piece of a size, or a new piece if there is room for it. It returns nil if
// there is no room. The caller holds s.mu.
func (s *Share) piece(size int) ([]byte, error) {
	if last := len(s.free[size]) - 1; last >= 0 {
		b := s.free[size][last]
		s.free[size] = s.free[size][:last]
		return b, nil
	}
	s.dropFree(int64(size))
	//guard: bounds the memory taken from a share
	if s.used+int64(size) > s.size+s.extra {
		return nil, nil
	}
	b, err := s.allocate(size)
	if err == nil {
		s.used += int64(size)
	}
	return b, err
}

func (s *Share) allocate(size int) ([]byte, error) {
	if size < minSystemPiece {
		return make([]byte, size), nil
	}
	b, err := Pages(size)
	if err == nil {
		s.large[&b[0]] = b
	}
	return b, err
}

// dropFree releases free pieces until the share has room for more bytes, or no free piece is left.
// The caller holds s.mu.
func (s *Share) dropFree(more int64) {
	for size, pieces := range s.free {
		for s.used+more > s.size && len(pieces) > 0 {
			last := len(pieces) - 1
			if size >= minSystemPiece {
				delete(s.large, &pieces[last][0])
				releasePages(pieces[last])
			}
			pieces[last] = nil
			pieces = pieces[:last]
			s.used -= int64(size)
		}
		s.free[size] = pieces
	}
}

// returnExtra returns unused memory beyond the share to the pool, and ends the turn when
// the share has none of it left. The caller holds s.mu.
func (s *Share) returnExtra() {
	if !s.turn {
		return
	}
	extra := max(s.used-s.size, 0)
	s.pool.Release(s.extra - extra)
	if s.extra = extra; extra == 0 {
		s.turn = false
		s.pool.turn <- struct{}{}
	}
}

// roundUp returns the size of a piece for n bytes. There are only four sizes between a
// power of two and the next, so that pieces can be used again.
func roundUp(n int) int {
	switch {
	case n <= minPiece:
		return minPiece
	case n >= minMebibytePiece:
		return (n + 1<<20 - 1) &^ (1<<20 - 1)
	}
	step := 1 << (bits.Len(uint(n-1)) - 3)
	return (n + step - 1) &^ (step - 1)
}
