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

// Rows reads fields of the rows of an output, in the order of the rows.
type Rows interface {
	// Schema returns the schema of the rows; nil if there are no rows.
	Schema() *shred.Schema
	// Next appends the next row to dst, in Avro encoding. After the last row it returns io.EOF.
	Next(dst []byte) ([]byte, error)
	Close()
}

// keyBuffer is the size of a column's buffer while keys are read. The columns are discarded.
const keyBuffer = 64 << 10

// checkEvery is the number of rows that are read between two checks of the context.
const checkEvery = 1024

// rowKeys summarizes the keys of all rows of an output.
type rowKeys struct {
	sum   multiset.Sum // sum of the keys with their positions
	keys  int64
	nulls int64
}

// add adds a key. keyAndPosition is the key, followed by the position of its row.
func (k *rowKeys) add(keyAndPosition []byte) {
	k.keys++
	k.sum.Add(keyAndPosition)
}

// keysOf reads the keys of the rows of the given parts.
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
				return all, endError(err, &p, row)
			}
			if _, err = shredder.Row(datum); err != nil {
				return all, fmt.Errorf("row %d of row group %d of task %d: %w", row, p.RowGroup, p.Task, err)
			}
			if len(bufs.Due()) > 0 {
				bufs.Reset()
			}
			for i := range values {
				values[i] = shredder.Key(i)
			}
			var ok bool
			if key, ok = spec.Append(key[:0], values); !ok {
				all.nulls++
				continue
			}
			position, err := positionOf(p.Task, p.RowGroup, row)
			if err != nil {
				return all, err
			}
			key = position.append(key)
			all.add(key)
		}
	}
	return all, nil
}

// endError returns err, or damage if the rows end too early.
func endError(err error, p *manifest.Part, row int64) error {
	if errors.Is(err, io.EOF) {
		return damage.New(damage.Count, "", -1, "the rows end at row %d of row group %d of task %d", row, p.RowGroup, p.Task)
	}
	return err
}
