package parquet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/format/column"
)

// options are the options of parts to write. A plan has them as a JSON document. Columns are named
// by their full or their simple names: see column.Names.
type options struct {
	// Compression is the codec of all columns. Empty means the first of codecs.
	Compression string `json:"compression,omitempty"`
	// Compressions overrides Compression for columns.
	Compressions map[string]string `json:"column_compressions,omitempty"`
	// Encodings are the encodings of columns' values. The default is a dictionary, or plain
	// values for a type without dictionaries.
	Encodings map[string]string `json:"encodings,omitempty"`
	// PageVersion is the version of data pages. 0 means the first of pageVersions.
	PageVersion int `json:"page_version,omitempty"`
	// Times is the name of times. Empty means the first.
	Times string `json:"times,omitempty"`
	// InvalidUTF8 is one of invalidUTF8Names. Empty means the first.
	InvalidUTF8 string `json:"invalid_utf8,omitempty"`
	// SortedBy are the paths of the fields by which rows ascend.
	SortedBy []string `json:"sorted_by,omitempty"`
	// BloomFilters are the columns with Bloom filters, ascending.
	BloomFilters []string `json:"bloom_filters,omitempty"`
}

// The options' names on the command line.
const (
	optionCompression = "compression"
	optionEncoding    = "encoding"
	optionPageVersion = "page-version"
	optionTimes       = "times"
	optionInvalidUTF8 = "invalid-utf8"
	optionSortedBy    = "sorted-by"
	optionFilter      = "bloom-filter"
)

// pageVersions are the versions of data pages that can be written, the default first.
var pageVersions = []string{"1", "2"}

// invalidUTF8Names are what can become of strings that are not UTF-8.
var invalidUTF8Names = []string{"refuse", "replace"}

// parseChoices returns the options chosen on the command line.
func parseChoices(chosen map[string][]string) (o options, err error) {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	all, values, err := column.CutValues("--"+optionCompression, chosen[optionCompression])
	for _, c := range all {
		o.Compression = c
	}
	o.Compressions, errs = values, append(errs, err)
	all, values, err = column.CutValues("--"+optionEncoding, chosen[optionEncoding])
	for _, c := range all {
		bad("--%s %q is not of the form PATH=ENCODING", optionEncoding, c)
	}
	o.Encodings, errs = values, append(errs, err)
	for _, v := range chosen[optionPageVersion] {
		if !slices.Contains(pageVersions, v) {
			bad("--%s %q is not one of %s", optionPageVersion, v, strings.Join(pageVersions, ", "))
		} else if v != pageVersions[0] {
			o.PageVersion, _ = strconv.Atoi(v)
		}
	}
	for _, name := range chosen[optionTimes] {
		o.Times = name
	}
	for _, name := range chosen[optionInvalidUTF8] {
		o.InvalidUTF8 = name
	}
	for i, paths := range chosen[optionSortedBy] {
		if i > 0 {
			errs = append(errs, fmt.Errorf("--%s is given twice: rows have one order; join its fields with commas", optionSortedBy))
		}
		o.SortedBy = strings.Split(paths, ",")
	}
	o.BloomFilters = slices.Compact(slices.Sorted(slices.Values(chosen[optionFilter])))
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
	check := func(option, prefix, name string, names []string) {
		if !slices.Contains(names, name) {
			errs = append(errs, fmt.Errorf("--%s %s%q is not one of %s", option, prefix, name, strings.Join(names, ", ")))
		}
	}
	if o.Compression != "" {
		check(optionCompression, "", o.Compression, codecNames())
	}
	for _, path := range slices.Sorted(maps.Keys(o.Compressions)) {
		check(optionCompression, path+"=", o.Compressions[path], codecNames())
	}
	for _, path := range slices.Sorted(maps.Keys(o.Encodings)) {
		check(optionEncoding, path+"=", o.Encodings[path], encodingNames(encodings))
	}
	if o.PageVersion != 0 {
		check(optionPageVersion, "", strconv.Itoa(o.PageVersion), pageVersions)
	}
	if o.Times != "" {
		check(optionTimes, "", o.Times, timesNames)
	}
	if o.InvalidUTF8 != "" {
		check(optionInvalidUTF8, "", o.InvalidUTF8, invalidUTF8Names)
	}
	return errors.Join(errs...)
}

