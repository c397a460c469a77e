package encoding_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rowtocol/rowtocol/cfile/encoding"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// fuzzedValues bounds the values that are read of a block: a run of five bytes
// may have 2³¹.
const fuzzedValues = 5000

// fuzz decodes damaged bodies of a codec. A sound body gives the same values if
// some are skipped, and after they are encoded again.
func fuzz(f *testing.F, name string) {
	all := codecs()
	c := all[slices.IndexFunc(all, func(c codec) bool { return c.name == name })]
	r := rand.New(rand.NewPCG(11, 12))
	for _, n := range []int{0, 1, 9, 40} {
		for _, v := range c.samples(r, n) {
			f.Add(c.append(nil, uint32(n), v))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		d := c.decode()
		v, ok := readSome(t, d, body)
		if !ok {
			return
		}
		want := c.items(v)
		if len(want) != d.Count() {
			t.Fatalf("%d values of %d", len(want), d.Count())
		}
		checkSkips(t, &c, d, body, want)
		again, ok := readSome(t, d, c.append(nil, d.Ordinal(), v))
		if got := c.items(again); !ok || !slices.Equal(got, want) {
			t.Fatalf("encoded again: %q; want %q", got, want)
		}
	})
}

// readSome reads values of a body, and returns true if it read a sound body to
// its end.
func readSome(t *testing.T, d encoding.Decoder, body []byte) (*encoding.Values, bool) {
	v := new(encoding.Values)
	if err := d.Reset(body); err != nil {
		mustBeDamage(t, err)
		return v, false
	}
	for read := 0; read < fuzzedValues; {
		held := len(v.Fixed) + len(v.Data)
		n, err := d.Read(v, 100)
		if err == io.EOF {
			return v, true
		}
		if err != nil {
			mustBeDamage(t, err)
			return v, false
		}
		if more := len(v.Fixed) + len(v.Data) - held; n < 1 || n > 100 || more > 2<<20+len(body) {
			t.Fatalf("%d values in %d bytes", n, more)
		}
		read += n
	}
	return v, false
}

// checkSkips reads and skips 7 values of a body in turn.
func checkSkips(t *testing.T, c *codec, d encoding.Decoder, body []byte, want []string) {
	testenv.Must(t, d.Reset(body))
	for i := 0; i < len(want); i += 14 {
		var v encoding.Values
		n, err := d.Read(&v, min(7, len(want)-i))
		if got := c.items(&v); err != nil || !slices.Equal(got, want[i:i+n]) {
			t.Fatalf("%d: %q, %v; want %q", i, got, err, want[i:i+n])
		}
		testenv.Must(t, d.Skip(min(14-n, len(want)-i-n)))
	}
}

func mustBeDamage(t *testing.T, err error) {
	var d *damage.Error
	if !errors.As(err, &d) {
		t.Fatal(err)
	}
}

func FuzzPlain(f *testing.F)       { fuzz(f, "plain of 2 bytes") }
func FuzzPlainBool(f *testing.F)   { fuzz(f, "plain BOOL") }
func FuzzPlainBinary(f *testing.F) { fuzz(f, "plain BINARY") }
func FuzzRLE(f *testing.F)         { fuzz(f, "RLE of 2 bytes") }
func FuzzRLEBool(f *testing.F)     { fuzz(f, "RLE BOOL") }
func FuzzPrefix(f *testing.F)      { fuzz(f, "prefix") }
func FuzzGroupVarint(f *testing.F) { fuzz(f, "group varint") }

// FuzzDict decodes a damaged dictionary block with a damaged dictionary.
func FuzzDict(f *testing.F) {
	v := texts("a", "", "bc", "def", "ghij")
	block := encoding.AppendPlainBinary(nil, 0, v.Offsets, v.Data)
	f.Add(block, codesOf(f, 0, 4, 1, 2, 3, 4))
	f.Add(block, encoding.AppendDictPlain(nil, 3, v.Offsets, v.Data))
	f.Add(encoding.AppendPlainBinary(nil, 0, nil, nil), codesOf(f))
	f.Fuzz(func(t *testing.T, block, body []byte) {
		words, err := encoding.NewDictionary(block)
		if err != nil {
			mustBeDamage(t, err)
			return
		}
		size := 0
		for i := range words.Len() {
			size += len(words.Word(i))
		}
		if size > len(block) {
			t.Fatalf("words of %d bytes in a block of %d", size, len(block))
		}
		d := encoding.NewDict(words)
		if v, ok := readSome(t, d, body); ok {
			checkSkips(t, &codec{}, d, body, (&codec{}).items(v))
		}
	})
}

// FuzzBits reads and counts bits.
func FuzzBits(f *testing.F) {
	f.Add(encoding.AppendBits(nil, bools("110100001111111111111111110")), uint16(27))
	f.Add(encoding.AppendBits(nil, nil), uint16(0))
	f.Fuzz(func(t *testing.T, body []byte, n uint16) {
		var b encoding.Bits
		var v encoding.Values
		b.Reset(body, int(n))
		for {
			if _, err := b.Read(&v, 100); err == io.EOF {
				break
			} else if err != nil {
				mustBeDamage(t, err)
				return
			}
		}
		b.Reset(body, int(n))
		set := 0
		for _, bit := range v.Fixed {
			set += int(bit)
		}
		if got, err := b.Skip(int(n)); err != nil || got != set || len(v.Fixed) != int(n) {
			t.Fatalf("%d of %d bits are 1, %v; want %d of %d", got, len(v.Fixed), err, set, n)
		}
	})
}
