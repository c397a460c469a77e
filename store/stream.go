package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Opener reads a stored file as streams. OpenAt may be called concurrently.
type Opener interface {
	// OpenAt returns length bytes from offset off, which the file has. ctx bounds the
	// stream, too.
	OpenAt(ctx context.Context, off, length int64) (io.ReadCloser, error)
}

const (
	streamBuffer  = 1 << 20 // bytes that are read ahead at a time
	streamBuffers = 4
	// streamDirect is the size from which a read is large. If nothing was read ahead, a
	// large read needs no buffer: it reads directly into its destination.
	streamDirect = 256 << 10
	// streamFirst is the length of a stream that begins with small reads: the sender may send bytes
	// that are not read. A stream that follows one that was read to its end is twice as long.
	streamFirst = 1 << 20
	// streamGap is the largest gap that is read and discarded instead of opening a new
	// stream.
	streamGap = 1 << 20
)

// NewStreamFile returns the file of st that info describes, on storage that reads streams. A
// ReadAt begins a stream if it continues where the last ReadAt ended, or up to streamGap after
// that. Streams grow while they are read to their end. A large first ReadAt begins a stream of the
// whole file. A stream lasts until its end or Close, or until two ReadAts at another place follow
// each other. It is read ahead while the reader does something else. Any other read, and each
// ReadRange, has a stream of its own. ctx bounds all streams. The error of a failed read says if the
// file was removed or replaced.
func NewStreamFile(ctx context.Context, st Store, info Info, o Opener) File {
	reading, cancel := context.WithCancel(ctx)
	return &streamFile{parent: ctx, ctx: reading, cancel: cancel, st: st, info: info, opener: o, next: -1, end: -1}
}

type streamFile struct {
	parent context.Context // the caller's
	ctx    context.Context // ends with parent and with Close
	cancel context.CancelFunc
	st     Store
	info   Info // describes the file when it was opened
	opener Opener

	mu     sync.Mutex // guards the fields below
	closed bool
	next   int64   // offset at which the last read ended
	ahead  *stream // nil if there is no stream or a read is using it
	taken  bool    // a read is using the stream
	// length and end are the length of the last stream and the offset of its end. They belong to
	// the read that has taken the stream.
	length, end int64
}

func (f *streamFile) Name() string { return f.info.Path }

func (f *streamFile) Size() int64 { return f.info.Size }

// Identity implements Identified.
func (f *streamFile) Identity() Identity { return f.info.identity() }

func (f *streamFile) ReadAt(p []byte, off int64) (int, error) { return f.readChecked(p, off, f.read) }

// ReadRange implements RangeReader.
func (f *streamFile) ReadRange(p []byte, off int64) (int, error) {
	return f.readChecked(p, off, f.readRange)
}

// readChecked calls read for the part of a range that the file has, at least one byte.
func (f *streamFile) readChecked(p []byte, off int64, read func(p []byte, off int64) (int, error)) (int, error) {
	//guard: rejects a negative offset
	if off < 0 {
		return 0, &fs.PathError{Op: "read", Path: f.info.Path, Err: syscall.EINVAL}
	}
	want := p[:min(int64(len(p)), max(f.info.Size-off, 0))]
	n, err := 0, f.ended()
	if err == nil && len(want) > 0 {
		n, err = read(want, off)
	}
	if err != nil {
		return n, &fs.PathError{Op: "read", Path: f.info.Path, Err: cmp.Or(f.ended(), f.failureReason(err))}
	}
	if len(want) < len(p) {
		err = io.EOF
	}
	return n, err
}

// ended returns why the file can no longer be read, or nil.
func (f *streamFile) ended() error {
	if err := f.parent.Err(); err != nil {
		return err
	}
	if f.ctx.Err() != nil {
		return fs.ErrClosed
	}
	return nil
}

// failureReason returns the reason of a failed read. If the file was removed or replaced, the
// servers that hold the bytes may only report that the bytes are missing. So failureReason
// asks for the status of the file.
func (f *streamFile) failureReason(failed error) error {
	if !errors.Is(failed, ErrUnavailable) {
		return failed
	}
	now, err := f.st.Stat(f.ctx, f.info.Path)
	switch {
	case errors.Is(err, ErrNotExist):
		return err
	case err == nil && (now.FileID != f.info.FileID || now.Size != f.info.Size):
		return ErrReplaced
	}
	return failed
}

