package hfile

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rowtocol/rowtocol/format"
)

// Format is the format.Format of this package: parts are single files of whole rows, sorted
// by a key. The JSON form of Options configures writing.
var Format format.Format = adapter{}

type adapter struct{}

func (adapter) Name() string   { return "hfile" }
func (adapter) Suffix() string { return ".hfile" }

// KeepsRows implements format.RowFormat.
func (adapter) KeepsRows() {}

// Recognizes reports whether head begins with a block that a file can begin with. It accepts data,
// and encoded data, which Open refuses with a clear error. A file without cells begins with a meta
// block or the index's root.
func (adapter) Recognizes(head []byte) bool {
	if len(head) < magicSize {
		return false
	}
	switch string(head[:magicSize]) {
	case magicData, magicEncodedData, magicMeta, magicRoot:
		return true
	}
	return false
}

func (adapter) Choices() []format.Choice {
	return []format.Choice{
		{Name: "key", Usage: "`fields` by which rows are sorted and found: paths, separated by commas"},
		{Name: "column", Usage: "`FAMILY:QUALIFIER` of all cells, for HBase (default none, as in Hudi's files)"},
		{Name: "timestamp", Usage: "timestamp of all cells, in `milliseconds` (default the latest possible, as in Hudi's files; HBase then hides all later puts)"},
		{Name: "block-codec", Default: "none", Values: []string{"none", "gz"}, Usage: "`codec` of blocks: none or gz"},
		{Name: "bloom", Values: []string{bloomHBase, bloomHudi}, Usage: "add a Bloom filter of the keys, in the `form` that HBase or Hudi reads: hbase or hudi (default no filter)"},
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
	o, err := ParseOptions(options)
	if err != nil {
		return "unknown options"
	}
	return fmt.Sprintf("key %s, codec %s", strings.Join(o.Key, ","), o.codecName())
}

func (adapter) Writer(options json.RawMessage) (format.Writer, error) {
	o, err := ParseOptions(options)
	if err == nil {
		//guard: rejects options outside their range
		err = o.Validate()
	}
	if err != nil {
		return nil, err
	}
	return rowWriter{o}, nil
}
