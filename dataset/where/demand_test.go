package where_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/dataset/where"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// Demands returns what all selected rows have in common, also in records, lists and maps.
func TestDemands(t *testing.T) {
	m := mapping(t)
	for text, want := range map[string]string{
		"l > 5 && l <= 9 && b":   "l l b",
		"l > 5 || l < 3":         "",
		"!(l > 5)":               "l",
		"not (l > 5 or l < 3)":   "l l",
		"not (l > 5 and l < 3)":  "",
		"l = 5 and l not in (1)": "l l",
		"l between 1 and 5":      "l l",
		"l not between 1 and 5":  "",
		"s like 'a_c' and s like 'x' and s not like 'x%' and s like '%x' and s ilike 'a'": "s s s s s",
		"ms >= '2025-01-01' and day = DATE '2025-01-01' and local in ('2025-01-01')":      "ms day local",
		"any(a, # = 1) and u.int = 1 and m['k'] = 1 and dec = 1 and clock = '12:00'":      "a[] u/int m>value/int dec clock/int",
		"oi > 5 and r.ox < 3 and os = 'a' and not ob":                                     "oi/int r/S#ox/long os/string ob/boolean",
		"i + 1 > 5 and l > i and lower(s) = 'a'":                                          "",
		"e = 'RED' and e <> 'RED'":                                                        "e e",
		"oi is null and os is not null":                                                   "oi/int os/string",
		"r is null and tags is not null":                                                  "",
		"m['k'] is null":                                                                  "",
		"m['k'] is not null":                                                              "m>value/int",
		"any(tags, # is null)":                                                            "tags/array[]/string",
		"any(hops, host = 'a' and any(ports, # = 1))":                                     "hops[]#host hops[]#ports[]",
		"not any(a, # = 1) and any(a, # = 1 or # = 2)":                                    "",
	} {
		p, err := where.Parse(text, m)
		testenv.Must(t, err)
		var got []string
		for _, d := range p.Demands() {
			got = append(got, m.Columns[d.Column].Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func long(n int64) []byte { return binary.AppendVarint(nil, n) }

func double(f float64) []byte {
	return binary.LittleEndian.AppendUint64(nil, math.Float64bits(f))
}

func sized(s string) []byte { return append(long(int64(len(s))), s...) }

// A demand excludes a block only if no value within its bounds passes.
func TestDemandExcludes(t *testing.T) {
	m := mapping(t)
	ints := func(least, most int64) format.Block { return format.Block{Min: long(least), Max: long(most)} }
	doubles := func(least, most float64) format.Block { return format.Block{Min: double(least), Max: double(most)} }
	texts := func(least, most string) format.Block { return format.Block{Min: sized(least), Max: sized(most)} }
	none, only := format.Block{Presence: format.NoValues}, format.Block{Presence: format.OnlyValues}
	for _, tt := range []struct {
		condition string
		block     format.Block
		want      bool
	}{
		{"oi > 5", ints(-9, 5), true},
		{"oi > 5", ints(-9, 6), false},
		{"oi > 5", format.Block{Min: long(9)}, false},
		{"oi < 5", format.Block{Min: long(9)}, true},
		{"oi < 5", format.Block{Max: long(9)}, false},
		{"oi in (-3, 9)", ints(-9, -4), true},
		{"oi in (-3, 9)", ints(10, 10), true},
		{"oi in (-3, 9)", ints(0, 1), false},
		{"oi not in (-3, 9)", ints(9, 9), false},
		{"oi <> 9", ints(9, 9), false},
		{"not oi = 9", ints(9, 9), false},
		{"oi > 5", none, true},
		{"oi <> 5", none, true},
		{"oi not in (5)", none, true},
		{"oi > 5", only, false},
		{"oi > 5", format.Block{}, false},
		{"oi is null", none, false},
		{"oi is null", only, true},
		{"oi is null", format.Block{}, false},
		{"oi is null", ints(1, 2), false},
		{"oi is not null", none, true},
		{"oi is not null", only, false},
		{"oi is not null", format.Block{}, false},
		{"not (oi is null)", none, true},
		{"d < 1", doubles(1, 2), true},
		{"d <= 1", doubles(1, 2), false},
		{"d < 0", doubles(math.Copysign(0, -1), 0), true},
		{"d = 0", doubles(math.Copysign(0, -1), math.Copysign(0, -1)), false},
		{"d = -0.0", doubles(0, 0), false},
		{"not (d < 1)", doubles(-1, 0), false}, // the page may have NaN
		{"d <> 1", doubles(1, 1), false},
		{"d > 1", doubles(math.NaN(), math.NaN()), true},
		{"d > 1", doubles(0, math.NaN()), false},
		{"os = 'b'", texts("c", "d"), true},
		{"os = 'b'", texts("a", "az"), true},
		{"os = 'b'", texts("a", "b"), false},
		{"os in ('a', 'z')", texts("b", "c"), false},
		{"os not in ('a', 'z')", texts("a", "a"), false},
		{"os not like 'a%'", texts("a", "a"), false},
		{"os like 'b%'", texts("a", "az"), true},
		{"os contains 'b'", texts("a", "a"), false},
		{"os contains 'b'", none, true},
		{"ob", none, true},
		{"not ob", none, true},
		{"not ob", only, false},
		{"dec <> 1", none, true},
		{"e = 'RED'", none, true},
		{"any(tags, # is null)", only, true},
		{"any(tags, # is null)", none, false},
		{"any(a, # = 5)", ints(6, 7), true},
		{"m['k'] is not null", none, true},
	} {
		p, err := where.Parse(tt.condition, m)
		testenv.Must(t, err)
		if got := p.Demands()[0].Excludes(&tt.block); got != tt.want {
			t.Errorf("%s excludes %+v: %v", tt.condition, tt.block, got)
		}
	}
}

// Values returns all values that pass a test for equality, and none of other tests.
func TestDemandValues(t *testing.T) {
	m := mapping(t)
	const uid = "123e4567-e89b-12d3-a456-426614174000"
	for text, want := range map[string][][]byte{
		"oi = 5":                         {long(5)},
		"oi in (7, 5)":                   {long(5), long(7)},
		"oi not in (7, 5)":               nil,
		"oi <> 5":                        nil,
		"oi > 5":                         nil,
		"oi = 0.5":                       nil,
		"d = 5":                          nil,
		"os = 'b'":                       {sized("b")},
		"os = ''":                        {sized("")},
		"os in ('b', 'a')":               {sized("b"), sized("a")},
		"os not in ('b', 'a')":           nil,
		"os <> 'b'":                      nil,
		"os >= 'b'":                      nil,
		"os like 'b'":                    {sized("b")},
		"os not like 'b'":                nil,
		"os like 'b%'":                   nil,
		"y = x'0aff'":                    {sized("\x0a\xff")},
		"e = 'GREEN'":                    {long(1)},
		"e in ('GREEN', 'RED')":          {long(0), long(1)},
		"'b' in tags":                    {sized("b")},
		"uid = '" + uid + "'":            nil,
		"uid in ('" + uid + "')":         nil,
		"day = '1970-01-03'":             {long(2)},
		"oi is null":                     nil,
		"any(hops, any(ports, # = 443))": {long(443)},
	} {
		p, err := where.Parse(text, m)
		testenv.Must(t, err)
		if got := p.Demands()[0].Values(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: the values %q, want %q", text, got, want)
		}
	}
}