func (f *streamFile) read(p []byte, off int64) (n int, err error) {
	s, ok := f.take(off, int64(len(p)))
	if !ok {
		return f.readRange(p, off)
	}
	for n < len(p) && err == nil {
		at := off + int64(n)
		if s != nil && (at >= s.end || !follows(at, s.pos)) {
			s.close()
			s = nil
		}
		if s == nil {
			s, err = f.start(at, int64(len(p)-n))
		}
		if err == nil {
			var more int
			more, err = s.read(p[n:min(int64(len(p)), int64(n)+s.end-at)], at)
			n += more
		}
	}
	f.release(s, err)
	return n, err
}

// take returns the stream for a read of n bytes at off. It is nil if there is no stream yet.
// ok is false if the read needs a stream of its own, for example because another read uses the
// stream.
func (f *streamFile) take(off, n int64) (s *stream, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	whole := f.next < 0 && n >= streamDirect
	if whole {
		f.length, f.end = f.info.Size, off
	}
	continues := whole || follows(off, f.next) || f.ahead != nil && follows(off, f.ahead.pos)
	f.next = off + n
	if f.taken || !continues {
		return nil, false
	}
	s, f.ahead, f.taken = f.ahead, nil, true
	return s, true
}

// follows reports whether a read at off should use a stream that is at pos.
func follows(off, pos int64) bool { return pos >= 0 && off >= pos && off-pos <= streamGap }

// release keeps a stream for the next read, or closes it if it is at its end or failed.
func (f *streamFile) release(s *stream, err error) {
	f.mu.Lock()
	keep := err == nil && s.pos < s.end && !f.closed
	if keep {
		f.ahead = s
	}
	f.taken = false
	f.mu.Unlock()
	if !keep && s != nil {
		s.close()
	}
}

func (f *streamFile) readRange(p []byte, off int64) (int, error) {
	body, err := f.opener.OpenAt(f.ctx, off, int64(len(p)))
	if err != nil {
		return 0, err
	}
	n, err := io.ReadFull(body, p)
	_ = body.Close() // nothing was written, so an error does not matter
	return n, tooShort(err)
}

// tooShort returns the error of a read of bytes that must exist. If the data ended early, the
// storage is at fault.
func tooShort(err error) error {
	//guard: distinguishes data that ended early from the end of the file
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return fmt.Errorf("%w: the data ended early", ErrUnavailable)
	}
	return err
}

// Close ends all reads and releases their resources.
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

// ReadWhole returns the content of a file of at most max bytes, and closes the file. Its
// arguments f and err are the results of Open. If Open failed, ReadWhole returns the
// error of Open.
func ReadWhole(f File, err error, max int64) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written, so an error does not matter
	//guard: bounds the size of a file that is read whole
	if f.Size() > max {
		return nil, fmt.Errorf("%s: %d bytes, at most %d expected: %w", f.Name(), f.Size(), max, ErrTooLarge)
	}
	data := make([]byte, f.Size())
	n, err := f.ReadAt(data, 0)
	//guard: rejects a file that is being written
	if n < len(data) {
		return nil, fmt.Errorf("%s: %w", f.Name(), tooShort(err))
	}
	return data, nil
}

// stream is the rest of a file from a position. One read at a time uses it.
//
// As long as reads follow each other so fast that they wait for the network, each read fetches
// its bytes itself, because passing bytes between goroutines would only delay it. When there
// is time between the reads, a goroutine reads ahead in that time.
type stream struct {
	pos, end int64 // offsets in the file: of the next byte to read, and of the end
	cancel   context.CancelFunc
	filling  chan struct{} // closed when the goroutine that reads ahead ends; nil if there is none
	stop     atomic.Bool   // tells the goroutine to end

	// The goroutine owns these fields while it runs.
	body io.ReadCloser
	left int64 // bytes that are left in body
	err  error // error after the bytes in ready

	mu      sync.Mutex // while the goroutine runs, guards the four fields below
	ready   [][]byte   // buffers that were read ahead
	used    int        // bytes of ready[0] that were read
	empty   [][]byte   // free buffers
	buffers int        // number of allocated buffers

	readsAhead bool          // the goroutine pays off, because there is time between reads
	returned   time.Time     // when the last read returned
	idle       time.Duration // time between reads since the last fetch
}

// idleShare says when a stream reads ahead: if the time between reads exceeds 1/idleShare of
// the time of a fetch, reading ahead is worth it.
const idleShare = 4

