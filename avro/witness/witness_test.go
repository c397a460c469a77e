package witness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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

func (l *list) again() Rows {
	same := *l
	return &same
}

// repeatable are rows that can be read again.
type repeatable interface {
	Rows
	again() Rows
}

// rowBlocks are blocks of one row each, which are not those of a file.
type rowBlocks [][]byte

func (b *rowBlocks) Next(context.Context, func(int64) error) (Block, error) {
	if len(*b) == 0 {
		return Block{}, io.EOF
	}
	row := (*b)[0]
	*b = (*b)[1:]
	return Block{Rows: 1, Size: int64(len(row)), Decode: func() ([]byte, error) { return row, nil }}, nil
}

// input returns an input with blocks of single rows, or with those of the file if rows is nil.
func input(file []byte, rows [][]byte) Input {
	return Input{
		Name: "in.avro", R: bytes.NewReader(file), Size: int64(len(file)),
		Blocks: func() (Blocks, error) {
			if rows == nil {
				_, own, err := openBlocks(file)
				return own, err
			}
			left := rowBlocks(rows)
			return &left, nil
		},
	}
}

// inputs returns inputs one after another.
func inputs(all ...Input) func() (Input, error) {
	return func() (in Input, err error) {
		if len(all) == 0 {
			return in, io.EOF
		}
		in, all = all[0], all[1:]
		return in, nil
	}
}

// compare compares with one worker and with several, and requires the same result.
func compare(t *testing.T, in Input, columns repeatable) Result {
	t.Helper()
	return compareWith(t, Options{}, columns, in)
}

