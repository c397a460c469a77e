package ocf

import (
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"
)

const (
	// zstdWindow is the window that every decoder must accept, however small
	// its limit. Decoding in one call takes no memory for it.
	zstdWindow = 8 << 20
	// zstdMaxBlock is the most a block inside a frame decompresses to.
	zstdMaxBlock = 128 << 10
)

var errZstdClaim = errors.New("a frame claims more bytes than its blocks can hold")

// newZstd returns a decoder that may pass a limit below zstdWindow, because
// the library limits windows and output as one; Decode compares again.
func newZstd(maxBlock int64) (*zstd.Decoder, error) {
	return zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(uint64(max(maxBlock, zstdWindow))))
}

func (d *Decoder) zstandard(dst, src []byte) ([]byte, error) {
	// The library takes memory for the size that a frame claims.
	if err := checkZstd(src); err != nil {
		return dst, err
	}
	return d.zstd.DecodeAll(src, dst)
}

// checkZstd walks the frames without decompressing and refuses those whose
// content size is more than their blocks can hold.
func checkZstd(src []byte) error {
	for len(src) > 0 {
		var h zstd.Header
		if err := h.Decode(src); err != nil {
			return err
		}
		src = src[h.HeaderSize:]
		if h.Skippable {
			if uint64(h.SkippableSize) > uint64(len(src)) {
				return io.ErrUnexpectedEOF
			}
			src = src[h.SkippableSize:]
			continue
		}
		n, most, err := zstdBlocks(src)
		if err != nil {
			return err
		}
		if h.HasFCS && h.FrameContentSize > most {
			return errZstdClaim
		}
		src = src[n:]
		if h.HasCheckSum {
			src = src[min(4, len(src)):]
		}
	}
	return nil
}

// zstdBlocks passes the blocks of one frame: it returns their stored size and
// the most that they can decompress to.
func zstdBlocks(src []byte) (n int, most uint64, err error) {
	const raw, rle, reserved = 0, 1, 3
	for {
		if len(src)-n < 3 {
			return 0, 0, io.ErrUnexpectedEOF
		}
		head := int(src[n]) | int(src[n+1])<<8 | int(src[n+2])<<16
		n += 3
		size := head >> 3
		switch head >> 1 & 3 {
		case raw:
			most += uint64(size)
		case rle:
			most += uint64(size)
			size = 1
		case reserved:
			return 0, 0, zstd.ErrReservedBlockType
		default:
			most += zstdMaxBlock
		}
		if size > len(src)-n {
			return 0, 0, io.ErrUnexpectedEOF
		}
		n += size
		if head&1 != 0 {
			return n, most, nil
		}
	}
}
