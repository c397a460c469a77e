package where_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/dataset/where"
	"github.com/rowtocol/rowtocol/format/column"
)

// FuzzParse parses any text. The result is an error, or a condition such that no
// row matches both it and its opposite.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"l == 1 && oi != null", `s in ["a", ""] or s matches "^a|b$"`, `ms >= date("2025-01-01") - duration("1h")`,
		"r.ox + 1 < l % i ** 2", `not (upper(os) contains s[1:2])`, "d in 1..3", "$env[\"in\"] == -1", "b ? i : l",
		"let x = 1; x > i", "[i, l] == [1]", "#", "i | abs() > 1", "all([1], # > i)", `replace(s, "", s) == s`,
		"NOT i BETWEEN 1 AND 3 OR s LIKE 'a!%_' ESCAPE '!' AND oi IS NOT NULL", "dec NOT IN (1.25, NULL, -1e3)", "y = x'0aff'",
		"any(hops, host = 'one' and not any(ports, # in (80, 443)))", "m['k'] > 1 or any(m, key <> 'k')", "'x' in tags and u.int = 1",
		"ms >= TIMESTAMP '2025-01-31 12:00:00+01:00' and clock < '12:00' and local = '2025-01-01'", "`x-y` <> 0x1f and s ilike '%É'",
		"uid <> '123e4567-e89b-12d3-a456-426614174000' and (b = true) = false",
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
		match, opposite := make([]bool, len(rows)), make([]bool, len(rows))
		p.Eval(v, match)
		if n, err := where.Parse("not("+text+"\n)", m); err == nil { // one level deeper, perhaps too deep
			n.Eval(v, opposite)
		}
		for i := range match {
			if match[i] && opposite[i] && !strings.Contains(text, "now") {
				t.Fatalf("row %d matches %s and its opposite", i, text)
			}
		}
		for _, d := range p.Demands() {
			if !slices.Contains(p.Columns(), d.Column) {
				t.Fatalf("%s demands %s", text, m.Columns[d.Column].Name)
			}
			d.Values()
		}
	})
}
