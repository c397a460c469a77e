package cfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strconv"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// documentName is the file of a part that describes the others.
const documentName = "columns.json"

const (
	documentVersion = 1
	// maxDocument is the most bytes of a document that are read.
	maxDocument = 256 << 20
	// maxItems is the largest number of items of a column. Each item is a row of its file, and a
	// CFile has no more rows.
	maxItems = math.MaxUint32
	// maxBytes is more than the raw or stored bytes of any column. The sum of all
	// columns fits an int64.
	maxBytes = 1 << 45
)

// document describes the files and rows of a part, in columns.json.
type document struct {
	Rows    int64
	Schema  string // the rows' Avro schema as JSON, empty if there is none
	Columns []documentColumn
}

// documentColumn is a column and its files.
type documentColumn struct {
	column.Column
	Lengths *documentFile // nil if there is none
	Values  *documentFile // nil for a column of type null
	Blocks  []documentBlock
}

// documentFile is a CFile of a column.
type documentFile struct {
	Name        string
	Type        Type
	Encoding    Encoding
	Compression Compression
	Nullable    bool
	Sorted      bool   // the file has a value index
	BlocksCRC   uint32 // the value of BlocksCRCKey in the file's footer
}

// documentBlock describes a raw block: rows of a column that were encoded together. In each
// file of the column, a raw block is one or more whole data blocks.
type documentBlock struct {
	Rows  int64 // number of rows of the part
	Units int64 // number of lengths; in a column without lengths, of values and nulls
	Items int64 // number of values that are not null; in a column of type null, sum of the lengths
	// Raw is the size of lengths and values when they are decoded: 4 bytes for each length;
	// for each value its fixed width or, without a fixed width, 4 bytes and the value's bytes.
	Raw    int64
	Stored int64 // bytes of all data blocks
}

// append appends the block as JSON: an array of its fields.
func (b *documentBlock) append(dst []byte) []byte {
	dst = append(dst, '[')
	for i, n := range [...]int64{b.Rows, b.Units, b.Items, b.Raw, b.Stored} {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, n, 10)
	}
	return append(dst, ']')
}

// maxDocumentBlock is the most bytes that a block takes in a document, with a comma.
const maxDocumentBlock = 3*10 + 2*20 + 7

// UnmarshalJSON is the inverse of append.
func (b *documentBlock) UnmarshalJSON(text []byte) error {
	var n []int64
	if err := json.Unmarshal(text, &n); err != nil {
		return err
	}
	//guard: rejects a negative number of rows or bytes
	if len(n) != 5 || slices.Min(n) < 0 {
		return fmt.Errorf("a block of %d, expected 5 numbers that are not negative", n)
	}
	*b = documentBlock{Rows: n[0], Units: n[1], Items: n[2], Raw: n[3], Stored: n[4]}
	return nil
}

// documentLine is a line of the document's text, which describes a file. The line of a
// column of type null without lengths has no file. If a column has two lines, the last one
// holds the column's own fields.
type documentLine struct {
	Path        string          `json:"path"`
	File        string          `json:"file,omitempty"`
	Holds       string          `json:"holds"`
	Type        string          `json:"type,omitempty"`
	Encoding    string          `json:"encoding,omitempty"`
	Compression string          `json:"compression,omitempty"`
	Nullable    bool            `json:"nullable,omitempty"`
	Sorted      bool            `json:"sorted,omitempty"`
	BlocksCRC   string          `json:"crc32c,omitempty"` // CRC-32C of the checksums of the file's blocks
	Parent      string          `json:"parent"`           // path of the array that the values are items of
	Avro        *documentType   `json:"avro,omitempty"`
	Blocks      []documentBlock `json:"blocks,omitempty"`
}

// documentType is the type of a column in the Avro schema.
type documentType struct {
	Type      string   `json:"type"`
	Array     bool     `json:"array,omitempty"`
	Optional  bool     `json:"optional,omitempty"`
	Nullable  bool     `json:"nullable,omitempty"`
	Logical   string   `json:"logical,omitempty"`
	Precision int      `json:"precision,omitempty"`
	Scale     int      `json:"scale,omitempty"`
	Size      int      `json:"size,omitempty"`
	Symbols   []string `json:"symbols,omitzero"`
}

