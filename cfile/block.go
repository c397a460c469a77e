package cfile

import (
	"encoding/binary"
	"fmt"

	"github.com/rowtocol/rowtocol/cfile/encoding"
)

// blockEncoder makes data blocks of rows: null bitmap, encoding, compression, checksum. It
// keeps memory between calls and is for one goroutine. Call setOptions before the first
// block.
type blockEncoder struct {
	o        *Options
	physical Type
	width    int // bytes of a value, 0 for BINARY
	shuffler encoding.Shuffler
	bits     []byte // scratch: a null bitmap
	raw      []byte // scratch: a block before compression
}

// setOptions makes e encode blocks of a file with the options o. They must be valid and include
// the defaults, and must not change.
func (e *blockEncoder) setOptions(o *Options) {
	e.o, e.physical, e.width = o, o.Type.Physical(), o.Type.Width()
}

// writtenBlocks are consecutive data blocks as a file stores them.
type writtenBlocks struct {
	stored []byte
	list   []writtenBlock
	keys   []byte // memory of the keys in list
}

// reset empties b and keeps its memory.
func (b *writtenBlocks) reset() {
	b.stored, b.list, b.keys = b.stored[:0], b.list[:0], b.keys[:0]
}

// writtenBlock describes a block for an assembly and for a table of blocks.
type writtenBlock struct {
	rows        int    // number of rows, nulls included
	values      int    // number of values that are not null
	raw         int    // bytes before compression
	size        int    // bytes in the file, with the checksum
	crc         uint32 // the checksum, if there is one
	first, last []byte // keys of the block's first and last value; nil without a value index
}

// coded has the codes of values of Rows: their numbers in a dictionary.
type coded struct {
	codes []byte // UINT32 codes of the first values
	// full is set if the dictionary is full after these values. The block then ends there,
	// and later blocks hold strings.
	full bool
}

// span is a range of Rows: n rows from row on, and their values, which are not null.
type span struct {
	row, n        int
	value, values int
}

// append appends to b the blocks of the rows r. The number of the first row is ordinal. A block
// ends where it is full by Kudu's rules, and after the last row. If open is set, append leaves
// out the rows after the last full block. It returns how many rows and values it appended. For a
// file with a dictionary, c has the codes of the values. If c has all codes and there is no value
// index, r may omit the values. No value may be longer than MaxValue.
func (e *blockEncoder) append(b *writtenBlocks, ordinal int64, r *Rows, c coded, open bool) (rows, values int, err error) {
	n, err := e.count(r, &c)
	if err != nil {
		return 0, 0, err
	}
	for rows < n.n {
		s, full := e.next(r, n, rows, values, &c)
		if !full && open {
			break
		}
		if err := e.block(b, ordinal+int64(rows), r, s, &c); err != nil {
			return rows, values, err
		}
		rows, values = rows+s.n, values+s.values
	}
	return rows, values, nil
}

// count returns how many rows and values r has.
func (e *blockEncoder) count(r *Rows, c *coded) (span, error) {
	s := span{values: max(r.BinaryLen(), len(c.codes)/codeWidth)}
	if e.physical != Binary {
		s.values = len(r.Fixed) / e.width
	}
	s.n = s.values
	if e.o.Nullable {
		s.n = len(r.Valid)
	}
	//guard: rejects rows and values that do not belong together
	if e.physical != Binary && len(r.Fixed)%e.width != 0 ||
		e.o.Nullable && countOnes(r.Valid) != s.values || !e.o.Nullable && len(r.Valid) > 0 {
		return s, fmt.Errorf("%d values of %v do not match %d entries of Valid", s.values, e.o.Type, len(r.Valid))
	}
	return s, nil
}

// next returns the next block of r, which begins at the given row and value. full is whether the
// block is full. If not, it has all rows that are left.
func (e *blockEncoder) next(r *Rows, all span, row, value int, c *coded) (s span, full bool) {
	s = span{row: row, n: all.n - row, value: value}
	s.values, full = e.cut(&r.Values, value, all.values-value, c)
	switch {
	case !e.o.Nullable:
		s.n = s.values
	case full:
		s.n = rowsOf(r.Valid[row:], s.values)
	}
	if s.n > maxRows {
		s.n, full = maxRows, true
		if e.o.Nullable {
			s.values = countOnes(r.Valid[row : row+maxRows])
		} else {
			s.values = maxRows
		}
	}
	return s, full
}

