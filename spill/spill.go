package spill

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/rowtocol/rowtocol/internal/budget"
)

// Options bound the disk and the memory that a spill uses.
type Options struct {
	// Reserve is the number of bytes to leave free on the disk. Append fails
	// with ENOSPC soon after fewer bytes are free. 0 reserves nothing.
	Reserve int64
	// Memory limits how many bytes of all columns together stay in memory. A
	// spill of few columns uses less: maxShare bounds each column.
	Memory int
}

const (
	// checkEvery is the number of bytes that are written between two checks of
	// the free space.
	checkEvery = 16 << 20
	// maxShare bounds the memory of a column. Larger writes are not faster.
	maxShare = 128 << 10
	// page is the size of a page. The kernel writes whole pages without reading
	// their old content.
	page = 4 << 10
)

// share returns how many bytes of each column stay in memory.
func (o *Options) share(columns int) int {
	n := min(o.Memory/max(columns, 1), maxShare)
	if n > page {
		n -= n % page
	}
	return n
}

// Spill is the temporary files of one row group. Its methods may be called
// concurrently. But while CopyTo or a Reader reads a column, neither Append to that
// column nor Close may be called.
type Spill struct {
	mu     sync.Mutex
	folder *Folder
	dir    string
	cols   []column
	share  int    // bytes of memory per column
	memory []byte // the shares of all columns, in order

	reserve   int64
	unchecked int64 // bytes written since the free space was checked
	grown     int64 // bytes by which files grew since the spill began to use them
	stale     bool  // files may end with bytes of an earlier spill
	err       error // the first error of Append, or errClosed
}

// column is where the bytes of a column are: the first bytes in its file, the
// rest in memory.
type column struct {
	stored int64  // number of the column's bytes in the file
	held   int64  // length of the file; bytes after stored are of an earlier spill
	tail   int    // number of bytes in memory
	crc    uint32 // CRC-32C of all bytes of the column

	file budget.File
	// copying is locked while the file's position is in use.
	copying sync.Mutex
}

func (c *column) size() int64 { return c.stored + int64(c.tail) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errClosed = errors.New("spill: closed")

// Append adds bytes to the end of a column. It does not keep p. After an error,
// part of p may have been written. Then only Close is useful, and each Append
// returns the first error. Append allocates only when it opens a file.
func (s *Spill) Append(col int, p []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	//guard: writes nothing after a write that failed
	if s.err != nil {
		return s.err
	}
	s.err = s.append(col, p)
	return s.err
}

func (s *Spill) append(col int, p []byte) error {
	c := &s.cols[col]
	kept := p
	if c.tail+len(p) > s.share {
		n := len(p)
		if s.share >= page {
			// Only whole pages are written. They include the whole tail: a share is a
			// number of whole pages, and tail and p together exceed it, so their whole
			// pages fill at least a share.
			n -= (c.tail + len(p)) % page
		}
		if err := s.write(col, p[:n]); err != nil {
			return err
		}
		kept = p[n:]
	}
	c.tail += copy(s.memory[col*s.share+c.tail:(col+1)*s.share], kept)
	c.crc = crc32.Update(c.crc, castagnoli, p)
	return nil
}

// write appends a column's bytes in memory, and then p, to its file.
func (s *Spill) write(col int, p []byte) error {
	c := &s.cols[col]
	tail := s.tail(col)
	n := int64(len(tail) + len(p))
	if s.unchecked += n; s.unchecked >= checkEvery {
		s.unchecked = 0
		//guard: keeps some of the disk free
		if err := CheckFree(s.dir, s.reserve); err != nil {
			return err
		}
	}
	f, err := s.acquire(col)
	if err != nil {
		return err
	}
	defer s.release(col)
	if err := writeAt(f, c.stored, tail, p); err != nil {
		return fmt.Errorf("spill: %w", err)
	}
	c.stored += n
	s.folder.stored.Add(n)
	c.tail = 0
	if more := c.stored - c.held; more > 0 {
		c.held = c.stored
		if s.grown += more; s.grown >= checkEvery {
			return s.trim()
		}
	}
	return nil
}

// writeAt writes two pieces to a file, one after the other. It makes one system
// call, and more if the kernel writes only a part.
func writeAt(f *os.File, off int64, first, second []byte) error {
	for len(first)+len(second) > 0 {
		var n int
		var err error
		if len(first) == 0 {
			n, err = f.WriteAt(second, off)
		} else if n, err = unix.Pwritev(int(f.Fd()), [][]byte{first, second}, off); errors.Is(err, unix.EINTR) {
			continue
		} else if err != nil {
			err = &fs.PathError{Op: "write", Path: f.Name(), Err: err}
		}
		if err != nil {
			return err
		}
		off += int64(n)
		done := min(n, len(first))
		first, second = first[done:], second[n-done:]
	}
	return nil
}

// tail returns the bytes of a column that are in memory.
func (s *Spill) tail(col int) []byte {
	return s.memory[col*s.share:][:s.cols[col].tail]
}

// CRC32C returns the CRC-32C of the bytes appended to a column. Append computes
// it.
func (s *Spill) CRC32C(col int) uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cols[col].crc
}

// Size returns the number of bytes appended to a column.
func (s *Spill) Size(col int) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cols[col].size()
}

