package bloom

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/rowtocol/rowtocol/cfile"
)

// Writer writes a BloomFile. It holds one filter in memory.
type Writer struct {
	file   *cfile.Writer
	block  []byte // ends in the bitmap of filter
	filter filter
	keys   int // in the filter
	full   int // keys of a full filter

	any         bool // whether there was a key
	first, last []byte
	err         error
}

// NewWriter writes the header of a file.
func NewWriter(w io.Writer, o Options) (*Writer, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	file, err := cfile.NewWriter(w, cfile.Options{
		Type: cfile.Binary, Encoding: cfile.Plain, Compression: cfile.NoCompression, ValueIndex: true,
	})
	if err != nil {
		return nil, err
	}
	b := &Writer{file: file, full: o.Keys()}
	b.block, b.filter = newBlock(o)
	return b, nil
}

// Add adds a key, as cfile.AppendKey or cfile.AppendComposite encode it, of at most
// cfile.MaxKey bytes. Keys must not be less than the one before. After an error each call
// returns the same.
func (w *Writer) Add(key []byte) error {
	if w.err != nil {
		return w.err
	}
	//guard: index blocks would get too large for readers
	if len(key) > cfile.MaxKey {
		w.err = fmt.Errorf("a key of %d bytes: it has at most %d", len(key), cfile.MaxKey)
		return w.err
	}
	//guard: the index would not find the keys of a block that it is not sorted by
	if w.any && bytes.Compare(key, w.last) < 0 {
		w.err = fmt.Errorf("key %x is less than the one before, %x", key, w.last)
		return w.err
	}
	if w.keys == 0 {
		w.first = append(w.first[:0], key...)
	}
	w.last = append(w.last[:0], key...)
	w.any = true
	w.filter.add(cityHash64(key))
	if w.keys++; w.keys == w.full {
		w.err = w.flush()
	}
	return w.err
}

// flush writes the filter and empties it.
func (w *Writer) flush() error {
	if err := w.file.AppendBlock(w.block, w.first, w.last); err != nil {
		return err
	}
	clear(w.filter.bitmap)
	w.keys = 0
	return nil
}

// errClosed is the error of calls after Close.
var errClosed = errors.New("the BloomFile is closed")

// Close writes the last filter, the index and the footer. It does not close what the file
// is written to. A file that was not closed is not one.
func (w *Writer) Close() error {
	if w.err != nil {
		return w.err
	}
	if w.keys > 0 {
		w.err = w.flush()
	}
	if w.err == nil {
		w.err = w.file.Close()
	}
	if w.err != nil {
		return w.err
	}
	w.err = errClosed
	return nil
}
