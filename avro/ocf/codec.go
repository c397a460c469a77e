package ocf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"

	"github.com/dsnet/compress/bzip2"
	"github.com/golang/snappy"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"

	"github.com/rowtocol/rowtocol/format/damage"
)

// The names of the codecs, as avro.codec holds them.
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
	// Progress, if set, is called about once for each decompressed MiB, while a block
	// is decompressed. read is the number of stored bytes that were read so far, total
	// the number of all stored bytes. Codecs that decompress a block in one step (null,
	// snappy, zstandard) do not call Progress.
	Progress func(read, total int)

	codec    string
	maxBlock int64
	counting bool  // decompressed bytes are counted and not kept
	counted  int64 // number of bytes that were counted
	decode   func(d *Decoder, dst, src []byte) ([]byte, error)

	src   bytes.Reader
	probe [4096]byte
	flate io.ReadCloser
	bzip  *bzip2.Reader
	zstd  *zstd.Decoder
	wide  *zstd.Decoder // for frames with windows beyond the limit; nil before the first
}

// NewDecoder returns a decoder that decompresses a block to at most maxBlock bytes;
// maxBlock must be positive.
func NewDecoder(codec string, maxBlock int64) (*Decoder, error) {
	if maxBlock <= 0 {
		return nil, fmt.Errorf("limit of %d bytes for a block", maxBlock)
	}
	d := &Decoder{codec: codec, maxBlock: maxBlock}
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

// ErrRoom is returned by DecodeWithin if the rows of a block fit the limit, but not the
// capacity of the slice. Decoder.StatedRoom and Decoder.Size return the needed capacity.
var ErrRoom = errors.New("the rows take more bytes than there is room for")

// ErrTooLarge is the cause of damage of kind Size if a larger limit may help: the block
// is too large for Scanner.LimitBlocks or for a Decoder, and the size that it states is
// not known to be false.
var ErrTooLarge = errors.New("more than the limit")

var errChecksum = errors.New("checksum")

// tooLarge returns damage whose cause is ErrTooLarge.
func tooLarge(name string, offset, limit int64, reason string, args ...any) *damage.Error {
	e := damage.New(damage.Size, name, offset, reason, args...)
	e.Err = fmt.Errorf("%w of %d bytes", ErrTooLarge, limit)
	return e
}

// Decode decompresses the block's data into dst[:0], grows it if needed, and returns
// the rows' bytes, which never share memory with b. If the data does not decode, the
// error is a *damage.Error at the block's offset. Its kind is Size, with the cause
// ErrTooLarge, if the rows exceed the limit. It is Checksum if a checksum of the codec
// differs, and otherwise Codec.
func (d *Decoder) Decode(dst []byte, b *Block, name string) ([]byte, error) {
	out, err := d.DecodeWithin(dst, b, name)
	if !errors.Is(err, ErrRoom) {
		return out, err
	}
	room, err := d.Size(b, name)
	if err != nil {
		return dst[:0], err
	}
	return d.DecodeWithin(make([]byte, 0, room), b, name)
}

// DecodeWithin is Decode within the capacity of dst. It returns ErrRoom if the rows of
// the block need more.
func (d *Decoder) DecodeWithin(dst []byte, b *Block, name string) ([]byte, error) {
	out, err := d.decode(d, dst[:0], b.Data)
	switch {
	case err == nil && int64(len(out)) <= d.maxBlock:
		return out, nil
	case errors.Is(err, ErrRoom):
		return dst[:0], ErrRoom
	}
	return dst[:0], d.damaged(b, name, err)
}

// damaged returns the error for a block that does not decode or that exceeds the limit.
func (d *Decoder) damaged(b *Block, name string, err error) error {
	switch {
	case err == nil, errors.Is(err, ErrTooLarge), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return tooLarge(name, b.Offset, d.maxBlock, "block data of %d bytes, decompressed", len(b.Data))
	case isChecksum(err):
		e := damage.New(damage.Checksum, name, b.Offset, "block data of %d bytes", len(b.Data))
		e.Err = err
		return e
	}
	e := damage.New(damage.Codec, name, b.Offset, "block data of %d bytes does not decompress", len(b.Data))
	e.Err = err
	return e
}

// zstdSlack is the room after the rows that the zstandard library may write to.
const zstdSlack = 64

// StatedRoom returns the capacity in bytes that DecodeWithin needs for the block, from the
// sizes in the stored data. known is false if the codec does not store a size. For a block
// that does not decode, room may be any number.
func (d *Decoder) StatedRoom(b *Block) (room int64, known bool) {
	switch d.codec {
	case codecNull:
		return int64(len(b.Data)), true
	case codecSnappy:
		n, err := snappy.DecodedLen(b.Data)
		if err != nil || int64(n) > d.maxBlock || n > maxSnappy*len(b.Data) {
			return 0, true
		}
		return int64(n), true
	case codecZstd:
		most, _, err := checkZstd(b.Data)
		if err != nil {
			return 0, true
		}
		return int64(min(most, uint64(d.maxBlock))) + zstdSlack, true
	case codecXZ:
		blocks, err := checkXZ(b.Data, d.maxBlock)
		if err != nil {
			return 0, true
		}
		return min(sizeOf(blocks), d.maxBlock), true
	}
	return 0, false
}

// Size returns the capacity in bytes that DecodeWithin needs for the block. If the codec
// does not store a size, Size decompresses the block and counts. Its errors are those of
// Decode.
func (d *Decoder) Size(b *Block, name string) (int64, error) {
	if room, known := d.StatedRoom(b); known {
		return room, nil
	}
	d.counting, d.counted = true, 0
	_, err := d.decode(d, nil, b.Data)
	d.counting = false
	//guard: returns the damage of a block that cannot be counted
	if err != nil {
		return 0, d.damaged(b, name, err)
	}
	return d.counted, nil
}

// isChecksum reports whether the error means that a checksum of the codec differs. For
// xz and bzip2, the text of the error decides, because their libraries have no error
// value for it.
func isChecksum(err error) bool {
	return errors.Is(err, errChecksum) ||
		errors.Is(err, zstd.ErrCRCMismatch) ||
		strings.HasSuffix(err.Error(), "mismatching block checksum") ||
		strings.HasSuffix(err.Error(), "mismatching stream checksum") ||
		err.Error() == "xz: checksum error for block"
}

func (d *Decoder) null(dst, src []byte) ([]byte, error) {
	//guard: rejects a block larger than the limit before it is copied
	if int64(len(src)) > d.maxBlock {
		return dst, ErrTooLarge
	}
	//guard: reserves memory before a larger buffer is allocated
	if len(src) > cap(dst) {
		return dst, ErrRoom
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
	// The standard library's decoder has no Reset and allocates 3.6 MB for each block. It
	// also accepts impossible unused codes, which this decoder rejects.
	if err := d.bzip.Reset(&d.src); err != nil {
		return dst, err
	}
	dst, err := d.readAll(dst, d.bzip)
	//guard: drops the rest of a block that was not read to its end
	if err != nil {
		d.bzip = new(bzip2.Reader) // Reset would keep the rest
	}
	return dst, err
}

// maxSnappy bounds the bytes to which Snappy expands one byte: the best element is a copy
// of 64 bytes, which takes 3 bytes.
const maxSnappy = 22

func (d *Decoder) snappy(dst, src []byte) ([]byte, error) {
	const crcSize = 4
	//guard: rejects a block too short for its CRC
	if len(src) < crcSize {
		return dst, fmt.Errorf("%d bytes, too few for a CRC-32", len(src))
	}
	src, sum := src[:len(src)-crcSize], src[len(src)-crcSize:]
	n, err := snappy.DecodedLen(src)
	if err != nil {
		return dst, err
	}
	// A larger size is false with any limit, and must not be allocated.
	//guard: rejects a stated size that Snappy cannot reach
	if n > maxSnappy*len(src) {
		return dst, fmt.Errorf("%d bytes claim to hold %d: %w", len(src), n, snappy.ErrCorrupt)
	}
	//guard: rejects a block that decompresses beyond the limit
	if int64(n) > d.maxBlock {
		return dst, ErrTooLarge
	}
	//guard: reserves memory before a larger buffer is allocated
	if n > cap(dst) {
		return dst, ErrRoom
	}
	dst, err = snappy.Decode(dst[:cap(dst)], src)
	if err != nil {
		return dst, err
	}
	//guard: rejects a block with damaged rows
	if got, want := crc32.ChecksumIEEE(dst), binary.BigEndian.Uint32(sum); got != want {
		return dst, fmt.Errorf("CRC-32 %w: want %08x, got %08x", errChecksum, want, got)
	}
	return dst, nil
}

// progressStep is the number of decompressed bytes between two calls of Progress.
const progressStep = 1 << 20

// readAll appends all bytes of r to dst, within the capacity of dst and the limit. If
// d.counting is set, it counts the bytes and keeps none.
func (d *Decoder) readAll(dst []byte, r io.Reader) ([]byte, error) {
	room, unreported := int(min(int64(cap(dst)), d.maxBlock)), 0
	for {
		to := dst[len(dst):min(room, len(dst)+progressStep)]
		if len(to) == 0 { // further bytes do not fit
			to = d.probe[:]
		}
		n, err := r.Read(to)
		if unreported += n; unreported >= progressStep && d.Progress != nil {
			unreported = 0
			d.Progress(int(d.src.Size())-d.src.Len(), int(d.src.Size()))
		}
		switch {
		case len(dst) < room:
			dst = dst[:len(dst)+n]
		case d.counting:
			d.counted += int64(n)
			//guard: bounds what a block decompresses to
			if d.counted > d.maxBlock {
				return dst, ErrTooLarge
			}
		//guard: rejects a block that decompresses beyond the limit
		case n > 0 && int64(room) == d.maxBlock:
			return dst, ErrTooLarge
		case n > 0:
			return dst, ErrRoom
		}
		if err == io.EOF {
			return dst, nil
		}
		if err != nil {
			return dst, err
		}
	}
}
