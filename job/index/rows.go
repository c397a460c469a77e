package index

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/rowtocol/rowtocol/avro/rowkey"
	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/multiset"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// Rows are fields of the rows of an output, in their order.
type Rows interface {
	// Schema is that of the rows; nil if there are none.
	Schema() *shred.Schema
	// Next appends the next row to dst, as Avro encodes it. The end is io.EOF.
	Next(dst []byte) ([]byte, error)
	Close()
}

// keyBuffer is how much is kept of the columns of rows whose keys are read, and forgotten.
const keyBuffer = 64 << 10

// checkEvery is the number of rows that are read between two looks at the context.
const checkEvery = 1024

// rowKeys are the keys of all rows of an output.
type rowKeys struct {
	sum   multiset.Sum // of keys with their positions
	keys  int64
	nulls int64
}

// add adds a key, which it has in a buffer with the position after it.
func (k *rowKeys) add(keyAndPosition []byte) {
	k.keys++
	k.sum.Add(keyAndPosition)
}

// keysOf reads the keys of the rows of some parts.
func keysOf(ctx context.Context, fields string, parts []manifest.Part, rows Rows) (all rowKeys, err error) {
	if rows.Schema() == nil {
		return all, nil
	}
	spec, err := rowkey.Parse(rows.Schema(), fields)
	if err != nil {
		return all, err
	}
	m, err := shred.Map(rows.Schema(), shred.Options{RecursiveBytes: true})
	if err != nil {
		return all, err
	}
	bufs := column.NewBuffers(m.Columns, column.Interleaved, keyBuffer)
	shredder, err := shred.NewKeyShredder(m, bufs, spec.Paths())
	if err != nil {
		return all, err
	}
	values := make([][]byte, len(spec.Paths()))
	var datum, key []byte
	for _, p := range parts {
		for row := range p.Rows {
			if row%checkEvery == 0 && ctx.Err() != nil {
				return all, ctx.Err()
			}
			if datum, err = rows.Next(datum[:0]); err != nil {
				return all, early(err, &p, row)
			}
			if _, err = shredder.Row(datum); err != nil {
				return all, fmt.Errorf("row %d of row group %d of task %d: %w", row, p.RowGroup, p.Task, err)
			}
			if len(bufs.Due()) > 0 {
				bufs.Reset()
			}
			for i := range values {
				from, to := shredder.Key(i)
				values[i] = datum[from:to]
			}
			var ok bool
			if key, ok = spec.Append(key[:0], values); !ok {
				all.nulls++
				continue
			}
			at, err := positionOf(p.Task, p.RowGroup, row)
			if err != nil {
				return all, err
			}
			key = at.append(key)
			all.add(key)
		}
	}
	return all, nil
}

// early is the error of rows that end before they should.
func early(err error, p *manifest.Part, row int64) error {
	if errors.Is(err, io.EOF) {
		return damage.New(damage.Count, "", -1, "the rows end at row %d of row group %d of task %d", row, p.RowGroup, p.Task)
	}
	return err
}
