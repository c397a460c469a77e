package cfile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rowtocol/rowtocol/format/column"
)

// partOptions are the options of parts to write. A plan has them as a JSON document. Columns are
// named by their full or their simple names: see column.Names.
type partOptions struct {
	// Compression is the compression of all files. Empty means no compression for bit-shuffled
	// values, which are compressed already, and Snappy for other values.
	Compression string `json:"compression,omitempty"`
	// Compressions overrides Compression for the files of the named columns.
	Compressions map[string]string `json:"column_compressions,omitempty"`
	// Encodings are the encodings of columns' values, or of the lengths if a column has no
	// values.
	Encodings map[string]string `json:"encodings,omitempty"`
	// Physical are columns whose type depends only on the type that Avro stores, not on the
	// meaning of the values.
	Physical []string `json:"physical,omitempty"`
	// SortedBy are columns whose values ascend.
	SortedBy []string `json:"sorted_by,omitempty"`
	// ManyFiles allows a part to have more than maxFiles files.
	ManyFiles bool `json:"many_files,omitempty"`
}

// maxFiles is the most CFiles of a part without ManyFiles.
const maxFiles = 1000

// The options' names on the command line.
const (
	optionCompression = "compression"
	optionEncoding    = "encoding"
	optionSortedBy    = "sorted-by"
	optionManyFiles   = "many-files"
)

// physical is an encoding only on the command line.
const physical = "physical"

var compressionChoices = map[string]Compression{"none": NoCompression, "snappy": Snappy, "lz4": LZ4, "zlib": Zlib}

var encodingChoices = map[string]Encoding{"plain": Plain, "rle": RLE, "dict": Dict, "prefix": Prefix, "bitshuffle": Bitshuffle}

// encodingsOf lists the encodings of a type by their names on the command line.
func encodingsOf(t Type) string {
	var names []string
	for _, name := range encodingNamesChosen() {
		if e := encodingChoices[name]; e != Auto && t.allows(e) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// parseChoices returns the options chosen on the command line.
func parseChoices(chosen map[string][]string) (o partOptions, err error) {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	all, values, err := column.CutValues("--"+optionCompression, chosen[optionCompression])
	for _, c := range all {
		o.Compression = c
	}
	o.Compressions, errs = values, append(errs, err)
	var encodings []string
	for _, c := range chosen[optionEncoding] {
		if path, ok := strings.CutSuffix(c, "="+physical); ok && path != "" {
			o.Physical = append(o.Physical, path)
		} else {
			encodings = append(encodings, c)
		}
	}
	all, values, err = column.CutValues("--"+optionEncoding, encodings)
	for _, c := range all {
		bad("--%s %q is not of the form PATH=ENCODING", optionEncoding, c)
	}
	o.Encodings, errs = values, append(errs, err)
	o.Physical, o.SortedBy = distinctSorted(o.Physical), distinctSorted(chosen[optionSortedBy])
	for _, c := range chosen[optionManyFiles] {
		if o.ManyFiles, err = strconv.ParseBool(c); err != nil {
			bad("--%s %q is neither true nor false", optionManyFiles, c)
		}
	}
	return o, errors.Join(append(errs, o.validate())...)
}

func distinctSorted(s []string) []string { return slices.Compact(slices.Sorted(slices.Values(s))) }

// parseOptions reads the document of options in a plan. It refuses unknown options, because files
// that are written without them would not be as requested.
func parseOptions(doc []byte) (o partOptions, err error) {
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
		return o, fmt.Errorf("cfile: options: %w", err)
	}
	return o, nil
}

// validate checks the options without the columns. The error names everything that is wrong.
func (o *partOptions) validate() error {
	var errs []error
	check := func(option, prefix, name string, ok bool, names []string) {
		if !ok {
			errs = append(errs, fmt.Errorf("--%s %s%q is not one of %s", option, prefix, name, strings.Join(names, ", ")))
		}
	}
	if o.Compression != "" {
		check(optionCompression, "", o.Compression, compressionChoices[o.Compression] != 0, compressionNamesChosen())
	}
	for _, path := range slices.Sorted(maps.Keys(o.Compressions)) {
		c := o.Compressions[path]
		check(optionCompression, path+"=", c, compressionChoices[c] != 0, compressionNamesChosen())
	}
	for _, path := range slices.Sorted(maps.Keys(o.Encodings)) {
		e := o.Encodings[path]
		check(optionEncoding, path+"=", e, encodingChoices[e] != 0, encodingNamesChosen())
	}
	return errors.Join(errs...)
}

// compressionNamesChosen returns the names of compressions on the command line.
func compressionNamesChosen() []string { return []string{"none", "snappy", "lz4", "zlib"} }

// encodingNamesChosen returns the names of encodings on the command line.
func encodingNamesChosen() []string {
	return []string{"plain", "rle", "dict", "prefix", "bitshuffle", physical}
}

// columnFiles are the options of a column's files; nil for a file that it does not have.
type columnFiles struct {
	lengths, values *Options
}

// files returns the options of all columns' files. Raw blocks end at blockSize bytes. The
// error names all options that do not fit the columns.
func (o *partOptions) files(cols []column.Column, blockSize int) ([]columnFiles, error) {
	r := &optionsResolver{o: o, cols: cols}
	r.find()
	all, n := make([]columnFiles, len(cols)), 0
	for i := range cols {
		all[i] = r.column(i, dataBlockSize(blockSize))
		for _, f := range []*Options{all[i].lengths, all[i].values} {
			if f != nil {
				n++
			}
		}
	}
	if n > maxFiles && !o.ManyFiles {
		r.bad("a part of these columns has %d files; --%s allows more than %d", n, optionManyFiles, maxFiles)
	}
	return all, errors.Join(r.errs...)
}

// minDataBlock is the least size of data blocks, even if raw blocks are smaller.
const minDataBlock = 4 << 10

// dataBlockSize returns the size of data blocks if raw blocks end at blockSize.
func dataBlockSize(blockSize int) int { return min(max(blockSize, minDataBlock), maxBlockSize) }

// optionsResolver applies options to columns.
type optionsResolver struct {
	o    *partOptions
	cols []column.Column
	errs []error

	compressions map[int]Compression
	encodings    map[int]Encoding
	physical     map[int]bool
	sorted       map[int]bool
}

func (r *optionsResolver) bad(format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("cfile: "+format, args...))
}

