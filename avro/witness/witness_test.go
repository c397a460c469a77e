package witness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/linkedin/goavro/v2"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

const mailSchema = `{"type":"record","name":"Mail","fields":[
	{"name":"id","type":"long"},
	{"name":"score","type":["null","double"]},
	{"name":"tags","type":{"type":"map","values":"string"}},
	{"name":"to","type":{"type":"array","items":"bytes"}}]}`

func mail(id int64, score any) map[string]any {
	if score != nil {
		score = map[string]any{"double": score}
	}
	return map[string]any{
		"id": id, "score": score,
		"tags": map[string]any{"a": "1", "b": fmt.Sprint(id)},
		"to":   []any{[]byte("x"), []byte{0, byte(id)}},
	}
}

// ocfFile writes rows with goavro, two in a block.
func ocfFile(t *testing.T, schema, codec string, rows []any) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := goavro.NewOCFWriter(goavro.OCFConfig{W: &b, Schema: schema, CompressionName: codec})
	testenv.Must(t, err)
	for len(rows) > 0 {
		n := min(2, len(rows))
		testenv.Must(t, w.Append(rows[:n]))
		rows = rows[n:]
	}
	return b.Bytes()
}

// data encodes rows one by one.
func data(t *testing.T, schema string, rows []any) [][]byte {
	t.Helper()
	codec, err := goavro.NewCodec(schema)
	testenv.Must(t, err)
	var out [][]byte
	for _, row := range rows {
		b, err := codec.BinaryFromNative(nil, row)
		testenv.Must(t, err)
		out = append(out, b)
	}
	return out
}

// list returns rows, then err or io.EOF.
type list struct {
	rows [][]byte
	err  error
}

func (l *list) Next(dst []byte) ([]byte, error) {
	if len(l.rows) == 0 {
		if l.err != nil {
			return nil, l.err
		}
		return nil, io.EOF
	}
	dst = append(dst, l.rows[0]...)
	l.rows = l.rows[1:]
	return dst, nil
}

// oneRowBlocks are blocks of one row each.
type oneRowBlocks struct{ rows [][]byte }

func (b *oneRowBlocks) Next(context.Context) (int64, []byte, error) {
	if len(b.rows) == 0 {
		return 0, nil, io.EOF
	}
	row := b.rows[0]
	b.rows = b.rows[1:]
	return 1, row, nil
}

func input(file []byte, rows [][]byte) Input {
	return Input{
		Name: "in.avro", R: bytes.NewReader(file), Size: int64(len(file)),
		Blocks: func() (Blocks, error) { return &oneRowBlocks{rows}, nil },
	}
}

func compare(t *testing.T, in Input, columns Rows) Result {
	t.Helper()
	c := New(columns)
	testenv.Must(t, c.Input(t.Context(), in))
	r, err := c.End(t.Context())
	testenv.Must(t, err)
	return r
}

func TestEqual(t *testing.T) {
	rows := []any{mail(1, math.NaN()), mail(2, nil), mail(3, math.Copysign(0, -1)), mail(4, math.Inf(1)), mail(5, 0.5)}
	for _, codec := range []string{"null", "deflate", "snappy"} {
		b := data(t, mailSchema, rows)
		r := compare(t, input(ocfFile(t, mailSchema, codec, rows), nil), &list{rows: b})
		if r.Compared != 5 || r.Different != 0 || len(r.NotCompared) != 0 || r.OwnBlocks != 0 {
			t.Errorf("%s: %+v", codec, r)
		}
	}
}

func TestDifferent(t *testing.T) {
	rows := []any{mail(1, 0.0), mail(2, 1.5), mail(3, nil)}
	change := func(f func(m map[string]any)) []any {
		m := mail(2, 1.5)
		f(m)
		return []any{rows[0], m, rows[2]}
	}
	cases := []struct {
		name    string
		columns []any
		row     int64
		path    string
		count   int64
	}{
		{"value", change(func(m map[string]any) { m["id"] = int64(9) }), 1, "id", 1},
		{"union branch", change(func(m map[string]any) { m["score"] = nil }), 1, "score", 1},
		{"union value", change(func(m map[string]any) { m["score"] = map[string]any{"double": 1.25} }), 1, "score.double", 1},
		{"map value", change(func(m map[string]any) { m["tags"] = map[string]any{"a": "1", "b": "x"} }), 1, "tags.b", 1},
		{"map key", change(func(m map[string]any) { m["tags"] = map[string]any{"a": "1", "c": "2"} }), 1, "tags.b", 1},
		{"array length", change(func(m map[string]any) { m["to"] = []any{} }), 1, "to", 1},
		{"array item", change(func(m map[string]any) { m["to"] = []any{[]byte("x"), []byte{0, 3}} }), 1, "to[1]", 1},
		{"sign of zero", []any{mail(1, math.Copysign(0, -1)), rows[1], rows[2]}, 0, "score.double", 1},
		{"order", []any{rows[1], rows[0], rows[2]}, 0, "id", 2},
		{"row missing", rows[:2], 2, "", 1},
		{"rows extra", append(append([]any{}, rows...), mail(4, nil), mail(5, nil)), 3, "", 2},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := compare(t, input(ocfFile(t, mailSchema, "snappy", rows), nil), &list{rows: data(t, mailSchema, c.columns)})
			if r.Different != c.count || len(r.First) == 0 {
				t.Fatalf("%+v", r)
			}
			if d := r.First[0]; d.Row != c.row || d.Path != c.path {
				t.Errorf("got %+v, want row %d and path %q", d, c.row, c.path)
			}
		})
	}
}

