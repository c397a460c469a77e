package main

import (
	"bytes"
	varints "encoding/binary"
	"io"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/dataset/export"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/store"
)

// refusedOnce is an encoding that has too little memory once: for a large row, or for the row after
// a long one.
type refusedOnce struct {
	export.Encoding
	large   bool
	refused *atomic.Bool
}

func (r refusedOnce) NewEncoder(w io.Writer) (export.Encoder, error) {
	e, err := r.Encoding.NewEncoder(w)
	return &refusedEncoder{Encoder: e, refusedOnce: r}, err
}

type refusedEncoder struct {
	export.Encoder
	refusedOnce
	before int // size of the row before
}

func (r *refusedEncoder) Memory(row int) int64 {
	if r.large && r.refused.CompareAndSwap(false, true) {
		return 1 << 40
	}
	return r.Encoder.Memory(row)
}

func (r *refusedEncoder) Append(dst, row []byte) ([]byte, error) {
	if !r.large && r.before > dataset.BufferSize && r.refused.CompareAndSwap(false, true) {
		return dst, new(budget.Error)
	}
	r.before = len(row)
	return r.Encoder.Append(dst, row)
}

// encodedRows makes a dataset with 3000 rows, and the account of its memory. Some rows are long.
func encodedRows(t *testing.T) (*dataset.Dataset, *shred.Schema, *budget.Pool) {
	t.Helper()
	const schema = `{"type":"record","name":"R","fields":[{"name":"text","type":"string"}]}`
	name := filepath.Join(t.TempDir(), "in.avro")
	var b bytes.Buffer
	w, err := ocf.NewWriter(&b, schema, "null", [16]byte{1})
	must(t, err)
	var block []byte
	for i := range 3000 {
		text := "a row of usual size"
		switch i % 1000 {
		case 300:
			text = strings.Repeat("long ", dataset.BufferSize/4)
		case 700:
			text = strings.Repeat("large ", largeRow/4)
		}
		block = append(varints.AppendVarint(block, int64(len(text))), text...)
		if i%10 == 9 {
			must(t, w.AppendBlock(10, block))
			block = block[:0]
		}
	}
	write(t, name, b.Bytes())
	pool := budget.New(256 << 20)
	data, err := dataset.Open(t.Context(), []store.Location{{Store: store.Local(), Path: name}}, dataset.Options{Formats: formats, Memory: pool})
	must(t, err)
	s, err := shred.ParseSchema(schema)
	must(t, err)
	return data, s, pool
}

// If there is too little memory for several workers, or for results that wait, a single worker goes
// on, and the bytes are the same.
func TestEncodeInLittleMemory(t *testing.T) {
	data, s, pool := encodedRows(t)
	encodings := map[string]func() (export.Encoding, error){
		"avro": func() (export.Encoding, error) { return export.Avro(s, "null") },
		"json": func() (export.Encoding, error) { return export.JSON(s, export.JSONOptions{}), nil },
	}
	for to, encoding := range encodings {
		e, err := encoding()
		must(t, err)
		encode := func(e export.Encoding, workers int) []byte {
			c := &catInput{memory: pool}
			var err error
			c.plan, err = data.Plan(dataset.Query{Limit: -1, Workers: workers})
			must(t, err)
			var out bytes.Buffer
			must(t, c.encode(t.Context(), e, &out))
			if c.stats.Rows != 3000 {
				t.Errorf("%s: %d rows, expected 3000", to, c.stats.Rows)
			}
			return out.Bytes()
		}
		want := encode(e, 1)
		for _, large := range []bool{false, true} {
			for _, workers := range []int{1, 2} {
				once := refusedOnce{e, large, new(atomic.Bool)}
				if got := encode(once, workers); !once.refused.Load() || !bytes.Equal(got, want) {
					t.Errorf("%s: %d workers write %d bytes, expected %d", to, workers, len(got), len(want))
				}
			}
		}
	}
}

// greedy is a Writer that needs more memory for large rows than workers leave.
type greedy struct {
	pool   *budget.Pool
	rows   int
	needed bool
}

func (g *greedy) Write([]byte) error { g.rows++; return nil }
func (g *greedy) Close() error       { return nil }

func (g *greedy) Memory(int) int64 {
	if g.needed {
		return 0
	}
	g.needed = true
	return g.pool.Available() + 1
}

// A row for which there is no memory next to workers is written once they have stopped.
func TestCopyInLittleMemory(t *testing.T) {
	data, _, pool := encodedRows(t)
	c := &catInput{memory: pool}
	scan, err := data.Scan(t.Context(), dataset.Query{Limit: -1, Workers: 2})
	must(t, err)
	w := &greedy{pool: pool}
	if err := c.copyScan(scan, w); err != nil || !w.needed || w.rows != 3000 {
		t.Errorf("%d rows, %v", w.rows, err)
	}
}
