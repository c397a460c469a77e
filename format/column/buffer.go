package column

import (
	"encoding/binary"
	"math"
)

// Buffers are the open blocks of all columns of a row group. One goroutine fills them. Due
// lists the columns whose block has reached the block size. The owner finishes these blocks
// at the next row boundary.
type Buffers struct {
	Cols   []Buffer
	due    []int
	limit  int      // size at which a block is due
	spare  [][]byte // free memory in pieces of BlockMemory bytes
	beyond Memory   // memory of blocks that need more than BlockMemory; nil for the heap
	layout Layout

	// The other fields are for layout Levels.

	rep      uint32   // repetition level of the next entries, as in a word of levels
	wide     []wide   // of each column
	places   []*place // of columns with columns below them; nil for leaves
	above    []int32  // Column.Parent of each column
	passed   int      // words that the row has passed to leaves
	settling bool     // no block becomes due
}

// Memory provides blocks with memory beyond BlockMemory.
type Memory interface {
	// Take returns at least n bytes, of any content, or nil if there is not enough memory.
	// After nil, the block loses its content and everything that is appended before the
	// next Finish. The provider of the memory must check for this.
	Take(n int) []byte
	// Give returns memory that Take provided.
	Give(memory []byte)
}

// NewBuffers returns one empty buffer per column. A buffer becomes due at
// blockSize bytes of data, or of lengths. With layout Levels, numbers count by their fixed
// size, and symbols of an enum by the size of the longest. They make a buffer due at three
// quarters of blockSize.
func NewBuffers(cols []Column, layout Layout, blockSize int) *Buffers {
	s := &Buffers{Cols: make([]Buffer, len(cols)), due: make([]int, 0, len(cols)), limit: blockSize, layout: layout}
	mostWords := int32(min((blockSize+3)/4, math.MaxInt32))
	if layout == Levels {
		s.wide = make([]wide, len(cols))
	}
	for i := range s.Cols {
		b := &s.Cols[i]
		*b = Buffer{null: cols[i].Type == Null, bitStep: 1, set: s, index: int32(i), mostWords: mostWords}
		switch layout {
		case Split:
			b.repeatedLength, b.bitStep = noRepeats, 0
		case Levels:
			b.repeatedLength, b.bitStep = ofLeaf, 0
			s.wide[i].size = wideSize(&cols[i])
		}
		b.adopt(nil)
	}
	if layout == Levels {
		s.link(cols)
	}
	return s
}

// Provide gives the buffers memory for blocks that have more than a few values. It divides
// the memory into pieces of BlockMemory(blockSize) bytes. If no piece is free, a block uses
// the heap. A block that does not fit a piece uses memory of beyond. The receiver of such
// a block from Finish must give its memory back.
func (s *Buffers) Provide(memory []byte, blockSize int, beyond Memory) {
	for n := BlockMemory(blockSize); len(memory) >= n; memory = memory[n:] {
		s.spare = append(s.spare, memory[:n:n])
	}
	s.beyond = beyond
}

// BlockMemory returns how much memory a block that is closed at blockSize bytes has. Unless
// blocks are small, an eighth of blockSize is added for the last value. The result is an odd
// number of cache lines. Otherwise adjacent blocks that grow alike would compete for the same
// places in a processor's cache.
func BlockMemory(blockSize int) int {
	beyond := 0
	if blockSize >= 16<<10 {
		beyond = blockSize / 8 &^ (2*slack - 1)
	}
	return blockSize + beyond + 3*slack
}

// Due returns the columns whose block is due, in the order in which they became due.
// The slice is valid until the next append or Finish.
func (s *Buffers) Due() []int { return s.due }

// ClearDue empties the list of due columns. Call it after finishing their blocks.
func (s *Buffers) ClearDue() { s.due = s.due[:0] }

