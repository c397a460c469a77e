package parquet

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/golang/snappy"
	"github.com/parquet-go/parquet-go"
	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// decompressed decompresses size bytes by parquet-go.
func decompressed(c pq.CompressionCodec, b []byte, size int) ([]byte, error) {
	codec := parquet.LookupCompressionCodec(c)
	return codec.Decode(make([]byte, 0, size), b)
}

// Compressed data has at most compressBound bytes, and needs at most compressRoom.
func TestCompressBound(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{1, 2, 100, 5000, 1 << 16, 1<<16 + 1, 300_000} {
		raw := make([]byte, size)
		for _, fill := range []func(){
			func() {},
			func() {
				for i := range raw {
					raw[i] = byte(r.Uint32())
				}
			},
			func() { // matches that are as short as possible
				for i := range raw {
					raw[i] = []byte{1, 2, 3, 4, byte(r.Uint32())}[i%5]
				}
			},
		} {
			fill()
			for _, c := range codecs {
				name, codec := c.name, c.codec
				got, err := compress([]byte("x"), codec, raw)
				testenv.Must(t, err)
				if n := int64(len(got) - 1); got[0] != 'x' || n > compressBound(codec, int64(size)) || n > compressRoom(codec, int64(size)) {
					t.Errorf("%s: %d bytes become %d; the bound is %d", name, size, n, compressBound(codec, int64(size)))
				}
				if back, err := decompressed(codec, got[1:], size); err != nil || !bytes.Equal(back, raw) {
					t.Errorf("%s: %d bytes do not come back: %v", name, size, err)
				}
			}
			got, err := snappy.Decode(nil, appendLiterals(nil, raw))
			if err != nil || !bytes.Equal(got, raw) {
				t.Errorf("%d bytes as literals: %v", size, err)
			}
		}
	}
}

// The bytes of a page must be able to decompress to its size.
func TestCheckDecompressed(t *testing.T) {
	for _, c := range codecs {
		raw := make([]byte, 1<<20)
		stored, err := compress(nil, c.codec, raw)
		testenv.Must(t, err)
		if err := checkDecompressed(c.codec, stored, len(raw)); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if err := checkDecompressed(c.codec, stored[:4], len(raw)); err == nil {
			t.Errorf("%s: 4 bytes decompress to %d", c.name, len(raw))
		}
	}
	stored, err := compress(nil, pq.Snappy, make([]byte, 100))
	testenv.Must(t, err)
	if checkDecompressed(pq.Snappy, stored, 99) == nil {
		t.Error("Snappy's size is not compared")
	}
}
