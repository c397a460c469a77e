package encoding

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// AppendSplit appends plain values of size bytes each as BYTE_STREAM_SPLIT.
func AppendSplit(dst, plain []byte, size int) []byte {
	n, start := len(plain)/size, len(dst)
	dst = slices.Grow(dst, len(plain))[:start+len(plain)]
	streams := dst[start:]
	s := 0
	for ; s+4 <= size; s += 4 { // four streams at a time
		b0, b1, b2, b3 := streams[s*n:][:n], streams[(s+1)*n:][:n], streams[(s+2)*n:][:n], streams[(s+3)*n:][:n]
		at := s
		for i := range b0 {
			v := binary.LittleEndian.Uint32(plain[at:])
			b0[i], b1[i], b2[i], b3[i] = byte(v), byte(v>>8), byte(v>>16), byte(v>>24)
			at += size
		}
	}
	for ; s < size; s++ {
		at := s
		for i := range streams[s*n:][:n] {
			streams[s*n+i] = plain[at]
			at += size
		}
	}
	return dst
}

// DecodeSplit appends n values of size bytes each from value from on. src is BYTE_STREAM_SPLIT
// of all values, and the result is plain.
func DecodeSplit(dst, src []byte, size, from, n int) ([]byte, error) {
	//guard: rejects streams of unequal length
	if size < 1 || len(src)%size != 0 {
		return dst, fmt.Errorf("%d streams in %d bytes", size, len(src))
	}
	all := len(src) / size
	//guard: rejects missing values
	if n > all-from {
		return dst, cutShort(from+n, len(src))
	}
	start := len(dst)
	dst = slices.Grow(dst, n*size)[:start+n*size]
	plain := dst[start:]
	s := 0
	for ; s+4 <= size; s += 4 { // four streams at a time
		at := s*all + from
		b0, b1, b2, b3 := src[at:][:n], src[at+all:][:n], src[at+2*all:][:n], src[at+3*all:][:n]
		to := s
		for i := range b0 {
			v := uint32(b0[i]) | uint32(b1[i])<<8 | uint32(b2[i])<<16 | uint32(b3[i])<<24
			binary.LittleEndian.PutUint32(plain[to:], v)
			to += size
		}
	}
	for ; s < size; s++ {
		to := s
		for _, b := range src[s*all+from:][:n] {
			plain[to] = b
			to += size
		}
	}
	return dst, nil
}
