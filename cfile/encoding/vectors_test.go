package encoding_test

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/cfile/encoding"
)

// words returns UINT32 values.
func words(values ...uint32) []byte {
	var b []byte
	for _, x := range values {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	return b
}

// texts returns BINARY values.
func texts(values ...string) *encoding.Values {
	v := new(encoding.Values)
	for _, s := range values {
		v.AppendBinary([]byte(s))
	}
	return v
}

// bools returns a value for each 0 or 1 of s.
func bools(s string) []byte {
	b := []byte(s)
	for i := range b {
		b[i] -= '0'
	}
	return b
}

// TestVectors encodes whole blocks. Those of runs and the four integers of the
// first group varint are from files of Kudu. The others follow its rules.
func TestVectors(t *testing.T) {
	abc := texts("abc", "", "abd")
	var long []string
	for i := range 17 {
		long = append(long, strings.Repeat("x", i+1))
	}
	many := texts(long...)
	for _, c := range []struct {
		name string
		got  []byte
		want string // hexadecimal
	}{
		{"bits, two repeats", encoding.AppendBits(nil, bools(strings.Repeat("1", 100)+strings.Repeat("0", 100))), "c80101 c80100"},
		{"bits, literals", encoding.AppendBits(nil, bools("0101010101")), "05 aa02"},
		{"bits, a short repeat", encoding.AppendBits(nil, bools("111")), "0601"},
		{"bits, a repeat of nine", encoding.AppendBits(nil, bools("000000000")), "1200"},
		{"bits, two literal runs", encoding.AppendBits(nil, bools(strings.Repeat("01", 300))), "7f" + strings.Repeat("aa", 63) + "19" + strings.Repeat("aa", 12)},
		{"RLE, a short repeat", encoding.AppendRLE(nil, 5, 4, words(7, 7, 7)), "03000000 05000000 0607000000"},
		{"RLE, a literal that is not filled up", encoding.AppendRLE(nil, 0, 4, words(1, 2, 3)), "03000000 00000000 03 01000000 02000000 03000000"},
		{"RLE, none", encoding.AppendRLE(nil, 9, 8, nil), "00000000 09000000"},
		{"RLE BOOL", encoding.AppendRLEBool(nil, 1, bools("111")), "03000000 01000000 0601"},
		{"plain", encoding.AppendPlain(nil, 2, 4, words(1, 0xfffffffe)), "02000000 02000000 01000000 feffffff"},
		{"plain BOOL", encoding.AppendPlainBool(nil, 3, bools("1000000011")), "0a000000 03000000 0103"},
		{"plain BINARY", encoding.AppendPlainBinary(nil, 4, abc.Offsets, abc.Data), "04000000 03000000 12000000 616263616264 00 0c 0f 0f 00"},
		{"plain BINARY, none", encoding.AppendPlainBinary(nil, 4, nil, nil), "04000000 00000000 0c000000"},
		{"prefix", encoding.AppendPrefix(nil, 300, abc.Offsets, abc.Data), "10 03 2c01 10 00 0003616263 0000 0003616264 00000000"},
		{"prefix, none", encoding.AppendPrefix(nil, 0, nil, nil), "00 00 00 10 00 00000000"},
		{
			"prefix, a restart", encoding.AppendPrefix(nil, 0, many.Offsets, many.Data),
			"00 11 00 10 00 000178" + prefixed(15) + "0011" + strings.Repeat("78", 17) + "35000000 01000000",
		},
		{"group varint", encoding.AppendGroupVarint(nil, 6, words(300, 0, 70000, 1)), "00 04 00 06 00 48 2c01 00 701101 01"},
		{"group varint from the least", encoding.AppendGroupVarint(nil, 6, words(1000, 999)), "10 02 e703 06 00 00 01 00 00 00"},
		{"group varint, none", encoding.AppendGroupVarint(nil, 6, nil), "00 00 00 06 00"},
		{"dictionary, plain", encoding.AppendDictPlain(nil, 0, nil, nil), "02000000 00000000 00000000 0c000000"},
	} {
		if got, want := hex.EncodeToString(c.got), strings.ReplaceAll(c.want, " ", ""); got != want {
			t.Errorf("%s: %s; want %s", c.name, got, want)
		}
	}
}

// prefixed returns entries 1 to n of values that are x, xx, xxx, …
func prefixed(n int) string {
	s := ""
	for i := range n {
		s += hex.EncodeToString([]byte{byte(i + 1), 1, 'x'})
	}
	return s
}

// kuduRuns encodes runs one value at a time with a buffer of 8, like Kudu.
type kuduRuns struct {
	width    int // bits
	out      []byte
	buffer   []uint64
	value    uint64
	repeats  int
	literals []uint64 // of the open run
}

func (k *kuduRuns) put(x uint64) {
	if k.repeats > 0 && x == k.value {
		if k.repeats++; k.repeats > 8 {
			return
		}
	} else {
		if k.repeats >= 8 {
			k.closeRepeat()
		}
		k.repeats, k.value = 1, x
	}
	if k.buffer = append(k.buffer, x); len(k.buffer) < 8 {
		return
	}
	if k.repeats >= 8 {
		k.buffer = k.buffer[:0]
		k.closeLiterals()
		return
	}
	k.literals = append(k.literals, k.buffer...)
	k.buffer, k.repeats = k.buffer[:0], 0
	if len(k.literals) == 63*8 {
		k.closeLiterals()
	}
}

func (k *kuduRuns) closeRepeat() {
	k.out = binary.AppendUvarint(k.out, uint64(k.repeats)<<1)
	k.out = append(k.out, binary.LittleEndian.AppendUint64(nil, k.value)[:(k.width+7)/8]...)
	k.buffer, k.repeats = k.buffer[:0], 0
}

func (k *kuduRuns) closeLiterals() {
	if len(k.literals) == 0 {
		return
	}
	k.out = append(k.out, byte((len(k.literals)+7)/8<<1|1))
	packed := make([]byte, (len(k.literals)*k.width+7)/8)
	for i, x := range k.literals {
		for bit := range k.width {
			at := i*k.width + bit
			packed[at/8] |= byte(x>>bit&1) << (at % 8)
		}
	}
	k.out = append(k.out, packed...)
	k.literals = k.literals[:0]
}

func (k *kuduRuns) finish() []byte {
	if len(k.literals) == 0 && k.repeats > 0 && (k.repeats >= 8 || k.repeats == len(k.buffer)) {
		k.closeRepeat()
	}
	k.literals = append(k.literals, k.buffer...)
	k.closeLiterals()
	return k.out
}

// TestRunsAreKudus compares runs with those of kuduRuns.
func TestRunsAreKudus(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for round := range 2000 {
		n, longest := r.IntN(1500), 1+r.IntN(30)
		var values []uint64
		for len(values) < n {
			x := r.Uint64N(3) * 0x0102030405060708
			for range 1 + r.IntN(longest) {
				values = append(values, x)
			}
		}
		for _, width := range []int{1, 8, 16, 32, 64} {
			kudu := kuduRuns{width: width}
			var fixed []byte
			for _, x := range values {
				x &= 1<<width - 1
				kudu.put(x)
				fixed = append(fixed, binary.LittleEndian.AppendUint64(nil, x)[:(width+7)/8]...)
			}
			want := kudu.finish()
			got := encoding.AppendBits(nil, fixed)
			if width > 1 {
				got = encoding.AppendRLE(nil, 0, width/8, fixed)[8:]
			}
			if !slices.Equal(got, want) {
				t.Fatalf("round %d, %d values of %d bits:\n%x; want\n%x", round, len(values), width, got, want)
			}
		}
	}
}
