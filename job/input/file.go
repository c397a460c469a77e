package input

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
	"time"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// identityTail is the number of bytes at the end of an input that its identity covers.
const identityTail = 64 << 10

// Readers is the number of inputs to read at a time. It hides the latency of remote
// storage, and does not depend on the number of processors.
const Readers = 32

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// fault adds the input's name to an error. A missing file is failure.Input.
func fault(name string, err error) error {
	if errors.Is(err, store.ErrNotExist) {
		return failure.New(failure.Input, "input %s does not exist", name)
	}
	if errors.Is(err, store.ErrNotRegular) || errors.Is(err, store.ErrBeingWritten) {
		return failure.As(failure.Input, fmt.Errorf("input %s: %w", name, err))
	}
	return fmt.Errorf("input %s: %w", name, err)
}

// Open opens an input. If its length, header or end changed, the error is failure.Input. If it
// was modified otherwise, Check decides later by the bytes. Open also returns the input as it
// is now. The caller closes the file.
func Open(ctx context.Context, resolve Resolve, in manifest.Input) (store.File, manifest.Input, error) {
	f, now, err := reopen(ctx, resolve, in)
	if err == nil && !now.Settled(&in) {
		if err = checkEnds(f, &in); err != nil {
			_ = f.Close() // only read
		}
	}
	return f, now, err
}

// reopen opens an input, whose length must be unchanged.
func reopen(ctx context.Context, resolve Resolve, in manifest.Input) (store.File, manifest.Input, error) {
	began := time.Now()
	f, err := OpenNamed(ctx, resolve, in.Path)
	if err != nil {
		return nil, in, err
	}
	//guard: rejects a file that changed its size
	if f.Size() != in.Size {
		_ = f.Close() // only read
		return nil, in, failure.New(failure.Input, "input %s changed during the job: it had %d bytes and has %d", in.Path, in.Size, f.Size())
	}
	now := in
	identify(&now, f, began)
	return f, now, nil
}

// identify sets the ID and the modification time of an input from a file that was opened
// after began.
func identify(in *manifest.Input, f store.File, began time.Time) {
	is := store.IdentityOf(f)
	in.FileID = is.ID
	in.SetModified(time.Unix(0, is.Changed), began)
	if is.Changed == 0 {
		in.ModTime = time.Time{}
	}
}

// checkEnds requires that the header and the end of an input are unchanged.
func checkEnds(f store.File, in *manifest.Input) error {
	first := keepFront(f)
	defer first.release()
	got, err := identity(first, *in)
	if err != nil {
		return fmt.Errorf("input %s: %w", in.Path, err)
	}
	//guard: rejects a file whose header or end changed
	if got != in.Identity {
		return failure.New(failure.Input, "input %s changed during the job: its identity was %08x and is %08x", in.Path, in.Identity, got)
	}
	return nil
}

// OpenNamed opens an input of any length. The caller closes the file.
func OpenNamed(ctx context.Context, resolve Resolve, name string) (store.File, error) {
	in, err := Locate(resolve, name)
	if err != nil {
		return nil, err
	}
	f, err := in.Store.Open(ctx, in.Path)
	if err != nil {
		return nil, fault(name, err)
	}
	return file{f, name}, nil
}

// file is an open input. If the input changes while it is read, the error is failure.Input and
// not that of failing storage.
type file struct {
	store.File
	input string // location of the input
}

// Identity implements store.Identified.
func (f file) Identity() store.Identity { return store.IdentityOf(f.File) }

// ReadAt implements io.ReaderAt.
func (f file) ReadAt(b []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(b, off)
	switch {
	//guard: reports a removed file as changed, not as failing storage
	case store.Classify(err) == store.NotFound:
		err = failure.As(failure.Input, fmt.Errorf("input %s changed while it was read: %w", f.input, err))
	//guard: reports a shortened file as changed, not as damaged
	case err == io.EOF && off+int64(n) < f.Size():
		err = failure.New(failure.Input, "input %s changed while it was read: it had %d bytes and has at most %d", f.input, f.Size(), off+int64(n))
	}
	return n, err
}

