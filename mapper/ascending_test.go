package mapper_test

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/mapper"
)

// sorted is a format whose rows must ascend by fields.
type sorted struct {
	split
	by []string
}

func (s sorted) SortedBy() []string { return s.by }

// sortedRow is a row of a number, which may be null, and a name.
type sortedRow struct {
	n    any
	name string
}

// Rows must ascend by the first field, nulls first, and by the next one where it is equal. The
// error names the file, the row and the field.
func TestAscendingRows(t *testing.T) {
	const schema = `{"type":"record","name":"R","fields":[{"name":"n","type":["int","null"]},{"name":"name","type":"string"}]}`
	block := func(rows ...sortedRow) avrotest.Block {
		var data []byte
		for _, r := range rows {
			if n, ok := r.n.(int); ok {
				data = binary.AppendVarint(append(data, 0), int64(n))
			} else {
				data = append(data, 2)
			}
			data = append(binary.AppendVarint(data, int64(len(r.name))), r.name...)
		}
		return avrotest.Block{Rows: int64(len(rows)), Data: data}
	}
	type rows = []sortedRow
	long := strings.Repeat("x", 16<<10)
	for _, c := range []struct {
		name         string
		by           []string
		rows         rows
		row          int64 // that is refused, or -1
		path, reason string
	}{
		{"one field", []string{"n"}, rows{{-300, "b"}, {-2, "a"}, {-2, "a"}, {7, ""}, {300, "z"}}, -1, "", ""},
		{"descending", []string{"n"}, rows{{1, ""}, {2, ""}, {-3, ""}}, 2, "n", "less than the one in the row before"},
		{"nulls", []string{"n"}, rows{{nil, ""}, {nil, ""}, {-9, ""}}, -1, "", ""},
		{"a null after a value", []string{"n"}, rows{{-9, ""}, {nil, ""}}, 1, "n", "less than"},
		{"two fields", []string{"n", "name"}, rows{{nil, "a"}, {nil, "b"}, {1, "a"}, {1, "a\x00"}, {1, "ab"}, {2, ""}}, -1, "", ""},
		{"the second field", []string{"n", "name"}, rows{{1, "ab"}, {1, "a"}}, 1, "name", "less than"},
		{"the second field of nulls", []string{"n", "name"}, rows{{nil, "b"}, {nil, "a"}}, 1, "name", "less than"},
		{"another order of fields", []string{"name", "n"}, rows{{9, "a"}, {1, "b"}, {0, "b"}}, 2, "n", "less than"},
		{"bytes above 127", []string{"name"}, rows{{0, "z"}, {0, "é"}}, -1, "", ""},
		{"a long value", []string{"name"}, rows{{0, long[3:]}}, -1, "", ""},
		{"a longer value", []string{"name"}, rows{{0, "a"}, {0, long}}, 1, "name", "at most 16384 bytes"},
		{"no fields", nil, rows{{2, ""}, {1, ""}}, -1, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := source(t, "in.avro", avrotest.Make(t, schema, "null", block(c.rows...)))
			_, err := mapper.Run(context.Background(), []mapper.Source{src}, config(t, src, sorted{by: c.by}), closeGroup)
			if c.row < 0 {
				testenv.Must(t, err)
				return
			}
			var d *damage.Error
			if !errors.As(err, &d) || d.File != "in.avro" || d.Row != c.row || d.Path != c.path || !strings.Contains(d.Reason, c.reason) {
				t.Errorf("got %v", err)
			}
		})
	}
	// Rows of a row group are compared across inputs, and not with those of another row group.
	one, two := source(t, "1.avro", avrotest.Make(t, schema, "null", block(sortedRow{5, ""}))), source(t, "2.avro", avrotest.Make(t, schema, "null", block(sortedRow{3, ""}, sortedRow{4, ""})))
	cfg := config(t, one, sorted{by: []string{"n"}})
	_, err := mapper.Run(context.Background(), []mapper.Source{one, two}, cfg, closeGroup)
	if d := (*damage.Error)(nil); !errors.As(err, &d) || d.File != "2.avro" || d.Row != 0 {
		t.Errorf("two inputs: %v", err)
	}
	cfg = config(t, one, sorted{by: []string{"n"}})
	cfg.RowGroupSize = 1
	_, err = mapper.Run(context.Background(), []mapper.Source{one, two}, cfg, closeGroup)
	testenv.Must(t, err)
}

func closeGroup(g mapper.RowGroup) error { return g.Spill.Close() }

// A sink gets its keys also if rows must be sorted by other fields.
func TestAscendingWithSink(t *testing.T) {
	src := source(t, "mail.avro", mail(t, 500))
	var sums []rowSum
	for _, by := range [][]string{nil, {"id"}} {
		sink := new(rowSum)
		cfg := config(t, src, sorted{by: by})
		cfg.RowSink = sink
		_, _, stats := convert(t, cfg, src)
		if stats.Rows != 500 {
			t.Errorf("%d rows", stats.Rows)
		}
		sums = append(sums, *sink)
	}
	if sums[0].keys != sums[1].keys || !slices.Equal(sums[0].groups, sums[1].groups) {
		t.Errorf("%v", sums)
	}
}
