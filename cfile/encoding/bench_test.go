package encoding_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/rowtocol/rowtocol/cfile/encoding"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// benchmarked are the kinds of samples in benchmarks.
var benchmarked = []string{"rising", "random", "runs", "zeros"}

// benchmark runs f for blocks of each encoding. The bytes are those of the values.
func benchmark(b *testing.B, f func(b *testing.B, c codec, v *encoding.Values)) {
	for _, c := range codecs() {
		samples := c.samples(rand.New(rand.NewPCG(7, 8)), 10_000)
		for _, kind := range benchmarked {
			b.Run(c.name+"/"+kind, func(b *testing.B) {
				b.SetBytes(int64(len(samples[kind].Fixed) + len(samples[kind].Data)))
				f(b, c, samples[kind])
			})
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	benchmark(b, func(b *testing.B, c codec, v *encoding.Values) {
		var body []byte
		for b.Loop() {
			body = c.append(body[:0], 0, v)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	benchmark(b, func(b *testing.B, c codec, v *encoding.Values) {
		body := c.append(nil, 0, v)
		d := c.decode()
		var got encoding.Values
		for b.Loop() {
			testenv.Must(b, d.Reset(body))
			for {
				got.Reset()
				if _, err := d.Read(&got, 1000); err == io.EOF {
					break
				} else if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

func BenchmarkSkip(b *testing.B) {
	benchmark(b, func(b *testing.B, c codec, v *encoding.Values) {
		body := c.append(nil, 0, v)
		d := c.decode()
		for b.Loop() {
			testenv.Must(b, d.Reset(body))
			testenv.Must(b, d.Skip(d.Count()))
		}
	})
}

// BenchmarkReadDict reads words of 20 bytes by their numbers.
func BenchmarkReadDict(b *testing.B) {
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf("the word number %04d", i))
	}
	codes := make([]uint32, 10_000)
	r := rand.New(rand.NewPCG(13, 14))
	for i := range codes {
		codes[i] = r.Uint32N(1000)
	}
	d, body := encoding.NewDict(dictionaryOf(b, names...)), codesOf(b, codes...)
	b.SetBytes(20 * 10_000)
	var got encoding.Values
	for b.Loop() {
		testenv.Must(b, d.Reset(body))
		for {
			got.Reset()
			if _, err := d.Read(&got, 1000); err == io.EOF {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
	}
}
