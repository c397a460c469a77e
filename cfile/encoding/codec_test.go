package encoding_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/cfile/encoding"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// codec encodes and decodes values of one type.
type codec struct {
	name   string
	width  int // bytes of a value in Values.Fixed; 0 is BINARY
	bools  bool
	append func(dst []byte, ordinal uint32, v *encoding.Values) []byte
	decode func() encoding.Decoder
}

func codecs() []codec {
	all := []codec{{
		name: "plain BOOL", width: 1, bools: true,
		append: func(dst []byte, ordinal uint32, v *encoding.Values) []byte {
			return encoding.AppendPlainBool(dst, ordinal, v.Fixed)
		},
		decode: encoding.NewPlainBool,
	}, {
		name: "RLE BOOL", width: 1, bools: true,
		append: func(dst []byte, ordinal uint32, v *encoding.Values) []byte {
			return encoding.AppendRLEBool(dst, ordinal, v.Fixed)
		},
		decode: encoding.NewRLEBool,
	}, {
		name: "plain BINARY",
		append: func(dst []byte, ordinal uint32, v *encoding.Values) []byte {
			return encoding.AppendPlainBinary(dst, ordinal, v.Offsets, v.Data)
		},
		decode: encoding.NewPlainBinary,
	}, {
		name: "prefix",
		append: func(dst []byte, ordinal uint32, v *encoding.Values) []byte {
			return encoding.AppendPrefix(dst, ordinal, v.Offsets, v.Data)
		},
		decode: encoding.NewPrefix,
	}, {
		name: "dictionary, plain",
		append: func(dst []byte, ordinal uint32, v *encoding.Values) []byte {
			return encoding.AppendDictPlain(dst, ordinal, v.Offsets, v.Data)
		},
		decode: func() encoding.Decoder { return encoding.NewDict(nil) },
	}, {
		name: "group varint", width: 4,
		append: func(dst []byte, ordinal uint32, v *encoding.Values) []byte {
			return encoding.AppendGroupVarint(dst, ordinal, v.Fixed)
		},
		decode: encoding.NewGroupVarint,
	}}
	for _, width := range []int{1, 2, 4, 8, 16} {
		all = append(all, codec{
			name: fmt.Sprintf("plain of %d bytes", width), width: width,
			append: func(dst []byte, ordinal uint32, v *encoding.Values) []byte {
				return encoding.AppendPlain(dst, ordinal, width, v.Fixed)
			},
			decode: func() encoding.Decoder { return encoding.NewPlain(width) },
		})
		if width == 16 {
			continue
		}
		all = append(all, codec{
			name: fmt.Sprintf("RLE of %d bytes", width), width: width,
			append: func(dst []byte, ordinal uint32, v *encoding.Values) []byte {
				return encoding.AppendRLE(dst, ordinal, width, v.Fixed)
			},
			decode: func() encoding.Decoder { return encoding.NewRLE(width) },
		})
	}
	return all
}

// items returns each value as a string.
func (c *codec) items(v *encoding.Values) []string {
	items := []string{}
	if c.width == 0 {
		for i := range v.BinaryLen() {
			items = append(items, string(v.Binary(i)))
		}
		return items
	}
	for part := range slices.Chunk(v.Fixed, c.width) {
		items = append(items, string(part))
	}
	return items
}

// values returns the values next(0) to next(n-1).
func (c *codec) values(n int, next func(i int) []byte) *encoding.Values {
	v := new(encoding.Values)
	for i := range n {
		value := next(i)
		switch {
		case c.width == 0:
			v.AppendBinary(value)
		case c.bools:
			v.Fixed = append(v.Fixed, value[0]&1)
		default:
			v.Fixed = append(v.Fixed, value[:c.width]...)
		}
	}
	return v
}

// samples returns n values each of several kinds.
func (c *codec) samples(r *rand.Rand, n int) map[string]*encoding.Values {
	word := func(x uint64) []byte {
		b := binary.LittleEndian.AppendUint64(nil, x)
		return binary.LittleEndian.AppendUint64(b, x>>1)
	}
	value, left := word(r.Uint64()), 0
	return map[string]*encoding.Values{
		"zeros":  c.values(n, func(int) []byte { return make([]byte, 16) }),
		"ones":   c.values(n, func(int) []byte { return word(math.MaxUint64) }),
		"rising": c.values(n, func(i int) []byte { return word(uint64(i)) }),
		"random": c.values(n, func(int) []byte {
			b := word(r.Uint64())
			if c.width == 0 {
				b = b[:r.IntN(len(b)+1)]
			}
			return b
		}),
		"extreme": c.values(n, func(int) []byte {
			return word([]uint64{0, 1, math.MaxInt64, 1 << 63, math.MaxUint64, math.MaxUint32, 0x80808080}[r.IntN(7)])
		}),
		"empty and long": c.values(n, func(i int) []byte {
			if c.width > 0 {
				return word(uint64(i % 2))
			}
			return []byte(strings.Repeat("ab", r.IntN(2)*r.IntN(200)))
		}),
		"runs": c.values(n, func(int) []byte {
			if left == 0 {
				value, left = word(r.Uint64()), 1+r.IntN(40)
			}
			left--
			return value
		}),
	}
}

