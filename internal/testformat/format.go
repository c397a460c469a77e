package testformat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/format"
)

// Format is the format.Format of this package.
var Format format.Format = split{}

const (
	magic     = "SPLIT"
	version   = 1
	indexName = "index"
)

// columnName is the name of a column's file.
func columnName(col int) string { return fmt.Sprintf("%05d.col", col) }

type split struct{}

func (split) Name() string   { return "split" }
func (split) Suffix() string { return ".split" }

// Recognizes knows the index alone; column files begin with anything.
func (split) Recognizes(head []byte) bool {
	return bytes.HasPrefix(head, append([]byte(magic), version))
}

var codecs = []string{"null", "snappy"}

// options are the document of Options.
type options struct {
	Codec  string `json:"codec"`
	Marker string `json:"marker,omitempty"`
}

func (o *options) check() error {
	if !slices.Contains(codecs, o.Codec) {
		return fmt.Errorf("codec %q is not one of %s", o.Codec, strings.Join(codecs, ", "))
	}
	return nil
}

func (split) Choices() []format.Choice {
	return []format.Choice{
		{Name: "codec", Default: "snappy", Values: codecs, Usage: "`codec` of all columns: null or snappy"},
		{Name: "marker", Usage: "`text` to keep in each part"},
	}
}

func (split) Options(chosen map[string][]string) (json.RawMessage, error) {
	o := options{Codec: "snappy"}
	for _, c := range chosen["codec"] {
		o.Codec = c
	}
	for _, m := range chosen["marker"] {
		o.Marker = m
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	return json.Marshal(o)
}

func parse(document json.RawMessage) (o options, err error) {
	d := json.NewDecoder(bytes.NewReader(document))
	//guard: options of a newer program would be left out
	d.DisallowUnknownFields()
	if err = d.Decode(&o); err == nil {
		err = o.check()
	}
	return o, err
}

func (split) Describe(document json.RawMessage) string {
	o, err := parse(document)
	if err != nil {
		return "unknown options"
	}
	return "codec " + o.Codec
}

func (split) Writer(document json.RawMessage) (format.Writer, error) {
	o, err := parse(document)
	if err != nil {
		return nil, err
	}
	return writer{o}, nil
}
