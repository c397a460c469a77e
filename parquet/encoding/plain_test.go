package encoding_test

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/parquet/encoding"
)

// integers returns n random integers of all lengths, and limits of varints.
func integers[T int32 | int64](r *rand.Rand, n int) []T {
	values := make([]T, n)
	for i := range values {
		values[i] = T(int64(r.Uint64()) >> r.IntN(64))
		if r.IntN(4) == 0 {
			values[i] = T(1)<<r.IntN(64) - T(r.IntN(2))
		}
	}
	return values
}

// avroInts returns integers in Avro's encoding.
func avroInts[T int32 | int64](values []T) []byte {
	var b []byte
	for _, v := range values {
		b = binary.AppendVarint(b, int64(v))
	}
	return b
}

// strung holds strings as the decoders return them.
type strung struct {
	offsets []int32
	data    []byte
}

func textsOf(values ...string) strung {
	s := strung{offsets: []int32{0}}
	for _, v := range values {
		s.data = append(s.data, v...)
		s.offsets = append(s.offsets, int32(len(s.data)))
	}
	return s
}

func (s *strung) values() (values []string) {
	for i := 1; i < len(s.offsets); i++ {
		values = append(values, string(s.data[s.offsets[i-1]:s.offsets[i]]))
	}
	return values
}

// plain returns the strings as plain BYTE_ARRAY.
func (s *strung) plain() (b []byte) {
	for _, v := range s.values() {
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(v))), v...)
	}
	return b
}

// avroBytes returns strings in Avro's encoding.
func avroBytes(values []string) []byte {
	var b []byte
	for _, v := range values {
		b = append(binary.AppendVarint(b, int64(len(v))), v...)
	}
	return b
}

// texts returns n random strings that share some of their bytes.
func texts(r *rand.Rand, n int) []string {
	values := make([]string, n)
	before := ""
	for i := range values {
		before = before[:r.IntN(len(before)+1)] + strings.Repeat(string(rune('a'+r.IntN(20))), r.IntN(12))
		values[i] = before
	}
	return values
}

var after = []byte("after")

func TestIntsOfAvro(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{0, 1, 5, 1000} {
		testIntsOfAvro(t, integers[int32](r, n), encoding.AppendPlainInt32, encoding.DecodePlainInt32)
		testIntsOfAvro(t, integers[int64](r, n), encoding.AppendPlainInt64, encoding.DecodePlainInt64)
	}
}

func testIntsOfAvro[T int32 | int64](t *testing.T, values []T,
	encode func([]byte, []byte, int) ([]byte, []byte, error), decode func([]T, []byte, int) ([]T, []byte, error)) {
	avro := avroInts(values)
	for _, tail := range [][]byte{nil, after} {
		src := slices.Concat(avro, tail)
		b, rest, err := encode([]byte("before"), src, len(values))
		if err != nil || !slices.Equal(rest, tail) || !strings.HasPrefix(string(b), "before") {
			t.Fatalf("%q, %v", rest, err)
		}
		got, rest, err := decode([]T{-7}, append(b[len("before"):], tail...), len(values))
		if err != nil || !slices.Equal(rest, tail) || !slices.Equal(got, append([]T{-7}, values...)) {
			t.Fatalf("%v, %q, %v; want %v", got, rest, err, values)
		}
	}
	if len(values) > 0 {
		cut := avro[:len(avro)-1]
		_, _, err := encode(nil, cut, len(values))
		mustFail(t, "Avro", err, "", true)
	}
}

func TestBytesOfAvro(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	for _, n := range []int{0, 1, 5, 1000} {
		values := texts(r, n)
		src := append(avroBytes(values), after...)
		b, rest, err := encoding.AppendPlainBytes([]byte("before"), src, n)
		if err != nil || string(rest) != "after" || !strings.HasPrefix(string(b), "before") {
			t.Fatalf("%q, %v", rest, err)
		}
		got := textsOf("first")
		plain := append(b[len("before"):], after...)
		got.offsets, got.data, rest, err = encoding.DecodePlainBytes(got.offsets, got.data, plain, n)
		if err != nil || string(rest) != "after" || !slices.Equal(got.values(), append([]string{"first"}, values...)) {
			t.Fatalf("%q, %q, %v; want %q", got.values(), rest, err, values)
		}
		if rest, err = encoding.SkipPlainBytes(plain, n); err != nil || string(rest) != "after" {
			t.Fatalf("%q, %v", rest, err)
		}
	}
}

