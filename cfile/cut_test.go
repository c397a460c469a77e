package cfile

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rowtocol/rowtocol/cfile/encoding"
)

// encoderOf returns an encoder for blocks with the options o.
func encoderOf(o Options) *blockEncoder {
	o = o.withDefaults()
	e := &blockEncoder{}
	e.setOptions(&o)
	return e
}

// integers returns n integers or BOOLs, which repeat often.
func integers(r *rand.Rand, t Type, n int) *encoding.Values {
	v := &encoding.Values{}
	var b [16]byte
	for len(v.Fixed) < n*t.Width() {
		binary.LittleEndian.PutUint64(b[:], r.Uint64()>>r.IntN(64))
		binary.LittleEndian.PutUint64(b[8:], r.Uint64()>>r.IntN(64))
		if t.Physical() == Bool {
			b[0] &= 1
		}
		for range 1 + r.IntN(4)*r.IntN(8) {
			v.Fixed = append(v.Fixed, b[:t.Width()]...)
		}
	}
	v.Fixed = v.Fixed[:n*t.Width()]
	return v
}

// randomStrings returns n BINARY values, some with common prefixes.
func randomStrings(r *rand.Rand, n int) *encoding.Values {
	v := &encoding.Values{}
	var word []byte
	for range n {
		word = word[:r.IntN(len(word)+1)]
		for range r.IntN(1 << r.IntN(6)) {
			word = append(word, byte('a'+r.IntN(26)))
		}
		v.AppendBinary(word)
	}
	return v
}

// A block ends at the first value with which its size by Kudu's rule exceeds the block size.
// The size function returns that size from the encoded values.
func TestCut(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const n = 40_000
	for _, c := range []struct {
		o    Options
		size func(v *encoding.Values, n int) int
	}{
		{Options{Type: Int32, Encoding: Plain}, func(v *encoding.Values, n int) int {
			return len(encoding.AppendPlain(nil, 0, 4, v.Fixed[:4*n]))
		}},
		{Options{Type: Bool, Encoding: Plain}, func(v *encoding.Values, n int) int {
			return len(encoding.AppendPlainBool(nil, 0, v.Fixed[:n]))
		}},
		{Options{Type: Int64, Encoding: Bitshuffle}, func(_ *encoding.Values, n int) int {
			return 8*n + 8 // full as soon as no more fits
		}},
		{Options{Type: String, Encoding: Plain}, func(v *encoding.Values, n int) int {
			return len(encoding.AppendPlainBinary(nil, 0, v.Offsets[:n+1], v.Data[:v.Offsets[n]])) - (4-n%4)%4
		}},
		{Options{Type: String, Encoding: Prefix}, func(v *encoding.Values, n int) int {
			b := encoding.AppendPrefix(nil, 0, v.Offsets[:n+1], v.Data[:v.Offsets[n]])
			head := len(encoding.AppendGroupVarint(nil, 16, nil)) + max(0, uvarintLen16(n)-1)
			return len(b) - head - (n-1)/16*4 - 4
		}},
	} {
		v := randomStrings(r, n)
		if c.o.Type != String {
			v = integers(r, c.o.Type, n)
		}
		for _, c.o.BlockSize = range []int{9, 16, 17, 63, 100, 1000, 4000} {
			e := encoderOf(c.o)
			got, full := e.cut(v, 0, n, &coded{})
			if !full || c.size(v, got) <= c.o.BlockSize || got > 1 && c.size(v, got-1) > c.o.BlockSize {
				t.Errorf("%v %v, blocks of %d: %d values, %v", c.o.Type, c.o.Encoding, c.o.BlockSize, got, full)
			}
			if again, full := e.cut(v, 0, got, &coded{}); again != got || !full {
				t.Errorf("%v %v, blocks of %d: %d values if there are no more, %v", c.o.Type, c.o.Encoding, c.o.BlockSize, again, full)
			}
			if less, full := e.cut(v, 0, got-1, &coded{}); less != got-1 || full {
				t.Errorf("%v %v, blocks of %d: %d of %d values, %v", c.o.Type, c.o.Encoding, c.o.BlockSize, less, got-1, full)
			}
		}
	}
}

// uvarintLen16 returns how many bytes n takes in a group varint, up to two.
func uvarintLen16(n int) int {
	if n > 0xff {
		return 2
	}
	return 1
}

