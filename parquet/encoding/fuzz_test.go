package encoding_test

import (
	"encoding/binary"
	"io"
	"slices"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/parquet/encoding"
)

// fuzzedValues bounds the values that are read: a few bytes may have 2³¹.
const fuzzedValues = 5000

// FuzzHybrid decodes values with Read, Next and Skip. They are the same, and encoded again
// they are the same.
func FuzzHybrid(f *testing.F) {
	for width := range 33 {
		values := []uint32{0, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1}
		if width == 0 {
			clear(values)
		}
		f.Add(encoding.AppendHybrid(nil, values, width), byte(width))
	}
	f.Fuzz(func(t *testing.T, src []byte, width byte) {
		var d encoding.HybridDecoder
		d.Reset(src, int(width))
		values := make([]uint32, fuzzedValues)
		n, err := d.Read(values)
		if values = values[:n]; n < fuzzedValues && err == nil {
			t.Fatal("no error")
		}
		d.Reset(src, int(width))
		for rest := values; len(rest) > 0; {
			v, n, err := d.Next()
			n = min(n, len(rest))
			if err != nil || n < 1 || rest[0] != v || runs(rest[:n]) != 1 {
				t.Fatalf("%d × %d, %v; want %v", n, v, err, rest[:n])
			}
			if rest = rest[n:]; len(rest) > 3 && n < 9 {
				testenv.Must(t, d.Skip(3))
				rest = rest[3:]
			}
		}
		if width > 32 {
			return
		}
		again := encoding.AppendHybrid(nil, values, int(width))
		d.Reset(again, int(width))
		got := make([]uint32, len(values))
		if n, err := d.Read(got); err != nil || !slices.Equal(got, values) {
			t.Fatalf("%v, %v; want %v", got[:n], err, values)
		}
		if most := encoding.HybridBound(len(values), runs(values), int(width)); len(again) > most {
			t.Fatalf("%d bytes of at most %d", len(again), most)
		}
	})
}

func FuzzDelta(f *testing.F) {
	f.Add(appendInts[int64](nil, nil))
	f.Add(appendInts(nil, []int64{1, 2, 3, 5, 4}))
	f.Add(appendInts(nil, append(make([]int64, 200), 1<<63-1, -1<<63)))
	f.Fuzz(func(t *testing.T, src []byte) {
		fuzzDelta[int64](t, src)
		fuzzDelta[int32](t, src)
	})
}

func fuzzDelta[T int32 | int64](t *testing.T, src []byte) {
	var d encoding.DeltaDecoder[T]
	if d.Reset(src) != nil {
		return
	}
	values := make([]T, min(fuzzedValues, d.Count()))
	n, err := d.Read(values)
	values = values[:n]
	testenv.Must(t, d.Reset(src), d.Skip(n/2))
	got := make([]T, n-n/2)
	if m, err := d.Read(got); err != nil || !slices.Equal(got, values[n/2:]) {
		t.Fatalf("%v, %v; want %v", got[:m], err, values[n/2:])
	}
	if err != nil {
		return
	}
	testenv.Must(t, d.Reset(appendInts(nil, values)))
	got = make([]T, n)
	if m, err := d.Read(got); err != nil || !slices.Equal(got, values) {
		t.Fatalf("%v, %v; want %v", got[:m], err, values)
	}
}

// fuzzStrings decodes strings, and encodes them again.
func fuzzStrings(t *testing.T, src []byte, d stringDecoder, encode func(dst []byte, s *strung) []byte) {
	if d.Reset(src) != nil {
		return
	}
	n := 0
	var s strung
	var err error
	for ; n < fuzzedValues; n++ {
		if s.offsets, s.data, err = d.Read(s.offsets, s.data, 1); err != nil {
			break
		}
	}
	if err != nil {
		testenv.Must(t, d.Reset(src))
		if err := d.Skip(n + 1); err == nil {
			t.Fatal("no error")
		}
		if err != io.EOF {
			return
		}
	}
	testenv.Must(t, d.Reset(src), d.Skip(n/2))
	var half strung
	half.offsets, half.data, err = d.Read(nil, nil, n-n/2)
	if err != nil || !slices.Equal(half.values(), s.values()[n/2:]) {
		t.Fatalf("%q, %v; want %q", half.values(), err, s.values()[n/2:])
	}
	testenv.Must(t, d.Reset(encode(nil, &s)))
	var again strung
	again.offsets, again.data, err = d.Read(nil, nil, n)
	if err != nil || !slices.Equal(again.values(), s.values()) {
		t.Fatalf("%q, %v; want %q", again.values(), err, s.values())
	}
	if _, _, err = d.Read(nil, nil, 1); err != io.EOF {
		t.Fatal(err)
	}
}

