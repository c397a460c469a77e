package where_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/column"
	"github.com/rowtocol/rowtocol/dataset/where"
	"github.com/rowtocol/rowtocol/shred"
)

const schema = `{"type":"record","name":"R","fields":[
	{"name":"i","type":"int"},
	{"name":"l","type":"long"},
	{"name":"d","type":"double"},
	{"name":"f","type":"float"},
	{"name":"s","type":"string"},
	{"name":"b","type":"boolean"},
	{"name":"e","type":{"type":"enum","name":"E","symbols":["RED","GREEN"]}},
	{"name":"y","type":"bytes"},
	{"name":"oi","type":["null","int"]},
	{"name":"os","type":["null","string"]},
	{"name":"ob","type":["boolean","null"]},
	{"name":"r","type":["null",{"type":"record","name":"S","fields":[
		{"name":"x","type":"long"},{"name":"ox","type":["null","long"]}]}]},
	{"name":"ms","type":{"type":"long","logicalType":"timestamp-millis"}},
	{"name":"day","type":{"type":"int","logicalType":"date"}},
	{"name":"dec","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}},
	{"name":"n","type":"null"},
	{"name":"u","type":["int","string"]},
	{"name":"a","type":{"type":"array","items":"int"}},
	{"name":"in","type":"int"},
	{"name":"x-y","type":"int"}]}`

// row is a row of the batch that the tests look at.
type row struct {
	l      int64
	i      int32
	d      float64
	f      float32
	s      string
	b      bool
	e      int32
	oi     *int32
	os     *string
	ob     *bool
	x      *int64
	ox     *int64
	ms     int64
	day    int32
	in, xy int32
}

func ptr[T any](v T) *T { return &v }

var rows = []row{
	{l: 1, i: -5, d: 0.5, f: 0.1, s: "alpha", b: true, e: 0, oi: ptr(int32(7)), os: ptr("Beta"), ob: ptr(true), x: ptr(int64(3)), ox: ptr(int64(4)), ms: 1735689600000, day: 20089, in: 1},
	{l: 1<<53 + 1, i: 0, d: math.NaN(), f: float32(math.NaN()), s: "", e: 1, ms: 1735689599999, day: 20088, xy: 9},
	{l: math.MaxInt64, i: math.MaxInt32, d: 1 << 53, f: 2, s: "Zoë", b: true, e: 1, oi: ptr(int32(0)), os: ptr(""), ob: ptr(false), x: ptr(int64(-3)), ms: -1, day: -1, in: 1},
	{l: math.MinInt64, i: math.MinInt32, d: math.Inf(-1), f: -2, s: "alphabet", e: 0, oi: ptr(int32(-7)), x: ptr(int64(0)), ox: ptr(int64(0)), ms: 0, day: 0},
	{l: 0, i: 3, d: math.Copysign(0, -1), f: 0, s: "\xff", e: 0, os: ptr("x"), ms: 1, day: 1},
}

// vectors are the rows' columns by name.
func vectors() map[string]*column.Vector {
	v := map[string]*column.Vector{}
	at := func(name string) *column.Vector {
		if v[name] == nil {
			v[name] = &column.Vector{}
		}
		return v[name]
	}
	ints := func(name string, n int32) { c := at(name); c.Ints = append(c.Ints, n) }
	longs := func(name string, n int64) { c := at(name); c.Longs = append(c.Longs, n) }
	text := func(name, s string) {
		c := at(name)
		if len(c.Offsets) == 0 {
			c.Offsets = []int32{0}
		}
		c.Data = append(c.Data, s...)
		c.Offsets = append(c.Offsets, int32(len(c.Data)))
	}
	length := func(name string, there bool) bool {
		c := at(name)
		if there {
			c.Lengths = append(c.Lengths, 1)
		} else {
			c.Lengths = append(c.Lengths, 0)
		}
		return there
	}
	for _, r := range rows {
		ints("i", r.i)
		longs("l", r.l)
		at("d").Doubles = append(at("d").Doubles, r.d)
		at("f").Floats = append(at("f").Floats, r.f)
		text("s", r.s)
		text("y", r.s)
		text("dec", "x")
		at("b").Bools = append(at("b").Bools, r.b)
		ints("e", r.e)
		if length("oi/int", r.oi != nil) {
			ints("oi/int", *r.oi)
		}
		if length("os/string", r.os != nil) {
			text("os/string", *r.os)
		}
		if length("ob/boolean", r.ob != nil) {
			at("ob/boolean").Bools = append(at("ob/boolean").Bools, *r.ob)
		}
		if length("r/S", r.x != nil) {
			longs("r/S#x", *r.x)
			if length("r/S#ox/long", r.ox != nil) {
				longs("r/S#ox/long", *r.ox)
			}
		}
		longs("ms", r.ms)
		ints("day", r.day)
		ints("in", r.in)
		ints("x-y", r.xy)
		at("n").Values++
	}
	return v
}