func compareWith(t *testing.T, o Options, columns repeatable, all ...Input) Result {
	t.Helper()
	r, err := Compare(t.Context(), columns.again(), inputs(all...), o)
	testenv.Must(t, err)
	o.Workers = 3
	beside, err := Compare(t.Context(), columns, inputs(all...), o)
	testenv.Must(t, err)
	if !reflect.DeepEqual(r, beside) {
		t.Errorf("with several workers: %+v; with one: %+v", beside, r)
	}
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
	if r := compare(t, input(head, nil), &list{rows: rows}); r.Compared != 2 || r.Different != 0 || r.Renamed != 1 || r.OwnBlocks != 0 {
		t.Errorf("%+v with %s", r, renamed)
	}
	for _, other := range [][]byte{{4, 2, 2, 4, 2, 2}, {2, 4, 2, 0, 2, 2}, {2, 4, 2, 4, 2, 6}} {
		if r := compare(t, input(head, nil), &list{rows: [][]byte{other, rows[1]}}); r.Different != 1 {
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
	r := compare(t, input(file, nil), &list{rows: b})
	if r.Compared != 3 || r.ByGoavro != 2 || r.ByHamba != 1 || r.Different != 0 || r.Skipped() != 0 {
		t.Errorf("%+v", r)
	}
	for _, other := range [][]byte{good, {4, 2, 'a', 2, 2, 'a', 6, 0}, {4, 2, 'a', 4, 2, 'a', 2, 0}, {4, 2, 'a', 2, 2, 'a', 4}} {
		if r := compare(t, input(file, nil), &list{rows: [][]byte{good, other, good}}); r.Different != 1 || r.First[0].Row != 1 {
			t.Errorf("% x is accepted for % x: %+v", other, twice, r)
		}
	}
}

// TestOwnBlocks has a container that goavro cannot read after some rows.
func TestOwnBlocks(t *testing.T) {
	rows := []any{mail(1, nil), mail(2, nil), mail(3, nil), mail(4, nil)}
	b := data(t, mailSchema, rows)
	file := ocfFile(t, mailSchema, "null", rows)
	in, torn := input(file, nil), bytes.Clone(file)
	torn[len(torn)-3] ^= 1 // of the last sync marker
	in.R = bytes.NewReader(torn)
	r := compare(t, in, &list{rows: b})
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

// TestBytesAfterTheLastRows has such a block at the end of the input.
func TestBytesAfterTheLastRows(t *testing.T) {
	b := data(t, mailSchema, []any{mail(1, nil), mail(2, nil)})
	in := input(ocfFile(t, mailSchema, "null", nil), [][]byte{slices.Concat(b[0], b[1])})
	in.Lossy = true
	r := compare(t, in, &list{rows: b[:1]})
	if r.Compared != 1 || r.Skipped() != 1 || r.Different != 0 || r.NotCompared[0].Row != 1 {
		t.Errorf("%+v", r)
	}
}

// TestBlocksThatAreLeftOut has a reader of blocks that does not see the first or the last block.
func TestBlocksThatAreLeftOut(t *testing.T) {
	rows := []any{mail(1, nil), mail(2, nil), mail(3, nil), mail(4, nil)}
	file, b := ocfFile(t, mailSchema, "null", rows), data(t, mailSchema, rows)
	for _, c := range []struct {
		out     int
		columns [][]byte
	}{{0, b[2:]}, {1, b[:2]}} {
		in := input(file, nil)
		in.Blocks = func() (Blocks, error) {
			_, own, err := openBlocks(file)
			return &lessBlocks{own, c.out}, err
		}
		if r, err := Compare(t.Context(), &list{rows: c.columns}, inputs(in), Options{}); err == nil || !strings.Contains(err.Error(), "in no block") {
			t.Errorf("without block %d: %+v, %v", c.out, r, err)
		}
	}
}

// lessBlocks leave out a block.
type lessBlocks struct {
	Blocks
	out int
}

func (l *lessBlocks) Next(ctx context.Context, reserve func(int64) error) (Block, error) {
	if l.out--; l.out < 0 {
		l.out = math.MaxInt
		if _, err := l.Blocks.Next(ctx, reserve); err != nil {
			return Block{}, err
		}
	}
	return l.Blocks.Next(ctx, reserve)
}

// account has a limit. It is used by several goroutines.
type account struct {
	mu                sync.Mutex
	limit, held, peak int64
}

func (a *account) Reserve(n int64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.held+n > a.limit {
		return errNoMemory
	}
	a.held += n
	a.peak = max(a.peak, a.held)
	return nil
}

func (a *account) Release(n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.held -= n
}

var errNoMemory = errors.New("no memory")

// TestBlocksWaitForMemory compares with less memory than all workers could use. Blocks wait, and blocks of
// ordinary size need no memory if they are alone. A large block is refused.
func TestBlocksWaitForMemory(t *testing.T) {
	var rows []any
	for i := range 200 {
		m := mail(int64(i), nil)
		m["to"] = []any{bytes.Repeat([]byte{byte(i)}, 20_000)}
		rows = append(rows, m)
	}
	in, b := input(ocfFile(t, mailSchema, "snappy", rows), nil), data(t, mailSchema, rows)
	for _, limit := range []int64{0, 600 << 10, 1 << 20, 1 << 30} { // a block takes 10 times 40,000 bytes
		a := &account{limit: limit}
		r, err := Compare(t.Context(), &list{rows: b}, inputs(in), Options{Workers: 8, Memory: a})
		if err != nil || r.Compared != 200 || r.Different > 0 || a.held != 0 || limit > 0 && a.peak == 0 {
			t.Errorf("%d bytes: %+v, %v; %d held, %d at most", limit, r, err, a.held, a.peak)
		}
	}
	large := mail(1, nil)
	large["to"] = []any{make([]byte, 200<<10)}
	in, b = input(ocfFile(t, mailSchema, "snappy", []any{large}), nil), data(t, mailSchema, []any{large})
	a := &account{limit: 1 << 20}
	if _, err := Compare(t.Context(), &list{rows: b}, inputs(in), Options{Workers: 8, Memory: a}); !errors.Is(err, errNoMemory) || a.held != 0 {
		t.Errorf("a large block: %v, %d held", err, a.held)
	}
}

// TestManyInputs has differences in many inputs. They are reported in the order of the rows, and
// each input is closed once.
func TestManyInputs(t *testing.T) {
	var all []Input
	var columns [][]byte
	var closed [30]atomic.Int32
	for i := range closed {
		rows := []any{mail(int64(3*i), nil), mail(int64(3*i+1), nil), mail(int64(3*i+2), nil)}
		in := input(ocfFile(t, mailSchema, "deflate", rows), nil)
		in.Name, in.Close = fmt.Sprint(i), func() { closed[i].Add(1) }
		all = append(all, in)
		rows[1] = mail(-1, nil)
		columns = append(columns, data(t, mailSchema, rows)...)
	}
	r := compareWith(t, Options{}, &list{rows: columns[:80]}, all...)
	if r.Inputs != 30 || r.Compared != 90 || r.Different != 27+10 || len(r.First) != listed {
		t.Errorf("%+v", r)
	}
	for i, d := range r.First {
		if d.Input != fmt.Sprint(i) || d.Row != 1 {
			t.Errorf("difference %d: %+v", i, d)
		}
	}
	for i := range closed {
		if n := closed[i].Load(); n != 2 { // compared twice
			t.Errorf("input %d was closed %d times", i, n)
		}
	}
}

func TestColumnErrorsStop(t *testing.T) {
	rows := []any{mail(1, nil), mail(2, nil)}
	broken := errors.New("disk on fire")
	in := input(ocfFile(t, mailSchema, "null", rows), nil)
	_, err := Compare(t.Context(), &list{rows: data(t, mailSchema, rows[:1]), err: broken}, inputs(in), Options{Workers: 3})
	if !errors.Is(err, broken) || !errors.Is(err, ErrColumns) {
		t.Errorf("got %v", err)
	}
}

func TestCancelled(t *testing.T) {
	rows := []any{mail(1, nil)}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	in := input(ocfFile(t, mailSchema, "null", rows), nil)
	if _, err := Compare(ctx, &list{rows: data(t, mailSchema, rows)}, inputs(in), Options{Workers: 3}); !errors.Is(err, context.Canceled) {
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
