package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sort"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/budget"
)

const (
	// firstChunk and largestChunk are the bytes of rows of the first chunk and of the
	// largest later chunk. The first chunk is small, so that a query of few rows is fast.
	firstChunk   = 64 << 10
	largestChunk = 1 << 20
	// chunkShare is the part of the free memory that the rows of a chunk may take.
	chunkShare = 32
	// chunkCopies is the approximate number of copies of a chunk's rows in memory: values
	// in open blocks, and finished blocks that grew by doubling.
	chunkCopies = 8
	// maxChunkRows and maxChunkItems bound rows and list items that take no bytes.
	maxChunkRows  = 1 << 16
	maxChunkItems = 1 << 20
)

// rowSource supplies rows to chunks.
type rowSource interface {
	// skip passes over rows that it need not decode, at most most of them, and returns
	// their number.
	skip(ctx context.Context, most int64) (rows int64, err error)
	// fill adds rows to a chunk until it is full. It returns io.EOF after the last row.
	// Rows that were added before an error stay in the chunk.
	fill(ctx context.Context, c *chunk) error
	// bytesRead returns the number of stored bytes read since the last call.
	bytesRead() int64
	close()
}

// chunks makes in-memory parts of rows, some rows at a time, so that code that reads
// parts can read rows.
type chunks struct {
	source rowSource
	chunk  *chunk
	keys   []*constant
	rows   int64 // number of the next part's first row
	err    error // error that follows the rows of the last part
}

// newChunks returns chunks of a source, which it closes after an error. first is the number of
// the source's first row.
func newChunks(name string, m *shred.Mapping, l *Listing, first int64, source rowSource, keys []*constant) (*chunks, error) {
	c, err := newChunk(name, m, l.Formats, l.memory)
	if err != nil {
		source.close()
		return nil, err
	}
	return &chunks{source: source, chunk: c, keys: keys, rows: first}, nil
}

// next returns the next rows as a part. It passes over rows before from as far as the source can
// without decoding them, and reads no row from to on. It returns io.EOF after the last row.
func (m *chunks) next(ctx context.Context, from, to int64, read *Stats) (*queryPart, error) {
	defer func() { read.BytesRead += m.source.bytesRead() }()
	if m.err == nil && from > m.rows {
		var passed int64
		passed, m.err = m.source.skip(ctx, from-m.rows)
		m.rows += passed
	}
	if m.err != nil {
		return nil, m.err
	}
	c := m.chunk
	c.start(to - m.rows)
	if m.err = m.source.fill(ctx, c); c.rows == 0 {
		return nil, m.err
	}
	p, err := c.part(m.rows)
	if err != nil {
		m.err = err
		return nil, err
	}
	p.keys = m.keys
	m.rows += c.rows
	return p, nil
}

func (m *chunks) close() {
	m.source.close()
	m.chunk.heap.Close()
}

// chunk is rows that become an in-memory part.
type chunk struct {
	name    string // name of the file, for messages
	mapping *shred.Mapping
	format  format.InMemory
	writer  format.ColumnWriter
	memory  *budget.Pool
	heap    *budget.Heap
	refused error // why memory for a value was refused

	bufs     *column.Buffers
	shredder *shred.Shredder
	blocks   []column.Block
	limit    int // most bytes of rows of a chunk

	size  int   // most bytes of rows of this chunk
	most  int64 // most rows
	rows  int64
	bytes int
	empty int64 // number of items without bytes before this chunk

	marks  []column.Mark
	marked struct { // counts at the last mark
		rows  int64
		bytes int
		empty int64
	}
}

func newChunk(name string, m *shred.Mapping, formats format.Registry, memory *budget.Pool) (*chunk, error) {
	n := len(m.Columns)
	c := &chunk{
		name: name, mapping: m, format: formats.InMemory(), memory: memory, heap: memory.NewHeap(), size: firstChunk / 2,
		blocks: make([]column.Block, n), marks: make([]column.Mark, n),
		limit: int(max(min(largestChunk, memory.Available()/chunkShare), firstChunk)),
	}
	//guard: refuses to read rows in a program without such a format
	if c.format == nil {
		return nil, errors.New("these rows need a format with parts in memory, and no known format has them")
	}
	c.writer = c.format.Plain()
	if err := c.heap.Reserve(int64(chunkCopies*c.limit) + int64(n)*shred.ColumnMemory); err != nil {
		c.heap.Close()
		return nil, fmt.Errorf("%s: rows of %d columns: %w", name, n, err)
	}
	c.empties()
	return c, nil
}

// empties makes new open blocks with room for a chunk.
func (c *chunk) empties() {
	c.bufs = column.NewBuffers(c.mapping.Columns, c.writer.Layout(), c.limit)
	c.bufs.Provide(nil, c.limit, c)
	c.shredder = shred.NewShredder(c.mapping, c.bufs)
	clear(c.blocks)
}

// start begins a chunk of at most this many rows.
func (c *chunk) start(most int64) {
	c.size, c.most, c.rows, c.bytes, c.empty = min(2*c.size, c.limit), min(most, maxChunkRows), 0, 0, c.shredder.EmptyItems()
	for i := range c.bufs.Cols {
		c.bufs.Cols[i].Start(0)
	}
}

func (c *chunk) full() bool {
	return c.rows >= c.most || c.bytes >= c.size || c.shredder.EmptyItems()-c.empty >= maxChunkItems
}

