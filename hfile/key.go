package hfile

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/rowtocol/rowtocol/format/damage"
)

// KeyType is the effect of a cell on its column.
type KeyType uint8

// The types of cells. If cells differ only in their types, the greater type comes first.
const (
	Minimum             KeyType = 0
	Put                 KeyType = 4
	Delete              KeyType = 8
	DeleteFamilyVersion KeyType = 10
	DeleteColumn        KeyType = 12
	DeleteFamily        KeyType = 14
	Maximum             KeyType = 255
)

// String returns HBase's name of the type.
func (t KeyType) String() string {
	switch t {
	case Minimum:
		return "Minimum"
	case Put:
		return "Put"
	case Delete:
		return "Delete"
	case DeleteFamilyVersion:
		return "DeleteFamilyVersion"
	case DeleteColumn:
		return "DeleteColumn"
	case DeleteFamily:
		return "DeleteFamily"
	case Maximum:
		return "Maximum"
	}
	return fmt.Sprintf("type %d", uint8(t))
}

// LatestTimestamp is the timestamp of cells without one. It sorts first.
const LatestTimestamp = math.MaxInt64

// MaxRow and MaxFamily are the most bytes of a row and of a family. Their lengths are stored in
// two bytes and in one, with a sign.
const (
	MaxRow    = math.MaxInt16
	MaxFamily = math.MaxInt8
)

// Bytes of a key besides its row, family and qualifier.
const (
	rowLengthSize = 2
	timestampSize = 8
	keyOverhead   = rowLengthSize + 1 + timestampSize + 1
)

// Key is the key of a cell as a file stores it, with big-endian integers:
//
//	| row length: 2 | row | family length: 1 | family | qualifier | timestamp: 8 | type: 1 |
//
// Its methods are for valid keys, such as those of AppendKey and of readers.
type Key []byte

// AppendKey appends the key of a cell. It panics if the row has more than MaxRow bytes or the
// family more than MaxFamily.
func AppendKey(dst, row, family, qualifier []byte, timestamp int64, t KeyType) Key {
	if len(row) > MaxRow || len(family) > MaxFamily {
		panic(fmt.Sprintf("hfile: a row of %d bytes, a family of %d", len(row), len(family)))
	}
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(row)))
	dst = append(dst, row...)
	dst = append(dst, byte(len(family)))
	dst = append(dst, family...)
	dst = append(dst, qualifier...)
	dst = binary.BigEndian.AppendUint64(dst, uint64(timestamp))
	return append(dst, byte(t))
}

// AppendRowKey appends a key that sorts before every cell of a row. A Scanner can seek to it.
func AppendRowKey(dst, row []byte) Key {
	return AppendKey(dst, row, nil, nil, LatestTimestamp, Maximum)
}

func (k Key) rowEnd() int    { return rowLengthSize + int(binary.BigEndian.Uint16(k)) }
func (k Key) familyEnd() int { end := k.rowEnd(); return end + 1 + int(k[end]) }

// Row returns the row, a part of the key.
func (k Key) Row() []byte { return k[rowLengthSize:k.rowEnd()] }

// Family returns the column family, a part of the key.
func (k Key) Family() []byte { return k[k.rowEnd()+1 : k.familyEnd()] }

// Qualifier returns the column qualifier, a part of the key.
func (k Key) Qualifier() []byte { return k[k.familyEnd() : len(k)-timestampSize-1] }

// Timestamp returns the cell's time in milliseconds, or another number that its writer chose.
func (k Key) Timestamp() int64 {
	return int64(binary.BigEndian.Uint64(k[len(k)-timestampSize-1:]))
}

// Type returns the cell's type.
func (k Key) Type() KeyType { return KeyType(k[len(k)-1]) }

// Compare returns a negative number if k sorts before other, 0 if they are equal, and else a
// positive number. Row, family and qualifier ascend, then timestamp and type descend. A key of the
// type Minimum without family and qualifier is the last of its row.
func (k Key) Compare(other Key) int {
	if c := bytes.Compare(k.Row(), other.Row()); c != 0 {
		return c
	}
	return k.compareColumns(other)
}

// compareColumns is Compare for keys of one row.
func (k Key) compareColumns(other Key) int {
	family, otherFamily := k.Family(), other.Family()
	qualifier, otherQualifier := k.Qualifier(), other.Qualifier()
	last := len(family)+len(qualifier) == 0 && k.Type() == Minimum
	otherLast := len(otherFamily)+len(otherQualifier) == 0 && other.Type() == Minimum
	if last != otherLast {
		if last {
			return 1
		}
		return -1
	}
	if c := bytes.Compare(family, otherFamily); c != 0 {
		return c
	}
	if c := bytes.Compare(qualifier, otherQualifier); c != 0 {
		return c
	}
	if c := cmp.Compare(other.Timestamp(), k.Timestamp()); c != 0 {
		return c
	}
	return cmp.Compare(other.Type(), k.Type())
}

// String formats the key for messages as HBase does. Bytes other than printable ASCII become
// \xHH. The key may be nil.
func (k Key) String() string {
	if len(k) == 0 {
		return "no key"
	}
	b := appendPrintable(nil, k.Row())
	b = append(b, '/')
	b = appendPrintable(b, k.Family())
	b = append(b, ':')
	b = appendPrintable(b, k.Qualifier())
	return fmt.Sprintf("%s/%d/%s", b, k.Timestamp(), k.Type())
}

// appendPrintable appends bytes as HBase's Bytes.toStringBinary formats them. It also escapes
// the backslash.
func appendPrintable(dst, b []byte) []byte {
	const digits = "0123456789ABCDEF"
	for _, c := range b {
		if printable(c) {
			dst = append(dst, c)
		} else {
			dst = append(dst, '\\', 'x', digits[c>>4], digits[c&15])
		}
	}
	return dst
}

// printable reports whether appendPrintable leaves a byte unchanged.
func printable(c byte) bool { return c >= ' ' && c <= '~' && c != '\\' }

// checkKey returns damage if the key at an offset is not valid.
func checkKey(k []byte, offset int64) error {
	//guard: rejects a key that is too short
	if len(k) < keyOverhead {
		return damage.New(damage.Size, "", offset, "a key of %d bytes, at least %d are needed", len(k), keyOverhead)
	}
	row := int(binary.BigEndian.Uint16(k))
	rest := len(k) - keyOverhead - row
	//guard: rejects a row of a wrong length
	if rest < 0 || row > MaxRow {
		return damage.New(damage.Size, "", offset, "a row of %d bytes in a key of %d", row, len(k))
	}
	//guard: rejects a family that reaches beyond the key
	if family := int(k[Key(k).rowEnd()]); family > rest {
		return damage.New(damage.Size, "", offset, "a family of %d bytes in a key of %d", family, len(k))
	}
	return nil
}
