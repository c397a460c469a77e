package store

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/bits"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// streams opens streams of a slice and counts them. It can fail or hang.
type streams struct {
	data       []byte
	failAt     int64 // offset at which streams fail; negative for none
	hang       bool  // reads wait for their context
	long, open atomic.Int32
	short      atomic.Int32
	sent       atomic.Int64 // bytes
	asked      atomic.Int64 // bytes
	now        Info         // result of Stat, with lost
	lost       error
}

// infoStore is a store with nothing but Stat.
type infoStore struct {
	Store
	*streams
}

func (s infoStore) Stat(context.Context, string) (Info, error) { return s.now, s.lost }

var errStream = errors.New("the stream failed")

func (s *streams) OpenAt(ctx context.Context, off, length int64) (io.ReadCloser, error) {
	if length >= streamFirst {
		s.long.Add(1)
	} else {
		s.short.Add(1)
	}
	s.open.Add(1)
	s.asked.Add(length)
	return &body{ctx: ctx, s: s, pos: off, end: off + length}, nil
}

type body struct {
	ctx      context.Context
	s        *streams
	pos, end int64
}

func (b *body) Read(p []byte) (int, error) {
	if b.s.hang {
		<-b.ctx.Done()
	}
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	if b.s.failAt >= 0 && b.pos >= b.s.failAt {
		return 0, errStream
	}
	end := b.end
	if b.s.failAt >= 0 {
		end = min(end, b.s.failAt)
	}
	end = min(end, int64(len(b.s.data)))
	if b.pos >= end {
		return 0, io.EOF
	}
	n := copy(p, b.s.data[b.pos:min(end, b.pos+60_000)])
	b.pos += int64(n)
	b.s.sent.Add(int64(n))
	return n, nil
}

func (b *body) Close() error {
	b.s.open.Add(-1)
	return nil
}

func newStreams(n int) *streams {
	s := &streams{data: make([]byte, n), failAt: -1}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range s.data {
		s.data[i] = byte(rng.Uint32())
	}
	return s
}

func (s *streams) file(ctx context.Context) File {
	s.now = Info{Path: "f", Size: int64(len(s.data)), FileID: 7}
	return NewStreamFile(ctx, infoStore{nil, s}, s.now, s)
}

func (s *streams) check(t *testing.T, f File, off, n int64) {
	t.Helper()
	p := make([]byte, n)
	got, err := f.ReadAt(p, off)
	want := s.data[min(off, f.Size()):min(off+n, f.Size())]
	if !bytes.Equal(p[:got], want) || (err == io.EOF) != (len(want) < len(p)) || err != nil && err != io.EOF {
		t.Fatalf("read of %d at %d: %d bytes, %v; want %d", n, off, got, err, len(want))
	}
}

