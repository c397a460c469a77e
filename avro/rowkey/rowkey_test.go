package rowkey_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/avro/rowkey"
	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

const schema = `{"type":"record","name":"R","fields":[
 {"name":"i","type":"int"},{"name":"l","type":"long"},{"name":"f","type":"float"},{"name":"d","type":"double"},
 {"name":"b","type":"boolean"},{"name":"s","type":"string"},{"name":"y","type":"bytes"},
 {"name":"x","type":{"type":"fixed","name":"X","size":2}},{"name":"e","type":{"type":"enum","name":"E","symbols":["zero","one"]}},
 {"name":"n","type":["null","long"]},{"name":"m","type":["string","null"]},
 {"name":"in","type":{"type":"record","name":"In","fields":[{"name":"s","type":"string"}]}},
  {"name":"c","type":{"type":"bytes","logicalType":"decimal","precision":12,"scale":2}},
 {"name":"day","type":{"type":"int","logicalType":"date"}},{"name":"clock","type":{"type":"int","logicalType":"time-millis"}},
 {"name":"at","type":{"type":"long","logicalType":"timestamp-micros"}},{"name":"ns","type":{"type":"long","logicalType":"timestamp-nanos"}},
 {"name":"there","type":["null",{"type":"long","logicalType":"local-timestamp-millis"}]},
 {"name":"dot.ted","type":"int"},{"name":"dot","type":{"type":"record","name":"D","fields":[{"name":"ted","type":"int"},{"name":"x.y","type":"int"}]}},
 {"name":"span","type":{"type":"fixed","name":"Span","size":12,"logicalType":"duration"}},
 {"name":"id","type":{"type":"fixed","name":"ID","size":16,"logicalType":"uuid"}},
 {"name":"list","type":{"type":"array","items":"int"}},{"name":"u","type":["int","string"]},
 {"name":"o","type":["null",{"type":"record","name":"O","fields":[{"name":"s","type":"string"}]}]}]}`

func spec(t testing.TB, paths string) *rowkey.Spec {
	t.Helper()
	parsed, err := shred.ParseSchema(schema)
	testenv.Must(t, err)
	s, err := rowkey.Parse(parsed, paths)
	testenv.Must(t, err)
	return s
}