// Reset empties all buffers and the list of due columns.
func (s *Buffers) Reset() {
	for i := range s.Cols {
		c := &s.Cols[i]
		c.runs.reset()
		c.repeat, c.bit, c.due, c.firstRow = 0, 0, false, 0
		if c.repeatedLength < noRepeats {
			c.repeatedLength = 0
		}
		memory := c.data
		if whole := BlockMemory(s.limit); len(memory) > whole {
			s.release(memory, whole)
			memory = nil
		}
		c.adopt(memory)
	}
	for _, p := range s.places {
		if p != nil {
			p.shared.reset()
		}
	}
	s.due, s.rep, s.passed = s.due[:0], 0, 0
}

// Buffer is the open block of one column. Each method appends one value or one length. The
// caller must append a length n and then n values, or no values if the column is of type
// Null. With layout Levels, the methods in levels.go also have to be called.
type Buffer struct {
	// The fields that each append uses come first, so that they fit one cache line. With
	// many columns, most of the time is spent on fetching this line.

	data []byte // all of the memory; n bytes are used
	n    int
	edge int // value of n at which atEdge must be called
	// repeat is the number of pending lengths, which are equal to repeatedLength and not
	// yet in data. Ones are pending only in a column of type Null, because in other columns
	// a value follows and ends their repeat. With Split layout repeatedLength is noRepeats,
	// with layout Levels ofLeaf or ofPlace.
	repeat         uint32
	repeatedLength uint32
	bit            uint8 // bits used in the last byte of data; 0 starts a new byte
	bitStep        uint8 // added to bit for a boolean; 0 unless the layout is Interleaved
	null           bool
	due            bool
	// def and rep are the levels of an entry with a value; if there is no such entry, of the
	// entry of an item. They are for layout Levels only.
	def, rep uint16
	// runs are the entries with layout Levels. With Split layout its words are the lengths.
	runs

	firstRow  int64
	index     int32
	mostWords int32 // number of words at which the block is due
	set       *Buffers
}

const (
	// pendingRepeatMax is the most bytes that a pending repeat adds to the data: one
	// varint int.
	pendingRepeatMax = 5
	// slack is the memory that is free between two calls, so that appends of a few
	// bytes need no check.
	slack = 64
	// leastMemory is the memory of an empty buffer.
	leastMemory = 2 * slack
	// fewBytes, or a quarter of the block size if that is less, is the memory up to which a
	// block grows on the heap. There, blocks of few values lie close together.
	fewBytes = 4 << 10
	// noRepeats is the repeatedLength of the Split layout. ofLeaf and ofPlace are those of
	// layout Levels.
	noRepeats = 2
	ofLeaf    = 3
	ofPlace   = 4
)

// adopt gives an empty buffer its memory.
func (b *Buffer) adopt(memory []byte) {
	if cap(memory) < leastMemory {
		memory = make([]byte, leastMemory)
	}
	b.data, b.n = memory[:cap(memory)], 0
	b.atEdge()
}

// atEdge is called once n has reached edge, and restores the slack.
func (b *Buffer) atEdge() {
	if len(b.data)-b.n <= slack {
		b.grow(slack)
	}
	b.edge = len(b.data) - slack
	limit := b.set.limit
	if b.set.wide != nil {
		limit = b.wideLimit()
	}
	if b.n >= limit {
		b.full()
	} else {
		b.edge = min(b.edge, limit)
	}
}

// grow makes room for more bytes and the slack. Without memory it drops the block's
// content instead and returns false.
func (b *Buffer) grow(more int) bool {
	size, whole := b.n+more+slack, BlockMemory(b.set.limit)
	var data []byte
	switch last := len(b.set.spare) - 1; {
	case size > whole:
		if data = b.set.take(max(size, len(b.data)+len(b.data)/4)); data == nil {
			b.n = 1 // the block is lost; a boolean may continue in its last byte
			b.dropped()
			return false
		}
	case size > min(fewBytes, b.set.limit/4) && last >= 0:
		data = b.set.spare[last]
		b.set.spare = b.set.spare[:last]
	default:
		data = make([]byte, min(max(size, 2*len(b.data)), whole))
	}
	copy(data, b.data[:b.n])
	b.set.release(b.data, whole)
	b.data = data
	return true
}

