package dataset

import (
	"context"
	"io"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/budget"
)

// avroRows are the rows of stored blocks of an Avro file. It is a rowSource.
type avroRows struct {
	name    string
	blocks  []*ocf.Block // blocks that were not decoded yet
	decoder *ocf.RowDecoder
	memory  *budget.Heap

	block *ocf.Block
	rows  []byte // rows of the block
	at    int    // offset of the next row in rows
	left  int64  // number of rows of the block from at on
	items int64  // number of items without bytes in earlier rows
}

func newAvroRows(name string, p *rangePart, memory *budget.Heap) (*avroRows, error) {
	d, err := ocf.NewRowDecoder(p.codec, name, format.DefaultMaxBlock, memory)
	if err != nil {
		memory.Close()
		return nil, err
	}
	return &avroRows{name: name, blocks: p.blocks, decoder: d, memory: memory}, nil
}

func (a *avroRows) skip(_ context.Context, most int64) (rows int64, err error) {
	for len(a.blocks) > 0 && a.left == 0 && rows+a.blocks[0].Rows <= most {
		rows += a.blocks[0].Rows
		a.blocks = a.blocks[1:]
	}
	return rows, nil
}

func (a *avroRows) fill(ctx context.Context, b *rowBlock) error {
	items := b.shredder.EmptyItems()
	defer func() { a.items += b.shredder.EmptyItems() - items }()
	for !b.full() {
		if a.left == 0 {
			if err := a.next(ctx); err != nil {
				return err
			}
		}
		if err := a.decoder.Grow(a.items); err != nil {
			return err
		}
		a.items = 0
		b.mark()
		at, left := a.at, a.left
		err := a.add(b)
		if err != nil {
			if b.refused == nil {
				b.back()
				a.at, a.left = at, left-a.left // only the sound rows
				_ = a.add(b)
			}
			return err
		}
	}
	return nil
}

// add adds the remaining rows of the block until the row block is full.
func (a *avroRows) add(b *rowBlock) error {
	for a.left > 0 && !b.full() {
		n, err := b.add(a.rows[a.at:])
		if err != nil {
			return a.block.InRow(err, a.name, a.block.Rows-a.left, a.at)
		}
		a.at += n
		a.left--
	}
	//guard: rejects rows that the block does not count
	if rest := len(a.rows) - a.at; a.left == 0 && rest > 0 {
		return damage.New(damage.Count, a.name, a.block.Offset, "%d bytes left after the block's %d rows", rest, a.block.Rows)
	}
	return nil
}

// next decodes the next block.
func (a *avroRows) next(ctx context.Context) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(a.blocks) == 0 {
		return io.EOF
	}
	a.block, a.blocks = a.blocks[0], a.blocks[1:]
	a.rows, err = a.decoder.Rows(a.block)
	a.at, a.left = 0, a.block.Rows
	if err != nil {
		a.blocks = nil
	}
	return err
}

func (a *avroRows) close() { a.memory.Close() }
