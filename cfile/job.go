package cfile

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// encodeJob encodes a raw block into data blocks.
type encodeJob struct {
	col   *groupColumn
	block *column.Block
	// unit and item are the numbers that the block's first length and first value have in
	// their files.
	unit, item int64
	units      int64 // number of lengths
	items      int64 // number of values that are not null; in a column of type null, sum of the lengths
	// codes are the dictionary's numbers of the first values. If later values have no number,
	// the dictionary is full or there are too many values.
	codes []byte
	full  bool  // the dictionary is full after this block
	words int   // size of the dictionary after this block
	text  int64 // bytes of all BINARY values
	// The data blocks. Their bytes belong to the caller of Encode.
	lengths, values writtenBlocks
}

// begin makes j the job of a block. j keeps its memory.
func (j *encodeJob) begin(c *groupColumn, block *column.Block) {
	j.lengths.reset()
	j.values.reset()
	if cap(j.codes) > keptScratch {
		j.codes = nil
	}
	*j = encodeJob{
		col: c, block: block, unit: c.begunUnits, item: c.begunItems,
		codes: j.codes[:0], lengths: j.lengths, values: j.values,
	}
}

// count counts the lengths and the values.
func (j *encodeJob) count() (err error) {
	c, n := j.col, 0
	j.units = int64(len(j.block.Lengths))
	switch {
	case c.Array:
		for _, n := range j.block.Lengths {
			j.items += int64(n)
		}
		return nil
	case c.Type == column.Null:
		return nil
	case c.Parent < 0:
		j.items = j.block.Rows
		return nil
	}
	n, err = c.avro.count(j.block.Data)
	j.items = int64(n)
	return err
}

// documentBlock returns the block's entry in the part's document.
func (j *encodeJob) documentBlock() documentBlock {
	c := j.col
	b := documentBlock{Rows: j.block.Rows, Units: j.units, Items: j.items, Raw: j.text}
	if !c.Array {
		b.Units = b.Items
	}
	if c.lengths != nil {
		b.Raw += lengthWidth * j.units
	}
	if c.values != nil {
		b.Raw += int64(cmp.Or(c.avro.width, offsetWidth)) * j.items
	}
	for _, list := range [][]writtenBlock{j.lengths.list, j.values.list} {
		for i := range list {
			b.Stored += int64(list[i].size)
		}
	}
	return b
}

// Bytes that a document counts in a raw block for each length, and for each value of any
// length besides its text.
const (
	lengthWidth = 4
	offsetWidth = 4
)

// locate adds the column to err, and the row if err is about a value.
func (j *encodeJob) locate(err error) error {
	var v *valueError
	if !errors.As(err, &v) {
		return fmt.Errorf("cfile: column %q: %w", j.col.Name, err)
	}
	e := damage.New(damage.Unsupported, "", -1, "%s", v.reason)
	e.Column, e.Row = j.col.Name, j.row(v.index)
	return e
}

// row returns the number, in the row group, of the row to which a value belongs. It returns -1 if
// the column alone does not determine the row.
func (j *encodeJob) row(value int64) int64 {
	switch {
	case j.col.Parent >= 0:
		return -1
	case !j.col.Array:
		return j.block.FirstRow + value
	}
	for i, n := range j.block.Lengths {
		if value -= int64(n); value < 0 {
			return j.block.FirstRow + int64(i)
		}
	}
	return -1
}

// maxCodes is the most values of a raw block that get numbers of a dictionary. Later values
// of a block with one huge row take less memory as strings. The next block has numbers again.
const maxCodes = 1 << 20

// number finds the numbers of the block's values in the dictionary, until the dictionary is full.
func (j *encodeJob) number() error {
	d, data := j.col.dictionary, j.block.Data
	for i := range int(min(j.items, maxCodes)) {
		value, size, err := j.col.avro.text(data)
		if err != nil {
			return shifted(err, int64(i))
		}
		if d.full() {
			return nil
		}
		n, ok := d.number(value)
		if !ok {
			return nil
		}
		j.codes = binary.LittleEndian.AppendUint32(j.codes, n)
		j.text += int64(len(value))
		data = data[size:]
	}
	return nil
}

const (
	// chunkBytes is how much of a huge raw block is converted at a time.
	chunkBytes = 1 << 20
	// keptScratch is the size of the largest buffer that is kept for other blocks.
	keptScratch = 4 << 20
)