// add adds the row at the start of data, and returns its size.
func (c *chunk) add(data []byte) (int, error) {
	n, err := c.shredder.Row(data)
	//guard: reports a value for which there is no memory
	if c.refused != nil {
		c.rows = 0 // the loss of a block's rows is unknown
		return 0, c.refused
	}
	if err != nil {
		return 0, err
	}
	c.rows++
	c.bytes += n
	return n, nil
}

// mark records the current rows for back.
func (c *chunk) mark() {
	for i := range c.marks {
		c.marks[i] = c.bufs.Cols[i].Mark()
	}
	c.marked.rows, c.marked.bytes, c.marked.empty = c.rows, c.bytes, c.shredder.EmptyItems()
}

// back drops everything after the mark, such as part of a row.
func (c *chunk) back() {
	for i := range c.marks {
		c.bufs.Cols[i].Restore(c.marks[i])
	}
	c.rows, c.bytes = c.marked.rows, c.marked.bytes
	//guard: stops counting items of dropped rows
	c.empty += c.shredder.EmptyItems() - c.marked.empty
}

// Take implements column.Memory, for values of unusual size.
func (c *chunk) Take(n int) []byte {
	if err := c.heap.Reserve(int64(n)); err != nil {
		c.refused = fmt.Errorf("%s: values of %d bytes: %w", c.name, n, err)
		return nil
	}
	return make([]byte, n)
}

// Give implements column.Memory.
func (c *chunk) Give(b []byte) { c.heap.Release(int64(cap(b))) }

// part makes a part of the rows. first is the number of rows before the part.
func (c *chunk) part(first int64) (*queryPart, error) {
	c.bufs.ClearDue()
	group, err := c.writer.NewRowGroup(c.mapping.Schema.JSON(), c.mapping.Columns, c.limit)
	if err != nil {
		return nil, in(c.name, err)
	}
	o := &OpenPart{Format: c.format, name: c.name, end: func() {}, memory: c.memory.NewHeap()}
	if err := c.open(o, group); err != nil {
		o.Close()
		return nil, in(c.name, err)
	}
	n := len(c.blocks)
	return &queryPart{
		OpenPart: o, first: first, rows: c.rows, inFiles: n, read: new(Stats), blocks: make([][]format.Block, n), bounded: make([]bool, n),
	}, nil
}

func (c *chunk) open(o *OpenPart, group format.RowGroup) error {
	columns, err := c.encode(group, o.memory)
	if err != nil {
		return err
	}
	outputs, err := group.Finish(c.rows)
	if err != nil {
		return err
	}
	files := make([]format.File, len(outputs))
	for i := range outputs {
		files[i] = newMemoryFile(c.name, &outputs[i], columns)
	}
	o.Part, err = c.format.Open(files, format.OpenOptions{MaxBlock: math.MaxInt32, Memory: o.memory})
	return err
}

// encode closes the open blocks, and returns their stored bytes.
func (c *chunk) encode(group format.RowGroup, memory *budget.Heap) (stored [][]byte, err error) {
	stored = make([][]byte, len(c.blocks))
	need, held := int64(0), 0
	for i := range c.blocks {
		b := &c.blocks[i]
		c.bufs.Cols[i].Finish(c.rows, b)
		need += group.Bound(i, b.Rows, len(b.Data), len(b.Lengths))
		held += cap(b.Data)
	}
	if err := memory.Reserve(need); err != nil {
		return nil, fmt.Errorf("values of %d bytes: %w", need, err)
	}
	spill := make([]byte, 0, need)
	for i := range c.blocks {
		b, from := &c.blocks[i], len(spill)
		job, err := group.Begin(i, b)
		if err != nil {
			return nil, err
		}
		if spill, err = job.Encode(spill); err != nil {
			return nil, err
		}
		stored[i] = spill[from:len(spill):len(spill)]
		if err := group.End(i, job, len(stored[i])); err != nil {
			return nil, err
		}
		if cap(b.Data) > column.BlockMemory(c.limit) {
			c.Give(b.Data)
			held -= cap(b.Data)
			b.Data = nil
		}
	}
	if held > chunkCopies/2*c.limit { // large values in different columns of earlier chunks
		c.empties()
	}
	return stored, nil
}

// memoryFile is a file of an in-memory part.
type memoryFile struct {
	name   string
	size   int64
	pieces [][]byte
	starts []int64 // start of each piece in the file
}

func newMemoryFile(name string, o *format.Output, columns [][]byte) *memoryFile {
	if o.Name != "" {
		name += "/" + o.Name
	}
	f := &memoryFile{name: name, size: o.Size}
	at := int64(0)
	for _, p := range o.Pieces {
		b := p.Literal
		if p.Column >= 0 {
			b = columns[p.Column][p.Offset : p.Offset+p.Length]
		}
		f.pieces, f.starts = append(f.pieces, b), append(f.starts, at)
		at += p.Length
	}
	return f
}

func (f *memoryFile) Name() string { return f.name }
func (f *memoryFile) Size() int64  { return f.size }

func (f *memoryFile) ReadAt(p []byte, off int64) (n int, err error) {
	for i := sort.Search(len(f.starts), func(i int) bool { return f.starts[i] > off }) - 1; i >= 0 && i < len(f.pieces) && n < len(p); i++ {
		if at := off + int64(n) - f.starts[i]; at < int64(len(f.pieces[i])) {
			n += copy(p[n:], f.pieces[i][at:])
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// ReadBlock implements format.File.
func (f *memoryFile) ReadBlock(p []byte, _ int, off, _ int64) (int, error) { return f.ReadAt(p, off) }
