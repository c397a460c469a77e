package witness

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/internal/randavro"
	"github.com/rowtocol/rowtocol/internal/soak"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// compareResolved compares rows of the writer's schema with the same rows resolved to
// the reader's.
func compareResolved(t *testing.T, writer, reader string, written, resolved [][]byte) Result {
	t.Helper()
	var b bytes.Buffer
	w, err := ocf.NewWriter(&b, writer, "null", [16]byte{})
	testenv.Must(t, err)
	for _, row := range written {
		testenv.Must(t, w.AppendBlock(1, row))
	}
	return compare(t, Input{
		Name: "in.avro", R: bytes.NewReader(b.Bytes()), Size: int64(b.Len()), Schema: reader,
		Blocks: func() (Blocks, error) { _, own, err := openBlocks(b.Bytes()); return own, err },
	}, &list{rows: resolved})
}

// TestResolveRandom compares the resolution of the conversion with hamba's. Another test
// compares it with Java's.
func TestResolveRandom(t *testing.T) {
	compared, not := int64(0), int64(0)
	for seed := range soak.Rounds[uint64](300, 1500) {
		rnd := rand.New(rand.NewPCG(seed, 5))
		writer := randavro.Schema(rnd)
		reader := randavro.Evolve(rnd, writer)
		w, err := shred.ParseSchema(writer)
		testenv.Must(t, err)
		r, err := shred.ParseSchema(reader)
		testenv.Must(t, err)
		v, err := shred.Resolve(w, r, shred.AllowChanges)
		if err != nil {
			continue
		}
		var written, resolved [][]byte
		for range 4 {
			datum := randavro.Datum(rnd, w.Root())
			if out, _, err := shred.NewResolver(v, 1<<20).Row(nil, datum); err == nil {
				written, resolved = append(written, datum), append(resolved, out)
			}
		}
		if len(written) == 0 {
			continue
		}
		result := compareResolved(t, writer, reader, written, resolved)
		if result.Different > 0 {
			t.Errorf("seed %d: %s -> %s: %v", seed, writer, reader, result.First[0])
		}
		compared, not = compared+result.Compared, not+result.Skipped()
	}
	t.Logf("%d rows compared, %d not", compared, not)
	if compared < not {
		t.Error("hamba compares fewer rows than it skips")
	}
}

