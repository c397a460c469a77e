package main

import (
	"bytes"
	stdbzip2 "compress/bzip2"
	stdflate "compress/flate"
	"io"
	"path/filepath"
	"testing"

	"github.com/dsnet/compress/bzip2"
	"github.com/golang/snappy"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"github.com/rowtocol/rowtocol/internal/datagen"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// BenchmarkCodec compares libraries for each codec, on the column blocks of two sets and on
// the blocks of rows of inputs. It reports CPU time per MB of raw bytes, and the stored
// size in per cent of these:
//
//	go test -C bench -run '^$' -bench Codec -benchtime 10x -count 5
func BenchmarkCodec(b *testing.B) {
	sets := []struct {
		name string
		rows int64
	}{{"mail", 60_000}, {"flat400", 20_000}}
	for _, s := range sets {
		w := codecWorkload(b, s.name, s.rows)
		var columns [][]byte
		for _, g := range w.groups {
			for i := range g.blocks {
				columns = append(columns, g.blocks[i].Data)
			}
		}
		for _, blocks := range []struct {
			name string
			raw  [][]byte
		}{{"columns", sampleBlocks(columns)}, {"rows", sampleBlocks(w.decoded)}} {
			for _, c := range codecs() {
				name := s.name + "/" + blocks.name + "/" + c.name
				b.Run(name+"/encode", func(b *testing.B) { c.benchmarkEncode(b, blocks.raw) })
				b.Run(name+"/decode", func(b *testing.B) { c.benchmarkDecode(b, blocks.raw) })
			}
		}
	}
}

func codecWorkload(b *testing.B, set string, rows int64) *workload {
	b.Helper()
	s, err := datagen.Lookup(set)
	testenv.Must(b, err)
	dir := b.TempDir()
	input := filepath.Join(dir, "in.avro")
	if err := s.WriteFile(input, datagen.Options{Rows: rows, Seed: 1, Codec: "snappy"}); err != nil {
		b.Fatal(err)
	}
	w, err := load(conversion{input: input, dir: dir, columns: "snappy"})
	testenv.Must(b, err)
	return w
}

// sampleBlocks returns blocks at equal distances, about 4 MB of them in all.
func sampleBlocks(blocks [][]byte) (kept [][]byte) {
	size := 0
	for _, block := range blocks {
		size += len(block)
	}
	for i := 0; i < len(blocks); i += 1 + size/4_000_000 {
		kept = append(kept, blocks[i])
	}
	return kept
}

// library is an implementation of a codec. Both functions write to dst[:0] if
// that is large enough.
type library struct {
	name   string
	encode func(dst, raw []byte) ([]byte, error)
	decode func(dst, stored []byte) ([]byte, error)
}

func codecs() []library {
	return []library{
		{"snappy/golang",
			func(dst, raw []byte) ([]byte, error) { return snappy.Encode(dst[:cap(dst)], raw), nil },
			func(dst, stored []byte) ([]byte, error) { return snappy.Decode(dst[:cap(dst)], stored) }},
		{"snappy/s2",
			func(dst, raw []byte) ([]byte, error) { return s2.EncodeSnappy(dst[:cap(dst)], raw), nil },
			func(dst, stored []byte) ([]byte, error) { return s2.Decode(dst[:cap(dst)], stored) }},
		{"snappy/s2-better",
			func(dst, raw []byte) ([]byte, error) { return s2.EncodeSnappyBetter(dst[:cap(dst)], raw), nil },
			func(dst, stored []byte) ([]byte, error) { return s2.Decode(dst[:cap(dst)], stored) }},
		streams("deflate/standard", must(stdflate.NewWriter(nil, stdflate.DefaultCompression)), resetInflate(stdflate.NewReader(nil))),
		streams("deflate/klauspost", must(flate.NewWriter(nil, flate.DefaultCompression)), resetInflate(flate.NewReader(nil))),
		streams("bzip2/standard-decoder", bzip2Writer{must(bzip2.NewWriter(nil, nil))},
			func(r io.Reader) (io.Reader, error) { return stdbzip2.NewReader(r), nil }),
		streams("bzip2/dsnet", bzip2Writer{must(bzip2.NewWriter(nil, nil))}, resetBzip2(must(bzip2.NewReader(nil, nil)))),
		zstandard("zstandard/klauspost", zstd.SpeedDefault),
		zstandard("zstandard/klauspost-fastest", zstd.SpeedFastest),
	}
}

// compressor is the common interface of the writers of streaming codecs.
type compressor interface {
	io.WriteCloser
	Reset(io.Writer)
}

type bzip2Writer struct{ *bzip2.Writer }

func (w bzip2Writer) Reset(out io.Writer) { _ = w.Writer.Reset(out) } // always nil

func resetInflate(z io.ReadCloser) func(io.Reader) (io.Reader, error) {
	return func(r io.Reader) (io.Reader, error) { return z, z.(flate.Resetter).Reset(r, nil) }
}

func resetBzip2(z *bzip2.Reader) func(io.Reader) (io.Reader, error) {
	return func(r io.Reader) (io.Reader, error) { return z, z.Reset(r) }
}

// streams returns a library with a compressor and a function that starts a decompressor. It
// reuses both for each block.
func streams(name string, z compressor, open func(io.Reader) (io.Reader, error)) library {
	encode := func(dst, raw []byte) ([]byte, error) {
		out := bytes.NewBuffer(dst[:0])
		z.Reset(out)
		if _, err := z.Write(raw); err != nil {
			return nil, err
		}
		err := z.Close()
		return out.Bytes(), err
	}
	decode := func(dst, stored []byte) ([]byte, error) {
		r, err := open(bytes.NewReader(stored))
		if err != nil {
			return nil, err
		}
		out := bytes.NewBuffer(dst[:0])
		_, err = out.ReadFrom(r)
		return out.Bytes(), err
	}
	return library{name, encode, decode}
}

func zstandard(name string, level zstd.EncoderLevel) library {
	w := must(zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1)))
	r := must(zstd.NewReader(nil, zstd.WithDecoderConcurrency(1)))
	return library{name,
		func(dst, raw []byte) ([]byte, error) { return w.EncodeAll(raw, dst[:0]), nil },
		func(dst, stored []byte) ([]byte, error) { return r.DecodeAll(stored, dst[:0]) }}
}

