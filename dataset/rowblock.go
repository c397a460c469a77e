package dataset

import (
	"fmt"
	"slices"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/budget"
)

const (
	// firstRowBlock and largestRowBlock are the bytes of rows of the first row block and of the
	// largest later one. The first is small, so that a query of few rows is fast.
	firstRowBlock   = 64 << 10
	largestRowBlock = 1 << 20
	// rowBlockShare is the part of the free memory that the rows of a row block may take.
	rowBlockShare = 32
	// rowBlockCopies is the approximate number of copies of the rows in memory: values in open
	// blocks, and finished blocks that grew by doubling.
	rowBlockCopies = 8
	// maxRowBlockRows and maxRowBlockItems bound rows and list items that take no bytes.
	maxRowBlockRows  = 1 << 16
	maxRowBlockItems = 1 << 20
)

// rowBlock is some rows in memory: whole, or shredded to columns, or both. It is used again for
// the next rows: start, add until it is full, part, and then any number of cursors. It
// belongs to one goroutine.
type rowBlock struct {
	name    string // name of the file, for messages
	mapping *shred.Mapping
	columns []int           // numbers of the columns to which rows are shredded
	chosen  []column.Column // these columns
	whole   bool            // rows are also kept whole
	memory  *budget.Pool
	heap    *budget.Heap
	refused error // why memory for a value was refused

	bufs     *column.Buffers
	shredder *shred.Shredder
	blocks   []column.Block // one for each of columns
	data     []byte         // the rows, if they are kept whole
	ends     []int          // end of each row in data
	limit    int            // most bytes of rows of a block

	size  int   // most bytes of rows of this block
	most  int64 // most rows
	rows  int64
	bytes int
	empty int64 // number of items without bytes before this block

	marks  []column.Mark
	marked struct { // counts at the last mark
		rows  int64
		bytes int
		data  int
		empty int64
	}
}

// newRowBlock returns a row block for rows of a mapping, whose memory is reserved until close.
// Rows are shredded to columns, which are ascending numbers, each with its parents.
func newRowBlock(m *shred.Mapping, columns []int, whole bool, memory *budget.Pool) *rowBlock {
	n := len(columns)
	return &rowBlock{
		mapping: m, columns: columns, chosen: column.Choose(m.Columns, columns), whole: whole, memory: memory, heap: memory.NewHeap(), size: firstRowBlock / 2,
		blocks: make([]column.Block, n), marks: make([]column.Mark, n),
	}
}

// begin begins with the rows of another file.
func (b *rowBlock) begin(name string) error {
	b.name, b.refused = name, nil
	if b.bufs != nil {
		return nil
	}
	b.limit = int(max(min(largestRowBlock, b.memory.Available()/rowBlockShare), firstRowBlock))
	if err := b.heap.Reserve(int64(rowBlockCopies*b.limit) + int64(len(b.columns))*shred.ColumnMemory); err != nil {
		return fmt.Errorf("%s: rows of %d columns: %w", name, len(b.mapping.Columns), err)
	}
	b.empties()
	return nil
}

// empties makes new open blocks with room for the rows.
func (b *rowBlock) empties() {
	b.bufs = column.NewBuffers(b.chosen, column.Interleaved, b.limit)
	b.bufs.Provide(nil, b.limit, b)
	if len(b.columns) == len(b.mapping.Columns) {
		b.shredder = shred.NewShredder(b.mapping, b.bufs)
	} else {
		b.shredder = shred.NewPartialShredder(b.mapping, b.columns, b.bufs)
	}
	clear(b.blocks)
}

// start drops all rows, and begins a block of at most this many rows.
func (b *rowBlock) start(most int64) {
	b.release()
	b.giveLarge()
	b.data, b.ends = b.data[:0], b.ends[:0]
	b.size, b.most, b.rows, b.bytes, b.empty = min(2*b.size, b.limit), min(most, maxRowBlockRows), 0, 0, b.shredder.EmptyItems()
	for i := range b.bufs.Cols {
		b.bufs.Cols[i].Start(0)
	}
}

// release frees the memory of unusually large blocks.
func (b *rowBlock) release() {
	held := 0
	for i := range b.blocks {
		block := &b.blocks[i]
		if cap(block.Data) > column.BlockMemory(b.limit) {
			b.Give(block.Data)
			block.Data = nil
		}
		held += cap(block.Data)
	}
	if held > rowBlockCopies/2*b.limit { // large values in different columns of earlier blocks
		b.empties()
	}
}

