package pipestest

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"unicode/utf8"
)

// uplink reads the messages of a child.
type uplink struct {
	r   *bufio.Reader
	err error // the first error; later reads return zero values
}

func (u *uplink) take(n int) []byte {
	p := make([]byte, n)
	if u.err == nil {
		_, u.err = io.ReadFull(u.r, p)
	}
	return p
}

// number reads a VInt or VLong.
func (u *uplink) number() int64 {
	first := int8(u.take(1)[0])
	if first >= -112 {
		return int64(first)
	}
	size, negative := -112-int(first), false
	if first < -120 {
		size, negative = -120-int(first), true
	}
	var eight [8]byte
	copy(eight[8-size:], u.take(size))
	n := int64(binary.BigEndian.Uint64(eight[:]))
	if negative {
		n = ^n
	}
	return n
}

func (u *uplink) text() string {
	n := u.number()
	if u.err == nil && (n < 0 || n > 1<<20) {
		u.err = fmt.Errorf("a text of %d bytes", n)
	}
	if u.err != nil {
		return ""
	}
	text := string(u.take(int(n)))
	if u.err == nil && !utf8.ValidString(text) {
		u.err = fmt.Errorf("a text that is not UTF-8: %q", text)
	}
	return text
}

// number appends n, which is not negative, as a VInt or VLong in Java's encoding.
func number(p []byte, n int64) []byte {
	if n <= 127 {
		return append(p, byte(n))
	}
	var digits []byte
	for ; n > 0; n >>= 8 {
		digits = append([]byte{byte(n)}, digits...)
	}
	return append(append(p, byte(-112-len(digits))), digits...)
}

func texts(p []byte, texts ...string) []byte {
	for _, text := range texts {
		p = append(number(p, int64(len(text))), text...)
	}
	return p
}
