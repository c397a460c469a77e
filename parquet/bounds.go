package parquet

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"unicode/utf8"

	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/format/column"
)

// order is how the values of a column compare.
type order uint8

const (
	orderNone order = iota // there are no values
	orderBool
	orderInt32
	orderInt64
	orderFloat
	orderDouble
	orderText   // UTF-8, byte by byte
	orderBytes  // byte by byte
	orderSigned // numbers in two's complement, big-endian
)

// orderOf returns the order that Parquet defines for the type of a leaf.
func orderOf(l *leaf) order {
	switch {
	case l.presence:
		return orderBool
	case l.Type == column.Null:
		return orderNone
	case isDecimal(l.Column):
		return orderSigned
	}
	switch l.physical {
	case pq.Boolean:
		return orderBool
	case pq.Int32:
		return orderInt32
	case pq.Int64:
		return orderInt64
	case pq.Float:
		return orderFloat
	case pq.Double:
		return orderDouble
	}
	if l.Type == column.String || l.Symbols != nil {
		return orderText
	}
	return orderBytes
}

// compare compares two values as statistics have them: plain, but without a length.
func (o order) compare(a, b []byte) int {
	switch o {
	case orderInt32:
		return cmp.Compare(int32(binary.LittleEndian.Uint32(a)), int32(binary.LittleEndian.Uint32(b)))
	case orderInt64:
		return cmp.Compare(int64(binary.LittleEndian.Uint64(a)), int64(binary.LittleEndian.Uint64(b)))
	case orderFloat:
		return cmp.Compare(float32At(a), float32At(b))
	case orderDouble:
		return cmp.Compare(float64At(a), float64At(b))
	case orderSigned:
		return compareSigned(a, b)
	}
	return bytes.Compare(a, b)
}

func float32At(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }
func float64At(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }

// compareSigned compares two numbers in two's complement, big-endian. Empty bytes stand for 0.
func compareSigned(a, b []byte) int {
	if x, y := negative(a), negative(b); x != y {
		if x {
			return -1
		}
		return 1
	}
	a, b = significant(a), significant(b)
	if len(a) != len(b) {
		if negative(a) == (len(a) > len(b)) {
			return -1
		}
		return 1
	}
	return bytes.Compare(a, b)
}

func negative(b []byte) bool { return len(b) > 0 && b[0] >= 0x80 }

// significant returns b without bytes that only repeat the sign.
func significant(b []byte) []byte {
	for len(b) > 0 {
		fill := byte(0)
		if negative(b) {
			fill = 0xff
		}
		if b[0] != fill || len(b) == 1 && fill == 0xff || len(b) > 1 && (b[1] >= 0x80) != (fill == 0xff) {
			break
		}
		b = b[1:]
	}
	return b
}

// maxBound is the most bytes of a value in statistics. Longer text is cut.
const maxBound = 64

// boundSize returns the most bytes of a bound.
func (l *leaf) boundSize() int {
	switch l.physical {
	case pq.Boolean:
		return 1
	case pq.Int32, pq.Float:
		return 4
	case pq.Int64, pq.Double:
		return 8
	case pq.FixedLenByteArray:
		return min(l.size, maxBound)
	}
	return maxBound
}

// textBounds finds the least and the greatest of values that have any size.
type textBounds struct {
	order    order
	any      bool
	invalid  bool // the size of a decimal is not one that readers accept
	min, max []byte
	// The first bytes of min and max, as big-endian numbers. They decide most comparisons.
	least, most uint64
}

func (b *textBounds) reset(o order) { *b = textBounds{order: o} }

// add adds a value, which must not change before the next reset.
func (b *textBounds) add(v []byte) {
	if b.order == orderSigned {
		b.addSigned(v)
		return
	}
	head := firstBytes(v)
	if !b.any {
		b.any, b.min, b.max, b.least, b.most = true, v, v, head, head
		return
	}
	if head < b.least || head == b.least && bytes.Compare(v, b.min) < 0 {
		b.min, b.least = v, head
	}
	if head > b.most || head == b.most && bytes.Compare(v, b.max) > 0 {
		b.max, b.most = v, head
	}
}

func (b *textBounds) addSigned(v []byte) {
	b.invalid = b.invalid || invalidSize(v)
	switch {
	case !b.any:
		b.any, b.min, b.max = true, v, v
	case compareSigned(v, b.min) < 0:
		b.min = v
	case compareSigned(v, b.max) > 0:
		b.max = v
	}
}

// firstBytes returns the first eight bytes of v as a big-endian number, with zeros for bytes
// that v does not have.
func firstBytes(v []byte) uint64 {
	if len(v) >= 8 {
		return binary.BigEndian.Uint64(v)
	}
	if cap(v) >= 8 { // bytes after v are masked
		return binary.BigEndian.Uint64(v[:8]) & ^(math.MaxUint64 >> (8 * len(v)))
	}
	var head [8]byte
	copy(head[:], v)
	return binary.BigEndian.Uint64(head[:])
}