func TestStreamFileSequential(t *testing.T) {
	for _, size := range []int{0, 1, streamBuffer - 1, streamBuffer, 9*streamBuffer + 17} {
		for _, step := range []int64{7777, streamBuffer, 3*streamBuffer + 5} {
			s := newStreams(size)
			f := s.file(t.Context())
			for off := int64(0); off <= f.Size(); off += step {
				s.check(t, f, off, step)
			}
			most := int32(1)
			if step < streamDirect {
				most = int32(bits.Len(uint(size / streamFirst))) // each stream is twice as long as the one before
			}
			if long, short := s.long.Load(), s.short.Load(); long > most || short > 2 {
				t.Errorf("%d bytes in steps of %d: %d streams and %d short reads", size, step, long, short)
			}
			if n := s.open.Load(); n != 0 {
				t.Errorf("%d streams are open at the end of the file", n)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestStreamFileElsewhere(t *testing.T) {
	tests := []struct {
		name        string
		reads       []int64 // offsets of reads of 100 bytes
		long, short int32
	}{
		{"scattered", []int64{0, 2 << 20, 0, 5 << 20, 3 << 20}, 0, 5},
		{"backward", []int64{3 << 20, 2 << 20, 1 << 20, 0}, 0, 4},
		{"far apart", []int64{0, 4 << 20, 1 << 20, 6 << 20}, 0, 4},
		{"small gaps", []int64{0, 150, 300, 300 + streamGap, 400 + 2*streamGap}, 2, 1},
		{"many small gaps", []int64{0, 150, 100_000, 200_000, 300_000, 400_000}, 1, 1},
		{"an interruption", []int64{0, 100, 5 << 20, 200, 300}, 1, 2},
		{"a new place", []int64{0, 100, 5 << 20, 5<<20 + 100, 5<<20 + 200}, 2, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStreams(8 << 20)
			f := s.file(t.Context())
			for _, off := range tt.reads {
				s.check(t, f, off, 100)
			}
			if long, short := s.long.Load(), s.short.Load(); long != tt.long || short != tt.short {
				t.Errorf("%d streams and %d short reads, want %d and %d", long, short, tt.long, tt.short)
			}
			if err := f.Close(); err != nil || s.open.Load() != 0 {
				t.Errorf("close: %v; %d streams are open", err, s.open.Load())
			}
			if _, err := f.ReadAt(make([]byte, 1), 0); !errors.Is(err, fs.ErrClosed) {
				t.Errorf("read after close: %v", err)
			}
		})
	}
}

// TestStreamFileRanges checks that consecutive ranges begin no stream, and do not affect
// an existing one.
func TestStreamFileRanges(t *testing.T) {
	s := newStreams(8 << 20)
	f := s.file(t.Context())
	ranges := func(from, to, step int64) {
		t.Helper()
		for off := from; off < to; off += step {
			p := make([]byte, step)
			n, err := ReadRange(f, p, off)
			want := s.data[off:min(off+step, f.Size())]
			if !bytes.Equal(p[:n], want) || (err == io.EOF) != (len(want) < len(p)) || err != nil && err != io.EOF {
				t.Fatalf("range of %d at %d: %d bytes, %v", step, off, n, err)
			}
		}
	}
	ranges(0, 2<<20, 100_000)
	ranges(3<<20, f.Size(), streamDirect+1)
	if long := s.long.Load(); long != 0 {
		t.Errorf("%d streams", long)
	}
	if sent := s.sent.Load(); sent > f.Size() {
		t.Errorf("%d bytes read", sent)
	}
	short := s.short.Load()
	s.check(t, f, 0, 100) // it does not follow
	s.check(t, f, 100, 100)
	ranges(200, 1000, 100)
	s.check(t, f, 200, 100)
	if long, short := s.long.Load(), s.short.Load()-short; long != 1 || short != 9 {
		t.Errorf("%d streams and %d short reads", long, short)
	}
	if n, err := ReadRange(f, make([]byte, 1), f.Size()); n != 0 || err != io.EOF {
		t.Errorf("at the end: %d bytes, %v", n, err)
	}
	if _, err := ReadRange(f, make([]byte, 1), -1); Classify(err) != Final {
		t.Errorf("before the start: %v", err)
	}
	if err := f.Close(); err != nil || s.open.Load() != 0 {
		t.Errorf("close: %v; %d streams are open", err, s.open.Load())
	}
	if _, err := ReadRange(f, make([]byte, 1), 0); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("after close: %v", err)
	}
}

// A stream that is left early has not been asked for the rest of the file.
func TestStreamFileLeft(t *testing.T) {
	s := newStreams(64 << 20)
	f := s.file(t.Context())
	asked := int64(0)
	for _, at := range []int64{0, 40 << 20, 20 << 20} {
		s.check(t, f, at, 100)
		s.check(t, f, at+100, 100) // begins a stream
		asked += 100 + streamFirst
	}
	if got := s.asked.Load(); got != asked {
		t.Errorf("streams were asked for %d bytes, want %d", got, asked)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// A large read that continues a stream takes one more stream at most.
func TestStreamFileLarge(t *testing.T) {
	s := newStreams(64 << 20)
	f := s.file(t.Context())
	s.check(t, f, 0, 100)
	s.check(t, f, 100, 100)
	s.check(t, f, 200, 40<<20)
	if long := s.long.Load(); long != 2 {
		t.Errorf("%d streams", long)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

func TestStreamFileConcurrent(t *testing.T) {
	s := newStreams(6 << 20)
	f := s.file(t.Context())
	var wg sync.WaitGroup
	for r := range 6 {
		wg.Go(func() {
			for off := int64(r) * 1000; off < f.Size(); off += 50_000 {
				p := make([]byte, 60_000)
				n, err := f.ReadAt(p, off)
				if err != nil && err != io.EOF || !bytes.Equal(p[:n], s.data[off:min(off+60_000, f.Size())]) {
					t.Errorf("read at %d: %d bytes, %v", off, n, err)
				}
			}
		})
	}
	wg.Wait()
	if err := f.Close(); err != nil || s.open.Load() != 0 {
		t.Errorf("close: %v; %d streams are open", err, s.open.Load())
	}
}

func TestStreamFileReadsAhead(t *testing.T) {
	s := newStreams(16 << 20)
	f := s.file(t.Context())
	const step = 300_000
	off := int64(0)
	for range 4 {
		s.check(t, f, off, step)
		off += step
		time.Sleep(50 * time.Millisecond) // the reader has something to do
	}
	ahead := func() int64 { return s.sent.Load() - off }
	for end := time.Now().Add(10 * time.Second); ahead() < (streamBuffers-1)*streamBuffer && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if n := ahead(); n < (streamBuffers-1)*streamBuffer || n > streamBuffers*streamBuffer {
		t.Errorf("%d bytes were read ahead", n)
	}
	for off < f.Size() { // fast from here on
		s.check(t, f, off, step)
		off += step
	}
	if n := s.sent.Load(); n != f.Size() || s.long.Load() != 1 {
		t.Errorf("%d bytes were read in %d streams", n, s.long.Load())
	}
}

func TestStreamFileFails(t *testing.T) {
	s := newStreams(4 << 20)
	s.failAt = 2_000_000
	f := s.file(t.Context())
	s.check(t, f, 0, 1_000_000)
	if s.long.Load() != 1 {
		t.Error("a large first read began no stream")
	}
	n, err := f.ReadAt(make([]byte, 2_000_000), 1_000_000)
	if n != 1_000_000 || !errors.Is(err, errStream) {
		t.Errorf("read %d bytes, %v", n, err)
	}
	if s.open.Load() != 0 {
		t.Error("the failed stream is open")
	}
	s.failAt = -1
	s.check(t, f, 2_000_000, 3_000_000)

	s.data = s.data[:3<<20]
	for _, off := range []int64{4<<20 - 100, 0} {
		n, err = f.ReadAt(make([]byte, 4<<20), off)
		if !errors.Is(err, ErrUnavailable) || n != max(0, len(s.data)-int(off)) {
			t.Errorf("read of a shortened file at %d: %d bytes, %v", off, n, err)
		}
	}
	if _, err := f.ReadAt(make([]byte, 1), -1); Classify(err) != Final {
		t.Errorf("read before the start: %v", err)
	}
}

// TestLostFile removes or replaces a file while it is read. The error of the read says
// that, and not that storage fails.
func TestLostFile(t *testing.T) {
	for name, tt := range map[string]struct {
		now  Info
		lost error
		is   error
	}{
		"storage fails":  {Info{Size: 100, FileID: 7}, nil, ErrUnavailable},
		"removed":        {Info{}, ErrNotExist, ErrNotExist},
		"replaced":       {Info{Size: 100, FileID: 8}, nil, ErrReplaced},
		"another length": {Info{Size: 99, FileID: 7}, nil, ErrReplaced},
		"not known":      {Info{}, ErrUnavailable, ErrUnavailable},
	} {
		s := newStreams(100)
		f := s.file(t.Context())
		s.data, s.now, s.lost = nil, tt.now, tt.lost
		if _, err := f.ReadAt(make([]byte, 100), 0); !errors.Is(err, tt.is) {
			t.Errorf("%s: %v", name, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestStreamFileEnds(t *testing.T) {
	for name, end := range map[string]func(File, context.CancelFunc){
		"close":  func(f File, _ context.CancelFunc) { _ = f.Close() },
		"cancel": func(_ File, cancel context.CancelFunc) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			s := newStreams(1 << 20)
			f := s.file(ctx)
			s.check(t, f, 0, 10)
			s.hang = true
			errs := make(chan error)
			for _, off := range []int64{10, 900_000} {
				go func() {
					_, err := f.ReadAt(make([]byte, 10), off)
					errs <- err
				}()
			}
			time.Sleep(10 * time.Millisecond)
			end(f, cancel)
			want := map[string]error{"close": fs.ErrClosed, "cancel": context.Canceled}[name]
			for range 2 {
				if err := <-errs; !errors.Is(err, want) {
					t.Errorf("a hanging read ended with %v", err)
				}
			}
			cancel()
			if s.open.Load() != 0 {
				t.Errorf("%d streams are open", s.open.Load())
			}
		})
	}
}
