package column

import (
	"encoding/binary"
	"math/bits"
)

// wide counts the numbers in the open block of a column: ints, longs, or the ordinals of an
// enum. Formats with layout Levels store numbers of Avro's one to ten bytes in a fixed size, and
// symbols instead of ordinals. These sizes decide when the block is due.
type wide struct {
	size    int // most bytes of a number, or 0 for a column that is due by its data
	next    int // size of the data at which the numbers are counted again
	counted int // bytes of data whose numbers are counted
	numbers int
}

func wideSize(c *Column) int {
	switch {
	case c.Symbols != nil:
		size := 4 // a length
		for _, s := range c.Symbols {
			size = max(size, 4+len(s))
		}
		return size
	case c.Type == Int:
		return 4
	case c.Type == Long:
		return 8
	}
	return 0
}

// wideLimit returns the size of the data up to which the block is not due. It is called at
// these sizes, and whenever the block gets other memory, which must not change when it is due.
func (b *Buffer) wideLimit() int {
	w, limit := &b.set.wide[b.index], b.set.limit
	switch {
	case w.size == 0:
		return limit
	case b.n == 0:
		*w = wide{size: w.size, next: max(limit/w.size, 1)}
	case b.n >= w.next:
		w.numbers += countVarints(b.data[w.counted:b.n])
		w.counted = b.n
		left := limit - w.numbers*w.size
		if left <= limit/4 {
			return b.n
		}
		w.next = b.n + left/w.size // each byte may be a number
	}
	return w.next
}

// dropped is called after the end of the data was dropped. It forgets the numbers that were
// counted if some of them were there.
func (b *Buffer) dropped() {
	if b.set.wide == nil {
		return
	}
	if w := &b.set.wide[b.index]; b.n < w.counted {
		w.counted, w.numbers = 0, 0
	}
}

// countVarints returns the number of varints that end in b.
func countVarints(b []byte) (n int) {
	const tops = 0x8080808080808080
	for ; len(b) >= 8; b = b[8:] {
		n += bits.OnesCount64(^binary.LittleEndian.Uint64(b) & tops)
	}
	for _, c := range b {
		n += int(^c >> 7)
	}
	return n
}