func TestParse(t *testing.T) {
	parsed, err := shred.ParseSchema(schema)
	testenv.Must(t, err)
	for paths, want := range map[string]string{
		"i": "", "in.s,l": "", "n,m": "",
		"":        "without a name",
		"i,":      "without a name",
		"none":    "the fields are i, l, f, d, b, s, y, x, e, n, …",
		"in.x":    "the fields of in are s",
		"i.j":     `"i" is an int, which has no field "j"`,
		"list":    `"list" is an array`,
		"in":      `"in" is a record`,
		"u":       `"u" is a union`,
		"dot.ted": "has a dot", "dot.x.y": `"x.y" has a dot`, "dot.x": `no field "dot.x"`,
		"o.s":   `"o" is a union, which has no field "s"`,
		"i,l,i": "twice",
	} {
		s, err := rowkey.Parse(parsed, paths)
		switch {
		case want == "" && (err != nil || s.String() != paths):
			t.Errorf("%q: %v, %v", paths, s, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v, want %q", paths, err, want)
		}
	}
}

// Avro encodings of values.
func long(n int64) []byte     { return binary.AppendVarint(nil, n) }
func text(s string) []byte    { return append(long(int64(len(s))), s...) }
func double(d float64) []byte { return binary.LittleEndian.AppendUint64(nil, math.Float64bits(d)) }
func float(d float32) []byte  { return binary.LittleEndian.AppendUint32(nil, math.Float32bits(d)) }

// unscaled encodes a decimal in four bytes.
func unscaled(n int32) []byte { return text(string(binary.BigEndian.AppendUint32(nil, uint32(n)))) }

func key(t testing.TB, s *rowkey.Spec, values ...[]byte) []byte {
	t.Helper()
	k, ok := s.Append([]byte("before"), values)
	if !ok {
		t.Fatal("no key")
	}
	return bytes.TrimPrefix(k, []byte("before"))
}

// checkAscending checks that each key is less than the next.
func checkAscending(t *testing.T, name string, keys ...[]byte) {
	t.Helper()
	for i := 1; i < len(keys); i++ {
		if bytes.Compare(keys[i-1], keys[i]) >= 0 {
			t.Errorf("%s: key %d is % x, the next % x", name, i-1, keys[i-1], keys[i])
		}
	}
}

func TestOrder(t *testing.T) {
	var longs, ints, doubles, floats, strings, fixed, decimals [][]byte
	for _, n := range []int64{math.MinInt64, math.MinInt32, -300, -1, 0, 1, 127, 128, math.MaxInt32, math.MaxInt64} {
		longs = append(longs, key(t, spec(t, "l"), long(n)))
		if int64(int32(n)) == n {
			ints = append(ints, key(t, spec(t, "i"), long(n)))
		}
	}
	for _, d := range []float64{math.Inf(-1), -math.MaxFloat64, -1.5, -math.SmallestNonzeroFloat64, 0, math.SmallestNonzeroFloat64, 1.5, math.MaxFloat64, math.Inf(1), math.NaN()} {
		doubles = append(doubles, key(t, spec(t, "d"), double(d)))
		if f := float32(d); float64(f) == d || d != d {
			floats = append(floats, key(t, spec(t, "f"), float(f)))
		}
	}
	for _, s := range []string{"", "\x00", "\x00\x00", "\x00\x01", "\x01", "a", "a\x00", "a\x00b", "a\x01", "ab", "b", "\xFF"} {
		strings = append(strings, key(t, spec(t, "s,i"), text(s), long(-1)), key(t, spec(t, "s,i"), text(s), long(7)))
	}
	for _, x := range []string{"aa", "ab", "b\x00"} {
		fixed = append(fixed, key(t, spec(t, "x,b"), []byte(x), []byte{0}), key(t, spec(t, "x,b"), []byte(x), []byte{1}))
	}
	checkAscending(t, "longs", longs...)
	checkAscending(t, "ints", ints...)
	checkAscending(t, "doubles", doubles...)
	checkAscending(t, "floats", floats...)
	for _, n := range []int32{math.MinInt32, -1 << 24, -40000, -129, -128, -37, -1, 0, 1, 127, 128, 255, 256, 40000, 1 << 24, math.MaxInt32} {
		decimals = append(decimals, key(t, spec(t, "c,i"), unscaled(n), long(-1)), key(t, spec(t, "c,i"), unscaled(n), long(1)))
	}
	checkAscending(t, "decimals and ints", decimals...)
	checkAscending(t, "text and ints", strings...)
	checkAscending(t, "fixed and booleans", fixed...)
	checkAscending(t, "symbols", key(t, spec(t, "e"), long(1)), key(t, spec(t, "e"), long(0)))
	if a, b := key(t, spec(t, "d"), double(0)), key(t, spec(t, "d"), double(math.Copysign(0, -1))); !bytes.Equal(a, b) {
		t.Errorf("the key of 0 is % x, that of -0 % x", a, b)
	}
	if a, b := key(t, spec(t, "i"), long(-7)), key(t, spec(t, "l"), long(-7)); !bytes.Equal(a, b) {
		t.Errorf("the key of an int is % x, that of a long % x", a, b)
	}
	if got := key(t, spec(t, "in.s"), text("as it\x00 is")); string(got) != "as it\x00 is" {
		t.Errorf("%q", got)
	}
}

// TestRandomOrder compares random rows of two texts and a number: the order of their keys
// is that of their values.
func TestRandomOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	s := spec(t, "s,y,l")
	word := func() string {
		b := make([]byte, random.IntN(4))
		for i := range b {
			b[i] = []byte{0, 1, 'a', 0xFF}[random.IntN(4)]
		}
		return string(b)
	}
	for range 5000 {
		var values [2][2]string
		var keys [2][]byte
		var number [2]int64
		for i := range keys {
			values[i] = [2]string{word(), word()}
			number[i] = int64(random.IntN(5) - 2)
			keys[i] = key(t, s, text(values[i][0]), text(values[i][1]), long(number[i]))
		}
		want := cmp.Or(cmp.Compare(values[0][0], values[1][0]), cmp.Compare(values[0][1], values[1][1]), cmp.Compare(number[0], number[1]))
		if got := bytes.Compare(keys[0], keys[1]); got != want {
			t.Fatalf("%q %d and %q %d compare as %d", values[0], number[0], values[1], number[1], got)
		}
	}
}

