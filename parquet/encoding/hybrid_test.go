package encoding_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/rle"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/parquet/encoding"
)

// indexes returns n random values of width bits. Runs have up to longest values.
func indexes(r *rand.Rand, n, width, longest int) []uint32 {
	values := make([]uint32, 0, n)
	for len(values) < n {
		v := uint32(r.Uint64() & (1<<width - 1))
		for range min(1+r.IntN(longest), n-len(values)) {
			values = append(values, v)
		}
	}
	return values
}

// runs returns the number of runs of equal values.
func runs(values []uint32) int { return len(slices.Compact(slices.Clone(values))) }

// eachHybrid calls f with values of all widths.
func eachHybrid(t *testing.T, f func(t *testing.T, values []uint32, width int)) {
	r := rand.New(rand.NewPCG(1, 2))
	for width := range 33 {
		for _, longest := range []int{1, 2, 9, 30, 1000} {
			for _, n := range []int{0, 1, 7, 8, 9, 40, 503, 504, 505, 1000} {
				t.Run(fmt.Sprintf("%d bits/runs to %d/%d", width, longest, n), func(t *testing.T) {
					f(t, indexes(r, n, width, longest), width)
				})
			}
		}
	}
}

func TestHybridIsDecoded(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	eachHybrid(t, func(t *testing.T, values []uint32, width int) {
		b := encoding.AppendHybrid([]byte("before"), values, width)[len("before"):]
		if most := encoding.HybridBound(len(values), runs(values), width); len(b) > most {
			t.Fatalf("%d bytes of at most %d", len(b), most)
		}
		var d encoding.HybridDecoder
		d.Reset(b, width)
		for at := 0; at < len(values); {
			n := min(1+r.IntN(30), len(values)-at)
			switch r.IntN(3) {
			case 0:
				testenv.Must(t, d.Skip(n))
			case 1:
				got := make([]uint32, n)
				if m, err := d.Read(got); m != n || err != nil || !slices.Equal(got, values[at:at+n]) {
					t.Fatalf("%d: %v, %v; want %v", at, got[:m], err, values[at:at+n])
				}
			default:
				v, m, err := d.Next()
				n = min(m, len(values)-at) // without padding
				if err != nil || m < 1 || slices.ContainsFunc(values[at:at+n], func(w uint32) bool { return w != v }) {
					t.Fatalf("%d: %d × %d, %v; want %v", at, m, v, err, values[at:at+n])
				}
			}
			at += n
		}
		mustEnd(t, &d)
	})
}

// mustEnd fails if more than 7 values are left.
func mustEnd(t *testing.T, d *encoding.HybridDecoder) {
	t.Helper()
	if n, err := d.Read(make([]uint32, 8)); n > 7 || err != io.EOF {
		t.Fatalf("%d values after the end, %v", n, err)
	}
	if _, n, err := d.Next(); n != 0 || err != io.EOF {
		t.Fatalf("%d values after the end, %v", n, err)
	}
}

// TestHybridEncoderAppendsTheSame divides runs among calls of Put.
func TestHybridEncoderAppendsTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	eachHybrid(t, func(t *testing.T, values []uint32, width int) {
		var e encoding.HybridEncoder
		e.Reset([]byte("before"), width)
		for rest := values; len(rest) > 0; {
			n := 1
			for n < len(rest) && rest[n] == rest[0] && r.IntN(10) > 0 {
				n++
			}
			e.Put(rest[0], n)
			e.Put(rest[0]+1, 0)
			rest = rest[n:]
		}
		got, want := e.Finish(), encoding.AppendHybrid([]byte("before"), values, width)
		if !slices.Equal(got, want) {
			t.Fatalf("%x; want %x", got, want)
		}
	})
}

// plainBools returns plain BOOLEAN.
func plainBools(values []uint32) []byte {
	plain := make([]byte, (len(values)+7)/8)
	for i, v := range values {
		plain[i/8] |= byte(v) << (i % 8)
	}
	return plain
}

// TestHybridBools decodes booleans with this package and with another implementation.
func TestHybridBools(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for _, longest := range []int{1, 20, 40, 100, 2000} {
		for _, n := range []int{0, 1, 7, 8, 9, 31, 32, 33, 40, 504, 505, 3000} {
			values := indexes(r, n, 1, longest)
			b := encoding.AppendHybridBools([]byte("before"), plainBools(values), n)[len("before"):]
			if most := encoding.HybridBoolsBound(n); len(b) > most {
				t.Fatalf("%d values in %d bytes of at most %d", n, len(b), most)
			}
			if longest == 2000 && len(b) > 8*runs(values) {
				t.Errorf("%d bytes of %d runs", len(b), runs(values))
			}
			var d encoding.HybridDecoder
			d.Reset(b, 1)
			got := make([]uint32, n)
			if m, err := d.Read(got); m != n || err != nil || !slices.Equal(got, values) {
				t.Fatalf("%v, %v; want %v", got[:m], err, values)
			}
			mustEnd(t, &d)
			other := rle.Encoding{BitWidth: 1}
			theirs, err := other.DecodeInt32(nil, b)
			testenv.Must(t, err)
			for i, v := range values {
				if theirs[i] != int32(v) {
					t.Fatalf("value %d is %d, want %d", i, theirs[i], v)
				}
			}
		}
	}
}

