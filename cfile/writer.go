package cfile

import (
	"errors"
	"fmt"
	"io"
	"math"
)

// Writer writes one file. Where its blocks end depends on the rows and on calls of
// EndBlock only, not on how many rows come in a call: blocks are closed by Kudu's rules as
// if rows came one by one. It holds in memory the rows of one block, of strings in a
// dictionary only their codes, and those of one call. After an error every call returns
// that error.
type Writer struct {
	w          io.Writer
	o          Options
	encoder    blockEncoder
	assembly   *assembly
	dictionary *dictionary // nil without DICT
	written    writtenBlocks
	open       Rows   // of the block that is not full, without values that have codes
	codes      []byte // of the values of open, or of none
	plain      bool   // the dictionary is full: blocks have strings from now on
	encodeAt   int    // the size of open from which full blocks of it are encoded
	size       int64
	err        error
}

var errClosed = errors.New("cfile: the writer is closed")

// NewWriter writes the header of a file with those options.
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

// Append adds rows. Nothing of them is written if one of their values is too long, which
// is a *TooLongError.
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

// code adds rows so far as the dictionary numbers their values, ends the block if it is
// full then, and returns the rows that are left.
func (w *Writer) code(r *Rows) (rest *Rows, err error) {
	n := 0
	w.codes, n = w.dictionary.code(w.codes, r.Offsets, r.Data)
	numbered, rest := *r, &Rows{}
	if w.dictionary.full() {
		numbered, rest = r.split(n, w.dictionary.overflow)
	}
	if !w.o.ValueIndex { // else keys are made of them
		numbered.Values.Reset()
	}
	w.open.append(&numbered)
	if w.dictionary.full() {
		err = w.encode(false)
		w.plain = true
	}
	return rest, err
}

// openRows is the number of rows that are in no block yet.
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

// encode writes the blocks of the open rows that are full; without open, all.
func (w *Writer) encode(open bool) error {
	w.written.reset()
	c := coded{codes: w.codes, full: w.plain}
	rows, values, err := w.encoder.append(&w.written, w.assembly.rows(), &w.open, c, open)
	if err != nil {
		return w.fail(err)
	}
	w.open.drop(rows, values, w.encoder.width)
	w.codes = w.codes[:copy(w.codes, w.codes[min(len(w.codes), values*codeWidth):])]
	// Encoded values may take far less room than the values. To look at all of them
	// again for every few that come would take time by the square of their number.
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

// Size is the bytes written so far.
func (w *Writer) Size() int64 { return w.size }

// Close writes what is left of the rows, the indexes, the dictionary and the footer. It
// does not close what it writes to.
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

// split returns the rows up to the BINARY value n and those from it on. Nulls before that
// value are among the first ones if nulls is set, else among the others. They share the
// memory of r.
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

// drop removes rows at the beginning, and their values, which are of width bytes or BINARY.
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

// size is the memory of the rows.
func (r *Rows) size() int {
	return len(r.Valid) + len(r.Fixed) + 4*len(r.Offsets) + len(r.Data)
}
