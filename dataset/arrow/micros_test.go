package arrow

import (
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

func longValues(values ...int64) column.Vector {
	return column.Vector{Longs: values, Values: len(values)}
}

const (
	millisType = `{"type":"long","logicalType":"timestamp-millis"}`
	nanosType  = `{"type":"long","logicalType":"local-timestamp-nanos"}`
)

// Timestamps that are whole microseconds keep their value.
func TestMicros(t *testing.T) {
	const most = math.MaxInt64 / 1000
	cases := []struct {
		typ    string
		vector column.Vector
		n      int
		want   []int64
	}{
		{millisType, longValues(0, -1, most, -most), 4, []int64{0, -1000, most * 1000, -most * 1000}},
		{nanosType, longValues(0, -1000, most*1000), 3, []int64{0, -1, most}},
	}
	for _, c := range cases {
		got, err := fieldArray(t, c.typ, c.n, Spark, c.vector)
		testenv.Must(t, err)
		for i, want := range c.want {
			if v := int64(got.(*array.Timestamp).Value(i)); v != want {
				t.Errorf("%s: %d, want %d", c.typ, v, want)
			}
		}
	}
	a, err := fieldArray(t, `["null",`+nanosType+`]`, 3, Spark, lengths(longValues(1_000_000), 0, 1, 0))
	testenv.Must(t, err)
	if got, err := json.Marshal(a); err != nil || string(got) != `[null,"1970-01-01T00:00:00.001",null]` {
		t.Errorf("%s %v", got, err)
	}
}

// A timestamp that would change is an error that names the row, at any place in the
// row.
func TestMicrosNameTheRow(t *testing.T) {
	good, bad := int64(1000), int64(1001)
	cases := []struct {
		name, typ string
		n         int
		vectors   []column.Vector
		row       int64
	}{
		{"plain", nanosType, 3, []column.Vector{longValues(good, good, bad)}, 2},
		{"too early", millisType, 2, []column.Vector{longValues(0, math.MinInt64/1000-1)}, 1},
		{"too late", millisType, 2, []column.Vector{longValues(0, math.MaxInt64/1000+1)}, 1},
		{"optional", `["null",` + nanosType + `]`, 4, []column.Vector{lengths(longValues(good, bad), 0, 1, 0, 1)}, 3},
		{"array", `{"type":"array","items":` + nanosType + `}`, 4, []column.Vector{lengths(longValues(good, good, bad, good), 2, 0, 1, 1)}, 2},
		{
			"array in an optional record", `["null",{"type":"record","name":"O","fields":[{"name":"a","type":{"type":"array","items":` + nanosType + `}}]}]`, 4,
			[]column.Vector{lengths(column.Vector{}, 0, 1, 0, 1), lengths(longValues(good, bad), 1, 1)}, 3,
		},
		{
			"array in an array", `{"type":"array","items":{"type":"array","items":` + nanosType + `}}`, 3,
			[]column.Vector{lengths(column.Vector{}, 1, 0, 2), lengths(longValues(good, good, bad), 1, 1, 1)}, 2,
		},
		{
			"union in an array", `{"type":"array","items":["null","string",` + nanosType + `]}`, 3,
			[]column.Vector{lengths(column.Vector{}, 2, 1, 3), lengths(texts("a"), 0, 1, 0, 0, 0, 0), lengths(longValues(good, good, bad), 1, 0, 0, 1, 0, 1)}, 2,
		},
		{
			"first branch of a union", `["null",{"type":"array","items":["string",` + nanosType + `]}]`, 4,
			[]column.Vector{lengths(column.Vector{}, 0, 1, 0, 1), lengths(column.Vector{}, 1, 1), lengths(texts("a"), 1, 0), lengths(longValues(bad), 0, 1)}, 3,
		},
		{
			"map", `{"type":"map","values":` + nanosType + `}`, 2,
			[]column.Vector{lengths(column.Vector{}, 1, 1), texts("k", "k"), longValues(good, bad)}, 1,
		},
	}
	for _, c := range cases {
		for _, form := range []Form{Unions | Spark, Structs | Spark} {
			_, err := fieldArray(t, c.typ, c.n, form, c.vectors...)
			if e := (*damage.Error)(nil); !errors.As(err, &e) || e.Kind != damage.Unsupported || e.Row != c.row {
				t.Errorf("%s: got %v, want row %d", c.name, err, c.row)
			}
		}
	}
}