// sizes are the numbers of values in test blocks: around groups of 4 and 8,
// restarts of 16, and literal runs of 63 groups.
var sizes = []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 503, 504, 505, 511, 512, 1000, 5000}

// readAll reads the rest of a block, at most n values at a time.
func (c *codec) readAll(d encoding.Decoder, n int) ([]string, error) {
	items := []string{}
	var v encoding.Values
	for {
		v.Reset()
		read, err := d.Read(&v, n)
		if err == io.EOF {
			return items, nil
		}
		if err != nil {
			return nil, err
		}
		more := c.items(&v)
		if read != len(more) || read < 1 || read > n {
			return nil, fmt.Errorf("Read returned %d of at most %d values, but appended %d", read, n, len(more))
		}
		items = append(items, more...)
	}
}

func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range codecs() {
		d := c.decode() // one for all blocks
		for _, n := range sizes {
			for kind, v := range c.samples(r, n) {
				ordinal := r.Uint32()
				dst := []byte("before")
				body := c.append(dst, ordinal, v)[len(dst):]
				want := c.items(v)
				for _, step := range []int{1, 3, 8, 100, math.MaxInt} {
					if err := d.Reset(body); err != nil {
						t.Fatalf("%s, %d %s: %v", c.name, n, kind, err)
					}
					if d.Count() != n || d.Ordinal() != ordinal {
						t.Errorf("%s, %d %s: %d values from %d; want from %d", c.name, n, kind, d.Count(), d.Ordinal(), ordinal)
					}
					if got, err := c.readAll(d, step); err != nil || !slices.Equal(got, want) {
						t.Errorf("%s, %d %s by %d: %v\n%q; want\n%q", c.name, n, kind, step, err, got, want)
					}
				}
			}
		}
	}
}

// TestSkip skips and reads values in turn.
func TestSkip(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, c := range codecs() {
		d := c.decode()
		for _, n := range sizes {
			for kind, v := range c.samples(r, n) {
				testenv.Must(t, d.Reset(c.append(nil, 0, v)))
				items := c.items(v)
				for len(items) > 0 {
					skip := min(r.IntN(40), len(items))
					if err := d.Skip(skip); err != nil {
						t.Fatalf("%s, %d %s: %v", c.name, n, kind, err)
					}
					items = items[skip:]
					var got encoding.Values
					read, err := d.Read(&got, 1+r.IntN(20))
					if len(items) == 0 && err == io.EOF {
						break
					}
					if err != nil || !slices.Equal(c.items(&got), items[:read]) {
						t.Fatalf("%s, %d %s: %v, %q; want %q", c.name, n, kind, err, c.items(&got), items[:read])
					}
					items = items[read:]
				}
				if _, err := d.Read(new(encoding.Values), 1); err != io.EOF {
					t.Errorf("%s, %d %s: %v; want the end", c.name, n, kind, err)
				}
			}
		}
	}
}

// TestAppends checks that Read appends to earlier values.
func TestAppends(t *testing.T) {
	for _, c := range codecs() {
		next := func(i int) []byte { return []byte(fmt.Sprintf("%016d", i)) }
		all := c.values(40, next)
		d := c.decode()
		testenv.Must(t, d.Reset(c.append(nil, 0, all)))
		var v encoding.Values
		for {
			if _, err := d.Read(&v, 7); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if got, want := c.items(&v), c.items(all); !slices.Equal(got, want) {
			t.Errorf("%s: %q; want %q", c.name, got, want)
		}
	}
}

// TestPartsOfBatches encodes some of a batch's values.
func TestPartsOfBatches(t *testing.T) {
	for _, c := range codecs() {
		if c.width > 0 {
			continue
		}
		v := texts("before", "", "abc", "abd", "after")
		part := &encoding.Values{Offsets: v.Offsets[1:5], Data: v.Data}
		if got, want := c.append(nil, 0, part), c.append(nil, 0, texts("", "abc", "abd")); !slices.Equal(got, want) {
			t.Errorf("%s: %x; want %x", c.name, got, want)
		}
	}
}
