package dataset_test

import (
	"encoding/binary"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// block is a source of one block.
type block struct {
	data  []byte
	items int
}

func (b *block) Next(r *column.Reader) error {
	if b.data == nil {
		return io.EOF
	}
	r.Load(b.data, int64(b.items))
	b.data = nil
	return nil
}

func (*block) Damaged(kind damage.Kind, pos int, reason string, args ...any) error {
	return damage.New(kind, "", int64(pos), reason, args...)
}

// reader reads the values of a vector.
func reader(c column.Column, v *column.Vector) *column.Reader {
	bufs := column.NewBuffers([]column.Column{c}, column.Interleaved, 1<<30)
	buf, next := &bufs.Cols[0], 0
	values := func(n int) {
		for i := next; i < next+n; i++ {
			switch c.Type {
			case column.Null:
			case column.Boolean:
				buf.AppendBool(v.Bools[i])
			case column.Int:
				buf.AppendVarint(int64(v.Ints[i]))
			case column.Long:
				buf.AppendVarint(v.Longs[i])
			case column.Float:
				buf.Append(binary.LittleEndian.AppendUint32(nil, math.Float32bits(v.Floats[i])))
			case column.Double:
				buf.Append(binary.LittleEndian.AppendUint64(nil, math.Float64bits(v.Doubles[i])))
			default:
				buf.AppendSized(v.Data[v.Offsets[i]:v.Offsets[i+1]])
			}
		}
		next += n
	}
	items := v.Values
	if c.Array {
		items = len(v.Lengths)
		for _, n := range v.Lengths {
			buf.Length(uint32(n))
			values(int(n))
		}
	} else {
		values(items)
	}
	var out column.Block
	buf.Finish(1, &out)
	return column.NewReader(c, true, &block{append([]byte{}, out.Data...), items})
}

// batches returns the rows in the batches of a query.
func batches(t testing.TB, d *dataset.Dataset, q dataset.Query) ([][]byte, dataset.Stats, error) {
	t.Helper()
	b, err := d.Batches(t.Context(), q)
	if err != nil {
		return nil, dataset.Stats{}, err
	}
	defer b.Close()
	var rows [][]byte
	for b.Next() {
		readers := make([]shred.Values, len(b.Mapping().Columns))
		for i, c := range b.Mapping().Columns {
			readers[i] = reader(c, b.Vector(i))
		}
		a := shred.NewAssembler(b.Mapping(), readers, nil)
		a.Start(int64(b.Rows()))
		for range b.Rows() {
			row, err := a.Row(nil)
			testenv.Must(t, err)
			rows = append(rows, row)
		}
		if q.BatchRows > 0 && b.Rows() > q.BatchRows {
			t.Errorf("got a batch of %d rows, want at most %d", b.Rows(), q.BatchRows)
		}
	}
	return rows, b.Stats(), b.Err()
}

// Batches have the same rows as a scan with the same query.
func TestBatchesHaveTheRows(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		dir, _ := mailSet(t, f, 1500)
		d := open(t, dir, dataset.Options{Formats: formats})
		r := rand.New(rand.NewPCG(1, 2))
		for range 60 {
			q := dataset.Query{
				Offset: int64(r.IntN(3) * r.IntN(1500)), Limit: int64(r.IntN(1600) - 50), BatchRows: r.IntN(3) * r.IntN(1000),
				Where: []string{"", "seen", "score > 5 && size != null", "id % 97 == 0", `folder == "SPAM"`, "false"}[r.IntN(6)],
			}
			if r.IntN(2) == 0 {
				q.Columns = [][]string{{"from"}, {"received.protocol", "score"}, {"headers", "id"}, {"to", "seen"}, {}}[r.IntN(5)]
			}
			want, ws, err := scan(t, d, q)
			testenv.Must(t, err)
			got, gs, err := batches(t, d, q)
			if err != nil || !slices.EqualFunc(got, want, slices.Equal) {
				t.Errorf("%+v: %d rows, want %d (%v)", q, len(got), len(want), err)
			}
			if gs.Rows != ws.Rows || ws.BytesRead > ws.FileBytes*5/2 { // reads of the headers may include these small files
				t.Errorf("%+v: %+v and %+v", q, gs, ws)
			}
		}
	})
}

// Origin returns the part of a row and its number there.
func TestBatchesOrigin(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		dir, _ := mailSet(t, f, 1500)
		d := open(t, dir, dataset.Options{Formats: formats})
		first, next := map[string]int64{}, int64(0)
		for _, p := range d.Parts() {
			first[p.Name], next = next, next+p.Rows
		}
		all, err := d.Batches(t.Context(), dataset.Query{Columns: []string{"id"}, Limit: -1, BatchRows: 1500})
		testenv.Must(t, err)
		defer all.Close()
		var ids []int64
		for all.Next() {
			ids = append(ids, all.Vector(0).Longs...)
		}
		if len(first) < 2 || len(ids) != 1500 {
			t.Fatal(first, len(ids), all.Err())
		}
		for _, where := range []string{"", "seen", "id % 97 == 0", `folder == "SPAM"`} {
			for _, batchRows := range []int{0, 1, 70} {
				b, err := d.Batches(t.Context(), dataset.Query{Columns: []string{"id"}, Where: where, Offset: 3, Limit: 1200, BatchRows: batchRows})
				testenv.Must(t, err)
				for b.Next() {
					for i, id := range b.Vector(0).Longs {
						if part, row := b.Origin(i); ids[first[part]+row] != id {
							t.Fatalf("where %q: row %d of a batch, mail %d, has the origin row %d of %s", where, i, id, row, part)
						}
					}
				}
				if b.Err() != nil || b.Stats().Rows == 0 {
					t.Error(b.Err(), b.Stats())
				}
				b.Close()
			}
		}
	})
}

// A batch ends before rows for which there is no memory besides it. The next batch has them.
func TestBatchesOfRowsThatFillMemory(t *testing.T) {
	var blocks []avrotest.Block
	for i := range 60 {
		var rows []byte
		for k := range 10 {
			rows = append(binary.AppendVarint(rows, 20<<10), strings.Repeat(string(rune('a'+(10*i+k)%26)), 20<<10)...)
		}
		blocks = append(blocks, avrotest.Block{Rows: 10, Data: rows})
	}
	name := filepath.Join(t.TempDir(), "in.avro")
	testenv.Must(t, os.WriteFile(name, avrotest.Make(t, `"string"`, "deflate", blocks...), 0o666))
	for size := int64(2 << 20); size < 9<<20; size += 512 << 10 {
		b, err := openAvro(t, name, budget.New(size)).Batches(t.Context(), dataset.Query{Limit: -1, Copies: 1})
		testenv.Must(t, err)
		row := 0
		for b.Next() {
			v := b.Vector(0)
			for i := range b.Rows() {
				if got, want := v.Data[v.Offsets[i]], byte('a'+row%26); got != want {
					t.Fatalf("%d bytes: row %d has a text of %c, want %c", size, row, got, want)
				}
				row++
			}
		}
		if b.Close(); b.Err() != nil || row != 600 {
			t.Errorf("%d bytes: %d rows, %v", size, row, b.Err())
		}
	}
}
