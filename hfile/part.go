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

// partFile is a file of a part whose blocks are read as those of a column, once it is known
// where they end.
type partFile struct {
	format.File
	end int64
}

// ReadAt reads a block as one of the only column that a part has.
func (f *partFile) ReadAt(p []byte, off int64) (int, error) {
	if len(p) > headerSize && off+int64(len(p)) <= f.end {
		return f.ReadBlock(p, 0, off, f.end)
	}
	return f.File.ReadAt(p, off)
}

func (adapter) Open(files []format.File, o format.OpenOptions) (format.Part, error) {
	//guard: rejects more than one file where one holds all rows
	if len(files) != 1 {
		return nil, damage.New(damage.Unsupported, files[0].Name(), -1, "a part of %d files, expected one", len(files))
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

// part is a file as the program sees it: the rows that its cells are, or stand for. The
// opener of the part gives back what the reader holds.
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

// isBinary reports whether a key of the file info stands for numbers or a cell's key.
func isBinary(key string) bool {
	switch key {
	case infoVersion, infoMaxMemstore, infoLastBloomKey:
		return true
	}
	return strings.HasPrefix(key, infoReserved)
}

// cellsColumn is the name of the only column, which is the cells as they are stored.
const cellsColumn = "cells"

func (p *part) Columns() []format.Column {
	return []format.Column{{
		Column: column.Column{Name: cellsColumn, Type: column.Bytes, Parent: -1},
		Codec:  p.trailer.Codec.String(), Checksum: CRC32C.String(), Indexed: true,
	}}
}

// Blocks are the data blocks, as many as fit the part's memory. The number of their rows is
// not known before they are read.
func (p *part) Blocks(int) (blocks []format.Block, err error) {
	headers := p.blocks()
	memory := column.Reservation{Of: p.memory.Of}
	defer memory.ShrinkTo(0)
	err = p.Reader.Blocks(func(offset int64, size int, key Key) error {
		h, err := headers.header(offset)
		if err != nil {
			return err
		}
		//guard: rejects a size other than the index says
		if h.size() != size {
			return damage.New(damage.Size, "", offset, "a block of %d bytes where the index says %d", h.size(), size)
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

func (p *part) Verify(ctx context.Context) error { return p.Reader.Verify(ctx) }

func (p *part) Read() (format.RowReader, error) {
	return &rowReader{part: p, cells: p.Scan()}, nil
}

// shape is how cells become rows.
type shape int

const (
	// shapeCells is a row of all that a cell has.
	shapeCells shape = iota
	// shapeKeyed is a row of a cell's key and of its value, which is Avro data.
	shapeKeyed
	// shapeRows are cells whose values are the rows.
	shapeRows
)

// infoRows is the file info's key for the fields that the rows are sorted by, in files whose
// values are whole rows.
const infoRows = "rowtocol.key"

// Keys, families and qualifiers are shown as HBase does, bytes other than printable ASCII as
// \xHH: most are text, and none need be.
const cellsSchema = `{"type":"record","name":"Cell","fields":[` +
	`{"name":"key","type":"string"},` +
	`{"name":"family","type":"string"},{"name":"qualifier","type":"string"},` +
	`{"name":"timestamp","type":"long"},{"name":"type","type":"string"},` +
	`{"name":"value","type":"bytes"}]}`

// shapeOf finds by the file info how cells become rows, and the schema of these.
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

// rowReader makes rows of cells.
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

// maxEscaped is the most bytes that a byte is shown as.
const maxEscaped = len("\\xHH")

// rowOverhead is more than what a row has besides a cell's key and value: lengths, the
// timestamp and the name of the type.
const rowOverhead = 128

// append appends the row that a cell is.
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

// appendEscaped appends as a string what bytes are shown as.
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
	if err := r.part.memory.Of.Reserve(int64(n) - r.held); err != nil {
		return err
	}
	r.held, r.datum = int64(n), make([]byte, 0, n)
	return nil
}

func (r *rowReader) Close() {
	r.cells.Close()
	r.part.memory.Of.Release(r.held)
	r.held, r.datum = 0, nil
}
