package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
)

// file is a file that is being written: what is kept of its row groups until the footer. A
// part is a file with one row group, or with none if it has no rows.
type file struct {
	tree   *tree
	stored string // the Avro schema of what the file holds, or "" if no schema describes it
	size   int64  // bytes so far
	rows   int64
	groups []pq.RowGroup
	// columnIndexes and offsetIndexes are those of all column chunks, one after another. The file
	// has all column indexes first, as some readers expect.
	columnIndexes, offsetIndexes []byte
	checksums                    checksums
	memory                       column.Account // of the fields above
	export                       bool           // the file is not a part
	symbols                      map[*string][][]byte
}

func newFile(o *options, schema string, memory column.Account) (*file, error) {
	t, err := newTree(schema, o.times())
	if err != nil {
		return nil, err
	}
	stored, err := t.storedSchema()
	return &file{tree: t, stored: stored, memory: memory, symbols: make(map[*string][][]byte)}, err
}

// symbolsOf returns the symbols of an enum as bytes. All columns of an enum type share them.
func (f *file) symbolsOf(l *leaf) [][]byte {
	if len(l.Symbols) == 0 {
		return nil
	}
	first := &l.Symbols[0]
	if f.symbols[first] == nil {
		for _, s := range l.Symbols {
			f.symbols[first] = append(f.symbols[first], []byte(s))
		}
	}
	return f.symbols[first]
}

// metadata returns the footer, without its checksums.
func (f *file) metadata() *pq.FileMetaData {
	m := &pq.FileMetaData{
		Version: 1, Schema: f.tree.elements, NumRows: f.rows, CreatedBy: createdBy,
		RowGroups:    f.groups,
		ColumnOrders: make([]pq.ColumnOrder, len(f.tree.leaves)),
	}
	if m.RowGroups == nil {
		m.RowGroups = []pq.RowGroup{}
	}
	pair := func(key, value string) {
		m.KeyValueMetadata = append(m.KeyValueMetadata, pq.KeyValue{Key: key, Value: value})
	}
	if f.stored != "" {
		pair(schemaKey, f.stored)
	}
	if f.tree.partial || f.tree.retimed {
		pair(rowsSchemaKey, f.tree.schema)
	}
	if f.tree.retimed {
		pair(timesKey, f.tree.times.String())
	}
	if f.export {
		pair(format.ExportKey, "true")
	}
	for i := range m.ColumnOrders {
		m.ColumnOrders[i].Value = new(pq.TypeDefinedOrder)
	}
	return m
}

// assembly collects the next bytes of a file.
type assembly struct {
	file    *file
	pieces  []format.Piece
	literal []byte // the bytes after the pieces
	size    int64  // of all
}

// assemble returns an assembly for the bytes that follow. The first one begins with the magic.
func (f *file) assemble() *assembly {
	a := &assembly{file: f}
	if f.size == 0 {
		a.append([]byte(magic))
	}
	return a
}

// at returns the offset in the file of the bytes that follow.
func (a *assembly) at() int64 { return a.file.size + a.size }

func (a *assembly) append(b []byte) {
	a.literal = append(a.literal, b...)
	a.size += int64(len(b))
}

// flush makes a piece of the literal bytes.
func (a *assembly) flush() {
	if len(a.literal) > 0 {
		a.pieces = append(a.pieces, format.Literal(a.literal))
		a.literal = nil
	}
}

// spilled adds all of a column's spill.
func (a *assembly) spilled(col int, size int64) {
	if size > 0 {
		a.flush()
		a.pieces = append(a.pieces, format.Spilled(col, 0, size))
		a.size += size
	}
}

// output ends the assembly.
func (a *assembly) output() format.Output {
	a.flush()
	a.file.size += a.size
	return format.Output{Role: "data", Size: a.size, Pieces: a.pieces}
}

// footerBytes is about how many bytes of the footer a column chunk has.
const footerBytes = 512

// add adds a row group, whose column chunks have the given indexes and checksums.
func (f *file) add(group *pq.RowGroup, indexes []chunkIndexes, s checksums) error {
	n := len(s.table)
	for i := range indexes {
		n += len(indexes[i].columns) + len(indexes[i].offsets)
	}
	// A slice that grows may have twice its bytes.
	need := int64(2*n) + int64(len(indexes))*(int64(unsafe.Sizeof(pq.ColumnChunk{}))+footerBytes)
	if err := f.memory.Reserve(need); err != nil {
		return fmt.Errorf("parquet: the indexes and the footer of %d row groups: %w", len(f.groups)+1, err)
	}
	for i := range indexes {
		chunk, x := &group.Columns[i], &indexes[i]
		chunk.ColumnIndexLength, chunk.OffsetIndexLength = int32(len(x.columns)), int32(len(x.offsets))
		f.columnIndexes, f.offsetIndexes = append(f.columnIndexes, x.columns...), append(f.offsetIndexes, x.offsets...)
	}
	f.checksums.table = append(f.checksums.table, s.table...)
	f.groups, f.rows = append(f.groups, *group), f.rows+group.NumRows
	return nil
}

// end adds what follows the row groups: the indexes, the checksums and the footer.
func (f *file) end(a *assembly) error {
	column := a.at()
	offset := column + int64(len(f.columnIndexes))
	for g := range f.groups {
		for i := range f.groups[g].Columns {
			chunk := &f.groups[g].Columns[i]
			if chunk.ColumnIndexLength > 0 {
				chunk.ColumnIndexOffset = column
				column += int64(chunk.ColumnIndexLength)
			}
			chunk.OffsetIndexOffset = offset
			offset += int64(chunk.OffsetIndexLength)
		}
	}
	a.append(f.columnIndexes)
	a.append(f.offsetIndexes)
	a.append(f.checksums.table)
	footer, err := f.checksums.footer(f.metadata())
	if err != nil {
		return fmt.Errorf("parquet: %w", err)
	}
	a.append(footer)
	a.append(binary.LittleEndian.AppendUint32(nil, uint32(len(footer))))
	a.append([]byte(magic))
	return nil
}

// fileWriter implements format.FileWriter.
type fileWriter struct {
	groupWriter
	memory column.Account
	file   *file // nil before the first row group
}

// NewRowGroup starts the next row group.
func (w *fileWriter) NewRowGroup(schema string, cols []column.Column, blockSize int) (_ format.RowGroup, err error) {
	if w.file == nil {
		if w.file, err = newFile(&w.o, schema, w.memory); err != nil {
			return nil, err
		}
		w.file.export = true
	}
	//guard: refuses rows of another schema
	if schema != w.file.tree.schema {
		return nil, errors.New("parquet: a row group with another schema than the file")
	}
	return newRowGroup(&w.o, w.file, cols, blockSize)
}

// End implements format.FileWriter.
func (w *fileWriter) End() (format.Output, error) {
	a := w.file.assemble()
	err := w.file.end(a)
	return a.output(), err
}
