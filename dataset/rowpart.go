package dataset

import (
	"context"
	"io"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// makePartsOf begins to make parts of the rows of a part that keeps them whole, which
// is closed with them.
func (d *Dataset) makePartsOf(s *section, p *Part, of *OpenPart, part format.RowPart) (*chunks, error) {
	rows, err := part.Read()
	if err != nil {
		of.Close()
		return nil, in(p.Name, err)
	}
	source := &partRows{of: of, rows: rows}
	made, err := newChunks(p.Name, s.files, d.list, source)
	if err != nil {
		source.close()
		return nil, err
	}
	made.keys = d.constants(s, p)
	return made, nil
}

// partRows are the rows of a part that keeps them whole. It is a rowSource.
type partRows struct {
	of   *OpenPart
	rows format.RowReader
	row  int64 // the next one
}

// skip passes over rows, which are read but not shredded.
func (p *partRows) skip(ctx context.Context, most int64) (rows int64, err error) {
	for ; rows < most; rows++ {
		if rows%checkEvery == 0 && ctx.Err() != nil {
			return rows, ctx.Err()
		}
		if _, err := p.rows.Next(); err != nil {
			return rows, err
		}
		p.row++
	}
	return rows, nil
}

func (p *partRows) fill(ctx context.Context, c *chunk) error {
	for !c.full() {
		if p.row%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		datum, err := p.rows.Next()
		if err == io.EOF {
			return err
		}
		if err != nil {
			return in(c.name, err)
		}
		c.mark()
		n, err := c.add(datum)
		if err == nil {
			err = whole(n, datum)
		}
		if err != nil {
			if c.refused == nil {
				c.back()
			}
			return inRow(err, c.name, p.row)
		}
		p.row++
	}
	return nil
}

// whole checks that a row has taken all of its datum.
func whole(n int, datum []byte) error {
	//guard: values of a damaged row would be given as sound ones
	if n != len(datum) {
		return damage.New(damage.Trailing, "", -1, "%d bytes behind the row", len(datum)-n)
	}
	return nil
}

// inRow names the row that damage is about.
func inRow(err error, file string, row int64) error {
	d, ok := err.(*damage.Error)
	if !ok {
		return err
	}
	at := *d
	at.File, at.Row, at.Offset = file, row, -1
	return &at
}

// bytesRead is nothing: what is read of the part's files is counted there.
func (p *partRows) bytesRead() int64 { return 0 }

func (p *partRows) close() {
	p.rows.Close()
	p.of.Close()
}

// verifyBlock is how much is kept of the rows of a part that is verified, and forgotten.
const verifyBlock = 64 << 10

// verifyRows checks that each row of a part that keeps them whole is one of its schema.
func (o *OpenPart) verifyRows(ctx context.Context, part format.RowPart) error {
	m, err := mapPart(o)
	if err != nil {
		return err
	}
	rows, err := part.Read()
	if err != nil {
		return in(o.name, err)
	}
	defer rows.Close()
	bufs := column.NewBuffers(m.Columns, column.Interleaved, verifyBlock)
	shredder := shred.NewShredder(m, bufs)
	for row := int64(0); ; row++ {
		if row%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		datum, err := rows.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return in(o.name, err)
		}
		n, err := shredder.Row(datum)
		if err == nil {
			err = whole(n, datum)
		}
		if err != nil {
			return inRow(err, o.name, row)
		}
		if len(bufs.Due()) > 0 {
			bufs.Reset()
		}
	}
}
