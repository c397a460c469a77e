package ocf

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// lines returns bytes that repeat like the rows of a log.
func lines(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 3))
	var p []byte
	for len(p) < n {
		p = fmt.Appendf(p, "user%04d@example.org opened message %d in folder %d;", r.IntN(2000), r.Uint32(), r.IntN(9))
	}
	return p[:n]
}

// BenchmarkDecode scans and decompresses a file of 64 blocks of 64 KiB; the
// rate is in uncompressed bytes.
func BenchmarkDecode(b *testing.B) {
	var blocks []testBlock
	var total int64
	for i := range uint64(64) {
		blocks = append(blocks, testBlock{100, lines(i, 64<<10)})
		total += 64 << 10
	}
	for _, codec := range allCodecs {
		b.Run(codec, func(b *testing.B) {
			file := writeFile(b, codec, blocks...)
			h := mustHeader(b, file)
			d := newDecoder(b, codec, 512<<20)
			var block Block
			var data []byte
			b.SetBytes(total)
			b.ReportAllocs()
			for b.Loop() {
				s := scanner(h, file, Range{0, int64(len(file))})
				for {
					err := s.Next(b.Context(), &block)
					if errors.Is(err, io.EOF) {
						break
					}
					if err == nil {
						data, err = d.Decode(data, &block, "f.avro")
					}
					testenv.Must(b, err)
				}
			}
		})
	}
}
