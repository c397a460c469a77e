package parquet

import (
	"encoding/binary"

	pq "github.com/parquet-go/parquet-go/format"
)

// pageHeaderBound is the most bytes of a page header: a byte and a varint for each of ten
// numbers, a boolean, and three bytes around them.
const pageHeaderBound = 10*(1+binary.MaxVarintLen32) + 1 + 3

// A field of a structure in Thrift's compact protocol begins with a byte: its type, and by how
// much its number exceeds that of the field before.
const (
	nextI32      = 1<<4 | thriftI32
	nextStruct   = 1<<4 | thriftStruct
	thirdStruct  = 3<<4 | thriftStruct
	fourthStruct = 4<<4 | thriftStruct
	nextTrue     = 1<<4 | thriftTrue
	nextFalse    = 1<<4 | thriftFalse
	thriftStop   = 0
)

// pageSizes are the sizes of a page's body in bytes, and its checksum.
type pageSizes struct {
	raw    int    // before compression
	stored int    // after it
	crc    uint32 // CRC-32 of the stored bytes
}

// appendDataHeader appends the header of a data page of version 1.
func appendDataHeader(dst []byte, entries int, e pq.Encoding, s pageSizes) []byte {
	dst = appendPageHeader(dst, pq.DataPage, s)
	dst = append(dst, nextStruct) // field 5
	dst = appendI32(dst, int32(entries))
	dst = appendI32(dst, int32(e))
	dst = appendI32(dst, int32(pq.RLE)) // definition levels
	dst = appendI32(dst, int32(pq.RLE)) // repetition levels
	return append(dst, thriftStop, thriftStop)
}

// headerV2 is what only the header of a page of version 2 has.
type headerV2 struct {
	entries, nulls, rows int
	reps, defs           int // bytes of levels, which are not compressed
	compressed           bool
}

// appendDataHeaderV2 appends the header of a data page of version 2.
func appendDataHeaderV2(dst []byte, h headerV2, e pq.Encoding, s pageSizes) []byte {
	dst = appendPageHeader(dst, pq.DataPageV2, s)
	dst = append(dst, fourthStruct) // field 8
	for _, v := range [...]int{h.entries, h.nulls, h.rows, int(e), h.defs, h.reps} {
		dst = appendI32(dst, int32(v))
	}
	if h.compressed {
		dst = append(dst, nextTrue)
	} else {
		dst = append(dst, nextFalse)
	}
	return append(dst, thriftStop, thriftStop)
}

// appendDictionaryHeader appends the header of a dictionary page.
func appendDictionaryHeader(dst []byte, words int, s pageSizes) []byte {
	dst = appendPageHeader(dst, pq.DictionaryPage, s)
	dst = append(dst, thirdStruct) // field 7
	dst = appendI32(dst, int32(words))
	dst = appendI32(dst, int32(pq.Plain))
	return append(dst, thriftStop, thriftStop)
}

// appendPageHeader appends fields 1 to 4 of a page header.
func appendPageHeader(dst []byte, t pq.PageType, s pageSizes) []byte {
	dst = appendI32(dst, int32(t))
	dst = appendI32(dst, int32(s.raw))
	dst = appendI32(dst, int32(s.stored))
	return appendI32(dst, int32(s.crc))
}

// appendI32 appends the next field of a structure.
func appendI32(dst []byte, v int32) []byte {
	return binary.AppendVarint(append(dst, nextI32), int64(v))
}