// find finds the columns that options name.
func (r *optionsResolver) find() {
	r.compressions, r.encodings = map[int]Compression{}, map[int]Encoding{}
	r.physical, r.sorted = map[int]bool{}, map[int]bool{}
	names := column.NewNames("column", len(r.cols), func(i int) string { return r.cols[i].Name })
	named := func(option, path, value string, use func(col int)) {
		col, err := names.Find(path)
		if err != nil {
			r.bad("--%s %s%s: %w", option, path, value, err)
			return
		}
		use(col)
	}
	r.errs = append(r.errs,
		names.FindAll("cfile: --"+optionCompression, r.o.Compressions, func(col int, name string) { r.compressions[col] = compressionChoices[name] }),
		names.FindAll("cfile: --"+optionEncoding, r.o.Encodings, func(col int, name string) { r.encodings[col] = encodingChoices[name] }))
	for _, path := range r.o.Physical {
		named(optionEncoding, path, "="+physical, func(col int) { r.physical[col] = true })
	}
	for _, path := range r.o.SortedBy {
		named(optionSortedBy, path, "", func(col int) { r.sorted[col] = true })
	}
}

// column returns the options of a column's files.
func (r *optionsResolver) column(col, blockSize int) (f columnFiles) {
	c := &r.cols[col]
	s := shapeOf(c)
	//guard: refuses a column whose parent is not an array column before it
	if p := c.Parent; p >= col || p >= 0 && !r.cols[p].Array {
		r.bad("column %q has no array column before it as parent", c.Name)
	}
	if s.lengths {
		f.lengths = r.file(col, Int32, !s.values, blockSize)
	}
	if s.values {
		t, ok := typeOf(c, r.physical[col])
		if !ok {
			r.bad("column %q is of the type %s, which no Avro schema has", c.Name, c.Type)
			return f
		}
		f.values = r.file(col, t, true, blockSize)
		f.values.Nullable = s.nullable
	}
	if _, ok := r.encodings[col]; ok && !s.values && !s.lengths || r.physical[col] && !s.values {
		r.bad("column %q can have no encoding: it has no values", c.Name)
	}
	if r.sorted[col] {
		if why := unsortable(c, f.values); why != "" {
			r.bad("--%s %s: %s", optionSortedBy, c.Name, why)
			return f
		}
		f.values.ValueIndex, f.values.KeyBounds = true, true
	}
	return f
}

// unsortable returns the reason why a column cannot be declared sorted, or "" if it can.
func unsortable(c *column.Column, values *Options) string {
	switch {
	case c.Array || c.Parent >= 0:
		return "the column does not have exactly one value per row"
	case values == nil || !values.Type.Keyed():
		return "a value index is not for columns of the type " + c.SchemaType()
	}
	return ""
}

// file returns the options of a column's file. chosen is set if the column's encoding is for
// this file.
func (r *optionsResolver) file(col int, t Type, chosen bool, blockSize int) *Options {
	o := &Options{Type: t, Encoding: Auto.resolve(t), BlockSize: blockSize, Positional: true, BlocksCRC: true}
	if e, ok := r.encodings[col]; ok && chosen {
		o.Encoding = e
		if !t.allows(e) {
			r.bad("--%s: values of column %q are of the type %s, which has the encodings %s", optionEncoding, r.cols[col].Name, t, encodingsOf(t))
		}
	}
	o.Compression = Snappy
	if o.Encoding == Bitshuffle {
		o.Compression = NoCompression // the encoding compresses
	}
	o.Compression = cmp.Or(r.compressions[col], compressionChoices[r.o.Compression], o.Compression)
	return o
}
