package encoding_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rowtocol/rowtocol/cfile/encoding"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// shuffled returns the block of values of a width. The width 0 means UINT32 values that are
// stored narrowly.
func shuffled(t testing.TB, width int, fixed []byte) []byte {
	var s encoding.Shuffler
	var body []byte
	var err error
	if width == 0 {
		body, err = s.AppendNarrow(nil, 7, fixed)
	} else {
		body, err = s.Append(nil, 7, width, fixed)
	}
	testenv.Must(t, err)
	return body
}

func unshuffler(width int) encoding.Decoder {
	if width == 0 {
		return encoding.NewBitshuffleNarrow()
	}
	return encoding.NewBitshuffle(width)
}

// readFixed returns the values of a block, read n at a time.
func readFixed(d encoding.Decoder, body []byte, n int) ([]byte, error) {
	if err := d.Reset(body); err != nil {
		return nil, err
	}
	var v encoding.Values
	for {
		_, err := d.Read(&v, n)
		if err == io.EOF {
			return v.Fixed, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	for i, r := 0, rand.New(rand.NewPCG(uint64(n), 0)); i < n; i++ {
		b[i] = byte(r.Uint32())
	}
	return b
}

// TestBitshuffleOfKudu decodes blocks from files that Kudu wrote.
func TestBitshuffleOfKudu(t *testing.T) {
	values := func(width, count int, value func(i int) uint64) (b []byte) {
		for i := range count {
			b = append(b, binary.LittleEndian.AppendUint64(nil, value(i))[:width]...)
		}
		return b
	}
	for _, c := range []struct {
		name    string
		width   int // 0: UINT32 values that are stored narrowly
		ordinal uint32
		values  []byte
	}{
		{"double", 8, 0, values(8, 1024, func(i int) uint64 { return math.Float64bits(float64(i) / 4) })},
		{"int32", 4, 19968, values(4, 32, func(i int) uint64 { return uint64(3*(19968+i) - 5) })},
		{"codes", 0, 0, values(4, 3000, func(i int) uint64 { return uint64(i % 50) })},
	} {
		body, err := os.ReadFile(filepath.Join("testdata/bitshuffle", c.name))
		testenv.Must(t, err)
		d := unshuffler(c.width)
		got, err := readFixed(d, body, 100)
		if err != nil || !bytes.Equal(got, c.values) || d.Ordinal() != c.ordinal {
			t.Errorf("%s: %d bytes at %d, %v; want %d at %d", c.name, len(got), d.Ordinal(), err, len(c.values), c.ordinal)
		}
		var s encoding.Shuffler
		if c.width == 0 {
			got, err = s.AppendNarrow(nil, c.ordinal, c.values)
		} else {
			got, err = s.Append(nil, c.ordinal, c.width, c.values)
		}
		if err != nil || !bytes.Equal(got, body) {
			t.Errorf("%s: the bytes differ from Kudu's, %v", c.name, err)
		}
	}
}

func TestBitshuffleRoundTrip(t *testing.T) {
	for _, width := range []int{1, 2, 4, 8, 16} {
		d := encoding.NewBitshuffle(width)
		sub := 8192 / width
		for _, count := range []int{0, 1, 7, 8, 9, 63, 64, 65, 1000, sub - 1, sub, sub + 1, 20_000} {
			values := randomBytes(width * count)
			body := shuffled(t, width, values)
			if bound := encoding.BitshuffleBound(width, count); len(body) > bound {
				t.Errorf("%d values of %d bytes: a block of %d bytes, want at most %d", count, width, len(body), bound)
			}
			got, err := readFixed(d, body, 777)
			if err != nil || !bytes.Equal(got, values) || d.Count() != count || d.Ordinal() != 7 {
				t.Errorf("%d values of %d bytes: %d at %d, %v", count, width, d.Count(), d.Ordinal(), err)
			}
		}
	}
}

func TestBitshuffleNarrow(t *testing.T) {
	for _, c := range []struct {
		largest uint32
		width   byte
	}{{0, 1}, {255, 1}, {256, 2}, {65535, 2}, {65536, 4}, {math.MaxUint32, 4}} {
		var values []byte
		for i := range 9000 {
			values = binary.LittleEndian.AppendUint32(values, c.largest-min(uint32(i), c.largest))
		}
		body := shuffled(t, 0, values)
		got, err := readFixed(encoding.NewBitshuffleNarrow(), body, 9000)
		if err != nil || !bytes.Equal(got, values) || body[16] != c.width {
			t.Errorf("up to %d: stored in %d bytes, want %d; %v", c.largest, body[16], c.width, err)
		}
	}
}

// Skip passes over a sub-block that cannot be decoded.
func TestBitshuffleSkip(t *testing.T) {
	values := randomBytes(8 * 5000) // in sub-blocks of 1024
	body := shuffled(t, 8, values)
	body[24] = 0xff // the first byte of LZ4
	d := encoding.NewBitshuffle(8)
	for _, skip := range [][]int{{1024}, {1500}, {2048, 1}, {1024, 100, 3000}, {5000}, {4999, 1}} {
		testenv.Must(t, d.Reset(body))
		at := 0
		for _, n := range skip {
			if err := d.Skip(n); err != nil {
				t.Fatalf("%v: %v", skip, err)
			}
			at += n
		}
		var v encoding.Values
		n, err := d.Read(&v, 10)
		if want := min(10, 5000-at); n != want || (err != nil) != (want == 0) ||
			!bytes.Equal(v.Fixed, values[8*at:8*(at+want)]) {
			t.Errorf("%v: got %d wrong values after it, %v", skip, n, err)
		}
	}
	_ = d.Reset(body)
	for _, n := range []int{-1, 1, 5001} {
		if err := d.Skip(n); !errors.As(err, new(*damage.Error)) {
			t.Errorf("skip of %d: %v", n, err)
		}
	}
}

func TestBitshuffleDamage(t *testing.T) {
	whole := shuffled(t, 4, randomBytes(4*3000)) // in sub-blocks of 2048
	narrow := shuffled(t, 0, make([]byte, 400))
	second := 24 + int(binary.BigEndian.Uint32(whole[20:]))
	put := func(body []byte, at int, x uint32) []byte {
		body = slices.Clone(body)
		binary.LittleEndian.PutUint32(body[at:], x)
		return body
	}
	cut := func(n int) []byte { return put(whole[:n], 8, uint32(n)) }
	big := func(at, more int) []byte {
		body := slices.Clone(whole)
		binary.BigEndian.PutUint32(body[at:], uint32(int(binary.BigEndian.Uint32(body[at:]))+more))
		return body
	}
	for _, c := range []struct {
		name   string
		width  int // 0: UINT32 values that are stored narrowly
		body   []byte
		kind   damage.Kind
		offset int64
	}{
		{"no body", 4, nil, damage.Truncated, 0},
		{"a cut header", 4, whole[:19], damage.Truncated, 0},
		{"a cut block", 4, whole[:len(whole)-1], damage.Size, 8},
		{"bytes after the block", 4, append(slices.Clone(whole), 0), damage.Size, 8},
		{"a count beyond the padded one", 4, put(whole, 4, 3001), damage.Count, 12},
		{"a count far below the padded one", 4, put(whole, 4, 2992), damage.Count, 12},
		{"a count that overflows when padded", 4, put(put(whole, 4, math.MaxUint32), 12, 0), damage.Count, 12},
		{"another width", 8, whole, damage.Value, 16},
		{"a shorter width that is not allowed", 4, narrow, damage.Value, 16},
		{"a width of 3", 0, put(narrow, 16, 3), damage.Value, 16},
		{"no width", 0, put(narrow, 16, 0), damage.Value, 16},
		{"more values than sub-blocks", 4, put(put(whole, 4, 5000), 12, 5000), damage.Truncated, int64(len(whole))},
		{"fewer values than sub-blocks", 4, put(put(whole, 4, 8), 12, 8), damage.Trailing, int64(second)},
		{"a cut size", 4, cut(second + 3), damage.Truncated, int64(second)},
		{"a sub-block that is too long", 4, big(second, 1), damage.Size, int64(second)},
		{"a sub-block of 4 GiB", 4, big(second, -1<<20), damage.Size, int64(second)},
		{"a cut sub-block", 4, put(append(slices.Clone(big(second, -1)[:len(whole)-1]), nil...), 8, uint32(len(whole)-1)), damage.Codec, int64(second + 4)},
		{"bad LZ4", 4, put(whole, 24, math.MaxUint32), damage.Codec, 24},
		{"LZ4 of fewer values", 4, put(put(whole, 4, 3008), 12, 3008), damage.Codec, int64(second + 4)},
	} {
		_, err := readFixed(unshuffler(c.width), c.body, 5000)
		var d *damage.Error
		if !errors.As(err, &d) || d.Kind != c.kind || d.Offset != c.offset {
			t.Errorf("%s: %v; want %s at %d", c.name, err, c.kind, c.offset)
		}
	}
}

func TestBitshuffleRefuses(t *testing.T) {
	var s encoding.Shuffler
	for _, c := range []struct{ width, bytes int }{{0, 0}, {3, 3}, {32, 32}, {4, 5}} {
		if _, err := s.Append(nil, 0, c.width, make([]byte, c.bytes)); err == nil {
			t.Errorf("%d bytes of width %d were encoded", c.bytes, c.width)
		}
	}
}

func TestBitshuffleAllocatesNothing(t *testing.T) {
	var s encoding.Shuffler
	values := randomBytes(8 * 5000)
	body := shuffled(t, 8, values)
	d := encoding.NewBitshuffle(8)
	v := encoding.Values{Fixed: make([]byte, 0, len(values))}
	dst := make([]byte, 0, encoding.BitshuffleBound(8, 5000))
	if n := testing.AllocsPerRun(10, func() {
		_, _ = s.Append(dst, 0, 8, values)
		_ = d.Reset(body)
		v.Reset()
		for {
			if _, err := d.Read(&v, 1000); err != nil {
				return
			}
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzBitshuffle decodes arbitrary bytes. Values are the same after a skip, and after they
// are encoded again.
func FuzzBitshuffle(f *testing.F) {
	for i, width := range []int{0, 1, 2, 4, 8, 16} {
		for _, n := range []int{0, 16, 400, 40_000} {
			f.Add(shuffled(f, width, make([]byte, n)), byte(i), uint16(n/3))
			f.Add(shuffled(f, width, randomBytes(n)), byte(i), uint16(n/3))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, kind byte, skip uint16) {
		width := []int{0, 1, 2, 4, 8, 16}[kind%6]
		d := unshuffler(width)
		values, err := readFixed(d, body, 1000)
		if err != nil {
			if !errors.As(err, new(*damage.Error)) {
				t.Fatal(err)
			}
			return
		}
		bytesEach := max(width, 1)
		if width == 0 {
			bytesEach = 4
		}
		if len(values) != d.Count()*bytesEach {
			t.Fatalf("%d bytes of %d values of %d", len(values), d.Count(), bytesEach)
		}
		testenv.Must(t, d.Reset(body))
		n := min(int(skip), d.Count())
		testenv.Must(t, d.Skip(n))
		var v encoding.Values
		m, err := d.Read(&v, 100)
		if n < d.Count() && (err != nil || !bytes.Equal(v.Fixed, values[n*bytesEach:][:m*bytesEach])) {
			t.Fatalf("wrong values after %d, %v", n, err)
		}
		again, err := readFixed(d, shuffled(t, width, values), math.MaxInt32)
		if err != nil || !bytes.Equal(again, values) {
			t.Fatalf("wrong values after encoding them, %v", err)
		}
	})
}
