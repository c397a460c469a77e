package dataset

import (
	"context"
	"io"
	"math"
	"sync/atomic"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/store"
)

// addStream adds a stream of an Avro file without reading from it.
func (l *Listing) addStream(name string, r io.Reader) {
	rows := &avroRows{name: name, in: counted{stream: r}, memory: l.memory.NewHeap()}
	l.Sets = append(l.Sets, Set{Path: name})
	l.Parts = append(l.Parts, Part{Name: name, Rows: -1, Set: len(l.Sets) - 1, Output: -1, avro: true, stream: rows})
}

// avroHeader returns the header of a part that is an Avro file, and nil for other
// parts.
func (l *Listing) avroHeader(ctx context.Context, p *Part) (*ocf.Header, error) {
	if p.stream != nil {
		return p.stream.header()
	}
	if p.format != nil {
		return nil, nil
	}
	f, err := p.Store.Open(ctx, p.Name)
	if err != nil {
		return nil, nil // opening it as a column file reports the reason
	}
	defer func() { _ = f.Close() }() // only read
	if !IsAvro(f) {
		return nil, nil
	}
	p.avro = true
	memory := l.memory.NewHeap()
	defer memory.Close()
	return ocf.ReadHeaderWithin(&counted{file: f}, f.Size(), p.Name, memory)
}

// holdsAvro reports whether the first file of a directory is an Avro file.
func holdsAvro(ctx context.Context, st store.Store, infos []store.Info) bool {
	for _, i := range infos {
		if i.Dir || store.Hidden(i.Name) {
			continue
		}
		f, err := st.Open(ctx, i.Path)
		if err != nil {
			return false
		}
		defer func() { _ = f.Close() }() // only read
		return IsAvro(f)
	}
	return false
}

// addAvro adds the schema of part i, which is an Avro file.
func (d *Dataset) addAvro(i int, p *Part, h *ocf.Header) error {
	if d.last().is(h.Schema) {
		return nil
	}
	schema, err := shred.ParseSchema(h.Schema)
	if err != nil {
		return in(p.Name, err)
	}
	m, err := shred.Map(schema, shred.Options{RecursiveBytes: true, Memory: d.list.memory.NewHeap()})
	if err != nil {
		return in(p.Name, err)
	}
	return d.addMapping(p.Name, i, m)
}

// openRows opens the rows of an Avro file for one query.
func (l *Listing) openRows(ctx context.Context, p *Part) (*avroRows, error) {
	if s := p.stream; s != nil {
		//guard: refuses a second query over the same source
		if s.taken.Swap(true) {
			return nil, queryf("%s is a stream, and was read already", p.Name)
		}
		return s, nil
	}
	f, err := p.Store.Open(ctx, p.Name)
	if err != nil {
		return nil, err
	}
	r := &avroRows{name: p.Name, in: counted{file: f}, file: f, memory: l.memory.NewHeap()}
	if r.reader, err = ocf.NewReader(&r.in, f.Size(), r.name, format.DefaultMaxBlock, r.memory); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// makeParts starts to make parts of the rows of an Avro file in a section.
func (d *Dataset) makeParts(ctx context.Context, s *section, p *Part) (*chunks, error) {
	rows, err := d.list.openRows(ctx, p)
	if err != nil {
		return nil, err
	}
	return newChunks(p.Name, s.files, d.list, rows, d.constants(s, p))
}

// countRows returns the number of rows of an Avro file. It reads only the heads of its
// blocks.
func (l *Listing) countRows(ctx context.Context, p *Part, read *Stats) (rows int64, err error) {
	r, err := l.openRows(ctx, p)
	if err != nil {
		return 0, err
	}
	defer r.close()
	rows, more, err := r.reader.Skip(ctx, math.MaxInt64)
	//guard: rejects a number of rows beyond 64 bits
	if err == nil && more {
		err = damage.New(damage.Count, p.Name, -1, "the blocks together have too many rows to be counted")
	}
	read.BytesRead += r.bytesRead()
	return rows, err
}

// avroRows are the rows of an Avro file or of a stream. It is a rowSource.
type avroRows struct {
	name   string
	in     counted
	file   store.File // nil for a stream
	reader *ocf.Reader
	memory *budget.Heap
	taken  atomic.Bool
	given  int64 // bytes that bytesRead reported

	block ocf.Block
	rows  []byte // rows of the block
	at    int    // offset of the next row in rows
	left  int64  // number of rows of the block from at on
	items int64  // number of items without bytes in earlier rows
}

// header reads the header of a stream, once.
func (a *avroRows) header() (_ *ocf.Header, err error) {
	if a.reader == nil {
		if a.reader, err = ocf.NewStreamReader(&a.in, a.name, format.DefaultMaxBlock, a.memory); err != nil {
			return nil, err
		}
	}
	return a.reader.Header(), nil
}

func (a *avroRows) skip(ctx context.Context, most int64) (rows int64, err error) {
	if a.left > 0 {
		return 0, nil
	}
	rows, _, err = a.reader.Skip(ctx, most)
	return rows, err
}

func (a *avroRows) fill(ctx context.Context, c *chunk) error {
	items := c.shredder.EmptyItems()
	defer func() { a.items += c.shredder.EmptyItems() - items }()
	for !c.full() {
		if a.left == 0 {
			if err := a.next(ctx); err != nil {
				return err
			}
		}
		if err := a.reader.Grow(a.items); err != nil {
			return err
		}
		a.items = 0
		c.mark()
		at, left := a.at, a.left
		err := a.add(c)
		if err != nil {
			if c.refused == nil {
				c.back()
				a.at, a.left = at, left-a.left // only the sound rows
				_ = a.add(c)
			}
			return err
		}
	}
	return nil
}

// add adds the remaining rows of the block until the chunk is full.
func (a *avroRows) add(c *chunk) error {
	for a.left > 0 && !c.full() {
		n, err := c.add(a.rows[a.at:])
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

// next moves to the next block.
func (a *avroRows) next(ctx context.Context) error {
	b, rows, err := a.reader.Next(ctx)
	if err != nil {
		return err
	}
	a.block, a.rows, a.at, a.left = *b, rows, 0, b.Rows
	return nil
}

func (a *avroRows) bytesRead() int64 {
	n := a.in.bytes - a.given
	a.given = a.in.bytes
	return n
}

func (a *avroRows) close() {
	if a.file != nil {
		_ = a.file.Close() // only read
	}
	a.memory.Close()
}

// counted counts the bytes read from a file or a stream.
type counted struct {
	file   store.File
	stream io.Reader
	bytes  int64
}

func (c *counted) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.file.ReadAt(p, off)
	c.bytes += int64(n)
	return n, shrunk(c.file.Name(), c.file.Size(), n, len(p), off, err)
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.stream.Read(p)
	c.bytes += int64(n)
	return n, err
}
