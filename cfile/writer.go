package cfile

import (
	"errors"
	"fmt"
	"io"
	"math"
)

// Writer writes one file. Blocks end by Kudu's rules and at calls of EndBlock. The number of rows
// in each call of Append does not matter. A Writer keeps the rows of one block and of one call in
// memory. For strings in a dictionary it keeps only the codes. After an error every call returns
// that error.
type Writer struct {
	w          io.Writer
	o          Options
	encoder    blockEncoder
	assembly   *assembly
	dictionary *dictionary // nil without DICT
	written    writtenBlocks
	open       Rows   // rows of the block that is not full, without values that have codes
	codes      []byte // codes of all values of open, or none
	plain      bool   // the dictionary is full: blocks have strings from now on
	encodeAt   int    // size of open at which its full blocks are encoded
	size       int64
	err        error
}

var errClosed = errors.New("cfile: the writer is closed")

// NewWriter returns a Writer of a file with the options o, and writes the file's header.
func NewWriter(w io.Writer, o Options) (*Writer, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	f := &Writer{w: w, o: o.withDefaults(), assembly: newAssembly(o)}
	f.encoder.setOptions(&f.o)
	f.encodeAt = f.o.BlockSize
	if f.o.Encoding == Dict {
		f.dictionary = newDictionary(f.o.BlockSize)
	}
	if err := f.write(f.assembly.head()); err != nil {
		return nil, err
	}
	return f, nil
}

// Append adds rows. If one of their values is too long, it writes none of them and returns a
// *TooLongError.
func (w *Writer) Append(r *Rows) error {
	if w.err != nil {
		return w.err
	}
	n, err := w.encoder.count(r, &coded{})
	if err == nil {
		err = w.o.checkLengths(w.assembly.rows()+int64(w.openRows()), r)
	}
	if err != nil {
		return w.fail(err)
	}
	if n.n == 0 {
		return nil
	}
	//guard: keeps offsets of values within 32 bits
	if int64(len(w.open.Data))+int64(len(r.Data)) > math.MaxUint32 {
		return w.fail(fmt.Errorf("%d bytes of values in one call", len(r.Data)))
	}
	if w.dictionary != nil && !w.plain {
		if r, err = w.code(r); err != nil {
			return err
		}
	}
	w.open.append(r)
	if w.open.size()+len(w.codes) < w.encodeAt {
		return nil
	}
	return w.encode(true)
}

// code adds the rows whose values get a number in the dictionary, ends the block if the
// dictionary is then full, and returns the rows that are left.
func (w *Writer) code(r *Rows) (rest *Rows, err error) {
	n := 0
	w.codes, n = w.dictionary.code(w.codes, r.Offsets, r.Data)
	numbered, rest := *r, &Rows{}
	if w.dictionary.full() {
		numbered, rest = r.split(n, w.dictionary.overflow)
	}
	if !w.o.ValueIndex { // a value index needs keys of the values
		numbered.Values.Reset()
	}
	w.open.append(&numbered)
	if w.dictionary.full() {
		err = w.encode(false)
		w.plain = true
	}
	return rest, err
}

// openRows returns the number of rows that are in no block yet.
func (w *Writer) openRows() int {
	n, _ := w.encoder.count(&w.open, &coded{codes: w.codes})
	return n.n
}

// EndBlock ends the data block, if it has any rows.
func (w *Writer) EndBlock() error {
	if w.err != nil {
		return w.err
	}
	return w.encode(false)
}

