package cfile

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/zlib"
	"github.com/pierrec/lz4/v4"

	"github.com/rowtocol/rowtocol/format/damage"
)

// maxBlock is the most bytes that a block may have before compression. Kudu does not read a
// larger block.
const maxBlock = 16 << 20

// rawSize is the length of the field for the decompressed size. A file with compression has
// it in front of each block. In version 1 the compressed size precedes it.
const rawSize = 4

// worthwhile reports whether a block is stored compressed rather than raw.
func worthwhile(compressed, raw int) bool {
	return compressed < raw && float64(compressed)/float64(raw) <= 0.9
}

// compressBound returns the most bytes that compress appends for a block of n bytes.
func compressBound(c Compression, n int) int {
	if c == NoCompression {
		return n
	}
	return rawSize + n
}

// compress appends the stored form of a block to dst. Without compression, the stored form is
// raw. Otherwise it is the length of raw as a little-endian u32, and then the compressed block.
// If that has more than nine tenths of the bytes of raw, raw is stored instead. Meanwhile dst may
// need capacity for a sixth more than raw. compress is safe for concurrent use.
func compress(dst []byte, c Compression, raw []byte) ([]byte, error) {
	if c == NoCompression {
		return append(dst, raw...), nil
	}
	if len(raw) > maxBlock {
		return dst, fmt.Errorf("cfile: a block of %d bytes is larger than the %d that Kudu decompresses", len(raw), maxBlock)
	}
	start := len(dst)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(raw)))
	payload := len(dst)
	dst, err := appendCompressed(dst, c, raw)
	if err != nil {
		return dst[:start], fmt.Errorf("cfile: %s: %w", c, err)
	}
	if !worthwhile(len(dst)-payload, len(raw)) {
		dst = append(dst[:payload], raw...)
	}
	return dst, nil
}

func appendCompressed(dst []byte, c Compression, raw []byte) ([]byte, error) {
	switch c {
	case Snappy:
		n := len(dst)
		dst = slices.Grow(dst, snappy.MaxEncodedLen(len(raw)))
		return dst[:n+len(snappy.Encode(dst[n:cap(dst)], raw))], nil
	case LZ4:
		z := lz4Compressors.Get().(*lz4.CompressorCCompat)
		defer lz4Compressors.Put(z)
		dst = slices.Grow(dst, lz4.CompressBlockBound(len(raw)))
		n, err := z.CompressBlock(raw, dst[len(dst):cap(dst)])
		return dst[:len(dst)+n], err
	case Zlib:
		z := deflaters.Get().(*deflater)
		defer deflaters.Put(z)
		return z.append(dst, raw)
	}
	return dst, errors.New("unknown compression")
}

// lz4Compressors compress to the same bytes as the LZ4 library that Kudu is built with.
var lz4Compressors = sync.Pool{New: func() any { return new(lz4.CompressorCCompat) }}

// deflater is a zlib compressor and its output.
type deflater struct {
	w   *zlib.Writer
	out []byte
}

var deflaters = sync.Pool{New: func() any { return &deflater{w: zlib.NewWriter(nil)} }}

func (d *deflater) Write(p []byte) (int, error) {
	d.out = append(d.out, p...)
	return len(p), nil
}

func (d *deflater) append(dst, raw []byte) ([]byte, error) {
	d.out = dst
	d.w.Reset(d)
	_, err := d.w.Write(raw)
	if err == nil {
		err = d.w.Close()
	}
	dst, d.out = d.out, nil
	return dst, err
}

// growth is a bound of the ratio of a block's raw size to its compressed size. Snappy makes
// 64 bytes of 3, LZ4 255 of one in a long match, and Deflate 258 of two bits.
var growth = [...]int{Snappy: 22, LZ4: 255, Zlib: 1032}

// decompress returns the raw bytes of a stored block. The container has version 1 or 2. If c is
// NoCompression, the result is stored. Otherwise it is in the memory of dst, which grows as
// needed. decompress is safe for concurrent use. Damage has offsets in stored.
func decompress(dst []byte, c Compression, version int, stored []byte) ([]byte, error) {
	if c == NoCompression {
		return stored, nil
	}
	payload, size, err := splitStored(c, version, stored)
	if err != nil {
		return nil, err
	}
	if version != 1 && size == len(payload) {
		return append(dst[:0], payload...), nil
	}
	raw, err := expand(dst[:0], c, payload, size)
	if err != nil {
		e := damage.New(damage.Codec, "", int64(len(stored)-len(payload)), "%d bytes of %s do not decompress to %d", len(payload), c, size)
		e.Err = err
		return nil, e
	}
	return raw, nil
}

