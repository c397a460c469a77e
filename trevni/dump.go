package trevni

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/format/dump"
)

// Dump writes every byte of the file with its meaning. It writes a line for each value of the
// header and of the block tables. With the codec null it also does so for the values of
// blocks. Other blocks are written as stored. A block that cannot be decoded is shown as
// bytes, and Dump returns the first such error at the end. A byte that belongs to no part of
// the format ends the dump with an error.
func (f *File) Dump(w io.Writer) error {
	d := &dumper{Dumper: dump.New(w), f: f}
	d.Begin(f.r, f.size, f.name)
	d.header()
	for i := 0; i < len(f.h.columns) && d.Err == nil; i++ {
		d.column(i)
	}
	d.expect(f.size)
	return d.End()
}

// dumper writes a file's bytes from first to last.
type dumper struct {
	dump.Dumper
	f *File
}

// expect reports bytes without a meaning as an error.
func (d *dumper) expect(at int64) {
	if d.Err == nil && d.At != at {
		d.Err = d.f.trailing(d.At, at-d.At)
	}
}

func (d *dumper) header() {
	h := d.f.h
	b := make([]byte, h.size)
	if d.Err = damage.ReadFull(d.f.r, b, 0, d.f.name); d.Err != nil {
		return
	}
	d.Claim(4, "magic, version %d", h.version)
	d.Claim(8, "rows: %d", h.rows)
	d.Claim(4, "columns: %d", len(h.columns))
	dec := decoder{damage.NewCursor(d.f.name, b[d.At:], d.At)}
	d.metadata(&dec, "file")
	for i := range h.columns {
		d.metadata(&dec, fmt.Sprintf("column %d", i))
	}
	for i := range h.columns {
		d.Claim(8, "start of column %d: %d", i, h.columns[i].Start)
	}
	d.expect(h.size)
}

func (d *dumper) metadata(dec *decoder, owner string) {
	n := dec.length(owner)
	d.Claim(dec.Offset()-d.At, "%s metadata: %d pairs", owner, n)
	for ; n > 0 && d.Err == nil && dec.Err() == nil; n-- {
		key := dec.text(owner)
		d.Claim(dec.Offset()-d.At, "  key %s", dump.Quote(key))
		value := dec.text(owner)
		label := "value " + dump.Quote(value)
		if len(value) == crc32.Size && (isCRC(string(key)) || string(key) == TableCRCKey) {
			label = fmt.Sprintf("CRC-32C %08x", readChecksum(ChecksumSpec, value))
		}
		d.Claim(dec.Offset()-d.At, "  %s", label)
	}
}

// column dumps the table and the blocks of a column.
func (d *dumper) column(i int) {
	c := &d.f.h.columns[i]
	d.expect(c.Start)
	d.Title("column %d %s: %s, codec %s, checksum %s", i, dump.Quote([]byte(c.Name)), shape(c), c.Codec, c.Checksum)
	cur, err := d.f.cursor(i)
	if err == nil {
		err = cur.openCounter()
	}
	defer cur.close()
	if err != nil {
		if d.Err == nil {
			d.Err = err
		}
		return
	}
	d.Claim(4, "blocks: %d", len(cur.blocks))
	for j, b := range cur.blocks {
		d.Claim(4, "block %d: rows %d", j, b.Rows)
		d.Claim(4, "  uncompressed size %d", b.RawSize)
		d.Claim(4, "  compressed size %d", b.StoredSize)
		if c.Values {
			d.Claim(int64(len(b.First)), "  first value %s", describe(c.Type, b.First))
		}
	}
	for j := 0; j < len(cur.blocks) && d.Err == nil; j++ {
		d.block(cur, j)
	}
}

func shape(c *Column) string {
	s := c.Type.String()
	if c.Array {
		s += " array"
	}
	if c.Parent >= 0 {
		s += fmt.Sprintf(", parent %d", c.Parent)
	}
	return s
}

