package parquet

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	snappy "github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	pq "github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

var errRawSize = errors.New("the decompressed size differs")

// checkDecompressed returns an error if it is already clear that stored bytes do not decompress
// to size bytes.
func checkDecompressed(c pq.CompressionCodec, stored []byte, size int) error {
	if c == pq.Snappy {
		n, err := snappy.DecodedLen(stored)
		if err != nil {
			return err
		}
		//guard: rejects a size other than that in the bytes
		if n != size {
			return errRawSize
		}
	}
	//guard: rejects a size to which the bytes cannot decompress
	if size/codecOf(c).growth > len(stored) {
		return errRawSize
	}
	return nil
}

// decompress fills dst, which is as long as the page before compression. It is safe for
// concurrent use.
func decompress(dst []byte, c pq.CompressionCodec, stored []byte) error {
	n := 0
	var err error
	switch c {
	case pq.Snappy:
		_, err = snappy.Decode(dst, stored) // checkDecompressed compared the size
		return err
	case pq.Lz4Raw:
		if len(dst) == 0 {
			dst = make([]byte, 1)[:0] // the decoder needs an address
		}
		n, err = lz4.UncompressBlock(stored, dst)
	case pq.Zstd:
		z := zstdDecoders.Get().(*zstd.Decoder)
		defer zstdDecoders.Put(z)
		var raw []byte
		raw, err = z.DecodeAll(stored, dst[:0:len(dst)])
		n = len(raw)
	case pq.Gzip:
		z := inflaters.Get().(*inflater)
		defer inflaters.Put(z)
		return z.inflate(dst, stored)
	}
	//guard: rejects a page that is shorter than it claims
	if err == nil && n != len(dst) {
		err = errRawSize
	}
	return err
}

// zstdDecoders decode into the memory that they are given, and never more.
var zstdDecoders = sync.Pool{New: func() any {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err) // the options are valid
	}
	return z
}}

// inflater is a gzip decompressor and its input.
type inflater struct {
	gzip  gzip.Reader
	src   bytes.Reader
	extra [1]byte
}

var inflaters = sync.Pool{New: func() any { return new(inflater) }}

func (z *inflater) inflate(dst, stored []byte) error {
	z.src.Reset(stored)
	if err := z.gzip.Reset(&z.src); err != nil {
		return err
	}
	if _, err := io.ReadFull(&z.gzip, dst); err != nil {
		return err
	}
	// The checksum is after the bytes.
	n, err := z.gzip.Read(z.extra[:])
	//guard: rejects a page with more than its bytes
	if n > 0 {
		return errRawSize
	}
	if err != io.EOF {
		return cmp.Or(err, errRawSize)
	}
	return nil
}
