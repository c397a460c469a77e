package trevni

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// Format is the format.Format of this package. Its parts are single files. The JSON form of
// Options configures writing.
var Format format.Format = adapter{}

type adapter struct{}

func (adapter) Name() string   { return "trevni" }
func (adapter) Suffix() string { return ".trv" }

func (adapter) Recognizes(head []byte) bool {
	return len(head) >= len(magic)+1 && string(head[:len(magic)]) == magic && head[len(magic)] <= Version
}

func (adapter) Choices() []format.Choice {
	return []format.Choice{
		{
			Name: "codec", Repeatable: true, Values: codecNames,
			Usage: "`codec`, or PATH=codec for one column: null, deflate, snappy, bzip2, zstandard; repeatable (default snappy)",
		},
		{
			Name: "checksum", Default: ChecksumJava, Values: []string{ChecksumJava, ChecksumSpec, ChecksumNull},
			Usage: "`checksum` of blocks: crc32, which Java reads; crc-32, as in the specification, which Java does not know; or null, for none",
		},
		{
			Name: "values", Repeatable: true,
			Usage: "`column` for which each block's first value is kept, so that readers can seek by value; repeatable",
		},
		{Name: "meta", Repeatable: true, Usage: "`KEY=VALUE` to add to the metadata of each file; repeatable"},
	}
}

func (adapter) Options(chosen map[string][]string) (json.RawMessage, error) {
	o := Options{Codec: "snappy", Checksum: ChecksumJava, Values: chosen["values"]}
	for _, c := range chosen["checksum"] {
		o.Checksum = c
	}
	all, values, err := column.CutValues("--codec", chosen["codec"])
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		o.Codec = c
	}
	o.ColumnCodecs = values
	for _, m := range chosen["meta"] {
		key, value, ok := strings.Cut(m, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("--meta %q is not of the form KEY=VALUE", m)
		}
		o.Meta = append(o.Meta, KeyValue{Key: key, Value: []byte(value)})
	}
	if err := o.Validate(nil); err != nil {
		return nil, err
	}
	return json.Marshal(o)
}

func (adapter) Describe(options json.RawMessage) string {
	o, err := ParseOptions(options)
	if err != nil {
		return "unknown options"
	}
	return fmt.Sprintf("codec %s, checksum %s", o.fileCodec(), o.checksum())
}

func (adapter) Writer(options json.RawMessage) (format.Writer, error) {
	o, err := ParseOptions(options)
	if err == nil {
		//guard: rejects options outside their range
		err = o.Validate(nil)
	}
	if err != nil {
		return nil, err
	}
	return NewGroupWriter(o), nil
}

// NewGroupWriter returns a writer of row groups from spilled blocks.
func NewGroupWriter(o Options) format.ColumnWriter { return groupWriter{o} }

// groupWriter makes row groups with the same options.
type groupWriter struct{ o Options }

func (groupWriter) Layout() column.Layout { return column.Interleaved }

func (groupWriter) InvalidText() column.InvalidText { return column.KeepInvalid }

func (w groupWriter) NewRowGroup(schema string, cols []column.Column, _ int) (format.RowGroup, error) {
	return newRowGroup(w.o, schema, cols)
}

// Memory returns 0: only the block tables grow, by a few bytes per block.
func (groupWriter) Memory(_, _ int) int64 { return 0 }

func (adapter) Open(files []format.File, o format.OpenOptions) (format.Part, error) {
	//guard: rejects a part of several files
	if len(files) != 1 {
		return nil, damage.New(damage.Unsupported, files[0].Name(), -1, "a part of %d files, expected one", len(files))
	}
	f := newFile(files[0])
	o = o.EnsureDefaults()
	f.MaxBlock, f.memory = o.MaxBlock, o.Memory
	return part{f}, f.readHeader()
}

// part adapts a file to format.Part.
type part struct{ *File }

func (p part) Version() int { return int(p.File.Version()) }
func (p part) Rows() int64  { return p.RowCount() }

func (p part) Verify(ctx context.Context, run format.Runner) error { return verify(ctx, p.File, run) }

func (p part) Metadata() []format.Metadata {
	all := make([]format.Metadata, len(p.Meta()))
	for i, kv := range p.Meta() {
		all[i] = format.Metadata{Key: kv.Key, Value: kv.Value, Binary: isCRC(kv.Key), Schema: kv.Key == SchemaKey}
	}
	return all
}

func (p part) Columns() []format.Column {
	all := make([]format.Column, len(p.File.Columns()))
	for i, c := range p.File.Columns() {
		all[i] = format.Column{Column: c.Column, Codec: c.Codec, Checksum: c.Checksum, Indexed: c.Values}
	}
	return all
}

// Blocks returns the blocks, with bounds if the column's values ascend. The first value of the
// next block is the upper bound of a block.
func (p part) Blocks(col int) ([]format.Block, error) {
	table, err := p.File.Blocks(col)
	if err != nil {
		return nil, err
	}
	blocks, ascending := make([]format.Block, len(table)), p.File.Columns()[col].Ascending
	for i := range table {
		d := &table[i]
		blocks[i] = format.Block{FirstRow: d.FirstRow, Rows: d.Rows, RawSize: d.RawSize, StoredSize: d.StoredSize}
		if !ascending {
			continue
		}
		if blocks[i].Min = d.First; i > 0 {
			blocks[i-1].Max = d.First
		}
	}
	return blocks, nil
}

func (p part) Cursor(col int) (format.Cursor, error) { return p.File.Cursor(col) }
