package where_test

import (
	"testing"

	"github.com/rowtocol/rowtocol/column"
	"github.com/rowtocol/rowtocol/dataset/where"
)

// FuzzParse holds every text to an answer: an error, or a condition that is
// false or true in each row.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"l == 1 && oi != null", `s in ["a", ""] or s matches "^a|b$"`, `ms >= date("2025-01-01") - duration("1h")`,
		"r.ox + 1 < l % i ** 2", `not (upper(os) contains s[1:2])`, "d in 1..3", "$env[\"in\"] == -1", "b ? i : l",
		"let x = 1; x > i", "[i, l] == [1]", "#", "i | abs() > 1", "all([1], # > i)", `replace(s, "", s) == s`,
	} {
		f.Add(s)
	}
	m := mapping(f)
	all := vectors()
	f.Fuzz(func(t *testing.T, text string) {
		p, err := where.Parse(text, m)
		if err != nil {
			return
		}
		var v []*column.Vector
		for _, col := range p.Columns() {
			v = append(v, all[m.Columns[col].Name])
		}
		if err := p.Eval(v, make([]bool, len(rows))); err != nil {
			t.Fatal(err)
		}
		for _, b := range p.Bounds() {
			if m.Columns[b.Column].Array {
				t.Fatalf("%s bounds %s", text, m.Columns[b.Column].Name)
			}
		}
	})
}
