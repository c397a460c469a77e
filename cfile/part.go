package cfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// part implements format.Part: the files of a directory and the document that describes
// them, or a lone file.
type part struct {
	document   format.File // nil for a lone file
	rows       int64
	schema     string
	columns    []partColumn
	files      []*partFile // in the order of the columns
	places     []place     // by column
	memory     column.Account
	max        int64 // most bytes of a raw block
	unverified atomic.Bool
}

// partColumn is a column of a part, with its blocks and files.
type partColumn struct {
	column.Column
	shape
	blocks []partBlock
	// units is the number of entries that a cursor reads: lengths in an array column, else
	// values. items is the number of values, to which the units of the column's children belong.
	units, items int64
	// The column's files; nil for a file that the column does not need.
	lengthsFile, valuesFile *partFile
}

// partBlock is a raw block of the row group in a part. In each file of its column it has
// whole data blocks.
type partBlock struct {
	firstRow, rows   int64
	firstUnit, units int64
	firstItem, items int64
	raw, stored      int64 // bytes
}

// uncounted reports whether the column has neither lengths nor values.
func (c *partColumn) uncounted() bool { return !c.values && !c.lengths }

// file returns the file that tables and errors name; nil if the column has none.
func (c *partColumn) file() *partFile {
	if c.valuesFile == nil {
		return c.lengthsFile
	}
	return c.valuesFile
}

// partFile is a file of a part, which is opened when it is needed.
type partFile struct {
	documentFile
	stored format.File
	column int
	rows   int64 // expected number of rows

	mu     sync.Mutex
	opened *File
}

// open opens the file, or returns it if it is open.
func (f *partFile) open(p *part) (*File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.opened != nil {
		return f.opened, nil
	}
	opened, err := f.openBy(p, p.memory)
	if err == nil {
		f.opened = opened
	}
	return opened, err
}

// openBy opens the file with a separate account, even if the file is open, and compares it with the
// document.
func (f *partFile) openBy(p *part, memory column.Account) (*File, error) {
	opened, err := newFile(f.stored, f.stored.Size(), f.stored.Name(), func(b []byte, off, end int64) (int, error) {
		return f.stored.ReadBlock(b, f.column, off, end)
	}, memory)
	if err != nil {
		return nil, err
	}
	if opened.unverified() {
		p.unverified.Store(true)
	}
	if p.document == nil {
		return opened, nil
	}
	return opened, f.check(opened.Footer())
}

// check compares a footer with the document.
func (f *partFile) check(footer *Footer) error {
	fail := func(what string, got, want any) error {
		return damage.New(damage.Header, f.stored.Name(), -1, "the file has %s %v, its part says %v", what, got, want)
	}
	switch {
	//guard: rejects values of another type than the column's
	case footer.Type != f.Type:
		return fail("the type", footer.Type, f.Type)
	//guard: rejects a file with another encoding than the document says
	case footer.Encoding != f.Encoding:
		return fail("the encoding", footer.Encoding, f.Encoding)
	//guard: rejects a file with another compression than the document says
	case footer.Compression != f.Compression:
		return fail("the compression", footer.Compression, f.Compression)
	//guard: rejects a file that is nullable, unlike the document says, or the reverse
	case footer.Nullable != f.Nullable:
		return fail("nullable", footer.Nullable, f.Nullable)
	//guard: rejects a file with more or fewer rows than the document says
	case footer.Values != f.rows:
		return damage.New(damage.Count, f.stored.Name(), -1, "the file has %d rows, its part says %d", footer.Values, f.rows)
	//guard: rejects a file without checksums
	case footer.Incompatible != FeatureChecksums:
		return fail("the features", footer.Incompatible, FeatureChecksums)
	//guard: rejects a file without an index by row
	case footer.Positional == nil:
		return damage.New(damage.Header, f.stored.Name(), -1, "the file has no positional index")
	case footer.Value != nil != f.Sorted:
		return fail("a value index", footer.Value != nil, f.Sorted)
	}
	want := binary.LittleEndian.AppendUint32(nil, f.BlocksCRC)
	//guard: rejects the file of another column with the same layout
	if crc, _ := footer.Get(BlocksCRCKey); !bytes.Equal(crc, want) {
		return damage.New(damage.Checksum, f.stored.Name(), -1, "the checksum of the file's blocks is %x, its part says %x", crc, want)
	}
	return nil
}

// openPart opens a part: the directory of a row group, which has the file documentName,
// or a lone CFile, which is a part of one column. Files of a directory are opened when their
// columns are read. Errors are *damage.Error, or wrap those of reading.
func openPart(files []format.File, o format.OpenOptions) (format.Part, error) {
	o = o.EnsureDefaults()
	p := &part{max: o.MaxBlock, memory: o.Memory}
	named := make(map[string]format.File, len(files))
	for _, f := range files {
		named[path.Base(f.Name())] = f
	}
	if p.document = named[documentName]; p.document != nil {
		return p, p.openDirectory(named)
	}
	//guard: rejects several files without a document
	if len(files) != 1 {
		return nil, damage.New(damage.Header, files[0].Name(), -1, "the part has no file %q", documentName)
	}
	return p.openLone(files[0])
}

