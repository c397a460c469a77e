package reducer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/spill"
	"github.com/rowtocol/rowtocol/store"
)

// maxBuffer is the most memory that writing an output takes.
const maxBuffer = 1 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Written describes a file that was written and verified.
type Written struct {
	Path   string
	Size   int64  // bytes
	CRC32C uint32 // of the stored bytes
}

// Write makes the file path of out's pieces; sp holds those that are spilled,
// and may be nil if there are none. The file appears under its name when it is
// on disk and has been read back. If the name exists with the same bytes, as
// after a lost race with another run of the same task, that is success; with
// other bytes it is store.ErrExist. On any other error nothing is left at
// path, nor of the temporary file, unless removing it failed too.
func Write(ctx context.Context, st store.Store, path string, out format.Output, sp *spill.Spill) (Written, error) {
	if err := check(out, sp); err != nil {
		return Written{}, fmt.Errorf("%s: %w", path, err)
	}
	temp := store.TempName(path)
	buf := bufio.NewWriterSize(nil, int(min(maxBuffer, max(out.Size, 512))))
	crc, err := create(ctx, st, temp, out, sp, buf)
	if err != nil {
		return Written{}, fmt.Errorf("write %s: %w", path, err)
	}
	if err := publish(ctx, st, temp, path, out.Size, crc, buf); err != nil {
		return Written{}, fmt.Errorf("write %s: %w", path, err)
	}
	return Written{Path: path, Size: out.Size, CRC32C: crc}, nil
}

// check finds an output that contradicts itself, before anything is created.
func check(out format.Output, sp *spill.Spill) error {
	var sum int64
	for i, p := range out.Pieces {
		if p.Column < 0 && p.Length != int64(len(p.Literal)) {
			return fmt.Errorf("piece %d has %d bytes, not the %d it names", i, len(p.Literal), p.Length)
		}
		if p.Column >= 0 && sp == nil {
			return fmt.Errorf("piece %d is of column %d, but nothing was spilled", i, p.Column)
		}
		sum += p.Length
	}
	if sum != out.Size {
		return fmt.Errorf("pieces of %d bytes for an output of %d", sum, out.Size)
	}
	return nil
}

// create writes and commits the file, and returns the CRC-32C of what it sent.
// On error it leaves nothing.
func create(ctx context.Context, st store.Store, path string, out format.Output, sp *spill.Spill, buf *bufio.Writer) (uint32, error) {
	w, err := st.Create(ctx, path, store.CreateOptions{Size: out.Size})
	if err != nil {
		return 0, err
	}
	sum := &summer{ctx: ctx, w: w}
	buf.Reset(sum)
	err = send(buf, out.Pieces, sp)
	if err == nil {
		err = w.Commit(ctx)
	}
	if err != nil {
		return 0, errors.Join(err, w.Abort())
	}
	return sum.crc, nil
}

func send(buf *bufio.Writer, pieces []format.Piece, sp *spill.Spill) error {
	for _, p := range pieces {
		var err error
		if p.Column < 0 {
			_, err = buf.Write(p.Literal)
		} else {
			_, err = sp.CopyTo(buf, p.Column, p.Offset, p.Length)
		}
		if err != nil {
			return err
		}
	}
	return buf.Flush()
}

// publish verifies temp and renames it to path. On error it removes temp, and
// path if that is what temp has become.
func publish(ctx context.Context, st store.Store, temp, path string, size int64, crc uint32, buf *bufio.Writer) error {
	err := verify(ctx, st, temp, size, crc, buf)
	renamed := false
	if err == nil {
		err = st.Rename(ctx, temp, path)
		renamed = true
	}
	if err == nil {
		return nil
	}
	// What was begun is removed also, and above all, when ctx has ended.
	clean := context.WithoutCancel(ctx)
	if renamed && errors.Is(err, store.ErrExist) {
		if verify(ctx, st, path, size, crc, buf) == nil {
			return st.Remove(clean, temp)
		}
		return errors.Join(err, st.Remove(clean, temp))
	}
	removed := st.Remove(clean, temp)
	if renamed && errors.Is(removed, store.ErrNotExist) {
		removed = st.Remove(clean, path)
	}
	return errors.Join(err, removed)
}

// verify reads a file back and compares its length and CRC-32C.
func verify(ctx context.Context, st store.Store, path string, size int64, crc uint32, buf *bufio.Writer) error {
	f, err := st.Open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if f.Size() != size {
		return fmt.Errorf("%d bytes were stored, %d written: %w", f.Size(), size, store.ErrMismatch)
	}
	sum := &summer{ctx: ctx, w: io.Discard}
	buf.Reset(sum)
	n, err := buf.ReadFrom(io.NewSectionReader(f, 0, size))
	if err == nil {
		err = buf.Flush()
	}
	if err != nil {
		return err
	}
	if n != size || sum.crc != crc {
		return fmt.Errorf("read back %d bytes with CRC-32C %08x, wrote %d with %08x: %w", n, sum.crc, size, crc, store.ErrMismatch)
	}
	return nil
}

// summer computes the CRC-32C of what passes through it, and stops when its
// context ends.
type summer struct {
	ctx context.Context
	w   io.Writer
	crc uint32
}

func (s *summer) Write(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	s.crc = crc32.Update(s.crc, castagnoli, p)
	return s.w.Write(p)
}
