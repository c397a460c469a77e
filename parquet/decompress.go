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
	parquet "github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// readableCodecs are the codecs of pages that can be read.
var readableCodecs = map[parquet.CompressionCodec]string{
	parquet.Uncompressed: "none", parquet.Snappy: "snappy", parquet.Gzip: "gzip", parquet.Zstd: "zstd", parquet.Lz4Raw: "lz4_raw",
}

func knownCodec(c parquet.CompressionCodec) bool  { return readableCodecs[c] != "" }
func codecText(c parquet.CompressionCodec) string { return readableCodecs[c] }

var errRawSize = errors.New("the decompressed size differs")

// growth is a bound of the ratio of a page's size before compression to its compressed size.
// LZ4 makes 255 bytes of one in a long match, Deflate 258 of two bits, and Zstandard a block of
// 128 KiB of four bytes.
var growth = map[parquet.CompressionCodec]int{parquet.Lz4Raw: 255, parquet.Gzip: 1032, parquet.Zstd: 32 << 10}

// checkDecompressed returns an error if it is already clear that stored bytes do not decompress
// to size bytes.
func checkDecompressed(c parquet.CompressionCodec, stored []byte, size int) error {
	if c == parquet.Snappy {
		n, err := snappy.DecodedLen(stored)
		// No element of snappy makes more than 64 bytes; the shortest has two.
		//guard: rejects a size to which the bytes cannot decode
		if err == nil && (n != size || n/64 > len(stored)) {
			err = errRawSize
		}
		return err
	}
	//guard: rejects a size to which the bytes cannot decompress
	if size/growth[c] > len(stored) {
		return errRawSize
	}
	return nil
}

// decompress fills dst, which is as long as the page before compression. It is safe for
// concurrent use.
func decompress(dst []byte, c parquet.CompressionCodec, stored []byte) error {
	n := 0
	var err error
	switch c {
	case parquet.Snappy:
		_, err = snappy.Decode(dst, stored) // checkDecompressed compared the size
		return err
	case parquet.Lz4Raw:
		if len(dst) == 0 {
			dst = make([]byte, 1)[:0] // the decoder needs an address
		}
		n, err = lz4.UncompressBlock(stored, dst)
	case parquet.Zstd:
		z := zstdDecoders.Get().(*zstd.Decoder)
		defer zstdDecoders.Put(z)
		var raw []byte
		raw, err = z.DecodeAll(stored, dst[:0:len(dst)])
		n = len(raw)
	case parquet.Gzip:
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