// TestMissingKey checks that a key that is missing does not look like a null.
func TestMissingKey(t *testing.T) {
	path, w, g, same := differ("", map[string]any{"a": nil}, map[string]any{"b": nil})
	if same || path != "a" || render(w) == render(g) {
		t.Errorf("%s: %s and %s, %v", path, render(w), render(g), same)
	}
}

func TestLogicalTypesAreComparedAsTheirBytes(t *testing.T) {
	schema := `{"type":"record","name":"R","fields":[{"name":"d","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2},"default":17}]}`
	plain := `{"type":"record","name":"R","fields":[{"name":"d","type":"bytes"}]}`
	want := []any{map[string]any{"d": []byte{0, 1}}}
	file := ocfFile(t, plain, "null", want)
	h, err := readHeader(input(file, nil))
	testenv.Must(t, err)
	head, err := h.encode(schema)
	testenv.Must(t, err)
	file = append(head, file[h.size:]...)
	if r := compare(t, input(file, nil), &list{rows: data(t, plain, want)}); r.Different != 0 || r.Compared != 1 || r.OwnBlocks != 0 {
		t.Errorf("%+v", r)
	}
	// The same number with fewer bytes is not the same value.
	if r := compare(t, input(file, nil), &list{rows: data(t, plain, []any{map[string]any{"d": []byte{1}}})}); r.Different != 1 {
		t.Errorf("%+v", r)
	}
}

// TestRejectedSchema has rows that goavro cannot decode: they are counted, and their
// number is compared.
func TestRejectedSchema(t *testing.T) {
	plain := `{"type":"record","name":"R","fields":[{"name":"x","type":"int"}]}`
	rows := []any{map[string]any{"x": 1}, map[string]any{"x": 2}, map[string]any{"x": 3}}
	file := ocfFile(t, plain, "null", rows)
	file = bytes.Replace(file, []byte(`"int"`), []byte(`"nil"`), 1)
	b := data(t, plain, rows)
	r := compare(t, input(file, b), &list{rows: b})
	if r.Compared != 0 || r.Different != 0 || len(r.NotCompared) != 1 || r.Skipped() != 3 {
		t.Fatalf("%+v", r)
	}
	if reason := r.NotCompared[0].Reason; !strings.Contains(reason, "rejects the schema") {
		t.Errorf("reason %q", reason)
	}
	if r := compare(t, input(file, b), &list{rows: b[:2]}); r.Different != 1 {
		t.Errorf("a missing row is not noticed: %+v", r)
	}
}

// TestOddNames has names and symbols that goavro rejects unless they are renamed.
func TestOddNames(t *testing.T) {
	odd := `{"type":"record","name":"R-1","namespace":"a-b","fields":[
		{"name":"x.y","type":"int"},{"name":"x_y","type":"int"},
		{"name":"e","type":["null",{"type":"enum","name":"E 1","symbols":["a b","a_b","a b","9",null,"null"]}]},
		{"name":"again","type":["null","E 1","a-b.R-1"]}]}`
	renamed, err := rename(odd)
	testenv.Must(t, err)
	plain := `{"type":"record","name":"R","fields":[{"name":"x","type":"int"}]}`
	file := ocfFile(t, plain, "null", nil)
	h, err := readHeader(input(file, nil))
	testenv.Must(t, err)
	head, err := h.encode(odd)
	testenv.Must(t, err)
	rows := [][]byte{{2, 4, 2, 4, 2, 2}, {2, 4, 0, 0}}
	for _, row := range rows {
		head = append(append(append(head, 2, byte(2*len(row))), row...), h.sync...)
	}
	if r := compare(t, input(head, rows), &list{rows: rows}); r.Compared != 2 || r.Different != 0 || r.Renamed != 1 || r.OwnBlocks != 0 {
		t.Errorf("%+v with %s", r, renamed)
	}
	for _, other := range [][]byte{{4, 2, 2, 4, 2, 2}, {2, 4, 2, 0, 2, 2}, {2, 4, 2, 4, 2, 6}} {
		if r := compare(t, input(head, rows), &list{rows: [][]byte{other, rows[1]}}); r.Different != 1 {
			t.Errorf("%v is accepted for %v", other, rows[0])
		}
	}
}

