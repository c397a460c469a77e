package arrow_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	arrowgo "github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/twmb/avro"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/cfile"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/dataset/arrow"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/formattest"
	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/mailgen"
	"github.com/rowtocol/rowtocol/internal/randavro"
	"github.com/rowtocol/rowtocol/internal/soak"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/plan"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/parquet"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/trevni"
)

var formats = format.Registry{trevni.Format, cfile.Format, parquet.Format}

// request returns a job that makes an output of small parts.
func request(f format.Format, options json.RawMessage, input, dest, temp string) job.Request {
	rowGroup := int64(16 << 10)
	switch f {
	case cfile.Format:
		rowGroup = 128 << 10 // each file of a column takes up to 1 KiB besides the rows
	case parquet.Format:
		rowGroup = 128 << 10 // each column chunk takes nearly as much
	}
	return job.Request{
		Asked:   plan.Asked{Inputs: []string{input}, Dest: dest, Output: manifest.Options{Format: f.Name(), FormatOptions: options, RowGroupSize: rowGroup, MaxLostRows: -1}},
		Options: job.Options{Environment: task.Environment{Workers: 1, TempDir: temp, Formats: formats}},
	}
}

// convert returns a dataset of rows.
func convert(t testing.TB, f format.Format, schema string, rows [][]byte) *dataset.Dataset {
	t.Helper()
	dir := t.TempDir()
	in := filepath.Join(dir, "in.avro")
	if err := os.WriteFile(in, avrotest.File(t, schema, [16]byte{1}, 1, rows...), 0o666); err != nil {
		t.Fatal(err)
	}
	options := formattest.Options(t, f, map[string][]string{"codec": {"null"}, "checksum": {"null"}})
	r := request(f, options, in, filepath.Join(dir, "out"), dir)
	if _, err := job.Convert(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	d, err := dataset.Open(t.Context(), []store.Location{{Store: store.Local(), Path: r.Dest}}, dataset.Options{Formats: formats})
	testenv.Must(t, err)
	return d
}

// records returns the record batches of a query. At its end the test releases them
// and checks that no other memory is left.
func records(t testing.TB, d *dataset.Dataset, form arrow.Form, batchRows int) (*arrowgo.Schema, []arrowgo.RecordBatch) {
	t.Helper()
	b, err := d.Batches(t.Context(), dataset.Query{Limit: -1, BatchRows: batchRows})
	testenv.Must(t, err)
	defer b.Close()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	t.Cleanup(func() { mem.AssertSize(t, 0) })
	r, err := arrow.NewRecords(b, form, mem)
	testenv.Must(t, err)
	var all []arrowgo.RecordBatch
	for {
		batch, err := r.Next()
		if errors.Is(err, io.EOF) {
			return r.Schema(), all
		}
		testenv.Must(t, err)
		t.Cleanup(batch.Release)
		all = append(all, batch)
	}
}

// native decodes a row with another implementation. The value of a union is null or
// a map of the branch's name.
func native(t testing.TB, schema *avro.Schema, row []byte) any {
	t.Helper()
	var v any
	if rest, err := schema.Decode(row, &v, avro.TaggedUnions()); err != nil || len(rest) > 0 {
		t.Fatalf("%v, %d bytes left", err, len(rest))
	}
	return v
}

// value returns an Arrow value in the form of native.
func value(n *shred.Node, a arrowgo.Array, i int) any {
	if d, ok := a.(*array.Dictionary); ok && n.Kind == shred.KindEnum {
		return d.Dictionary().(*array.String).Value(d.GetValueIndex(i))
	}
	switch a := a.(type) {
	case *array.Null:
		return nil
	case *array.Boolean:
		if n.Kind == shred.KindRecord {
			return map[string]any{}
		}
		return a.Value(i)
	case *array.Int32:
		return a.Value(i)
	case *array.Int64:
		return a.Value(i)
	case *array.Timestamp:
		return time.UnixMicro(int64(a.Value(i))).UTC()
	case *array.Float32:
		return a.Value(i)
	case *array.Float64:
		return a.Value(i)
	case *array.String:
		return a.Value(i)
	case *array.Binary:
		return append([]byte{}, a.Value(i)...)
	case *array.FixedSizeBinary:
		return append([]byte{}, a.Value(i)...)
	}
	return compound(n, a, i)
}

func compound(n *shred.Node, a arrowgo.Array, i int) any {
	switch n.Kind {
	case shred.KindRecord:
		v := map[string]any{}
		for k, f := range n.Fields {
			v[f.Name] = valueOrUnion(f.Type, a.(*array.Struct).Field(k), i)
		}
		return v
	case shred.KindArray:
		l := a.(*array.List)
		v := []any{}
		for from, to := l.ValueOffsets(i); from < to; from++ {
			v = append(v, valueOrUnion(n.Items, l.ListValues(), int(from)))
		}
		return v
	case shred.KindMap:
		m := a.(*array.Map)
		v := map[string]any{}
		for from, to := m.ValueOffsets(i); from < to; from++ {
			v[m.Keys().(*array.String).Value(int(from))] = valueOrUnion(n.Items, m.Items(), int(from))
		}
		return v
	}
	panic(fmt.Sprintf("%v as %T", n.Kind, a))
}

// valueOrUnion is value for a type that can be a union.
func valueOrUnion(n *shred.Node, a arrowgo.Array, i int) any {
	if n.Kind != shred.KindUnion {
		return value(n, a, i)
	}
	var others []*shred.Node
	for _, b := range n.Branches {
		if b.Kind != shred.KindNull {
			others = append(others, b)
		}
	}
	if u, ok := a.(*array.DenseUnion); ok {
		code := u.TypeCode(i)
		return tagged(n.Branches[code], u.Field(int(code)), int(u.ValueOffset(i)))
	}
	switch {
	case a.IsNull(i) || len(others) == 0:
		return nil
	case len(others) == 1:
		return tagged(others[0], a, i)
	}
	for k, b := range others {
		if f := a.(*array.Struct).Field(k); f.IsValid(i) || b.Kind == shred.KindNull {
			return tagged(b, f, i)
		}
	}
	panic("no branch")
}

func tagged(n *shred.Node, a arrowgo.Array, i int) any {
	if n.Kind == shred.KindNull {
		return nil
	}
	return map[string]any{n.FullName(): value(n, a, i)}
}

// same reports whether two values are equal; NaN equals itself.
func same(a, b any) bool {
	return reflect.DeepEqual(a, b) || fmt.Sprintf("%#v", a) == fmt.Sprintf("%#v", b)
}

// check compares record batches with the rows.
func check(t testing.TB, root *shred.Node, batches []arrowgo.RecordBatch, want []any) {
	t.Helper()
	at := 0
	for _, b := range batches {
		for i := range int(b.NumRows()) {
			row := map[string]any{}
			for k, f := range root.Fields {
				row[f.Name] = valueOrUnion(f.Type, b.Column(k), i)
			}
			if !same(row, want[at]) {
				t.Fatalf("row %d: got\n%#v\nwant\n%#v\n%s", at, row, want[at], b.Schema())
			}
			at++
		}
	}
	if at != len(want) {
		t.Fatalf("got %d rows, want %d", at, len(want))
	}
}

// throughStream writes and reads an IPC stream.
func throughStream(t testing.TB, s *arrowgo.Schema, batches []arrowgo.RecordBatch) []arrowgo.RecordBatch {
	t.Helper()
	var out bytes.Buffer
	writeAll(t, arrow.NewStream(&out, s), batches)
	r, err := ipc.NewReader(&out)
	testenv.Must(t, err)
	defer r.Release()
	var all []arrowgo.RecordBatch
	for r.Next() {
		batch := r.RecordBatch()
		batch.Retain()
		t.Cleanup(batch.Release)
		all = append(all, batch)
	}
	if r.Err() != nil || !r.Schema().Equal(s) {
		t.Fatalf("%v\n%s", r.Err(), r.Schema())
	}
	return all
}

func writeAll(t testing.TB, w *ipc.Writer, batches []arrowgo.RecordBatch) {
	t.Helper()
	for _, b := range batches {
		testenv.Must(t, w.Write(b))
	}
	testenv.Must(t, w.Close())
}

// Arrays of any schema have the values that another Avro implementation decodes, in
// batches of any size, before and after writing a stream.
func TestRandomSchemas(t *testing.T) {
	for seed := range soak.Rounds[uint64](20, 60) {
		r := rand.New(rand.NewPCG(seed, 11))
		schema := randavro.Schema(r)
		parsed := avrotest.Parse(t, schema)
		judge, err := avro.Parse(schema)
		testenv.Must(t, err)
		rows, want := make([][]byte, r.IntN(60)), []any{}
		for i := range rows {
			rows[i], _ = randavro.Pair(r, parsed.Root())
			want = append(want, native(t, judge, rows[i]))
		}
		for _, f := range formats {
			t.Run(fmt.Sprintf("%s/%d", f.Name(), seed), func(t *testing.T) {
				d := convert(t, f, schema, rows)
				for _, form := range []arrow.Form{arrow.Unions, arrow.Structs} {
					s, batches := records(t, d, form, 1+r.IntN(40))
					check(t, parsed.Root(), batches, want)
					check(t, parsed.Root(), throughStream(t, s, batches), want)
				}
			})
		}
	}
}

// Goroutines share a schema, and each makes record batches of its own.
func TestMakersShareASchema(t *testing.T) {
	var rows [][]byte
	g := mailgen.New(1)
	for range 50 {
		rows = append(rows, g.Append(nil))
	}
	d := convert(t, trevni.Format, mailgen.Schema, rows)
	b, err := d.Batches(t.Context(), dataset.Query{Limit: -1})
	testenv.Must(t, err)
	defer b.Close()
	s, err := arrow.NewSchema(b.Mapping(), arrow.Unions, b.Reserve)
	if err != nil || !b.Next() || b.Rows() != len(rows) {
		t.Fatal(err, b.Err(), b.Rows())
	}
	texts := make([]string, 4)
	var group sync.WaitGroup
	for i := range texts {
		group.Go(func() {
			for range 5 {
				batch, err := s.NewMaker(memory.DefaultAllocator).Make(b, func() {})
				if err != nil {
					t.Error(err)
					return
				}
				text, err := json.Marshal(batch)
				batch.Release()
				if texts[i] = string(text); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	for _, text := range texts {
		if text != texts[0] || !strings.Contains(text, "INBOX") {
			t.Errorf("makers of one schema make different record batches:\n%s\n%s", text, texts[0])
		}
	}
}
