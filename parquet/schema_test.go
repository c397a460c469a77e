package parquet

import (
	"errors"
	"testing"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// The columns of a file have to be those of its Avro schema.
func TestColumnsOfAnotherSchema(t *testing.T) {
	record := func(fields string) string { return `{"type":"record","name":"R","fields":[` + fields + `]}` }
	const a, b = `{"name":"a","type":"long"}`, `{"name":"b","type":"long"}`
	f := func(size string) string {
		return `{"name":"f","type":{"type":"fixed","name":"F","size":` + size + `}}`
	}
	for name, test := range map[string]struct{ is, says string }{
		"fewer":            {record(a), record(a + "," + b)},
		"more":             {record(a + "," + b), record(a)},
		"another":          {record(a), record(b)},
		"in another order": {record(a + "," + b), record(b + "," + a)},
		"of another type":  {record(a), record(`{"name":"a","type":"int"}`)},
		"optional":         {record(a), record(`{"name":"a","type":["null","long"]}`)},
		"repeated":         {record(a), record(`{"name":"a","type":{"type":"array","items":"long"}}`)},
		"of another size":  {record(f("3")), record(f("2"))},
	} {
		g := newGroupMaker(t, test.is, options{}, 1<<10)
		testenv.Must(t, openError(g.finish()))
		g = newGroupMaker(t, test.is, options{}, 1<<10)
		g.group.file.stored = test.says
		if d := (*damage.Error)(nil); !errors.As(openError(g.finish()), &d) || d.Kind != damage.Schema || d.File == "" {
			t.Errorf("%s: %v", name, d)
		}
	}
}

func openError(b []byte) error {
	_, err := openFile(b, format.OpenOptions{})
	return err
}
