package dataset

import (
	"cmp"
	"context"
	"io"
	"math"
	"slices"
	"sort"
	"sync"

	"github.com/rowtocol/rowtocol/internal/budget"
)

// readerBytes bounds the bytes of the pieces of a part, for each of its readers.
const readerBytes = 32 << 20

// pieces are the ranges of the files of a part that are read at once, for all readers of the part.
// Readers read different rows at about the same time, so the pieces that were used last are kept.
type pieces struct {
	memory *budget.Heap
	most   int64          // most bytes of the pieces of one reader; two or more have twice as many
	active sync.WaitGroup // reads that run

	mu      sync.Mutex // guards the fields below
	readers int
	kept    map[columnID]*columnPieces
	uses    int64 // number of uses of all pieces
	held    int64 // bytes of all pieces
	ahead   int   // number of pieces that are being read before their bytes are needed
	read    int64 // bytes that were read since the last bytesRead
	closed  bool
}

// columnPieces are pieces of a column.
type columnPieces struct {
	kept []*piece
	// begun are the ranges of bytes of all pieces that were begun. One that was dropped is not begun
	// again, because other readers have consumed it: a reader that still needs a part of it reads
	// block by block.
	begun []span
}

// piece is a range of a file that is read at once.
type piece struct {
	start int64
	buf   []byte        // as long as the range
	done  chan struct{} // closed when the read has ended

	// pieces.mu guards the fields below.
	read    int   // number of bytes of buf that were read, once the read has ended
	err     error // why the rest was not read
	users   int   // number of readers that use the piece, and 1 while it is read
	last    int64 // number of its last use, or of the use before it was begun
	left    int64 // number of bytes that readers have not copied yet
	early   bool  // the piece was begun before its bytes were needed
	dropped bool  // the piece is no longer among those of its column
}

func newPieces(memory *budget.Heap) *pieces {
	return &pieces{memory: memory, most: memory.Available() / 4, kept: make(map[columnID]*columnPieces)}
}

func (s *pieces) addReader() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers++
}

func (s *pieces) removeReader() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers--
}

// limit returns the most bytes of all pieces. s.mu is held.
func (s *pieces) limit() int64 {
	return min(s.most*min(int64(s.readers), 2), readerBytes*int64(s.readers))
}

// of returns the pieces of a column. s.mu is held.
func (s *pieces) of(id columnID) *columnPieces {
	c := s.kept[id]
	if c == nil {
		c = new(columnPieces)
		s.kept[id] = c
	}
	return c
}

// at returns the piece that has the byte at an offset, or nil.
func (c *columnPieces) at(off int64) *piece {
	for _, q := range c.kept {
		if off >= q.start && off < q.end() {
			return q
		}
	}
	return nil
}

// room returns how many bytes from an offset on no piece has had.
func (c *columnPieces) room(off int64) int64 {
	i := sort.Search(len(c.begun), func(i int) bool { return c.begun[i].to > off })
	if i == len(c.begun) {
		return math.MaxInt64
	}
	return max(c.begun[i].from-off, 0)
}

// start starts to read a piece of at most size bytes at an offset. Older pieces are dropped, if those of
// the column take more than most bytes for each reader of the part. start returns nil if a piece at
// that offset was begun already, or if there is no memory for the piece. small says that the column is
// small. s.mu is held.
func (s *pieces) start(id columnID, off, size, most int64, small bool) *piece {
	c := s.of(id)
	size = min(size, c.room(off))
	if s.closed || size == 0 {
		return nil
	}
	q := &piece{start: off, done: make(chan struct{}), users: 1, last: s.uses, left: size}
	for len(c.kept) > 0 && c.bytes()+size > most*int64(s.readers) {
		s.free(q)
		q.buf = c.drop(c.oldest())
	}
	if !s.reserve(q, size) {
		s.free(q)
		return nil
	}
	c.kept = append(c.kept, q)
	c.begun = insertSpan(c.begun, span{off, off + size})
	s.active.Go(func() { s.fill(q, id.in, small) })
	return q
}

// startAhead is start for a piece whose bytes are not needed yet. It drops no piece that somebody may
// need, and reports whether the piece was started.
func (s *pieces) startAhead(id columnID, off, size, most int64) bool {
	c := s.of(id)
	if s.ahead >= piecesAhead || c.unread()+size > most*int64(s.readers) {
		return false
	}
	q := s.start(id, off, size, most, false)
	if q != nil {
		s.ahead, q.early = s.ahead+1, true
	}
	return q != nil
}