func mapping(t testing.TB) *shred.Mapping {
	t.Helper()
	s, err := shred.ParseSchema(schema)
	if err != nil {
		t.Fatal(err)
	}
	m, err := shred.Map(s, shred.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// eval returns the rows in which a condition holds, as a string of 0 and 1.
func eval(t testing.TB, text string) (string, error) {
	t.Helper()
	m := mapping(t)
	p, err := where.Parse(text, m)
	if err != nil {
		return "", err
	}
	all := vectors()
	var v []*column.Vector
	for _, col := range p.Columns() {
		v = append(v, all[m.Columns[col].Name])
	}
	match := make([]bool, len(rows))
	if err := p.Eval(v, match); err != nil {
		t.Fatal(err)
	}
	var s strings.Builder
	for _, m := range match {
		if m {
			s.WriteByte('1')
		} else {
			s.WriteByte('0')
		}
	}
	return s.String(), nil
}

func TestConditions(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		// numbers, exactly
		{"l == 1", "10000"}, {"l != 1", "01111"}, {"l < 1", "00011"}, {"l <= 1", "10011"}, {"l > 1", "01100"}, {"1 < l", "01100"},
		{"l == 9007199254740993", "01000"}, {"l == 9007199254740992.0", "00000"}, {"l > 9007199254740992.0", "01100"},
		{"l < 0.5", "00011"}, {"l >= 0.5", "11100"}, {"l == 0.5", "00000"}, {"l != 0.5", "11111"}, {"l < 1e300", "11111"}, {"l > -1e300", "11111"}, {"l >= 1e300", "00000"},
		{"l <= 9223372036854775807", "11111"}, {"l > 9223372036854775807", "00000"}, {"i < -2147483647", "00010"},
		{"d == 9007199254740993", "00000"}, {"d < 9007199254740993", "10111"}, {"d >= 9007199254740991", "00100"}, {"d > 9007199254740993", "00000"},
		{"d == 0", "00001"}, {"d < 0", "00010"}, {"d > -1e308", "10101"}, {"f == 0.1", "00000"}, {"f > 0.1", "10100"}, {"f == 2", "00100"},
		{"l == d", "00001"}, {"l > d", "10110"}, {"i < l", "11100"}, {"d == d", "10111"}, {"d != d", "01000"}, {"not (d == d)", "01000"},
		{"i in [0, 3, 2.0, 2.5]", "01001"}, {"d in [0, 0.5]", "10001"}, {"i in 0..3", "01001"}, {"i in []", "00000"}, {"l in [1, 0.5]", "10000"},
		{"0 < i < 5", "00001"}, {"0 < i + 1 < 5", "01001"}, {"i + 5 == 0", "10000"}, {"i * 2 < l", "11100"}, {"l % 2 == 1", "11100"}, {"10 / i < 0", "10010"}, {"l % i == 0", "00011"}, {"abs(i) == 5", "10000"},
		{"-i == 5", "10000"}, {"l + 1 < l", "00100"},
		// text
		{`s == "alpha"`, "10000"}, {`s < "alpha"`, "01100"}, {`s > "alpha"`, "00011"}, {`s >= "alpha"`, "10011"}, {`y == "Zoë"`, "00100"},
		{`s startsWith "alpha"`, "10010"}, {`s endsWith "bet"`, "00010"}, {`s contains "o"`, "00100"}, {`s matches "^a.*a$"`, "10000"}, {`s not contains "a"`, "01101"},
		{`s in ["", "alpha"]`, "11000"}, {`upper(s) == "ALPHA"`, "10000"}, {`lower(os) == "beta"`, "10000"}, {`len(s) == 3`, "00100"}, {`s + "bet" == "alphabet"`, "10000"},
		{`e == "GREEN"`, "01100"}, {`e > "GREEN"`, "10011"}, {`e contains "E"`, "11111"}, {`e in ["RED"]`, "10011"}, {`"RED" == e`, "10011"}, {`lower(e) == "red"`, "10011"}, {`s == os`, "00000"}, {`s != os`, "10101"},
		{`"alphabet soup" startsWith s`, "11010"},
		// null
		{"oi == 0", "00100"}, {"oi != 0", "10010"}, {"not (oi == 0)", "11011"}, {"oi == null", "01001"}, {"oi != nil", "10110"}, {"null == oi", "01001"}, {"oi < null", "00000"},
		{"n == null", "11111"}, {"n == 1", "00000"}, {"oi + 1 == null", "01001"}, {"oi + 1 > 0", "10100"}, {`os contains ""`, "10101"}, {`os matches ""`, "10101"},
		{"r.x == null", "01001"}, {"r.x >= 0", "10010"}, {"r.ox == null", "01101"}, {"r.ox > 0", "10000"}, {"r.ox < r.x + 2", "10010"}, {"r?.x > 0", "10000"},
		// booleans
		{"b", "10100"}, {"!b", "01011"}, {"b == true", "10100"}, {"b != true", "01011"}, {"ob", "10000"}, {"!ob", "01111"}, {"ob == false", "00100"}, {"ob != true", "00100"}, {"b == ob", "10000"}, {"true", "11111"}, {"false", "00000"},
		{"b && oi > 0", "10000"}, {"b || oi < 0", "10110"}, {"b and not ob", "00100"}, {`hasPrefix(s, "al")`, "10010"}, {"null == null", "11111"}, {"1 < 2", "11111"}, {"null < 2", "00000"},
		// times
		{`ms >= date("2025-01-01")`, "10000"}, {`ms < date("2025-01-01")`, "01111"}, {`ms == date("1970-01-01")`, "00010"}, {`ms < date("1970-01-01T00:00:00.0005Z")`, "00110"},
		{`day == date("2025-01-01")`, "10000"}, {`day > date("1969-12-31")`, "11011"}, {`day >= date("1969-12-31T12:00:00Z")`, "11011"}, {`ms == 0`, "00010"},
		{`ms > date("2025-01-01") - duration("1s")`, "11000"}, {`date("2025-01-01") <= ms`, "10000"},
		// names
		{`$env["in"] == 1`, "10100"}, {`$env["x-y"] == 9`, "01000"}, {`$env["r.x"] == 3`, "10000"},
	} {
		got, err := eval(t, test.text)
		if err != nil || got != test.want {
			t.Errorf("%s: %s, want %s (%v)", test.text, got, test.want, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	for text, reason := range map[string]string{
		"":                         "unexpected token",
		"l ==":                     "unexpected token",
		"l":                        "is an integer and no condition",
		"nothing == 1":             "is no field",
		"ll == 1":                  "did you mean",
		"a == 1":                   "leads to an array",
		"u == 1":                   "several types",
		"r == null":                "is a record",
		`l == "x"`:                 "an integer is not compared with a text",
		`s == 1`:                   "a text is not compared with an integer",
		"b < true":                 "only equal or unequal",
		"dec > 1":                  "a decimal is not compared",
		`ms > "2025-01-01"`:        `write date(`,
		`l > date("2025-01-01")`:   "does not hold times",
		`l > date("x")`:            "invalid date",
		`s matches "("`:            "missing closing",
		`s matches os`:             "must be a constant",
		"i in [l]":                 "no constant",
		"i in l":                   "a list of constants",
		`i in ["x"]`:               "no constant",
		"i in [null]":              "no constant",
		"1 in [1]":                 "a field is asked for",
		"let x = 1; x == l":        "not in a condition",
		"i > 0 ? b : b":            "not in a condition",
		"filter([i], # > 0) == 1":  "no function of simple values",
		"(i ?? 0) == 1":            "not in a condition",
		"[1][i] == 1":              "not in a condition",
		"i == [1]":                 "not compared",
		"s * 2 == 1":               "invalid operation",
		"n + 1 == 1":               "no values to compute with",
		"shout(s) == 1":            "not in a condition",
		"date(s) > 1":              "no function of simple values",
		"99999999999999999999 < l": "out of range",
		strings.Repeat("(", 20000): "",
		strings.Repeat(" ", 1<<21): "at most 1048576 are read",
	} {
		_, err := eval(t, text)
		if err == nil || !strings.Contains(err.Error(), reason) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.80s: %v", text, err)
		}
	}
}

// A condition tells what it demands of columns without nulls.
func TestBounds(t *testing.T) {
	m := mapping(t)
	for text, want := range map[string]string{
		"l > 5 && l <= 9 && b":    "l l",
		"l > 5 || l < 3":          "",
		"!(l > 5)":                "",
		"oi > 5":                  "",
		"l != 5":                  "",
		`s >= "a" && d < 1`:       "s d",
		`s startsWith "a"`:        "s",
		`s contains "a"`:          "",
		"i in [3, 9]":             "i",
		"1 < i < 3":               "i i",
		`e == "RED"`:              "",
		`ms < date("2025-01-01")`: "ms",
	} {
		p, err := where.Parse(text, m)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, b := range p.Bounds() {
			got = append(got, m.Columns[b.Column].Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	p, err := where.Parse("i in [-3, 9]", m)
	if err != nil {
		t.Fatal(err)
	}
	b := p.Bounds()[0]
	for encoded, want := range map[byte]string{7: "before", 5: "within", 18: "within", 20: "after"} {
		got := "within"
		if b.Before([]byte{encoded}) {
			got = "before"
		} else if b.After([]byte{encoded}) {
			got = "after"
		}
		if got != want {
			t.Errorf("%d: %s, want %s", encoded, got, want)
		}
	}
}

// Values that contradict the schema are damage, not a crash.
func TestHostileValues(t *testing.T) {
	m := mapping(t)
	for _, tt := range []struct {
		text   string
		vector column.Vector
	}{
		{`e == "RED"`, column.Vector{Ints: []int32{2}}},
		{`e == "RED"`, column.Vector{Ints: []int32{-1}}},
		{`oi == 1`, column.Vector{Lengths: []int32{2}, Ints: []int32{1, 1}}},
	} {
		p, err := where.Parse(tt.text, m)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Eval([]*column.Vector{&tt.vector}, make([]bool, 1)); err == nil {
			t.Errorf("%s of %v: no error", tt.text, tt.vector)
		}
	}
}

func BenchmarkEval(b *testing.B) {
	m := mapping(b)
	const n = 4096
	v := map[string]*column.Vector{"l": {}, "oi/int": {}, "s": {Offsets: []int32{0}}}
	for i := range n {
		v["l"].Longs = append(v["l"].Longs, int64(i))
		v["oi/int"].Lengths = append(v["oi/int"].Lengths, int32(i&1))
		if i&1 == 1 {
			v["oi/int"].Ints = append(v["oi/int"].Ints, int32(i))
		}
		v["s"].Data = fmt.Append(v["s"].Data, i, "@example.org")
		v["s"].Offsets = append(v["s"].Offsets, int32(len(v["s"].Data)))
	}
	for _, text := range []string{"l > 1000", "l > 1000 && oi != 7", `s contains "9@"`, "l * 2 > 1000", `lower(s) == "x"`} {
		b.Run(text, func(b *testing.B) {
			p, err := where.Parse(text, m)
			if err != nil {
				b.Fatal(err)
			}
			var vectors []*column.Vector
			for _, c := range p.Columns() {
				vectors = append(vectors, v[m.Columns[c].Name])
			}
			match := make([]bool, n)
			for b.Loop() {
				if err := p.Eval(vectors, match); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}
