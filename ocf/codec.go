package ocf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"

	"github.com/dsnet/compress/bzip2"
	"github.com/golang/snappy"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"

	"github.com/rowtocol/rowtocol/damage"
)

// The codecs' names, as they stand under avro.codec.
const (
	codecNull    = "null"
	codecDeflate = "deflate"
	codecSnappy  = "snappy"
	codecZstd    = "zstandard"
	codecBzip2   = "bzip2"
	codecXZ      = "xz"
)

// CheckCodec reports whether blocks of the named codec can be decoded.
func CheckCodec(name string) bool {
	switch name {
	case codecNull, codecDeflate, codecSnappy, codecZstd, codecBzip2, codecXZ:
		return true
	}
	return false
}

// Decoder decompresses blocks of one codec. It keeps its tables between calls
// and is not safe for concurrent use.
type Decoder struct {
	maxBlock int64
	decode   func(d *Decoder, dst, src []byte) ([]byte, error)

	src   bytes.Reader
	limit io.LimitedReader
	flate io.ReadCloser
	bzip  *bzip2.Reader
	zstd  *zstd.Decoder
	wide  *zstd.Decoder // for windows beyond the limit; nil until there is one
}

// NewDecoder returns a decoder whose output is never more than maxBlock bytes
// for a block; maxBlock must be positive.
func NewDecoder(codec string, maxBlock int64) (*Decoder, error) {
	if maxBlock <= 0 {
		return nil, fmt.Errorf("limit of %d bytes for a block", maxBlock)
	}
	d := &Decoder{maxBlock: maxBlock}
	switch codec {
	case codecNull:
		d.decode = (*Decoder).null
	case codecDeflate:
		d.decode, d.flate = (*Decoder).deflate, flate.NewReader(&d.src)
	case codecSnappy:
		d.decode = (*Decoder).snappy
	case codecZstd:
		z, err := newZstd(zstdMemory(maxBlock))
		if err != nil {
			return nil, err
		}
		d.decode, d.zstd = (*Decoder).zstandard, z
	case codecBzip2:
		d.decode, d.bzip = (*Decoder).bzip2, new(bzip2.Reader)
	case codecXZ:
		d.decode = (*Decoder).xz
	default:
		return nil, fmt.Errorf("unknown codec %q", clip(codec))
	}
	return d, nil
}

// ErrTooLarge is the cause of damage of kind Size that a larger limit might
// mend: of blocks that are too large for Scanner.LimitBlocks or for a Decoder,
// unless what they say about their size is known to be false.
var ErrTooLarge = errors.New("more than the limit")

var errChecksum = errors.New("checksum")

// tooLarge returns damage that ErrTooLarge explains.
func tooLarge(name string, offset, limit int64, reason string, args ...any) *damage.Error {
	e := damage.New(damage.Size, name, offset, reason, args...)
	e.Err = fmt.Errorf("%w of %d bytes", ErrTooLarge, limit)
	return e
}

// Decode decompresses the block's data into dst[:0], growing it if needed,
// and returns the rows' bytes, which never share memory with b. Data that
// does not decode is a *damage.Error at the block's offset: Size, with the
// cause ErrTooLarge, if it is more than the limit, Checksum if a checksum of
// the codec differs, else Codec.
func (d *Decoder) Decode(dst []byte, b *Block, name string) ([]byte, error) {
	out, err := d.decode(d, dst[:0], b.Data)
	if err == nil && int64(len(out)) <= d.maxBlock {
		return out, nil
	}
	switch {
	case err == nil, errors.Is(err, ErrTooLarge), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return dst[:0], tooLarge(name, b.Offset, d.maxBlock, "block data of %d bytes, decompressed", len(b.Data))
	case isChecksum(err):
		e := damage.New(damage.Checksum, name, b.Offset, "block data of %d bytes", len(b.Data))
		e.Err = err
		return dst[:0], e
	}
	e := damage.New(damage.Codec, name, b.Offset, "block data of %d bytes does not decompress", len(b.Data))
	e.Err = err
	return dst[:0], e
}

// isChecksum reports whether data decompressed to bytes that a checksum of
// the codec denies. The libraries of xz and bzip2 have only a text for it.
func isChecksum(err error) bool {
	return errors.Is(err, errChecksum) ||
		errors.Is(err, zstd.ErrCRCMismatch) ||
		strings.HasSuffix(err.Error(), "mismatching block checksum") ||
		strings.HasSuffix(err.Error(), "mismatching stream checksum") ||
		err.Error() == "xz: checksum error for block"
}

func (d *Decoder) null(dst, src []byte) ([]byte, error) {
	//guard: a block larger than the limit would be copied
	if int64(len(src)) > d.maxBlock {
		return dst, ErrTooLarge
	}
	return append(dst, src...), nil
}

func (d *Decoder) deflate(dst, src []byte) ([]byte, error) {
	d.src.Reset(src)
	if err := d.flate.(flate.Resetter).Reset(&d.src, nil); err != nil {
		return dst, err
	}
	return d.readAll(dst, d.flate)
}

func (d *Decoder) bzip2(dst, src []byte) ([]byte, error) {
	d.src.Reset(src)
	// The standard library's has no Reset, and takes 3.6 MB for each block. It also
	// takes what this one refuses: unused codes that cannot be.
	if err := d.bzip.Reset(&d.src); err != nil {
		return dst, err
	}
	dst, err := d.readAll(dst, d.bzip)
	//guard: what is left of a block that was not read to its end would come before the next
	if err != nil || int64(len(dst)) > d.maxBlock {
		d.bzip = new(bzip2.Reader) // Reset does not clear it
	}
	return dst, err
}

func (d *Decoder) snappy(dst, src []byte) ([]byte, error) {
	const crcSize = 4
	//guard: a block too short for its CRC would crash the decoder
	if len(src) < crcSize {
		return dst, fmt.Errorf("%d bytes, too few for a CRC-32", len(src))
	}
	src, sum := src[:len(src)-crcSize], src[len(src)-crcSize:]
	n, err := snappy.DecodedLen(src)
	if err != nil {
		return dst, err
	}
	// Snappy's best is a copy of 64 bytes in 3, so a longer claim is false
	// whatever the limit, and must not get memory.
	//guard: a false size would be reported as a true one that is too large
	if n > 22*len(src) {
		return dst, fmt.Errorf("%d bytes claim to hold %d: %w", len(src), n, snappy.ErrCorrupt)
	}
	//guard: a block could decompress beyond the limit
	if int64(n) > d.maxBlock {
		return dst, ErrTooLarge
	}
	dst, err = snappy.Decode(dst[:cap(dst)], src)
	if err != nil {
		return dst, err
	}
	//guard: damaged rows would be converted
	if got, want := crc32.ChecksumIEEE(dst), binary.BigEndian.Uint32(sum); got != want {
		return dst, fmt.Errorf("CRC-32 %w: want %08x, got %08x", errChecksum, want, got)
	}
	return dst, nil
}

// readAll appends all that r gives to dst, and stops behind the limit.
func (d *Decoder) readAll(dst []byte, r io.Reader) ([]byte, error) {
	// One byte more tells a full block from a larger one, which Decode refuses.
	d.limit = io.LimitedReader{R: r, N: d.maxBlock + 1}
	//guard: a block could decompress beyond the limit
	r = &d.limit
	for {
		if len(dst) == cap(dst) {
			dst = slices.Grow(dst, max(4096, len(dst)))
		}
		n, err := r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		if err == io.EOF {
			return dst, nil
		}
		if err != nil {
			return dst, err
		}
	}
}
