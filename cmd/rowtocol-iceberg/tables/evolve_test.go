package tables

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/rowtocol/rowtocol/job/failure"
)

// The schema of later partitions changes the columns of the table, or is refused.
func TestEvolve(t *testing.T) {
	eachCatalog(t, func(t *testing.T, kind string) {
		f := newFixture(t)
		o := f.options(kind)
		f.schema = `{"type":"record","name":"R","fields":[{"name":"n","type":"int"}]}`
		f.row = func(id int) []byte { return binary.AppendVarint(nil, int64(id)) }
		f.input("k=1", 0, 10)
		f.convert("k=1", first)
		f.sync(o)
		f.schema = `{"type":"record","name":"R","fields":[{"name":"n","type":"long"},{"name":"more","type":"long"}]}`
		f.row = func(id int) []byte { return binary.AppendVarint(binary.AppendVarint(nil, int64(id)<<40), 1) }
		f.input("k=2", 0, 10)
		f.convert("k=2", first)
		r := f.sync(o)
		if want := []string{"column n becomes long", "new column more long"}; !slices.Equal(r.Schema, want) {
			t.Errorf("%q, want %q", r.Schema, want)
		}
		tbl := f.check(o, 20)
		more, _ := tbl.Schema().FindFieldByName("more")
		if more.Required || len(tbl.Schema().NameMapping()) != len(tbl.NameMapping()) {
			t.Errorf("%v, names %v", more, tbl.NameMapping())
		}
		for _, d := range f.entries(tbl) {
			if b := d.UpperBoundValues()[1]; d.Partition()[1000] == int64(2) && binary.LittleEndian.Uint64(b) != 9<<40 {
				t.Errorf("upper bound %x", b)
			}
		}
		f.schema = `{"type":"record","name":"R","fields":[{"name":"n","type":"string"}]}`
		f.row = func(int) []byte { return []byte{2, 'x'} }
		f.input("k=3", 0, 10)
		f.convert("k=3", first)
		f.refused(o, failure.Input, "column n: a table cannot have long and string in one column")
	})
}

// Spark reads decimals of bytes row by row only.
func TestByteDecimals(t *testing.T) {
	f := newFixture(t)
	o := f.options("sql")
	f.input("k=1", 0, 10)
	f.convert("k=1", first)
	f.sync(o)
	if got, ok := f.load(o).Properties()[vectorizationKey]; ok {
		t.Errorf("%s is %s", vectorizationKey, got)
	}
	f.schema = `{"type":"record","name":"R","fields":[{"name":"dec","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}}]}`
	f.row = func(id int) []byte { return []byte{2, byte(id)} }
	f.input("k=2", 0, 10)
	f.convert("k=2", first)
	f.sync(o)
	if got := f.load(o).Properties()[vectorizationKey]; got != "false" {
		t.Errorf("%s is %q", vectorizationKey, got)
	}
}
