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
)

// options are the options of parts to write. A plan has them as a JSON document.
type options struct {
	// Compression is the codec of all columns. Empty means the first of codecs.
	Compression string `json:"compression,omitempty"`
	// Compressions overrides Compression for columns, which are named by their full or their
	// simple names: see simpleName.
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
	names := newLeafNames(leaves)
	for _, path := range slices.Sorted(maps.Keys(o.Compressions)) {
		i, err := names.find(path)
		if err != nil {
			errs = append(errs, fmt.Errorf("parquet: --%s %s=%s: %w", optionCompression, path, o.Compressions[path], err))
			continue
		}
		all[i], _ = codecNamed(o.Compressions[path])
	}
	return all, errors.Join(errs...)
}

// leafNames finds leaves by the names of their columns.
type leafNames struct {
	exact  map[string]int
	simple map[string][]string // names by their simple form
}

func newLeafNames(leaves []leaf) *leafNames {
	n := &leafNames{make(map[string]int, len(leaves)), make(map[string][]string, len(leaves))}
	for i := range leaves {
		name := leaves[i].Name
		n.exact[name] = i
		n.simple[simpleName(name)] = append(n.simple[simpleName(name)], name)
	}
	return n
}

// simpleName returns a column's name with dots, and without the branches of unions and the
// brackets of arrays: a.b for a[]#b/int.
func simpleName(name string) string {
	var s strings.Builder
	branch := false
	for i := range len(name) {
		switch c := name[i]; {
		case c == '#':
			s.WriteByte('.')
			branch = false
		case c == '/':
			branch = true
		case c == '[' || c == ']':
			branch = false
		case c == '>':
			s.WriteByte(c)
			branch = false
		case !branch:
			s.WriteByte(c)
		}
	}
	return s.String()
}

func (n *leafNames) find(path string) (int, error) {
	if i, ok := n.exact[path]; ok {
		return i, nil
	}
	switch names := n.simple[path]; len(names) {
	case 0:
		return 0, errors.New("there is no such column with values")
	case 1:
		return n.exact[names[0]], nil
	default:
		return 0, fmt.Errorf("it is one of the columns %s", strings.Join(names, ", "))
	}
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
