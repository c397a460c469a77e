package reducer

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"sync"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/spill"
	"github.com/rowtocol/rowtocol/store"
)

// BufferSize is the size in bytes of the memory for writing an output.
const BufferSize = 1 << 20

const (
	// kernelCopy is the length in bytes from which a column is copied without
	// the buffer. Shorter columns are gathered in the buffer.
	kernelCopy = 128 << 10
	// longHalf is the length in bytes of half a file from which both halves are
	// read at the same time.
	longHalf = 4 << 20
)

// Written describes a file that was written and verified.
type Written struct {
	Path   string
	Size   int64  // bytes
	CRC32C uint32 // of the stored bytes
}

// Write makes a file of out's pieces. sp holds the spilled pieces, and may be nil
// if there are none. An upload that fails is repeated as a whole, as long as the
// retries of st last. Each try gets its path from name, which returns a path that
// was never used. Storage may perform writes of a failed try late: they change no
// other file, because no other try has that path. After an error no file is left.
// If the file could not be removed, the error says so.
func Write(ctx context.Context, st store.Store, name func() string, out format.Output, sp *spill.Spill) (Written, error) {
	if err := check(out, sp); err != nil {
		return Written{}, fmt.Errorf("%s: %w", name(), err)
	}
	return write(ctx, &upload{st: st, name: name, size: out.Size, send: pieces{out.Pieces, sp}.send})
}

// Send writes the bytes of out's pieces to w. sp is as for Write. Send does not keep w,
// and fails once ctx has ended.
func Send(ctx context.Context, w io.Writer, out format.Output, sp *spill.Spill) error {
	if err := check(out, sp); err != nil {
		return err
	}
	buf := buffers.Get().(*bufio.Writer)
	defer func() {
		buf.Reset(nil)
		buffers.Put(buf)
	}()
	sum := &summer{ctx: ctx, w: w}
	buf.Reset(sum)
	if err := (pieces{out.Pieces, sp}).send(buf, sum); err != nil {
		return err
	}
	return buf.Flush()
}

// Copy makes a file of the bytes of src, in the same way as Write. If reading src
// fails, the upload is not repeated.
func Copy(ctx context.Context, st store.Store, name func() string, src *io.SectionReader) (Written, error) {
	return write(ctx, &upload{st: st, name: name, size: src.Size(), send: func(buf *bufio.Writer, _ *summer) error {
		n, err := buf.ReadFrom(io.NewSectionReader(src, 0, src.Size()))
		if err == nil && n != src.Size() {
			err = io.ErrUnexpectedEOF
		}
		return err
	}})
}

func write(ctx context.Context, u *upload) (Written, error) {
	u.buf = buffers.Get().(*bufio.Writer)
	defer func() {
		u.buf.Reset(nil)
		buffers.Put(u.buf)
	}()
	u.path = u.name()
	tried := false
	err := store.Retry(ctx, u.st, "write "+u.path, func(ctx context.Context) error {
		//guard: uses a new name for each try
		if tried {
			u.path = u.name()
		}
		tried = true
		return u.try(ctx)
	})
	if err == nil {
		err = u.sourceErr
	}
	// Errors of local files name the path.
	if named := (*fs.PathError)(nil); err != nil && !(errors.As(err, &named) && named.Path == u.path) {
		err = fmt.Errorf("write %s: %w", u.path, err)
	}
	if err != nil {
		return Written{}, err
	}
	return Written{Path: u.path, Size: u.size, CRC32C: u.crc}, nil
}

// buffers holds the buffers of finished files for the next files.
var buffers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, BufferSize) }}

// upload is a file that is being written.
type upload struct {
	st   store.Store
	name func() string
	size int64
	// send writes the content to buf, whose writer is sum.
	send func(buf *bufio.Writer, sum *summer) error
	buf  *bufio.Writer

	path string // path of the current try
	crc  uint32 // CRC-32C of the bytes that were sent
	// sourceErr is an error of reading the bytes to send. Another try would not
	// help.
	sourceErr error
}

// try does the whole upload once. After an error it removes the file.
func (u *upload) try(ctx context.Context) error {
	err := u.create(ctx)
	//guard: keeps the first error of an upload; sourceErr alone returns nil, so that Retry stops
	if err != nil || u.sourceErr != nil {
		return err
	}
	//guard: rejects bytes that differ from the sent bytes
	err = u.verify(ctx)
	if err == nil {
		return nil
	}
	// The file is also removed if ctx has ended.
	clean, cancel := store.Cleanup(ctx)
	defer cancel()
	if removeErr := u.st.Remove(clean, u.path); removeErr != nil {
		err = leftBehind(err, removeErr)
	}
	return err
}

// check rejects an output that contradicts itself, before any file is created.
func check(out format.Output, sp *spill.Spill) error {
	var sum int64
	for i, p := range out.Pieces {
		//guard: rejects a piece with a wrong length
		if p.Column < 0 && p.Length != int64(len(p.Literal)) {
			return fmt.Errorf("piece %d has %d bytes, not the %d it names", i, len(p.Literal), p.Length)
		}
		//guard: rejects a piece of a column that was not spilled
		if p.Column >= 0 && sp == nil {
			return fmt.Errorf("piece %d is of column %d, but nothing was spilled", i, p.Column)
		}
		sum += p.Length
	}
	//guard: rejects an output whose pieces do not add up
	if sum != out.Size {
		return fmt.Errorf("pieces of %d bytes for an output of %d", sum, out.Size)
	}
	return nil
}

