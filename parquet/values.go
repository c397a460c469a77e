package parquet

import (
	"encoding/binary"
	"errors"

	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/format/column"
)

// valueKind is how the values of a leaf come from Avro's encoding.
type valueKind uint8

const (
	nulls     valueKind = iota // there is never a value
	presences                  // values are true and have no bytes in Avro
	booleans
	ints  // varint → 4 bytes
	longs // varint → 8 bytes
	floats
	doubles
	texts // length and bytes
	fixed // length and bytes → bytes
	enums // ordinal → length and symbol
)

func kindOf(l *leaf) valueKind {
	switch {
	case l.presence:
		return presences
	case l.Type == column.Null:
		return nulls
	case l.Symbols != nil:
		return enums
	}
	switch l.physical {
	case pq.Boolean:
		return booleans
	case pq.Int32:
		return ints
	case pq.Int64:
		return longs
	case pq.Float:
		return floats
	case pq.Double:
		return doubles
	case pq.FixedLenByteArray:
		return fixed
	}
	return texts
}

// width returns the size in bytes of each plain value, or 0 if sizes differ or values have
// no whole bytes.
func (k valueKind) width() int {
	switch k {
	case ints, floats:
		return 4
	case longs, doubles:
		return 8
	}
	return 0
}

var errCut = errors.New("the values of a block end too early")

// cutText returns the string or bytes at the start of Avro data, and the rest.
func cutText(data []byte) (text, rest []byte, err error) {
	n, at := cutCount(data)
	//guard: rejects a value that reaches beyond its block
	if at <= 0 || n > uint64(len(data)-at) {
		return nil, nil, errCut
	}
	end := at + int(n)
	return data[at:end], data[end:], nil
}

// cutOrdinal returns the ordinal at the start of Avro data, and the rest.
func cutOrdinal(data []byte, symbols int) (ordinal int, rest []byte, err error) {
	n, at := cutCount(data)
	//guard: rejects an ordinal without a symbol
	if at <= 0 || n >= uint64(symbols) {
		return 0, nil, errCut
	}
	return int(n), data[at:], nil
}

// cutCount returns the number at the start of Avro data and its size. The size is not positive
// if there is no number, or it is negative.
func cutCount(data []byte) (n uint64, size int) {
	if len(data) > 0 && data[0] < 0x80 {
		n, size = uint64(data[0]), 1
	} else {
		n, size = binary.Uvarint(data)
	}
	if n&1 == 1 {
		return 0, 0
	}
	return n >> 1, size
}

func appendSymbol(dst, symbol []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(symbol)))
	return append(dst, symbol...)
}

// appendPresences appends n plain booleans that are true.
func appendPresences(dst []byte, n int) []byte {
	for ; n >= 8; n -= 8 {
		dst = append(dst, 0xff)
	}
	if n > 0 {
		dst = append(dst, 1<<n-1)
	}
	return dst
}
