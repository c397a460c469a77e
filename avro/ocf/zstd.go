package ocf

import (
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"
)

const (
	// zstdWindow is the window that every decoder must accept, even beyond the limit.
	// Decoding in one call takes no memory for the window.
	zstdWindow = 8 << 20
	// zstdMaxWindow is the largest window that the format can state.
	zstdMaxWindow = 1<<41 + 7<<38
	// zstdMaxBlock is the most bytes to which a block inside a frame decompresses.
	zstdMaxBlock = 128 << 10
)

var (
	errZstdClaim = errors.New("a frame claims more bytes than its blocks can hold")
	errZstdBlock = errors.New("a block inside a frame is larger than the format allows")
)

// zstdMemory returns the library's limit for blocks of maxBlock bytes. The library has one
// limit for windows and output, so the result may exceed maxBlock. DecodeWithin checks
// the size of the output again.
func zstdMemory(maxBlock int64) uint64 { return uint64(max(maxBlock, zstdWindow)) }

func newZstd(memory uint64) (*zstd.Decoder, error) {
	return zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(zstdMaxWindow),
		zstd.WithDecoderMaxMemory(memory))
}

func (d *Decoder) zstandard(dst, src []byte) ([]byte, error) {
	// The library allocates the size that a frame states.
	most, window, err := checkZstd(src)
	if err != nil {
		return dst, err
	}
	//guard: reserves memory before a larger buffer is allocated
	if room := min(most, uint64(d.maxBlock)); room > uint64(cap(dst)) {
		return dst, ErrRoom
	}
	if window <= zstdMemory(d.maxBlock) {
		return d.zstd.DecodeAll(src, dst)
	}
	// Strong presets state windows far larger than the data. Such a window needs no
	// memory, but without a content size it would be the library's bound of the output.
	//guard: rejects a frame whose window allows more than the limit
	if most > uint64(d.maxBlock) {
		return dst, ErrTooLarge
	}
	if d.wide == nil {
		if d.wide, err = newZstd(zstdMaxWindow); err != nil {
			return dst, err
		}
	}
	return d.wide.DecodeAll(src, dst)
}

// checkZstd walks the frames without decompressing them. It rejects a frame whose content
// size is larger than its blocks can hold. It returns the most bytes to which all frames
// can decompress, and the largest window.
func checkZstd(src []byte) (most, window uint64, err error) {
	for len(src) > 0 {
		var h zstd.Header
		if err := h.Decode(src); err != nil {
			return 0, 0, err
		}
		src = src[h.HeaderSize:]
		if h.Skippable {
			if uint64(h.SkippableSize) > uint64(len(src)) {
				return 0, 0, io.ErrUnexpectedEOF
			}
			src = src[h.SkippableSize:]
			continue
		}
		n, size, err := zstdBlocks(src)
		if err != nil {
			return 0, 0, err
		}
		//guard: rejects a content size that the blocks cannot hold
		if h.HasFCS && h.FrameContentSize > size {
			return 0, 0, errZstdClaim
		}
		if h.HasFCS {
			size = h.FrameContentSize
		}
		most, window = most+size, max(window, h.WindowSize)
		src = src[n:]
		if h.HasCheckSum {
			src = src[min(4, len(src)):]
		}
	}
	return most, window, nil
}

// zstdBlocks walks the blocks of one frame. It returns their stored size, and the most
// bytes to which they can decompress.
func zstdBlocks(src []byte) (n int, most uint64, err error) {
	const raw, rle, reserved = 0, 1, 3
	for {
		if len(src)-n < 3 {
			return 0, 0, io.ErrUnexpectedEOF
		}
		head := int(src[n]) | int(src[n+1])<<8 | int(src[n+2])<<16
		n += 3
		size := head >> 3
		//guard: rejects a block larger than the format allows
		if size > zstdMaxBlock {
			return 0, 0, errZstdBlock
		}
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