// create writes and commits the file. After an error, or if sourceErr is set, it
// leaves no file.
func (u *upload) create(ctx context.Context) error {
	w, err := u.st.Create(ctx, u.path, store.CreateOptions{Size: u.size})
	if err != nil {
		return err
	}
	sum := &summer{ctx: ctx, w: w}
	u.buf.Reset(sum)
	sendErr := u.send(u.buf, sum)
	if sendErr == nil {
		sendErr = u.buf.Flush()
	}
	if sendErr == nil {
		u.crc = sum.crc
		if err = w.Commit(ctx); err == nil {
			return nil
		}
	} else if err = sum.err; err == nil {
		u.sourceErr = sendErr
	}
	if removeErr := w.Abort(); removeErr != nil {
		err = leftBehind(err, removeErr)
	}
	return err
}

// leftBehind adds to err that removing the file failed with removeErr. The kind of
// failure is that of err, or that of removeErr if err is nil.
func leftBehind(err, removeErr error) error {
	if err == nil {
		return fmt.Errorf("remove it: %w", removeErr)
	}
	return fmt.Errorf("%w (the file is left there: %v)", err, removeErr)
}

// pieces are the content of an output.
type pieces struct {
	list  []format.Piece
	spill *spill.Spill
}

func (p pieces) send(buf *bufio.Writer, sum *summer) error {
	_, direct := sum.w.(io.ReaderFrom)
	for _, piece := range p.list {
		var err error
		switch {
		case piece.Column < 0:
			_, err = buf.Write(piece.Literal)
		case direct && piece.Length >= kernelCopy && piece.Length == p.spill.Size(piece.Column):
			if err = buf.Flush(); err == nil {
				err = sum.whole(p.spill, piece.Column, piece.Length)
			}
		default:
			_, err = p.spill.CopyTo(buf, piece.Column, piece.Offset, piece.Length)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// verify reads the file back and compares its length and CRC-32C. The halves of a
// long file are read at the same time: while the last row group is verified, the
// task has nothing else to do.
func (u *upload) verify(ctx context.Context) error {
	size, half := u.size, u.size/2
	if size < 2*longHalf {
		half = 0
	}
	u.buf.Reset(nil)
	buf := u.buf.AvailableBuffer() // the writer does not use its buffer now
	buf = buf[:cap(buf)]
	middle := len(buf) / 2

	var first, second uint32
	var firstErr error
	var reading sync.WaitGroup
	if half > 0 {
		reading.Go(func() { first, firstErr = u.sum(ctx, 0, half, buf[:middle]) })
	}
	second, err := u.sum(ctx, half, size-half, buf[middle:])
	reading.Wait()
	if err = cmp.Or(firstErr, err); err != nil {
		return err
	}
	//guard: rejects bytes that differ from the sent bytes
	if crc := concat(first, second, size-half); crc != u.crc {
		return fmt.Errorf("read back %d bytes with CRC-32C %08x, wrote them with %08x: %w", size, crc, u.crc, store.ErrMismatch)
	}
	return nil
}

// sum returns the CRC-32C of a range of the file. It fails if the length of the
// file differs from the sent length. buf is used for reading.
func (u *upload) sum(ctx context.Context, off, n int64, buf []byte) (uint32, error) {
	f, err := u.st.Open(ctx, u.path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	//guard: rejects a file whose length differs from the sent length
	if f.Size() != u.size {
		return 0, fmt.Errorf("%d bytes were stored, %d written: %w", f.Size(), u.size, store.ErrMismatch)
	}
	sum := &summer{ctx: ctx, w: io.Discard}
	read, err := io.CopyBuffer(sum, io.NewSectionReader(f, off, n), buf)
	//guard: reports that a file ends early, rather than a wrong checksum
	if err == nil && read != n {
		err = fmt.Errorf("%s ends after %d bytes of %d at %d: %w", u.path, read, n, off, store.ErrMismatch)
	}
	return sum.crc, err
}

// summer is a writer that computes the CRC-32C of the bytes it passes to w. It
// fails once its context has ended.
type summer struct {
	ctx context.Context
	w   io.Writer
	crc uint32
	err error // the first error of w or ctx
}

func (s *summer) Write(p []byte) (n int, err error) {
	//guard: stops an upload that was interrupted
	if err := s.ready(); err != nil {
		return 0, err
	}
	s.crc = crc32.Update(s.crc, castagnoli, p)
	n, s.err = s.w.Write(p)
	return n, s.err
}

// whole lets w read a whole column itself, so that the kernel copies the bytes on
// local disk. It adds the CRC-32C of the bytes that were appended to the spill. If
// the spill's file differs, verify finds the difference.
func (s *summer) whole(sp *spill.Spill, col int, length int64) error {
	//guard: stops an upload before the next column
	if err := s.ready(); err != nil {
		return err
	}
	if _, err := sp.CopyTo(destination{s}, col, 0, length); err != nil {
		return err
	}
	s.crc = concat(s.crc, sp.CRC32C(col), length)
	return nil
}

func (s *summer) ready() error {
	//guard: stops an upload that was interrupted
	if s.err == nil {
		s.err = s.ctx.Err()
	}
	return s.err
}

// destination is the writer of a summer, without its checksum. It keeps errors in
// the summer. The writer must be an io.ReaderFrom.
type destination struct{ s *summer }

func (d destination) Write(p []byte) (n int, err error) {
	n, d.s.err = d.s.w.Write(p)
	return n, d.s.err
}

func (d destination) ReadFrom(r io.Reader) (n int64, err error) {
	n, d.s.err = d.s.w.(io.ReaderFrom).ReadFrom(r)
	return n, d.s.err
}
