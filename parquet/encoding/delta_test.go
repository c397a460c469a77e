package encoding_test

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/bytestreamsplit"
	"github.com/parquet-go/parquet-go/encoding/delta"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/parquet/encoding"
)

var counts = []int{0, 1, 2, 32, 33, 34, 128, 129, 130, 161, 1000}

// appendInts appends values as DELTA_BINARY_PACKED.
func appendInts[T int32 | int64](dst []byte, values []T) []byte {
	plain := plainInts(values)
	if len(plain) == 4*len(values) {
		return encoding.AppendDeltaInt32(dst, plain)
	}
	return encoding.AppendDeltaInt64(dst, plain)
}

// plainInts returns plain INT32 or INT64.
func plainInts[T int32 | int64](values []T) (plain []byte) {
	for _, v := range values {
		switch v := any(v).(type) {
		case int32:
			plain = binary.LittleEndian.AppendUint32(plain, uint32(v))
		case int64:
			plain = binary.LittleEndian.AppendUint64(plain, uint64(v))
		}
	}
	return plain
}

// appendLength appends strings as DELTA_LENGTH_BYTE_ARRAY.
func appendLength(dst []byte, s *strung) []byte {
	return encoding.AppendDeltaLength(dst, s.plain(), len(s.values()))
}

// appendShared appends strings as DELTA_BYTE_ARRAY.
func appendShared(dst []byte, s *strung) []byte {
	dst, _ = encoding.AppendDeltaBytes(dst, s.plain(), len(s.values()), 0, nil)
	return dst
}

// rising returns integers whose deltas have up to width bits.
func rising[T int32 | int64](r *rand.Rand, n, width int) []T {
	values := make([]T, n)
	v := T(r.Uint64())
	for i := range values {
		v += T(r.Uint64() & (1<<width - 1))
		values[i] = v
	}
	return values
}

func TestDelta(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	other := new(delta.BinaryPackedEncoding)
	for _, n := range counts {
		for width := range 65 {
			testDelta(t, r, rising[int64](r, n, width), other.EncodeInt64, other.DecodeInt64)
			if width <= 32 {
				testDelta(t, r, rising[int32](r, n, width), other.EncodeInt32, other.DecodeInt32)
			}
		}
		testDelta(t, r, integers[int64](r, n), other.EncodeInt64, other.DecodeInt64)
		testDelta(t, r, integers[int32](r, n), other.EncodeInt32, other.DecodeInt32)
	}
}

// testDelta encodes and decodes values, and exchanges them with another implementation.
func testDelta[T int32 | int64](t *testing.T, r *rand.Rand, values []T,
	theirEncode func([]byte, []T) ([]byte, error), theirDecode func([]T, []byte) ([]T, error)) {
	t.Helper()
	ours := appendInts([]byte("before"), values)[len("before"):]
	if most := encoding.DeltaBound(len(values), len(plainInts(values[:min(1, len(values))]))); len(ours) > most {
		t.Fatalf("%d values in %d bytes of at most %d", len(values), len(ours), most)
	}
	read, err := theirDecode(nil, slices.Clone(ours))
	if err != nil || !slices.Equal(read, values) {
		t.Fatalf("%v, %v; want %v", read, err, values)
	}
	theirs, err := theirEncode(nil, values)
	testenv.Must(t, err)
	for _, b := range [][]byte{ours, theirs} {
		var d encoding.DeltaDecoder[T]
		testenv.Must(t, d.Reset(b))
		if d.Count() != len(values) {
			t.Fatalf("%d values of %d", d.Count(), len(values))
		}
		for at := 0; at < len(values); {
			n := min(1+r.IntN(80), len(values)-at)
			if r.IntN(3) == 0 {
				testenv.Must(t, d.Skip(n))
			} else {
				got := make([]T, n)
				if m, err := d.Read(got); m != n || err != nil || !slices.Equal(got, values[at:at+n]) {
					t.Fatalf("%d: %v, %v; want %v", at, got[:m], err, values[at:at+n])
				}
			}
			at += n
		}
		if n, err := d.Read(make([]T, 3)); n != 0 || err != io.EOF {
			t.Fatalf("%d values after the end, %v", n, err)
		}
		if err := d.Skip(1); err != io.EOF {
			t.Fatal(err)
		}
	}
}

