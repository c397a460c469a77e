package dataset

import (
	"cmp"
	"context"
	"io"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// partRows are the rows of a part that stores whole rows. It is a rowSource.
type partRows struct {
	part *OpenPart
	rows format.RowReader
	row  int64 // number of the next row
}

// next calls take with the next row. take returns the number of bytes that it used.
func (p *partRows) next(ctx context.Context, take func(datum []byte) (int, error)) error {
	if p.row%checkEvery == 0 && ctx.Err() != nil {
		return ctx.Err()
	}
	datum, err := p.rows.Next()
	if err == io.EOF {
		return err
	}
	if err != nil {
		return in(p.part.name, err)
	}
	n, err := take(datum)
	//guard: rejects a row with bytes left over
	if err == nil && n != len(datum) {
		err = damage.New(damage.Trailing, "", -1, "%d bytes after the row", len(datum)-n)
	}
	if d, ok := err.(*damage.Error); ok {
		at := *d
		at.File, at.Row, at.Offset = p.part.name, p.row, -1
		return &at
	}
	p.row++
	return err
}

// skip reads rows without shredding them.
func (p *partRows) skip(ctx context.Context, most int64) (rows int64, err error) {
	for ; rows < most; rows++ {
		if err := p.next(ctx, func(datum []byte) (int, error) { return len(datum), nil }); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

func (p *partRows) fill(ctx context.Context, b *rowBlock) error {
	for !b.full() {
		b.mark()
		if err := p.next(ctx, b.add); err != nil {
			if b.refused == nil {
				b.back()
			}
			return err
		}
	}
	return nil
}

func (p *partRows) close() {
	p.rows.Close()
	p.part.Close()
}

// verifyBlock is the size in bytes of the column blocks at which rows that are only
// verified are dropped.
const verifyBlock = 64 << 10

// verifyBoth checks the files of a part that stores whole rows, and its rows. If the files have
// damage, that of the rows does not matter.
func (o *OpenPart) verifyBoth(ctx context.Context, run format.Runner, part format.RowPart) error {
	var files, rows error
	err := run.Do(ctx, 2, func(ctx context.Context, i int) error {
		if i == 0 {
			files = part.Verify(ctx, run)
		} else if run != nil || files == nil {
			rows = o.verifyRows(ctx, part)
		}
		return nil
	})
	return cmp.Or(files, rows, err)
}

// verifyRows checks that each row of a part that stores whole rows fits its schema.
func (o *OpenPart) verifyRows(ctx context.Context, part format.RowPart) error {
	m, err := mapPart(o)
	if err != nil {
		return err
	}
	read, err := part.Read()
	if err != nil {
		return in(o.name, err)
	}
	defer read.Close()
	rows := &partRows{part: o, rows: read}
	bufs := column.NewBuffers(m.Columns, column.Interleaved, verifyBlock)
	shredder := shred.NewShredder(m, bufs)
	for {
		if err := rows.next(ctx, shredder.Row); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if len(bufs.Due()) > 0 {
			bufs.Reset()
		}
	}
}