// HeaderError is the error for a file whose header is damaged or missing, so that none of its rows
// can be read.
type HeaderError struct{ Err error }

func (e *HeaderError) Error() string { return e.Err.Error() }

// Unwrap returns the damage.
func (e *HeaderError) Unwrap() error { return e.Err }

// Describe opens an input, reads its header and describes it. If the error is a *HeaderError, the
// input is described as one that is lost as a whole. On another error, only its path is reliable.
func Describe(ctx context.Context, resolve Resolve, name string) (manifest.Input, *ocf.Header, error) {
	in, began := manifest.Input{Path: name}, time.Now()
	f, err := OpenNamed(ctx, resolve, name)
	if err != nil {
		return in, nil, err
	}
	defer func() { _ = f.Close() }()
	identify(&in, f, began)
	if in.Size = f.Size(); in.Size == 0 {
		d := damage.New(damage.Magic, name, 0, "not an Avro object container file")
		d.Err = ErrEmpty
		return in, nil, &HeaderError{d}
	}
	first := keepFront(f)
	defer first.release()
	h, headerErr := ocf.ReadHeader(first, f.Size(), name)
	switch {
	case headerErr == nil:
		in.HeaderSize = h.Size
	case errors.As(headerErr, new(*damage.Error)):
		in.HeaderSize, in.Unreadable = min(in.Size, identityTail), headerErr.Error()
		headerErr = &HeaderError{headerErr}
	default:
		return in, nil, headerErr
	}
	if in.Identity, err = identity(first, in); err != nil {
		return in, nil, fmt.Errorf("input %s: %w", name, err)
	}
	return in, h, headerErr
}

// ErrEmpty is the error for a file without bytes. Even an Avro file without rows has a header.
var ErrEmpty = errors.New("the file is empty")

// NotInput says why a file in a directory is not an input. err is the error of Describe for the
// file. The reason is empty if the file may be an input that cannot be read.
func NotInput(err error) string {
	var d *damage.Error
	switch {
	case errors.Is(err, ErrEmpty):
		return "empty"
	case errors.Is(err, store.ErrBeingWritten):
		return "still being written"
	case errors.Is(err, store.ErrNotRegular):
		return "not a regular file"
	case errors.As(err, &d) && d.Kind == damage.Magic:
		return "not an Avro file"
	}
	return ""
}

// identityBuffers holds buffers for reading the ends of inputs.
var identityBuffers = sync.Pool{New: func() any { return new([identityTail]byte) }}

// front is a file whose first bytes are read only once, for one goroutine. Remote storage
// looks the file up and connects anew for each read. The first bytes of a small file
// include the header and the end, which its identity covers.
type front struct {
	store.File
	buf  *[identityTail]byte
	kept []byte // the first bytes of the file after the first read
}

// keepFront returns the front of a file. The caller releases it.
func keepFront(f store.File) *front {
	return &front{File: f, buf: identityBuffers.Get().(*[identityTail]byte)}
}

func (f *front) release() { identityBuffers.Put(f.buf) }

// ReadAt implements io.ReaderAt.
func (f *front) ReadAt(b []byte, off int64) (int, error) {
	end := min(f.Size(), int64(len(f.buf)))
	if off < 0 || off+int64(len(b)) > end {
		return f.File.ReadAt(b, off)
	}
	if f.kept == nil {
		if n, err := f.File.ReadAt(f.buf[:end], 0); int64(n) < end {
			return 0, err
		}
		f.kept = f.buf[:end]
	}
	return copy(b, f.kept[off:]), nil
}

// identity returns the CRC-32C of the header and the last bytes of an input.
func identity(f store.File, in manifest.Input) (uint32, error) {
	buf := identityBuffers.Get().(*[identityTail]byte)
	defer identityBuffers.Put(buf)
	h := crc32.New(castagnoli)
	tail := max(in.Size-identityTail, 0)
	for _, part := range []*io.SectionReader{
		io.NewSectionReader(f, 0, in.HeaderSize),
		io.NewSectionReader(f, tail, in.Size-tail),
	} {
		if _, err := io.CopyBuffer(h, part, buf[:]); err != nil {
			return 0, err
		}
	}
	return h.Sum32(), nil
}
