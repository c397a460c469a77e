package parquet

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/formattest"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// The footer names the columns by which rows ascend, and fields that readers do not order as rows
// are sorted are refused.
func TestSortedBy(t *testing.T) {
	const schema = `{"type":"record","name":"R","fields":[{"name":"e","type":{"type":"record","name":"E","fields":[]}},
		{"name":"a","type":["null","int"]},{"name":"r","type":{"type":"record","name":"I","fields":[{"name":"s","type":"string"}]}},
		{"name":"l","type":{"type":"array","items":"int"}},{"name":"d","type":["null","double"]},{"name":"f","type":"float"},
		{"name":"big","type":{"type":"bytes","logicalType":"decimal","precision":39}},{"name":"dec","type":{"type":"bytes","logicalType":"decimal","precision":38}}]}`
	row := []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 1}
	for _, c := range []struct{ by, want, err string }{
		{"", "[]", ""},
		{"r.s,a,dec", "[{1 false true} {0 false true} {6 false true}]", ""},
		{"l", "", "--sorted-by l: there is no such field outside of arrays"},
		{"A", "", "no such field"},
		{"e", "", "no such field"},
		{"d", "", "--sorted-by d: readers order floating-point numbers in different ways"},
		{"a,f", "", "--sorted-by f: readers order"},
		{"big", "", "does not order decimals"},
	} {
		chosen := map[string][]string{}
		if c.by != "" {
			chosen[optionSortedBy] = []string{c.by}
		}
		s := formattest.Rows(t, Format, chosen, schema, [][]byte{row}, 1000)
		_, _, err := s.Begin(t)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want %s", c.by, err, c.err)
			}
			continue
		}
		testenv.Must(t, err)
		b := s.Files(t)[""]
		testenv.Must(t, verifyFile(t, b))
		if got := fmt.Sprint(openByOther(t, b).Metadata().RowGroups[0].SortingColumns); got != c.want {
			t.Errorf("%s: %s, want %s", c.by, got, c.want)
		}
		w, err := Format.Writer(s.Options)
		testenv.Must(t, err)
		fileOf(t, schema, w.(groupWriter).o, 1000, [][]byte{row}) // checks the bounds of sizes
		if by := strings.Join(w.(format.SortedWriter).SortedBy(), ","); by != c.by {
			t.Errorf("sorted by %q, want %q", by, c.by)
		}
	}
	if _, err := Format.Options(map[string][]string{optionSortedBy: {"a", "b"}}); err == nil || !strings.Contains(err.Error(), "given twice") {
		t.Errorf("two orders: %v", err)
	}
	if got := Format.Describe([]byte(`{"sorted_by":["a","b"]}`)); got != "compression snappy, sorted by a, b" {
		t.Errorf("described as %q", got)
	}
}
