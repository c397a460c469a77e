package dataset

import (
	"cmp"
	"io"
	"math"
	"sync"

	"github.com/rowtocol/rowtocol/internal/budget"
)

const (
	// aheadBytes is the most that is held of all columns of a part, aheadPiece the
	// most of a piece, and aheadAlone that of a piece of a column that is read
	// alone.
	aheadBytes = 32 << 20
	aheadPiece = 1 << 20
	aheadAlone = 2 << 20
	// aheadLeast makes a piece worth a request of its own, even if blocks are
	// larger.
	aheadLeast = 256 << 10
	// aheadReads is how many pieces of a part are read in the background at once.
	aheadReads = 4
	// blockSize is what a block takes by default.
	blockSize = 64 << 10
	// aheadAfter is how many pieces have followed each other when the next is read
	// in the background: of few rows it would be read for nothing.
	aheadAfter = 2
)

// ahead reads the columns of a part on remote storage by pieces: columns that are
// read side by side are so many places in the files, and each read of one block
// would be a request of its own. A column whose blocks are read one behind the
// other is read by pieces that grow, never beyond its end, and before long each of
// them is read in the background while the one before it is consumed.
//
// A piece takes one of the few places in the background only while it is read. If
// none is free, it is read when it is wanted, so that no column waits for others.
// If there is no memory for it, the column is read by its blocks meanwhile.
//
// Small columns are read by their blocks: a piece would be a request for each of
// them, where a stream takes many. See file.ReadAt.
type ahead struct {
	memory *budget.Heap
	most   int64 // bytes of all pieces
	wanted int   // columns that will be read side by side, so far as is known
	reads  sync.WaitGroup

	mu      sync.Mutex // of what follows
	whole   bool       // the part is read from its start to its end
	tracks  map[place]*track
	held    int64 // bytes of all pieces
	running int   // pieces that are being read in the background
	read    int64 // bytes that were read and not yet counted
	closed  bool
}

// place is what a file has of a column.
type place struct {
	in     *file
	column int
}

// track is how far a column is read that was not read to its end.
type track struct {
	of        place
	small     bool       // it is read by its blocks
	mu        sync.Mutex // of what follows; held by who reads the column
	at        int64      // where the last read ended
	size      int64      // of the last piece; 0 after a seek
	pieces    int        // that followed each other
	now, next *piece     // what is consumed, and what is behind it
	ended     bool       // another track goes on with the column
}

// piece is a range of a file that is read at once.
type piece struct {
	start int64
	buf   []byte // of the range's length; empty if there is none
	read  int    // how much of it was read
	err   error  // in place of the rest

	done             chan struct{} // closed when a read in the background has ended
	running, dropped bool          // under ahead.mu
}

// newAhead keeps to so many bytes, if they are less than usual.
func newAhead(memory *budget.Heap, most int64) *ahead {
	return &ahead{memory: memory, most: min(most, aheadBytes), tracks: make(map[place]*track)}
}

// readBlock fills p with what is at an offset in a column that ends at end.
func (a *ahead) readBlock(in *file, col int, p []byte, off, end int64) (n int, err error) {
	t := a.lock(place{in, col}, off, end)
	defer t.mu.Unlock()
	follows := off == t.at
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
		more, err = a.fetch(t, p[n:], off+int64(n), end)
		n += more
	}
	if err != nil || t.at >= end {
		a.release(t)
	} else if follows {
		a.begin(t, len(p), end)
	}
	return n, err
}

// lock returns how far a column is read, which goes on at an offset, for this
// reader alone.
func (a *ahead) lock(of place, off, end int64) *track {
	for {
		t := a.track(of, off, end)
		t.mu.Lock()
		if !t.ended {
			return t
		}
		t.mu.Unlock()
	}
}

func (a *ahead) track(of place, off, end int64) *track {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.tracks[of]
	if t == nil {
		t = &track{of: of, small: end-off <= a.smallest(), at: -1, now: new(piece), next: new(piece)}
		a.tracks[of] = t
	}
	return t
}

