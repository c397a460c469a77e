package hfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Codec is the compression of all blocks of a file, by its number in the trailer.
type Codec uint32

// The codecs that are read. None and GZ are also written.
const (
	GZ     Codec = 1
	None   Codec = 2
	Snappy Codec = 3
	LZ4    Codec = 4
	ZSTD   Codec = 6
)

var codecNames = []string{"LZO", "GZ", "NONE", "SNAPPY", "LZ4", "BZIP2", "ZSTD"}

// String returns HBase's name of the codec.
func (c Codec) String() string {
	if int64(c) < int64(len(codecNames)) {
		return codecNames[c]
	}
	return fmt.Sprintf("codec %d", uint32(c))
}

// readable reports whether blocks of the codec can be decompressed.
func (c Codec) readable() bool {
	return slices.Contains([]Codec{GZ, None, Snappy, LZ4, ZSTD}, c)
}

// maxDecoded returns the most bytes to which n bytes can decompress. Deflate makes 258 bytes of two
// bits. In a long match, LZ4 makes 255 bytes of one byte. Snappy makes 64 bytes of three. ZSTD has
// no useful limit, because a block of three bytes can repeat a byte 128 KiB times.
func maxDecoded(c Codec, n int) int64 {
	switch c {
	case GZ:
		return 1032 * int64(n)
	case Snappy:
		return 22 * int64(n)
	case LZ4:
		return 255 * int64(n)
	case ZSTD:
		return 128 << 10 * int64(n)
	}
	return int64(n)
}

var errLength = errors.New("the length differs")

// decompress fills raw with the decompressed payload. It is safe for concurrent use.
func decompress(c Codec, raw, payload []byte) error {
	switch c {
	case GZ:
		return gunzip(raw, payload)
	case ZSTD:
		return unzstd(raw, payload)
	case Snappy:
		return unframe(raw, payload, func(dst, src []byte) (int, error) {
			n, err := snappy.DecodedLen(src)
			if err != nil || n > len(dst) {
				return 0, errors.Join(errLength, err)
			}
			_, err = snappy.Decode(dst[:n], src)
			return n, err
		})
	case LZ4:
		return unframe(raw, payload, func(dst, src []byte) (int, error) { return lz4.UncompressBlock(src, dst) })
	}
	return fmt.Errorf("%s is not supported", c)
}

// unframe removes the framing of Hadoop's block codecs, and decompresses each chunk with chunk. A
// block has its length before compression, and then chunks until that length is reached. A chunk
// has its compressed length and its bytes. Lengths have four bytes, big-endian.
func unframe(raw, payload []byte, chunk func(dst, src []byte) (int, error)) error {
	length := func() (int, error) {
		//guard: rejects a payload without a length
		if len(payload) < 4 {
			return 0, io.ErrUnexpectedEOF
		}
		n := int32(binary.BigEndian.Uint32(payload))
		payload = payload[4:]
		//guard: rejects a negative length
		if n < 0 {
			return 0, errLength
		}
		return int(n), nil
	}
	at := 0
	for len(payload) > 0 {
		block, err := length()
		if err != nil {
			return err
		}
		//guard: rejects a block that is larger than its header says
		if block > len(raw)-at {
			return errLength
		}
		for end := at + block; at < end; {
			size, err := length()
			if err != nil {
				return err
			}
			//guard: rejects a chunk that reaches beyond the payload
			if size > len(payload) {
				return io.ErrUnexpectedEOF
			}
			n, err := chunk(raw[at:end], payload[:size])
			if err != nil {
				return err
			}
			//guard: rejects an empty chunk
			if n == 0 {
				return errLength
			}
			at, payload = at+n, payload[size:]
		}
	}
	//guard: rejects a block that is smaller than its header says
	if at != len(raw) {
		return errLength
	}
	return nil
}

type inflater struct {
	z   *gzip.Reader
	src bytes.Reader
}

var inflaters = sync.Pool{New: func() any { return &inflater{z: new(gzip.Reader)} }}

func gunzip(raw, payload []byte) error {
	d := inflaters.Get().(*inflater)
	defer inflaters.Put(d)
	d.src.Reset(payload)
	if err := d.z.Reset(&d.src); err != nil {
		return err
	}
	if _, err := io.ReadFull(d.z, raw); err != nil {
		return err
	}
	var more [1]byte
	switch n, err := d.z.Read(more[:]); {
	//guard: rejects bytes after the block
	case n > 0:
		return errLength
	//guard: rejects a wrong checksum of the member
	case !errors.Is(err, io.EOF):
		return err
	}
	return nil
}

var zstdDecoders = sync.Pool{New: func() any {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecodeAllCapLimit(true)) // frames may claim any size
	if err != nil {
		panic(err) // the options are valid
	}
	return d
}}

// unzstd decompresses frames. Depending on HBase's module for Zstandard, they are bare or in the
// framing of Hadoop's block codecs.
func unzstd(raw, payload []byte) error {
	d := zstdDecoders.Get().(*zstd.Decoder)
	defer zstdDecoders.Put(d)
	frame := func(dst, src []byte) (int, error) {
		out, err := d.DecodeAll(src, dst[:0:len(dst)])
		if err == nil && len(out) > len(dst) {
			err = errLength
		}
		return len(out), err
	}
	if len(payload) >= 4 && binary.LittleEndian.Uint32(payload) == 0xFD2FB528 {
		n, err := frame(raw, payload)
		if err == nil && n != len(raw) {
			err = errLength
		}
		return err
	}
	return unframe(raw, payload, frame)
}

// deflater is a gzip compressor and its output.
type deflater struct {
	z   *gzip.Writer
	out []byte
}

func (d *deflater) Write(p []byte) (int, error) {
	d.out = append(d.out, p...)
	return len(p), nil
}

var deflaters = sync.Pool{New: func() any { return &deflater{z: gzip.NewWriter(nil)} }}

// appendGzip appends a gzip member of raw, with a header like Java's: no name, no time.
func appendGzip(dst, raw []byte) ([]byte, error) {
	d := deflaters.Get().(*deflater)
	defer deflaters.Put(d)
	d.out = dst
	d.z.Reset(d)
	d.z.OS = 0
	_, err := d.z.Write(raw)
	if err == nil {
		err = d.z.Close()
	}
	dst, d.out = d.out, nil
	return dst, err
}
