package reducer

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/spill"
	"github.com/rowtocol/rowtocol/store"
)

// BufferSize is the memory in bytes that writing an output takes.
const BufferSize = 1 << 20

const (
	// kernelCopy is the length in bytes from which a column is worth a copy of
	// its own; shorter ones are gathered in the buffer.
	kernelCopy = 128 << 10
	// longHalf is the length from which half a file is worth a reader of its own.
	longHalf = 4 << 20
)

// Written describes a file that was written and verified.
type Written struct {
	Path   string
	Size   int64  // bytes
	CRC32C uint32 // of the stored bytes
}

// Write makes a file of out's pieces; sp holds those that are spilled, and may
// be nil if there are none. An upload that fails is repeated as a whole from the
// spill, as long as st's patience lasts. Each try takes its path from name, which
// returns one that nothing has had: what a failed try still has under way on the
// storage then harms no other. After an error nothing is left, unless removing it
// failed too, which the error says.
func Write(ctx context.Context, st store.Store, name func() string, out format.Output, sp *spill.Spill) (Written, error) {
	if err := check(out, sp); err != nil {
		return Written{}, fmt.Errorf("%s: %w", name(), err)
	}
	return write(ctx, &upload{st: st, name: name, size: out.Size, send: pieces{out.Pieces, sp}.send})
}

// Copy makes a file of the bytes that src reads, as Write does of an output. A
// failure of src ends it: the upload is not repeated.
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
	if err != nil {
		return Written{}, fmt.Errorf("write %s: %w", u.path, err)
	}
	return Written{Path: u.path, Size: u.size, CRC32C: u.crc}, nil
}

// buffers are those of finished files, for the next ones.
var buffers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, BufferSize) }}

// upload is a file on its way.
type upload struct {
	st   store.Store
	name func() string
	size int64
	// send writes the content to buf, which passes it on to sum.
	send func(buf *bufio.Writer, sum *summer) error
	buf  *bufio.Writer

	path string // of this try
	crc  uint32 // CRC-32C of what was sent
	// sourceErr is a failure to read what is to be sent, which no repetition
	// mends.
	sourceErr error
}

// try does the whole upload once. On error it removes the file.
func (u *upload) try(ctx context.Context) error {
	err := u.create(ctx)
	//guard: keeps the first error of an upload
	if err != nil || u.sourceErr != nil {
		return err
	}
	//guard: rejects other bytes than were sent
	err = u.verify(ctx)
	if err == nil {
		return nil
	}
	// An unfinished file is also removed after ctx has ended.
	clean, cancel := store.Cleanup(ctx)
	defer cancel()
	if left := u.st.Remove(clean, u.path); left != nil {
		err = leftBehind(err, left)
	}
	return err
}

// check finds an output that contradicts itself, before anything is created.
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

// create writes and commits the file. On error, also one of the source, it
// leaves nothing.
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
	if left := w.Abort(); left != nil {
		err = leftBehind(err, left)
	}
	return err
}

// leftBehind adds to err that a file could not be removed; err, or else what
// prevented the removal, says what kind of failure it is.
func leftBehind(err, left error) error {
	if err == nil {
		return fmt.Errorf("remove it: %w", left)
	}
	return fmt.Errorf("%w (the file is left there: %v)", err, left)
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

// verify reads the file back and compares its length and CRC-32C. A long one is
// read in two halves at once: while the last row group is verified there is
// nothing else to do.
func (u *upload) verify(ctx context.Context) error {
	size, half := u.size, u.size/2
	if size < 2*longHalf {
		half = 0
	}
	u.buf.Reset(nil)
	buf := u.buf.AvailableBuffer() // nothing is being written
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
	//guard: rejects other bytes than were sent
	if crc := concat(first, second, size-half); crc != u.crc {
		return fmt.Errorf("read back %d bytes with CRC-32C %08x, wrote them with %08x: %w", size, crc, u.crc, store.ErrMismatch)
	}
	return nil
}

// sum returns the CRC-32C of a range of the file, which must be as long as what
// was sent. buf is used for reading.
func (u *upload) sum(ctx context.Context, off, n int64, buf []byte) (uint32, error) {
	f, err := u.st.Open(ctx, u.path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	//guard: rejects a file longer than was sent
	if f.Size() != u.size {
		return 0, fmt.Errorf("%d bytes were stored, %d written: %w", f.Size(), u.size, store.ErrMismatch)
	}
	sum := &summer{ctx: ctx, w: io.Discard}
	read, err := io.CopyBuffer(sum, io.NewSectionReader(f, off, n), buf)
	//guard: tells a file that ends early from one with other bytes
	if err == nil && read != n {
		err = fmt.Errorf("%s ends after %d bytes of %d at %d: %w", u.path, read, n, off, store.ErrMismatch)
	}
	return sum.crc, err
}

// summer computes the CRC-32C of what passes through it, and stops when its
// context ends.
type summer struct {
	ctx context.Context
	w   io.Writer
	crc uint32
	err error // the first
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

// whole lets the writer read a whole column itself, so that on local disk the
// kernel copies. What the spill was given counts, not what it holds: the check
// of the output finds out if that differs.
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

// destination is a summer's writer, which must be an io.ReaderFrom, and keeps
// its error there.
type destination struct{ s *summer }

func (d destination) Write(p []byte) (n int, err error) {
	n, d.s.err = d.s.w.Write(p)
	return n, d.s.err
}

func (d destination) ReadFrom(r io.Reader) (n int64, err error) {
	n, d.s.err = d.s.w.(io.ReaderFrom).ReadFrom(r)
	return n, d.s.err
}