// smallest is the size up to which columns are small: beside others a few blocks,
// alone what storage reads in a moment, and any of a part that is read from its
// start to its end. a.mu is held.
func (a *ahead) smallest() int64 {
	switch {
	case a.whole:
		return math.MaxInt64
	case a.wanted == 1:
		return aheadPiece
	}
	return 2 * blockSize
}

// grown returns the size of a column's next piece, which is to hold more than a
// block.
func (a *ahead) grown(t *track, block int) int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	most := int64(aheadAlone)
	if columns := int64(max(a.wanted, len(a.tracks))); columns > 1 {
		most = min(aheadPiece, a.most/(2*columns))
	}
	return min(2*max(t.size, int64(block)), most)
}

// fetch reads what no piece has: a piece of the column's size, if that is more
// than is wanted and there is room for it, else that to where it belongs.
func (a *ahead) fetch(t *track, p []byte, off, end int64) (n int, err error) {
	size := min(t.size, end-off)
	a.mu.Lock()
	a.drop(t)
	larger := size > int64(len(p)) && !t.small && a.room(t.now, off, size)
	a.mu.Unlock()
	if larger {
		t.now.fill(t.of.in)
		a.count(t.now.read)
		return t.now.copy(p, off)
	}
	n, err = t.of.in.ReadAt(p, off)
	a.count(n)
	if n == len(p) {
		err = nil
	}
	return n, err
}

// begin begins to read the next piece of a column in the background, unless that
// was done, or would be for nothing.
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
		q.fill(t.of.in)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.read += int64(q.read)
		a.running--
		if q.running = false; q.dropped {
			a.free(q)
		}
		close(q.done) // from here on the piece may be another
	})
}

// room makes a piece one of so many bytes, if there is room for them. a.mu is
// held.
func (a *ahead) room(q *piece, start, size int64) bool {
	if more := size - int64(cap(q.buf)); more > 0 {
		//guard: keeps columns read ahead within their memory
		if a.held+more > a.most || a.memory.Reserve(more) != nil {
			return false
		}
		a.held += more
		q.buf = make([]byte, size)
	}
	q.start, q.buf, q.read, q.err = start, q.buf[:size], 0, nil
	return true
}

// drop empties the pieces of a column. One that is being read is left to its
// read. a.mu is held.
func (a *ahead) drop(t *track) {
	t.now.empty()
	//guard: waits for the read in the background
	if t.next.running {
		t.next.dropped = true
		t.next = new(piece)
	}
	t.next.empty()
}

// release ends the reading of a column for now, and gives its memory back.
func (a *ahead) release(t *track) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drop(t)
	a.free(t.now)
	a.free(t.next)
	t.ended = true
	delete(a.tracks, t.of)
}

// free gives the memory of a piece back. a.mu is held.
func (a *ahead) free(q *piece) {
	a.held -= int64(cap(q.buf))
	a.memory.Release(int64(cap(q.buf)))
	q.buf = nil
}

// all says that the part is read from its start to its end, which a stream does
// best.
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

// bytesRead returns how many bytes were read since the last call.
func (a *ahead) bytesRead() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := a.read
	a.read = 0
	return n
}

// close waits for the reads in the background, whose context has ended. No other
// is begun.
func (a *ahead) close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.reads.Wait()
}

// advance makes the next piece the one that is consumed, when it has been read.
func (t *track) advance() {
	<-t.next.done
	t.now, t.next = t.next, t.now
	t.next.empty()
}

// empty keeps the memory.
func (q *piece) empty() { q.start, q.buf, q.err = 0, q.buf[:0], nil }

func (q *piece) covers(off int64) bool { return off >= q.start && off-q.start < int64(len(q.buf)) }

// copy copies what the piece has from an offset on. Where its read failed, that
// is the error, also of blocks before the place that failed: the storage's patience
// was spent on it.
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