func FuzzDeltaLength(f *testing.F) {
	s := textsOf("a", "", "abc", "abd", "b")
	f.Add(appendLength(nil, &s))
	f.Fuzz(func(t *testing.T, src []byte) {
		fuzzStrings(t, src, new(encoding.DeltaLengthDecoder), appendLength)
	})
}

func FuzzDeltaBytes(f *testing.F) {
	s := textsOf("a", "", "abc", "abd", "b")
	f.Add(appendShared(nil, &s))
	f.Fuzz(func(t *testing.T, src []byte) {
		fuzzStrings(t, src, new(encoding.DeltaBytesDecoder), appendShared)
	})
}

// FuzzPlain decodes plain values, and values of Avro.
func FuzzPlain(f *testing.F) {
	f.Add([]byte("\x01\x00\x00\x00a\x00\x00\x00\x00"), uint16(2), byte(3))
	f.Add(avroBytes([]string{"a", "", "abc"}), uint16(3), byte(1))
	f.Add(avroInts([]int64{-1, 1 << 62, 3}), uint16(3), byte(8))
	f.Fuzz(func(t *testing.T, src []byte, count uint16, size byte) {
		n := int(count)
		var s strung
		var rest []byte
		var err error
		if s.offsets, s.data, rest, err = encoding.DecodePlainBytes(nil, nil, src, n); err == nil {
			skipped, err := encoding.SkipPlainBytes(src, n)
			if err != nil || len(s.values()) != n || len(s.data)+4*n+len(rest) != len(src) || len(skipped) != len(rest) {
				t.Fatalf("%d values, %d bytes and %d of %d, %v", len(s.values()), len(s.data), len(rest), len(src), err)
			}
		}
		fuzzAvroBytes(t, src, n)
		fuzzAvroInts(t, src, n, encoding.AppendPlainInt32, encoding.DecodePlainInt32)
		fuzzAvroInts(t, src, n, encoding.AppendPlainInt64, encoding.DecodePlainInt64)
		if bools, err := encoding.DecodePlainBools(nil, src, int(size), n); err == nil && len(bools) != n {
			t.Fatal(len(bools))
		}
		fixed, err := encoding.DecodeSplit(nil, src, int(size), int(size), n)
		if err == nil && len(fixed) != n*int(size) {
			t.Fatal(len(fixed))
		}
		if _, data, _, err := encoding.DecodePlainFixed(nil, nil, src, n, int(size)); err == nil && len(data) != n*int(size) {
			t.Fatal(len(data))
		}
	})
}

// fuzzAvroBytes converts values of Avro, which are the bytes before the rest, to plain ones.
func fuzzAvroBytes(t *testing.T, src []byte, n int) {
	plain, rest, err := encoding.AppendPlainBytes(nil, src, n)
	if err != nil {
		return
	}
	var s strung
	s.offsets, s.data, _, err = encoding.DecodePlainBytes(nil, nil, plain, n)
	testenv.Must(t, err)
	again, _, err := encoding.AppendPlainBytes(nil, avroBytes(s.values()), n)
	if err != nil || !slices.Equal(again, plain) || len(s.data)+n > len(src)-len(rest) {
		t.Fatalf("%x, %v; want %x", again, err, plain)
	}
}

func fuzzAvroInts[T int32 | int64](t *testing.T, src []byte, n int,
	encode func([]byte, []byte, int) ([]byte, []byte, error), decode func([]T, []byte, int) ([]T, []byte, error)) {
	plain, rest, err := encode(nil, src, n)
	if err != nil {
		return
	}
	got, _, err := decode(nil, plain, n)
	testenv.Must(t, err)
	again := src
	for _, v := range got {
		want, size := binary.Varint(again)
		if size <= 0 || want != int64(v) {
			t.Fatalf("%d; want %d", v, want)
		}
		again = again[size:]
	}
	if len(again) != len(rest) {
		t.Fatalf("%d bytes are left, want %d", len(rest), len(again))
	}
}