// TestDeltaOfOtherBlocks decodes blocks of other sizes, the last without all of its
// miniblocks.
func TestDeltaOfOtherBlocks(t *testing.T) {
	want := make([]int64, 1+64+3)
	b := []byte{0x80, 2, 4, byte(len(want)), 2} // blocks of 256 values, miniblocks of 64, the first value is 1
	b = append(b, 3, 0, 8, 200, 201)            // the least delta is -2; the last widths are not for miniblocks
	for i := range 64 {
		b = append(b, byte(i))
	}
	want[0] = 1
	for i := 1; i <= 64; i++ {
		want[i] = want[i-1] - 2
	}
	for i := range 3 {
		want[65+i] = want[64+i] - 2 + int64(i)
	}
	var d encoding.DeltaDecoder[int64]
	testenv.Must(t, d.Reset(b))
	got := make([]int64, len(want))
	if n, err := d.Read(got); n != len(got) || err != nil || !slices.Equal(got, want) {
		t.Fatalf("%v, %v; want %v", got[:n], err, want)
	}
}

// TestDeltaExample has the examples of the specification.
func TestDeltaExample(t *testing.T) {
	for _, c := range []struct {
		values []int64
		want   string
	}{
		{nil, "800104 00 00"},
		{[]int64{7}, "800104 01 0e"},
		{[]int64{1, 2, 3, 4, 5}, "800104 05 02 02 00000000"},
		{[]int64{7, 5, 3, 1, 2, 3, 4, 5}, "800104 08 0e 03 02000000 c03f000000000000"},
	} {
		got := hex.EncodeToString(appendInts(nil, c.values))
		if want := strings.ReplaceAll(c.want, " ", ""); got != want {
			t.Errorf("%v: %s; want %s", c.values, got, want)
		}
	}
}

// stringDecoder is a decoder of strings.
type stringDecoder interface {
	Reset(src []byte) error
	Read(offsets []int32, data []byte, n int) ([]int32, []byte, error)
	Skip(n int) error
}

func TestDeltaBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	for _, n := range counts {
		for range 5 {
			values := texts(r, n)
			s := textsOf(values...)
			theirOffsets := make([]uint32, len(s.offsets))
			for i, o := range s.offsets {
				theirOffsets[i] = uint32(o)
			}

			length := new(delta.LengthByteArrayEncoding)
			b, err := length.EncodeByteArray(nil, s.data, theirOffsets)
			testenv.Must(t, err)
			ours := appendLength([]byte("before"), &s)[len("before"):]
			testDeltaBytes(t, r, ours, values, new(encoding.DeltaLengthDecoder), length.DecodeByteArray)
			testDeltaBytes(t, r, b, values, new(encoding.DeltaLengthDecoder), length.DecodeByteArray)

			shared := new(delta.ByteArrayEncoding)
			b, err = shared.EncodeByteArray(nil, s.data, theirOffsets)
			testenv.Must(t, err)
			ours = appendShared([]byte("before"), &s)[len("before"):]
			testDeltaBytes(t, r, ours, values, new(encoding.DeltaBytesDecoder), shared.DecodeByteArray)
			testDeltaBytes(t, r, b, values, new(encoding.DeltaBytesDecoder), shared.DecodeByteArray)
		}
	}
	var d encoding.DeltaLengthDecoder
	testenv.Must(t, d.Reset(appendLength(nil, new(strung))), d.Reset(nil))
	if err := d.Skip(1); err != io.EOF {
		t.Error(err)
	}
}

