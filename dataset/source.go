package dataset

import (
	"io"
	"sync/atomic"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/store"
)

// source is the file that a format reads. It counts reads, and keeps blocks that are
// read twice: to find the rows that match, and to return these rows. If reread
// is nil, several goroutines may use it. Otherwise it belongs to one.
type source struct {
	*file
	read *Stats // nil if reads are not counted
	// lost returns the error to report for a failed read of a file: see Listing.Lost.
	lost func(name string, err error) error
	// reread are the columns whose blocks may be read again; nil means no columns.
	reread []bool
	kept   []keptBlock
	ahead  *ahead // reads the part ahead; nil for local files
	memory *budget.Heap
}

func (f *file) Name() string { return f.name }

func (f *file) Size() int64 { return f.size }

// ReadAt reads block tables and single blocks. Storage uses one stream for reads that
// follow each other closely, such as the reads of many small columns.
func (f *file) ReadAt(p []byte, off int64) (int, error) {
	stored, err := f.take()
	if err != nil {
		return 0, err
	}
	defer f.release()
	n, err := stored.ReadAt(p, off)
	return n, shrunk(f.name, f.size, n, len(p), off, err)
}

// readRange is ReadAt by a separate request, not from the stream.
func (f *file) readRange(p []byte, off int64) (int, error) {
	stored, err := f.take()
	if err != nil {
		return 0, err
	}
	defer f.release()
	return store.ReadRange(stored, p, off)
}

// shrunk returns the error of a read of n bytes instead of want at off. The error is
// damage if the file ends before size.
func shrunk(name string, size int64, n, want int, off int64, err error) error {
	at := off + int64(n)
	//guard: reports a file that was cut as damage
	if err == io.EOF && n < want && at < size {
		return damage.New(damage.Truncated, name, at, "the file ends here, and had %d bytes when it was opened", size)
	}
	return err
}

// keptBlock is a block of a column that is kept for a second read.
type keptBlock struct {
	column int
	offset int64
	bytes  []byte
}

// ReadAt implements format.File.
func (s *source) ReadAt(p []byte, off int64) (int, error) {
	n, err := s.file.ReadAt(p, off)
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
	n, err = s.readColumn(p, col, off, end, 1)
	if s.reread != nil && s.reread[col] && err == nil && s.memory.Reserve(int64(len(p))) == nil {
		s.kept = append(s.kept, keptBlock{col, off, append([]byte(nil), p...)})
	}
	return n, s.failed(err)
}

// ReadTable implements format.File.
func (s *source) ReadTable(p []byte, col int, off, end int64) (int, error) {
	n, err := s.readColumn(p, col, off, end, 0)
	return n, s.failed(err)
}

// readColumn reads bytes of a column, which are a number of blocks.
func (s *source) readColumn(p []byte, col int, off, end, blocks int64) (n int, err error) {
	if s.ahead == nil {
		n, err = s.file.ReadAt(p, off)
		s.count(n, blocks)
		return n, err
	}
	n, err = s.ahead.readBlock(s.file, col, p, off, end)
	s.count(int(s.ahead.bytesRead()), blocks)
	return n, err
}

func (s *source) count(bytes int, blocks int64) {
	if s.read != nil {
		atomic.AddInt64(&s.read.BytesRead, int64(bytes))
		atomic.AddInt64(&s.read.BlocksRead, blocks)
	}
}

func (s *source) failed(err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return s.lost(s.name, err)
}

// forget drops the kept blocks, except the last block of each column, in which the next
// rows may begin.
func (s *source) forget() {
	rest := s.kept[:0]
	for i, k := range s.kept {
		last := true
		for _, later := range s.kept[i+1:] {
			last = last && later.column != k.column
		}
		if last {
			rest = append(rest, k)
		} else {
			s.memory.Release(int64(len(k.bytes)))
		}
	}
	clear(s.kept[len(rest):])
	s.kept = rest
}
