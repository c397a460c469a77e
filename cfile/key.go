package cfile

import (
	"fmt"
	"slices"

	"github.com/rowtocol/rowtocol/cfile/encoding"
)

// AppendKey appends a value of the type t to dst in an encoding whose bytes sort as the values do.
// Integers become big-endian, and the sign bit of signed integers is inverted. BINARY values are
// unchanged. The value is as in encoding.Values. If t is not Keyed, or the value does not have the
// width of t, AppendKey returns an error.
func AppendKey(dst []byte, t Type, value []byte) ([]byte, error) {
	if !t.Keyed() {
		return dst, fmt.Errorf("cfile: values of %s have no key encoding", t)
	}
	if w := t.Width(); w != 0 && len(value) != w {
		return dst, fmt.Errorf("cfile: a value of %d bytes as a key of %s", len(value), t)
	}
	return appendKey(dst, t, value), nil
}

// appendKey is AppendKey without its checks.
func appendKey(dst []byte, t Type, value []byte) []byte {
	start := len(dst)
	dst = append(dst, value...)
	if t.Width() == 0 {
		return dst
	}
	slices.Reverse(dst[start:])
	if types[t].signed {
		dst[start] ^= 0x80
	}
	return dst
}

// shorten cuts first, the first key of a block, after the first byte that differs from last,
// the last key of the block before. last is empty for the first block. The result is a prefix
// of first.
func shorten(last, first []byte) []byte {
	return first[:min(encoding.CommonPrefix(last, first)+1, len(first))]
}
