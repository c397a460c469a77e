package encoding_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/parquet/encoding"
)

const benchmarked = 10_000 // values

// BenchmarkPlain converts values of Avro. The bytes are those of the output.
func BenchmarkPlain(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 5))
	small := make([]int64, benchmarked)
	for i := range small {
		small[i] = r.Int64N(100) - 50
	}
	for name, f := range map[string]func(dst, src []byte, n int) ([]byte, []byte, error){
		"int": encoding.AppendPlainInt32, "long": encoding.AppendPlainInt64,
	} {
		mixed := avroInts(integers[int64](r, benchmarked))
		if name == "int" {
			mixed = avroInts(integers[int32](r, benchmarked))
		}
		for kind, src := range map[string][]byte{
			"small": avroInts(small), "mixed": mixed, "large": avroInts(rising[int32](r, benchmarked, 10)),
		} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				var dst []byte
				for b.Loop() {
					var err error
					dst, _, err = f(dst[:0], src, benchmarked)
					testenv.Must(b, err)
				}
				b.SetBytes(int64(len(dst)))
			})
		}
	}
	for _, size := range []int{4, 12, 40} {
		values := make([]string, benchmarked)
		for i := range values {
			values[i] = string(make([]byte, r.IntN(2*size)))
		}
		src := avroBytes(values)
		var plain []byte
		b.Run(fmt.Sprintf("bytes/%d", size), func(b *testing.B) {
			for b.Loop() {
				plain, _, _ = encoding.AppendPlainBytes(plain[:0], src, benchmarked)
			}
			b.SetBytes(int64(len(plain)))
		})
		b.Run(fmt.Sprintf("decode bytes/%d", size), func(b *testing.B) {
			var offsets []int32
			var data []byte
			for b.Loop() {
				offsets, data, _, _ = encoding.DecodePlainBytes(offsets[:0], data[:0], plain, benchmarked)
			}
			b.SetBytes(int64(len(plain)))
		})
	}
}

// BenchmarkHybrid encodes and decodes values. The bytes are 4 for each.
func BenchmarkHybrid(b *testing.B) {
	r := rand.New(rand.NewPCG(2, 5))
	for _, width := range []int{1, 2, 5, 8, 12, 16, 17, 24, 31} {
		for _, longest := range []int{1, 40} {
			values := indexes(r, benchmarked, width, longest)
			src := encoding.AppendHybrid(nil, values, width)
			name := fmt.Sprintf("%d bits/runs to %d", width, longest)
			b.Run("append/"+name, func(b *testing.B) {
				b.SetBytes(4 * benchmarked)
				var dst []byte
				for b.Loop() {
					dst = encoding.AppendHybrid(dst[:0], values, width)
				}
			})
			b.Run("put/"+name, func(b *testing.B) {
				b.SetBytes(4 * benchmarked)
				var dst []byte
				var e encoding.HybridEncoder
				for b.Loop() {
					e.Reset(dst[:0], width)
					for _, v := range values {
						e.Put(v, 1)
					}
					dst = e.Finish()
				}
			})
			b.Run("read/"+name, func(b *testing.B) {
				b.SetBytes(4 * benchmarked)
				dst := make([]uint32, 1000)
				for b.Loop() {
					var d encoding.HybridDecoder
					d.Reset(src, width)
					for {
						if _, err := d.Read(dst); err == io.EOF {
							break
						}
					}
				}
			})
			b.Run("next/"+name, func(b *testing.B) {
				b.SetBytes(4 * benchmarked)
				for b.Loop() {
					var d encoding.HybridDecoder
					d.Reset(src, width)
					for {
						if _, _, err := d.Next(); err == io.EOF {
							break
						}
					}
				}
			})
		}
	}
}

// BenchmarkDelta encodes and decodes values. The bytes are those of the values.
func BenchmarkDelta(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 5))
	for _, width := range []int{0, 3, 10, 20, 40, 60} {
		plain := plainInts(rising[int64](r, benchmarked, width))
		src := encoding.AppendDeltaInt64(nil, plain)
		b.Run(fmt.Sprintf("append/%d bits", width), func(b *testing.B) {
			b.SetBytes(8 * benchmarked)
			var dst []byte
			for b.Loop() {
				dst = encoding.AppendDeltaInt64(dst[:0], plain)
			}
		})
		b.Run(fmt.Sprintf("read/%d bits", width), func(b *testing.B) {
			b.SetBytes(8 * benchmarked)
			dst := make([]int64, 1000)
			var d encoding.DeltaDecoder[int64]
			for b.Loop() {
				testenv.Must(b, d.Reset(src))
				for range benchmarked / 1000 {
					_, err := d.Read(dst)
					testenv.Must(b, err)
				}
			}
		})
	}
}

func BenchmarkDeltaBytes(b *testing.B) {
	r := rand.New(rand.NewPCG(4, 5))
	s := textsOf(texts(r, benchmarked)...)
	plain := s.plain()
	var dst, data []byte
	var offsets []int32
	var shared []uint32
	for _, c := range []struct {
		name   string
		encode func(dst []byte) []byte
		d      stringDecoder
	}{
		{"length", func(dst []byte) []byte { return encoding.AppendDeltaLength(dst, plain, benchmarked) }, new(encoding.DeltaLengthDecoder)},
		{"shared", func(dst []byte) []byte {
			dst, shared = encoding.AppendDeltaBytes(dst, plain, benchmarked, 0, shared)
			return dst
		}, new(encoding.DeltaBytesDecoder)},
	} {
		b.Run("append/"+c.name, func(b *testing.B) {
			b.SetBytes(int64(len(s.data)))
			for b.Loop() {
				dst = c.encode(dst[:0])
			}
		})
		b.Run("read/"+c.name, func(b *testing.B) {
			src := c.encode(nil)
			b.SetBytes(int64(len(s.data)))
			for b.Loop() {
				testenv.Must(b, c.d.Reset(src))
				var err error
				offsets, data, err = c.d.Read(offsets[:0], data[:0], benchmarked)
				testenv.Must(b, err)
			}
		})
	}
}

func BenchmarkSplit(b *testing.B) {
	for _, size := range []int{4, 8, 16} {
		src := make([]byte, size*benchmarked)
		var dst []byte
		b.Run(fmt.Sprintf("append/%d", size), func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				dst = encoding.AppendSplit(dst[:0], src, size)
			}
		})
		b.Run(fmt.Sprintf("read/%d", size), func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				dst, _ = encoding.DecodeSplit(dst[:0], src, size, 0, benchmarked)
			}
		})
	}
}

// BenchmarkHybridBools encodes booleans. The bytes are one for each.
func BenchmarkHybridBools(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, longest := range []int{1, 1000} {
		plain := plainBools(indexes(r, benchmarked, 1, longest))
		b.Run(fmt.Sprintf("runs to %d", longest), func(b *testing.B) {
			b.SetBytes(benchmarked)
			var dst []byte
			for b.Loop() {
				dst = encoding.AppendHybridBools(dst[:0], plain, benchmarked)
			}
		})
	}
}
