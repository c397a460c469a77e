package encoding_test

import (
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/cfile/encoding"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// dictionaryOf returns a dictionary of words.
func dictionaryOf(t testing.TB, words ...string) *encoding.Dictionary {
	t.Helper()
	v := texts(words...)
	d, err := encoding.NewDictionary(encoding.AppendPlainBinary(nil, 0, v.Offsets, v.Data))
	testenv.Must(t, err)
	return d
}

// codesOf returns a block of codes.
func codesOf(t testing.TB, codes ...uint32) []byte {
	t.Helper()
	body, err := encoding.AppendDictCodes(nil, new(encoding.Shuffler), 77, words(codes...))
	testenv.Must(t, err)
	return body
}

func TestDictionary(t *testing.T) {
	for _, want := range [][]string{{}, {""}, {"a"}, {"abc", "", "d", "ef", "g"}} {
		d := dictionaryOf(t, want...)
		got := []string{}
		for i := range d.Len() {
			got = append(got, string(d.Word(i)))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q; want %q", got, want)
		}
	}
}

// TestDict reads blocks of both modes in turn, and skips some values.
func TestDict(t *testing.T) {
	names := []string{"zero", "", "two", strings.Repeat("three", 100)}
	d := encoding.NewDict(dictionaryOf(t, names...))
	c := codec{}
	plain := texts("x", "", "yy")
	for range 2 {
		if err := drain(d, encoding.AppendDictPlain(nil, 5, plain.Offsets, plain.Data)); err != nil || d.Count() != 3 || d.Ordinal() != 5 {
			t.Errorf("plain: %v, %d values from %d", err, d.Count(), d.Ordinal())
		}
		for _, n := range []int{0, 1, 9, 1023, 1024, 1025, 5000} {
			var codes []uint32
			var want []string
			for i := range n {
				codes = append(codes, uint32(i*i%7%4))
				want = append(want, names[i*i%7%4])
			}
			body := codesOf(t, codes...)
			for skip := 0; skip <= n; skip += 1 + n/5 {
				err := d.Reset(body)
				if err == nil && skip > 0 {
					err = errors.Join(d.Skip(1), d.Skip(skip-1))
				}
				testenv.Must(t, err)
				got, err := c.readAll(d, 700)
				if err != nil || !slices.Equal(got, want[skip:]) || d.Count() != n || d.Ordinal() != 77 {
					t.Errorf("%d words, %d skipped: %v", n, skip, err)
				}
			}
		}
	}
}

// TestSkipsDecodedCodes skips some of the codes that Read has decoded, then
// more.
func TestSkipsDecodedCodes(t *testing.T) {
	d := encoding.NewDict(dictionaryOf(t, "a", "b", "c"))
	codes := make([]uint32, 3000)
	codes[7], codes[2500] = 1, 2
	testenv.Must(t, d.Reset(codesOf(t, codes...)))
	var v encoding.Values
	for _, skip := range []int{0, 6, 2492} {
		testenv.Must(t, d.Skip(skip))
		if n, err := d.Read(&v, 1); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	if string(v.Data) != "abc" {
		t.Errorf("%q; want abc", v.Data)
	}
}

func TestDamagedCodes(t *testing.T) {
	d := encoding.NewDict(dictionaryOf(t, "a"))
	if err := drain(d, codesOf(t, 0, 1)); damageOf(err) != "value at 4" {
		t.Errorf("an unknown word: %v", err)
	}
	body := codesOf(t, 0, 0)
	if err := drain(d, body[:len(body)-1]); damageOf(err) == "<nil>" {
		t.Errorf("a cut block: %v", err)
	} else if e := new(damage.Error); errors.As(err, &e) && e.Offset >= 0 && e.Offset < 4 {
		t.Errorf("a cut block, at %d", e.Offset)
	}
	if err := drain(encoding.NewDict(dictionaryOf(t)), codesOf(t)); err != nil {
		t.Errorf("no words and no codes: %v", err)
	}
}

// TestReadIsBounded asks for all values of blocks whose values take far more
// memory than the blocks.
func TestReadIsBounded(t *testing.T) {
	const limit = 3 << 20 // 1 MiB for a call, the growth of slices, and a long value
	long := strings.Repeat("x", 100_000)
	var entries strings.Builder
	entries.WriteString("00a08d06" + hex.EncodeToString([]byte(long)))
	for range 999 {
		entries.WriteString("a08d06" + "00")
	}
	for _, c := range []struct {
		name string
		d    encoding.Decoder
		body []byte
	}{
		{"a run of 2³¹", encoding.NewRLE(8), unhex("ffffff7f 00000000 feffffff0f 0700000000000000")},
		{"a run of 2³¹ bits", encoding.NewRLEBool(), unhex("ffffff7f 00000000 feffffff0f 01")},
		{"a long prefix", encoding.NewPrefix(), unhex("44 e803 00 e803 00" + entries.String() + "00000000")},
		{"a long word", encoding.NewDict(dictionaryOf(t, long)), codesOf(t, make([]uint32, 1000)...)},
		{"many empty words", encoding.NewDict(dictionaryOf(t, "")), codesOf(t, make([]uint32, 1<<20)...)},
	} {
		if err := c.d.Reset(c.body); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var v encoding.Values
		n, err := c.d.Read(&v, c.d.Count())
		if held := cap(v.Fixed) + cap(v.Data) + 4*cap(v.Offsets); err != nil || n == 0 || held > limit {
			t.Errorf("%s: %d values in %d bytes, %v", c.name, n, held, err)
		}
		if err := c.d.Skip(c.d.Count() - n); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if _, err := c.d.Read(&v, 1); err != io.EOF {
			t.Errorf("%s: %v; want the end", c.name, err)
		}
	}
}
