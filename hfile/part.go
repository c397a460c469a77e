package hfile

import (
	"context"
	"encoding/binary"
	"io"
	"strings"
	"unsafe"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// partFile is a file of a part. Once the end of the data blocks is known, they are read as the
// blocks of a column.
type partFile struct {
	format.File
	end int64 // offset after the data blocks; 0 while it is not known
}

// ReadAt reads a data block as a block of the part's only column.
func (f *partFile) ReadAt(p []byte, off int64) (int, error) {
	if len(p) > headerSize && off+int64(len(p)) <= f.end {
		return f.ReadBlock(p, 0, off, f.end)
	}
	return f.File.ReadAt(p, off)
}

func (adapter) Open(files []format.File, o format.OpenOptions) (format.Part, error) {
	//guard: rejects a part of several files
	if len(files) != 1 {
		return nil, damage.New(damage.Unsupported, files[0].Name(), -1, "a part of %d files, expected one file", len(files))
	}
	in := &partFile{File: files[0]}
	r, err := Open(in, in.Size(), OpenOptions{Name: in.Name(), MaxBlock: o.MaxBlock, Memory: o.Memory})
	if err != nil {
		return nil, err
	}
	in.end = r.trailer.LoadOnOpen
	p := &part{Reader: r}
	p.shape, p.schema = shapeOf(r.info)
	return p, nil
}

// part implements format.RowPart. Its rows are the cells, or the rows in the cells' values. The
// opener of the part releases the memory of the Reader.
type part struct {
	*Reader
	shape  shape
	schema string
}

func (p *part) Version() int   { return int(p.trailer.Major) }
func (p *part) Rows() int64    { return p.Entries() }
func (p *part) Schema() string { return p.schema }

func (p *part) Metadata() []format.Metadata {
	all := make([]format.Metadata, len(p.info))
	for i, kv := range p.info {
		all[i] = format.Metadata{Key: kv.Key, Value: kv.Value, Binary: isBinary(kv.Key), Schema: kv.Key == infoSchema}
	}
	return all
}

// isBinary reports whether the value of a key of the file info is a number or a cell's key.
func isBinary(key string) bool {
	switch key {
	case infoVersion, infoMaxMemstore, infoLastBloomKey:
		return true
	}
	return strings.HasPrefix(key, infoReserved)
}

// cellsColumn is the name of the only column. Its values are the cells as stored.
const cellsColumn = "cells"

func (p *part) Columns() []format.Column {
	return []format.Column{{
		Column: column.Column{Name: cellsColumn, Type: column.Bytes, Parent: -1},
		Codec:  p.trailer.Codec.String(), Checksum: CRC32C.String(), Indexed: true,
	}}
}

// Blocks returns the data blocks. It fails if their list does not fit the part's memory. The
// number of rows in a block is not known before the block is read.
func (p *part) Blocks(int) (blocks []format.Block, err error) {
	headers := p.blocks()
	memory := column.Reservation{Account: p.memory.Account}
	defer memory.ShrinkTo(0)
	err = p.Reader.Blocks(func(offset int64, size int, key Key) error {
		h, err := headers.header(offset)
		if err != nil {
			return err
		}
		//guard: rejects a block whose size in the index is wrong
		if h.size() != size {
			return damage.New(damage.Size, "", offset, "a block of %d bytes, the index says %d", h.size(), size)
		}
		// The list is copied as it grows.
		//guard: reserves memory for the list of blocks
		if err := memory.Reserve(2 * int64(unsafe.Sizeof(format.Block{}))); err != nil {
			return err
		}
		blocks = append(blocks, format.Block{RawSize: int64(h.raw), StoredSize: int64(h.payload())})
		return nil
	})
	return blocks, p.located(err)
}

// Verify implements format.Part.
func (p *part) Verify(ctx context.Context, _ format.Runner) error { return p.Reader.Verify(ctx) }

func (p *part) Read() (format.RowReader, error) {
	return &rowReader{part: p, cells: p.Scan()}, nil
}

// shape says how cells become rows.
type shape int

const (
	// shapeCells makes a row of each cell, with all fields of the key and the value.
	shapeCells shape = iota
	// shapeKeyed makes a row of a cell's row and of its value, which is Avro data.
	shapeKeyed
	// shapeRows makes a row of a cell's value alone, which is a whole row as Avro data.
	shapeRows
)

// infoRows is the key in the file info for the fields that rows are sorted by. Only files whose
// values are whole rows have this key.
const infoRows = "rowtocol.key"

// cellsSchema is the schema of shapeCells. Keys, families and qualifiers are strings: most are
// text. Bytes other than printable ASCII become \xHH, as in HBase.
const cellsSchema = `{"type":"record","name":"Cell","fields":[` +
	`{"name":"key","type":"string"},` +
	`{"name":"family","type":"string"},{"name":"qualifier","type":"string"},` +
	`{"name":"timestamp","type":"long"},{"name":"type","type":"string"},` +
	`{"name":"value","type":"bytes"}]}`

// shapeOf returns the shape for a file info, and the schema of the rows.
func shapeOf(info Info) (shape, string) {
	schema := info.Value(infoSchema)
	switch {
	case schema == nil:
		return shapeCells, cellsSchema
	case info.Value(infoRows) != nil:
		return shapeRows, string(schema)
	}
	return shapeKeyed, `{"type":"record","name":"KeyAndValue","fields":[{"name":"key","type":"string"},{"name":"value","type":` + string(schema) + `}]}`
}

// rowReader reads cells as rows.
type rowReader struct {
	part  *part
	cells *Scanner
	datum []byte
	held  int64 // bytes of datum that are accounted for
	err   error
}

func (r *rowReader) Next() ([]byte, error) {
	if r.err != nil {
		return nil, r.err
	}
	if !r.cells.Next() {
		if r.err = r.cells.Err(); r.err == nil {
			r.err = io.EOF
		}
		return nil, r.err
	}
	if r.part.shape == shapeRows {
		return r.cells.Value(), nil
	}
	if r.err = r.reserve(maxEscaped*len(r.cells.Key()) + len(r.cells.Value()) + rowOverhead); r.err != nil {
		return nil, r.err
	}
	r.datum = r.part.shape.append(r.datum[:0], r.cells.Key(), r.cells.Value())
	return r.datum, nil
}

// maxEscaped is the length of an escaped byte.
const maxEscaped = len("\\xHH")

// rowOverhead bounds the bytes of a row besides a cell's key and value: lengths, the timestamp
// and the name of the type.
const rowOverhead = 128

// append appends the row of a cell.
func (s shape) append(dst []byte, key Key, value []byte) []byte {
	dst = appendEscaped(dst, key.Row())
	if s == shapeKeyed {
		return append(dst, value...)
	}
	dst = appendEscaped(dst, key.Family())
	dst = appendEscaped(dst, key.Qualifier())
	dst = binary.AppendVarint(dst, key.Timestamp())
	dst = appendBytes(dst, key.Type().String())
	return appendBytes(dst, value)
}

// appendBytes appends Avro's bytes or string.
func appendBytes[T string | []byte](dst []byte, b T) []byte {
	return append(binary.AppendVarint(dst, int64(len(b))), b...)
}

// appendEscaped appends bytes as an Avro string, escaped by appendPrintable.
func appendEscaped(dst, b []byte) []byte {
	size := len(b)
	for _, c := range b {
		if !printable(c) {
			size += maxEscaped - 1
		}
	}
	return appendPrintable(binary.AppendVarint(dst, int64(size)), b)
}

// reserve reserves memory for a row of n bytes.
func (r *rowReader) reserve(n int) error {
	if n <= cap(r.datum) {
		return nil
	}
	if err := r.part.memory.Account.Reserve(int64(n) - r.held); err != nil {
		return err
	}
	r.held, r.datum = int64(n), make([]byte, 0, n)
	return nil
}

func (r *rowReader) Close() {
	r.cells.Close()
	r.part.memory.Account.Release(r.held)
	r.held, r.datum = 0, nil
}
