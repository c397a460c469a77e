package dataset

import (
	"cmp"
	"io"
	"math"
	"sync"

	"github.com/rowtocol/rowtocol/internal/budget"
)

const (
	// aheadBytes bounds the bytes of all pieces of a part, aheadPiece the bytes of one
	// piece, and aheadAlone the bytes of a piece if only one column is read.
	aheadBytes = 32 << 20
	aheadPiece = 1 << 20
	aheadAlone = 2 << 20
	// aheadLeast is the least size of a piece that is worth its own request, even if
	// blocks are larger.
	aheadLeast = 256 << 10
	// aheadReads is the most pieces of a part that are read in the background at once.
	aheadReads = 4
	// blockSize is the default size of a block in column files.
	blockSize = 64 << 10
	// aheadAfter is the number of consecutive pieces after which the next one is read
	// in the background. If few rows are read, an earlier start is wasted.
	aheadAfter = 2
)

// ahead reads the columns of a part on remote storage in pieces. Columns that are read
// side by side lie in different places of the files, so reading single blocks would
// take one request each. If the blocks of a column are read in order, it is read in
// pieces that grow and never pass its end. Soon each piece is read in the background
// while the one before it is consumed.
//
// If aheadReads pieces are being read already, a piece is read when it is needed, so
// that no column waits for others. If there is no memory for a piece, the column is read
// block by block until there is.
//
// Small columns are read block by block: pieces would take a request for each column,
// but one stream covers many small columns. See file.ReadAt.
type ahead struct {
	memory *budget.Heap
	limit  int64 // most bytes of all pieces
	wanted int   // number of columns that are read side by side; 0 if it is not known
	reads  sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	whole   bool       // the part is read from its start to its end
	rows    *rowShare  // rows that are read; nil if other workers read none
	tracks  map[columnID]*track
	held    int64 // bytes of all pieces
	running int   // number of pieces that are being read in the background
	read    int64 // bytes that were read since the last bytesRead
	closed  bool
}

// rowShare is consecutive rows of a part. One worker reads them, and others read the rest.
type rowShare struct {
	span
	of  int64 // number of rows of the part
	all bool  // all of the rows are read, not only some of them
}

// columnID identifies a column in a file.
type columnID struct {
	in     *file
	column int
}

// track is the state of a column that is partly read.
type track struct {
	id        columnID
	small     bool       // the column is read block by block
	mu        sync.Mutex // guards the fields below; held by the column's reader
	at        int64      // offset at which the last read ended
	size      int64      // size of the last piece; 0 after a seek
	pieces    int        // number of consecutive pieces that were read
	now, next *piece     // the piece that is consumed, and the one after it
	ended     bool       // another track continues the column
	rows      *rowShare  // rows that end at about stop
	stop      int64
}

// piece is a range of a file that is read at once.
type piece struct {
	start int64
	buf   []byte // as long as the range; empty if the piece has no range
	read  int    // number of bytes of buf that were read
	err   error  // why the rest was not read

	done             chan struct{} // closed when a read in the background has ended
	running, dropped bool          // guarded by ahead.mu
}

// newAhead returns an ahead whose pieces hold at most most bytes, and at most
// aheadBytes.
func newAhead(memory *budget.Heap, most int64) *ahead {
	return &ahead{memory: memory, limit: min(most, aheadBytes), tracks: make(map[columnID]*track)}
}

// readBlock fills p from an offset in a column that ends at end.
func (a *ahead) readBlock(in *file, col int, p []byte, off, end int64) (n int, err error) {
	t := a.lock(columnID{in, col}, off, end)
	defer t.mu.Unlock()
	stop, follows := a.stop(t, len(p), off, end)
	t.at = off + int64(len(p))
	n, err = t.now.copy(p, off)
	if n < len(p) && err == nil && t.next.covers(off+int64(n)) {
		t.advance()
		var more int
		more, err = t.now.copy(p[n:], off+int64(n))
		n += more
	}
	if n < len(p) && err == nil {
		if follows {
			t.size, t.pieces = a.grown(t, len(p)), t.pieces+1
		} else {
			t.size, t.pieces = 0, 0
		}
		var more int
		more, err = a.fetch(t, p[n:], off+int64(n), stop)
		n += more
	}
	if err != nil || t.at >= end {
		a.release(t)
	} else if follows {
		a.begin(t, len(p), stop)
	}
	return n, err
}

// lock returns the track of a column whose next read is at off, locked for the caller.
func (a *ahead) lock(id columnID, off, end int64) *track {
	for {
		t := a.track(id, off, end)
		t.mu.Lock()
		if !t.ended {
			return t
		}
		t.mu.Unlock()
	}
}

func (a *ahead) track(id columnID, off, end int64) *track {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.tracks[id]
	if t == nil {
		t = &track{id: id, small: end-off <= a.smallest(), at: -1, now: new(piece), next: new(piece)}
		a.tracks[id] = t
	}
	return t
}

// within says which rows are read from now on, because other workers read the rest.
func (a *ahead) within(rows rowShare) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.rows = &rows
}

// stop returns the offset up to which pieces of a column are worth reading: where the column
// ends, or about where the rows of this worker end. It also reports whether the column is read in
// order: a read at off follows the last one, or all rows of this worker are read.
func (a *ahead) stop(t *track, block int, off, end int64) (stop int64, follows bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	follows = off == t.at
	r := a.rows
	if r == nil {
		return end, follows
	}
	if t.rows != r {
		share := float64(r.to-r.from) / float64(r.of-r.from)
		blocks := math.Ceil(float64(end-off) * share / float64(block))
		// Blocks differ in size. A few bytes too many cost less than another request.
		t.rows, t.stop = r, off+int64(blocks*float64(block)*17/16)
		if r.all {
			t.size, t.pieces, follows = aheadAlone, aheadAfter, true
		}
	}
	return min(max(t.stop, off+int64(block)), end), follows
}

