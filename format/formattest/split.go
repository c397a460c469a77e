// Package formattest makes parts of any format for tests, and has a format that nothing
// can read.
package formattest

import (
	"encoding/json"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
)

// Split is a format that makes the row groups of another format, but divides their single
// file into several, in a directory. Its parts cannot be read.
type Split struct {
	format.Format
	// Only, if set, reports whether to divide a row group of some size. Other row groups
	// stay one file.
	Only func(size int64) bool
	// Names are the names of the files. Nil means two valid names.
	Names []string
}

// Suffix implements format.Format.
func (s Split) Suffix() string { return ".split" }

// Writer implements format.Format.
func (s Split) Writer(options json.RawMessage) (format.Writer, error) {
	w, err := s.Format.Writer(options)
	if err != nil {
		return nil, err
	}
	return writer{w.(format.ColumnWriter), s}, nil
}

type writer struct {
	format.ColumnWriter
	split Split
}

func (w writer) NewRowGroup(schema string, cols []column.Column, blockSize int) (format.RowGroup, error) {
	g, err := w.ColumnWriter.NewRowGroup(schema, cols, blockSize)
	if err != nil {
		return nil, err
	}
	return rowGroup{g, w.split}, nil
}

type rowGroup struct {
	format.RowGroup
	split Split
}

func (g rowGroup) Finish(rows int64) ([]format.Output, error) {
	outputs, err := g.RowGroup.Finish(rows)
	if err != nil || g.split.Only != nil && !g.split.Only(g.Size()) {
		return outputs, err
	}
	names := g.split.Names
	if names == nil {
		names = []string{"first", "second"}
	}
	return divide(outputs[0].Pieces, names), nil
}

// divide splits pieces into outputs with the same number of pieces each.
func divide(pieces []format.Piece, names []string) (outputs []format.Output) {
	for i, name := range names {
		out := format.Output{Name: name, Pieces: pieces[i*len(pieces)/len(names) : (i+1)*len(pieces)/len(names)]}
		for _, p := range out.Pieces {
			out.Size += p.Length
		}
		outputs = append(outputs, out)
	}
	return outputs
}