// documentEnd is the end of a document. The checksum covers the whole document, with these
// zeros in its place.
const (
	documentEnd = "],\n\"crc32c\":\"" + sumZeros + sumEnd
	sumZeros    = "00000000"
	sumEnd      = "\"}\n"
)

// documentSum returns the checksum of a document, and where it is.
func documentSum(text []byte) (sum uint32, at int) {
	at = len(text) - len(sumZeros) - len(sumEnd)
	sum = crc32.Update(checksum(text[:at]), castagnoli, []byte(sumZeros))
	return crc32.Update(sum, castagnoli, text[at+len(sumZeros):]), at
}

// append appends the text of the document: a line for each file.
func (d *document) append(dst []byte) ([]byte, error) {
	from := len(dst)
	dst = fmt.Appendf(dst, `{"format":"cfile","version":%d,"rows":%d,`, documentVersion, d.Rows)
	if d.Schema != "" {
		dst = append(append(append(dst, `"schema":`...), d.Schema...), ',')
	}
	dst = append(dst, `"columns":[`...)
	for i := range d.Columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = d.appendColumn(dst, i); err != nil {
			return dst, err
		}
	}
	dst = append(dst, documentEnd...)
	sum, at := documentSum(dst[from:])
	copy(dst[from+at:], fmt.Sprintf("%08x", sum))
	return dst, nil
}