// testDeltaBytes decodes strings, also with another implementation.
func testDeltaBytes(t *testing.T, r *rand.Rand, b []byte, values []string, d stringDecoder,
	theirs func([]byte, []byte, []uint32) ([]byte, []uint32, error)) {
	t.Helper()
	if data, offsets, err := theirs(nil, slices.Concat(b, make([]byte, 64))[:len(b)], nil); err != nil {
		t.Fatal(err)
	} else {
		s := strung{data: data}
		for _, o := range offsets {
			s.offsets = append(s.offsets, int32(o))
		}
		if !slices.Equal(s.values(), values) {
			t.Fatalf("%q; want %q", s.values(), values)
		}
	}
	testenv.Must(t, d.Reset(b))
	for at := 0; at < len(values); {
		n := min(1+r.IntN(80), len(values)-at)
		if r.IntN(3) == 0 {
			testenv.Must(t, d.Skip(n))
		} else {
			s := textsOf("first")
			var err error
			s.offsets, s.data, err = d.Read(s.offsets, s.data, n)
			if got := s.values()[1:]; err != nil || !slices.Equal(got, values[at:at+n]) {
				t.Fatalf("%d: %q, %v; want %q", at, got, err, values[at:at+n])
			}
		}
		at += n
	}
	if _, _, err := d.Read(nil, nil, 1); err != io.EOF {
		t.Fatal(err)
	}
	if err := d.Skip(1); err != io.EOF {
		t.Fatal(err)
	}
}

func TestSplit(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 3))
	other := new(bytestreamsplit.Encoding)
	for _, size := range []int{1, 2, 4, 5, 8, 12, 16} {
		for _, n := range []int{0, 1, 3, 500} {
			plain := make([]byte, n*size)
			for i := range plain {
				plain[i] = byte(r.Uint32())
			}
			theirs, err := other.EncodeFixedLenByteArray(nil, plain, size)
			testenv.Must(t, err)
			ours := encoding.AppendSplit([]byte("before"), plain, size)[len("before"):]
			if !slices.Equal(ours, theirs) {
				t.Fatalf("%x; want %x", ours, theirs)
			}
			at := r.IntN(n + 1)
			got, err := encoding.DecodeSplit(nil, ours, size, 0, at)
			testenv.Must(t, err)
			got, err = encoding.DecodeSplit(got, ours, size, at, n-at)
			if err != nil || !slices.Equal(got, plain) {
				t.Fatalf("%x, %v; want %x", got, err, plain)
			}
			_, err = encoding.DecodeSplit(nil, ours, size, at, n-at+1)
			mustFail(t, "more values", err, "values in", true)
			_, err = encoding.DecodeSplit(nil, append(ours, 1), size+1, 0, 0)
			if (n*size+1)%(size+1) != 0 {
				mustFail(t, "unequal streams", err, fmt.Sprintf("%d streams", size+1), false)
			}
		}
	}
	_, err := encoding.DecodeSplit(nil, nil, 0, 0, 0)
	mustFail(t, "no bytes", err, "0 streams", false)
}

func TestDamagedDelta(t *testing.T) {
	for _, c := range []struct {
		name, bytes, want string
		cut               bool
	}{
		{"the block size is missing", "80", "the block size is cut short", true},
		{"the miniblocks are missing", "8001", "the number of miniblocks is cut short", true},
		{"the count is missing", "800104", "the number of values is cut short", true},
		{"a large count", "800104 8080808008 00", "the number of values is too large", false},
		{"the first value is missing", "800104 03", "the first value is cut short", true},
		{"a large first value", "800104 03 8080808010", "the first value is too large", false},
		{"no blocks", "0004 03 00", "blocks of 0 values in 4 miniblocks", false},
		{"no miniblocks", "800100 03 00", "blocks of 128 values in 0 miniblocks", false},
		{"unequal miniblocks", "820104 03 00", "blocks of 130 values in 4 miniblocks", false},
		{"miniblocks of 16", "800108 03 00", "blocks of 128 values in 8 miniblocks", false},
		{"the block is missing", "800104 03 00", "the least delta of a block is cut short", true},
		{"a large delta", "800104 03 00" + strings.Repeat("ff", 11), "the least delta of a block is too large", false},
		{"widths are missing", "800104 03 00 00 000000", "the widths of 4 miniblocks in 3 bytes", true},
		{"a large width", "800104 03 00 00 41000000", "deltas of 65 bits", false},
		{"a miniblock is missing", "800104 03 00 00 01000000 000000", "a miniblock of 32 values of 1 bits in 3 bytes", true},
	} {
		b, err := hex.DecodeString(strings.ReplaceAll(c.bytes, " ", ""))
		testenv.Must(t, err)
		var d encoding.DeltaDecoder[int32]
		if err = d.Reset(b); err == nil {
			_, err = d.Read(make([]int32, 3))
		}
		mustFail(t, c.name, err, c.want, c.cut)
		var s encoding.DeltaLengthDecoder
		mustFail(t, c.name, s.Reset(b), c.want, c.cut)
		var p encoding.DeltaBytesDecoder
		mustFail(t, c.name, p.Reset(b), c.want, c.cut)
		mustFail(t, c.name, p.Reset(slices.Concat(appendInts(nil, make([]int32, 3)), b)), c.want, c.cut)
	}
}