// CopyTo writes the range [off, off+n) of a column to w and returns the number
// of bytes written, which is n unless there is an error. If w is an io.ReaderFrom,
// CopyTo passes the file to w.ReadFrom. An os.File then copies in the kernel, and
// a bufio.Writer reads into its own buffer. Copies of the same column run one after
// another.
func (s *Spill) CopyTo(w io.Writer, col int, off, n int64) (int64, error) {
	c := &s.cols[col]
	c.copying.Lock()
	defer c.copying.Unlock()
	f, tail, err := s.begin(col, off, n)
	if err != nil {
		return 0, err
	}
	var done int64
	if f != nil {
		done, err = copyFile(w, f, off, n-int64(len(tail)))
		s.release(col)
	}
	if err == nil && len(tail) > 0 {
		var more int
		more, err = w.Write(tail)
		done += int64(more)
	}
	return done, err
}

// readAt reads a range of a column.
func (s *Spill) readAt(col int, p []byte, off int64) error {
	c := &s.cols[col]
	c.copying.Lock()
	defer c.copying.Unlock()
	f, tail, err := s.begin(col, off, int64(len(p)))
	if err != nil {
		return err
	}
	stored := len(p) - len(tail)
	copy(p[stored:], tail)
	if f == nil {
		return nil
	}
	defer s.release(col)
	if n, err := f.ReadAt(p[:stored], off); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("spill: %s: read %d of %d bytes at offset %d: %w", f.Name(), n, stored, off, err)
	}
	return nil
}

// Reader returns a reader of the bytes that have been appended to a column so far.
func (s *Spill) Reader(col int) *io.SectionReader {
	return io.NewSectionReader(columnReader{s, col}, 0, s.Size(col))
}

type columnReader struct {
	spill *Spill
	col   int
}

// ReadAt implements io.ReaderAt for ranges inside the column.
func (r columnReader) ReadAt(p []byte, off int64) (int, error) {
	if err := r.spill.readAt(r.col, p, off); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Writer returns a writer that appends to a column.
func (s *Spill) Writer(col int) io.Writer { return columnWriter{s, col} }

type columnWriter struct {
	spill *Spill
	col   int
}

// Write implements io.Writer.
func (w columnWriter) Write(p []byte) (int, error) {
	if err := w.spill.Append(w.col, p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// begin returns where a range of a column is. f holds the first part of the
// range, and the caller releases f; f is nil if the whole range is in memory. tail
// is the part in memory, which follows.
func (s *Spill) begin(col int, off, n int64) (f *os.File, tail []byte, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	//guard: refuses to read a spill that failed
	if s.err != nil {
		return nil, nil, s.err
	}
	c := &s.cols[col]
	//guard: rejects a range outside the column
	if size := c.size(); uint64(off) > uint64(size) || uint64(n) > uint64(size-off) { // also a negative off or n
		return nil, nil, fmt.Errorf("spill: range [%d, %d+%d) is outside column %d, which has %d bytes", off, off, n, col, size)
	}
	if off+n > c.stored {
		tail = s.tail(col)[max(off-c.stored, 0) : off+n-c.stored]
	}
	if n > int64(len(tail)) {
		f, err = s.acquire(col)
	}
	return f, tail, err
}

// acquire opens a column's file, if it is not open, and keeps it open until
// release.
func (s *Spill) acquire(col int) (*os.File, error) {
	f, err := s.folder.files.Acquire(&s.cols[col].file, func() (io.Closer, error) {
		return os.OpenFile(s.name(col), os.O_RDWR|os.O_CREATE, 0o600)
	})
	if err != nil {
		return nil, fmt.Errorf("spill: %w", err)
	}
	return f.(*os.File), nil
}

func (s *Spill) release(col int) { s.folder.files.Release(&s.cols[col].file) }

func copyFile(w io.Writer, f *os.File, off, n int64) (int64, error) {
	if _, err := f.Seek(off, io.SeekStart); err != nil {
		return 0, fmt.Errorf("spill: %w", err)
	}
	done, err := io.Copy(w, &io.LimitedReader{R: f, N: n})
	//guard: rejects a file that lost bytes
	if err == nil && done < n {
		err = fmt.Errorf("spill: %s ends after %d bytes of %d at %d: %w", f.Name(), done, n, off, io.ErrUnexpectedEOF)
	}
	return done, err
}

// Close closes the files of the spill, and leaves the files and the memory to
// another spill of the folder. After an error of Append, or if the files cannot
// be truncated, Close removes the files and releases the memory. Further calls do
// nothing.
func (s *Spill) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	//guard: keeps files that another spill uses by now
	if errors.Is(s.err, errClosed) {
		return nil
	}
	sound := s.err == nil && s.trim() == nil
	for col := range s.cols {
		s.folder.files.Close(&s.cols[col].file)
	}
	s.err = errClosed
	if sound {
		s.folder.recycle(s)
		return nil
	}
	if err := errors.Join(os.RemoveAll(s.dir), budget.ReleasePages(s.memory)); err != nil {
		return fmt.Errorf("spill: %w", err)
	}
	return nil
}

// trim truncates each file to the bytes of this spill. The bytes after them are
// of an earlier spill.
func (s *Spill) trim() error {
	if !s.stale {
		return nil
	}
	for col := range s.cols {
		c := &s.cols[col]
		if c.held == c.stored {
			continue
		}
		if err := os.Truncate(s.name(col), c.stored); err != nil {
			return fmt.Errorf("spill: %w", err)
		}
		c.held = c.stored
	}
	s.stale = false
	return nil
}

func (s *Spill) name(col int) string { return s.dir + "/" + strconv.Itoa(col) }