// readDocument reads the document, and returns it and its bytes.
func (p *part) readDocument() (*document, []byte, error) {
	f := p.document
	//guard: bounds the size of a document
	if f.Size() > maxDocument {
		return nil, nil, damage.New(damage.Unsupported, f.Name(), -1, "a document of %d bytes exceeds the limit of %d", f.Size(), maxDocument)
	}
	if err := p.memory.Reserve(documentMemory * f.Size()); err != nil {
		return nil, nil, fmt.Errorf("%s: %d bytes: %w", f.Name(), f.Size(), err)
	}
	text := make([]byte, f.Size())
	var d *document
	err := damage.ReadFull(f, text, 0, f.Name())
	if err == nil {
		d, err = parseDocument(text, f.Name())
	}
	if err != nil {
		p.memory.Release(documentMemory * f.Size())
	}
	return d, text, err
}

// documentMemory is the memory for each byte of a document: the text, and the values parsed
// from it. A block of ten digits becomes eight numbers.
const documentMemory = 8

// openDirectory opens a part with a document.
func (p *part) openDirectory(named map[string]format.File) error {
	d, _, err := p.readDocument()
	if err != nil {
		return err
	}
	p.rows, p.schema = d.Rows, d.Schema
	p.columns, p.places = make([]partColumn, len(d.Columns)), make([]place, len(d.Columns))
	for i := range d.Columns {
		if err := p.addColumn(i, &d.Columns[i], named); err != nil {
			return err
		}
	}
	//guard: rejects a file that belongs to no column
	if len(named) != 1+len(p.files) {
		return damage.New(damage.Trailing, p.document.Name(), -1, "the part has %d files, expected %d", len(named), 1+len(p.files))
	}
	return nil
}

// addColumn adds a column that the document describes.
func (p *part) addColumn(i int, d *documentColumn, named map[string]format.File) (err error) {
	c := &p.columns[i]
	c.Column, c.shape = d.Column, shapeOf(&d.Column)
	c.blocks = make([]partBlock, len(d.Blocks))
	row := int64(0)
	for k, b := range d.Blocks {
		c.blocks[k] = partBlock{row, b.Rows, c.units, b.Units, c.items, b.Items, b.Raw, b.Stored}
		row, c.units, c.items = row+b.Rows, c.units+b.Units, c.items+b.Items
	}
	if c.uncounted() {
		if c.units = p.rows; c.Parent >= 0 {
			c.units = p.columns[c.Parent].items
		}
		c.items = c.units
	}
	if c.lengths {
		if c.lengthsFile, err = p.addFile(i, d.Lengths, c.units, named); err != nil {
			return err
		}
	}
	if c.values {
		rows := c.items
		if c.nullable {
			rows = c.units
		}
		c.valuesFile, err = p.addFile(i, d.Values, rows, named)
	}
	return err
}

func (p *part) addFile(col int, d *documentFile, rows int64, named map[string]format.File) (*partFile, error) {
	f := named[d.Name]
	//guard: rejects a part in which a column's file is missing
	if f == nil {
		return nil, damage.New(damage.Truncated, p.document.Name(), -1, "the file %q of the part is missing", d.Name)
	}
	file := &partFile{documentFile: *d, stored: f, column: col, rows: rows}
	p.files = append(p.files, file)
	return file, nil
}

// Version returns the version of the container, which all files of a directory share.
func (p *part) Version() int {
	if p.document == nil {
		return p.files[0].opened.footer.Version
	}
	return 2
}

func (p *part) Rows() int64      { return p.rows }
func (p *part) Schema() string   { return p.schema }
func (p *part) Unverified() bool { return p.unverified.Load() }

// Metadata returns the metadata of a lone file, or the schema of a directory.
func (p *part) Metadata() (all []format.Metadata) {
	if p.document != nil {
		return []format.Metadata{{Key: "schema", Value: []byte(p.schema), Schema: true}}
	}
	file := p.files[0].opened
	for _, pairs := range [][]Pair{file.header, file.footer.Metadata} {
		for _, m := range pairs {
			all = append(all, format.Metadata{Key: m.Key, Value: m.Value, Binary: true})
		}
	}
	return all
}

func (p *part) Columns() []format.Column {
	all := make([]format.Column, len(p.columns))
	for i := range p.columns {
		c := &p.columns[i]
		all[i] = format.Column{Column: c.Column, Checksum: "crc-32c"}
		if f := c.file(); f != nil {
			all[i].Codec, all[i].Indexed = f.codec(), f.Sorted
		}
	}
	return all
}

// codec returns the encoding and compression of the values, as tables show them.
func (f *partFile) codec() string {
	name := strings.ToLower(strings.ReplaceAll(f.Encoding.String(), "_", ""))
	if f.Compression != NoCompression {
		name += "+" + strings.ToLower(f.Compression.String())
	}
	return name
}

func (p *part) Blocks(col int) ([]format.Block, error) {
	if p.document == nil {
		return p.loneBlocks()
	}
	c := &p.columns[col]
	blocks := make([]format.Block, len(c.blocks))
	for i, b := range c.blocks {
		blocks[i] = format.Block{FirstRow: b.firstRow, Rows: b.rows, RawSize: max(b.raw, b.items*int64(c.FixedSize)), StoredSize: b.stored}
	}
	if f := c.valuesFile; f != nil && f.Sorted {
		return blocks, p.setBounds(blocks, f)
	}
	return blocks, nil
}

func (p *part) Cursor(col int) (format.Cursor, error) { return p.cursor(col), nil }
