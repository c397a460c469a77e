package trevni

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/format/column"
)

// BlockSize is the number of buffered bytes at which Java's writer and this package's
// writer close a block at the next row boundary.
const BlockSize = 64 << 10

// maxRows is the most rows of a block, because Java counts them in signed 32 bits.
const maxRows = 1 << 30

// maxRaw is the most bytes of an uncompressed block, for the same reason.
const maxRaw = 1<<31 - 1

// Options are the options of a file to write. The zero value is valid. A plan has them as a
// JSON document.
type Options struct {
	// Codec compresses the blocks: null, deflate, snappy, bzip2, or zstandard, which
	// Java cannot read. Empty means snappy.
	Codec string `json:"codec,omitempty"`
	// ColumnCodecs overrides Codec for the named columns.
	ColumnCodecs map[string]string `json:"column_codecs,omitempty"`
	// Checksum is the checksum of blocks: crc32, crc-32 or null. Empty means crc32, the only
	// checksum that Java reads and verifies.
	Checksum string `json:"checksum,omitempty"`
	// Meta is added to the file metadata, in this order. Keys that begin with trevni.
	// or rowtocol., and SchemaKey, are rejected.
	Meta []KeyValue `json:"meta,omitempty"`
	// Values lists the columns whose first value of each block is kept in the block
	// table, for Cursor.SeekValue. They must be top-level columns without lengths, and
	// neither null nor boolean: Java misreads an index of booleans.
	Values []string `json:"values,omitempty"`
}

// ParseOptions parses the document of options in a plan. It rejects unknown options, because
// a file that is written without them would not be as requested.
func ParseOptions(doc []byte) (Options, error) {
	var o Options
	if len(doc) == 0 {
		return o, nil
	}
	d := json.NewDecoder(bytes.NewReader(doc))
	//guard: rejects an option that it does not know
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		return o, fmt.Errorf("trevni: options: %w", err)
	}
	return o, nil
}

// codec returns the codec of a column.
func (o *Options) codec(name string) string {
	if c, ok := o.ColumnCodecs[name]; ok {
		return c
	}
	return o.fileCodec()
}

func (o *Options) fileCodec() string {
	if o.Codec == "" {
		return "snappy"
	}
	return o.Codec
}

func (o *Options) checksum() string {
	if o.Checksum == "" {
		return ChecksumJava
	}
	return o.Checksum
}

// Validate checks the options. Unless cols is nil, it also checks that they fit the columns.
// The error lists all faults.
func (o Options) Validate(cols []column.Column) error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("trevni: "+format, args...)) }
	if !knownCodec(o.fileCodec()) {
		bad("unknown codec %q, expected one of %s", o.Codec, strings.Join(codecNames, ", "))
	}
	if !knownChecksum(o.checksum()) {
		bad("unknown checksum %q, expected crc32, crc-32 or null", o.Checksum)
	}
	byName := make(map[string]*column.Column, len(cols))
	for i := range cols {
		//guard: refuses two columns with the same name
		if byName[cols[i].Name] != nil {
			bad("two columns are called %q", cols[i].Name)
		}
		byName[cols[i].Name] = &cols[i]
		//guard: refuses a parent that is not an array column before
		if p := cols[i].Parent; p >= i || p >= 0 && !cols[p].Array {
			bad("column %q has no array column before it as parent", cols[i].Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.ColumnCodecs)) {
		if c := o.ColumnCodecs[name]; !knownCodec(c) {
			bad("unknown codec %q for column %q, expected one of %s", c, name, strings.Join(codecNames, ", "))
		}
		if cols != nil && byName[name] == nil {
			bad("--codec %s=%s: %w", name, o.ColumnCodecs[name], missing(cols, name))
		}
	}
	seen := make(map[string]bool, len(o.Meta))
	for _, kv := range o.Meta {
		//guard: rejects metadata that belongs to the format
		if strings.HasPrefix(kv.Key, "trevni.") || strings.HasPrefix(kv.Key, "rowtocol.") || kv.Key == SchemaKey {
			bad("the metadata key %q is reserved", kv.Key)
		}
		if seen[kv.Key] {
			bad("the metadata key %q is given twice", kv.Key)
		}
		seen[kv.Key] = true
	}
	for _, name := range o.Values {
		if c := byName[name]; cols != nil && c == nil {
			bad("--values %s: %w", name, missing(cols, name))
		} else if cols != nil {
			if err := indexable(c); err != nil {
				bad("--values %s: %w", name, err)
			}
		}
	}
	return errors.Join(errs...)
}

// missing returns the error for a name that no column has.
func missing(cols []column.Column, name string) error {
	return column.NewNames("column", len(cols), func(i int) string { return cols[i].Name }).Missing(name)
}

// indexable returns an error if a column cannot have a values index.
func indexable(c *column.Column) error {
	switch {
	case c.Array || c.Parent >= 0:
		return errors.New("the column does not have exactly one value per row")
	case c.Type == column.Null || c.Type == column.Boolean:
		return fmt.Errorf("a column of type %s cannot have a values index", c.Type)
	}
	return nil
}
