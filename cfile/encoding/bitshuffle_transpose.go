package encoding

import "encoding/binary"

// tileElements are transposed at once: one bit of each makes a word.
const tileElements = 64

// A tile is 64 elements as a matrix of bits. Transposed, it is a word for each bit of
// an element, and bit i of each word is that of element i.
//
// To transpose is to exchange, in six steps, the higher half of every 2s bits of one word
// with the lower half of every 2s bits of another: s is 32, 16 and 8 where whole bytes
// change places, and 4, 2 and 1 where the bits of bytes do. Three steps are done at once
// on eight words, which stay in registers. In the first three steps the width of an element
// decides on the eight words: a word has one element, several, or half of one.
// Each step undoes itself, so the steps in the opposite order are the inverse.
//
// The array holds the result of the first three steps: words 8j to 8j+7 are byte j of all
// elements. The other steps turn them into bits 0 to 7 of that byte.
type tile [8 * 16]uint64

// shuffle transposes any number of elements of width 1, 2, 4, 8 or 16 bytes. It is for
// one goroutine.
type shuffle struct {
	tile     tile
	elements [16 * tileElements]byte // of a tile that is not full
	rows     [16 * tileElements]byte
}

// transpose makes bit k of the elements in src row k of dst. src has a multiple of 8
// elements, and dst has as many bytes as src.
func (s *shuffle) transpose(dst, src []byte, width int) {
	stride := len(src) / width / 8
	i := 0
	for ; i+8 <= stride; i += 8 {
		s.tile.gather(src[8*width*i:], width)
		s.tile.toRows(dst[i:], stride, width)
	}
	if i == stride {
		return
	}
	clear(s.elements[copy(s.elements[:], src[8*width*i:]):])
	s.tile.gather(s.elements[:], width)
	s.tile.toRows(s.rows[:], 8, width)
	for k := range 8 * width {
		copy(dst[stride*k+i:stride*(k+1)], s.rows[8*k:])
	}
}

// restore is the inverse of transpose.
func (s *shuffle) restore(dst, src []byte, width int) {
	stride := len(src) / width / 8
	i := 0
	for ; i+8 <= stride; i += 8 {
		s.tile.fromRows(src[i:], stride, width)
		s.tile.scatter(dst[8*width*i:], width)
	}
	if i == stride {
		return
	}
	for k := range 8 * width {
		copy(s.rows[8*k:], src[stride*k+i:stride*(k+1)])
	}
	s.tile.fromRows(s.rows[:], 8, width)
	s.tile.scatter(s.elements[:], width)
	copy(dst[8*width*i:], s.elements[:])
}

// gather fills t with the elements at the start of src.
func (t *tile) gather(src []byte, width int) {
	switch width {
	case 1:
		s, u := (*[64]byte)(src), (*[8]uint64)(t[:])
		u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7] = exchangeBytes(
			word(s[0:]), word(s[8:]), word(s[16:]), word(s[24:]),
			word(s[32:]), word(s[40:]), word(s[48:]), word(s[56:]))
	case 2:
		for i := range 2 {
			s, u := (*[120]byte)(src[8*i:]), (*[12]uint64)(t[4*i:])
			u[0], u[8], u[1], u[9], u[2], u[10], u[3], u[11] = exchangeBytes(
				word(s[0:]), word(s[16:]), word(s[32:]), word(s[48:]),
				word(s[64:]), word(s[80:]), word(s[96:]), word(s[112:]))
		}
	case 4:
		for i := range 4 {
			s, u := (*[232]byte)(src[8*i:]), (*[26]uint64)(t[2*i:])
			u[0], u[8], u[16], u[24], u[1], u[9], u[17], u[25] = exchangeBytes(
				word(s[0:]), word(s[32:]), word(s[64:]), word(s[96:]),
				word(s[128:]), word(s[160:]), word(s[192:]), word(s[224:]))
		}
	case 8:
		for i := range 8 {
			s, u := (*[456]byte)(src[8*i:]), (*[57]uint64)(t[i:])
			u[0], u[8], u[16], u[24], u[32], u[40], u[48], u[56] = exchangeBytes(
				word(s[0:]), word(s[64:]), word(s[128:]), word(s[192:]),
				word(s[256:]), word(s[320:]), word(s[384:]), word(s[448:]))
		}
	case 16:
		for i := range 16 {
			s, u := (*[904]byte)(src[8*i:]), (*[57]uint64)(t[i&1<<6+i>>1:])
			u[0], u[8], u[16], u[24], u[32], u[40], u[48], u[56] = exchangeBytes(
				word(s[0:]), word(s[128:]), word(s[256:]), word(s[384:]),
				word(s[512:]), word(s[640:]), word(s[768:]), word(s[896:]))
		}
	}
}

