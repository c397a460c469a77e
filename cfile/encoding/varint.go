package encoding

import "math"

// uvarint32 reads a varint of 32 bits and returns it and how many bytes it
// takes: none if it is cut short or longer.
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