// appendLeast appends a lower bound of v that has at most maxBound bytes. ok is false if
// there is none.
func appendLeast(dst []byte, o order, v []byte) (_ []byte, ok bool) {
	if len(v) <= maxBound {
		return append(dst, v...), true
	}
	if o == orderSigned {
		return dst, false
	}
	return append(dst, cut(o, v)...), true
}

// appendMost appends an upper bound of v that has at most maxBound bytes. ok is false if
// there is none.
func appendMost(dst []byte, o order, v []byte) (_ []byte, ok bool) {
	if len(v) <= maxBound {
		return append(dst, v...), true
	}
	if o == orderSigned {
		return dst, false
	}
	n := len(dst)
	dst = append(dst, cut(o, v)...)
	if o == orderText && utf8.Valid(dst[n:]) {
		return increaseText(dst, n)
	}
	for ; len(dst) > n; dst = dst[:len(dst)-1] {
		if dst[len(dst)-1] != 0xff {
			dst[len(dst)-1]++
			return dst, true
		}
	}
	return dst, false
}

// cut returns the first bytes of v, at most maxBound and, if v is text, whole characters.
func cut(o order, v []byte) []byte {
	n := maxBound
	if o == orderText {
		for n > maxBound-utf8.UTFMax && !utf8.RuneStart(v[n]) {
			n--
		}
		if !utf8.RuneStart(v[n]) {
			n = maxBound // it is not UTF-8
		}
	}
	return v[:n]
}

// increaseText replaces the text after n bytes by a greater one of the same number of
// characters or fewer.
func increaseText(dst []byte, n int) ([]byte, bool) {
	for len(dst) > n {
		r, size := utf8.DecodeLastRune(dst[n:])
		dst = dst[:len(dst)-size]
		if r++; r == 0xd800 {
			r = 0xe000 // numbers between are not characters
		}
		if r <= utf8.MaxRune && len(dst)-n+utf8.RuneLen(r) <= maxBound {
			return utf8.AppendRune(dst, r), true
		}
	}
	return dst, false
}

// appendNumberBounds appends the least and the greatest of plain values. There is at least
// one. ok is false if one of them is NaN: engines skip rows with NaN by bounds that leave it out.
func appendNumberBounds(dst []byte, o order, plain []byte) (_ []byte, ok bool) {
	switch o {
	case orderInt32:
		low, high := int32(math.MaxInt32), int32(math.MinInt32)
		for ; len(plain) >= 4; plain = plain[4:] {
			v := int32(binary.LittleEndian.Uint32(plain))
			low, high = min(low, v), max(high, v)
		}
		dst = binary.LittleEndian.AppendUint32(dst, uint32(low))
		return binary.LittleEndian.AppendUint32(dst, uint32(high)), true
	case orderInt64:
		low, high := int64(math.MaxInt64), int64(math.MinInt64)
		for ; len(plain) >= 8; plain = plain[8:] {
			v := int64(binary.LittleEndian.Uint64(plain))
			low, high = min(low, v), max(high, v)
		}
		dst = binary.LittleEndian.AppendUint64(dst, uint64(low))
		return binary.LittleEndian.AppendUint64(dst, uint64(high)), true
	case orderFloat:
		return appendFloatBounds(dst, plain)
	}
	return appendDoubleBounds(dst, plain)
}

func appendFloatBounds(dst, plain []byte) (_ []byte, ok bool) {
	low, high := float32(math.Inf(1)), float32(math.Inf(-1))
	for ; len(plain) >= 4; plain = plain[4:] {
		v := float32At(plain)
		if v < low {
			low = v
		}
		if !(v <= high) {
			if v != v {
				return dst, false
			}
			high = v
		}
	}
	if low == 0 {
		low = float32(math.Copysign(0, -1)) // readers may order -0.0 before 0.0
	}
	if high == 0 {
		high = 0
	}
	dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(low))
	return binary.LittleEndian.AppendUint32(dst, math.Float32bits(high)), true
}

func appendDoubleBounds(dst, plain []byte) (_ []byte, ok bool) {
	low, high := math.Inf(1), math.Inf(-1)
	for ; len(plain) >= 8; plain = plain[8:] {
		v := float64At(plain)
		if v < low {
			low = v
		}
		if !(v <= high) {
			if v != v {
				return dst, false
			}
			high = v
		}
	}
	if low == 0 {
		low = math.Copysign(0, -1) // readers may order -0.0 before 0.0
	}
	if high == 0 {
		high = 0
	}
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(low))
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(high)), true
}