func TestFixedOfAvro(t *testing.T) {
	values := []string{"abc", "def", "\x00\xff "}
	b, rest, err := encoding.AppendPlainFixed([]byte("0"), append(avroBytes(values), after...), 3, 3)
	if err != nil || string(rest) != "after" || string(b) != "0abcdef\x00\xff " {
		t.Fatalf("%q, %q, %v", b, rest, err)
	}
	got := textsOf("first")
	got.offsets, got.data, rest, err = encoding.DecodePlainFixed(got.offsets, got.data, append(b[1:], after...), 3, 3)
	if err != nil || string(rest) != "after" || !slices.Equal(got.values(), append([]string{"first"}, values...)) {
		t.Fatalf("%q, %q, %v; want %q", got.values(), rest, err, values)
	}
}

func TestFloats(t *testing.T) {
	b, err := hex.DecodeString("0000803f000000c001" + "000000000000f03f00000000000000c002")
	testenv.Must(t, err)
	floats, rest, err := encoding.DecodePlainFloat([]float32{7}, b[:9], 2)
	if err != nil || len(rest) != 1 || !slices.Equal(floats, []float32{7, 1, -2}) {
		t.Errorf("%v, %x, %v", floats, rest, err)
	}
	doubles, rest, err := encoding.DecodePlainDouble([]float64{7}, b[9:], 2)
	if err != nil || len(rest) != 1 || !slices.Equal(doubles, []float64{7, 1, -2}) {
		t.Errorf("%v, %x, %v", doubles, rest, err)
	}
}

func TestBools(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for n := range 30 {
		src, want := make([]byte, n), make([]bool, n)
		for i := range src {
			src[i] = byte(r.IntN(2))
			want[i] = src[i] == 1
		}
		b := encoding.AppendPlainBools([]byte{9}, append(src, 1), n)[1:]
		if len(b) != (n+7)/8 {
			t.Fatalf("%d bytes of %d bits", len(b), n)
		}
		at := r.IntN(n + 1)
		got, err := encoding.DecodePlainBools(nil, b, 0, at)
		testenv.Must(t, err)
		got, err = encoding.DecodePlainBools(got, b, at, n-at)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%v, %v; want %v", got, err, want)
		}
		_, err = encoding.DecodePlainBools(nil, b, at, 8*len(b)-at+1)
		mustFail(t, "more bits", err, "values in", true)
	}
	if b := encoding.AppendPlainBools(nil, []byte{1, 0, 1, 0, 0, 0, 0, 1, 0, 1}, 10); string(b) != "\x85\x02" {
		t.Errorf("%x", b)
	}
}

