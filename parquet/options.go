package parquet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/format/column"
)

// options are the options of parts to write. A plan has them as a JSON document.
type options struct {
	// Compression is the codec of all columns. Empty means the first of codecs.
	Compression string `json:"compression,omitempty"`
	// Compressions overrides Compression for columns, which are named by their full or their
	// simple names: see column.Names.
	Compressions map[string]string `json:"column_compressions,omitempty"`
}

// optionCompression is the option's name on the command line.
const optionCompression = "compression"

// parseChoices returns the options chosen on the command line.
func parseChoices(chosen map[string][]string) (o options, err error) {
	var errs []error
	for _, c := range chosen[optionCompression] {
		i := strings.LastIndexByte(c, '=') // columns may have one in their names
		switch {
		case i < 0:
			o.Compression = c
			continue
		case i == 0:
			errs = append(errs, fmt.Errorf("--%s %q: the column before = is missing", optionCompression, c))
			continue
		case o.Compressions == nil:
			o.Compressions = make(map[string]string)
		}
		o.Compressions[c[:i]] = c[i+1:]
	}
	return o, errors.Join(append(errs, o.validate())...)
}

// parseOptions reads the document of options in a plan. It refuses unknown options, because
// files that are written without them would not be as requested.
func parseOptions(doc []byte) (o options, err error) {
	if len(doc) == 0 {
		return o, nil
	}
	d := json.NewDecoder(bytes.NewReader(doc))
	//guard: rejects an option that it does not know
	d.DisallowUnknownFields()
	if err = d.Decode(&o); err == nil {
		//guard: rejects options outside their range
		err = o.validate()
	}
	if err != nil {
		return o, fmt.Errorf("parquet: options: %w", err)
	}
	return o, nil
}

// validate checks the options without the columns. The error names everything that is wrong.
func (o *options) validate() error {
	var errs []error
	check := func(prefix, name string) {
		if _, ok := codecNamed(name); !ok {
			errs = append(errs, fmt.Errorf("--%s %s%q is not one of %s", optionCompression, prefix, name, strings.Join(codecNames(), ", ")))
		}
	}
	if o.Compression != "" {
		check("", o.Compression)
	}
	for _, path := range slices.Sorted(maps.Keys(o.Compressions)) {
		check(path+"=", o.Compressions[path])
	}
	return errors.Join(errs...)
}

// compression returns the name of the codec of columns that no option names.
func (o *options) compression() string {
	if o.Compression == "" {
		return codecs[0].name
	}
	return o.Compression
}

// codecs returns the codec of each leaf. The error names all options that do not fit the
// columns.
func (o *options) codecs(leaves []leaf) ([]format.CompressionCodec, error) {
	all := make([]format.CompressionCodec, len(leaves))
	for i := range all {
		all[i], _ = codecNamed(o.compression()) // validate checked the names
	}
	if len(o.Compressions) == 0 {
		return all, nil
	}
	var errs []error
	names := column.NewNames("column with values", len(leaves), func(i int) string { return leaves[i].Name })
	for _, path := range slices.Sorted(maps.Keys(o.Compressions)) {
		i, err := names.Find(path)
		if err != nil {
			errs = append(errs, fmt.Errorf("parquet: --%s %s=%s: %w", optionCompression, path, o.Compressions[path], err))
			continue
		}
		all[i], _ = codecNamed(o.Compressions[path])
	}
	return all, errors.Join(errs...)
}

// dictionaryBudget is the memory that all dictionaries of a row group may take, about.
const dictionaryBudget = 64 << 20

// dictionaryFactor is the most memory of a dictionary, divided by its limit.
const dictionaryFactor = 4

// maxDictionary is the highest limit of a dictionary, in bytes.
const maxDictionary = 1 << 20

// dictionaryLimit returns the limit of each column's dictionary. It is less for many columns,
// and for blocks that are small because memory is short.
func dictionaryLimit(columns, blockSize int) int {
	limit := dictionaryBudget / dictionaryFactor / max(columns, 1)
	return min(limit, 16*blockSize, maxDictionary)
}