// bytes returns how many bytes the pieces have that are kept.
func (c *columnPieces) bytes() (n int64) {
	for _, q := range c.kept {
		n += int64(cap(q.buf))
	}
	return n
}

// unread returns how many bytes the pieces have that readers have not copied whole.
func (c *columnPieces) unread() (n int64) {
	for _, q := range c.kept {
		if q.left > 0 {
			n += int64(cap(q.buf))
		}
	}
	return n
}

// oldest returns the piece that was not used for longest, of those that readers have copied whole if
// there are any.
func (c *columnPieces) oldest() *piece {
	return slices.MinFunc(c.kept, func(a, b *piece) int {
		return cmp.Or(cmp.Compare(min(a.left, 1), min(b.left, 1)), cmp.Compare(a.last, b.last))
	})
}

// drop drops a piece. It returns the memory of the piece, or nil if that is in use.
func (c *columnPieces) drop(q *piece) []byte {
	c.kept = slices.DeleteFunc(c.kept, func(other *piece) bool { return q == other })
	q.dropped = true
	//guard: leaves the buffer to those who use it
	if q.users > 0 {
		return nil
	}
	buf := q.buf
	q.buf = nil
	return buf
}

// reserve makes q a piece of size bytes, and reports whether there is memory for it. s.mu is held.
func (s *pieces) reserve(q *piece, size int64) bool {
	if more := size - int64(cap(q.buf)); more > 0 {
		//guard: keeps columns read ahead within their memory
		if s.held+more > s.limit() || s.memory.Reserve(more) != nil {
			return false
		}
		s.held += more
		q.buf = make([]byte, size)
	}
	q.buf = q.buf[:size]
	return true
}

// fill reads a piece. The stream of a file can be used for pieces of small columns next to each other.
func (s *pieces) fill(q *piece, in *file, small bool) {
	read := in.readRange
	if small {
		read = in.ReadAt
	}
	n, err := read(q.buf, q.start)
	if n == len(q.buf) {
		err = nil
	} else {
		err = cmp.Or(err, io.ErrUnexpectedEOF)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q.read, q.err = n, err
	s.read += int64(n)
	if q.early {
		s.ahead--
	}
	s.unuse(q)
	close(q.done)
}

// use begins a use of a piece, which copied ends. s.mu is held.
func (s *pieces) use(q *piece) {
	s.uses++
	q.users, q.last = q.users+1, s.uses
}

// copied ends a use of a piece by a reader that copied n bytes. A piece that failed is dropped.
func (s *pieces) copied(id columnID, q *piece, n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q.left = max(q.left-int64(n), 0) // a reader may copy bytes that another one has copied
	if err != nil && q.err != nil {
		s.of(id).drop(q)
	}
	s.unuse(q)
}

// unuse ends a use of a piece. s.mu is held.
func (s *pieces) unuse(q *piece) {
	if q.users--; q.dropped && q.users == 0 {
		s.free(q)
	}
}

// dropAll drops the pieces of a column. s.mu is held.
func (s *pieces) dropAll(id columnID) {
	for _, q := range s.of(id).kept {
		if q.dropped = true; q.users == 0 {
			s.free(q)
		}
	}
	delete(s.kept, id)
}

// free releases the memory of a piece. s.mu is held.
func (s *pieces) free(q *piece) {
	s.held -= int64(cap(q.buf))
	s.memory.Release(int64(cap(q.buf)))
	q.buf = nil
}

func (s *pieces) count(bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read += int64(bytes)
}

// bytesRead returns the number of bytes read since the last call.
func (s *pieces) bytesRead() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.read
	s.read = 0
	return n
}

// close waits for the reads that run, whose context has ended, and releases all memory.
func (s *pieces) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.active.Wait()
	s.memory.Close()
}

// copy copies the piece's bytes from an offset on, once they are read or ctx ends. If the read of the
// piece failed before p was full, copy returns that error: storage has used up its retries.
func (q *piece) copy(ctx context.Context, p []byte, off int64) (n int, err error) {
	select {
	case <-q.done:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	n = copy(p, q.buf[min(int(off-q.start), q.read):q.read])
	//guard: does not wait again for storage that fails
	if n < len(p) {
		err = q.err
	}
	return n, err
}

func (q *piece) end() int64 { return q.start + int64(len(q.buf)) }