// block dumps one stored block and its checksum.
func (d *dumper) block(c *Cursor, i int) {
	b := &c.blocks[i]
	d.expect(b.Offset)
	d.Title("column %d block %d: rows %d to %d", c.index, i, b.FirstRow, b.FirstRow+b.Rows)
	err := c.load(i)
	switch {
	case err != nil:
		d.Claim(b.StoredSize, "damaged: %v", err)
	case c.col.Codec == "null":
		err = d.values(c)
	case b.StoredSize > 0:
		d.Claim(b.StoredSize, "%d bytes of %s", b.StoredSize, c.col.Codec)
	}
	d.Damaged(err)
	if c.col.Checksum != ChecksumNull {
		d.Claim(int64(checksumSize(c.col.Checksum)), "%s", c.col.Checksum)
	}
}

// values dumps the loaded block, which is not compressed, value by value.
func (d *dumper) values(c *Cursor) error {
	v := &valueDumper{dumper: d, c: c, start: d.At}
	err := v.items()
	if err == nil {
		v.passed = c.Pos()
		err = c.EndBlock()
	}
	v.flush(v.passed)
	if rest := v.start + int64(len(c.room.Bytes)) - d.At; err != nil && rest > 0 {
		d.Claim(rest, "damaged: %v", err)
	}
	return err
}

// valueDumper dumps what a cursor reads of a block. Values in the same byte are on one line.
type valueDumper struct {
	*dumper
	c      *Cursor
	start  int64  // offset of the block in the file
	label  string // label of the bytes between the last flush and passed
	passed int    // how many bytes of the block have a label
	buf    []byte
}

// flush claims the bytes of the block before pos.
func (v *valueDumper) flush(pos int) {
	if n := v.start + int64(pos) - v.At; n > 0 {
		v.Claim(n, "%s", v.label)
		v.label = ""
	}
}

// items dumps all items of the block.
func (v *valueDumper) items() error {
	c := v.c
	for c.Left() > 0 && v.Err == nil {
		var err error
		switch {
		case c.col.Array:
			err = v.sequence()
		case c.col.Type == column.Null:
			_, err = c.Skip(c.Left())
		default:
			err = v.value()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sequence dumps a length and its values. It does not dump a length that is a part of a repeat
// that was dumped before.
func (v *valueDumper) sequence() error {
	c := v.c
	more := c.Repeat()
	n, err := c.Length()
	if err != nil {
		return err
	}
	if more == 0 {
		v.add(lengthText(n, c.Repeat()+1))
		v.flush(c.Pos())
	}
	if c.col.Type == column.Null {
		_, err := c.Skip(c.Repeat())
		return err
	}
	for range n {
		if err := v.value(); err != nil || v.Err != nil {
			return err
		}
	}
	v.flush(c.Pos())
	return nil
}

func (v *valueDumper) value() (err error) {
	before := v.c.Pos()
	if v.buf, err = v.c.Value(v.buf[:0]); err != nil {
		return err
	}
	if v.c.Pos() > before {
		v.flush(before)
	}
	v.add(describe(v.c.col.Type, v.buf))
	return nil
}

// add labels the bytes that the cursor has just passed.
func (v *valueDumper) add(label string) {
	if v.label != "" {
		v.label += " "
	}
	v.label += label
	v.passed = v.c.Pos()
}

func lengthText(length int, times int64) string {
	if times == 1 {
		return fmt.Sprintf("length %d", length)
	}
	return fmt.Sprintf("length %d, %d times", length, times)
}

// describe formats a whole encoded value.
func describe(t column.Type, v []byte) string {
	switch t {
	case column.Boolean:
		return fmt.Sprint(v[0] == 1)
	case column.Int, column.Long:
		n, _ := binary.Varint(v)
		return fmt.Sprint(n)
	case column.Fixed32:
		return fmt.Sprint(int32(binary.LittleEndian.Uint32(v)))
	case column.Fixed64:
		return fmt.Sprint(int64(binary.LittleEndian.Uint64(v)))
	case column.Float:
		return fmt.Sprint(math.Float32frombits(binary.LittleEndian.Uint32(v)))
	case column.Double:
		return fmt.Sprint(math.Float64frombits(binary.LittleEndian.Uint64(v)))
	case column.String, column.Bytes:
		return dump.Quote(column.Sized(v))
	}
	return "null"
}