// take returns memory for a block beyond BlockMemory, or nil if there is not enough.
func (s *Buffers) take(n int) []byte {
	if s.beyond == nil {
		return make([]byte, n)
	}
	return s.beyond.Take(n)
}

// release takes memory that a block no longer needs. It keeps pieces for other blocks, and
// gives larger memory back.
func (s *Buffers) release(memory []byte, whole int) {
	switch {
	case len(memory) == whole:
		s.spare = append(s.spare, memory)
	case len(memory) > whole && s.beyond != nil:
		s.beyond.Give(memory)
	}
}

func (b *Buffer) full() {
	if !b.due && !b.set.settling {
		b.due = true
		b.set.due = append(b.set.due, int(b.index))
	}
}

// Size returns upper bounds of the bytes of data and of the number of Lengths that Finish
// would return now.
func (b *Buffer) Size() (data, lengths int) {
	switch b.repeatedLength {
	case ofLeaf:
		return b.n, b.runs.len() + b.pending()
	case ofPlace:
		return 0, 0
	}
	return b.n + pendingRepeatMax, len(b.words)
}

// Append adds one encoded value. It must not be called for a boolean column.
func (b *Buffer) Append(value []byte) {
	if len(b.data)-b.n < len(value)+slack && !b.grow(len(value)) {
		return
	}
	b.n += copy(b.data[b.n:], value)
	if b.n >= b.edge {
		b.atEdge()
	}
}

// AppendByte adds a value of one byte.
func (b *Buffer) AppendByte(value byte) {
	b.data[b.n] = value
	if b.n++; b.n >= b.edge {
		b.atEdge()
	}
}

// AppendWord adds a value of size bytes, at most 8: the first bytes of word in
// little-endian order. The other bytes of word are ignored.
func (b *Buffer) AppendWord(word uint64, size int) {
	binary.LittleEndian.PutUint64(b.data[b.n:], word)
	if b.n += size; b.n >= b.edge {
		b.atEdge()
	}
}

// AppendHead adds a value of size bytes, at most 16: the first bytes of from. The other
// bytes are ignored.
func (b *Buffer) AppendHead(from *[16]byte, size int) {
	*(*[16]byte)(b.data[b.n:]) = *from
	if b.n += size; b.n >= b.edge {
		b.atEdge()
	}
}

// AppendShort adds a value of size bytes, at most 64: the first bytes of from, which must
// have 64 bytes. It takes less time than Append.
func (b *Buffer) AppendShort(from []byte, size int) {
	from, to := from[:64], b.data[b.n:][:64]
	for i := 0; i < size; i += 16 {
		*(*[16]byte)(to[i:]) = *(*[16]byte)(from[i:])
	}
	if b.n += size; b.n >= b.edge {
		b.atEdge()
	}
}

// AppendSized adds a bytes value: its length as a varint, then the bytes.
func (b *Buffer) AppendSized(value []byte) {
	b.n += binary.PutVarint(b.data[b.n:], int64(len(value)))
	b.Append(value)
}

// AppendVarint adds an int or long value.
func (b *Buffer) AppendVarint(value int64) {
	b.n += binary.PutVarint(b.data[b.n:], value)
	if b.n >= b.edge {
		b.atEdge()
	}
}

// AppendBool adds a boolean value: a bit, least significant first, with Interleaved layout,
// otherwise a byte.
func (b *Buffer) AppendBool(value bool) {
	var v byte
	if value {
		v = 1
	}
	if b.bit == 0 {
		b.AppendByte(v)
	} else {
		b.data[b.n-1] |= v << b.bit
	}
	b.bit = (b.bit + b.bitStep) & 7
}

// Length adds a length of an array column. A null value needs no other call, because a
// column of type Null stores only lengths.
func (b *Buffer) Length(n uint32) {
	switch {
	case b.repeatedLength >= noRepeats:
		if b.repeatedLength > noRepeats {
			b.lengthLevels(n)
			return
		}
		b.words = append(b.words, n)
		b.grown()
	case n == 0 || n == 1 && b.null:
		if b.repeatedLength != n {
			b.flushRepeat()
			b.repeatedLength = n
		}
		b.repeat++
	default:
		if b.repeat != 0 {
			b.flushRepeat()
		}
		b.writeLength(int64(n))
	}
}

