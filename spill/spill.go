package spill

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// Options bound what a spill takes.
type Options struct {
	// MaxOpen is the most files that this spill keeps open; 0 is the folder's
	// whole budget, half of RLIMIT_NOFILE.
	MaxOpen int
	// Reserve is the number of bytes to leave free on the disk; Append fails
	// with ENOSPC soon after there are less. 0 reserves nothing.
	Reserve int64
}

// checkEvery is the number of appended bytes after which the disk is asked for
// its free space again.
const checkEvery = 16 << 20

// none is the end of the list of open files.
const none = -1

// Spill is the temporary files of one row group. Its methods may be called
// concurrently; they exclude each other.
type Spill struct {
	mu        sync.Mutex
	folder    *Folder
	dir       string
	cols      []columnFile
	limit     int // most open files
	open      int // files in the list
	newest    int // ends of the list of open files, in order of use
	oldest    int
	reserve   int64
	unchecked int64 // bytes appended since the disk was checked
	err       error // the first of Append, or that the spill is closed; sticky
}

// columnFile is a column's file and, while it is open, its place in the list.
type columnFile struct {
	f            *os.File // nil while closed
	size         int64
	crc          uint32 // CRC-32C of what was appended
	newer, older int
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errClosed = errors.New("spill: closed")

func newSpill(f *Folder, dir string, columns, limit int, reserve int64) *Spill {
	return &Spill{
		folder: f, dir: dir, cols: make([]columnFile, columns),
		limit: limit, newest: none, oldest: none, reserve: reserve,
	}
}

// Append adds bytes to the end of a column. p is not kept. After an error,
// part of p may have been written; the spill is then good for Close only, and
// each Append returns the first error. Append allocates only when it opens a
// file.
func (s *Spill) Append(col int, p []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	s.err = s.append(col, p)
	return s.err
}

func (s *Spill) append(col int, p []byte) error {
	if len(p) == 0 {
		return nil
	}
	if s.unchecked += int64(len(p)); s.unchecked >= checkEvery {
		s.unchecked = 0
		if err := CheckFree(s.dir, s.reserve); err != nil {
			return err
		}
	}
	f, err := s.file(col)
	if err != nil {
		return err
	}
	if _, err := f.Write(p); err != nil {
		return fmt.Errorf("spill: %w", err)
	}
	s.cols[col].size += int64(len(p))
	s.cols[col].crc = crc32.Update(s.cols[col].crc, castagnoli, p)
	return nil
}

// CRC32C returns the CRC-32C of the bytes appended to a column, which is taken
// while they are at hand.
func (s *Spill) CRC32C(col int) uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cols[col].crc
}

// Size returns the number of bytes appended to a column.
func (s *Spill) Size(col int) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cols[col].size
}

// CopyTo writes the range [off, off+n) of a column to w and returns the number
// of bytes written, which is n unless there is an error. If w is an io.ReaderFrom
// it reads from the file itself, so that an os.File copies in the kernel and a
// bufio.Writer without a buffer between.
func (s *Spill) CopyTo(w io.Writer, col int, off, n int64) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0, s.err
	}
	if size := s.cols[col].size; off < 0 || n < 0 || off > size || n > size-off {
		return 0, fmt.Errorf("spill: bytes %d to %d+%d of column %d, which has %d", off, off, n, col, size)
	}
	if n == 0 {
		return 0, nil
	}
	f, err := s.file(col)
	if err != nil {
		return 0, err
	}
	// Writes append wherever this leaves the file's position.
	if _, err := f.Seek(off, io.SeekStart); err != nil {
		return 0, fmt.Errorf("spill: %w", err)
	}
	done, err := io.Copy(w, &io.LimitedReader{R: f, N: n})
	if err == nil && done < n {
		err = fmt.Errorf("spill: %s ends after %d bytes of %d at %d: %w", f.Name(), done, n, off, io.ErrUnexpectedEOF)
	}
	return done, err
}

// Close gives back the disk space and the open files of the spill. Further
// calls do nothing.
func (s *Spill) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(s.err, errClosed) {
		return nil
	}
	sound := s.err == nil && s.empty() == nil
	for s.open > 0 {
		s.shut(s.oldest)
	}
	s.err = errClosed
	if sound {
		s.folder.recycle(s.dir)
		return nil
	}
	if err := os.RemoveAll(s.dir); err != nil {
		return fmt.Errorf("spill: %w", err)
	}
	return nil
}

// empty takes the content of all files.
func (s *Spill) empty() error {
	for col := range s.cols {
		var err error
		switch c := &s.cols[col]; {
		case c.f != nil:
			err = c.f.Truncate(0)
		case c.size > 0:
			err = os.Truncate(s.name(col), 0)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Spill) name(col int) string { return s.dir + "/" + strconv.Itoa(col) }

// file returns a column's open file and makes it the newest of the list.
func (s *Spill) file(col int) (*os.File, error) {
	c := &s.cols[col]
	if c.f != nil {
		if s.newest != col {
			s.unlink(col)
			s.link(col)
		}
		return c.f, nil
	}
	// A spill may always have one file open, lest others starve it.
	for s.open > 0 && (s.open >= s.limit || s.folder.open.Load() >= s.folder.budget) {
		s.shut(s.oldest)
	}
	name := s.name(col)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	for s.open > 0 && (errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE)) {
		s.shut(s.oldest)
		f, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("spill: %w", err)
	}
	c.f = f
	s.open++
	s.folder.open.Add(1)
	s.link(col)
	return f, nil
}

// shut closes a column's file. Its bytes have been handed to the kernel, which
// reports errors of writing them back to nobody who could use them: the
// reducer's check of the output finds what was lost.
func (s *Spill) shut(col int) {
	s.unlink(col)
	_ = s.cols[col].f.Close()
	s.cols[col].f = nil
	s.open--
	s.folder.open.Add(-1)
}

// link puts a column at the newest end of the list.
func (s *Spill) link(col int) {
	s.cols[col].newer, s.cols[col].older = none, s.newest
	if s.newest == none {
		s.oldest = col
	} else {
		s.cols[s.newest].newer = col
	}
	s.newest = col
}

// unlink takes a column out of the list.
func (s *Spill) unlink(col int) {
	c := &s.cols[col]
	if c.newer == none {
		s.newest = c.older
	} else {
		s.cols[c.newer].older = c.older
	}
	if c.older == none {
		s.oldest = c.newer
	} else {
		s.cols[c.older].newer = c.newer
	}
}
