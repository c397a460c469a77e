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
	rows := &avroBlocks{name: name, in: counted{stream: r}, memory: l.memory.NewHeap()}
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

// openBlocks opens the blocks of an Avro file for one query.
func (l *Listing) openBlocks(ctx context.Context, p *Part) (*avroBlocks, error) {
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
	r := &avroBlocks{name: p.Name, in: counted{file: f}, file: f, memory: l.memory.NewHeap()}
	if r.reader, err = ocf.NewReader(&r.in, f.Size(), r.name, format.DefaultMaxBlock, r.memory); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// countRows returns the number of rows of an Avro file. It reads only the heads of its
// blocks.
func (l *Listing) countRows(ctx context.Context, p *Part, read *Stats) (rows int64, err error) {
	r, err := l.openBlocks(ctx, p)
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

// avroBlocks are the stored blocks of an Avro file or of a stream, in order.
type avroBlocks struct {
	name   string
	in     counted
	file   store.File // nil for a stream
	reader *ocf.Reader
	memory *budget.Heap
	taken  atomic.Bool
	given  int64 // bytes that bytesRead reported

	row    int64         // number of the next block's first row
	size   int64         // stored bytes of the last group of blocks
	growth damage.Growth // rows that the blocks state
}

// header reads the header of a stream, once.
func (a *avroBlocks) header() (_ *ocf.Header, err error) {
	if a.reader == nil {
		if a.reader, err = ocf.NewStreamReader(&a.in, a.name, format.DefaultMaxBlock, a.memory); err != nil {
			return nil, err
		}
	}
	return a.reader.Header(), nil
}

// skip passes over the next blocks that together have at most most rows, and returns their
// number of rows. At the end of the file it returns io.EOF.
func (a *avroBlocks) skip(ctx context.Context, most int64) (rows int64, err error) {
	rows, more, err := a.reader.Skip(ctx, most)
	a.row += rows
	if err == nil && !more {
		err = io.EOF
	}
	return rows, err
}

// read reads the next blocks, which together have at least a number of rows, unless they have many
// bytes. The blocks before an error are returned with it.
func (a *avroBlocks) read(ctx context.Context, memory *blockMemory, rows int64) (p rangePart, err error) {
	p.first, p.codec = a.row, a.reader.Header().Codec
	a.size = min(max(2*a.size, firstBlocks), mostBlocks)
	for size := int64(0); size < a.size && p.rows < rows; {
		b := memory.take()
		err := a.reader.Stored(ctx, memory.heap, b)
		if err == nil {
			size += b.Range().Len()
			a.growth.Stored += b.Range().Len()
			a.growth.Rows += min(b.Rows, math.MaxInt64-a.growth.Rows)
			err = a.growth.Check(a.name, b.Offset)
		}
		if err != nil {
			memory.release(b)
			return p, err
		}
		p.blocks, p.rows, a.row = append(p.blocks, b), p.rows+b.Rows, a.row+b.Rows
	}
	return p, nil
}

func (a *avroBlocks) bytesRead() int64 {
	n := a.in.bytes - a.given
	a.given = a.in.bytes
	return n
}

func (a *avroBlocks) close() {
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
