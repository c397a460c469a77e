package dataset

import (
	"io"

	"github.com/rowtocol/rowtocol/store"
)

// source is a stored file as its format reads it. It counts what is read, reads
// blocks ahead on remote storage, and keeps for a while what will be read twice:
// once to find the rows that match, and once to give them. It belongs to one
// goroutine unless none of that is set.
type source struct {
	store.File
	read *Stats // nil: nothing is counted
	// lost says what it means that reading failed.
	lost func(error) error
	// twice are the columns of which blocks may be asked for again; nil for
	// none.
	twice []bool
	kept  []keptBlock
	ahead *ahead // nil for local files
}

// keptBlock is what was read at an offset, for a column.
type keptBlock struct {
	column int
	offset int64
	bytes  []byte
}

// ReadAt implements format.File.
func (s *source) ReadAt(p []byte, off int64) (int, error) {
	n, err := s.File.ReadAt(p, off)
	s.count(n, 0)
	return n, s.failed(err)
}

// ReadBlock implements format.File.
func (s *source) ReadBlock(p []byte, col int, off, end int64) (n int, err error) {
	for i := range s.kept {
		if k := &s.kept[i]; k.offset == off && len(k.bytes) >= len(p) {
			return copy(p, k.bytes), nil
		}
	}
	read := 0
	if s.ahead == nil {
		n, err = s.File.ReadAt(p, off)
		read = n
	} else {
		n, read, err = s.ahead.read(col, p, off, end)
	}
	s.count(read, 1)
	if s.twice != nil && s.twice[col] && err == nil {
		s.kept = append(s.kept, keptBlock{col, off, append([]byte(nil), p...)})
	}
	return n, s.failed(err)
}

func (s *source) count(bytes int, blocks int64) {
	if s.read != nil {
		s.read.BytesRead += int64(bytes)
		s.read.BlocksRead += blocks
	}
}

func (s *source) failed(err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return s.lost(err)
}

// forget drops what was kept, but for the last block of each column: the rows
// that come next may begin in it.
func (s *source) forget() {
	rest := s.kept[:0]
	for i, k := range s.kept {
		last := true
		for _, later := range s.kept[i+1:] {
			last = last && later.column != k.column
		}
		if last {
			rest = append(rest, k)
		}
	}
	clear(s.kept[len(rest):])
	s.kept = rest
}