// start starts a stream at an offset, for a read of n bytes. If it begins at the end of the last one,
// or soon after, that one was read to its end, or nearly.
func (f *streamFile) start(off, n int64) (*stream, error) {
	length := int64(streamFirst)
	if follows(off, f.end) {
		length = 2 * f.length
	}
	length = min(max(length, n), f.info.Size-off)
	ctx, cancel := context.WithCancel(f.ctx)
	body, err := f.opener.OpenAt(ctx, off, length)
	if err != nil {
		cancel()
		return nil, err
	}
	f.length, f.end = length, off+length
	return &stream{pos: off, end: f.end, cancel: cancel, body: body, left: length, returned: time.Now()}, nil
}

// read reads from off, which is not before the stream's position.
func (s *stream) read(p []byte, off int64) (n int, err error) {
	s.idle += time.Since(s.returned)
	for {
		n += s.copyReady(p[n:], off+int64(n))
		if n == len(p) {
			s.resume()
			s.returned = time.Now()
			return n, nil
		}
		began := time.Now()
		s.pause()
		if len(s.ready) == 0 {
			if s.err != nil {
				return n, s.err
			}
			if rest := p[n:]; len(rest) >= streamDirect && s.pos == off+int64(n) {
				n += s.fetch(rest)
			} else {
				s.fill()
			}
		}
		s.readsAhead = s.idle*idleShare > time.Since(began)
		s.idle = 0
	}
}

// copyReady copies the ready bytes from off on, and returns how many it copied.
func (s *stream) copyReady(p []byte, off int64) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.ready) > 0 {
		buf := s.ready[0]
		gap := int(min(int64(len(buf)-s.used), off-s.pos))
		took := copy(p[n:], buf[s.used+gap:])
		s.used += gap + took
		s.pos += int64(gap + took)
		off += int64(took)
		n += took
		if s.used < len(buf) {
			break
		}
		s.used = 0
		s.ready = slices.Delete(s.ready, 0, 1)
		s.empty = append(s.empty, buf[:cap(buf)])
	}
	return n
}

// fetch reads the next bytes directly into p.
func (s *stream) fetch(p []byte) int {
	n, err := io.ReadFull(s.body, p)
	s.pos += int64(n)
	s.left -= int64(n)
	s.err = tooShort(err)
	return n
}

// fill makes one more buffer ready. If it is told to stop, the buffer may be partly full. It
// reports whether it may be called again.
func (s *stream) fill() bool {
	buf := s.buffer()
	if buf == nil || s.left == 0 {
		return false
	}
	buf = buf[:min(int64(len(buf)), s.left)]
	n := 0
	for n < len(buf) && s.err == nil && (n == 0 || !s.stop.Load()) {
		more, err := s.body.Read(buf[n:])
		n += more
		if n < len(buf) {
			s.err = tooShort(err)
		}
	}
	s.left -= int64(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	if n > 0 {
		s.ready = append(s.ready, buf[:n])
	}
	return s.err == nil && !s.stop.Load()
}

// buffer returns an empty buffer, or nil if all are in use.
func (s *stream) buffer() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := len(s.empty) - 1; last >= 0 {
		buf := s.empty[last]
		s.empty = s.empty[:last]
		return buf
	}
	if s.buffers == streamBuffers {
		return nil
	}
	s.buffers++
	return make([]byte, min(streamBuffer, s.left))
}

// resume starts the goroutine that reads ahead, if that helps.
func (s *stream) resume() {
	if s.filling != nil {
		select {
		case <-s.filling:
			s.filling = nil
		default:
			return
		}
	}
	if !s.readsAhead || s.err != nil || s.left == 0 || len(s.ready) == streamBuffers {
		return
	}
	filling := make(chan struct{})
	s.filling = filling
	go func() {
		for s.fill() {
		}
		close(filling) // not deferred: after a panic the reader must not go on
	}()
}

// pause ends the goroutine that reads ahead, if there is one.
func (s *stream) pause() {
	if s.filling == nil {
		return
	}
	s.stop.Store(true)
	<-s.filling
	s.stop.Store(false)
	s.filling = nil
}

// close releases the stream's resources. It does not cancel a stream that was read to
// its end, so that its connection can be reused.
func (s *stream) close() {
	if s.pos < s.end {
		s.cancel()
	}
	s.pause()
	_ = s.body.Close() // nothing was written, so an error does not matter
	s.cancel()
}
