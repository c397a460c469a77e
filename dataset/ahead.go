package dataset

import "context"

const (
	// pieceBytes bounds the bytes of a piece, and lonePiece those of a piece if only one column is
	// read.
	pieceBytes = 1 << 20
	lonePiece  = 2 << 20
	// leastPiece is the least size of a piece that is worth its own request, even if blocks are
	// larger.
	leastPiece = 256 << 10
	// piecesAhead is the most pieces of a part that are being read before their bytes are needed.
	piecesAhead = 4
	// blockSize is the default size of a block in column files. A column of at most smallColumn
	// bytes is small.
	blockSize   = 64 << 10
	smallColumn = 2 * blockSize
	// aheadAfter is the number of consecutive requests after which the next piece is read before
	// its bytes are needed. If few rows are read, an earlier start is wasted.
	aheadAfter = 2
)

// ahead reads the columns of an open part on remote storage in pieces. Columns that are read
// side by side lie in different places of the files, so reading single blocks would
// take one request each. If the blocks of a column are read in order, it is read in
// pieces that grow and never pass its end. Soon each piece is read while the one before it is
// consumed. Readers of the same part share the pieces.
//
// If there is no memory for a piece, the column is read block by block until there is.
//
// The rest of a small column is one piece. It takes no request of its own if the columns next to it
// are small, too: see file.ReadAt.
type ahead struct {
	*pieces
	until  context.Context // ends with the open part
	wanted int             // number of columns that are read side by side; 0 if it is not known

	// pieces.mu guards the fields below.
	sequential bool // the part is read from its start to its end, without pieces
	// share says how much of each column is read next, if all rows of the part are read: the rows
	// that this reader reads next, as a share of those from there to the end of the part. Else it is 0.
	share   float64
	columns map[columnID]*columnReads
}

// columnID identifies a column in a file.
type columnID struct {
	in     *file
	column int
}

// columnReads is what an open part has read of a column.
type columnReads struct {
	id       columnID
	end      int64 // offset at which the column ends
	small    bool
	ordered  bool  // the blocks are read in order
	at       int64 // offset at which the last read ended
	size     int64 // size of the last piece
	requests int   // consecutive requests while the blocks were read in order
}

// newAhead returns an ahead that reads until the context ends.
func newAhead(until context.Context, s *pieces) *ahead {
	s.addReader()
	return &ahead{pieces: s, until: until, columns: make(map[columnID]*columnReads)}
}

// announce sets the share: see ahead.
func (a *ahead) announce(share float64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.share = share
}

// all switches to reading the part from start to end, without pieces.
func (a *ahead) all() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sequential = true
}

// readBlock fills p from an offset in a column that ends at end.
func (a *ahead) readBlock(in *file, col int, p []byte, off, end int64) (n int, err error) {
	c := a.begin(columnID{in, col}, off, end)
	for n < len(p) && err == nil {
		var more int
		if q := a.pieceFor(c, len(p), off+int64(n), len(p)-n); q != nil {
			more, err = q.copy(a.until, p[n:], off+int64(n))
			a.copied(c.id, q, more, err)
		} else {
			more, err = a.readDirectly(in, p[n:], off+int64(n))
		}
		n += more
	}
	a.finish(c, len(p), off, err)
	return n, err
}

// begin begins a read of a column at an offset.
func (a *ahead) begin(id columnID, off, end int64) *columnReads {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.columns[id]
	if c == nil {
		c = &columnReads{id: id, at: -1}
		a.columns[id] = c
	}
	if c.end != end {
		c.end, c.small = end, end-off <= smallColumn
	}
	c.ordered = !a.sequential && (a.share > 0 || off == c.at)
	switch {
	case !c.ordered:
		c.size, c.requests = 0, 0
		if a.readers == 1 && a.of(id).at(off) == nil {
			a.dropAll(id)
		}
	case a.share > 0:
		c.requests = max(c.requests, aheadAfter)
	}
	return c
}

// pieceFor returns the piece that has the byte at an offset, for a read of n bytes in a block. It is
// nil if the bytes are read without a piece. The caller ends the use of the piece.
func (a *ahead) pieceFor(c *columnReads, block int, off int64, n int) *piece {
	a.mu.Lock()
	defer a.mu.Unlock()
	q := a.of(c.id).at(off)
	if q == nil && c.ordered {
		c.size = a.sizeAt(c, block, off)
		c.requests++
		if c.size > int64(n) {
			q = a.start(c.id, off, c.size, a.columnLimit(), c.small)
		}
	}
	if q != nil {
		a.use(q)
	}
	return q
}

// sizeAt returns the size of a piece that begins at an offset: twice that of the last piece or of a
// block, or that of the rows that are read next, within the limits. a.mu is held.
func (a *ahead) sizeAt(c *columnReads, block int, off int64) int64 {
	if c.small {
		return c.end - off
	}
	size := max(2*c.size, 2*int64(block), blockSize)
	if a.share > 0 {
		size = max(size, leastPiece, int64(a.share*float64(c.end-off)))
	}
	most := a.columnLimit() / 2
	if max(a.wanted, len(a.columns)) > 1 {
		most = min(most, pieceBytes)
	}
	return min(size, most, lonePiece, c.end-off)
}

// columnLimit returns the most bytes of the pieces of a column, for each reader. There is room for the
// piece that is consumed and the one after it. a.mu is held.
func (a *ahead) columnLimit() int64 {
	readers := max(a.readers, 1) // no readers if the part is read after Close
	return a.limit() / int64(max(a.wanted, len(a.columns), 1)*readers)
}

// readDirectly reads a block, or the rest of it, without a piece.
func (a *ahead) readDirectly(in *file, p []byte, off int64) (n int, err error) {
	n, err = in.ReadAt(p, off)
	a.count(n)
	if n == len(p) {
		err = nil
	}
	return n, err
}

// finish ends the read of a block, and starts to read the next piece if it will probably be used.
func (a *ahead) finish(c *columnReads, block int, off int64, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c.at = off + int64(block)
	if err != nil || c.at >= c.end {
		delete(a.columns, c.id)
		if a.readers == 1 {
			a.dropAll(c.id)
		}
		return
	}
	if !c.ordered || c.small || c.requests < aheadAfter {
		return
	}
	from := c.at
	if last := a.of(c.id).at(c.at - 1); last != nil {
		if last.err != nil {
			return
		}
		from = last.end()
	}
	if from >= c.end {
		return
	}
	size := a.sizeAt(c, block, from)
	if size >= min(int64(block), leastPiece, c.end-from) && a.startAhead(c.id, from, size, a.columnLimit()) {
		c.size = size
	}
}
