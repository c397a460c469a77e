package where_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/dataset/where"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/testenv"
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
	{"name":"x-y","type":"int"},
	{"name":"uid","type":{"type":"string","logicalType":"uuid"}},
	{"name":"clock","type":["null",{"type":"int","logicalType":"time-millis"}]},
	{"name":"local","type":{"type":"long","logicalType":"local-timestamp-micros"}},
	{"name":"tags","type":["null",{"type":"array","items":["null","string"]}]},
	{"name":"m","type":{"type":"map","values":["null","int"]}},
	{"name":"hops","type":{"type":"array","items":{"type":"record","name":"Hop","fields":[
		{"name":"host","type":"string"},{"name":"ports","type":{"type":"array","items":"int"}}]}}}]}`

// row is a row of the tests' batch.
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
	dec    string // two's complement
	uid    string
	clock  *int32
	local  int64
	u      any // int32 or string
	a      []int32
	tags   []*string // nil is null
	m      []entry
	hops   []hop
}

type entry struct {
	key   string
	value *int32
}

type hop struct {
	host  string
	ports []int32
}

func ptr[T any](v T) *T { return &v }

var rows = []row{
	{l: 1, i: -5, d: 0.5, f: 0.1, s: "alpha", b: true, e: 0, oi: ptr(int32(7)), os: ptr("Beta"), ob: ptr(true), x: ptr(int64(3)), ox: ptr(int64(4)), ms: 1735689600000, day: 20089, in: 1,
		dec: "\x04\xd2", uid: "123e4567-e89b-12d3-a456-426614174000", clock: ptr(int32(45_000_000)), u: int32(5), a: []int32{1, 2}, tags: []*string{ptr("x"), nil}, m: []entry{{"k", ptr(int32(1))}, {"k", ptr(int32(2))}},
		hops: []hop{{"one", []int32{80, 443}}, {"two", nil}}},
	{l: 1<<53 + 1, i: 0, d: math.NaN(), f: float32(math.NaN()), s: "", e: 1, ms: 1735689599999, day: 20088, xy: 9, u: "five", m: []entry{{"k", ptr(int32(1))}, {"k", nil}}, uid: "123E4567-E89B-12D3-A456-426614174000"},
	{l: math.MaxInt64, i: math.MaxInt32, d: 1 << 53, f: 2, s: "Zoë", b: true, e: 1, oi: ptr(int32(0)), os: ptr(""), ob: ptr(false), x: ptr(int64(-3)), ms: -1, day: -1, in: 1,
		dec: "\xff", u: int32(-1), tags: []*string{}, a: []int32{-1}, hops: []hop{{"three", []int32{22}}}, local: 1735689600000000},
	{l: math.MinInt64, i: math.MinInt32, d: math.Inf(-1), f: -2, s: "alphabet", e: 0, oi: ptr(int32(-7)), x: ptr(int64(0)), ox: ptr(int64(0)), ms: 0, day: 0,
		dec: "\x00\x00\x04\xd3", u: "", tags: []*string{nil}, m: []entry{{"j", ptr(int32(1))}}, clock: ptr(int32(0)), local: -1},
	{l: 0, i: 3, d: math.Copysign(0, -1), f: 0, s: "\xff", e: 0, os: ptr("x"), ms: 1, day: 1, u: int32(0), a: []int32{2, 3}, hops: []hop{{"one", []int32{22}}}},
}

// vectors returns the rows' columns by name.
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
		text("dec", r.dec)
		text("uid", r.uid)
		longs("local", r.local)
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
		if length("clock/int", r.clock != nil) {
			ints("clock/int", *r.clock)
		}
		if n, ok := r.u.(int32); length("u/int", ok) {
			ints("u/int", n)
		}
		if s, ok := r.u.(string); length("u/string", ok) {
			text("u/string", s)
		}
		at("a[]").Lengths = append(at("a[]").Lengths, int32(len(r.a)))
		for _, n := range r.a {
			ints("a[]", n)
		}
		if length("tags/array", r.tags != nil) {
			at("tags/array[]").Lengths = append(at("tags/array[]").Lengths, int32(len(r.tags)))
		}
		for _, tag := range r.tags {
			if length("tags/array[]/string", tag != nil) {
				text("tags/array[]/string", *tag)
			}
		}
		at("m>").Lengths = append(at("m>").Lengths, int32(len(r.m)))
		for _, e := range r.m {
			if text("m>key", e.key); length("m>value/int", e.value != nil) {
				ints("m>value/int", *e.value)
			}
		}
		at("hops[]").Lengths = append(at("hops[]").Lengths, int32(len(r.hops)))
		for _, h := range r.hops {
			text("hops[]#host", h.host)
			at("hops[]#ports[]").Lengths = append(at("hops[]#ports[]").Lengths, int32(len(h.ports)))
			for _, n := range h.ports {
				ints("hops[]#ports[]", n)
			}
		}
	}
	return v
}

func mapping(t testing.TB) *shred.Mapping {
	t.Helper()
	m := avrotest.Map(t, schema)
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
	p.Eval(v, match)
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
		{"d == 0", "00001"}, {"d < 0", "00010"}, {"d > -1e308", "10101"}, {"f == 0.1", "10000"}, {"f > 0.1", "00100"}, {"f == 0.1 + 0.0", "00000"}, {"f != 0.1", "01111"}, {"f < 1e300", "10111"}, {"f == 2", "00100"},
		{"l == d", "00001"}, {"l > d", "10110"}, {"i < l", "11100"}, {"d == d", "10111"}, {"d != d", "01000"}, {"not (d == d)", "01000"},
		{"i in [0, 3, 2.0, 2.5]", "01001"}, {"d in [0, 0.5]", "10001"}, {"i in 0..3", "01001"}, {"i in []", "00000"}, {"l in [1, 0.5]", "10000"},
		{"0 < i < 5", "00001"}, {"0 < i + 1 < 5", "01001"}, {"i + 5 == 0", "10000"}, {"i * 2 < l", "11100"}, {"l % 2 == 1", "11100"}, {"10 / i < 0", "10010"}, {"l % i == 0", "00011"}, {"abs(i) == 5", "10000"},
		{"-i == 5", "10000"}, {"l + 1 < l", "00100"},
		// text
		{`s == "alpha"`, "10000"}, {`s < "alpha"`, "01100"}, {`s > "alpha"`, "00011"}, {`s >= "alpha"`, "10011"}, {`y = x'5A6fC3AB'`, "00100"},
		{`s startsWith "alpha"`, "10010"}, {`s endsWith "bet"`, "00010"}, {`s contains "o"`, "00100"}, {`s matches "^a.*a$"`, "10000"}, {`s not contains "a"`, "01101"},
		{`s in ["", "alpha"]`, "11000"}, {`upper(s) == "ALPHA"`, "10000"}, {`lower(os) == "beta"`, "10000"}, {`len(s) == 3`, "00100"}, {`s + "bet" == "alphabet"`, "10000"},
		{`e == "GREEN"`, "01100"}, {`e > "GREEN"`, "10011"}, {`e contains "E"`, "11111"}, {`e in ["RED"]`, "10011"}, {`"RED" == e`, "10011"}, {`lower(e) == "red"`, "10011"}, {`s == os`, "00000"}, {`s != os`, "10101"},
		{`"alphabet soup" startsWith s`, "11010"},
		// null
		{"oi == 0", "00100"}, {"oi != 0", "10010"}, {"not (oi == 0)", "10010"}, {"oi == null", "01001"}, {"oi != nil", "10110"}, {"null == oi", "01001"},
		{"n == null", "11111"}, {"oi + 1 == null", "01001"}, {"oi + 1 > 0", "10100"}, {`os contains ""`, "10101"}, {`os matches ""`, "10101"},
		{"r.x == null", "01001"}, {"r.x >= 0", "10010"}, {"r.ox == null", "01101"}, {"r.ox > 0", "10000"}, {"r.ox < r.x + 2", "10010"}, {"r?.x > 0", "10000"},
		// booleans
		{"b", "10100"}, {"!b", "01011"}, {"b == true", "10100"}, {"b != true", "01011"}, {"ob", "10000"}, {"!ob", "00100"}, {"ob == false", "00100"}, {"ob != true", "00100"}, {"b == ob", "10000"}, {"true", "11111"}, {"false", "00000"},
		{"b && oi > 0", "10000"}, {"b || oi < 0", "10110"}, {"b and not ob", "00100"}, {`hasPrefix(s, "al")`, "10010"},
		// times
		{`ms >= date("2025-01-01")`, "10000"}, {`ms < date("2025-01-01")`, "01111"}, {`ms == date("1970-01-01")`, "00010"}, {`ms < date("1970-01-01T00:00:00.0005Z")`, "00110"},
		{`day == date("2025-01-01")`, "10000"}, {`day > date("1969-12-31")`, "11011"}, {`day >= date("1969-12-31T12:00:00Z")`, "11011"}, {`ms == 0`, "00010"},
		{`ms > date("2025-01-01") - duration("1s")`, "11000"}, {`date("2025-01-01") <= ms`, "10000"},
		// the syntax of SQL
		{"l = 1", "10000"}, {"l <> 1", "01111"}, {"l = 1 OR i = 3 AND b", "10000"}, {"(l = 1 Or i = 3) anD NOT b", "00001"}, {"NOT l = 1", "01111"}, {"not i between 0 and 3", "10110"},
		{"i BETWEEN 0 AND 3", "01001"}, {"i NOT BETWEEN 0 AND 3", "10110"}, {"i not between 0 and 3 and b", "10100"}, {"i IN (0, 3)", "01001"}, {"i NOT IN (0, 3)", "10110"}, {"oi IN (0, NULL)", "00100"}, {"oi NOT IN (0, NULL)", "00000"}, {"oi not in [0]", "10010"}, {"not i in []", "11111"},
		{"oi IS NULL", "01001"}, {"oi is not null", "10110"}, {"oi = NULL", "01001"}, {"oi <> Null", "10110"}, {"not oi is null", "10110"}, {"r is null", "01001"}, {"tags IS NULL", "01001"}, {"a is null", "00000"}, {"not (oi + 1 is null)", "10110"},
		{"s = 'alpha'", "10000"}, {"s = 'it''s'", "00000"}, {"s like 'al%'", "10010"}, {"s LIKE '%o_'", "00100"}, {"s like '___'", "00100"}, {"s not like '%a%'", "01101"}, {"s like ''", "01000"}, {"s like '%'", "11111"}, {"s like '%%'", "11111"}, {"s like 'alpha_%'", "00010"},
		{"s like 'Zo_' and s like 'Z%' and s like '%ë' and s like '%o%'", "00100"}, {"s ilike 'ZOË'", "00100"}, {"s like '!%' escape '!'", "00000"}, {"os like 'Be%'", "10000"}, {"not os like 'Be%'", "00101"}, {"e like 'R%'", "10011"},
		{"b = TRUE", "10100"}, {"b <> False", "10100"}, {"(l = 1) = false", "01111"}, {"(oi = 7) != true", "00110"}, {"!b == true", "01011"}, {"not b = false", "10100"}, {"`x-y` = 9", "01000"}, {"`in` = 1", "10100"}, {"`r`.`x` = 3", "10000"},
		{"not (oi = 7 and b)", "01111"}, {"not (oi = 7 or b)", "00010"}, {"not (oi > 0 or d = d)", "00000"}, {"not d < 1", "01100"}, {"not (d > 1)", "11011"}, {"not not oi = 7", "10000"}, {"not ob", "00100"}, {"not (oi = 7 and ob)", "00110"}, {"not s in ('', 'alpha')", "00111"}, {"not d in (0, 0.5)", "01110"},
		{"-l = -1 and l - -1 = 2 and 2 * (3 + 4) ** 2 = l + 97", "10000"}, {"i = -2147483648", "00010"}, {"l = -9223372036854775808", "00010"}, {"l < 99999999999999999999", "11111"}, {"l = 0x1 and l = 1_0 - 9", "10000"}, {"l > 9007199254740992.5", "01100"},
		{"LENGTH(s) = 3 and Upper(s) like 'ZO%'", "00100"}, {"ob in (true)", "10000"}, {"ob not in (true)", "00100"}, {"ob in (true, false)", "10100"}, {"l + 0 in (1, 0.5)", "10000"}, {"l + 0 not in (1, 2)", "01111"}, {"d in 0..9", "00001"},
		// decimals: the rows have 12.34, 0, -0.01, 12.35, 0
		{"dec = 12.34", "10000"}, {"dec <> 12.34", "01111"}, {"dec > 12.339", "10010"}, {"dec < 12.345", "11101"}, {"dec between -0.01 and 12.34", "11101"}, {"dec in (12.35, 0)", "01011"}, {"dec not in (12.35, 0.001)", "11101"}, {"not dec >= 0", "00100"}, {"dec = 0.001", "00000"}, {"dec <> 0.001", "11111"},
		{"dec > d", "10010"}, {"dec = l", "00001"}, {"dec < oi", "00100"}, {"dec = dec", "11111"}, {"dec < 1e300 and dec > -99999999999999999999999", "11111"}, {"1.2e1 < dec", "10010"},
		// times
		{"ms >= '2025-01-01'", "10000"}, {"ms = TIMESTAMP '2025-01-01 00:00:00'", "10000"}, {"ms < '2024-12-31T23:59:59.999Z'", "00111"}, {"ms <= '2025-01-01 00:59:59.999+01:00'", "01111"}, {"ms between '1970-01-01' and '2025-01-01'", "11011"}, {"ms in ('1970-01-01', '1970-01-01 00:00:00.001')", "00011"},
		{"day = DATE '2025-01-01'", "10000"}, {"day <> '2025-01-01'", "01111"}, {"day < '1970-01-01'", "00100"}, {"not day >= '1970-01-01'", "00100"}, {"day < ms", "01100"}, {"day = ms", "10010"}, {"local < '1970-01-01'", "00010"}, {"local = '2025-01-01 00:00:00'", "00100"}, {"local >= date(\"2025-01-01\")", "00100"},
		{"clock = '12:30:00'", "10000"}, {"clock < '00:00:01'", "00010"}, {"clock >= '00:00'", "10010"}, {"clock = 0", "00010"}, {"day > local", "11011"},
		{"uid = '123e4567-e89b-12d3-a456-426614174000'", "11000"}, {"uid in ('123E4567-E89B-12D3-A456-426614174000')", "11000"}, {"uid like '123E%'", "11000"},
		// unions
		{"u.int > 0", "10000"}, {"u.string = 'five'", "01000"}, {"u.string is null", "10101"}, {"not u.int > 0", "00101"},
		{"u is null", "00000"}, {"u is not null and b", "10100"}, {"not u = null", "11111"}, {"u.int is null or u.int < 0", "01110"},
		// is true and is false, which are never unknown
		{"ob is true", "10000"}, {"ob is not true", "01111"}, {"ob IS FALSE", "00100"}, {"ob is not false", "11011"}, {"not ob is true", "01111"}, {"not (ob is not true)", "10000"}, {"ob is true or l = 0", "10001"},
		// sums of times
		{"ms + 1 > ms", "11111"}, {"ms - day * 86400000 = 0", "10010"}, {"day + 1 < day", "00000"}, {"min(oi, 0) = 0", "10100"}, {"l = 1024-10-13 - 1000", "10000"}, {"l = 1024-1023", "10000"}, {"ms = 1024-1024", "00010"}, {"i = 2025-22 - 2000", "00001"},
		// arrays and maps
		{"any(a, # > 1)", "10001"}, {"not any(a, # > 1)", "01110"}, {"2 in a", "10001"}, {"2 not in a", "01110"}, {"any(a, # in (3, -1))", "00101"}, {"'x' in tags", "10000"}, {"'x' not in tags", "00110"}, {"any(tags, # is null)", "10010"}, {"not any(tags, # <> 'x')", "10110"}, {"any(tags, true)", "10010"},
		{"any(hops, host = 'one')", "10001"}, {"any(hops, host = 'one' and any(ports, # = 22))", "00001"}, {"any(hops, not any(ports, # = 22))", "10000"}, {"any(hops, 80 in ports or host like 'th%')", "10100"}, {"any(hops, any(ports, # > 100)) or b", "10100"}, {"any(hops, upper(#.host) = 'TWO')", "10000"},
		{"m['k'] = 2", "10000"}, {"m[\"k\"] is null", "01111"}, {"m['k'] != 1", "10000"}, {"not m['j'] = 2", "00010"}, {"m['k'] + 1 = 3", "10000"}, {"any(m, key = 'k' and value = 1)", "11000"}, {"any(m, value is null)", "01000"}, {"any(m, key <> 'k')", "00010"},
		// names
		{`$env["in"] == 1`, "10100"}, {`$env["x-y"] == 9`, "01000"}, {`$env["r.x"] == 3`, "10000"},
	} {
		got, err := eval(t, test.text)
		if err != nil || got != test.want {
			t.Errorf("%s: %s, want %s (%v)", test.text, got, test.want, err)
		}
	}
}

// Arrays have more items than are evaluated together.
func TestManyItems(t *testing.T) {
	m := mapping(t)
	ports, hosts := &column.Vector{}, &column.Vector{Offsets: []int32{0}}
	hops := &column.Vector{Lengths: []int32{0, 3, 0, 5000, 1, 0}}
	for i := range 5004 {
		hosts.Data = append(hosts.Data, "ab"[i%2])
		hosts.Offsets = append(hosts.Offsets, int32(i+1))
		ports.Lengths = append(ports.Lengths, int32(i%4))
		for range i % 4 {
			ports.Ints = append(ports.Ints, int32(i))
		}
	}
	vectors := map[string]*column.Vector{"hops[]": hops, "hops[]#host": hosts, "hops[]#ports[]": ports}
	for text, want := range map[string][]bool{
		"any(hops, host = 'b')":                                 {false, true, false, true, true, false},
		"any(hops, any(ports, # = 5001))":                       {false, false, false, true, false, false},
		"any(hops, 5003 in ports and host = 'b')":               {false, false, false, false, true, false},
		"not any(hops, any(ports, # < 4098 and # > 4090))":      {true, true, true, false, true, true},
		"any(hops, any(ports, # = 2)) or any(hops, host <> '')": {false, true, false, true, true, false},
	} {
		p, err := where.Parse(text, m)
		testenv.Must(t, err)
		var v []*column.Vector
		for _, c := range p.Columns() {
			v = append(v, vectors[m.Columns[c].Name])
		}
		for range 2 { // the second batch does not depend on the first
			match := make([]bool, len(want))
			if p.Eval(v, match); !slices.Equal(match, want) {
				t.Errorf("%s: %v", text, match)
			}
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
			testenv.Must(b, err)
			var vectors []*column.Vector
			for _, c := range p.Columns() {
				vectors = append(vectors, v[m.Columns[c].Name])
			}
			match := make([]bool, n)
			for b.Loop() {
				p.Eval(vectors, match)
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}
