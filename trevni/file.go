package trevni

import (
	"context"
	"errors"
	"io"
	"math"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// DefaultMaxBlock is the default of File.MaxBlock.
const DefaultMaxBlock = format.DefaultMaxBlock

// File is an open Trevni file. It is safe for concurrent use; its cursors are not.
type File struct {
	// MaxBlock is the size in bytes of the largest uncompressed block to decode; a
	// larger one is reported as damage.Unsupported. Set it before the first use of the
	// file. Open sets DefaultMaxBlock.
	MaxBlock int64

	r          format.File
	memory     column.Account
	size       int64
	name       string
	h          *header
	unverified atomic.Bool
	last       map[int]*lastBlock // by column; only for columns with children
	tables     []table            // by column
}

// plain is a format.File that reads nothing ahead.
type plain struct {
	io.ReaderAt
	size int64
	name string
}

func (f plain) Name() string { return f.name }

func (f plain) Size() int64 { return f.size }

func (f plain) ReadBlock(p []byte, _ int, off, _ int64) (int, error) { return f.ReadAt(p, off) }

func (f plain) ReadTable(p []byte, _ int, off, _ int64) (int, error) { return f.ReadAt(p, off) }

// table is the block table of a column. Its lock is held while it is read, so that each table
// is read once. Different tables can be read at the same time.
type table struct {
	mu     sync.Mutex
	blocks []Descriptor // nil before the table is read
	zeros  atomic.Bool  // every checksum of the blocks is known to be 0
}

// Open opens the file of size bytes in r, and reads and checks its header. name is for
// messages. Block tables are read and checked when they are first needed. Errors are
// *damage.Error, or wrap an error of r.
func Open(r io.ReaderAt, size int64, name string) (*File, error) {
	f := newFile(plain{r, size, name})
	if err := f.readHeader(); err != nil {
		return nil, err
	}
	return f, nil
}

func newFile(r format.File) *File {
	return &File{
		MaxBlock: DefaultMaxBlock, r: r, memory: column.Unlimited{},
		size: r.Size(), name: r.Name(), last: map[int]*lastBlock{},
	}
}

// maxHeader is far more than the header of any file whose schema can be read.
const maxHeader = 256 << 20

func (f *File) readHeader() error {
	end := min(f.size, maxHeader)
	err := f.decodeGrowing(f.r.ReadAt, 0, end, firstHeader, func(d *decoder) { f.h = parseHeader(d, f.size) })
	if d := (*damage.Error)(nil); errors.As(err, &d) && d.Kind == damage.Truncated && end < f.size {
		return damage.New(damage.Unsupported, f.name, d.Offset, "a header of more than %d bytes: %s", end, d.Reason)
	}
	if err == nil {
		err = f.memory.Reserve(2 * f.h.size) // for the text, and for the values parsed from it
	}
	if err != nil {
		return err
	}
	f.tables = make([]table, len(f.h.columns))
	for i := range f.h.columns {
		if parent := f.h.columns[i].Parent; parent >= 0 && f.last[parent] == nil {
			f.last[parent] = new(lastBlock)
		}
	}
	return nil
}

// Name returns the name given to Open.
func (f *File) Name() string { return f.name }

// Size returns the file's length in bytes.
func (f *File) Size() int64 { return f.size }

// HeaderSize returns the number of bytes before the first column.
func (f *File) HeaderSize() int64 { return f.h.size }

// RowCount returns the number of top-level rows.
func (f *File) RowCount() int64 { return f.h.rows }

// Version returns the last byte of the magic: 0, 1 or 2.
func (f *File) Version() byte { return f.h.version }

// Meta returns the file metadata. It must not be changed.
func (f *File) Meta() Metadata { return f.h.meta }

// Schema returns the Avro schema of the rows as JSON, or "" if the file has no schema.
func (f *File) Schema() string {
	s, _ := f.h.meta.Get(SchemaKey)
	return string(s)
}

// Columns returns the columns in file order. They must not be changed.
func (f *File) Columns() []Column { return f.h.columns }

// Unverified reports whether a block without a CRC has been accepted. Java writes 0 instead of
// the CRC with the codec null.
func (f *File) Unverified() bool { return f.unverified.Load() }

// Descriptor is one entry of a column's block table, with the place of its block.
type Descriptor struct {
	Rows       int64  // top-level rows
	RawSize    int64  // bytes before the codec
	StoredSize int64  // bytes in the file, without the checksum
	First      []byte // encoded first value, if the column has Values
	FirstRow   int64  // row number of the first row
	Offset     int64  // offset of the block in the file
}

// descriptorSize is the stored size of a descriptor without a first value.
const descriptorSize = 12

// SectionEnd returns the offset at which the bytes of a column end at the latest.
func (f *File) SectionEnd(col int) int64 {
	if col+1 < len(f.h.columns) {
		return f.h.columns[col+1].Start
	}
	return f.size
}

// Blocks returns the block table of a column, which must not be changed. The first call reads
// the table. It checks the row count, the space of the column in the file, and the table's CRC
// if there is one.
func (f *File) Blocks(col int) ([]Descriptor, error) {
	t := &f.tables[col]
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.blocks == nil {
		blocks, _, err := f.readTable(col)
		if err == nil {
			err = f.memory.Reserve(int64(len(blocks)) * int64(unsafe.Sizeof(Descriptor{})))
		}
		if err != nil {
			return nil, err
		}
		t.blocks = blocks
	}
	return t.blocks, nil
}

// rereadTable reads the block table from the file, even if it was read before. size is its
// number of bytes.
func (f *File) rereadTable(col int) (blocks []Descriptor, size int64, err error) {
	t := &f.tables[col]
	t.mu.Lock()
	defer t.mu.Unlock()
	if blocks, size, err = f.readTable(col); err == nil {
		t.blocks = blocks
		t.zeros.Store(false)
	}
	return blocks, size, err
}

// readTable reads a block table and returns its number of bytes.
func (f *File) readTable(col int) (blocks []Descriptor, size int64, err error) {
	c := &f.h.columns[col]
	read := func(p []byte, off int64) (int, error) { return f.r.ReadTable(p, col, off, f.SectionEnd(col)) }
	err = f.decodeGrowing(read, c.Start, f.SectionEnd(col), firstTable, func(d *decoder) {
		d.Column = c.Name
		blocks = f.parseTable(d, c, f.SectionEnd(col))
		size = int64(len(d.Consumed()))
		f.h.checkTable(d, c, blocks, f.SectionEnd(col))
	})
	if err != nil {
		return nil, 0, err
	}
	return blocks, size, nil
}

// parseTable parses the block table of a column whose bytes end at end.
func (f *File) parseTable(d *decoder, c *Column, end int64) []Descriptor {
	n := int64(d.LittleEndian(4, "block count"))
	//guard: rejects more blocks than the column has room for
	if n*descriptorSize > end-d.Offset() {
		d.Fail(damage.Count, c.Start, "a table of %d blocks does not fit in the column's %d bytes", n, end-c.Start)
		return nil
	}
	blocks := make([]Descriptor, 0, min(n, d.Remaining()/descriptorSize))
	var rows int64
	for i := int64(0); i < n && d.Err() == nil; i++ {
		d.Block = i
		at := d.Offset()
		b := Descriptor{FirstRow: rows}
		b.Rows = int64(d.LittleEndian(4, "row count of a block"))
		b.RawSize = int64(d.LittleEndian(4, "uncompressed size of a block"))
		b.StoredSize = int64(d.LittleEndian(4, "compressed size of a block"))
		//guard: rejects sizes that are negative in Java
		if b.Rows > math.MaxInt32 || b.RawSize > math.MaxInt32 || b.StoredSize > math.MaxInt32 {
			d.Fail(damage.Count, at, "a block of %d rows and %d, compressed %d bytes is out of range", b.Rows, b.RawSize, b.StoredSize)
		}
		//guard: rejects a table with more rows than the file
		if rows += b.Rows; rows > f.h.rows {
			d.Fail(damage.Count, at, "the blocks up to %d hold %d rows, the file has %d", i, rows, f.h.rows)
		}
		if c.Values {
			b.First = d.value(c.Type)
		}
		blocks = append(blocks, b)
	}
	if d.Err() != nil {
		return nil
	}
	d.Block = -1
	//guard: rejects a column with more or fewer rows than the file
	if rows != f.h.rows {
		d.Fail(damage.Count, c.Start, "the blocks hold %d rows, the file has %d", rows, f.h.rows)
	}
	off := d.Offset()
	for i := range blocks {
		b := &blocks[i]
		b.Offset = off
		off += b.StoredSize + int64(checksumSize(c.Checksum))
		//guard: rejects a block that reaches into the next column
		if off > end {
			d.Block = int64(i)
			d.Fail(damage.Size, b.Offset, "the block ends at %d, its column at %d", off, end)
			return nil
		}
	}
	return blocks
}

// value reads the first value of a block from a table. A boolean has one byte.
func (d *decoder) value(t column.Type) []byte {
	n, err := column.ValueSize(t, d.Rest())
	if errors.Is(err, column.ErrShort) {
		n = len(d.Rest()) + 1
	} else if err != nil {
		d.Fail(damage.Value, d.Offset(), "first value: %v", err)
	}
	return append([]byte{}, d.Bytes(int64(n), "first value")...)
}

// Verify decodes the whole file. It checks every count, size, checksum and value, and all CRCs
// that the file has. Between the columns and after them there must be no other bytes. Verify
// returns the first damage of each column, joined. errors.As finds a *damage.Error in the
// result. Verify stops at once if the reader fails or ctx is cancelled.
func (f *File) Verify(ctx context.Context) error { return verify(ctx, f, nil) }
