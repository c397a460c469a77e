package encoding

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// transposed returns the elements in src transposed bit by bit.
func transposed(src []byte, width int) []byte {
	n := len(src) / width
	dst := make([]byte, len(src))
	for i := range n {
		for k := range 8 * width {
			bit := src[i*width+k/8] >> (k % 8) & 1
			dst[k*(n/8)+i/8] |= bit << (i % 8)
		}
	}
	return dst
}

// random returns n bytes, the same for the same n.
func random(n int) []byte {
	r := rand.New(rand.NewPCG(uint64(n), 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

var shuffleWidths = []int{1, 2, 4, 8, 16}

func TestShuffle(t *testing.T) {
	for _, width := range shuffleWidths {
		for _, count := range []int{0, 8, 56, 64, 72, 128, 8192 / width} {
			src := random(count * width)
			rows, back := make([]byte, len(src)), make([]byte, len(src))
			var s shuffle
			s.transpose(rows, src, width)
			if !bytes.Equal(rows, transposed(src, width)) {
				t.Errorf("%d elements of %d bytes are not transposed", count, width)
			}
			s.restore(back, rows, width)
			if !bytes.Equal(back, src) {
				t.Errorf("%d elements of %d bytes are not restored", count, width)
			}
		}
	}
}

func BenchmarkShuffle(b *testing.B) {
	var s shuffle
	src := random(shuffleSubBlock)
	dst := make([]byte, len(src))
	for _, width := range shuffleWidths {
		b.Run(fmt.Sprint("transpose/", width), func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				s.transpose(dst, src, width)
			}
		})
		b.Run(fmt.Sprint("restore/", width), func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				s.restore(dst, src, width)
			}
		})
	}
}
