package trevni

import (
	"bytes"
	stdbzip2 "compress/bzip2"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/dsnet/compress/bzip2"
	"github.com/golang/snappy"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"
)

// codecNames lists the codecs, in the order of messages.
var codecNames = []string{"null", "deflate", "snappy", "bzip2", "zstandard"}

func knownCodec(name string) bool { return slices.Contains(codecNames, name) }

// encoder compresses whole blocks. It is safe for concurrent use.
type encoder interface {
	// encode appends the compressed form of raw to dst.
	encode(dst, raw []byte) ([]byte, error)
	// bound returns the most bytes that encode appends for n bytes.
	bound(n int) int
}

// encoderOf returns the encoder of a known codec.
func encoderOf(name string) encoder {
	switch name {
	case "deflate":
		return deflateEncoder{}
	case "snappy":
		return snappyEncoder{}
	case "bzip2":
		return bzip2Encoder{}
	case "zstandard":
		return zstdEncoder{}
	}
	return nullEncoder{}
}

type nullEncoder struct{}

func (nullEncoder) encode(dst, raw []byte) ([]byte, error) { return append(dst, raw...), nil }
func (nullEncoder) bound(n int) int                        { return n }

type snappyEncoder struct{}

func (snappyEncoder) encode(dst, raw []byte) ([]byte, error) {
	most := snappy.MaxEncodedLen(len(raw))
	if most < 0 {
		return dst, fmt.Errorf("trevni: a block of %d bytes is too large for snappy", len(raw))
	}
	n := len(dst)
	dst = slices.Grow(dst, most)
	enc := snappy.Encode(dst[n:n+most], raw)
	return dst[:n+len(enc)], nil
}

func (snappyEncoder) bound(n int) int { return 32 + n + n/6 }

// sink is an io.Writer that appends.
type sink struct{ b []byte }

func (s *sink) Write(p []byte) (int, error) {
	s.b = append(s.b, p...)
	return len(p), nil
}

// stream is a reusable compressor and the sink that it writes to.
type stream[W interface {
	io.WriteCloser
	Reset(io.Writer)
}] struct {
	w   W
	out sink
}

func (s *stream[W]) encode(dst, raw []byte) ([]byte, error) {
	s.out.b = dst
	s.w.Reset(&s.out)
	_, err := s.w.Write(raw)
	if err == nil {
		err = s.w.Close()
	}
	dst, s.out.b = s.out.b, nil
	return dst, err
}

type deflateStream = stream[*flate.Writer]

var deflateStreams = sync.Pool{New: func() any {
	w, _ := flate.NewWriter(nil, flate.DefaultCompression) // fails only for unknown levels
	return &deflateStream{w: w}
}}

type deflateEncoder struct{}

func (deflateEncoder) encode(dst, raw []byte) ([]byte, error) {
	s := deflateStreams.Get().(*deflateStream)
	defer deflateStreams.Put(s)
	return s.encode(dst, raw)
}

// bound includes the overhead of blocks that deflate stores unchanged, and of Huffman tables
// for short data.
func (deflateEncoder) bound(n int) int { return n + n/64 + 128 }

// bzip2Writer adapts the compressor's Reset to stream.
type bzip2Writer struct{ *bzip2.Writer }

func (w bzip2Writer) Reset(out io.Writer) { _ = w.Writer.Reset(out) } // always nil

type bzip2Stream = stream[bzip2Writer]

// bzip2Small is a size that, even after bzip2's first run-length coding, fits the smallest
// block of bzip2, 100 kB. Smaller blocks need less memory to decode.
const bzip2Small = 75_000

var bzip2SmallStreams, bzip2Streams = bzip2Pool(bzip2.BestSpeed), bzip2Pool(bzip2.BestCompression)

func bzip2Pool(level int) *sync.Pool {
	return &sync.Pool{New: func() any {
		w, _ := bzip2.NewWriter(nil, &bzip2.WriterConfig{Level: level}) // fails only for unknown levels
		return &bzip2Stream{w: bzip2Writer{w}}
	}}
}

type bzip2Encoder struct{}

func (bzip2Encoder) encode(dst, raw []byte) ([]byte, error) {
	pool := bzip2Streams
	if len(raw) <= bzip2Small {
		pool = bzip2SmallStreams
	}
	s := pool.Get().(*bzip2Stream)
	defer pool.Put(s)
	return s.encode(dst, raw)
}

// bound includes the first run-length coding, which makes five bytes of four equal bytes.
func (bzip2Encoder) bound(n int) int { return n + n/4 + 1024 }

