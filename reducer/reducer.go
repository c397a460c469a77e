package reducer

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/spill"
	"github.com/rowtocol/rowtocol/store"
)

const (
	// bufferSize is the memory that writing an output takes.
	bufferSize = 1 << 20
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

// Write makes the file path of out's pieces; sp holds those that are spilled,
// and may be nil if there are none. The file appears under its name when it is
// stored and has been read back. If the name exists with the same bytes, as
// after a lost race with another run of the same task, that is success; with
// other bytes it is store.ErrExist. An upload that fails is repeated as a whole
// from the spill, as long as st's patience lasts. On any other error nothing is
// left at path, nor of the temporary file, unless removing it failed too.
func Write(ctx context.Context, st store.Store, path string, out format.Output, sp *spill.Spill) (Written, error) {
	if err := check(out, sp); err != nil {
		return Written{}, fmt.Errorf("%s: %w", path, err)
	}
	u := &upload{st: st, path: path, out: out, spill: sp, buf: buffers.Get().(*bufio.Writer)}
	defer func() {
		u.buf.Reset(nil)
		buffers.Put(u.buf)
	}()
	err := store.Retry(ctx, st, "write "+path, u.try)
	if err == nil {
		err = u.spillErr
	}
	if err != nil {
		return Written{}, fmt.Errorf("write %s: %w", path, err)
	}
	return Written{Path: path, Size: out.Size, CRC32C: u.crc}, nil
}

// buffers are those of finished outputs, for the next ones.
var buffers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, bufferSize) }}

// upload is an output on its way.
type upload struct {
	st    store.Store
	path  string
	out   format.Output
	spill *spill.Spill
	buf   *bufio.Writer

	crc uint32 // CRC-32C of what was sent
	// spillErr is a failure of the local side, which no repetition mends.
	spillErr error
}

// try does the whole upload once, under a temporary name of its own: a failed
// one may still hold its name on the storage.
func (u *upload) try(ctx context.Context) error {
	temp := store.TempName(u.path)
	err := u.create(ctx, temp)
	//guard: the error of the upload would be lost for that of reading it back
	if err != nil || u.spillErr != nil {
		return err
	}
	return u.publish(ctx, temp)
}

// check finds an output that contradicts itself, before anything is created.
func check(out format.Output, sp *spill.Spill) error {
	var sum int64
	for i, p := range out.Pieces {
		//guard: an output would have another length than its pieces
		if p.Column < 0 && p.Length != int64(len(p.Literal)) {
			return fmt.Errorf("piece %d has %d bytes, not the %d it names", i, len(p.Literal), p.Length)
		}
		//guard: a defect of a format would be a crash
		if p.Column >= 0 && sp == nil {
			return fmt.Errorf("piece %d is of column %d, but nothing was spilled", i, p.Column)
		}
		sum += p.Length
	}
	//guard: an output would be created that cannot be completed
	if sum != out.Size {
		return fmt.Errorf("pieces of %d bytes for an output of %d", sum, out.Size)
	}
	return nil
}

// create writes and commits the file. On error, also one of the spill, it
// leaves nothing.
func (u *upload) create(ctx context.Context, temp string) error {
	w, err := u.st.Create(ctx, temp, store.CreateOptions{Size: u.out.Size})
	if err != nil {
		return err
	}
	sum := &summer{ctx: ctx, w: w}
	u.buf.Reset(sum)
	sendErr := u.send(sum)
	if sendErr == nil {
		u.crc = sum.crc
		if err = w.Commit(ctx); err == nil {
			return nil
		}
	} else if err = sum.err; err == nil {
		u.spillErr = sendErr
	}
	if left := w.Abort(); left != nil {
		err = leftBehind(err, temp, left)
	}
	return err
}

func (u *upload) send(sum *summer) error {
	_, direct := sum.w.(io.ReaderFrom)
	for _, p := range u.out.Pieces {
		var err error
		switch {
		case p.Column < 0:
			_, err = u.buf.Write(p.Literal)
		case direct && p.Length >= kernelCopy && p.Length == u.spill.Size(p.Column):
			if err = u.buf.Flush(); err == nil {
				err = sum.whole(u.spill, p.Column, p.Length)
			}
		default:
			_, err = u.spill.CopyTo(u.buf, p.Column, p.Offset, p.Length)
		}
		if err != nil {
			return err
		}
	}
	return u.buf.Flush()
}

// leftBehind adds to err that a temporary file could not be removed; err, or
// else what prevented the removal, says what kind of failure it is.
func leftBehind(err error, temp string, left error) error {
	if err == nil {
		return fmt.Errorf("remove %s: %w", temp, left)
	}
	return fmt.Errorf("%w (%s is left behind: %v)", err, temp, left)
}

// publish verifies temp and renames it to the upload's path. On error it
// removes temp, and path if that is what temp has become.
func (u *upload) publish(ctx context.Context, temp string) (err error) {
	//guard: other bytes than were sent would get the output's name
	err = u.verify(ctx, temp)
	renamed := false
	if err == nil {
		err = u.st.Rename(ctx, temp, u.path)
		renamed = true
	}
	if err == nil {
		return nil
	}
	// What was begun is removed also, and above all, when ctx has ended.
	clean, cancel := store.Cleanup(ctx)
	defer cancel()
	//guard: the output of another run of the same task would be an error
	if renamed && errors.Is(err, store.ErrExist) && u.verify(ctx, u.path) == nil {
		err = nil
	}
	left := u.st.Remove(clean, temp)
	if renamed && errors.Is(left, store.ErrNotExist) && !errors.Is(err, store.ErrExist) {
		left = u.st.Remove(clean, u.path)
	}
	if left != nil {
		return leftBehind(err, temp, left)
	}
	return err
}

// verify reads a file back and compares its length and CRC-32C. A long one is
// read in two halves at once: while the last row group is verified there is
// nothing else to do.
func (u *upload) verify(ctx context.Context, path string) error {
	size, half := u.out.Size, u.out.Size/2
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
		reading.Go(func() { first, firstErr = u.sum(ctx, path, 0, half, buf[:middle]) })
	}
	second, err := u.sum(ctx, path, half, size-half, buf[middle:])
	reading.Wait()
	if err = cmp.Or(firstErr, err); err != nil {
		return err
	}
	//guard: other bytes than were sent would get the output's name
	if crc := concat(first, second, size-half); crc != u.crc {
		return fmt.Errorf("read back %d bytes with CRC-32C %08x, wrote them with %08x: %w", size, crc, u.crc, store.ErrMismatch)
	}
	return nil
}

// sum returns the CRC-32C of a range of a file, which must be as long as what
// was sent. buf is used for reading.
func (u *upload) sum(ctx context.Context, path string, off, n int64, buf []byte) (uint32, error) {
	f, err := u.st.Open(ctx, path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	//guard: a file with more at its end would get the output's name
	if f.Size() != u.out.Size {
		return 0, fmt.Errorf("%d bytes were stored, %d written: %w", f.Size(), u.out.Size, store.ErrMismatch)
	}
	sum := &summer{ctx: ctx, w: io.Discard}
	read, err := io.CopyBuffer(sum, io.NewSectionReader(f, off, n), buf)
	//guard: a file that ends early would be said to have other bytes
	if err == nil && read != n {
		err = fmt.Errorf("%s ends after %d bytes of %d at %d: %w", path, read, n, off, store.ErrMismatch)
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
	//guard: an upload that was interrupted would go on to its end
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
	//guard: an upload that was interrupted would go on with a whole column
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
	//guard: an upload that was interrupted would go on to its end
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
