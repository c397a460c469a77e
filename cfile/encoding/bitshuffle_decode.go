package encoding

import (
	"encoding/binary"
	"io"
	"slices"

	"github.com/pierrec/lz4/v4"

	"github.com/rowtocol/rowtocol/format/damage"
)

// NewBitshuffle returns a Decoder of BIT_SHUFFLE blocks of values of a fixed width: 1,
// 2, 4, 8 or 16 bytes. It holds one decoded sub-block, of 8 KiB.
func NewBitshuffle(width int) Decoder { return &unshuffler{width: width} }

// NewBitshuffleNarrow is NewBitshuffle for UINT32 values, which may be stored in 1, 2 or
// 4 bytes each. Read appends 4 bytes for each.
func NewBitshuffleNarrow() Decoder { return &unshuffler{width: 4, narrow: true} }

type unshuffler struct {
	width  int  // bytes of a value
	narrow bool // elements may be shorter than values

	body    []byte
	ordinal uint32
	count   int
	stored  int // bytes of an element
	next    int // offset in the body of the sub-block after the open one
	ahead   int // number of values from that sub-block on

	// The values of the open sub-block that are not read are elements[from:to].
	from, to int
	elements [shuffleSubBlock]byte
	rows     [shuffleSubBlock]byte
	shuffle  shuffle
}

func (u *unshuffler) Count() int      { return u.count }
func (u *unshuffler) Ordinal() uint32 { return u.ordinal }

// Reset checks the header of the block, and that its sub-blocks end where it ends.
func (u *unshuffler) Reset(body []byte) error {
	//guard: rejects a block shorter than its header
	if len(body) < shuffleHeader {
		return damage.New(damage.Truncated, "", 0, "the bit shuffle header has %d bytes, not %d", len(body), shuffleHeader)
	}
	field := func(i int) uint32 { return binary.LittleEndian.Uint32(body[4*i:]) }
	count, size, padded, stored := field(1), field(2), field(3), field(4)
	//guard: rejects bytes that do not belong to the block
	if int64(size) != int64(len(body)) {
		return damage.New(damage.Size, "", 8, "the bit shuffle block has %d bytes, its header says %d", len(body), size)
	}
	//guard: rejects a wrong padded number of values
	if (int64(count)+7)&^7 != int64(padded) {
		return damage.New(damage.Count, "", 12, "%d values are padded to %d elements, not to a multiple of 8", count, padded)
	}
	shorter := u.narrow && (stored == 1 || stored == 2)
	//guard: rejects values of another width
	if int64(stored) != int64(u.width) && !shorter {
		return damage.New(damage.Value, "", 16, "the elements have %d bytes, the values %d", stored, u.width)
	}
	u.body, u.ordinal, u.count, u.stored = body, field(0), int(count), int(stored)
	u.next, u.ahead, u.from, u.to = shuffleHeader, u.count, 0, 0
	return u.checkSizes()
}

// checkSizes checks that the sub-blocks have the sizes that they claim.
func (u *unshuffler) checkSizes() error {
	at := shuffleHeader
	for left := u.count; left > 0; left -= subBlock(u.stored) {
		size, err := u.size(at)
		if err != nil {
			return err
		}
		at += shuffleSize + size
	}
	//guard: rejects bytes after the last sub-block
	if at != len(u.body) {
		return damage.New(damage.Trailing, "", int64(at), "%d bytes follow the last bit shuffle sub-block", len(u.body)-at)
	}
	return nil
}

// size returns the size of the LZ4 block of the sub-block at an offset of the body.
func (u *unshuffler) size(at int) (int, error) {
	rest := len(u.body) - at
	//guard: rejects a sub-block without its size
	if rest < shuffleSize {
		return 0, damage.New(damage.Truncated, "", int64(at), "a bit shuffle sub-block has %d bytes, its size field alone %d", rest, shuffleSize)
	}
	size := binary.BigEndian.Uint32(u.body[at:])
	//guard: rejects a sub-block that reaches past the block
	if int64(size) > int64(rest-shuffleSize) {
		return 0, damage.New(damage.Size, "", int64(at), "a bit shuffle sub-block of %d bytes has %d left", size, rest-shuffleSize)
	}
	return int(size), nil
}

// Read appends at most one sub-block.
func (u *unshuffler) Read(v *Values, n int) (int, error) {
	if u.from == u.to {
		if u.ahead == 0 {
			return 0, io.EOF
		}
		if err := u.open(); err != nil {
			return 0, err
		}
	}
	n = min(n, (u.to-u.from)/u.stored)
	e := u.elements[u.from:][:n*u.stored]
	u.from += len(e)
	if u.stored == u.width {
		v.Fixed = append(v.Fixed, e...)
		return n, nil
	}
	at := len(v.Fixed)
	v.Fixed = slices.Grow(v.Fixed, 4*n)[:at+4*n]
	wide := v.Fixed[at:]
	for i := range n {
		x := uint32(e[i*u.stored])
		if u.stored == 2 {
			x |= uint32(e[2*i+1]) << 8
		}
		binary.LittleEndian.PutUint32(wide[4*i:], x)
	}
	return n, nil
}

// open decodes the next sub-block.
func (u *unshuffler) open() error {
	size := int(binary.BigEndian.Uint32(u.body[u.next:]))
	stored := u.body[u.next+shuffleSize:][:size]
	count := min(u.ahead, subBlock(u.stored))
	rows := u.rows[:paddedCount(count)*u.stored]
	n, err := lz4.UncompressBlock(stored, rows)
	//guard: rejects a sub-block with too few values
	if n != len(rows) {
		e := damage.New(damage.Codec, "", int64(u.next+shuffleSize),
			"%d bytes of LZ4 do not decode to the %d of a bit shuffle sub-block", size, len(rows))
		e.Err = err
		return e
	}
	u.shuffle.restore(u.elements[:], rows, u.stored)
	u.from, u.to = 0, count*u.stored
	u.pass(count, size)
	return nil
}

// pass skips the next sub-block, which has count values and size bytes.
func (u *unshuffler) pass(count, size int) {
	u.next += shuffleSize + size
	u.ahead -= count
}

// Skip passes over whole sub-blocks without decoding them.
func (u *unshuffler) Skip(n int) error {
	left := (u.to-u.from)/u.stored + u.ahead
	//guard: refuses to skip more values than are left
	if n < 0 || n > left {
		return damage.New(damage.Count, "", 4, "the bit shuffle block has %d of %d values to pass over", left, n)
	}
	here := min(n, (u.to-u.from)/u.stored)
	u.from += here * u.stored
	n -= here
	for n > 0 {
		count := min(u.ahead, subBlock(u.stored))
		if n < count {
			if err := u.open(); err != nil {
				return err
			}
			u.from = n * u.stored
			return nil
		}
		u.pass(count, int(binary.BigEndian.Uint32(u.body[u.next:])))
		n -= count
	}
	return nil
}