// TestHybridOfParquetGo exchanges values with another implementation.
func TestHybridOfParquetGo(t *testing.T) {
	eachHybrid(t, func(t *testing.T, values []uint32, width int) {
		if width == 0 {
			return // it does not count the values
		}
		other := rle.Encoding{BitWidth: width}
		signed := make([]int32, len(values))
		for i, v := range values {
			signed[i] = int32(v)
		}
		theirs, err := other.EncodeInt32(nil, signed)
		testenv.Must(t, err)
		var d encoding.HybridDecoder
		d.Reset(theirs, width)
		got := make([]uint32, len(values))
		if n, err := d.Read(got); n != len(got) || err != nil || !slices.Equal(got, values) {
			t.Fatalf("%v, %v; want %v", got[:n], err, values)
		}
		mustEnd(t, &d)

		// It panics without bytes after the end.
		ours := slices.Grow(encoding.AppendHybrid(nil, values, width), 100)
		read, err := other.DecodeInt32(nil, ours)
		if err != nil || len(read) < len(signed) || !slices.Equal(read[:len(signed)], signed) {
			t.Fatalf("%v, %v; want %v", read, err, signed)
		}
	})
}

func TestHybridBytes(t *testing.T) {
	count := []uint32{0, 1, 2, 3, 4, 5, 6, 7}
	for _, c := range []struct {
		name   string
		values []uint32
		width  int
		want   string
	}{
		{"nothing", nil, 3, ""},
		{"the example of the specification", count, 3, "03 88c6fa"},
		{"a repeat", slices.Repeat([]uint32{5}, 100), 3, "c801 05"},
		{"a wide repeat", slices.Repeat([]uint32{0x12345}, 8), 20, "10 452301"},
		{"no bits", make([]uint32, 9), 0, "12"},
		{"a few equal values", []uint32{1, 1, 1}, 1, "06 01"},
		{"a group that is filled before a repeat", slices.Concat(count[:1], slices.Repeat([]uint32{1}, 20)), 1, "03 fe 1a 01"},
		{"padding", []uint32{0, 1, 1}, 1, "03 06"},
		{"few values after a group", slices.Concat(count, []uint32{1, 1}), 3, "03 88c6fa 04 01"},
		{"32 bits", []uint32{1<<32 - 1, 0}, 32, "03 ffffffff" + strings.Repeat("00", 28)},
	} {
		got := hex.EncodeToString(encoding.AppendHybrid(nil, c.values, c.width))
		if want := strings.ReplaceAll(c.want, " ", ""); got != want {
			t.Errorf("%s: %s; want %s", c.name, got, want)
		}
	}
}

// TestLongRunsAreShort encodes and decodes levels of a billion entries.
func TestLongRunsAreShort(t *testing.T) {
	var e encoding.HybridEncoder
	e.Reset(nil, 2)
	e.Put(3, 1<<30)
	e.Put(1, 1<<29)
	b := e.Finish()
	if most := encoding.HybridBound(3<<29, 2, 2); len(b) > most || most > 100 {
		t.Fatalf("%d bytes of at most %d", len(b), most)
	}
	var d encoding.HybridDecoder
	d.Reset(b, 2)
	testenv.Must(t, d.Skip(1<<29))
	for _, want := range []struct{ value, n int }{{3, 1 << 29}, {1, 1 << 29}} {
		if v, n, err := d.Next(); int(v) != want.value || n != want.n || err != nil {
			t.Fatalf("%d × %d, %v; want %d × %d", n, v, err, want.n, want.value)
		}
	}
	mustEnd(t, &d)
}

func TestDamagedHybrid(t *testing.T) {
	for _, c := range []struct {
		name  string
		bytes string
		width int
		want  string
		cut   bool
	}{
		{"a negative width", "", -1, "values of -1 bits", false},
		{"a large width", "0600000000", 33, "values of 33 bits", false},
		{"a header that is cut short", "80", 1, "the length of a run is cut short", true},
		{"a header of 33 bits", "808080801000", 1, "the length of a run is too large", false},
		{"a header of 65 bits", "8080808080808080808001", 1, "the length of a run is too large", false},
		{"a repeat without a value", "10", 9, "0 bytes of a repeat's value", true},
		{"half of a repeat's value", "1001", 9, "1 bytes of a repeat's value", true},
		{"a repeat of a large value", "1004", 2, "a value of 4, but values have 2 bits", false},
		{"literals that are cut short", "0503030303", 3, "2 groups of 3 bytes in 4 bytes", true},
		{"most literals", "ffffffff0f03", 32, "2147483647 groups of 32 bytes in 1 bytes", true},
	} {
		b, err := hex.DecodeString(c.bytes)
		testenv.Must(t, err)
		var d encoding.HybridDecoder
		d.Reset(b, c.width)
		_, _, err1 := d.Next()
		d.Reset(b, c.width)
		_, err2 := d.Read(make([]uint32, 9))
		d.Reset(b, c.width)
		err3 := d.Skip(9)
		for _, err := range []error{err1, err2, err3} {
			mustFail(t, c.name, err, c.want, c.cut)
		}
	}
}

// mustFail fails if err is not the error that is wanted. cut is set if bytes are missing.
func mustFail(t *testing.T, name string, err error, want string, cut bool) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, io.ErrUnexpectedEOF) != cut {
		t.Errorf("%s: %v; want %q, cut: %t", name, err, want, cut)
	}
}
