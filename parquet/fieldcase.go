package parquet

import (
	"fmt"
	"strings"

	"github.com/rowtocol/rowtocol/avro/shred"
)

// maxCaseWarnings is the most warnings about fields. Further ones are only counted.
const maxCaseWarnings = 20

// caseChecker finds fields of one record whose names differ only in case. It visits each type once.
type caseChecker struct {
	seen     map[*shred.Node]bool
	warnings []string
	more     int
}

// caseWarnings returns a warning for each field that differs from an earlier one only in case.
func caseWarnings(schema string, stored times) []string {
	t, err := newTree(schema, stored)
	if err != nil {
		return nil // such rows cannot be converted
	}
	a := caseChecker{seen: map[*shred.Node]bool{}}
	a.visit(t.mapping.Schema.Root(), "")
	if a.more > 0 {
		a.warnings = append(a.warnings, fmt.Sprintf("%d more fields differ from another one only in case", a.more))
	}
	return a.warnings
}

func (a *caseChecker) visit(n *shred.Node, path string) {
	if n == nil || a.seen[n] {
		return
	}
	a.seen[n] = true
	a.visit(n.Items, path)
	for _, b := range n.Branches {
		a.visit(b, path)
	}
	first := make(map[string]string, len(n.Fields)) // path of the first field, by its name in lower case
	for i := range n.Fields {
		f := &n.Fields[i]
		at, lower := strings.TrimPrefix(path+"."+f.Name, "."), strings.ToLower(f.Name)
		if other, ok := first[lower]; ok {
			a.warn(other, at)
		} else {
			first[lower] = at
		}
		a.visit(f.Type, at)
	}
}

func (a *caseChecker) warn(first, second string) {
	if len(a.warnings) == maxCaseWarnings {
		a.more++
		return
	}
	a.warnings = append(a.warnings, fmt.Sprintf("the names of the fields %.200q and %.200q differ only in case: DuckDB renames the second one, and Hive and Spark may refuse both",
		first, second))
}