// appendColumn appends the lines of a column.
func (d *document) appendColumn(dst []byte, col int) ([]byte, error) {
	c := &d.Columns[col]
	lines := c.lines()
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	for i := range lines {
		if c.Parent >= 0 {
			lines[i].Parent = d.Columns[c.Parent].Name
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		line.Reset()
		if err := encoder.Encode(&lines[i]); err != nil {
			return dst, fmt.Errorf("cfile: column %q: %w", c.Name, err)
		}
		dst = append(append(dst, '\n'), line.Bytes()[:line.Len()-len("}\n")]...)
		if i == len(lines)-1 && len(c.Blocks) > 0 {
			dst = append(dst, `,"blocks":[`...)
			for j := range c.Blocks {
				if j > 0 {
					dst = append(dst, ',')
				}
				dst = c.Blocks[j].append(dst)
			}
			dst = append(dst, ']')
		}
		dst = append(dst, '}')
	}
	return dst, nil
}

// lines returns the lines of a column. It leaves their blocks and parent empty.
func (c *documentColumn) lines() []documentLine {
	lines := make([]documentLine, 0, 2)
	add := func(f *documentFile, holds string) {
		lines = append(lines, documentLine{Path: c.Name, Holds: holds})
		if l := &lines[len(lines)-1]; f != nil {
			l.File, l.Type, l.Encoding, l.Compression = f.Name, f.Type.String(), f.Encoding.String(), f.Compression.String()
			l.Nullable, l.Sorted, l.BlocksCRC = f.Nullable, f.Sorted, fmt.Sprintf("%08x", f.BlocksCRC)
		}
	}
	s := shapeOf(&c.Column)
	if s.lengths {
		add(c.Lengths, holdsLengths)
	}
	if holds := s.holds(&c.Column); holds != holdsLengths {
		add(c.Values, holds)
	}
	lines[len(lines)-1].Avro = &documentType{
		Type: c.Type.String(), Array: c.Array, Optional: c.Optional, Nullable: c.Nullable, Logical: c.Logical.String(),
		Precision: c.Precision, Scale: c.Scale, Size: c.FixedSize, Symbols: c.Symbols,
	}
	return lines
}

// documentReader checks a document while it reads it.
type documentReader struct {
	file string
	d    *document
	at   map[string]int // indexes of the columns by name
}

func (r *documentReader) fail(kind damage.Kind, reason string, args ...any) error {
	return damage.New(kind, r.file, -1, reason, args...)
}

// parseDocument parses the text of the named file, and checks that it is consistent. It
// does not check that the files match. Errors are *damage.Error.
func parseDocument(text []byte, file string) (*document, error) {
	r := &documentReader{file: file, d: new(document), at: map[string]int{}}
	//guard: rejects a changed document
	if err := r.checkSum(text); err != nil {
		return nil, err
	}
	var doc struct {
		Format  string          `json:"format"`
		Version int             `json:"version"`
		Rows    int64           `json:"rows"`
		Schema  json.RawMessage `json:"schema"`
		Columns []documentLine  `json:"columns"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, r.fail(damage.Header, "not a document of a part: %v", err)
	}
	switch {
	case doc.Format != "cfile":
		return nil, r.fail(damage.Magic, "a document of the format %.40q", doc.Format)
	case doc.Version != documentVersion:
		return nil, r.fail(damage.Unsupported, "version %d of the document", doc.Version)
	//guard: rejects a negative number of rows
	case doc.Rows < 0:
		return nil, r.fail(damage.Count, "%d rows", doc.Rows)
	}
	r.d.Rows, r.d.Schema = doc.Rows, string(doc.Schema)
	for lines := doc.Columns; len(lines) > 0; {
		n, err := r.column(lines)
		if err != nil {
			return nil, err
		}
		lines = lines[n:]
	}
	return r.d, nil
}

// checkSum compares the checksum in the document's last line with the checksum of the text.
func (r *documentReader) checkSum(text []byte) error {
	//guard: rejects a text shorter than its checksum
	if len(text) < len(documentEnd) || text[0] != '{' {
		return r.fail(damage.Magic, "%d bytes are not a document of a part", len(text))
	}
	sum, at := documentSum(text)
	stored := string(text[at : at+len(sumZeros)])
	if own := fmt.Sprintf("%08x", sum); own != stored {
		return damage.New(damage.Checksum, r.file, int64(at), "the document records the CRC-32C %q, its own is %s", stored, own)
	}
	return nil
}

// column reads the next column, and returns how many lines it has.
func (r *documentReader) column(lines []documentLine) (n int, err error) {
	if lines[0].Holds == holdsLengths && lines[0].Avro == nil {
		n = 1
	}
	//guard: rejects a document in which a column's line is missing
	if n == len(lines) || lines[n].Avro == nil || lines[n].Path != lines[0].Path || lines[n].Parent != lines[0].Parent {
		return 0, r.fail(damage.Header, "the column %.100q is not complete", lines[0].Path)
	}
	last := &lines[n]
	c := documentColumn{Blocks: last.Blocks}
	if c.Column, err = r.describe(last); err != nil {
		return 0, err
	}
	s := shapeOf(&c.Column)
	//guard: rejects a file that holds what the type does not allow
	if last.Holds != s.holds(&c.Column) || n == 1 != (s.lengths && s.values) {
		return 0, r.fail(damage.Header, "the files of the column %.100q do not hold what its type requires", c.Name)
	}
	if s.lengths {
		c.Lengths, err = r.lineFile(&lines[0], Int32, Int32, true, false)
	}
	if s.values && err == nil {
		logical, _ := typeOf(&c.Column, false)
		physical, _ := typeOf(&c.Column, true)
		c.Values, err = r.lineFile(last, logical, physical, false, s.nullable)
	}
	if err == nil {
		err = r.count(&c)
	}
	r.at[c.Name] = len(r.d.Columns)
	r.d.Columns = append(r.d.Columns, c)
	return n + 1, err
}

// describe returns the column that a line describes.
func (r *documentReader) describe(l *documentLine) (c column.Column, err error) {
	t := l.Avro
	c = column.Column{
		Name: l.Path, Array: t.Array, Optional: t.Optional, Nullable: t.Nullable, Parent: -1,
		Precision: t.Precision, Scale: t.Scale, FixedSize: t.Size, Symbols: t.Symbols,
	}
	var ok bool
	//guard: rejects an unknown type
	if c.Type, ok = column.ParseType(t.Type); !ok {
		return c, r.fail(damage.Header, "the column %.100q is of the type %.40q", l.Path, t.Type)
	}
	if _, ok = typeOf(&c, true); !ok && c.Type != column.Null {
		return c, r.fail(damage.Header, "the column %.100q is of the type %s, which Avro does not have", l.Path, t.Type)
	}
	if c.Logical, ok = column.ParseLogical(t.Logical); !ok {
		return c, r.fail(damage.Header, "the column %.100q is of the logical type %.40q", l.Path, t.Logical)
	}
	if _, exists := r.at[l.Path]; exists {
		return c, r.fail(damage.Header, "two columns are called %.100q", l.Path)
	}
	if l.Parent != "" {
		//guard: rejects a column whose parent is not an array column before it
		if c.Parent, ok = r.at[l.Parent]; !ok || !r.d.Columns[c.Parent].Array {
			return c, r.fail(damage.Header, "the column %.100q has no array %.100q before it as parent", l.Path, l.Parent)
		}
	}
	return c, nil
}

// lineFile returns the file of a line, and checks the line. The file's type must be one of the
// arguments logical and physical.
func (r *documentReader) lineFile(l *documentLine, logical, physical Type, lengths, nullable bool) (*documentFile, error) {
	crc, err := strconv.ParseUint(l.BlocksCRC, 16, 32)
	//guard: rejects a file without a checksum of its blocks
	if err != nil || len(l.BlocksCRC) != len(sumZeros) {
		return nil, r.fail(damage.Header, "the file %.40q of the column %.100q has the checksum %.40q", l.File, l.Path, l.BlocksCRC)
	}
	f := &documentFile{Name: l.File, Nullable: l.Nullable, Sorted: l.Sorted, BlocksCRC: uint32(crc)}
	var ok [3]bool
	f.Type, ok[0] = ParseType(l.Type)
	f.Encoding, ok[1] = ParseEncoding(l.Encoding)
	f.Compression, ok[2] = ParseCompression(l.Compression)
	//guard: rejects values of another type than the column's
	if slices.Contains(ok[:], false) || f.Type != logical && f.Type != physical || f.Nullable != nullable {
		return nil, r.fail(damage.Header, "the file %.40q of the column %.100q is of type %.40q, nullable %v, encoding %.40q, compression %.40q",
			l.File, l.Path, l.Type, l.Nullable, l.Encoding, l.Compression)
	}
	//guard: rejects a file of another column, or outside the part
	if want := fileName(len(r.d.Columns), lengths); l.File != want {
		return nil, r.fail(damage.Header, "the column %.100q is recorded in %.40q, expected %s", l.Path, l.File, want)
	}
	return f, nil
}

// count checks that the blocks of a column agree with each other and with the parent's blocks.
func (r *documentReader) count(c *documentColumn) error {
	s := shapeOf(&c.Column)
	var rows, units, items, raw, stored int64
	for i := range c.Blocks {
		b := &c.Blocks[i]
		noFiles := !s.lengths && !s.values
		switch {
		//guard: rejects a block in which rows and values do not fit together
		case b.Rows == 0, noFiles && b.Units+b.Items != 0,
			!noFiles && c.Parent < 0 && b.Units != b.Rows,
			!noFiles && !c.Array && b.Items != b.Units,
			s.nullable && b.Items > b.Units,
			b.Rows > r.d.Rows-rows, b.Units > maxItems-units, b.Items > maxItems-items:
			return r.fail(damage.Count, "block %d of the column %.100q has %d rows, %d units and %d items", i, c.Name, b.Rows, b.Units, b.Items)
		//guard: rejects sizes whose sum would overflow
		case b.Raw > maxBytes-raw, b.Stored > maxBytes-stored:
			return r.fail(damage.Size, "block %d of the column %.100q is of %d bytes, stored in %d", i, c.Name, b.Raw, b.Stored)
		}
		rows, units, items, raw, stored = rows+b.Rows, units+b.Units, items+b.Items, raw+b.Raw, stored+b.Stored
	}
	want := units
	if c.Parent >= 0 && (s.lengths || s.values) {
		want = 0
		for _, b := range r.d.Columns[c.Parent].Blocks {
			want += b.Items
		}
	}
	//guard: rejects a column with more or fewer rows than the part
	if rows != r.d.Rows || units != want {
		return r.fail(damage.Count, "the column %.100q has %d rows and %d units, expected %d and %d", c.Name, rows, units, r.d.Rows, want)
	}
	return nil
}
