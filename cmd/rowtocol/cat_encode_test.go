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

// If there is too little memory for several workers, a single one goes on, and the bytes are those
// that it alone writes.
func TestEncodeWithoutMemoryForSeveral(t *testing.T) {
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
	encodings := map[string]func() (export.Encoding, error){
		"avro": func() (export.Encoding, error) { return export.Avro(s, "null") },
		"json": func() (export.Encoding, error) { return export.JSON(s, export.JSONOptions{}), nil },
	}
	for to, encoding := range encodings {
		e, err := encoding()
		must(t, err)
		encode := func(e export.Encoding, workers int) []byte {
			c := &catInput{memory: pool}
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
			once := refusedOnce{e, large, new(atomic.Bool)}
			if got := encode(once, 2); !once.refused.Load() || !bytes.Equal(got, want) {
				t.Errorf("%s: 2 workers write %d bytes, one %d", to, len(got), len(want))
			}
		}
	}
}
