package export

import (
	"bytes"
	"math"
	"math/big"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
)

// appendText reads a simple value and appends its text without quotes. The text is the same
// in JSON and CSV.
func appendText(dst []byte, f *form, in *datum) []byte {
	switch f.kind {
	case shred.KindBoolean:
		return strconv.AppendBool(dst, in.boolean())
	case shred.KindInt, shred.KindLong:
		return appendInteger(dst, f.logical, in.long())
	case shred.KindFloat:
		return appendFloat(dst, float64(math.Float32frombits(in.word32())), 32)
	case shred.KindDouble:
		return appendFloat(dst, math.Float64frombits(in.word64()), 64)
	case shred.KindString:
		return append(dst, in.sized()...)
	case shred.KindEnum:
		if i := in.index(len(f.plain)); i >= 0 {
			dst = append(dst, f.plain[i]...)
		}
		return dst
	}
	if b := in.bytes(f); in.err == nil {
		dst = appendBytes(dst, f, b)
	}
	return dst
}

// isBase64 reports whether the text of a bytes or a fixed value is base64.
func isBase64(f *form, b []byte) bool {
	switch f.logical {
	case column.LogicalDecimal:
		return len(b) > column.MaxTextDecimal
	case column.LogicalUUID, column.LogicalDuration:
		return false
	}
	return true
}

// appendBytes appends the text of a bytes or a fixed value.
func appendBytes(dst []byte, f *form, b []byte) []byte {
	switch {
	case isBase64(f, b):
		return appendBase64(dst, b)
	case f.logical == column.LogicalDecimal:
		return appendDecimal(dst, b, f.scale)
	case f.logical == column.LogicalUUID:
		return column.AppendUUID(dst, b)
	}
	return column.AppendDuration(dst, b)
}

// anywhere splits bytes at any place.
func anywhere(_ []byte, most int) int { return most }

// wholeRunes returns the largest number of bytes of text, at most most, that end with a whole
// character.
func wholeRunes(text []byte, most int) int {
	if len(text) <= most {
		return len(text)
	}
	n := most
	for n > most-utf8.UTFMax && !utf8.RuneStart(text[n]) {
		n--
	}
	if !utf8.RuneStart(text[n]) {
		return most // the text is not UTF-8
	}
	return n
}

// appendDecimal appends the two's complement number b times 10^-scale, with scale digits
// after the point.
func appendDecimal(dst, b []byte, scale int) []byte {
	negative := len(b) > 0 && b[0] >= 0x80
	if negative {
		dst = append(dst, '-')
	}
	digits := len(dst)
	if len(b) <= 8 {
		v := uint64(0)
		if negative {
			v = math.MaxUint64
		}
		for _, c := range b {
			v = v<<8 | uint64(c)
		}
		if negative {
			v = -v
		}
		dst = strconv.AppendUint(dst, v, 10)
	} else {
		v := new(big.Int).SetBytes(b)
		if negative {
			v.Sub(new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))), v)
		}
		dst = v.Append(dst, 10)
	}
	if scale == 0 {
		return dst
	}
	if zeros := scale + 1 - (len(dst) - digits); zeros > 0 {
		dst = slices.Insert(dst, digits, bytes.Repeat([]byte{'0'}, zeros)...)
	}
	return slices.Insert(dst, len(dst)-scale, '.')
}
