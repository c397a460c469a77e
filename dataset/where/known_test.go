package where_test

import (
	"testing"

	"github.com/rowtocol/rowtocol/dataset/where"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// Excludes knows that l = 7, s = "b", os = null and oi = 3, and knows nothing of i and
// b. Each of the known columns has at most one value.
func TestExcludes(t *testing.T) {
	m := avrotest.Map(t, schema)
	values := map[string]*column.Vector{
		"l":         {Longs: []int64{7}, Values: 1},
		"s":         {Offsets: []int32{0, 1}, Data: []byte("b"), Values: 1},
		"os/string": {Lengths: []int32{0}},
		"oi/int":    {Lengths: []int32{1}, Ints: []int32{3}, Values: 1},
	}
	known := map[int]*column.Vector{}
	for i, c := range m.Columns {
		if v := values[c.Name]; v != nil {
			known[i] = v
		}
	}
	for condition, want := range map[string]bool{
		`l == 7`: false, `l == 8`: true, `l != 7`: true, `l in [6, 8]`: true, `l in 1..9`: false,
		`s == "b"`: false, `s > "b"`: true, `s matches "^a"`: true, `len(s) == 2`: true, `l % 2 == 0`: true, `l > oi`: false, `l < oi`: true,
		`os == null`: false, `os != null`: true, `os == "x"`: true, `oi == 3`: false, `oi == null`: true, `not (os == "x")`: true, `os in ("x")`: true, `not (os == "x" or l == 8)`: true, `not (os == "x" and l == 8)`: false, `any(a, # == 1)`: false, `l == 8 and any(a, # == 1)`: true, `m["k"] == 1`: false, `dec == 1`: false,
		`l == 8 && i == 1`: true, `i == 1 && l == 8`: true, `l == 7 && i == 1`: false, `i == 1 && b`: false,
		`l == 8 || i == 1`: false, `i == 1 || l == 8`: false, `l == 8 || s == "a"`: true, `i == 1 || b`: false,
		`not (l == 7)`: true, `not (l == 7 || i == 1)`: true, `not (l == 8 && i == 1)`: false, `not (l == 7 && i == 1)`: false,
		`(l == 8 || s == "c") && b`: true, `l + i == 8`: false, `l < i`: false, `i + 1 == null`: false, `n == null`: false,
		`false`: true, `true`: false, `not b`: false, `i == null`: false,
	} {
		p, err := where.Parse(condition, m)
		testenv.Must(t, err)
		if got := p.Excludes(known); got != want {
			t.Errorf("%s: %v, %v", condition, got, err)
		}
	}
}