// smallest returns the size up to which columns are small: aheadPiece if one column is
// read, and two blocks if several are. If the part is read from start to end, columns of
// any size are small. a.mu is held.
func (a *ahead) smallest() int64 {
	switch {
	case a.whole:
		return math.MaxInt64
	case a.wanted == 1:
		return aheadPiece
	}
	return 2 * blockSize
}

// grown returns the size of a column's next piece: twice the size of the last piece or
// block, within the limits.
func (a *ahead) grown(t *track, block int) int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	most := int64(aheadAlone)
	if columns := int64(max(a.wanted, len(a.tracks))); columns > 1 {
		most = min(aheadPiece, a.limit/(2*columns))
	}
	return min(2*max(t.size, int64(block)), most)
}

// fetch reads bytes that no piece holds. If the next piece is larger than p and fits
// into memory, fetch reads the whole piece. Otherwise it reads into p directly.
func (a *ahead) fetch(t *track, p []byte, off, end int64) (n int, err error) {
	size := min(t.size, end-off)
	a.mu.Lock()
	a.drop(t)
	larger := size > int64(len(p)) && !t.small && a.room(t.now, off, size)
	a.mu.Unlock()
	if larger {
		t.now.fill(t.id.in)
		a.count(t.now.read)
		return t.now.copy(p, off)
	}
	n, err = t.id.in.ReadAt(p, off)
	a.count(n)
	if n == len(p) {
		err = nil
	}
	return n, err
}

// begin starts to read the next piece of a column in the background, unless the piece
// exists already, would probably not be used, or has no memory.
func (a *ahead) begin(t *track, block int, end int64) {
	from := max(t.at, t.now.start+int64(len(t.now.buf)))
	if t.pieces < aheadAfter || len(t.next.buf) > 0 || t.now.err != nil || t.small || from >= end {
		return
	}
	size, q := a.grown(t, block), t.next
	a.mu.Lock()
	defer a.mu.Unlock()
	if size < min(int64(block), aheadLeast) || a.closed || a.running == aheadReads || !a.room(q, from, min(size, end-from)) {
		return
	}
	t.size = size
	a.running++
	q.running, q.done = true, make(chan struct{})
	a.reads.Go(func() {
		q.fill(t.id.in)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.read += int64(q.read)
		a.running--
		if q.running = false; q.dropped {
			a.free(q)
		}
		close(q.done) // from here on the piece may be reused
	})
}

// room makes q a piece of size bytes at start, and reports whether there is memory for
// it. a.mu is held.
func (a *ahead) room(q *piece, start, size int64) bool {
	if more := size - int64(cap(q.buf)); more > 0 {
		//guard: keeps columns read ahead within their memory
		if a.held+more > a.limit || a.memory.Reserve(more) != nil {
			return false
		}
		a.held += more
		q.buf = make([]byte, size)
	}
	q.start, q.buf, q.read, q.err = start, q.buf[:size], 0, nil
	return true
}

// drop empties the pieces of a column. The goroutine that reads a piece frees it.
// a.mu is held.
func (a *ahead) drop(t *track) {
	t.now.empty()
	//guard: leaves the buffer to the read in the background
	if t.next.running {
		t.next.dropped = true
		t.next = new(piece)
	}
	t.next.empty()
}

// release ends the track of a column, and releases its memory.
func (a *ahead) release(t *track) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drop(t)
	a.free(t.now)
	a.free(t.next)
	t.ended = true
	delete(a.tracks, t.id)
}

// free releases the memory of a piece. a.mu is held.
func (a *ahead) free(q *piece) {
	a.held -= int64(cap(q.buf))
	a.memory.Release(int64(cap(q.buf)))
	q.buf = nil
}

// all switches to reading the part from start to end, without pieces.
func (a *ahead) all() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.whole = true
}

func (a *ahead) count(bytes int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.read += int64(bytes)
}

// bytesRead returns the number of bytes read since the last call.
func (a *ahead) bytesRead() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := a.read
	a.read = 0
	return n
}

// close waits for the background reads, whose context has ended. No other read starts.
func (a *ahead) close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.reads.Wait()
}

// advance makes the next piece the current one once it has been read.
func (t *track) advance() {
	<-t.next.done
	t.now, t.next = t.next, t.now
	t.next.empty()
}

// empty removes the piece's range, and keeps its memory.
func (q *piece) empty() { q.start, q.buf, q.err = 0, q.buf[:0], nil }

func (q *piece) covers(off int64) bool { return off >= q.start && off-q.start < int64(len(q.buf)) }

// copy copies the piece's bytes from an offset on. If the read of the piece failed
// before p was full, copy returns that error: storage has used up its retries.
func (q *piece) copy(p []byte, off int64) (n int, err error) {
	if !q.covers(off) {
		return 0, nil
	}
	n = copy(p, q.buf[min(int(off-q.start), q.read):q.read])
	//guard: does not wait again for storage that fails
	if n < len(p) {
		err = q.err
	}
	return n, err
}

// fill reads the piece.
func (q *piece) fill(in *file) {
	if q.read, q.err = in.readRange(q.buf, q.start); q.read == len(q.buf) {
		q.err = nil
	} else {
		q.err = cmp.Or(q.err, io.ErrUnexpectedEOF)
	}
}