// The meter returns the size of exactly the runs that are written.
func TestRunMeterFollowsTheEncoder(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, typ := range []Type{Bool, Int8, Int16, Int32, Int64} {
		width := typ.Width()
		fixed := integers(r, typ, 2500).Fixed
		// Literal runs of more than 63 groups, and runs whose header has two bytes.
		for i := range 4500 {
			fixed = append(fixed, bytes.Repeat([]byte{byte(i) & 1}, width)...)
		}
		fixed = append(fixed, make([]byte, 100*width)...)
		encode := func(n int) int {
			if typ == Bool {
				return len(encoding.AppendRLEBool(nil, 0, fixed[:n]))
			}
			return len(encoding.AppendRLE(nil, 0, width, fixed[:n*width]))
		}
		m := newRunMeter(typ)
		for i := range len(fixed) / width {
			m.put(integer(fixed[i*width:], width))
			switch {
			case m.repeated >= 8:
				if want := encode(i+1) - protowire.SizeVarint(uint64(m.repeated)<<1) - width; m.size != want {
					t.Fatalf("%v, in a run at value %d: %d bytes, want %d", typ, i, m.size, want)
				}
			case m.buffered == 0:
				if want := encode(i + 1); m.size != want {
					t.Fatalf("%v, after a group at value %d: %d bytes, want %d", typ, i, m.size, want)
				}
			}
			if bound := countAndOrdinal + runsBound(typ, i+1); bound < m.size {
				t.Fatalf("%v: %d values take %d bytes, the bound is %d", typ, i+1, m.size, bound)
			}
		}
	}
}

func TestCutOfRuns(t *testing.T) {
	literals := []byte{0, 1, 0, 1, 0, 1, 0, 1} // a group of BOOL values is one byte
	run := make([]byte, 100)
	for _, c := range []struct {
		bools  []byte
		size   int
		values int
		full   bool
	}{
		{literals, 9, 8, true},                             // header 8, run 1, group 1
		{literals, 10, 8, false},                           // not above
		{literals[:7], 9, 7, false},                        // no whole group
		{run, 9, 100, false},                               // the run does not end
		{append(run[:100:100], 1, 1), 9, 101, true},        // the value after it ends it
		{bytes.Repeat(literals, 70), 8 + 64, 64 * 8, true}, // two runs
	} {
		e := encoderOf(Options{Type: Bool, Encoding: RLE, BlockSize: c.size})
		if n, full := e.cut(&encoding.Values{Fixed: c.bools}, 0, len(c.bools), &coded{}); n != c.values || full != c.full {
			t.Errorf("%v, blocks of %d: %d values, %v; want %d, %v", c.bools, c.size, n, full, c.values, c.full)
		}
	}
}

// A value that would make a block too large for readers begins a new block.
func TestCutBeforeAHugeValue(t *testing.T) {
	v := &encoding.Values{}
	v.AppendBinary(make([]byte, 4<<20))
	v.AppendBinary(make([]byte, MaxValue))
	v.AppendBinary(nil)
	for _, enc := range []Encoding{Plain, Prefix} {
		e := encoderOf(Options{Type: Binary, Encoding: enc, BlockSize: maxBlockSize})
		for i := range 2 {
			if n, full := e.cut(v, i, 3-i, &coded{}); n != 1 || !full {
				t.Errorf("%v: %d values from %d on, %v; want 1", enc, n, i, full)
			}
		}
	}
}

func TestCutOfCodes(t *testing.T) {
	v := binaries(make([]string, 10)...)
	for _, c := range []struct {
		first, codes int
		full         bool
		size         int
		values       int
		cut          bool
	}{
		{0, 10, false, 16, 4, true},
		{8, 10, false, 16, 2, false},
		{6, 10, false, 16, 4, true},
		{8, 10, true, 16, 2, true},   // the dictionary is full after them
		{0, 3, true, 16, 3, true},    // strings come next
		{3, 3, true, 18, 5, true},    // strings: 12, a tag and a byte for each, another tag
		{3, 3, true, 100, 7, false},  // fewer than fill a block
		{0, 10, false, 3, 1, true},   // one at least
		{10, 10, false, 3, 0, false}, // none left
		{10, 10, true, 3, 0, false},
	} {
		e := encoderOf(Options{Type: String, Encoding: Dict, BlockSize: c.size})
		n, full := e.cut(v, c.first, 10-c.first, &coded{codes: make([]byte, 4*c.codes), full: c.full})
		if n != c.values || full != c.cut {
			t.Errorf("%+v: %d values, %v", c, n, full)
		}
	}
}

func TestRowsOf(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	valid := make([]byte, 300)
	for i := range valid {
		valid[i] = byte(r.IntN(2))
	}
	n := 0
	for i, v := range valid {
		if n += int(v); v == 1 {
			if got := rowsOf(valid, n); got != i+1 {
				t.Fatalf("%d values are in %d rows, want %d", n, got, i+1)
			}
		}
		if got := countOnes(valid[:i+1]); got != n {
			t.Fatalf("%d ones in %d bytes, want %d", got, i+1, n)
		}
	}
}