func TestNull(t *testing.T) {
	s := spec(t, "n,m")
	value, none := append(long(1), long(5)...), long(0)
	name, null := append(long(0), text("x")...), long(1)
	for _, c := range []struct {
		values [][]byte
		ok     bool
	}{{[][]byte{value, name}, true}, {[][]byte{none, name}, false}, {[][]byte{value, null}, false}} {
		k, ok := s.Append([]byte("kept"), c.values)
		if ok != c.ok || !ok && string(k) != "kept" {
			t.Errorf("%v: %q, %v", c.values, k, ok)
		}
	}
}

func TestTexts(t *testing.T) {
	for _, c := range []struct {
		paths, text string
		want        []byte // a key of the values
		in, out     [][]byte
	}{
		{paths: "l", text: "-7", in: [][]byte{key(t, spec(t, "l"), long(-7))}, out: [][]byte{key(t, spec(t, "l"), long(-6))}},
		{paths: "s", text: "a,b", in: [][]byte{[]byte("a,b")}, out: [][]byte{[]byte("a,b\x00"), []byte("a")}},
		{paths: "s", text: `["a\nb"]`, in: [][]byte{[]byte("a\nb")}, out: [][]byte{[]byte(`["a\nb"]`)}},
		{paths: "s", text: `["[1]"]`, in: [][]byte{[]byte("[1]")}, out: [][]byte{[]byte("1")}},
		{paths: "s", text: `["a","b"]`, in: [][]byte{[]byte(`["a","b"]`)}},
		{paths: "s", text: "[a", in: [][]byte{[]byte("[a")}},
		{paths: "l", text: "[7]", in: [][]byte{key(t, spec(t, "l"), long(7))}},
		{paths: "d", text: "1e3", in: [][]byte{key(t, spec(t, "d"), double(1000))}},
		{paths: "f", text: "0.1", in: [][]byte{key(t, spec(t, "f"), float(0.1))}},
		{paths: "f", text: "-Infinity", in: [][]byte{key(t, spec(t, "f"), float(float32(math.Inf(-1))))}},
		{paths: "b", text: "true", in: [][]byte{{1}}, out: [][]byte{{0}}},
		{paths: "b", text: "false", in: [][]byte{{0}}, out: [][]byte{{1}}},
		{paths: "y", text: "Yf8=", in: [][]byte{{'a', 0xFF}}, out: [][]byte{[]byte("Yf8=")}},
		{paths: "y", text: "x'61fF'", in: [][]byte{{'a', 0xFF}}},
		{paths: "x", text: "AP8=", in: [][]byte{{0, 0xFF}}},
		{paths: "c", text: "-0.37", in: [][]byte{key(t, spec(t, "c"), unscaled(-37)), key(t, spec(t, "c"), text("\xFF\xFF\xDB"))}, out: [][]byte{key(t, spec(t, "c"), unscaled(37))}},
		{paths: "c", text: "1.5", in: [][]byte{key(t, spec(t, "c"), unscaled(150))}},
		{paths: "c", text: "0", in: [][]byte{key(t, spec(t, "c"), text("")), key(t, spec(t, "c"), text("\x00"))}},
		{paths: "c", text: "-12345678.9000", in: [][]byte{key(t, spec(t, "c"), unscaled(-1234567890))}},
		{paths: "day", text: "1970-01-03", in: [][]byte{key(t, spec(t, "day"), long(2))}},
		{paths: "day", text: "-2", in: [][]byte{key(t, spec(t, "day"), long(-2))}},
		{paths: "clock", text: "01:00:00.007", in: [][]byte{key(t, spec(t, "clock"), long(3600007))}},
		{paths: "at", text: "1969-12-31T23:59:59.999999Z", in: [][]byte{key(t, spec(t, "at"), long(-1))}},
		{paths: "at", text: "1970-01-01T01:00:00+01:00", in: [][]byte{key(t, spec(t, "at"), long(0))}},
		{paths: "ns", text: "1970-01-01T00:00:01.000000007Z", in: [][]byte{key(t, spec(t, "ns"), long(1e9+7))}},
		{paths: "there", text: "1970-01-01T00:00:01.5", in: [][]byte{key(t, spec(t, "there"), append(long(1), long(1500)...))}},
		{paths: "e", text: "one", in: [][]byte{[]byte("one")}},
		{paths: "s,l", text: "a,5", in: [][]byte{key(t, spec(t, "s,l"), text("a"), long(5))}, out: [][]byte{key(t, spec(t, "s,l"), text("a"), long(6))}},
		{paths: "s,l", text: `["a,b", 5]`, in: [][]byte{key(t, spec(t, "s,l"), text("a,b"), long(5))}},
		{paths: "s,l", text: "a", in: [][]byte{key(t, spec(t, "s,l"), text("a"), long(5)), key(t, spec(t, "s,l"), text("a"), long(-5))}, out: [][]byte{key(t, spec(t, "s,l"), text("ab"), long(5))}},
	} {
		r, err := spec(t, c.paths).Exactly(c.text)
		if err != nil {
			t.Errorf("%s %s: %v", c.paths, c.text, err)
			continue
		}
		for _, k := range c.in {
			if !contains(r, k) {
				t.Errorf("%s %s: % x is not in % x", c.paths, c.text, k, r)
			}
		}
		for _, k := range c.out {
			if contains(r, k) {
				t.Errorf("%s %s: % x is in % x", c.paths, c.text, k, r)
			}
		}
	}
	for _, c := range [][2]string{
		{"l", "x"}, {"l", "1.5"}, {"i", "2147483648"}, {"b", "yes"}, {"e", "two"}, {"x", "YWJj"}, {"x", "a"}, {"y", "aÿ"}, {"y", "x'0'"},
		{"c", "0.123"}, {"c", "1e3"}, {"c", "+1"}, {"c", "--1"}, {"c", "-"}, {"c", ""}, {"c", "."}, {"c", "1.2.3"}, {"c", strings.Repeat("9", 20_000)},
		{"day", "1970-02-30"}, {"day", "31.1.1970"}, {"clock", "25:00:00"}, {"clock", "01:00:00.0001"}, {"at", "1970-01-01"}, {"there", "1970-01-01T00:00:00Z"}, {"ns", "9999-01-01T00:00:00Z"}, {"d", "one"}, {"d", "1_0"}, {"d", "1e999"}, {"f", "1e300"},
		{"s,l", "a,5,6"}, {"s,l", "[1"}, {"s,l", "[[1]]"}, {"s,l", "[]"}, {"s,l", `["a"] 1`}, {"s,l", "a,b"},
	} {
		if r, err := spec(t, c[0]).Exactly(c[1]); err == nil {
			t.Errorf("%s %s: % x", c[0], c[1], r)
		}
	}
}

