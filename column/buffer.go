package column

import "encoding/binary"

// Buffers are the open blocks of all columns of a row group, filled by one
// goroutine. Due names the columns whose block has reached the block size; the
// owner finishes those at the next row boundary.
type Buffers struct {
	Cols []Buffer
	due  []int
}

// NewBuffers returns one empty buffer per column. A buffer becomes due at
// blockSize bytes of data.
func NewBuffers(cols []Column, layout Layout, blockSize int) *Buffers {
	s := &Buffers{Cols: make([]Buffer, len(cols)), due: make([]int, 0, len(cols))}
	for i := range s.Cols {
		s.Cols[i] = Buffer{limit: blockSize, split: layout == Split, set: s, index: i}
	}
	return s
}

// Due returns the columns whose block is due, in the order in which they
// became so. The slice is valid until the next append or Finish.
func (s *Buffers) Due() []int { return s.due }

// ClearDue forgets the due columns; call it after finishing all of them.
func (s *Buffers) ClearDue() { s.due = s.due[:0] }

// Reset empties all buffers and forgets what is due.
func (s *Buffers) Reset() {
	for i := range s.Cols {
		c := &s.Cols[i]
		c.data, c.lengths = c.data[:0], c.lengths[:0]
		c.run, c.bit, c.due, c.firstRow = 0, 0, false, 0
	}
	s.due = s.due[:0]
}

// Buffer is the open block of one column. Its methods append one value or one
// length each; the caller keeps the order that the column's shape demands.
type Buffer struct {
	data    []byte
	lengths []uint32
	limit   int
	// run counts pending equal lengths, all runLength, not yet in data.
	run       uint32
	runLength uint32
	bit       uint8 // bits used in the last byte of data; 0 starts a new byte
	split     bool
	due       bool
	index     int
	firstRow  int64
	set       *Buffers
}

// pendingRunMax is the most that a pending run can add to the data: one
// varint int.
const pendingRunMax = 5

// Size bounds from above the bytes of data that Finish would hand out now,
// and gives the number of split lengths.
func (b *Buffer) Size() (data, lengths int) {
	return len(b.data) + pendingRunMax, len(b.lengths)
}

// Append adds one encoded value. Not for boolean columns.
func (b *Buffer) Append(value []byte) {
	if b.run != 0 {
		b.flushRun()
	}
	b.data = append(b.data, value...)
	if len(b.data) >= b.limit {
		b.full()
	}
}

// AppendByte adds a value of one byte.
func (b *Buffer) AppendByte(value byte) {
	if b.run != 0 {
		b.flushRun()
	}
	b.data = append(b.data, value)
	if len(b.data) >= b.limit {
		b.full()
	}
}

// AppendSized adds a bytes value: its length as a varint, then the bytes.
func (b *Buffer) AppendSized(value []byte) {
	if b.run != 0 {
		b.flushRun()
	}
	b.data = binary.AppendVarint(b.data, int64(len(value)))
	b.data = append(b.data, value...)
	if len(b.data) >= b.limit {
		b.full()
	}
}

// AppendVarint adds an int or long value.
func (b *Buffer) AppendVarint(value int64) {
	if b.run != 0 {
		b.flushRun()
	}
	b.data = binary.AppendVarint(b.data, value)
	if len(b.data) >= b.limit {
		b.full()
	}
}

// AppendBool adds a boolean value: a bit, least significant first, or with
// Split layout a byte.
func (b *Buffer) AppendBool(value bool) {
	var v byte
	if value {
		v = 1
	}
	if b.split {
		b.AppendByte(v)
		return
	}
	if b.run != 0 {
		b.flushRun()
	}
	if b.bit == 0 {
		b.data = append(b.data, v)
		if len(b.data) >= b.limit {
			b.full()
		}
	} else {
		b.data[len(b.data)-1] |= v << b.bit
	}
	b.bit = (b.bit + 1) & 7
}

// Length adds a length of an array column. Null values need no call of their
// own: a null column is its lengths.
func (b *Buffer) Length(n uint32) {
	if b.split {
		b.lengths = append(b.lengths, n)
		if 4*len(b.lengths) >= b.limit {
			b.full()
		}
		return
	}
	if n > 1 {
		if b.run != 0 {
			b.flushRun()
		}
		b.writeLength(int64(n))
		return
	}
	if b.run != 0 && b.runLength != n {
		b.flushRun()
	}
	b.run, b.runLength = b.run+1, n
}

// flushRun writes the pending run: a single length as itself, n zeros as
// -(2n-3), n ones as -(2n-2).
func (b *Buffer) flushRun() {
	n := int64(b.run)
	b.run = 0
	switch {
	case n == 1:
		b.writeLength(int64(b.runLength))
	case b.runLength == 0:
		b.writeLength(3 - 2*n)
	default:
		b.writeLength(2 - 2*n)
	}
}

// writeLength writes a coded length; the packing of booleans restarts after it.
func (b *Buffer) writeLength(coded int64) {
	b.bit = 0
	b.data = binary.AppendVarint(b.data, coded)
	if len(b.data) >= b.limit {
		b.full()
	}
}

func (b *Buffer) full() {
	if !b.due {
		b.due = true
		b.set.due = append(b.set.due, b.index)
	}
}

// Finish closes the block at a row boundary and moves it into dst, whose old
// memory the buffer takes in exchange. nextRow is the number, in the row
// group, of the first row that is not in the block.
func (b *Buffer) Finish(nextRow int64, dst *Block) {
	if b.run != 0 {
		b.flushRun()
	}
	b.data, dst.Data = dst.Data[:0], b.data
	b.lengths, dst.Lengths = dst.Lengths[:0], b.lengths
	dst.FirstRow, dst.Rows = b.firstRow, nextRow-b.firstRow
	b.firstRow, b.bit, b.due = nextRow, 0, false
}

// FirstRow is the row number of the first row of the open block.
func (b *Buffer) FirstRow() int64 { return b.firstRow }

// Start sets the row number of the first row of an empty buffer.
func (b *Buffer) Start(row int64) { b.firstRow = row }

// Mark remembers an array column's state so that a length written too early
// can be taken back with Restore.
type Mark struct {
	data, lengths  int
	run, runLength uint32
	bit            uint8
}

// Mark returns the present state.
func (b *Buffer) Mark() Mark {
	return Mark{len(b.data), len(b.lengths), b.run, b.runLength, b.bit}
}

// Restore drops everything appended since the mark. It is right only if the
// first append after the mark was a length: packed booleans before it are
// then untouched.
func (b *Buffer) Restore(m Mark) {
	b.data, b.lengths = b.data[:m.data], b.lengths[:m.lengths]
	b.run, b.runLength, b.bit = m.run, m.runLength, m.bit
}
