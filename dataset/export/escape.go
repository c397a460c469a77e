package export

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf8"
)

// appendString appends a JSON string.
func appendString(dst, s []byte) []byte { return append(appendEscaped(append(dst, '"'), s), '"') }

// appendEscaped appends the form of text inside a JSON string. Invalid UTF-8 becomes
// U+FFFD.
func appendEscaped(dst, s []byte) []byte {
	for {
		dst = slices.Grow(dst, len(s)+wordSize)
		room, n := dst[len(dst):cap(dst)], 0
		if len(s) < 2*wordSize {
			n = copyPlainShort(room, s)
		} else {
			n = copyPlain(room, s)
		}
		if dst = dst[:len(dst)+n]; n == len(s) {
			return dst
		}
		if s = s[n:]; s[0] < utf8.RuneSelf {
			dst, s = appendEscape(dst, s[0]), s[1:]
		}
		for len(s) > 0 && s[0] >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(s)
			dst, s = utf8.AppendRune(dst, r), s[size:]
		}
	}
}

// appendEscape appends the escape of an ASCII character that is not plain.
func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return appendHex(dst, c)
}

// appendHex appends the escape of U+0000 to U+00FF in hexadecimal digits.
func appendHex(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// appendLatin appends the form of bytes inside a JSON string: one character per byte.
func appendLatin(dst, b []byte) []byte {
	for _, c := range b {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case isPlain(c):
			dst = append(dst, c)
		default:
			dst = appendHex(dst, c)
		}
	}
	return dst
}

// isPlain reports whether a byte is an ASCII character without an escape in a JSON string.
func isPlain(c byte) bool { return c >= ' ' && c < 0x7f && c != '"' && c != '\\' }

// wordSize is the number of bytes that are looked at together.
const wordSize = 8

const (
	low  = 0x0101010101010101 // the lowest bit of each of eight bytes
	high = low << 7
)

// copyPlain copies the plain bytes at the start of s, and returns their number. s has at
// least two words. copyPlain may change further bytes of dst, which has room for s.
func copyPlain(dst, s []byte) int {
	last := len(s) - 2*wordSize
	for i := 0; ; i = min(i+2*wordSize, last) {
		end := i + 2*wordSize
		from, to := s[i:end:end], dst[i:end:end]
		first, second := binary.LittleEndian.Uint64(from), binary.LittleEndian.Uint64(from[wordSize:])
		binary.LittleEndian.PutUint64(to, first)
		binary.LittleEndian.PutUint64(to[wordSize:], second)
		switch m, n := odd(first), odd(second); {
		case m|n == 0 && i == last:
			return len(s)
		case m|n == 0:
		case m != 0:
			return i + bits.TrailingZeros64(m)/8
		default:
			return i + wordSize + bits.TrailingZeros64(n)/8
		}
	}
}

// copyPlainShort is copyPlain for fewer bytes than two words. dst has room for a word.
func copyPlainShort(dst, s []byte) int {
	if len(s) < wordSize {
		w := shortWord(s)
		binary.LittleEndian.PutUint64(dst, w)
		return min(bits.TrailingZeros64(odd(w))/8, len(s)) // the zeros after s are not plain
	}
	last := len(s) - wordSize
	first, second := binary.LittleEndian.Uint64(s), binary.LittleEndian.Uint64(s[last:])
	binary.LittleEndian.PutUint64(dst, first)
	binary.LittleEndian.PutUint64(dst[last:], second)
	if m := odd(first); m != 0 {
		return bits.TrailingZeros64(m) / 8
	}
	return last + bits.TrailingZeros64(odd(second))/8
}

// shortWord returns a word of fewer bytes, and zeros after them.
func shortWord(s []byte) (w uint64) {
	if len(s) >= wordSize/2 {
		last := len(s) - wordSize/2
		return uint64(binary.LittleEndian.Uint32(s)) | uint64(binary.LittleEndian.Uint32(s[last:]))<<(8*last)
	}
	for i, c := range s {
		w |= uint64(c) << (8 * i)
	}
	return w
}

// odd returns a word with the highest bit of the first of eight bytes that is not plain, or
// 0 if all bytes are plain. A borrow or a carry can also set the highest bits of later bytes.
func odd(w uint64) uint64 {
	quote, slash := w^low*'"', w^low*'\\'
	return ((w + low) | (w - low*' ') | (quote - low) | (slash - low)) & high
}

// needsQuotes reports whether text has a comma, a quotation mark or the end of a line, for
// which a field of CSV needs quotes.
func needsQuotes(text []byte) bool {
	if len(text) < wordSize {
		return separates(shortWord(text))
	}
	for last, i := len(text)-wordSize, 0; ; i = min(i+wordSize, last) {
		if separates(binary.LittleEndian.Uint64(text[i:])) {
			return true
		}
		if i == last {
			return false
		}
	}
}

// separates reports whether one of eight bytes is a comma, a quotation mark, a line feed or a
// carriage return.
func separates(w uint64) bool {
	comma, quote, feed, end := w^low*',', w^low*'"', w^low*'\n', w^low*'\r'
	found := (comma-low)&^comma | (quote-low)&^quote | (feed-low)&^feed | (end-low)&^end
	return found&high != 0
}