// scatter is the inverse of gather.
func (t *tile) scatter(dst []byte, width int) {
	switch width {
	case 1:
		d, u := (*[64]byte)(dst), (*[8]uint64)(t[:])
		a0, a1, a2, a3, a4, a5, a6, a7 := restoreBytes(u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7])
		putWord(d[0:], a0)
		putWord(d[8:], a1)
		putWord(d[16:], a2)
		putWord(d[24:], a3)
		putWord(d[32:], a4)
		putWord(d[40:], a5)
		putWord(d[48:], a6)
		putWord(d[56:], a7)
	case 2:
		for i := range 2 {
			d, u := (*[120]byte)(dst[8*i:]), (*[12]uint64)(t[4*i:])
			a0, a1, a2, a3, a4, a5, a6, a7 := restoreBytes(u[0], u[8], u[1], u[9], u[2], u[10], u[3], u[11])
			putWord(d[0:], a0)
			putWord(d[16:], a1)
			putWord(d[32:], a2)
			putWord(d[48:], a3)
			putWord(d[64:], a4)
			putWord(d[80:], a5)
			putWord(d[96:], a6)
			putWord(d[112:], a7)
		}
	case 4:
		for i := range 4 {
			d, u := (*[232]byte)(dst[8*i:]), (*[26]uint64)(t[2*i:])
			a0, a1, a2, a3, a4, a5, a6, a7 := restoreBytes(u[0], u[8], u[16], u[24], u[1], u[9], u[17], u[25])
			putWord(d[0:], a0)
			putWord(d[32:], a1)
			putWord(d[64:], a2)
			putWord(d[96:], a3)
			putWord(d[128:], a4)
			putWord(d[160:], a5)
			putWord(d[192:], a6)
			putWord(d[224:], a7)
		}
	case 8:
		for i := range 8 {
			d, u := (*[456]byte)(dst[8*i:]), (*[57]uint64)(t[i:])
			a0, a1, a2, a3, a4, a5, a6, a7 := restoreBytes(u[0], u[8], u[16], u[24], u[32], u[40], u[48], u[56])
			putWord(d[0:], a0)
			putWord(d[64:], a1)
			putWord(d[128:], a2)
			putWord(d[192:], a3)
			putWord(d[256:], a4)
			putWord(d[320:], a5)
			putWord(d[384:], a6)
			putWord(d[448:], a7)
		}
	case 16:
		for i := range 16 {
			d, u := (*[904]byte)(dst[8*i:]), (*[57]uint64)(t[i&1<<6+i>>1:])
			a0, a1, a2, a3, a4, a5, a6, a7 := restoreBytes(u[0], u[8], u[16], u[24], u[32], u[40], u[48], u[56])
			putWord(d[0:], a0)
			putWord(d[128:], a1)
			putWord(d[256:], a2)
			putWord(d[384:], a3)
			putWord(d[512:], a4)
			putWord(d[640:], a5)
			putWord(d[768:], a6)
			putWord(d[896:], a7)
		}
	}
}

// toRows writes the rows of t, which begin every stride bytes.
func (t *tile) toRows(rows []byte, stride, width int) {
	for j := range width {
		b := (*[8]uint64)(t[8*j:])
		a0, a1, a2, a3, a4, a5, a6, a7 := exchangeBits(b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7])
		r := rows[8*stride*j:]
		putWord(r, a0)
		r = r[stride:]
		putWord(r, a1)
		r = r[stride:]
		putWord(r, a2)
		r = r[stride:]
		putWord(r, a3)
		r = r[stride:]
		putWord(r, a4)
		r = r[stride:]
		putWord(r, a5)
		r = r[stride:]
		putWord(r, a6)
		r = r[stride:]
		putWord(r, a7)
	}
}

// fromRows is the inverse of toRows.
func (t *tile) fromRows(rows []byte, stride, width int) {
	for j := range width {
		r := rows[8*stride*j:]
		b := (*[8]uint64)(t[8*j:])
		b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7] = restoreBits(
			word(r), word(r[stride:]), word(r[2*stride:]), word(r[3*stride:]),
			word(r[4*stride:]), word(r[5*stride:]), word(r[6*stride:]), word(r[7*stride:]))
	}
}