// scratch is the memory of an Encode. Each worker uses one.
type scratch struct {
	encoder blockEncoder
	rows    Rows
	codes   []byte // ordinals of an enum that are also numbers of its dictionary; rows then has no values
	valid   []byte // Rows.Valid of all rows of the raw block
	last    []byte // the value before the values of rows, if values must ascend
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// release keeps the memory for other jobs, unless a huge value made it large.
func (s *scratch) release() {
	if cap(s.rows.Data)+cap(s.rows.Fixed)+cap(s.encoder.raw) <= keptScratch {
		scratches.Put(s)
	}
}

// Bound returns the most bytes that Encode appends. For a large block it adds the other memory
// that Encode uses.
func (j *encodeJob) Bound() int64 {
	c := j.col
	coded := int64(len(j.codes) / codeWidth)
	n := 2*blockOverhead + j.units*c.bound.length + coded*codeBound
	if coded < j.items {
		n += c.bound.values(j.items-coded, len(j.block.Data))
	}
	if len(j.block.Data) > chunkBytes {
		n += int64(cap(j.codes)) + 2*int64(j.longest()) // a copy of the longest value, and its block before compression
	}
	return n
}

// longest returns the size of the longest string or bytes.
func (j *encodeJob) longest() (n int) {
	if j.col.values == nil || j.col.avro.width > 0 || j.col.avro.symbols != nil {
		return 0
	}
	for data := j.block.Data; ; {
		size, at := textSize(data)
		if size < 0 {
			return n
		}
		n, data = max(n, size), data[at+size:]
	}
}

// Encode appends the data blocks, those of lengths first.
func (j *encodeJob) Encode(dst []byte) (_ []byte, err error) {
	s := scratches.Get().(*scratch)
	defer s.release()
	if j.col.lengths != nil {
		if dst, err = s.encodeLengths(j, dst); err != nil {
			return dst, j.locate(err)
		}
	}
	if j.col.values != nil {
		if dst, err = s.encodeValues(j, dst); err != nil {
			return dst, j.locate(err)
		}
	}
	return dst, nil
}

// encodeLengths appends the blocks of lengths.
func (s *scratch) encodeLengths(j *encodeJob, dst []byte) ([]byte, error) {
	b := &j.lengths
	b.stored = dst
	s.begin(&j.col.lengths.o)
	at, read := j.unit, int64(0)
	for left := j.block.Lengths; len(left) > 0; {
		n := min(len(left), s.room())
		for _, length := range left[:n] {
			//guard: rejects a length of 2^31 or more
			if length > math.MaxInt32 {
				return b.stored, newValueError(read, "a list of %d items", length)
			}
			s.rows.Fixed = binary.LittleEndian.AppendUint32(s.rows.Fixed, length)
			read += int64(length)
		}
		left = left[n:]
		rows, err := s.flush(b, at, false, len(left) == 0)
		if err != nil {
			return b.stored, err
		}
		at += int64(rows)
	}
	dst, b.stored = b.stored, nil
	return dst, nil
}

// begin prepares s for a file with the options o.
func (s *scratch) begin(o *Options) {
	s.encoder.setOptions(o)
	s.rows.Reset()
	s.codes, s.last = s.codes[:0], s.last[:0]
}

// values returns how many values the rows have.
func (s *scratch) values() int {
	if width := s.encoder.width; width > 0 {
		return len(s.rows.Fixed) / width
	}
	return max(s.rows.BinaryLen(), len(s.codes)/codeWidth)
}

// chunk returns the most bytes of values to convert at a time: a few blocks.
func (s *scratch) chunk() int { return max(chunkBytes, 2*s.encoder.o.BlockSize) }

// room returns how many values to add to the rows.
func (s *scratch) room() int {
	return max(s.chunk()/max(s.encoder.width, codeWidth)-s.values(), 1)
}

// flush appends the full blocks of the rows. It appends all blocks if these are the last
// rows, or if no block is full. It returns how many rows are in the blocks. full is set if
// there is a dictionary, which is full.
func (s *scratch) flush(b *writtenBlocks, at int64, full, last bool) (int, error) {
	c := coded{s.codes, full}
	rows, values, err := s.encoder.append(b, at, &s.rows, c, !last)
	if err == nil && rows == 0 && !last {
		rows, values, err = s.encoder.append(b, at, &s.rows, c, false)
	}
	if err != nil || last {
		return rows, err
	}
	s.rows.drop(rows, values, s.encoder.width)
	if len(s.codes) > 0 {
		s.codes = s.codes[:copy(s.codes, s.codes[values*codeWidth:])]
	}
	return rows, nil
}

// encodeValues appends the blocks of values. Blocks with numbers of the dictionary come first.
func (s *scratch) encodeValues(j *encodeJob, dst []byte) ([]byte, error) {
	c, b := j.col, &j.values
	b.stored = dst
	s.begin(&c.values.o)
	s.valid = s.valid[:0]
	if c.nullable {
		for _, n := range j.block.Lengths {
			s.valid = append(s.valid, byte(n))
		}
	}
	p := &pass{scratch: s, j: j, data: j.block.Data, valid: s.valid, left: j.items, at: j.item}
	err := p.encodeNumbered()
	for err == nil && (p.left > 0 || len(p.valid) > 0) {
		err = p.next()
	}
	//guard: rejects values left over
	if err == nil && len(p.data) > 0 {
		err = fmt.Errorf("%d bytes after the values of a block", len(p.data))
	}
	if err != nil {
		return b.stored, err
	}
	dst, b.stored = b.stored, nil
	return dst, nil
}

// pass reads the values of a raw block from first to last.
type pass struct {
	*scratch
	j     *encodeJob
	data  []byte // bytes of the values that are left
	valid []byte // Rows.Valid of the rows that are left
	left  int64  // number of values that are left
	read  int64  // number of values that were read
	at    int64  // number of the first row in scratch
}

// encodeNumbered appends the blocks of the values that have numbers.
func (p *pass) encodeNumbered() error {
	j := p.j
	n := len(j.codes) / codeWidth
	if n == 0 {
		return nil
	}
	if p.encoder.o.ValueIndex {
		j.text = 0 // it is counted again
		if err := p.take(n, math.MaxInt); err != nil {
			return err
		}
	} else {
		if err := p.skip(n); err != nil {
			return err
		}
	}
	rows, _, err := p.encoder.append(&j.values, p.at, &p.rows, coded{j.codes, j.full && p.left > 0}, false)
	p.at += int64(rows)
	p.rows.Reset()
	return err
}

// skip passes over n values. It adds Valid of their rows, but not the values.
func (p *pass) skip(n int) error {
	if int64(n) == p.left {
		p.data = nil
	} else {
		for range n {
			size, at := p.j.col.avro.size(p.data)
			if size < 0 {
				return errCut
			}
			p.data = p.data[at+size:]
		}
	}
	p.advance(n)
	return nil
}

// advance counts n values as read, and adds Valid of their rows.
func (p *pass) advance(n int) {
	p.left, p.read = p.left-int64(n), p.read+int64(n)
	if len(p.valid) == 0 {
		return
	}
	rows := len(p.valid) // with the nulls after the last value
	if p.left > 0 {
		rows = rowsOf(p.valid, n)
	}
	p.rows.Valid, p.valid = append(p.rows.Valid, p.valid[:rows]...), p.valid[rows:]
}

// take adds the next n values to the rows, or fewer if they reach limit bytes.
func (p *pass) take(n, limit int) error {
	if p.j.col.ordinals {
		return p.takeOrdinals(n)
	}
	before, text := p.values(), len(p.rows.Data)
	read, rest, err := p.j.col.avro.append(&p.rows.Values, p.data, n, limit)
	if err != nil {
		return shifted(err, p.read)
	}
	if p.encoder.o.ValueIndex {
		if err := p.checkAscending(before, read); err != nil {
			return shifted(err, p.read)
		}
	}
	p.data = rest
	p.j.text += int64(len(p.rows.Data) - text)
	p.advance(read)
	return nil
}

// takeOrdinals adds the next ordinals of an enum, which are also numbers of its dictionary.
func (p *pass) takeOrdinals(n int) (err error) {
	symbols, at := p.j.col.avro.symbols, len(p.codes)
	if p.codes, _, p.data, err = appendInts(p.codes, p.data, n); err != nil {
		return err
	}
	for ordinals := p.codes[at:]; len(ordinals) > 0; ordinals = ordinals[codeWidth:] {
		ordinal := binary.LittleEndian.Uint32(ordinals)
		//guard: rejects an ordinal without a symbol
		if int(ordinal) >= len(symbols) {
			return errCut
		}
		p.j.text += int64(len(symbols[ordinal]))
	}
	p.advance(n)
	return nil
}

// next appends the blocks of some of the values, or of all.
func (p *pass) next() error {
	if err := p.take(int(min(p.left, int64(p.room()))), p.chunk()); err != nil {
		return err
	}
	rows, err := p.flush(&p.j.values, p.at, p.j.full, p.left == 0)
	p.at += int64(rows)
	return err
}

// checkAscending compares each of the n values from the number before on with the value
// before it.
func (p *pass) checkAscending(before, n int) error {
	t, width, last := p.encoder.physical, p.encoder.width, p.last
	for i := range n {
		var value []byte
		if t == Binary {
			value = p.rows.Binary(before + i)
		} else {
			value = p.rows.Fixed[(before+i)*width : (before+i+1)*width]
		}
		//guard: refuses a key that is too long for readers
		if t == Binary && len(value) > MaxKey {
			return newValueError(int64(i), "a value of %d bytes in a sorted column: an index holds values of %d bytes at most", len(value), MaxKey)
		}
		//guard: refuses an index by value over values that do not ascend
		if p.read+int64(i) > 0 && compareValues(t, last, value) > 0 {
			return descending(int64(i))
		}
		last = value
	}
	p.last = append(p.last[:0], last...) // in its own memory: that of the rows is reused
	return nil
}

func descending(value int64) error {
	return newValueError(value, "the value is less than the one in the row before, but --"+optionSortedBy+" says that the column ascends")
}

// compareValues compares two values of a physical type that is Keyed.
func compareValues(t Type, a, b []byte) int {
	switch t {
	case Int32:
		return cmp.Compare(int32(binary.LittleEndian.Uint32(a)), int32(binary.LittleEndian.Uint32(b)))
	case Int64:
		return cmp.Compare(int64(binary.LittleEndian.Uint64(a)), int64(binary.LittleEndian.Uint64(b)))
	case Int128:
		return cmp.Or(cmp.Compare(int64(binary.LittleEndian.Uint64(a[8:])), int64(binary.LittleEndian.Uint64(b[8:]))),
			cmp.Compare(binary.LittleEndian.Uint64(a), binary.LittleEndian.Uint64(b)))
	}
	return bytes.Compare(a, b)
}
