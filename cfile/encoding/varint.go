package encoding

import "math"

// uvarint32 reads a varint of up to 32 bits. It returns the number, and how many bytes the varint
// has. It returns 0 bytes if the varint is cut short or has more bits.
func uvarint32(b []byte) (uint32, int) {
	x := uint64(0)
	for i := 0; i < len(b) && i < 5; i++ {
		x |= uint64(b[i]&0x7f) << (7 * i)
		//guard: rejects an integer of more than 32 bits
		if x > math.MaxUint32 {
			break
		}
		if b[i] < 0x80 {
			return uint32(x), i + 1
		}
	}
	return 0, 0
}