// zstdShared compresses for all encoders. Its EncodeAll may run concurrently.
var zstdShared = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithZeroFrames(true), zstd.WithWindowSize(zstdWindow))
})

// zstdWindow is the largest window of frames written and read. RFC 8878 recommends that
// every decoder supports it.
const zstdWindow = 8 << 20

type zstdEncoder struct{}

func (zstdEncoder) encode(dst, raw []byte) ([]byte, error) {
	w, err := zstdShared()
	if err != nil {
		return dst, fmt.Errorf("trevni: %w", err)
	}
	return w.EncodeAll(raw, dst), nil
}

func (zstdEncoder) bound(n int) int { return n + n/128 + 64 }

// decompressors are shared by all columns, because there may be thousands of columns.
var decompressors = sync.Pool{New: func() any { return new(decompressor) }}

// decompressor decodes blocks one after the other and keeps tables between them. It is
// not safe for concurrent use.
type decompressor struct {
	src   bytes.Reader
	flate io.ReadCloser
	zstd  *zstd.Decoder
}

var errRawSize = errors.New("the block does not decode to the size that the block table states")

// The raw size that a block table states is checked before memory is allocated for it. A size
// up to believable, or up to plausible times the stored size, is not checked.
const (
	plausible  = 64
	believable = 1 << 20
)

// check returns an error if stored bytes do not decode to size bytes. It cannot always know
// that without decoding. If the size is implausible, it decodes the bytes and drops the result.
func (z *decompressor) check(codec string, stored []byte, size int64) error {
	switch {
	case codec == "null":
		//guard: rejects a block whose size in the table is wrong
		if int64(len(stored)) != size {
			return errRawSize
		}
	case codec == "snappy":
		n, err := snappy.DecodedLen(stored)
		if err != nil {
			return err
		}
		// No element of snappy makes more than 64 bytes; the shortest has two.
		//guard: rejects a size to which the bytes cannot decode
		if int64(n) != size || n/64 > len(stored) {
			return errRawSize
		}
	case size > believable && size/plausible > int64(len(stored)):
		r, err := z.reader(codec, stored)
		if err != nil {
			return err
		}
		n, err := io.Copy(io.Discard, io.LimitReader(r, size+1))
		//guard: rejects a size to which the bytes do not decode
		if err == nil && n != size {
			err = errRawSize
		}
		return err
	}
	return nil
}

// decode returns the raw bytes, which must be size bytes, in the memory of dst. The capacity of
// dst should be one byte more than size.
func (z *decompressor) decode(codec string, dst, stored []byte, size int64) ([]byte, error) {
	dst = dst[:0]
	switch codec {
	case "null":
		return append(dst, stored...), nil
	case "snappy":
		return snappy.Decode(slices.Grow(dst, int(size))[:size], stored)
	}
	r, err := z.reader(codec, stored)
	if err != nil {
		return dst, err
	}
	return z.readBounded(codec, dst, r, size)
}

// reader starts the streaming decoder of a codec on stored bytes.
func (z *decompressor) reader(codec string, stored []byte) (io.Reader, error) {
	z.src.Reset(stored)
	switch codec {
	case "deflate":
		if z.flate == nil {
			z.flate = flate.NewReader(&z.src)
			return z.flate, nil
		}
		return z.flate, z.flate.(flate.Resetter).Reset(&z.src, nil)
	case "bzip2":
		return stdbzip2.NewReader(&z.src), nil
	}
	if z.zstd == nil {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(zstdWindow))
		if err != nil {
			return nil, err
		}
		z.zstd = d
	}
	return z.zstd, z.zstd.Reset(&z.src)
}

// readBounded reads exactly size bytes and the end of both streams.
func (z *decompressor) readBounded(codec string, dst []byte, r io.Reader, size int64) ([]byte, error) {
	for {
		//guard: rejects a block larger than its table says
		if int64(len(dst)) > size {
			return dst, errRawSize
		}
		if len(dst) == cap(dst) {
			dst = slices.Grow(dst, int(min(size+1, int64(max(4096, len(dst))))))
		}
		n, err := r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return dst, err
		}
	}
	//guard: rejects a block smaller than its table says
	if int64(len(dst)) != size {
		return dst, errRawSize
	}
	//guard: rejects bytes after a compressed block
	if z.src.Len() > 0 {
		return dst, fmt.Errorf("%d bytes follow the end of the %s stream", z.src.Len(), codec)
	}
	return dst, nil
}
