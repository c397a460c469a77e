//go:build !race

// The race detector allocates, too.

package encoding_test

import (
	"math/rand/v2"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/parquet/encoding"
)

// TestPagesDoNotAllocate encodes and decodes in memory that is large enough.
func TestPagesDoNotAllocate(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	values, ints := indexes(r, 2000, 7, 9), integers[int64](r, 2000)
	avro, s := avroInts(ints), textsOf(texts(r, 2000)...)
	avroText := avroBytes(s.values())
	var b, data []byte
	var got []int64
	var offsets []int32
	var e encoding.HybridEncoder
	var h encoding.HybridDecoder
	var d encoding.DeltaDecoder[int64]
	var l encoding.DeltaLengthDecoder
	var p encoding.DeltaBytesDecoder
	plain, plainText := plainInts(ints), s.plain()
	read := make([]uint32, len(values))
	for name, f := range map[string]func() error{
		"hybrid": func() error {
			b = encoding.AppendHybrid(b[:0], values, 7)
			h.Reset(b, 7)
			_, err := h.Read(read)
			return err
		},
		"runs": func() error {
			e.Reset(b[:0], 7)
			for _, v := range values {
				e.Put(v, 1)
			}
			b = e.Finish()
			h.Reset(b, 7)
			for range 100 {
				if _, _, err := h.Next(); err != nil {
					return err
				}
			}
			return h.Skip(50)
		},
		"plain": func() (err error) {
			if b, _, err = encoding.AppendPlainInt64(b[:0], avro, len(ints)); err == nil {
				got, _, err = encoding.DecodePlainInt64(got[:0], b, len(ints))
			}
			return err
		},
		"plain bytes": func() (err error) {
			if b, _, err = encoding.AppendPlainBytes(b[:0], avroText, 2000); err == nil {
				offsets, data, _, err = encoding.DecodePlainBytes(offsets[:0], data[:0], b, 2000)
			}
			return err
		},
		"delta": func() error {
			b = encoding.AppendDeltaInt64(b[:0], plain)
			testenv.Must(t, d.Reset(b))
			if _, err := d.Read(got[:1000]); err != nil {
				return err
			}
			return d.Skip(1000)
		},
		"delta length": func() (err error) {
			b = encoding.AppendDeltaLength(b[:0], plainText, 2000)
			testenv.Must(t, l.Reset(b))
			offsets, data, err = l.Read(offsets[:0], data[:0], 2000)
			return err
		},
		"delta bytes": func() (err error) {
			b, read = encoding.AppendDeltaBytes(b[:0], plainText, 2000, 0, read)
			testenv.Must(t, p.Reset(b))
			offsets, data, err = p.Read(offsets[:0], data[:0], 2000)
			return err
		},
		"bools": func() error {
			b = encoding.AppendHybridBools(b[:0], plain, 2000)
			return nil
		},
		"split": func() (err error) {
			b = encoding.AppendSplit(b[:0], s.data[:8000], 8)
			data, err = encoding.DecodeSplit(data[:0], b, 8, 0, 1000)
			return err
		},
	} {
		got = make([]int64, len(ints))
		if n := testing.AllocsPerRun(10, func() { testenv.Must(t, f()) }); n > 0 {
			t.Errorf("%s: %v allocations per page", name, n)
		}
	}
}