func contains(r rowkey.Range, key []byte) bool {
	return bytes.Compare(r.From, key) <= 0 && (r.To == nil || bytes.Compare(key, r.To) < 0)
}

func TestPrefixesAndRanges(t *testing.T) {
	s := spec(t, "s")
	for prefix, keys := range map[string][2]string{"ab": {"ab abc ab\xFF", "aa b a"}, "\xFF": {"\xFF \xFF\xFF", "a"}, "": {"a \xFF", ""}} {
		r, err := s.Beginning(prefix)
		testenv.Must(t, err)
		for i, words := range keys {
			for _, k := range strings.Fields(words) {
				if contains(r, []byte(k)) != (i == 0) {
					t.Errorf("prefix %q: %q, range %q", prefix, k, r)
				}
			}
		}
	}
	composite := spec(t, "s,m")
	name := func(s string) []byte { return append(long(0), text(s)...) }
	for prefix, c := range map[string]struct {
		first, second string
		in            bool
	}{"a": {"ab", "x", true}, `["a","x"]`: {"a", "xy", true}, `["a","y"]`: {"a", "xy", false}, `["b"]`: {"a", "b", false}} {
		r, err := composite.Beginning(prefix)
		if err != nil || contains(r, key(t, composite, text(c.first), name(c.second))) != c.in {
			t.Errorf("prefix %s: % x, %v", prefix, r, err)
		}
	}
	for _, number := range []string{"l", "c"} {
		if _, err := spec(t, number).Beginning("1"); err == nil {
			t.Errorf("%s has a prefix", number)
		}
	}
	if r, err := spec(t, "x").Beginning("x'61'"); err != nil || !contains(r, []byte("az")) {
		t.Errorf("% x, %v", r, err)
	}
	l := spec(t, "l")
	r, err := l.Between("-5", "7")
	testenv.Must(t, err)
	for n := int64(-7); n < 10; n++ {
		if contains(r, key(t, l, long(n))) != (n >= -5 && n <= 7) {
			t.Errorf("%d in the range: %v", n, fmt.Sprintf("% x", r))
		}
	}
	if r, err := l.Between("7", "-5"); err == nil {
		t.Errorf("from 7 to -5: % x", r)
	}
	if r, err := l.Between("", ""); err != nil || r.From != nil || r.To != nil {
		t.Errorf("% x, %v", r, err)
	}
}

