package bench

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/golang/snappy"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/internal/mailgen"
	"github.com/rowtocol/rowtocol/job"
	"github.com/rowtocol/rowtocol/manifest"
	"github.com/rowtocol/rowtocol/ocf"
	"github.com/rowtocol/rowtocol/trevni"
)

// rows is the size of the mail set: ROWTOCOL_BENCH_ROWS, by default 300,000
// rows, which is about 200 MB uncompressed.
func rows(b *testing.B) int64 {
	s := os.Getenv("ROWTOCOL_BENCH_ROWS")
	if s == "" {
		return 300_000
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// cpu is the processor time of this process so far, user and system.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkMailConvert converts the mail set on one core, files written and
// commit-verified, and reports the CPU seconds of the conversion and of the
// floor, and the median of their ratios; the floor is measured beside each
// conversion. A median, because a virtual machine's first touch of page cache
// can cost the kernel a quarter of a conversion, at random.
func BenchmarkMailConvert(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	dir := b.TempDir()
	in := filepath.Join(dir, "mail.avro")
	n := rows(b)
	writeMail(b, in, n)
	out := filepath.Join(dir, "out")
	convert(b, in, out)
	floor := loadFloor(b, in, out)

	var ours, least time.Duration
	ratios := make([]float64, 0, b.N)
	b.ResetTimer()
	for range b.N {
		if err := os.RemoveAll(out); err != nil {
			b.Fatal(err)
		}
		from := cpu(b)
		convert(b, in, out)
		between := cpu(b)
		floor.run(b)
		conversion, codecs := between-from, cpu(b)-between
		ours, least = ours+conversion, least+codecs
		ratios = append(ratios, conversion.Seconds()/codecs.Seconds())
	}
	perOp := func(d time.Duration) float64 { return d.Seconds() / float64(b.N) }
	b.ReportMetric(perOp(ours), "cpu-s/convert")
	b.ReportMetric(perOp(least), "cpu-s/floor")
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "ratio")
	b.ReportMetric(float64(n)/perOp(ours), "rows/cpu-s")
}

func writeMail(b *testing.B, path string, n int64) {
	b.Helper()
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	if err := mailgen.Write(f, mailgen.Options{Rows: n, Seed: 1, Codec: "snappy"}); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
}

func convert(b *testing.B, in, out string) {
	b.Helper()
	_, err := job.Convert(context.Background(), job.Request{
		Inputs: []string{in}, Dest: out, Workers: 1, Memory: 512 << 20, TempDir: filepath.Dir(out),
		NewFormat: func(o manifest.Options) (format.Format, error) {
			return trevni.NewFormat(trevni.Options{Codec: o.Codec, Checksum: o.Checksum}), nil
		},
		Options: manifest.Options{
			Format: "trevni", RowGroupSize: 128 << 20, Codec: "snappy", Checksum: "crc32",
			OnDamage: "fail", MaxInputBlock: 512 << 20, MaxLostRows: -1,
		},
	})
	if err != nil {
		b.Fatal(err)
	}
}

// floor is the least work: the stored blocks of the input, and the raw blocks
// of the output.
type floor struct {
	codec string
	input []ocf.Block
	raw   [][]byte
}

func loadFloor(b *testing.B, in, out string) *floor {
	b.Helper()
	file, err := os.ReadFile(in)
	if err != nil {
		b.Fatal(err)
	}
	r := bytes.NewReader(file)
	h, err := ocf.ReadHeader(r, r.Size(), in)
	if err != nil {
		b.Fatal(err)
	}
	f := &floor{codec: h.Codec}
	s := ocf.NewScanner(r, r.Size(), in, h, ocf.Range{End: r.Size()})
	for {
		var block ocf.Block
		err := s.Next(context.Background(), &block)
		if err == io.EOF {
			break
		}
		if err != nil {
			b.Fatal(err)
		}
		f.input = append(f.input, block)
	}
	parts, err := filepath.Glob(filepath.Join(out, "part-*.trv"))
	if err != nil || len(parts) == 0 {
		b.Fatal(fmt.Errorf("%d parts: %w", len(parts), err))
	}
	for _, part := range parts {
		f.loadPart(b, part)
	}
	return f
}

// loadPart decompresses the column blocks of one output.
func (f *floor) loadPart(b *testing.B, path string) {
	b.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	t, err := trevni.Open(bytes.NewReader(file), int64(len(file)), path)
	if err != nil {
		b.Fatal(err)
	}
	for col := range t.Columns() {
		blocks, err := t.Blocks(col)
		if err != nil {
			b.Fatal(err)
		}
		for _, d := range blocks {
			raw, err := snappy.Decode(nil, file[d.Offset:d.Offset+int64(d.StoredSize)])
			if err != nil {
				b.Fatal(err)
			}
			f.raw = append(f.raw, raw)
		}
	}
}

func (f *floor) run(b *testing.B) {
	b.Helper()
	d, err := ocf.NewDecoder(f.codec, 512<<20)
	if err != nil {
		b.Fatal(err)
	}
	var dst []byte
	for i := range f.input {
		if dst, err = d.Decode(dst, &f.input[i], "floor"); err != nil {
			b.Fatal(err)
		}
	}
	var sum uint32
	dst = make([]byte, 1<<20)
	for _, raw := range f.raw {
		dst = snappy.Encode(dst[:cap(dst)], raw)
		sum ^= crc32.ChecksumIEEE(raw)
	}
	runtime.KeepAlive(sum)
}
