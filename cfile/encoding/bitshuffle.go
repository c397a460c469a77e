package encoding

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/pierrec/lz4/v4"
)

const (
	shuffleHeader   = 20
	shuffleSubBlock = 8192 // bytes
	shuffleSize     = 4    // bytes of the size field of a sub-block
)

// subBlock returns the number of elements of a width in each sub-block but the last. It is a
// multiple of tileElements.
func subBlock(width int) int { return shuffleSubBlock / width }

// paddedCount returns the number of elements that a block of count values has.
func paddedCount(count int) int { return (count + 7) &^ 7 }

func shuffleWidth(width int) bool {
	return width == 1 || width == 2 || width == 4 || width == 8 || width == 16
}

// BitshuffleBound returns the most bytes that Append and AppendNarrow append for count
// values of width bytes.
func BitshuffleBound(width, count int) int {
	sub := subBlock(width)
	blocks := (count + sub - 1) / sub
	n := width * paddedCount(count)
	return shuffleHeader + n + n/255 + blocks*(shuffleSize+lz4.CompressBlockBound(0))
}

// Shuffler appends BIT_SHUFFLE blocks. The zero Shuffler is ready to use. A Shuffler keeps
// 70 KiB of memory between calls and is for one goroutine.
type Shuffler struct {
	lz4      lz4.CompressorCCompat
	shuffle  shuffle
	elements [shuffleSubBlock]byte // elements of a sub-block, unless its values are the elements
	rows     [shuffleSubBlock]byte
}

// Append appends the block of the values in fixed, each of width 1, 2, 4, 8 or 16
// bytes. The first row of the block is ordinal.
func (s *Shuffler) Append(dst []byte, ordinal uint32, width int, fixed []byte) ([]byte, error) {
	return s.append(dst, ordinal, width, width, fixed)
}

// AppendNarrow appends the block of the UINT32 values in fixed. It stores each value in 1, 2 or 4
// bytes, depending on the largest value. Codes of a dictionary are stored so.
func (s *Shuffler) AppendNarrow(dst []byte, ordinal uint32, fixed []byte) ([]byte, error) {
	var used uint32
	for b := fixed; len(b) >= 4; b = b[4:] {
		used |= binary.LittleEndian.Uint32(b)
	}
	width := 4
	switch {
	case used <= math.MaxUint8:
		width = 1
	case used <= math.MaxUint16:
		width = 2
	}
	return s.append(dst, ordinal, width, 4, fixed)
}

// append appends the block of values that have from bytes each in fixed, and width bytes
// each in the block.
func (s *Shuffler) append(dst []byte, ordinal uint32, width, from int, fixed []byte) ([]byte, error) {
	if !shuffleWidth(width) || len(fixed)%from != 0 {
		return dst, fmt.Errorf("cfile: bit shuffle: %d bytes are not values of width %d", len(fixed), from)
	}
	count := len(fixed) / from
	bound := BitshuffleBound(width, count)
	if bound > math.MaxUint32 {
		return dst, fmt.Errorf("cfile: bit shuffle: a block of %d bytes is too large", len(fixed))
	}
	start := len(dst)
	dst = slices.Grow(dst, bound)
	dst = binary.LittleEndian.AppendUint32(dst, ordinal)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(count))
	dst = binary.LittleEndian.AppendUint32(dst, 0) // the size, below
	dst = binary.LittleEndian.AppendUint32(dst, uint32(paddedCount(count)))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(width))
	for len(fixed) > 0 {
		n := min(subBlock(width)*from, len(fixed))
		raw := s.rows[:paddedCount(n/from)*width]
		s.shuffle.transpose(raw, s.padded(fixed[:n], from, width), width)
		fixed = fixed[n:]

		at := len(dst) + shuffleSize
		n, err := s.lz4.CompressBlock(raw, dst[at:cap(dst)])
		if err != nil {
			return dst[:start], fmt.Errorf("cfile: bit shuffle: %w", err)
		}
		dst = binary.BigEndian.AppendUint32(dst, uint32(n))[:at+n]
	}
	binary.LittleEndian.PutUint32(dst[start+8:], uint32(len(dst)-start))
	return dst, nil
}

// padded returns values of from bytes as elements of width bytes, with zeros after them
// up to a multiple of 8.
func (s *Shuffler) padded(values []byte, from, width int) []byte {
	count := len(values) / from
	if from == width && count%8 == 0 {
		return values
	}
	e := s.elements[:paddedCount(count)*width]
	clear(e[count*width:])
	switch {
	case from == width:
		copy(e, values)
	case width == 1:
		for i := range count {
			e[i] = values[4*i]
		}
	case width == 2:
		for i := range count {
			e[2*i], e[2*i+1] = values[4*i], values[4*i+1]
		}
	}
	return e
}
