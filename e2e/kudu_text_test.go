package e2e

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"time"

	"github.com/rowtocol/rowtocol/cfile"
)

// kuduText returns Kudu's text for rows: a line for each.
func kuduText(typ cfile.Type, rows *cfile.Rows, nullable bool) []byte {
	var text []byte
	value := 0
	next := func() {
		if typ.Width() == 0 {
			text = appendKuduBinary(text, typ, rows.Binary(value))
		} else {
			text = appendKuduFixed(text, typ, rows.Fixed[value*typ.Width():][:typ.Width()])
		}
		text = append(text, '\n')
		value++
	}
	if !nullable {
		for range valuesOf(typ, rows) {
			next()
		}
		return text
	}
	for _, valid := range rows.Valid {
		if valid == 0 {
			text = append(text, "NULL\n"...)
		} else {
			next()
		}
	}
	return text
}

// valuesOf returns the number of rows that are not null.
func valuesOf(typ cfile.Type, rows *cfile.Rows) int {
	if typ.Width() == 0 {
		return rows.BinaryLen()
	}
	return len(rows.Fixed) / typ.Width()
}

func appendKuduFixed(dst []byte, typ cfile.Type, v []byte) []byte {
	switch typ {
	case cfile.Bool:
		return strconv.AppendBool(dst, v[0] != 0)
	case cfile.Float:
		f := float64(math.Float32frombits(binary.LittleEndian.Uint32(v)))
		return appendKuduFloat(dst, f, func(text string) bool {
			parsed, err := strconv.ParseFloat(text, 32)
			return err == nil && parsed == f
		}, 6)
	case cfile.Double:
		f := math.Float64frombits(binary.LittleEndian.Uint64(v))
		return appendKuduFloat(dst, f, func(text string) bool {
			parsed, err := strconv.ParseFloat(text, 64)
			return err == nil && parsed == f
		}, 15)
	case cfile.Uint8, cfile.Uint16, cfile.Uint32, cfile.Uint64:
		var wide [8]byte
		copy(wide[:], v)
		return strconv.AppendUint(dst, binary.LittleEndian.Uint64(wide[:]), 10)
	}
	n := twosComplement(v)
	switch typ {
	case cfile.UnixtimeMicros:
		return appendKuduTime(dst, time.UnixMicro(n.Int64()), "-01-02T15:04:05.000000Z")
	case cfile.Date:
		return appendKuduTime(dst, time.Unix(n.Int64()*86_400, 0), "-01-02")
	case cfile.Decimal32:
		return append(n.Append(dst, 10), "_D32"...)
	case cfile.Decimal64:
		return append(n.Append(dst, 10), "_D64"...)
	case cfile.Decimal128:
		return append(appendKuduInt128(dst, n), "_D128"...)
	case cfile.Int128:
		return appendKuduInt128(dst, n)
	}
	return n.Append(dst, 10)
}

// appendKuduInt128 writes a number like Kudu, which omits zeros in the middle of numbers of
// more than 64 bits.
func appendKuduInt128(dst []byte, n *big.Int) []byte {
	if n.BitLen() <= 64 {
		return n.Append(dst, 10)
	}
	if n.Sign() < 0 {
		dst = append(dst, '-')
	}
	const digits = 20
	high, low := new(big.Int).QuoRem(new(big.Int).Abs(n), new(big.Int).Exp(big.NewInt(10), big.NewInt(digits), nil), new(big.Int))
	return fmt.Appendf(high.Append(dst, 10), "%02d", low)
}

// twosComplement returns the number stored little-endian in two's complement.
func twosComplement(v []byte) *big.Int {
	if len(v) <= 8 {
		n := int64(int8(v[len(v)-1]))
		for _, b := range slices.Backward(v[:len(v)-1]) {
			n = n<<8 | int64(b)
		}
		return big.NewInt(n)
	}
	big128 := slices.Clone(v)
	slices.Reverse(big128)
	n := new(big.Int).SetBytes(big128)
	if big128[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(v))))
	}
	return n
}

// appendKuduFloat writes a number with the given digits, or two more if these do not
// restore it.
func appendKuduFloat(dst []byte, f float64, isSame func(text string) bool, digits int) []byte {
	switch {
	case math.IsNaN(f) && math.Signbit(f):
		return append(dst, "-nan"...)
	case math.IsNaN(f):
		return append(dst, "nan"...)
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf"...)
	}
	text := strconv.FormatFloat(f, 'g', digits, 64)
	if !isSame(text) {
		text = strconv.FormatFloat(f, 'g', digits+2, 64)
	}
	return append(dst, text...)
}

// appendKuduTime writes a time whose year has no leading zeros, like the C library.
func appendKuduTime(dst []byte, t time.Time, afterYear string) []byte {
	t = t.UTC()
	return t.AppendFormat(strconv.AppendInt(dst, int64(t.Year()), 10), afterYear)
}

// appendKuduBinary escapes like C: text in octal, and only ASCII; other bytes in
// hexadecimal, including a next byte that would read as a digit of the escape.
func appendKuduBinary(dst []byte, typ cfile.Type, v []byte) []byte {
	text := typ != cfile.Binary
	dst = append(dst, '"')
	escaped := false // the last byte was written in hexadecimal
	for _, b := range v {
		hexDigit := '0' <= b && b <= '9' || 'a' <= b && b <= 'f' || 'A' <= b && b <= 'F'
		wasEscaped := escaped
		escaped = false
		switch {
		case b == '\n':
			dst = append(dst, `\n`...)
		case b == '\r':
			dst = append(dst, `\r`...)
		case b == '\t':
			dst = append(dst, `\t`...)
		case b == '"' || b == '\'' || b == '\\':
			dst = append(dst, '\\', b)
		case text && b >= 0x80 || ' ' <= b && b <= '~' && !(wasEscaped && hexDigit):
			dst = append(dst, b)
		case text:
			dst = fmt.Appendf(dst, `\%03o`, b)
		default:
			dst = fmt.Appendf(dst, `\x%02x`, b)
			escaped = true
		}
	}
	return append(dst, '"')
}