func (b *rowBlock) full() bool {
	return b.rows >= b.most || b.bytes >= b.size || b.shredder.EmptyItems()-b.empty >= maxRowBlockItems
}

// add adds the row at the start of data, and returns its size.
func (b *rowBlock) add(data []byte) (int, error) {
	n, err := b.shredder.Row(data)
	//guard: reports a value for which there is no memory
	if b.refused != nil {
		b.rows = 0 // the loss of a block's rows is unknown
		return 0, b.refused
	}
	if err != nil {
		return 0, err
	}
	if b.whole {
		if err := b.keep(data[:n]); err != nil {
			return 0, err
		}
	}
	b.rows++
	b.bytes += n
	return n, nil
}

// keep keeps a whole row.
func (b *rowBlock) keep(row []byte) error {
	if size := len(b.data) + len(row); size > cap(b.data) && size > 2*b.limit {
		memory := b.Take(size)
		if memory == nil {
			b.rows = 0
			return b.refused
		}
		memory = append(memory[:0], b.data...)
		b.giveLarge()
		b.data = memory
	}
	b.data = append(b.data, row...)
	b.ends = append(b.ends, len(b.data))
	return nil
}

// giveLarge frees the memory of whole rows if an unusually large row needed it.
func (b *rowBlock) giveLarge() {
	if cap(b.data) > 2*b.limit {
		b.Give(b.data)
		b.data = nil
	}
}

// row returns row i, if rows are kept whole.
func (b *rowBlock) row(i int64) []byte {
	start := 0
	if i > 0 {
		start = b.ends[i-1]
	}
	return b.data[start:b.ends[i]]
}

// mark records the current rows for back.
func (b *rowBlock) mark() {
	for i := range b.marks {
		b.marks[i] = b.bufs.Cols[i].Mark()
	}
	b.marked.rows, b.marked.bytes, b.marked.data, b.marked.empty = b.rows, b.bytes, len(b.data), b.shredder.EmptyItems()
}

// back drops everything after the mark, such as part of a row.
func (b *rowBlock) back() {
	for i := range b.marks {
		b.bufs.Cols[i].Restore(b.marks[i])
	}
	b.rows, b.bytes = b.marked.rows, b.marked.bytes
	if b.whole {
		b.data, b.ends = b.data[:b.marked.data], b.ends[:b.rows]
	}
	//guard: stops counting items of dropped rows
	b.empty += b.shredder.EmptyItems() - b.marked.empty
}

// part ends the adding of rows, and returns them as a part, which is valid until the next start.
// first is the number of the first row, and keys are the key columns.
func (b *rowBlock) part(first int64, keys []*constant) *queryPart {
	b.bufs.ClearDue()
	n := len(b.mapping.Columns)
	p := &queryPart{
		OpenPart: &OpenPart{Part: blockPart{rows: b}, name: b.name, memory: b.memory.NewHeap()},
		first:    first, rows: b.rows, inFiles: n, keys: keys, read: new(Stats), blocks: make([][]format.Block, n), bounded: make([]bool, n),
	}
	for i, col := range b.columns {
		b.bufs.Cols[i].Finish(b.rows, &b.blocks[i])
		size := int64(len(b.blocks[i].Data))
		p.blocks[col] = []format.Block{{Rows: b.rows, RawSize: size, StoredSize: size}}
	}
	if b.whole {
		p.whole = b
	}
	return p
}

// Take implements column.Memory, for values of unusual size.
func (b *rowBlock) Take(n int) []byte {
	if err := b.heap.Reserve(int64(n)); err != nil {
		b.refused = fmt.Errorf("%s: values of %d bytes: %w", b.name, n, err)
		return nil
	}
	return make([]byte, n)
}

// Give implements column.Memory.
func (b *rowBlock) Give(memory []byte) { b.heap.Release(int64(cap(memory))) }

// close releases the memory.
func (b *rowBlock) close() { b.heap.Close() }

// blockPart is a row block as the Part of a queryPart, which calls only Cursor.
type blockPart struct {
	format.ColumnPart // nil
	rows              *rowBlock
}

// Cursor implements format.ColumnPart.
func (p blockPart) Cursor(col int) (format.Cursor, error) {
	b := p.rows
	i, _ := slices.BinarySearch(b.columns, col)
	return column.NewCursor(b.chosen, b.blocks, i)
}
