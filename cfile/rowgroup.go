package cfile

import (
	"bytes"
	"fmt"
	"math"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// rowGroup builds a part. It spills a column's data blocks as the files store them. For each raw
// block it spills blocks of lengths, then blocks of values.
type rowGroup struct {
	document document
	columns  []groupColumn
	// size is the most bytes of all files: of the document, and of the columns' files.
	size   int64
	growth int64
	// free holds jobs that have ended, for later use. Only Begin and End use it, never at once.
	free format.FreeList[encodeJob]
}

// groupColumn is the state of a column.
type groupColumn struct {
	*documentColumn
	shape
	avro       avroValues
	lengths    *groupFile  // nil if there is none
	values     *groupFile  // nil if there is none
	dictionary *dictionary // dictionary of values; nil without DICT
	words      int         // size of the dictionary after the last ended block; -1 without one
	// ordinals is set if the dictionary has the symbols of an enum in their order, so that
	// ordinals are its numbers.
	ordinals   bool
	bound      sizeBound
	begunRows  int64
	begunUnits int64 // number of lengths in blocks that have begun
	begunItems int64 // number of values in such blocks, with the nulls of a nullable column
	spilled    int64 // bytes of ended blocks
	size       int64 // the most bytes of the column's files
	last       []byte
	endedRows  int64
}

// groupFile builds a file.
type groupFile struct {
	o        Options
	assembly *assembly
	pieces   []format.Piece
}

func newGroupFile(o *Options) *groupFile {
	f := &groupFile{o: o.withDefaults(), assembly: newAssembly(*o)}
	f.pieces = []format.Piece{format.Literal(f.assembly.head())}
	return f
}

// add adds a data block, which is at the offset spilled of the column's spill.
func (f *groupFile) add(col int, b *writtenBlock, spilled int64) error {
	last := &f.pieces[len(f.pieces)-1]
	if last.Column == col && last.Offset+last.Length == spilled {
		last.Length += int64(b.size)
	} else {
		f.pieces = append(f.pieces, format.Spilled(col, spilled, int64(b.size)))
	}
	index, err := f.assembly.add(b)
	if len(index) > 0 {
		f.pieces = append(f.pieces, format.Literal(index))
	}
	return err
}

// finish returns the file.
func (f *groupFile) finish(name, role string, d *dictionary) (format.Output, error) {
	tail, err := f.assembly.finish(d)
	if err != nil {
		return format.Output{}, err
	}
	out := format.Output{Name: name, Role: role, Pieces: append(f.pieces, format.Literal(tail))}
	for _, p := range out.Pieces {
		out.Size += p.Length
	}
	return out, nil
}

func newRowGroup(o *partOptions, schema string, cols []column.Column, blockSize int) (*rowGroup, error) {
	files, err := o.files(cols, blockSize)
	if err != nil {
		return nil, err
	}
	g := &rowGroup{columns: make([]groupColumn, len(cols)), growth: 1}
	g.document = document{Rows: math.MaxUint32, Schema: schema, Columns: make([]documentColumn, len(cols))}
	for i := range cols {
		c, d := &g.columns[i], &g.document.Columns[i]
		*c = groupColumn{documentColumn: d, shape: shapeOf(&cols[i]), words: -1}
		d.Column = cols[i]
		if f := files[i].lengths; f != nil {
			c.lengths, d.Lengths = newGroupFile(f), newDocumentFile(f, i, true)
		}
		if f := files[i].values; f != nil {
			c.values, d.Values = newGroupFile(f), newDocumentFile(f, i, false)
			c.avro = newAvroValues(&d.Column, f.Type)
			if f.Encoding == Dict {
				c.newDictionary(f)
			}
		}
		c.bound = sizeBoundOf(c)
		g.growth = max(g.growth, c.bound.growth())
		c.size = c.fileSize()
		g.size += c.size + int64(len(`,"blocks":[]`))
	}
	text, err := g.document.append(nil)
	g.size += int64(len(text))
	return g, err
}

// newDictionary creates the dictionary of values.
func (c *groupColumn) newDictionary(o *Options) {
	c.dictionary = newColumnDictionary(o)
	c.ordinals = c.avro.symbols != nil && !o.ValueIndex
	for i := 0; i < len(c.avro.symbols) && c.ordinals; i++ {
		if _, ok := c.dictionary.number([]byte(c.avro.symbols[i])); !ok || c.dictionary.full() {
			// The symbols do not fit: values get numbers in their order while there is room.
			c.dictionary, c.ordinals = newColumnDictionary(o), false
		}
	}
	c.words = c.dictionary.size()
}

// newColumnDictionary returns the dictionary of one of many columns. Its memory is counted by
// the block size, so it has a lower limit and leaves long strings to plain blocks.
func newColumnDictionary(o *Options) *dictionary {
	d := newDictionary(o.BlockSize)
	d.limit = min(d.limit, 2*o.BlockSize)
	return d
}

func newDocumentFile(o *Options, col int, lengths bool) *documentFile {
	return &documentFile{Name: fileName(col, lengths), Type: o.Type, Encoding: o.Encoding, Compression: o.Compression, Nullable: o.Nullable, Sorted: o.ValueIndex}
}

// fileSize returns the most bytes of the column's files after the blocks that have ended.
func (c *groupColumn) fileSize() (n int64) {
	if c.lengths != nil {
		n += c.lengths.assembly.bound(-1)
	}
	if c.values != nil {
		n += c.values.assembly.bound(c.words)
	}
	return n
}

// Begin counts the units and items of a block, and numbers its strings if there is a dictionary.
func (g *rowGroup) Begin(col int, block *column.Block) (format.EncodeJob, error) {
	c := &g.columns[col]
	//guard: keeps the blocks of a column in order and without gaps
	if block.Rows <= 0 || block.FirstRow != c.begunRows {
		return nil, fmt.Errorf("cfile: column %q: a block of %d rows begins with row %d, expected row %d", c.Name, block.Rows, block.FirstRow, c.begunRows)
	}
	j := g.free.Take()
	j.begin(c, block)
	if err := j.count(); err != nil {
		return nil, err
	}
	if c.dictionary != nil && !c.ordinals {
		if err := j.number(); err != nil {
			return nil, j.locate(err)
		}
		j.full, j.words = c.dictionary.full(), c.dictionary.size()
	}
	c.begunRows += block.Rows
	c.begunUnits += j.units
	c.begunItems += j.items
	if c.nullable {
		c.begunItems += j.units - j.items
	}
	//guard: keeps the number of values within a block
	if max(c.begunUnits, c.begunItems) > maxItems {
		return nil, damage.New(damage.Unsupported, "", -1, "column %s has more than %d items in a row group", c.Name, int64(maxItems))
	}
	return j, nil
}

// End adds the job's blocks to their files.
func (g *rowGroup) End(col int, job format.EncodeJob, stored int) error {
	c := &g.columns[col]
	j, ok := job.(*encodeJob)
	//guard: refuses blocks that do not end in the order of the document
	if !ok || j.block.FirstRow != c.endedRows {
		return fmt.Errorf("cfile: column %q: a block ends before that of row %d", c.Name, c.endedRows)
	}
	b, at := j.documentBlock(), c.spilled
	for i := range j.lengths.list {
		if err := c.lengths.add(col, &j.lengths.list[i], at); err != nil {
			return fmt.Errorf("cfile: column %q: %w", c.Name, err)
		}
		at += int64(j.lengths.list[i].size)
	}
	if err := c.checkAscending(j); err != nil {
		return err
	}
	for i := range j.values.list {
		if err := c.values.add(col, &j.values.list[i], at); err != nil {
			return fmt.Errorf("cfile: column %q: %w", c.Name, err)
		}
		at += int64(j.values.list[i].size)
	}
	//guard: refuses spilled blocks that do not follow each other
	if at != c.spilled+int64(stored) {
		return fmt.Errorf("cfile: column %q: a block of %d stored bytes, expected %d", c.Name, stored, at-c.spilled)
	}
	c.spilled, c.endedRows = at, c.endedRows+b.Rows
	if c.dictionary != nil && !c.ordinals {
		c.words = j.words
	}
	c.Blocks = append(c.Blocks, b)
	size := c.fileSize()
	g.size += size - c.size + int64(len(b.append(nil))) + 1
	c.size = size
	j.col, j.block = nil, nil
	g.free.Put(j)
	return nil
}

// checkAscending compares the first value of a block with the last value before it, if the
// column is declared sorted.
func (c *groupColumn) checkAscending(j *encodeJob) error {
	if c.values == nil || !c.values.o.ValueIndex || len(j.values.list) == 0 {
		return nil
	}
	list := j.values.list
	//guard: refuses an index by value over values that do not ascend
	if bytes.Compare(list[0].first, c.last) < 0 {
		return j.locate(descending(0))
	}
	c.last = append(c.last[:0], list[len(list)-1].last...)
	return nil
}

func (g *rowGroup) Size() int64 { return g.size }

func (g *rowGroup) Bound(col int, rows int64, data, lengths int) int64 {
	return g.columns[col].bound.block(rows, data, lengths)
}

func (g *rowGroup) Growth() int64 { return g.growth }

// Finish returns the outputs: the files of the columns, and the document.
func (g *rowGroup) Finish(rows int64) ([]format.Output, error) {
	var outputs []format.Output
	size := int64(0)
	add := func(out format.Output, err error) error {
		outputs, size = append(outputs, out), size+out.Size
		return err
	}
	for i := range g.columns {
		c := &g.columns[i]
		//guard: refuses a part in which a column has more or fewer rows
		if c.endedRows != rows || c.begunRows != rows {
			return nil, fmt.Errorf("cfile: column %q has %d of %d rows", c.Name, c.endedRows, rows)
		}
		var err error
		if c.lengths != nil {
			err = add(c.lengths.finish(c.Lengths.Name, holdsLengths, nil))
			c.Lengths.BlocksCRC = c.lengths.assembly.crc
		}
		if c.values != nil && err == nil {
			err = add(c.values.finish(c.Values.Name, c.holds(&c.Column), c.dictionary))
			c.Values.BlocksCRC = c.values.assembly.crc
		}
		if err != nil {
			return nil, fmt.Errorf("cfile: column %q: %w", c.Name, err)
		}
	}
	g.document.Rows = rows
	text, err := g.document.append(nil)
	if err != nil {
		return nil, err
	}
	_ = add(format.Output{Name: documentName, Role: "columns", Size: int64(len(text)), Pieces: []format.Piece{format.Literal(text)}}, nil)
	g.size = size
	return outputs, nil
}