func TestDamagedDeltaBytes(t *testing.T) {
	deltas := appendInts[int32]
	length := func() stringDecoder { return new(encoding.DeltaLengthDecoder) }
	shared := func() stringDecoder { return new(encoding.DeltaBytesDecoder) }
	for _, c := range []struct {
		name  string
		d     func() stringDecoder
		bytes []byte
		want  string
		cut   bool
	}{
		{"negative length", length, append(deltas(nil, []int32{3, -1}), "abcd"...), "a value of -1 bytes", false},
		{"missing bytes", length, append(deltas(nil, []int32{3, 1}), "abc"...), "values of 4 bytes in 3 bytes", true},
		{"many bytes", length, deltas(nil, slices.Repeat([]int32{math.MaxInt32}, 9)), "bytes in 0 bytes", true},
		{"unequal counts", shared, deltas(deltas(nil, []int32{0}), []int32{0, 0}), "1 values share bytes, but 2 have others", false},
		{"negative other", shared, append(deltas(deltas(nil, []int32{0, 0}), []int32{1, -1}), "abc"...), "a value of -1 bytes", false},
		{"missing others", shared, append(deltas(deltas(nil, []int32{0, 0}), []int32{3, 1}), "abc"...), "values of 4 bytes in 3 bytes", true},
		{"negative shared", shared, append(deltas(deltas(nil, []int32{0, -1}), []int32{1, 1}), "ab"...), "a value shares -1 bytes of 1", false},
		{"more shared", shared, append(deltas(deltas(nil, []int32{0, 2}), []int32{1, 1}), "ab"...), "a value shares 2 bytes of 1", false},
	} {
		d := c.d()
		err := d.Reset(c.bytes)
		if err == nil {
			_, _, err = d.Read(nil, nil, 2)
		}
		mustFail(t, c.name, err, c.want, c.cut)
		if err = d.Reset(c.bytes); err == nil {
			err = d.Skip(2)
		}
		mustFail(t, c.name+", skipped", err, c.want, c.cut)
	}
}

// TestManyBytesAreRefused decodes a few bytes that stand for many strings.
func TestManyBytesAreRefused(t *testing.T) {
	const size, n = 1 << 20, 1 << 10
	shared := slices.Repeat([]int32{size}, n+1)
	shared[0] = 0
	others := make([]int32, n+1)
	others[0] = size
	b := append(appendInts(appendInts(nil, shared), others), make([]byte, size)...)
	var d encoding.DeltaBytesDecoder
	testenv.Must(t, d.Reset(b))
	data := make([]byte, 1<<30-3*size, 1<<30+size) // the bytes before are not touched
	if _, _, err := d.Read(nil, data, n+1); err != encoding.ErrFull {
		t.Error(err)
	}
	testenv.Must(t, d.Reset(b), d.Skip(n+1))

	var l encoding.DeltaLengthDecoder
	testenv.Must(t, l.Reset(append(appendInts(nil, []int32{1, 1}), "ab"...)))
	if _, _, err := l.Read([]int32{0, 1<<30 - 1}, data[:1<<30-1], 2); err != encoding.ErrFull {
		t.Error(err)
	}
}

// TestClaimsTakeNoMemory resets decoders with bytes that claim to have many values.
func TestClaimsTakeNoMemory(t *testing.T) {
	b := binary.AppendUvarint([]byte{0x80, 1, 4}, math.MaxInt32)
	b = append(b, 0)
	var d encoding.DeltaDecoder[int64]
	testenv.Must(t, d.Reset(b))
	if n, err := d.Read(make([]int64, 100)); n != 1 || err == nil {
		t.Errorf("%d, %v", n, err)
	}
}
