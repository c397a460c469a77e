package budget

import (
	"context"
	"math"
	"math/bits"
	"sync"
)

const (
	// leastPiece is the smallest size of pieces.
	leastPiece = 4 << 10
	// fromSystem is the size from which pieces are the system's.
	fromSystem = 256 << 10
	// exact is the size from which pieces are rounded up only to whole mebibytes.
	exact = 16 << 20
)

// Share is memory that one worker takes in pieces. Its methods may be called
// concurrently, but Take and Close by one goroutine only.
type Share struct {
	pool *Pool
	size int64 // that the worker has reserved

	mu    sync.Mutex
	used  int64            // bytes of all pieces, free ones included
	extra int64            // bytes reserved beyond size, for as long as this share has the turn
	turn  bool             // this share has it
	free  map[int][][]byte // pieces to be used again, by size
	large map[*byte][]byte // pieces of the system, free or not
}

// NewShare returns a share of so many bytes, which its owner has reserved. A nil pool
// has no limit.
func (p *Pool) NewShare(size int64) *Share {
	if p == nil {
		p = New(math.MaxInt64)
	}
	return &Share{pool: p, size: size, free: make(map[int][][]byte), large: make(map[*byte][]byte)}
}

// Try returns a piece of at least n bytes, whose content is anything, or nil if the
// share has no room for it now.
func (s *Share) Try(n int) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, _ := s.piece(rounded(n))
	return b
}

// Take is Try, but for a piece that does not fit the share it waits for the turn to
// take all that is left in the pool. The error is an *Error if that is not enough,
// or the context's. Whoever calls Take has given back before what it does not need.
func (s *Share) Take(ctx context.Context, n int) ([]byte, error) {
	size := rounded(n)
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
	s.drop(int64(size))
	if more := s.used + int64(size) - s.size - s.extra; more > 0 {
		err = s.pool.Reserve(more)
		if err == nil {
			s.extra += more
		}
	}
	if err == nil {
		b, err = s.piece(size)
	}
	s.settle()
	return b, err
}

// Give gives a piece back that must not be touched any more; nil is none.
func (s *Share) Give(b []byte) {
	if cap(b) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b = b[:cap(b)]
	s.free[len(b)] = append(s.free[len(b)], b)
	if s.turn {
		s.drop(0)
		s.settle()
	}
}

// Close gives all pieces back, those in use too.
func (s *Share) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.large {
		release(b)
	}
	clear(s.large)
	clear(s.free)
	s.used = 0
	s.settle()
}

// piece returns a free piece of a size, or a new one if there is room for it; nil
// if there is none. s.mu is held.
func (s *Share) piece(size int) ([]byte, error) {
	if last := len(s.free[size]) - 1; last >= 0 {
		b := s.free[size][last]
		s.free[size] = s.free[size][:last]
		return b, nil
	}
	s.drop(int64(size))
	//guard: bounds what is taken of a share
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
	if size < fromSystem {
		return make([]byte, size), nil
	}
	b, err := Pages(size)
	if err == nil {
		s.large[&b[0]] = b
	}
	return b, err
}

// drop gives free pieces up until there is room for more bytes. s.mu is held.
func (s *Share) drop(more int64) {
	for size, pieces := range s.free {
		for s.used+more > s.size && len(pieces) > 0 {
			last := len(pieces) - 1
			if size >= fromSystem {
				delete(s.large, &pieces[last][0])
				release(pieces[last])
			}
			pieces[last] = nil
			pieces = pieces[:last]
			s.used -= int64(size)
		}
		s.free[size] = pieces
	}
}

// settle ends the turn, if the share is not exceeded any more. s.mu is held.
func (s *Share) settle() {
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

// rounded returns the size of a piece for n bytes: of all sizes there are four
// between a power of two and the next, so that pieces can be used again.
func rounded(n int) int {
	switch {
	case n <= leastPiece:
		return leastPiece
	case n >= exact:
		return (n + 1<<20 - 1) &^ (1<<20 - 1)
	}
	step := 1 << (bits.Len(uint(n-1)) - 3)
	return (n + step - 1) &^ (step - 1)
}
