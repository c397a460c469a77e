package shred

import (
	"encoding/binary"
	"unicode/utf8"

	"github.com/rowtocol/rowtocol/format/column"
)

// high has the top bit of each byte: it is 0 in ASCII and set in all but a varint's
// last byte.
const high = 0x8080_8080_8080_8080

// validUTF8 reports whether b is UTF-8. Nearly all strings are ASCII and most are
// short, so ASCII is tried first, in words that overlap at the end. For short strings
// this takes half the time of utf8.Valid.
func validUTF8(b []byte) bool {
	n := len(b)
	if n < 8 {
		if n >= 4 {
			either := binary.LittleEndian.Uint32(b) | binary.LittleEndian.Uint32(b[n-4:])
			return either&(high>>32) == 0 || utf8.Valid(b)
		}
		var either byte
		for _, c := range b {
			either |= c
		}
		return either < utf8.RuneSelf || utf8.Valid(b)
	}
	either := binary.LittleEndian.Uint64(b[n-8:])
	rest := b
	for ; len(rest) >= 32; rest = rest[32:] {
		either |= binary.LittleEndian.Uint64(rest) | binary.LittleEndian.Uint64(rest[8:]) |
			binary.LittleEndian.Uint64(rest[16:]) | binary.LittleEndian.Uint64(rest[24:])
	}
	for ; len(rest) >= 8; rest = rest[8:] {
		either |= binary.LittleEndian.Uint64(rest)
	}
	return either&high == 0 || utf8.Valid(b)
}

// ascii reports whether the first size bytes of 16 are ASCII.
func ascii(b []byte, size int) bool {
	return binary.LittleEndian.Uint64(b)&high&(1<<(8*uint(size))-1) == 0 &&
		binary.LittleEndian.Uint64(b[8:])&high&(1<<(8*uint(max(size-8, 0)))-1) == 0
}

// replacement replaces each run of invalid bytes, as in bytes.ToValidUTF8.
var replacement = []byte("\uFFFD")

// appendReplaced appends a string that is not UTF-8 with replacements. Three bytes replace a run of
// one byte, so a string becomes at most about twice as long, counted with its length.
func appendReplaced(buf *column.Buffer, value []byte) {
	size := 0
	for left := value; len(left) > 0; {
		valid, runs := 0, 0
		valid, runs, left = cutInvalid(left)
		size += valid + runs*len(replacement)
	}
	buf.AppendVarint(int64(size))
	for left := value; len(left) > 0; {
		valid, runs, rest := cutInvalid(left)
		buf.Append(left[:valid])
		if runs > 0 {
			buf.Append(replacement)
		}
		left = rest
	}
}

// cutInvalid returns the number of bytes of UTF-8 at the start of b, whether a run of invalid bytes
// follows (1) or not (0), and what is after that run.
func cutInvalid(b []byte) (valid, runs int, rest []byte) {
	invalid := func(i int) bool {
		r, n := utf8.DecodeRune(b[i:])
		return r == utf8.RuneError && n == 1
	}
	for valid < len(b) && !invalid(valid) {
		_, n := utf8.DecodeRune(b[valid:])
		valid += n
	}
	at := valid
	for at < len(b) && invalid(at) {
		at++
	}
	if at > valid {
		runs = 1
	}
	return valid, runs, b[at:]
}