// Absent is Length(0), but faster.
func (b *Buffer) Absent() {
	if b.repeatedLength == 0 {
		b.repeat++
	} else {
		b.absentSlowly()
	}
}

func (b *Buffer) absentSlowly() {
	switch b.repeatedLength {
	case noRepeats:
		b.words = append(b.words, 0)
		b.grown()
	case ofLeaf:
		if levels := b.now(b.def - 1); b.levels == levels && b.count < maxRun {
			b.count++
		} else {
			b.entry(levels)
		}
	default:
		b.Length(0)
	}
}

// Present is Length(1) of a column that is not of type Null, but faster.
func (b *Buffer) Present() {
	switch {
	case b.repeat == 0 && b.repeatedLength == 0:
		b.bit = 0
		b.AppendByte(2)
	case b.repeatedLength == ofLeaf:
		b.entry(b.now(b.def))
	default:
		b.Length(1)
	}
}

// flushRepeat writes the pending repeat. It writes a single length unchanged, n zeros as
// -(2n-3), and n ones as -(2n-2).
func (b *Buffer) flushRepeat() {
	switch n := int64(b.repeat); {
	case n == 0:
		return
	case n == 1:
		b.writeLength(int64(b.repeatedLength))
	case b.repeatedLength == 0:
		b.writeLength(3 - 2*n)
	default:
		b.writeLength(2 - 2*n)
	}
	b.repeat, b.repeatedLength = 0, 0
}

// writeLength writes a coded length. The next boolean begins a new byte.
func (b *Buffer) writeLength(coded int64) {
	b.bit = 0
	if uint64(coded) < 64 {
		b.AppendByte(byte(coded << 1))
		return
	}
	b.AppendVarint(coded)
}

// Finish closes the block at a row boundary and moves it into dst. In exchange the buffer
// gets the old memory of dst. nextRow is the number, in the row group, of the first row
// after the block.
func (b *Buffer) Finish(nextRow int64, dst *Block) {
	if b.repeatedLength == ofLeaf {
		b.finishLevels()
	} else {
		b.flushRepeat()
	}
	memory := dst.Data
	if last := len(b.set.spare) - 1; memory == nil && len(b.data) > BlockMemory(b.set.limit) && last >= 0 {
		memory = b.set.spare[last] // probably the memory that the block had first
		b.set.spare = b.set.spare[:last]
	}
	dst.Data = b.data[:b.n]
	if dst.Lengths = dst.Lengths[:0]; b.repeatedLength != ofPlace {
		b.words, dst.Lengths = dst.Lengths, b.words
	}
	dst.FirstRow, dst.Rows = b.firstRow, nextRow-b.firstRow
	b.firstRow, b.bit, b.due = nextRow, 0, false
	b.adopt(memory)
}

// FirstRow is the row number of the first row of the open block.
func (b *Buffer) FirstRow() int64 { return b.firstRow }

// Start sets the row number of the first row of an empty buffer.
func (b *Buffer) Start(row int64) { b.firstRow = row }

// Mark is a saved state of a column, for Restore.
type Mark struct {
	data, words            int
	repeat, repeatedLength uint32
	levels, count          uint32
	bit                    uint8
}

// Mark returns the current state. The column must not be a Place.
func (b *Buffer) Mark() Mark {
	return Mark{b.n, len(b.words), b.repeat, b.repeatedLength, b.levels, b.count, b.bit}
}

// Restore drops everything that was appended after the mark. The block must not have been
// finished or lost in between.
func (b *Buffer) Restore(m Mark) {
	b.n, b.words = m.data, b.words[:m.words]
	b.repeat, b.repeatedLength, b.bit = m.repeat, m.repeatedLength, m.bit
	b.levels, b.count = m.levels, m.count
	b.dropped()
	if b.bit > 0 {
		b.data[b.n-1] &= 1<<b.bit - 1 // keeps the booleans that were packed before the mark
	}
}