// TestDamagedValues decodes 2 values of each type.
func TestDamagedValues(t *testing.T) {
	decoders := map[string]func(src []byte) error{
		"avro int":   func(b []byte) error { _, _, err := encoding.AppendPlainInt32(nil, b, 2); return err },
		"avro long":  func(b []byte) error { _, _, err := encoding.AppendPlainInt64(nil, b, 2); return err },
		"avro bytes": func(b []byte) error { _, _, err := encoding.AppendPlainBytes(nil, b, 2); return err },
		"avro fixed": func(b []byte) error { _, _, err := encoding.AppendPlainFixed(nil, b, 2, 2); return err },
		"int":        func(b []byte) error { _, _, err := encoding.DecodePlainInt32(nil, b, 2); return err },
		"long":       func(b []byte) error { _, _, err := encoding.DecodePlainInt64(nil, b, 2); return err },
		"float":      func(b []byte) error { _, _, err := encoding.DecodePlainFloat(nil, b, 2); return err },
		"double":     func(b []byte) error { _, _, err := encoding.DecodePlainDouble(nil, b, 2); return err },
		"fixed":      func(b []byte) error { _, _, _, err := encoding.DecodePlainFixed(nil, nil, b, 2, 3); return err },
		"no fixed":   func(b []byte) error { _, _, _, err := encoding.DecodePlainFixed(nil, nil, b, 2, 0); return err },
		"bytes":      func(b []byte) error { _, _, _, err := encoding.DecodePlainBytes(nil, nil, b, 2); return err },
		"skip":       func(b []byte) error { _, err := encoding.SkipPlainBytes(b, 2); return err },
	}
	const large = "ffffffffffffffffff02"
	for _, c := range []struct {
		decoder, bytes, want string
		cut                  bool
	}{
		{"avro int", "00", "2 values in 1 bytes", true},
		{"avro int", "0180", "the int of value 1 of 2 is cut short", true},
		{"avro int", "01" + "8080808010", "the int of value 1 of 2 is too large", false},
		{"avro int", "01" + "8080808010" + "000000000000", "the int of value 1 of 2 is too large", false},
		{"avro long", "00", "2 values in 1 bytes", true},
		{"avro long", "0180", "the long of value 1 of 2 is cut short", true},
		{"avro long", "01" + large, "the long of value 1 of 2 is too large", false},
		{"avro bytes", "", "the length of value 0 of 2 is cut short", true},
		{"avro bytes", "00" + large, "the length of value 1 of 2 is too large", false},
		{"avro bytes", "0261" + "01", "value 1 of 2 has -1 bytes", false},
		{"avro bytes", "0261" + "8080808010", "value 1 of 2 has 2147483648 bytes", false},
		{"avro bytes", "0261" + "0661", "value 1 of 2 has 3 bytes, but 1 are left", true},
		{"avro fixed", "046161" + "06616161", "value 1 of 2 has 3 bytes, want 2", false},
		{"avro fixed", "046161" + "0261", "value 1 of 2 has 1 bytes, want 2", false},
		{"int", strings.Repeat("00", 7), "2 values in 7 bytes", true},
		{"long", strings.Repeat("00", 15), "2 values in 15 bytes", true},
		{"float", strings.Repeat("00", 7), "2 values in 7 bytes", true},
		{"double", strings.Repeat("00", 15), "2 values in 15 bytes", true},
		{"fixed", strings.Repeat("00", 5), "2 values in 5 bytes", true},
		{"no fixed", strings.Repeat("00", 5), "2 values in 5 bytes", true},
		{"bytes", strings.Repeat("00", 7), "2 values in the bytes of 1", true},
		{"bytes", "01000000" + "61" + "000000", "the length of value 1 of 2 is cut short", true},
		{"bytes", "00000000" + "02000000" + "61", "value 1 of 2 has 2 bytes, but 1 are left", true},
		{"bytes", "00000000" + "ffffffff" + "61", "value 1 of 2 has 4294967295 bytes, but 1 are left", true},
		{"skip", "01000000" + "61" + "000000", "the length of value 1 of 2 is cut short", true},
	} {
		b, err := hex.DecodeString(c.bytes)
		testenv.Must(t, err)
		mustFail(t, c.decoder+" "+c.bytes, decoders[c.decoder](b), c.want, c.cut)
	}
}

// TestVectorsAreBounded decodes strings after 1 GiB of others.
func TestVectorsAreBounded(t *testing.T) {
	data := make([]byte, 1<<30-3, 1<<30+100)
	offsets := []int32{0, int32(len(data))}
	if _, _, _, err := encoding.DecodePlainFixed(offsets, data, []byte("abcdef"), 2, 2); err != encoding.ErrFull {
		t.Error(err)
	}
	if _, _, _, err := encoding.DecodePlainBytes(offsets, data, []byte("\x04\x00\x00\x00abcd"), 1); err != encoding.ErrFull {
		t.Error(err)
	}
	offsets, _, _, err := encoding.DecodePlainBytes(offsets, data, []byte("\x03\x00\x00\x00abc"), 1)
	if err != nil || offsets[2] != 1<<30 {
		t.Error(offsets, err)
	}
}