// encode writes the full blocks of the open rows, or all blocks if open is false.
func (w *Writer) encode(open bool) error {
	w.written.reset()
	c := coded{codes: w.codes, full: w.plain}
	rows, values, err := w.encoder.append(&w.written, w.assembly.rows(), &w.open, c, open)
	if err != nil {
		return w.fail(err)
	}
	w.open.drop(rows, values, w.encoder.width)
	w.codes = w.codes[:copy(w.codes, w.codes[min(len(w.codes), values*codeWidth):])]
	// Encoded values may be far smaller than the values. Encoding all of them again for every
	// few new values would take quadratic time.
	w.encodeAt = max(w.o.BlockSize, 2*(w.open.size()+len(w.codes)))
	stored := w.written.stored
	for i := range w.written.list {
		b := &w.written.list[i]
		if err := w.addBlock(b, stored[:b.size]); err != nil {
			return err
		}
		stored = stored[b.size:]
	}
	return nil
}

// addBlock writes a data block and the index blocks that follow it.
func (w *Writer) addBlock(b *writtenBlock, stored []byte) error {
	index, err := w.assembly.add(b)
	if err != nil {
		return w.fail(err)
	}
	if err := w.write(stored); err != nil {
		return err
	}
	return w.write(index)
}

// Size returns the number of bytes written so far.
func (w *Writer) Size() int64 { return w.size }

// Close writes the rest of the rows and indexes, the dictionary and the footer. It does not
// close the io.Writer.
func (w *Writer) Close() error {
	if w.err != nil {
		return w.err
	}
	if err := w.encode(false); err != nil {
		return err
	}
	tail, err := w.assembly.finish(w.dictionary)
	if err != nil {
		return w.fail(err)
	}
	if err := w.write(tail); err != nil {
		return err
	}
	w.err = errClosed
	return nil
}

func (w *Writer) write(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	n, err := w.w.Write(p)
	w.size += int64(n)
	return w.fail(err)
}

// fail keeps the first error.
func (w *Writer) fail(err error) error {
	if w.err == nil {
		w.err = err
	}
	return err
}

// append adds the rows of other.
func (r *Rows) append(other *Rows) {
	r.Valid = append(r.Valid, other.Valid...)
	r.Fixed = append(r.Fixed, other.Fixed...)
	n := other.BinaryLen()
	if n == 0 {
		return
	}
	if len(r.Offsets) == 0 {
		r.Offsets = append(r.Offsets, 0)
	}
	shift := uint32(len(r.Data)) - other.Offsets[0]
	for _, o := range other.Offsets[1 : n+1] {
		r.Offsets = append(r.Offsets, o+shift)
	}
	r.Data = append(r.Data, other.Data[other.Offsets[0]:other.Offsets[n]]...)
}

// split returns the rows before the BINARY value n, and the rows from that value on. Nulls just
// before that value are among the first rows if nulls is set, else among the second. Both results
// share the memory of r.
func (r *Rows) split(n int, nulls bool) (Rows, *Rows) {
	first, rest := *r, *r
	if len(r.Valid) > 0 {
		row := rowsOf(r.Valid, n)
		for nulls && row < len(r.Valid) && r.Valid[row] == 0 {
			row++
		}
		first.Valid, rest.Valid = r.Valid[:row], r.Valid[row:]
	}
	if r.BinaryLen() > 0 {
		first.Offsets, rest.Offsets = r.Offsets[:n+1], r.Offsets[n:]
	}
	return first, &rest
}

// drop removes rows at the beginning, and their values, which have width bytes or are BINARY.
func (r *Rows) drop(rows, values, width int) {
	r.Valid = r.Valid[:copy(r.Valid, r.Valid[min(rows, len(r.Valid)):])]
	r.Fixed = r.Fixed[:copy(r.Fixed, r.Fixed[values*width:])]
	if values == 0 || r.BinaryLen() == 0 {
		return
	}
	cut := r.Offsets[values]
	r.Data = r.Data[:copy(r.Data, r.Data[cut:])]
	r.Offsets = r.Offsets[:copy(r.Offsets, r.Offsets[values:])]
	for i := range r.Offsets {
		r.Offsets[i] -= cut
	}
}

// size returns the number of bytes of the rows in memory.
func (r *Rows) size() int {
	return len(r.Valid) + len(r.Fixed) + 4*len(r.Offsets) + len(r.Data)
}