func word(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

func putWord(b []byte, x uint64) { binary.LittleEndian.PutUint64(b, x) }

// exchange exchanges the bits of a that m selects after a shift right by s with the
// bits of b that m selects.
func exchange(a, b uint64, s uint, m uint64) (uint64, uint64) {
	x := (a>>s ^ b) & m
	return a ^ x<<s, b ^ x
}

// Masks of the lower half of every 2s bits.
const (
	low32 = 0x00000000ffffffff
	low16 = 0x0000ffff0000ffff
	low8  = 0x00ff00ff00ff00ff
	low4  = 0x0f0f0f0f0f0f0f0f
	low2  = 0x3333333333333333
	low1  = 0x5555555555555555
)

func exchangeBytes(a0, a1, a2, a3, a4, a5, a6, a7 uint64) (_, _, _, _, _, _, _, _ uint64) {
	a0, a4 = exchange(a0, a4, 32, low32)
	a1, a5 = exchange(a1, a5, 32, low32)
	a2, a6 = exchange(a2, a6, 32, low32)
	a3, a7 = exchange(a3, a7, 32, low32)
	a0, a2 = exchange(a0, a2, 16, low16)
	a1, a3 = exchange(a1, a3, 16, low16)
	a4, a6 = exchange(a4, a6, 16, low16)
	a5, a7 = exchange(a5, a7, 16, low16)
	a0, a1 = exchange(a0, a1, 8, low8)
	a2, a3 = exchange(a2, a3, 8, low8)
	a4, a5 = exchange(a4, a5, 8, low8)
	a6, a7 = exchange(a6, a7, 8, low8)
	return a0, a1, a2, a3, a4, a5, a6, a7
}

func restoreBytes(a0, a1, a2, a3, a4, a5, a6, a7 uint64) (_, _, _, _, _, _, _, _ uint64) {
	a0, a1 = exchange(a0, a1, 8, low8)
	a2, a3 = exchange(a2, a3, 8, low8)
	a4, a5 = exchange(a4, a5, 8, low8)
	a6, a7 = exchange(a6, a7, 8, low8)
	a0, a2 = exchange(a0, a2, 16, low16)
	a1, a3 = exchange(a1, a3, 16, low16)
	a4, a6 = exchange(a4, a6, 16, low16)
	a5, a7 = exchange(a5, a7, 16, low16)
	a0, a4 = exchange(a0, a4, 32, low32)
	a1, a5 = exchange(a1, a5, 32, low32)
	a2, a6 = exchange(a2, a6, 32, low32)
	a3, a7 = exchange(a3, a7, 32, low32)
	return a0, a1, a2, a3, a4, a5, a6, a7
}

func exchangeBits(a0, a1, a2, a3, a4, a5, a6, a7 uint64) (_, _, _, _, _, _, _, _ uint64) {
	a0, a4 = exchange(a0, a4, 4, low4)
	a1, a5 = exchange(a1, a5, 4, low4)
	a2, a6 = exchange(a2, a6, 4, low4)
	a3, a7 = exchange(a3, a7, 4, low4)
	a0, a2 = exchange(a0, a2, 2, low2)
	a1, a3 = exchange(a1, a3, 2, low2)
	a4, a6 = exchange(a4, a6, 2, low2)
	a5, a7 = exchange(a5, a7, 2, low2)
	a0, a1 = exchange(a0, a1, 1, low1)
	a2, a3 = exchange(a2, a3, 1, low1)
	a4, a5 = exchange(a4, a5, 1, low1)
	a6, a7 = exchange(a6, a7, 1, low1)
	return a0, a1, a2, a3, a4, a5, a6, a7
}

func restoreBits(a0, a1, a2, a3, a4, a5, a6, a7 uint64) (_, _, _, _, _, _, _, _ uint64) {
	a0, a1 = exchange(a0, a1, 1, low1)
	a2, a3 = exchange(a2, a3, 1, low1)
	a4, a5 = exchange(a4, a5, 1, low1)
	a6, a7 = exchange(a6, a7, 1, low1)
	a0, a2 = exchange(a0, a2, 2, low2)
	a1, a3 = exchange(a1, a3, 2, low2)
	a4, a6 = exchange(a4, a6, 2, low2)
	a5, a7 = exchange(a5, a7, 2, low2)
	a0, a4 = exchange(a0, a4, 4, low4)
	a1, a5 = exchange(a1, a5, 4, low4)
	a2, a6 = exchange(a2, a6, 4, low4)
	a3, a7 = exchange(a3, a7, 4, low4)
	return a0, a1, a2, a3, a4, a5, a6, a7
}
