package export

import (
	"bytes"
	"math"
	"math/big"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
)

// quoted reports whether the text of a simple value is a JSON string. The type must not be
// null, string, enum, float or double.
func (f *form) quoted() bool {
	return f.logical != column.LogicalNone || f.kind == shred.KindBytes || f.kind == shred.KindFixed
}

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

// longText is the length in bytes from which text is written in pieces. It is a multiple of
// 3, so that the base64 of pieces needs no padding between them.
const longText = 96 << 10

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

func appendInteger(dst []byte, l column.Logical, v int64) []byte {
	unit := l.Unit()
	switch {
	case unit == 0:
		return strconv.AppendInt(dst, v, 10)
	case l == column.LogicalDate:
		return appendDate(dst, time.Unix(v*24*60*60, 0).UTC())
	case l.Clock():
		return appendTimeOfDay(dst, v, int64(time.Second/unit))
	case l.Local():
		return appendTimestamp(dst, v, int64(time.Second/unit))
	}
	return append(appendTimestamp(dst, v, int64(time.Second/unit)), 'Z')
}

func appendDate(dst []byte, t time.Time) []byte {
	year, month, day := t.Date()
	if year >= 0 && year <= 9999 {
		dst = appendPadded(dst, int64(year), 1000)
	} else {
		sign := byte('+')
		if year < 0 {
			sign, year = '-', -year
		}
		dst = appendPadded(append(dst, sign), int64(year), 10_000)
	}
	dst = appendPadded(append(dst, '-'), int64(month), 10)
	return appendPadded(append(dst, '-'), int64(day), 10)
}

// appendTimestamp appends a time. v is the number of units since 1970, and perSecond the
// number of units per second.
func appendTimestamp(dst []byte, v, perSecond int64) []byte {
	seconds, fraction := v/perSecond, v%perSecond
	if fraction < 0 {
		seconds, fraction = seconds-1, fraction+perSecond
	}
	t := time.Unix(seconds, 0).UTC()
	dst = append(appendDate(dst, t), 'T')
	hour, minute, second := t.Clock()
	return appendClock(dst, int64(hour), int64(minute), int64(second), fraction, perSecond)
}

// appendTimeOfDay appends a time of day of v units. perSecond is the number of units per
// second.
func appendTimeOfDay(dst []byte, v, perSecond int64) []byte {
	if v < 0 || v >= 24*60*60*perSecond {
		return strconv.AppendInt(dst, v, 10)
	}
	seconds := v / perSecond
	return appendClock(dst, seconds/3600, seconds/60%60, seconds%60, v%perSecond, perSecond)
}

func appendClock(dst []byte, hour, minute, second, fraction, perSecond int64) []byte {
	dst = appendPadded(dst, hour, 10)
	dst = appendPadded(append(dst, ':'), minute, 10)
	dst = appendPadded(append(dst, ':'), second, 10)
	return appendPadded(append(dst, '.'), fraction, perSecond/10)
}

// appendPadded appends a number that is not negative, with at least as many digits as least,
// which is a power of 10.
func appendPadded(dst []byte, v, least int64) []byte {
	for ; v < least && least > 1; least /= 10 {
		dst = append(dst, '0')
	}
	return strconv.AppendInt(dst, v, 10)
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
