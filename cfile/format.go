package cfile

import (
	"encoding/json"
	"strings"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
)

// Format is the format.Format of this package: a part is a directory with a CFile for
// each column and a document that describes them. A lone CFile can be read as a part.
var Format format.Format = adapter{}

type adapter struct{}

func (adapter) Name() string   { return "cfile" }
func (adapter) Suffix() string { return ".cfiles" }

func (adapter) Recognizes(head []byte) bool {
	h := string(head)
	return strings.HasPrefix(h, magic1) || strings.HasPrefix(h, magic2) || strings.HasPrefix(h, `{"format":"cfile`)
}

func (adapter) Choices() []format.Choice {
	return []format.Choice{
		{
			Name: optionCompression, Repeatable: true, Values: compressionNamesChosen(),
			Usage: "`compression`, or PATH=compression for one column: none, snappy, lz4, zlib; repeatable (default snappy, or none with bitshuffle)",
		},
		{
			Name: optionEncoding, Repeatable: true, Values: encodingNamesChosen(),
			Usage: "`PATH=encoding` for one column: plain, rle, dict, prefix, bitshuffle; or physical, which stores dates, times, decimals and enums as plain numbers and bytes; repeatable (default Kudu's encoding for the type)",
		},
		{
			Name: optionSortedBy, Repeatable: true,
			Usage: "`column` whose values ascend from row to row, which is checked; it gets an index of values, so that readers can seek by value; repeatable",
		},
		{Name: optionManyFiles, Switch: true, Usage: "allow more than 1,000 files per row group; each column has a file"},
	}
}

func (adapter) Options(chosen map[string][]string) (json.RawMessage, error) {
	o, err := parseChoices(chosen)
	if err != nil {
		return nil, err
	}
	return json.Marshal(o)
}

func (adapter) Describe(options json.RawMessage) string {
	o, err := parseOptions(options)
	if err != nil {
		return "unknown options"
	}
	text := "compression snappy, none for bitshuffle"
	if o.Compression != "" {
		text = "compression " + o.Compression
	}
	if len(o.SortedBy) > 0 {
		text += ", sorted by " + strings.Join(o.SortedBy, ", ")
	}
	return text
}

func (adapter) Writer(options json.RawMessage) (format.Writer, error) {
	o, err := parseOptions(options)
	if err != nil {
		return nil, err
	}
	return groupWriter{o}, nil
}

// groupWriter creates row groups with the same options.
type groupWriter struct{ o partOptions }

func (groupWriter) Layout() column.Layout { return column.Split }

func (groupWriter) InvalidText() column.InvalidText { return column.KeepInvalid }

func (w groupWriter) NewRowGroup(schema string, cols []column.Column, blockSize int) (format.RowGroup, error) {
	return newRowGroup(&w.o, schema, cols, blockSize)
}

// fileMemory is about the memory of a file besides its dictionary: index blocks.
const fileMemory = 2 << 10

// Memory returns the memory of a dictionary and two files for each column.
func (groupWriter) Memory(columns, blockSize int) int64 {
	return int64(columns) * (dictionaryBlocks*int64(dataBlockSize(blockSize)) + 2*fileMemory)
}

// dictionaryBlocks is how many times the size of data blocks a dictionary takes.
const dictionaryBlocks = 5

func (adapter) Open(files []format.File, o format.OpenOptions) (format.Part, error) {
	return openPart(files, o)
}
