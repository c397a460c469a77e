package parquet

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
)

// Format is the format.Format of this package. Its parts are single files, of one row group if
// a Writer wrote them.
var Format format.MultiGroup = adapter{}

type adapter struct{}

func (adapter) Name() string   { return "parquet" }
func (adapter) Suffix() string { return ".parquet" }

func (adapter) Recognizes(head []byte) bool {
	return len(head) >= len(magic) && string(head[:len(magic)]) == magic
}

func (adapter) Choices() []format.Choice {
	return []format.Choice{
		{
			Name: optionCompression, Repeatable: true, Values: codecNames(),
			Usage: "`compression`, or PATH=compression for one column: snappy, zstd, gzip, lz4_raw, none; repeatable (default snappy)",
		},
		{
			Name: optionEncoding, Repeatable: true, Values: encodingNames(encodings),
			Usage: "`PATH=encoding` for one column: dictionary, plain, rle, delta_binary_packed, delta_length_byte_array, delta_byte_array, byte_stream_split; repeatable (default dictionary, or plain for booleans)",
		},
		{
			Name: optionPageVersion, Default: pageVersions[0], Values: pageVersions,
			Usage: "`version` of data pages: 1 or 2, which does not compress levels",
		},
		{
			Name: optionTimes, Values: timesNames, Default: timesExact.String(),
			Usage: "`types` of timestamps and times of day: exact, as in Avro; spark: timestamps in microseconds, and times of day as integers; iceberg: all but nanoseconds in microseconds",
		},
		{
			Name: optionInvalidUTF8, Values: invalidUTF8Names, Default: invalidUTF8Names[0],
			Usage: "`what` to do about strings that are not UTF-8: refuse them, or replace each run of invalid bytes by U+FFFD and count the strings",
		},
		{
			Name: optionSortedBy, Repeatable: true,
			Usage: "`fields`, joined by commas, by which rows ascend, which is checked; engines then know the order",
		},
		{
			Name: optionFilter, Repeatable: true,
			Usage: "write a Bloom filter for the column `path`; repeatable",
		},
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
	text := "compression " + o.compression()
	if n := len(o.Encodings); n > 0 {
		text += fmt.Sprintf(", encodings of columns: %d", n)
	}
	if o.PageVersion > 1 {
		text += fmt.Sprintf(", pages of version %d", o.PageVersion)
	}
	if t := o.times(); t != timesExact {
		text += ", times " + t.String()
	}
	if o.invalidText() == column.ReplaceInvalid {
		text += ", invalid UTF-8 replaced"
	}
	if len(o.SortedBy) > 0 {
		text += ", sorted by " + strings.Join(o.SortedBy, ", ")
	}
	if n := len(o.BloomFilters); n > 0 {
		text += fmt.Sprintf(", Bloom filters: %d", n)
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

// NewFile implements format.MultiGroup.
func (a adapter) NewFile(options json.RawMessage, memory column.Account) (format.FileWriter, error) {
	o, err := parseOptions(options)
	return &fileWriter{groupWriter: groupWriter{o}, memory: memory}, err
}

// groupWriter creates row groups with the same options.
type groupWriter struct{ o options }

func (groupWriter) Layout() column.Layout { return column.Levels }

// SortedBy implements format.SortedWriter.
func (w groupWriter) SortedBy() []string { return w.o.SortedBy }

func (w groupWriter) InvalidText() column.InvalidText { return w.o.invalidText() }

// Warnings names fields that readers mix up.
func (w groupWriter) Warnings(schema string) []string { return caseWarnings(schema, w.o.times()) }

func (w groupWriter) NewRowGroup(schema string, cols []column.Column, blockSize int) (format.RowGroup, error) {
	return newPart(&w.o, schema, cols, blockSize)
}

// Memory returns the memory of a dictionary for each column, and of the Bloom filters.
func (w groupWriter) Memory(columns, blockSize int) int64 {
	filters := len(w.o.BloomFilters)
	return int64(columns)*dictionaryFactor*int64(dictionaryLimit(columns, blockSize)) +
		int64(filters)*filterFactor*int64(filterLimit(filters, blockSize))
}

func (adapter) Open(files []format.File, o format.OpenOptions) (format.Part, error) {
	return openPart(files, o)
}