// block appends one block to b.
func (e *blockEncoder) block(b *writtenBlocks, ordinal int64, r *Rows, s span, c *coded) error {
	raw := e.raw[:0]
	if e.o.Nullable {
		e.bits = encoding.AppendBits(e.bits[:0], r.Valid[s.row:s.row+s.n])
		raw = binary.AppendUvarint(raw, uint64(s.n))
		raw = binary.AppendUvarint(raw, uint64(len(e.bits)))
		raw = append(raw, e.bits...)
	}
	raw, err := e.encode(raw, uint32(ordinal), &r.Values, s.value, s.values, c)
	e.raw = raw
	if err != nil {
		return err
	}
	before := len(b.stored)
	if b.stored, err = appendStored(b.stored, e.o, raw); err != nil {
		return err
	}
	w := writtenBlock{rows: s.n, values: s.values, raw: len(raw), size: len(b.stored) - before, crc: lastWord(b.stored)}
	if e.o.ValueIndex {
		if w.first, err = e.key(b, &r.Values, s.value); err == nil {
			w.last, err = e.key(b, &r.Values, s.value+s.values-1)
		}
	}
	b.list = append(b.list, w)
	return err
}

// encode appends the n values of v that start at index first.
func (e *blockEncoder) encode(dst []byte, ordinal uint32, v *encoding.Values, first, n int, c *coded) ([]byte, error) {
	if e.physical == Binary {
		return e.encodeBinary(dst, ordinal, v, first, n, c)
	}
	fixed := v.Fixed[first*e.width : (first+n)*e.width]
	switch e.o.Encoding {
	case RLE:
		if e.physical == Bool {
			return encoding.AppendRLEBool(dst, ordinal, fixed), nil
		}
		return encoding.AppendRLE(dst, ordinal, e.width, fixed), nil
	case Bitshuffle:
		if e.physical == Uint32 {
			return e.shuffler.AppendNarrow(dst, ordinal, fixed)
		}
		return e.shuffler.Append(dst, ordinal, e.width, fixed)
	case GroupVarint:
		return encoding.AppendGroupVarint(dst, ordinal, fixed), nil
	}
	if e.physical == Bool {
		return encoding.AppendPlainBool(dst, ordinal, fixed), nil
	}
	return encoding.AppendPlain(dst, ordinal, e.width, fixed), nil
}

func (e *blockEncoder) encodeBinary(dst []byte, ordinal uint32, v *encoding.Values, first, n int, c *coded) ([]byte, error) {
	if numbered := len(c.codes) / codeWidth; e.o.Encoding == Dict && (first < numbered || n == 0 && !c.full) {
		codes := c.codes[min(first, numbered)*codeWidth:]
		return encoding.AppendDictCodes(dst, &e.shuffler, ordinal, codes[:n*codeWidth])
	}
	var offsets []uint32
	if n > 0 {
		offsets = v.Offsets[first : first+n+1]
	}
	switch e.o.Encoding {
	case Dict:
		return encoding.AppendDictPlain(dst, ordinal, offsets, v.Data), nil
	case Prefix:
		return encoding.AppendPrefix(dst, ordinal, offsets, v.Data), nil
	}
	return encoding.AppendPlainBinary(dst, ordinal, offsets, v.Data), nil
}

// key returns the key of a value, in the memory of b.
func (e *blockEncoder) key(b *writtenBlocks, v *encoding.Values, i int) ([]byte, error) {
	value := v.Fixed
	if e.physical == Binary {
		value = v.Binary(i)
	} else {
		value = value[i*e.width : (i+1)*e.width]
	}
	before := len(b.keys)
	var err error
	if b.keys, err = AppendKey(b.keys, e.o.Type, value); err != nil {
		return nil, err
	}
	return b.keys[before:len(b.keys):len(b.keys)], nil
}

// countOnes returns how many of the bytes, which are 0 or 1, are 1.
func countOnes(b []byte) int {
	n := 0
	for ; len(b) >= 8; b = b[8:] {
		// The highest byte of the product is the sum of all eight.
		n += int(binary.LittleEndian.Uint64(b) * 0x0101010101010101 >> 56)
	}
	for _, v := range b {
		n += int(v)
	}
	return n
}

// rowsOf returns the number of rows up to and including the one with the nth value.
// valid has a 1 for each value and a 0 for each null.
func rowsOf(valid []byte, n int) int {
	row := 0
	for ; n > 8; row += 8 {
		n -= countOnes(valid[row : row+8])
	}
	for ; n > 0; row++ {
		n -= int(valid[row])
	}
	return row
}
