package parquet

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

func TestCaseFields(t *testing.T) {
	field := func(name, typ string) string { return fmt.Sprintf(`{"name":%q,"type":%s}`, name, typ) }
	record := func(name string, fields ...string) string {
		return fmt.Sprintf(`{"type":"record","name":%q,"fields":[%s]}`, name, strings.Join(fields, ","))
	}
	var many []string
	for i := range 30 {
		many = append(many, field(fmt.Sprint("f", i), `"int"`), field(fmt.Sprint("F", i), `"int"`))
	}
	for _, c := range []struct {
		schema string
		want   []string // the two paths of each warning
	}{
		{record("R", field("a", `"int"`), field("b", record("B", field("A", `"int"`)))), nil},
		{record("R", field("id", `"int"`), field("Id", `"int"`), field("ID", `"int"`)), []string{"id Id", "id ID"}},
		{record("R", field("é", `"int"`), field("É", `"int"`)), []string{"é É"}},
		{
			record("R", field("l", `["null",{"type":"array","items":`+record("I", field("x", `"int"`), field("X", `["null","I"]`))+`}]`), field("m", `{"type":"map","values":"I"}`)),
			[]string{"l.x l.X"},
		},
		{record("R", many...), append(make([]string, maxCaseWarnings), "")},
	} {
		w, err := Format.Writer(nil)
		testenv.Must(t, err)
		got := w.(format.Warner).Warnings(c.schema)
		if len(got) != len(c.want) {
			t.Errorf("%.100s: %q", c.schema, got)
			continue
		}
		for i, paths := range c.want {
			if first, second, ok := strings.Cut(paths, " "); ok && !strings.Contains(got[i], fmt.Sprintf("%q and %q differ only in case", first, second)) {
				t.Errorf("%.100s: %q, want %s", c.schema, got[i], paths)
			}
		}
		if n := len(got); n > maxCaseWarnings && !strings.Contains(got[maxCaseWarnings], "10 more fields") {
			t.Errorf("the last of %d warnings: %s", n, got[maxCaseWarnings])
		}
	}
}