// TestResolve has schemas that hamba resolves fully, partly or not at all, with the
// right and a wrong row of the columns for each.
func TestResolve(t *testing.T) {
	record := func(fields string) string { return `{"type":"record","name":"R","fields":[` + fields + `]}` }
	time := func(logical string) string { return `{"type":"long","logicalType":"` + logical + `"}` }
	moment := func(namespace, unit string) string {
		return `{"type":"record","name":"` + namespace + `.S","fields":[{"name":"t","type":` + time("timestamp-"+unit) + `}]}`
	}
	const millis = `{"type":"int","logicalType":"time-millis"}`
	list := record(`{"name":"v","type":"int"},{"name":"next","type":["null","R"]}`)
	deep := `"int"`
	for i := range 40 {
		deep = fmt.Sprintf(`{"type":"record","name":"D%d","fields":[{"name":"a","type":%s},{"name":"b","type":"%s"}]}`, i, deep, []string{"int", fmt.Sprintf("D%d", i-1)}[min(i, 1)])
	}
	for _, test := range []struct {
		name, writer, reader string
		row, want, other     []byte
		reason               string // why nothing is compared
	}{
		{name: "promotion", writer: `"int"`, reader: `"double"`, row: []byte{3}, want: []byte{0, 0, 0, 0, 0, 0, 0, 0xc0}, other: []byte{0, 0, 0, 0, 0, 0, 0, 0x40}},
		{name: "into a union", writer: `"string"`, reader: `["null","bytes","string"]`, row: []byte{2, 'x'}, reason: "more than one branch"},
		{name: "out of a union", writer: `["int","float"]`, reader: `"double"`, row: []byte{0, 2}, reason: "must be unique"},
		{name: "branch", writer: `"int"`, reader: `["null","string","long"]`, row: []byte{2}, want: []byte{4, 2}, other: []byte{2, 2, 1}},
		{name: "branch in another order", writer: `["null","int"]`, reader: `["int","null"]`, row: []byte{2, 2}, want: []byte{0, 2}, other: []byte{2}},
		{
			name: "enum and string", writer: `{"type":"enum","name":"E","symbols":["a","b"]}`,
			reader: `["string",{"type":"enum","name":"E","symbols":["b","a"]}]`, row: []byte{0}, want: []byte{2, 2}, other: []byte{0, 2, 'a'},
		},
		{
			name: "fixed of one size", writer: `{"type":"fixed","name":"F","size":1}`,
			reader: `[{"type":"fixed","name":"G","size":1},{"type":"fixed","name":"F","size":1}]`, row: []byte{7}, want: []byte{2, 7}, other: []byte{0, 7},
		},
		{
			name: "enum default", writer: `{"type":"enum","name":"E","symbols":["a","b"]}`,
			reader: `{"type":"enum","name":"E","symbols":["c","b"],"default":"c"}`, row: []byte{0}, want: []byte{0}, other: []byte{2},
		},
		{
			name: "fields", writer: record(`{"name":"a","type":"int"},{"name":"b","type":"string"}`),
			reader: record(`{"name":"c","type":"bytes","default":"\u00ff"},{"name":"d","type":"long","aliases":["a"]}`),
			row:    []byte{2, 2, 'x'}, want: []byte{2, 0xff, 2}, other: []byte{2, 'x', 2},
		},
		{
			name: "rounded default", writer: record(`{"name":"a","type":"int"}`),
			reader: record(`{"name":"b","type":"long","default":9007199254740993}`), row: []byte{2}, reason: "rounded",
		},
		{
			name: "alias of two", writer: record(`{"name":"a","type":"int"},{"name":"b","type":"int"}`),
			reader: record(`{"name":"b","type":"int","aliases":["a"]}`), row: []byte{2, 4}, reason: "more than one of its names",
		},
		{
			name: "name and alias", writer: record(`{"name":"a","type":"int"}`),
			reader: record(`{"name":"b","type":"int","aliases":["a"]},{"name":"a","type":"int"}`), row: []byte{2}, reason: "more than one field",
		},
		{
			name: "units of times", writer: record(`{"name":"a","type":["null",` + time("timestamp-millis") + `]},{"name":"b","type":{"type":"array","items":` + time("local-timestamp-micros") + `}},{"name":"c","type":` + time("timestamp-millis") + `}`),
			reader: record(`{"name":"a","type":["null",` + time("timestamp-micros") + `]},{"name":"b","type":{"type":"array","items":` + time("local-timestamp-nanos") + `}},{"name":"c","type":` + time("timestamp-millis") + `}`),
			row:    []byte{2, 2, 2, 3, 0, 4}, want: []byte{2, 0xd0, 0x0f, 2, 0x9f, 0x1f, 0, 4}, other: []byte{2, 0xd0, 0x0f, 2, 3, 0, 4},
		},
		{name: "unit of an int", writer: millis, reader: time("time-micros"), row: []byte{2}, want: []byte{0xd0, 0x0f}, other: []byte{2}},
		{
			name: "units of ints", writer: record(`{"name":"a","type":["null",` + millis + `]},{"name":"b","type":` + millis + `},{"name":"c","type":"int"}`),
			reader: record(`{"name":"b","type":` + millis + `},{"name":"a","type":["null",` + time("time-micros") + `]},{"name":"c","type":"long"}`),
			row:    []byte{2, 2, 4, 6}, want: []byte{4, 2, 0xd0, 0x0f, 6}, other: []byte{4, 2, 2, 6},
		},
		{
			name: "an int of two", writer: record(`{"name":"a","type":` + millis + `},{"name":"b","type":` + millis + `}`),
			reader: record(`{"name":"a","type":` + time("time-micros") + `},{"name":"b","type":"int"}`), row: []byte{2, 2}, reason: "not compatible",
		},
		{
			name: "several units", writer: record(`{"name":"a","type":` + moment("a", "millis") + `},{"name":"b","type":` + moment("b", "micros") + `}`),
			reader: record(`{"name":"a","type":` + moment("c", "micros") + `},{"name":"b","type":"c.S"}`), row: []byte{2, 2}, reason: "times of several units",
		},
		{name: "map", writer: `{"type":"map","values":"int"}`, reader: `{"type":"map","values":"long"}`, row: []byte{2, 2, 'k', 2, 0}, want: []byte{1, 6, 2, 'k', 2, 0}, other: []byte{0}},
		{name: "recursive", writer: list, reader: strings.Replace(list, `"int"`, `"long"`, 1), row: []byte{2, 0}, reason: "recursive"},
		{name: "huge", writer: deep, reader: strings.Replace(deep, `"int"`, `"long"`, 1), row: []byte{2}, reason: "too many types"},
		{name: "unlike", writer: `"string"`, reader: `"int"`, row: []byte{0}, reason: "not compatible"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := compareResolved(t, test.writer, test.reader, [][]byte{test.row}, [][]byte{test.want})
			if test.reason != "" {
				if r.Compared != 0 || r.Skipped() != 1 || !strings.Contains(r.NotCompared[0].Reason, test.reason) {
					t.Errorf("%+v", r)
				}
				return
			}
			if r.ByHamba != 1 || r.Different != 0 || r.Skipped() != 0 {
				t.Errorf("%+v", r)
			}
			if r := compareResolved(t, test.writer, test.reader, [][]byte{test.row}, [][]byte{test.other}); r.Different != 1 {
				t.Errorf("% x is accepted for % x: %+v", test.other, test.want, r)
			}
		})
	}
}
