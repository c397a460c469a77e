package testformat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/damage"
)

// part is an open part: the index, and a file per column that is read by blocks.
type part struct {
	*index
	file  format.File // of the index
	files []format.File
	max   int64 // bytes of a payload
}

func (split) Open(files []format.File, o format.OpenOptions) (format.Part, error) {
	named := make(map[string]format.File, len(files))
	for _, f := range files {
		named[path.Base(f.Name())] = f
	}
	p := &part{file: named[indexName], max: format.DefaultMaxBlock}
	if o.MaxBlock > 0 {
		p.max = o.MaxBlock
	}
	//guard: a part without an index would crash the program
	if p.file == nil {
		return nil, damage.New(damage.Header, files[0].Name(), -1, "the part has no file %q", indexName)
	}
	var err error
	if p.index, err = p.read(nil); err != nil {
		return nil, err
	}
	for i := range p.columns {
		f := named[columnName(i)]
		//guard: a part without a column's file would crash the program
		if f == nil {
			return nil, damage.New(damage.Truncated, p.file.Name(), -1, "the file %q of the part is missing", columnName(i))
		}
		//guard: bytes behind the last block, or too few of them, would pass
		if want := p.columns[i].size; f.Size() != want {
			return nil, damage.New(damage.Size, f.Name(), min(f.Size(), want), "the file has %d bytes, expected %d", f.Size(), want)
		}
		p.files = append(p.files, f)
	}
	//guard: a file that belongs to nothing would pass
	if len(files) != 1+len(p.files) {
		return nil, damage.New(damage.Trailing, p.file.Name(), -1, "the part has %d files, expected %d", len(files), 1+len(p.files))
	}
	return p, nil
}

// read reads the index and tells show of its fields.
func (p *part) read(show func([]byte, string)) (*index, error) {
	//guard: memory would be taken for an index of any size
	if p.file.Size() > maxIndex {
		return nil, damage.New(damage.Unsupported, p.file.Name(), -1, "an index of %d bytes exceeds the limit of %d", p.file.Size(), maxIndex)
	}
	b := make([]byte, p.file.Size())
	n, err := p.file.ReadAt(b, 0)
	if err := whole(n, err, b, p.file.Name(), 0); err != nil {
		return nil, err
	}
	d := decoder{file: p.file.Name(), b: b, show: show}
	return d.decode()
}

// whole returns what kept a read from filling b. It is the reader's error, and no
// damage: sizes were compared before.
func whole(n int, err error, b []byte, file string, off int64) error {
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%s: reading %d bytes at offset %d: %w", file, len(b), off, err)
}

func (p *part) Version() int     { return version }
func (p *part) Rows() int64      { return p.rows }
func (p *part) Schema() string   { return p.schema }
func (p *part) Unverified() bool { return false }

func (p *part) Metadata() []format.Metadata {
	return []format.Metadata{
		{Key: "schema", Value: []byte(p.schema), Schema: true},
		{Key: "codec", Value: []byte(p.codec)},
		{Key: "marker", Value: []byte(p.marker)},
	}
}

func (p *part) Columns() []format.Column {
	all := make([]format.Column, len(p.columns))
	for i := range p.columns {
		c := p.columns[i].Column
		_, ordered := compare(c.Type, make([]byte, 8), make([]byte, 8))
		all[i] = format.Column{Column: c, Codec: p.codec, Checksum: "crc-32c", Indexed: ordered}
	}
	return all
}

func (p *part) Blocks(col int) ([]format.Block, error) {
	all := make([]format.Block, len(p.columns[col].blocks))
	for i := range all {
		b := &p.columns[col].blocks[i]
		all[i] = format.Block{FirstRow: b.firstRow, Rows: b.rows, RawSize: b.payload, StoredSize: b.stored, Min: b.min, Max: b.max}
	}
	return all, nil
}

func (p *part) Cursor(col int) (format.Cursor, error) { return p.cursor(col), nil }

// Verify reads every block and compares it with the index, which Open did.
func (p *part) Verify(ctx context.Context) error {
	var found []error
	for i := range p.columns {
		err := p.verifyColumn(ctx, i)
		if d := (*damage.Error)(nil); err != nil && !errors.As(err, &d) {
			return err
		}
		// Damage of a parent is found by its children again.
		if err != nil && !slices.ContainsFunc(found, func(e error) bool { return e.Error() == err.Error() }) {
			found = append(found, err)
		}
	}
	return errors.Join(found...)
}

func (p *part) verifyColumn(ctx context.Context, col int) error {
	c := p.cursor(col)
	for i := range c.col.blocks {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := c.load(i); err != nil {
			return err
		}
		b := &c.col.blocks[i]
		_, least, greatest, _ := bounds(c.col.Type, c.values) // they were decoded
		//guard: bounds that are wrong would hide rows
		if !bytes.Equal(least, b.min) || !bytes.Equal(greatest, b.max) {
			return c.damaged(damage.Value, i, "the bounds in the index are not the block's")
		}
		unit, err := c.unitOf(b.firstRow)
		if err != nil {
			return err
		}
		//guard: rows would get the items of other rows
		if unit != b.firstUnit && !c.col.uncounted() {
			return c.damaged(damage.Count, i, "the block begins with unit %d, its first row with %d", b.firstUnit, unit)
		}
	}
	return nil
}

// Dump writes the fields of the index, then the column files block by block.
func (p *part) Dump(w io.Writer) error {
	d := &dumper{w: w}
	d.title("%s", indexName)
	if _, err := p.read(d.field); err != nil {
		return err
	}
	var bad error
	for i := range p.columns {
		c := p.cursor(i)
		d.title("%s: %s %s", columnName(i), c.col.TypeName(), c.col.Name)
		for k := range c.col.blocks {
			b, state := &c.col.blocks[k], p.codec
			err := c.fetch(k)
			if err == nil {
				err = c.load(k)
			}
			if d := (*damage.Error)(nil); errors.As(err, &d) {
				state = d.Error()
				bad = errors.Join(bad, err)
			} else if err != nil {
				return err
			}
			stored := c.stored
			d.field(stored[:4], fmt.Sprintf("block %d: sum %08x", k, order.Uint32(stored)))
			d.field(stored[4:4+b.stored], fmt.Sprintf("  rows %d to %d: %s", b.firstRow, b.firstRow+b.rows, state))
			d.field(stored[4+b.stored:], "  CRC-32C")
		}
	}
	if d.err == nil {
		d.err = bad
	}
	return d.err
}

// dumper writes bytes with what they mean, 16 to a line.
type dumper struct {
	w   io.Writer
	at  int
	err error
}

func (d *dumper) title(text string, args ...any) {
	d.at = 0
	if d.err == nil {
		_, d.err = fmt.Fprintf(d.w, text+"\n", args...)
	}
}

func (d *dumper) field(b []byte, label string) {
	for first := true; d.err == nil && (first || len(b) > 0); first = false {
		n := min(len(b), 16)
		_, d.err = fmt.Fprintf(d.w, "%08x  %-47s  %s\n", d.at, fmt.Sprintf("% x", b[:n]), label)
		d.at, b, label = d.at+n, b[n:], ""
	}
}