// decompressedSize returns how many bytes decompress returns if it succeeds. It returns the
// errors that can be found without decompression.
func decompressedSize(c Compression, version int, stored []byte) (int, error) {
	if c == NoCompression {
		return len(stored), nil
	}
	_, size, err := splitStored(c, version, stored)
	return size, err
}

// splitStored returns the payload of a stored block, and the payload's size decompressed. The
// file must have a compression.
func splitStored(c Compression, version int, stored []byte) (payload []byte, size int, err error) {
	header := rawSize
	if version == 1 {
		header += 4
	}
	//guard: rejects a block shorter than its header
	if len(stored) < header {
		return nil, 0, damage.New(damage.Truncated, "", 0, "a compressed block has %d bytes, its header alone %d", len(stored), header)
	}
	payload = stored[header:]
	at := header - rawSize
	raw := binary.LittleEndian.Uint32(stored[at:])
	//guard: rejects a block that claims more than the limit
	if raw > maxBlock {
		return nil, 0, damage.New(damage.Size, "", int64(at), "a block claims %d bytes decompressed, the limit is %d", raw, maxBlock)
	}
	size = int(raw)
	if version == 1 {
		compressed := int64(binary.LittleEndian.Uint32(stored))
		//guard: rejects a block that is cut short
		if compressed != int64(len(payload)) {
			return nil, 0, damage.New(damage.Size, "", 0, "a block of %d compressed bytes claims %d", len(payload), compressed)
		}
	}
	//guard: rejects a size that no writer stores
	if version != 1 && size < len(payload) {
		return nil, 0, damage.New(damage.Size, "", int64(at), "a block has %d bytes compressed, %d decompressed", len(payload), size)
	}
	//guard: rejects a size to which the bytes cannot decompress
	if size/growth[c] > len(payload) {
		return nil, 0, damage.New(damage.Size, "", int64(at), "%d bytes of %s cannot become %d", len(payload), c, size)
	}
	return payload, size, nil
}

var errSize = errors.New("the decompressed size differs")

// expand appends to dst the size bytes that the payload must decompress to.
func expand(dst []byte, c Compression, payload []byte, size int) ([]byte, error) {
	switch c {
	case Snappy:
		n, err := snappy.DecodedLen(payload)
		//guard: rejects a block larger than its memory
		if err == nil && n != size {
			err = errSize
		}
		if err != nil {
			return nil, err
		}
		return snappy.Decode(slices.Grow(dst, size)[:size], payload)
	case LZ4:
		//guard: gives the decoder an address even if the block is empty
		dst = slices.Grow(dst, 1)
		dst = slices.Grow(dst, size)[:size]
		n, err := lz4.UncompressBlock(payload, dst)
		//guard: rejects a block that is shorter than it claims
		if err == nil && n != size {
			err = errSize
		}
		return dst, err
	case Zlib:
		z := inflaters.Get().(*inflater)
		defer inflaters.Put(z)
		return z.append(dst, payload, size)
	}
	return nil, errors.New("unknown compression")
}

// inflater is a zlib decompressor and its input. r is nil before the first use.
type inflater struct {
	r     io.ReadCloser
	src   bytes.Reader
	extra [1]byte
}

var inflaters = sync.Pool{New: func() any { return new(inflater) }}

// inflateStep is how much memory the first output of zlib gets. The memory is doubled each time
// that the output fills it.
const inflateStep = 256 << 10

func (z *inflater) append(dst, payload []byte, size int) ([]byte, error) {
	z.src.Reset(payload)
	if err := z.reset(); err != nil {
		return nil, err
	}
	for len(dst) < size {
		n := len(dst)
		m := min(size, max(inflateStep, 2*n, cap(dst)))
		dst = slices.Grow(dst, m-n)[:m]
		if _, err := io.ReadFull(z.r, dst[n:]); err != nil {
			return nil, err
		}
	}
	// The checksum is after the bytes.
	n, err := z.r.Read(z.extra[:])
	if err != io.EOF {
		return nil, cmp.Or(err, errSize)
	}
	//guard: rejects a block with more than its bytes
	if n > 0 || z.src.Len() > 0 {
		return nil, errSize
	}
	return dst, nil
}

func (z *inflater) reset() (err error) {
	if z.r == nil {
		z.r, err = zlib.NewReader(&z.src)
		return err
	}
	return z.r.(zlib.Resetter).Reset(&z.src, nil)
}