// TestSecondDecoder has a map with equal keys, which goavro rejects.
func TestSecondDecoder(t *testing.T) {
	schema := `{"type":"map","values":"int"}`
	good := []byte{2, 2, 'a', 2, 0}
	twice := []byte{4, 2, 'a', 2, 2, 'a', 4, 0}
	b := [][]byte{good, twice, good}
	file := ocfFile(t, schema, "null", nil)
	sync := file[len(file)-16:]
	for _, row := range b {
		file = append(file, 2, byte(2*len(row)))
		file = append(file, row...)
		file = append(file, sync...)
	}
	r := compare(t, input(file, b), &list{rows: b})
	if r.Compared != 3 || r.ByGoavro != 2 || r.ByHamba != 1 || r.Different != 0 || r.Skipped() != 0 {
		t.Errorf("%+v", r)
	}
	for _, other := range [][]byte{good, {4, 2, 'a', 2, 2, 'a', 6, 0}, {4, 2, 'a', 4, 2, 'a', 2, 0}, {4, 2, 'a', 2, 2, 'a', 4}} {
		if r := compare(t, input(file, b), &list{rows: [][]byte{good, other, good}}); r.Different != 1 || r.First[0].Row != 1 {
			t.Errorf("% x is accepted for % x: %+v", other, twice, r)
		}
	}
}

// TestOwnBlocks has a container that goavro cannot read after some rows.
func TestOwnBlocks(t *testing.T) {
	rows := []any{mail(1, nil), mail(2, nil), mail(3, nil), mail(4, nil)}
	b := data(t, mailSchema, rows)
	file := ocfFile(t, mailSchema, "null", rows)
	file = file[:len(file)-3]
	r := compare(t, input(file, b), &list{rows: b})
	if r.OwnBlocks != 1 || r.Compared != 4 || r.Different != 0 {
		t.Errorf("%+v", r)
	}
	lossy := input(file, b[2:])
	lossy.Lossy = true
	if r := compare(t, lossy, &list{rows: b[2:]}); r.OwnBlocks != 1 || r.Compared != 2 || r.Different != 0 {
		t.Errorf("with losses: %+v", r)
	}
}

// TestBytesAfterTheRows has a block with one row more than its count. The rows of the
// input from there on are unknown, so they are not compared.
func TestBytesAfterTheRows(t *testing.T) {
	b := data(t, mailSchema, []any{mail(1, nil), mail(2, nil), mail(3, nil)})
	in := input(ocfFile(t, mailSchema, "null", nil), [][]byte{slices.Concat(b[0], b[1]), b[2]})
	in.Lossy = true
	r := compare(t, in, &list{rows: [][]byte{b[0], b[2]}})
	if r.Compared != 1 || r.Skipped() != 1 || r.Different != 0 || r.NotCompared[0].Row != 1 {
		t.Errorf("%+v", r)
	}
}

func TestColumnErrorsStop(t *testing.T) {
	rows := []any{mail(1, nil), mail(2, nil)}
	broken := errors.New("disk on fire")
	c := New(&list{rows: data(t, mailSchema, rows[:1]), err: broken})
	if err := c.Input(t.Context(), input(ocfFile(t, mailSchema, "null", rows), nil)); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestCancelled(t *testing.T) {
	rows := []any{mail(1, nil)}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := New(&list{rows: data(t, mailSchema, rows)})
	if err := c.Input(ctx, input(ocfFile(t, mailSchema, "null", rows), nil)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func FuzzReadHeader(f *testing.F) {
	f.Add([]byte("Obj\x01\x02\x16avro.schema\x0a\"int\"\x00aaaaaaaaaaaaaaaa"))
	f.Add([]byte("Obj\x01\x01\x80\x80\x80\x80\x80\x80\x80\x80\x40"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := readHeader(input(b, nil))
		if err == nil && (h.size > int64(len(b)) || len(h.sync) != 16) {
			t.Errorf("size %d, sync of %d bytes in %d bytes", h.size, len(h.sync), len(b))
		}
	})
}

// endless is a file whose header is one value that does not end.
type endless struct{ reads int }

func (e *endless) ReadAt(p []byte, _ int64) (int, error) {
	if e.reads++; e.reads > 10 {
		return 0, io.ErrNoProgress
	}
	copy(p, "Obj\x01\x02\x02k\x80\x80\x80\x80\x80\x80\x01")
	return len(p), nil
}

func TestEndlessHeader(t *testing.T) {
	e := &endless{}
	if h, err := readHeader(Input{R: e, Size: 1 << 50}); err == nil || e.reads != 5 {
		t.Errorf("%+v, %v after %d reads", h, err, e.reads)
	}
}