func (l *library) benchmarkEncode(b *testing.B, blocks [][]byte) {
	var dst []byte
	var raw, stored int
	benchmarkCPU(b, blocks, func(block []byte) (err error) {
		dst, err = l.encode(dst, block)
		raw, stored = raw+len(block), stored+len(dst)
		return err
	})
	b.ReportMetric(100*float64(stored)/float64(raw), "%stored")
}

func (l *library) benchmarkDecode(b *testing.B, blocks [][]byte) {
	var dst []byte
	stored := make([][]byte, len(blocks))
	for i, block := range blocks {
		var err error
		if stored[i], err = l.encode(nil, block); err != nil {
			b.Fatal(err)
		}
		if dst, err = l.decode(dst, stored[i]); err != nil || !bytes.Equal(dst, block) {
			b.Fatalf("block %d decodes to other bytes: %v", i, err)
		}
	}
	next := 0
	benchmarkCPU(b, blocks, func([]byte) (err error) {
		dst, err = l.decode(dst, stored[next%len(stored)])
		next++
		return err
	})
}

// benchmarkCPU reports the CPU time of work on each block.
func benchmarkCPU(b *testing.B, blocks [][]byte, work func(block []byte) error) {
	size := 0
	for _, block := range blocks {
		size += len(block)
	}
	var c clock
	for b.Loop() {
		if err := c.time(func() error {
			for _, block := range blocks {
				if err := work(block); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(c.cpu.Microseconds())/1e3/(float64(size)/1e6*float64(b.N)), "CPU-ms/MB")
}
