package dataset

import "context"

const (
	// aheadPiece bounds the bytes of a piece, and aheadAlone those of a piece if only one column is
	// read.
	aheadPiece = 1 << 20
	aheadAlone = 2 << 20
	// aheadLeast is the least size of a piece that is worth its own request, even if
	// blocks are larger.
	aheadLeast = 256 << 10
	// aheadReads is the most pieces of a part that are being read when another one is begun before
	// its bytes are needed.
	aheadReads = 4
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
	until context.Context // ends with the open part

	// pieces.mu guards the fields below.
	limit  int64   // most bytes that the open part adds to the pieces
	wanted int     // number of columns that are read side by side; 0 if it is not known
	whole  bool    // the part is read from its start to its end, without pieces
	share  float64 // share of the rows not read yet that are read next, all of them; 0 if not known
	reads  map[columnID]*columnReads
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

// newAhead returns an ahead that reads until the context ends, with at most most bytes, and at most
// aheadBytes.
func newAhead(until context.Context, s *pieces, most int64) *ahead {
	a := &ahead{pieces: s, until: until, limit: min(most, aheadBytes), reads: make(map[columnID]*columnReads)}
	s.join(a.limit)
	return a
}

// close ends the use of the pieces.
func (a *ahead) close() { a.part(a.limit) }

// announce says what share of the rows not read yet is read next, all of them in order. The rows not
// read yet have about rest bytes in the columns that are read. A few rows of many are worth no pieces.
func (a *ahead) announce(share float64, rest int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.share = share; share < 1 && int64(share*float64(rest)) < aheadPiece {
		a.share = 0
	}
}

// all switches to reading the part from start to end, without pieces.
func (a *ahead) all() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.whole = true
}

// readBlock fills p from an offset in a column that ends at end.
func (a *ahead) readBlock(in *file, col int, p []byte, off, end int64) (n int, err error) {
	c := a.begin(columnID{in, col}, off, end)
	for n < len(p) && err == nil {
		var more int
		if q := a.take(c, len(p), off+int64(n), len(p)-n); q != nil {
			more, err = q.copy(a.until, p[n:], off+int64(n))
			a.leave(c.id, q, more, err)
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
	c := a.reads[id]
	if c == nil {
		c = &columnReads{id: id, at: -1}
		a.reads[id] = c
	}
	if c.end != end {
		c.end, c.small = end, end-off <= smallColumn
	}
	c.ordered = !a.whole && (a.share > 0 || off == c.at)
	switch {
	case !c.ordered:
		c.size, c.requests = 0, 0
		if a.users == 1 && a.of(id).at(off) == nil {
			a.dropAll(id)
		}
	case a.share > 0:
		c.requests = max(c.requests, aheadAfter)
	}
	return c
}

// next returns about how many bytes of a column, from an offset on, the rows have that are read
// next. It is 0 if that is not known. a.mu is held.
func (a *ahead) next(c *columnReads, off int64) int64 { return int64(a.share * float64(c.end-off)) }

// take returns the piece that has the byte at an offset, for a read of n bytes in a block. It is nil
// if the bytes are read without a piece. The caller leaves the piece.
func (a *ahead) take(c *columnReads, block int, off int64, n int) *piece {
	a.mu.Lock()
	defer a.mu.Unlock()
	q := a.of(c.id).at(off)
	if q == nil && c.ordered {
		c.size = a.sizeAt(c, block, off)
		c.requests++
		if c.size > int64(n) {
			q = a.start(c.id, off, c.size, 2*a.most(), c.small)
		}
	}
	return a.use(q)
}

// sizeAt returns the size of a piece that begins at an offset: twice that of the last piece or of a
// block, or that of the rows that are read next, within the limits. a.mu is held.
func (a *ahead) sizeAt(c *columnReads, block int, off int64) int64 {
	if c.small {
		return c.end - off
	}
	size := max(2*c.size, 2*int64(block), blockSize, a.next(c, off))
	if a.share > 0 {
		size = max(size, aheadLeast)
	}
	return min(size, a.most(), c.end-off)
}

// most returns the most bytes of a piece. Each column has room for two of them. a.mu is held.
func (a *ahead) most() int64 {
	if columns := int64(max(a.wanted, len(a.reads))); columns > 1 {
		return min(aheadPiece, a.limit/(2*columns))
	}
	return aheadAlone
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
		delete(a.reads, c.id)
		if a.users == 1 {
			a.dropAll(c.id)
		}
		return
	}
	if !c.ordered || c.small || c.requests < aheadAfter || a.running >= aheadReads {
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
	if size := a.sizeAt(c, block, from); size >= min(int64(block), aheadLeast, c.end-from) && a.start(c.id, from, size, 2*a.most(), false) != nil {
		c.size = size
	}
}
