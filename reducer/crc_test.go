package reducer

import (
	"hash/crc32"
	"math/rand/v2"
	"testing"
)

func TestConcat(t *testing.T) {
	for range 1000 {
		data := make([]byte, rand.IntN(5000))
		for i := range data {
			data[i] = byte(rand.Uint32())
		}
		cut := rand.IntN(len(data) + 1)
		first, second := crc32.Checksum(data[:cut], castagnoli), crc32.Checksum(data[cut:], castagnoli)
		if got, want := concat(first, second, int64(len(data)-cut)), crc32.Checksum(data, castagnoli); got != want {
			t.Fatalf("%d and %d bytes: %08x, want %08x", cut, len(data)-cut, got, want)
		}
	}
}