// Durations can be found by their keys, but have no order.
func TestDurationsHaveNoOrder(t *testing.T) {
	for _, fields := range []string{"span", "span,i"} {
		d := spec(t, fields)
		if _, err := d.Exactly("P1M0DT0.000S"); err != nil {
			t.Error(err)
		}
		for _, bounds := range [][2]string{{"P1M0DT0.000S", ""}, {"", "P1M0DT0.000S"}} {
			if r, err := d.Between(bounds[0], bounds[1]); err == nil || !strings.Contains(err.Error(), "no order") {
				t.Errorf("%s: %q: % x, %v", fields, bounds, r, err)
			}
		}
	}
	if _, err := spec(t, "span").Beginning("P1M"); err == nil || !strings.Contains(err.Error(), "duration, which has no prefixes") {
		t.Error(err)
	}
}

// A prefix of a UUID is written as the UUID is printed.
func TestPrefixOfUUID(t *testing.T) {
	s := spec(t, "id")
	id := key(t, s, []byte("\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab\xcd\xef"))
	for _, prefix := range []string{"01", "01234567", "01234567-", "01234567-89ab-cd"} {
		if r, err := s.Beginning(prefix); err != nil || !contains(r, id) {
			t.Errorf("%s: % x, %v", prefix, r, err)
		}
	}
	for _, prefix := range []string{"0", "AAAA=", "uuid"} {
		if r, err := s.Beginning(prefix); err == nil {
			t.Errorf("%s: % x", prefix, r)
		}
	}
}

