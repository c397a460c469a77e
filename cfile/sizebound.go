package cfile

// sizeBound bounds the bytes that a raw block adds to a part. It is linear: a row adds as much
// after any other rows.
type sizeBound struct {
	base   int64
	value  int64 // for each value
	data   int64 // for each byte of data, in sixteenths
	length int64
	// perRow is set if a row has at most one value. Else there may be one for each byte.
	perRow bool
}

const (
	// blockOverhead bounds the bytes of a data block besides its values, in the file and
	// in the indexes: headers, padding, checksum, entries with keys of fixed width.
	// A full block has at least minDataBlock bytes, so the overhead is at most a
	// sixteenth of it. For blocks that are not full it is counted separately.
	blockOverhead = minDataBlock / 16
	// codeBound bounds the bytes of a dictionary's number, or of an INT32, in a full block.
	codeBound = 5
	// offsetBound bounds the bytes of a BINARY value's offset, or of its lengths in PREFIX.
	offsetBound = 5
	// keyCopies is how many copies of a value a sorted column may have besides its block: in
	// two levels of the index, and as the least and the greatest value of the file.
	keyCopies = 4
)

// sizeBoundOf returns the bound of a column's blocks.
func sizeBoundOf(c *groupColumn) (b sizeBound) {
	b.base = maxDocumentBlock
	b.perRow = c.Parent < 0 && (!c.Array || c.Optional)
	if c.lengths != nil {
		b.base += blockOverhead
		b.length = codeBound
	}
	if c.values == nil {
		return b
	}
	b.base += blockOverhead
	if c.nullable {
		b.length = 1 // a bit, or a run of 8 and more
	}
	if width := int64(c.values.o.Type.Width()); width > 0 {
		// LZ4 adds a 255th and 20 bytes to 8 KiB.
		b.value = width + max(1, width/8)
		return b
	}
	b.value, b.data = offsetBound, 17
	if c.dictionary != nil {
		b.value += codeBound // a new string of the dictionary also has a number
		b.base += blockOverhead
	}
	if c.avro.symbols != nil {
		b.symbols(c)
	}
	if c.values.o.ValueIndex {
		b.data += keyCopies * 17
	}
	return b
}

// symbols bounds the blocks of an enum, whose data are ordinals.
func (b *sizeBound) symbols(c *groupColumn) {
	b.data = 0
	if c.ordinals {
		b.value = codeBound
		return
	}
	longest := int64(0)
	for _, s := range c.avro.symbols {
		longest = max(longest, int64(len(s)))
	}
	if c.values.o.ValueIndex {
		longest *= 1 + keyCopies
	}
	b.value += longest + longest/16 + 1
}

// values returns the bound of the blocks of n values.
func (b *sizeBound) values(n int64, data int) int64 { return n*b.value + (int64(data)*b.data+15)/16 }

// block returns the bound of a block.
func (b *sizeBound) block(rows int64, data, lengths int) int64 {
	values := int64(data) // each takes at least a byte
	if b.perRow {
		values = min(values, rows)
	}
	return b.base + b.values(values, data) + int64(lengths)*b.length
}

// growth returns the most by which a byte, or a quarter of a length, raises the bound.
func (b *sizeBound) growth() int64 { return max(b.value+(b.data+15)/16+1, (b.length+3)/4) }
