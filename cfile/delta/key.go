package delta

import (
	"cmp"
	"math"

	"github.com/rowtocol/rowtocol/format/damage"
)

// Key says which row a delta is about, and when.
type Key struct {
	Row       uint32 // in the rowset
	Timestamp uint64 // of Kudu's hybrid clock
}

// Order is in which order a file has the deltas of a row.
type Order uint8

// The orders, and the files that have them.
const (
	Redo Order = iota // timestamps ascend
	Undo              // timestamps descend
)

// compare is less than 0 if a comes before b.
func (o Order) compare(a, b Key) int {
	if o == Undo {
		a.Timestamp, b.Timestamp = b.Timestamp, a.Timestamp
	}
	return cmp.Or(cmp.Compare(a.Row, b.Row), cmp.Compare(a.Timestamp, b.Timestamp))
}

func (k Key) append(dst []byte) []byte {
	return appendVarint(appendVarint(dst, uint64(k.Row)), k.Timestamp)
}

// The least numbers that take 2, 3 and more bytes, and first bytes.
const (
	least2, first2 = 241, 241
	least3, first3 = 2288, 249
	leastN, firstN = 67824, 250 // of 3 bytes more
)

// appendVarint appends a number so that bytes sort as numbers do.
func appendVarint(dst []byte, n uint64) []byte {
	switch {
	case n < least2:
		return append(dst, byte(n))
	case n < least3:
		n -= least2 - 1
		return append(dst, first2+byte(n>>8), byte(n))
	case n < leastN:
		n -= least3
		return append(dst, first3, byte(n>>8), byte(n))
	}
	size := 3
	for n>>(8*size) > 0 {
		size++
	}
	dst = append(dst, firstN-3+byte(size))
	for i := size - 1; i >= 0; i-- {
		dst = append(dst, byte(n>>(8*i)))
	}
	return dst
}

// varintSize is the number of bytes of a number, by the first of them.
func varintSize(first byte) int {
	switch {
	case first < first2:
		return 1
	case first < first3:
		return 2
	default:
		return 3 + int(first-first3)
	}
}

// varint takes a number off b.
func varint(b []byte) (n uint64, rest []byte, err error) {
	//guard: an empty value would crash the program
	if len(b) == 0 {
		return 0, nil, damage.New(damage.Truncated, "", -1, "the delta ends where a number of its key should begin")
	}
	size := varintSize(b[0])
	//guard: a value that ends in its key would crash the program
	if len(b) < size {
		return 0, nil, damage.New(damage.Truncated, "", -1, "a number of the delta's key has %d bytes, and %d are there", size, len(b))
	}
	for _, next := range b[1:size] {
		n = n<<8 | uint64(next)
	}
	least := uint64(0)
	switch size {
	case 1:
		n = uint64(b[0])
	case 2:
		n += uint64(b[0]-first2)<<8 + least2 - 1
		least = least2
	case 3:
		n += least3
	default:
		least = max(leastN, uint64(1)<<(8*(size-2)))
	}
	//guard: a seek would miss a number that has more bytes than it needs: it does not sort as it should
	if n < least {
		return 0, nil, damage.New(damage.Value, "", -1, "a number of the delta's key, %d, has %d bytes, more than it needs", n, size)
	}
	return n, b[size:], nil
}

// parseKey takes a key off a value.
func parseKey(value []byte) (k Key, rest []byte, err error) {
	row, rest, err := varint(value)
	if err != nil {
		return Key{}, nil, err
	}
	//guard: the delta would be one of another row
	if row > math.MaxUint32 {
		return Key{}, nil, damage.New(damage.Value, "", -1, "the delta is about row %d, more than 2³²-1", row)
	}
	k.Row = uint32(row)
	k.Timestamp, rest, err = varint(rest)
	return k, rest, err
}