// NaN can be found by its key, but is in no range.
func TestNaN(t *testing.T) {
	for _, fields := range []string{"d", "d,i"} {
		d := spec(t, fields)
		values := func(f float64) [][]byte { return [][]byte{double(f), long(1)}[:len(d.Paths())] }
		nan := key(t, d, values(math.NaN())...)
		if r, err := d.Exactly("NaN"); err != nil || !contains(r, nan) || contains(r, key(t, d, values(math.Inf(1))...)) {
			t.Errorf("%s: key NaN: % x, %v", fields, r, err)
		}
		for _, bounds := range [][2]string{{"", ""}, {"1e300", ""}, {"", "inf"}, {"-inf", "inf"}} {
			r, err := d.Between(bounds[0], bounds[1])
			if err != nil || !contains(r, key(t, d, values(math.Inf(1))...)) || contains(r, nan) {
				t.Errorf("%s: %q: % x, %v", fields, bounds, r, err)
			}
		}
	}
	for fields, bounds := range map[string][][2]string{
		"d":   {{"NaN", ""}, {"", "nan"}, {"NaN", "NaN"}, {"5", "NaN"}, {`["NaN"]`, ""}},
		"d,i": {{"NaN,1", ""}, {"", `["NaN",1]`}}, "l,d": {{"1,NaN", ""}, {"", "2,NaN"}},
	} {
		for _, b := range bounds {
			if r, err := spec(t, fields).Between(b[0], b[1]); err == nil || !strings.Contains(err.Error(), "NaN is in no range") {
				t.Errorf("%s: %q: % x, %v", fields, b, r, err)
			}
		}
	}
	if r, err := spec(t, "s").Between("NaN", "NaO"); err != nil || !contains(r, key(t, spec(t, "s"), text("NaN"))) {
		t.Errorf("the text NaN: % x, %v", r, err)
	}
}

func FuzzText(f *testing.F) {
	for _, text := range []string{"", "a", "1", "-1.5", "true", `["a",1]`, "a,1", "[", "NaN"} {
		f.Add("s,l", text)
		f.Add("d", text)
	}
	parsed, err := shred.ParseSchema(schema)
	testenv.Must(f, err)
	f.Fuzz(func(t *testing.T, paths, text string) {
		s, err := rowkey.Parse(parsed, paths)
		if err != nil {
			return
		}
		r, err := s.Exactly(text)
		if err == nil && !contains(r, r.From) {
			t.Errorf("%q of %s: % x does not contain its first key", text, paths, r)
		}
		_, _ = s.Beginning(text)
	})
}

func TestParseAll(t *testing.T) {
	parsed, err := shred.ParseSchema(schema)
	testenv.Must(t, err)
	if all, err := rowkey.ParseAll(parsed, []string{"i", "i,l", "l,i"}); err != nil || len(all) != 3 || all[2].String() != "l,i" {
		t.Errorf("%v, %v", all, err)
	}
	for _, keys := range [][]string{{"i", "l", "i"}, {"i,l", "i,l"}, {"i", "missing"}} {
		if _, err := rowkey.ParseAll(parsed, keys); err == nil {
			t.Errorf("%q is accepted", keys)
		}
	}
}

func TestCutRange(t *testing.T) {
	for text, want := range map[string][2]string{
		"1..2":                {"1", "2"},
		"..2":                 {"", "2"},
		"1..":                 {"1", ""},
		"..":                  {"", ""},
		`["a..b",1]..["c",2]`: {`["a..b",1]`, `["c",2]`},
		`["a"]..["b..c"]`:     {`["a"]`, `["b..c"]`},
		`["a..b"]..`:          {`["a..b"]`, ""},
		`..["a..b"]`:          {"", `["a..b"]`},
		`[a..b`:               {"[a", "b"},
		`["a"]x..b`:           {`["a"]x`, "b"},
		`it"s..b`:             {`it"s`, "b"},
	} {
		if from, to, ok := rowkey.CutRange(text); !ok || from != want[0] || to != want[1] {
			t.Errorf("%s: from %q to %q, %v", text, from, to, ok)
		}
	}
	for _, text := range []string{"", "1.2", `["a",1]`, "a..b..c", "a...b", "Works.  ... IMBA...", "....", `["a"]..b..c`, "..[b..c"} {
		if from, to, ok := rowkey.CutRange(text); ok {
			t.Errorf("%s is a range from %q to %q", text, from, to)
		}
	}
}
