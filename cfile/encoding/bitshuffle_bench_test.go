package encoding_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/pierrec/lz4/v4"

	"github.com/rowtocol/rowtocol/cfile/encoding"
)

// integers are 64-bit integers of several kinds, 64 KiB each.
func integers() []struct {
	name  string
	bytes []byte
} {
	r := rand.New(rand.NewPCG(1, 2))
	fill := func(next func(i int) uint64) (b []byte) {
		for i := range 8192 {
			b = binary.LittleEndian.AppendUint64(b, next(i))
		}
		return b
	}
	now := uint64(1_700_000_000_000_000)
	return []struct {
		name  string
		bytes []byte
	}{
		{"ascending", fill(func(i int) uint64 { return uint64(i) })},
		{"small", fill(func(int) uint64 { return r.Uint64N(1000) })},
		{"times", fill(func(int) uint64 { now += r.Uint64N(100_000); return now })},
		{"random", fill(func(int) uint64 { return r.Uint64() })},
	}
}

// BenchmarkBitshuffle sets bitshuffle beside LZ4 alone, of all bytes at once and of as
// many at once as bitshuffle gives it.
func BenchmarkBitshuffle(b *testing.B) {
	for _, c := range integers() {
		run := func(name string, encode func() int, decode func()) {
			stored := encode()
			b.Run(c.name+"/"+name+"/encode", func(b *testing.B) {
				b.SetBytes(int64(len(c.bytes)))
				for b.Loop() {
					encode()
				}
				b.ReportMetric(100*float64(stored)/float64(len(c.bytes)), "%stored")
			})
			b.Run(c.name+"/"+name+"/decode", func(b *testing.B) {
				b.SetBytes(int64(len(c.bytes)))
				for b.Loop() {
					decode()
				}
			})
		}
		var s encoding.Shuffler
		var body []byte
		var v encoding.Values
		d := encoding.NewBitshuffle(8)
		run("bitshuffle", func() int {
			body, _ = s.Append(body[:0], 0, 8, c.bytes)
			return len(body)
		}, func() {
			v.Reset()
			for err := d.Reset(body); err == nil; {
				_, err = d.Read(&v, len(c.bytes))
			}
		})
		for _, l := range []struct {
			name string
			size int
		}{{"LZ4", len(c.bytes)}, {"LZ4of8K", 8192}} {
			var z lz4.CompressorCCompat
			dst, raw := make([]byte, lz4.CompressBlockBound(2*len(c.bytes))), make([]byte, l.size)
			var ends []int
			run(l.name, func() int {
				n := 0
				ends = ends[:0]
				for i := 0; i < len(c.bytes); i += l.size {
					m, _ := z.CompressBlock(c.bytes[i:i+l.size], dst[n:])
					n += m
					ends = append(ends, n)
				}
				return n
			}, func() {
				from := 0
				for _, to := range ends {
					_, _ = lz4.UncompressBlock(dst[from:to], raw)
					from = to
				}
			})
		}
	}
}
