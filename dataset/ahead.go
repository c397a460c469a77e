package dataset

import "io"

const (
	// aheadBytes is the most that is held of all columns of a remote file, and
	// aheadColumn of each.
	aheadBytes  = 32 << 20
	aheadColumn = 1 << 20
)

// ahead reads the blocks of remote files by larger pieces: columns that are
// read side by side are so many places in the file, and each read of one block
// would be a request of its own. A column whose blocks are read one behind the
// other is read ahead, twice as far each time, never beyond its end.
type ahead struct {
	in      io.ReaderAt
	most    int64 // bytes of a column
	columns map[int]*piece
}

// piece is what was read of a column and is yet to be asked for.
type piece struct {
	bytes []byte
	start int64 // offset of bytes
	next  int64 // where the last read ended
	size  int64 // of the last piece
}

// newAhead reads a file of a part of which so many columns are wanted.
func newAhead(in io.ReaderAt, wanted int) *ahead {
	return &ahead{in: in, most: min(aheadColumn, aheadBytes/int64(max(wanted, 1))), columns: make(map[int]*piece)}
}

// read fills p with what is at an offset in a column that ends at end, and
// returns how many bytes it had to read for that.
func (a *ahead) read(col int, p []byte, off, end int64) (n, read int, err error) {
	c := a.columns[col]
	if c == nil {
		c = new(piece)
		a.columns[col] = c
	}
	if off >= c.start && off-c.start < int64(len(c.bytes)) {
		n = copy(p, c.bytes[off-c.start:])
	}
	follows := off == c.next
	c.next = off + int64(len(p))
	if n == len(p) {
		return n, 0, nil
	}
	if c.size = min(2*max(c.size, int64(len(p))), a.most); !follows {
		c.size = 0
	}
	c.start, c.bytes = off+int64(n), c.bytes[:0]
	size := min(c.size, end-c.start)
	if size <= int64(len(p)-n) {
		read, err = a.in.ReadAt(p[n:], c.start)
		return n + read, read, err
	}
	if int64(cap(c.bytes)) < size {
		c.bytes = make([]byte, size)
	}
	read, err = a.in.ReadAt(c.bytes[:size], c.start)
	c.bytes = c.bytes[:read]
	if n += copy(p[n:], c.bytes); n == len(p) {
		err = nil // what lies farther fails when it is asked for
	}
	return n, read, err
}
