package shred_test

import (
	"reflect"
	"testing"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
)

// Columns have the properties by which formats choose physical types.
func TestColumnProperties(t *testing.T) {
	m := mapping(t, `{"type":"record","name":"R","fields":[
		{"name":"day","type":["null",{"type":"int","logicalType":"date"}]},
		{"name":"price","type":{"type":"array","items":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}}},
		{"name":"amount","type":{"type":"fixed","name":"A","size":4,"logicalType":"decimal","precision":9}},
		{"name":"too","type":{"type":"fixed","name":"T","size":4,"logicalType":"decimal","precision":99,"scale":2}},
		{"name":"suit","type":{"type":"map","values":{"type":"enum","name":"S","symbols":["A","B"]}}},
		{"name":"id","type":{"type":"string","logicalType":"uuid"}},
		{"name":"n","type":"long"},{"name":"more","type":["null","int","string"]},{"name":"last","type":["A","null"]}]}`, shred.Options{})
	want := map[string]column.Column{
		"day/int": {Nullable: true, Logical: column.LogicalDate}, "price[]": {Logical: column.LogicalDecimal, Precision: 9, Scale: 2},
		"amount": {Logical: column.LogicalDecimal, Precision: 9, FixedSize: 4}, "too": {FixedSize: 4},
		"suit>value": {Symbols: []string{"A", "B"}}, "id": {Logical: column.LogicalUUID}, "n": {}, "suit>": {}, "suit>key": {},
		"more/int": {}, "more/string": {}, "last/A": {Nullable: true, Logical: column.LogicalDecimal, Precision: 9, FixedSize: 4},
	}
	if len(m.Columns) != len(want) {
		t.Fatalf("columns %+v", m.Columns)
	}
	for _, c := range m.Columns {
		w, ok := want[c.Name]
		w.Name, w.Type, w.Array, w.Optional, w.Parent, w.Def, w.Rep = c.Name, c.Type, c.Array, c.Optional, c.Parent, c.Def, c.Rep
		if !ok || !reflect.DeepEqual(c, w) {
			t.Errorf("column %+v, want %+v", c, w)
		}
	}
}