// invalidText returns what becomes of strings that are not UTF-8.
func (o *options) invalidText() column.InvalidText {
	if o.InvalidUTF8 == invalidUTF8Names[1] {
		return column.ReplaceInvalid
	}
	return column.RefuseInvalid
}

// times returns how to store times.
func (o *options) times() times {
	t, _ := timesNamed(o.Times) // validate checked the name
	return t
}

// compression returns the name of the codec of columns that no option names.
func (o *options) compression() string {
	if o.Compression == "" {
		return codecs[0].name
	}
	return o.Compression
}

// leafOptions are the options of a leaf.
type leafOptions struct {
	codec pq.CompressionCodec
	// encoding is that of the values; RLEDictionary if they have a dictionary until it ends.
	encoding    pq.Encoding
	pageVersion int
	filtered    bool // the leaf has a Bloom filter
}

// leaves returns the options of all leaves. The error names all options that do not fit the
// columns.
func (o *options) leaves(leaves []leaf) ([]leafOptions, error) {
	codec, _ := codecNamed(o.compression()) // validate checked the names
	all := make([]leafOptions, len(leaves))
	for i := range all {
		all[i] = leafOptions{codec: codec, encoding: kindOf(&leaves[i]).encodings()[0], pageVersion: max(o.PageVersion, 1)}
	}
	if len(o.Compressions)+len(o.Encodings)+len(o.BloomFilters) == 0 {
		return all, nil
	}
	names := column.NewNames("column with values", len(leaves), func(i int) string { return leaves[i].Name })
	errs := []error{names.FindAll("parquet: --"+optionCompression, o.Compressions, func(i int, name string) {
		all[i].codec, _ = codecNamed(name)
	})}
	err := names.FindAll("parquet: --"+optionEncoding, o.Encodings, func(i int, name string) {
		l, fit := &leaves[i], kindOf(&leaves[i]).encodings()
		all[i].encoding = encodingNamed(name)
		if !slices.Contains(fit, all[i].encoding) {
			errs = append(errs, fmt.Errorf("parquet: --%s: values of column %q are of the type %s, which has the encodings %s",
				optionEncoding, l.Name, l.physical, strings.Join(encodingNames(fit), ", ")))
		}
	})
	errs = append(errs, err)
	for _, path := range o.BloomFilters {
		i, err := names.Find(path)
		if err == nil {
			all[i].filtered, err = true, filterable(&leaves[i])
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("parquet: --%s %s: %w", optionFilter, path, err))
		}
	}
	return all, errors.Join(errs...)
}

// sorting returns the columns by which rows ascend. The error names the field that cannot be one.
func (o *options) sorting(leaves []leaf) ([]pq.SortingColumn, error) {
	columns := make([]pq.SortingColumn, len(o.SortedBy))
	for i, path := range o.SortedBy {
		at := slices.IndexFunc(leaves, func(l leaf) bool { return l.rep == 0 && strings.Join(l.path, ".") == path })
		if at < 0 {
			return nil, fmt.Errorf("parquet: --%s %s: there is no such field outside of arrays, maps and unions", optionSortedBy, path)
		}
		if why := leaves[at].unsortable(); why != "" {
			return nil, fmt.Errorf("parquet: --%s %s: %s", optionSortedBy, path, why)
		}
		columns[i] = pq.SortingColumn{ColumnIdx: int32(at), NullsFirst: true}
	}
	return columns, nil
}

// unsortable returns the reason why rows cannot be sorted by a leaf, or "" if they can.
func (l *leaf) unsortable() string {
	switch {
	case l.Type == column.Float || l.Type == column.Double:
		return "readers order floating-point numbers in different ways"
	case l.Logical == column.LogicalDecimal && !isDecimal(l.Column):
		return "Parquet does not order decimals of more than 38 digits as numbers"
	}
	return ""
}

// filterable returns an error if a column cannot have a Bloom filter.
func filterable(l *leaf) error {
	reason := ""
	switch k := kindOf(l); {
	case k == floats || k == doubles:
		reason = "0.0 and -0.0 are equal, but a Bloom filter has their bytes, which differ"
	case isDecimal(l.Column) && k == texts:
		reason = "equal decimals can have different bytes"
	case k == booleans:
		reason = "it has only two values"
	case k == presences || k == nulls:
		reason = "it has only one value"
	default:
		return nil
	}
	return fmt.Errorf("column %q cannot have a Bloom filter: %s", l.Name, reason)
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
