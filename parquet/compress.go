package parquet

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	pq "github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// codecInfo describes a codec.
type codecInfo struct {
	name  string // on the command line
	codec pq.CompressionCodec
	// growth is a bound of the ratio of a page's size before compression to its compressed size.
	growth int
}

// codecs are the codecs that can be written and read, the default first. No element of Snappy
// makes more than 64 bytes; the shortest has two. LZ4 makes 255 bytes of one in a long match,
// Deflate 258 of two bits, and Zstandard a block of 128 KiB of four bytes.
var codecs = []codecInfo{
	{"snappy", pq.Snappy, 64},
	{"zstd", pq.Zstd, 32 << 10},
	{"gzip", pq.Gzip, 1032},
	{"lz4_raw", pq.Lz4Raw, 255},
	{"none", pq.Uncompressed, 1},
}

// codecNames lists the names of the codecs.
func codecNames() (names []string) {
	for _, c := range codecs {
		names = append(names, c.name)
	}
	return names
}

// codecNamed returns the codec with a name.
func codecNamed(name string) (codec pq.CompressionCodec, ok bool) {
	for _, c := range codecs {
		if c.name == name {
			return c.codec, true
		}
	}
	return 0, false
}

// codecOf describes a codec. It returns the zero value for one that cannot be read.
func codecOf(codec pq.CompressionCodec) codecInfo {
	for _, c := range codecs {
		if c.codec == codec {
			return c
		}
	}
	return codecInfo{}
}

// compressBound returns the most bytes that compress appends for n bytes.
func compressBound(c pq.CompressionCodec, n int64) int64 {
	per, overhead := compressRatio(c)
	return n + n/per + overhead
}

// compressRatio returns what compression adds at most: one byte to each per bytes, and an
// overhead.
func compressRatio(c pq.CompressionCodec) (per, overhead int64) {
	switch c {
	case pq.Uncompressed:
		return 1 << 62, 0
	case pq.Snappy:
		return snappyLiteral / 4, binary.MaxVarintLen32 + 3
	case pq.Zstd:
		return 128, 64
	case pq.Gzip:
		return 64, 128
	}
	return 255, 16 // as lz4.CompressBlockBound
}

// compressRoom returns the most memory that compress needs in dst for n bytes.
func compressRoom(c pq.CompressionCodec, n int64) int64 {
	if c == pq.Snappy {
		return 32 + n + n/6 // as snappy.MaxEncodedLen
	}
	return compressBound(c, n)
}

// compress appends the compressed form of raw to dst. It is safe for concurrent use.
func compress(dst []byte, c pq.CompressionCodec, raw []byte) ([]byte, error) {
	switch c {
	case pq.Uncompressed:
		return append(dst, raw...), nil
	case pq.Snappy:
		return compressSnappy(dst, raw)
	case pq.Zstd:
		w, err := zstdShared()
		if err != nil {
			return dst, err
		}
		return w.EncodeAll(raw, dst), nil
	case pq.Gzip:
		z := gzips.Get().(*gzipStream)
		defer gzips.Put(z)
		return z.append(dst, raw)
	case pq.Lz4Raw:
		z := lz4s.Get().(*lz4.CompressorCCompat)
		defer lz4s.Put(z)
		dst = slices.Grow(dst, lz4.CompressBlockBound(len(raw)))
		n, err := z.CompressBlock(raw, dst[len(dst):cap(dst)])
		return dst[:len(dst)+n], err
	}
	return dst, fmt.Errorf("unknown codec %d", c)
}

func compressSnappy(dst, raw []byte) ([]byte, error) {
	most := snappy.MaxEncodedLen(len(raw))
	//guard: refuses a page that Snappy cannot hold
	if most < 0 {
		return dst, fmt.Errorf("a page of %d bytes is too large for Snappy", len(raw))
	}
	n := len(dst)
	dst = slices.Grow(dst, most)
	encoded := snappy.Encode(dst[n:n+most], raw)
	if int64(len(encoded)) > compressBound(pq.Snappy, int64(len(raw))) {
		return appendLiterals(dst, raw), nil
	}
	return dst[:n+len(encoded)], nil
}

// snappyLiteral is the size of the literals of appendLiterals.
const snappyLiteral = 1 << 16

// appendLiterals appends raw in Snappy's form, but not compressed. Unlike for compressed data,
// the size has a tight bound.
func appendLiterals(dst, raw []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(raw)))
	for len(raw) > 0 {
		n := min(len(raw), snappyLiteral)
		dst = append(dst, 61<<2, byte(n-1), byte((n-1)>>8)) // a literal whose length has two bytes
		dst, raw = append(dst, raw[:n]...), raw[n:]
	}
	return dst
}

// zstdShared compresses for all row groups. Its EncodeAll may run concurrently.
var zstdShared = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithZeroFrames(true), zstd.WithWindowSize(zstdWindow))
})

// zstdWindow is the largest window of frames. RFC 8878 recommends that every decoder
// supports it.
const zstdWindow = 8 << 20

// lz4s compress to the same bytes as the LZ4 library in C.
var lz4s = sync.Pool{New: func() any { return new(lz4.CompressorCCompat) }}

// gzipStream is a gzip compressor and its output.
type gzipStream struct {
	w   *gzip.Writer
	out []byte
}

var gzips = sync.Pool{New: func() any { return &gzipStream{w: gzip.NewWriter(io.Discard)} }}

func (z *gzipStream) Write(p []byte) (int, error) {
	z.out = append(z.out, p...)
	return len(p), nil
}

func (z *gzipStream) append(dst, raw []byte) ([]byte, error) {
	z.out = dst
	z.w.Reset(z)
	_, err := z.w.Write(raw)
	if err == nil {
		err = z.w.Close()
	}
	dst, z.out = z.out, nil
	return dst, err
}
