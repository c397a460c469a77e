package hfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Options are the options of files of rows. A plan has them as a JSON document.
type Options struct {
	// Key has the paths of the fields that make the rows' keys; at least one.
	Key []string `json:"key"`
	// Family and Qualifier are in the keys of all cells. Files for Hudi have neither.
	Family    string `json:"family,omitempty"`
	Qualifier string `json:"qualifier,omitempty"`
	// Timestamp is in the keys of all cells, in milliseconds. Nil means LatestTimestamp.
	Timestamp *int64 `json:"timestamp,omitempty"`
	// BlockCodec is "none" or "gz". Empty means "none".
	BlockCodec string `json:"block_codec,omitempty"`
	// Bloom adds a Bloom filter of the keys in the form bloomHBase or bloomHudi. Empty means
	// none.
	Bloom string `json:"bloom,omitempty"`
}

// The values of Options.Bloom.
const (
	bloomHBase = "hbase"
	bloomHudi  = "hudi"
)

// parseChoices returns the Options chosen on the command line.
func parseChoices(chosen map[string][]string) (o Options, err error) {
	for _, k := range chosen["key"] {
		o.Key = strings.Split(k, ",")
	}
	for _, c := range chosen["column"] {
		family, qualifier, ok := strings.Cut(c, ":")
		//guard: rejects a column without a family
		if !ok || family == "" {
			return o, fmt.Errorf("--column %q is not of the form FAMILY:QUALIFIER", c)
		}
		o.Family, o.Qualifier = family, qualifier
	}
	for _, t := range chosen["timestamp"] {
		n, err := strconv.ParseInt(t, 10, 64)
		if err != nil {
			return o, fmt.Errorf("--timestamp %q is not a number of milliseconds", t)
		}
		o.Timestamp = &n
	}
	for _, c := range chosen["block-codec"] {
		o.BlockCodec = c
	}
	for _, b := range chosen["bloom"] {
		o.Bloom = b
	}
	return o, o.Validate()
}

// ParseOptions reads the document of options in a plan. It refuses unknown options, because files
// that are written without them would not be as requested.
func ParseOptions(doc []byte) (o Options, err error) {
	d := json.NewDecoder(bytes.NewReader(doc))
	//guard: rejects an option that it does not know
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		return o, fmt.Errorf("hfile: options: %w", err)
	}
	return o, nil
}

// Validate returns an error if the options are not valid.
func (o Options) Validate() error {
	//guard: rejects options without a key
	if len(o.Key) == 0 {
		return errors.New("--format hfile needs --key, the field that rows are sorted and found by")
	}
	for _, path := range o.Key {
		if path == "" {
			return fmt.Errorf("--key %q names an empty field", strings.Join(o.Key, ","))
		}
	}
	if len(o.Family) > MaxFamily {
		return fmt.Errorf("--column: a family of %d bytes exceeds the limit of %d", len(o.Family), MaxFamily)
	}
	if len(o.Qualifier) > maxQualifier {
		return fmt.Errorf("--column: a qualifier of %d bytes exceeds the limit of %d", len(o.Qualifier), maxQualifier)
	}
	if o.Timestamp != nil && *o.Timestamp < 0 {
		return fmt.Errorf("--timestamp %d is negative", *o.Timestamp)
	}
	if o.Bloom != "" && o.Bloom != bloomHBase && o.Bloom != bloomHudi {
		return fmt.Errorf("unknown form %q of a Bloom filter, expected %s or %s", o.Bloom, bloomHBase, bloomHudi)
	}
	if _, err := o.codec(); err != nil {
		return err
	}
	return nil
}

// maxQualifier keeps the keys of cells small compared to their blocks.
const maxQualifier = 4 << 10

func (o *Options) codecName() string {
	if o.BlockCodec == "" {
		return "none"
	}
	return o.BlockCodec
}

func (o *Options) codec() (Codec, error) {
	switch o.codecName() {
	case "none":
		return None, nil
	case "gz":
		return GZ, nil
	}
	return 0, fmt.Errorf("unknown block codec %q, expected none or gz", o.BlockCodec)
}

func (o *Options) timestamp() int64 {
	if o.Timestamp == nil {
		return LatestTimestamp
	}
	return *o.Timestamp
}
