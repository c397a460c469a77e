package store

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"syscall"
)

// Opener reads a stored file as streams. OpenAt may be called concurrently.
type Opener interface {
	// OpenAt returns length bytes from offset off on, to the end of the file if
	// length is -1. ctx bounds the stream too.
	OpenAt(ctx context.Context, off, length int64) (io.ReadCloser, error)
}

const (
	streamBuffer  = 1 << 20 // bytes that are read ahead at a time
	streamBuffers = 4
	// streamGap is how many bytes are rather read and dropped than a new stream
	// begun.
	streamGap = 1 << 20
)

// NewStreamFile returns a file of size bytes over storage that reads streams.
// A read that continues where the last one ended makes it read ahead, until
// the end of the file, a read elsewhere or Close; any other read is a stream
// of its own. ctx bounds all of them.
func NewStreamFile(ctx context.Context, name string, size int64, o Opener) File {
	reading, cancel := context.WithCancel(ctx)
	return &streamFile{parent: ctx, ctx: reading, cancel: cancel, name: name, size: size, opener: o, next: -1}
}

type streamFile struct {
	parent context.Context // the caller's
	ctx    context.Context // ends with Close too
	cancel context.CancelFunc
	name   string
	size   int64
	opener Opener

	mu     sync.Mutex // of what follows
	closed bool
	next   int64   // where the last read ended
	ahead  *stream // nil if there is none, or while a read has it
	taken  bool    // by a read
}

func (f *streamFile) Name() string { return f.name }

func (f *streamFile) Size() int64 { return f.size }

func (f *streamFile) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, &fs.PathError{Op: "read", Path: f.name, Err: syscall.EINVAL}
	}
	want := p[:min(int64(len(p)), max(f.size-off, 0))]
	s, err := f.take(off, int64(len(want)))
	if err != nil {
		return 0, &fs.PathError{Op: "read", Path: f.name, Err: err}
	}
	n := 0
	switch {
	case len(want) == 0:
	case s == nil:
		n, err = f.readRange(want, off)
	default:
		n, err = s.read(want, off)
		f.giveBack(s, err)
	}
	if err != nil {
		if ended := f.ended(); ended != nil {
			err = ended
		}
		return n, &fs.PathError{Op: "read", Path: f.name, Err: err}
	}
	if len(want) < len(p) {
		err = io.EOF
	}
	return n, err
}

// ended returns why the file can be read no more, or nil.
func (f *streamFile) ended() error {
	if err := f.parent.Err(); err != nil {
		return err
	}
	if f.ctx.Err() != nil {
		return fs.ErrClosed
	}
	return nil
}

// take returns the stream for a read of n bytes at off, or nil if the read is
// to be one of its own. While a read has the stream, others get none.
func (f *streamFile) take(off, n int64) (*stream, error) {
	if err := f.ended(); err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, nil
	}
	f.mu.Lock()
	s, continues := f.ahead, follows(off, f.next)
	f.next = off + n
	fits := s != nil && follows(off, s.pos)
	if f.taken || !fits && !continues {
		f.mu.Unlock()
		return nil, nil
	}
	f.ahead, f.taken = nil, true
	f.mu.Unlock()
	if fits {
		return s, nil
	}
	if s != nil {
		s.close()
	}
	return f.start(off), nil
}

// follows reports whether a stream at pos should be read on for what is at off.
func follows(off, pos int64) bool { return pos >= 0 && off >= pos && off-pos <= streamGap }

// giveBack keeps a stream for the next read, if it can be of use to one.
func (f *streamFile) giveBack(s *stream, err error) {
	f.mu.Lock()
	keep := err == nil && s.pos < s.end && !f.closed
	if keep {
		f.ahead = s
	}
	f.taken = false
	f.mu.Unlock()
	if !keep {
		s.close()
	}
}

func (f *streamFile) readRange(p []byte, off int64) (int, error) {
	body, err := f.opener.OpenAt(f.ctx, off, int64(len(p)))
	if err != nil {
		return 0, err
	}
	n, err := io.ReadFull(body, p)
	_ = body.Close() // only read
	return n, tooShort(err)
}

// tooShort returns the error of a read that was to be full, in which an end is
// a fault of the storage.
func tooShort(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return fmt.Errorf("%w: the data ended early", ErrUnavailable)
	}
	return err
}

// Close ends all reads and releases what they use.
func (f *streamFile) Close() error {
	f.mu.Lock()
	s := f.ahead
	f.ahead, f.closed = nil, true
	f.mu.Unlock()
	f.cancel()
	if s != nil {
		s.close()
	}
	return nil
}

// stream is a part of a file, to its end, that a goroutine reads ahead. One
// read at a time has it.
type stream struct {
	pos, end int64 // of the file: the next byte to be read, and the last + 1
	cancel   context.CancelFunc
	filled   chan chunk
	empty    chan []byte
	done     chan struct{} // closed when the goroutine has ended
	current  chunk
	used     int // bytes of current
}

// chunk is what was read at a time, and the error that ended it.
type chunk struct {
	data []byte
	err  error
}

func (f *streamFile) start(off int64) *stream {
	ctx, cancel := context.WithCancel(f.ctx)
	s := &stream{
		pos:    off,
		end:    f.size,
		cancel: cancel,
		filled: make(chan chunk, streamBuffers),
		empty:  make(chan []byte, streamBuffers),
		done:   make(chan struct{}),
	}
	go func() {
		defer close(s.done)
		s.fill(ctx, f.opener, off)
	}()
	return s
}

// fill reads from off to the end into buffers that read hands back.
func (s *stream) fill(ctx context.Context, o Opener, off int64) {
	defer close(s.filled)
	body, err := o.OpenAt(ctx, off, -1)
	if err != nil {
		s.filled <- chunk{err: err}
		return
	}
	defer func() { _ = body.Close() }() // only read
	for buffers := 0; off < s.end; {
		var buf []byte
		if buffers < streamBuffers && len(s.empty) == 0 {
			buffers++
			buf = make([]byte, min(streamBuffer, s.end-off))
		} else {
			select {
			case buf = <-s.empty:
			case <-ctx.Done():
				return
			}
		}
		n, err := io.ReadFull(body, buf[:min(int64(cap(buf)), s.end-off)])
		s.filled <- chunk{data: buf[:n], err: tooShort(err)} // has room for all buffers
		if err != nil {
			return
		}
		off += int64(n)
	}
}

// read reads what is at off, which is not before the stream's position.
func (s *stream) read(p []byte, off int64) (n int, err error) {
	for n < len(p) {
		if s.used == len(s.current.data) {
			if err := s.turn(); err != nil {
				return n, err
			}
		}
		rest := s.current.data[s.used:]
		took := int(min(int64(len(rest)), off-s.pos)) // of the gap
		if took == 0 {
			took = copy(p[n:], rest)
			n += took
			off += int64(took)
		}
		s.used += took
		s.pos += int64(took)
	}
	return n, nil
}

// turn goes to the next chunk.
func (s *stream) turn() error {
	if s.current.err != nil {
		return s.current.err
	}
	if s.current.data != nil {
		s.empty <- s.current.data[:0] // has room for all buffers
	}
	s.used = 0
	var ok bool
	if s.current, ok = <-s.filled; !ok {
		s.current.err = context.Canceled
	}
	if len(s.current.data) == 0 {
		return s.current.err
	}
	return nil
}

// close ends the stream and waits until the storage has been let go. A stream
// that was read to its end is not canceled, so that its connection stays good.
func (s *stream) close() {
	if s.pos < s.end {
		s.cancel()
	}
	<-s.done
	s.cancel()
}
