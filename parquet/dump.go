package parquet

import (
	"encoding/binary"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/parquet-go/parquet-go/bloom"
	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/format/dump"
)

// Dump writes every byte of the file with its meaning: the pages with their headers, the indexes
// and the footer, field by field. It writes pages that are not compressed down to their values. A
// part that cannot be read, and bytes that belong to nothing, are shown as bytes, and Dump returns
// the first of these errors at the end.
func (p *part) Dump(w io.Writer) error {
	d := &dumper{Dumper: dump.New(w)}
	d.Begin(p.file, p.file.Size(), p.file.Name())
	again, memory, err := p.reopen()
	defer memory.ShrinkTo(0)
	if d.Damaged(err) {
		d.Claim(p.file.Size(), "damaged: %v", err)
		return d.End()
	}
	d.p = again
	for _, r := range again.regions() {
		if d.Err != nil {
			break
		}
		if d.At < r.offset {
			d.Damaged(again.gap(d.At, r.offset))
			d.Claim(r.offset-d.At, "bytes that belong to nothing")
		}
		if d.At == r.offset {
			d.region(&r)
		}
	}
	return d.End()
}

// dumper writes the bytes of a file from first to last.
type dumper struct {
	dump.Dumper
	p *part
}

// until claims the bytes before an offset, if there are any.
func (d *dumper) until(offset int64, label string, args ...any) {
	if offset > d.At {
		d.Claim(offset-d.At, label, args...)
	}
}

// region dumps the region that begins at d.At.
func (d *dumper) region(r *region) {
	switch r.kind {
	case headRegion:
		d.Claim(r.size, "magic")
	case pagesRegion:
		d.chunk(r.chunk)
	case filterRegion:
		d.filter(r)
	case columnIndexRegion:
		d.Title("column index of %s", d.name(r.chunk))
		d.document(r.section, reflect.TypeFor[pq.ColumnIndex]())
	case offsetIndexRegion:
		d.Title("offset index of %s", d.name(r.chunk))
		d.document(r.section, reflect.TypeFor[pq.OffsetIndex]())
	case checksumsRegion:
		d.checksums()
	case footerRegion:
		d.Title("footer")
		d.document(section{r.offset, r.size - int64(trailer)}, reflect.TypeFor[pq.FileMetaData]())
		d.Claim(4, "bytes of footer: %d", r.size-int64(trailer))
		d.Claim(int64(len(magic)), "magic")
	}
	d.until(r.end(), "rest")
}

// filter dumps a Bloom filter.
func (d *dumper) filter(r *region) {
	d.Title("Bloom filter of %s", d.name(r.chunk))
	memory := &column.Reservation{Account: d.p.memory}
	defer memory.ShrinkTo(0)
	f, err := d.p.readFilter(r.chunk, memory)
	if d.Damaged(err) || d.Err != nil {
		d.until(r.end(), "damaged: %v", err)
		return
	}
	d.items(f.head, reflect.TypeFor[pq.BloomFilterHeader]())
	d.until(r.end(), "%d blocks of %d bytes", len(f.bits)/bloom.BlockSize, bloom.BlockSize)
}

// name returns the name of a chunk's column, and if there are several row groups, the number of
// the chunk's row group.
func (d *dumper) name(c *partChunk) string {
	name := dump.Quote([]byte(c.leaf.Name))
	if len(d.p.groups) > 1 {
		name += fmt.Sprintf(" in row group %d", c.group.number)
	}
	return name
}

// document dumps a document field by field.
func (d *dumper) document(s section, t reflect.Type) {
	memory := &column.Reservation{Account: d.p.memory}
	defer memory.ShrinkTo(0)
	if d.Err == nil {
		d.Err = memory.Reserve(s.size)
	}
	if d.Err != nil {
		return
	}
	b := make([]byte, s.size)
	if d.Err = damage.ReadFull(d.p.file, b, s.offset, d.p.file.Name()); d.Err == nil {
		d.items(b, t)
	}
}

// items dumps the fields of a document that begins at d.At.
func (d *dumper) items(b []byte, t reflect.Type) {
	_, _, err := walkDocument(d.p.file.Name(), d.At, b, t, func(i thriftItem) { d.Claim(int64(i.to-i.from), "%s", i.label()) })
	d.Damaged(err)
}

// chunk dumps the pages of a column chunk.
func (d *dumper) chunk(c *partChunk) {
	l := c.leaf
	if c == d.p.chunk(c.group.number, 0) {
		d.Title("row group %d: rows %d to %d", c.group.number, c.group.first, c.group.first+c.group.rows)
	}
	d.Title("column chunk %s: %v, levels up to %d and %d, codec %s", dump.Quote([]byte(strings.Join(l.path, "."))), l.physical, l.rep, l.def, codecOf(c.codec).name)
	pages, err := d.p.pagesOf(c)
	if d.Damaged(err) {
		return
	}
	c.shared = false // its pages are read once
	r := pageReader{p: d.p, c: c}
	defer r.close()
	if c.start < c.dataAt {
		d.Title("dictionary of %s", d.name(c))
		page, err := r.read(-1, c.start, c.dataAt-c.start, 0)
		d.page(&r, page, c.dataAt-c.start, err)
	}
	for i := range pages {
		k := &pages[i]
		d.until(k.offset, "bytes that belong to no page")
		d.Title("page %d of %s: rows %d to %d", i, d.name(c), k.first, k.first+k.rows)
		page, err := r.load(i)
		d.page(&r, page, k.size, err)
		if d.Err != nil {
			return
		}
	}
}

// page dumps a page of size bytes that was read, or that could not be read because of err.
func (d *dumper) page(r *pageReader, page *loadedPage, size int64, err error) {
	end := d.At + size
	if d.Damaged(err) {
		d.until(end, "damaged: %v", err)
		return
	}
	head := make([]byte, page.headSize)
	if d.Err == nil {
		d.Err = damage.ReadFull(d.p.file, head, d.At, d.p.file.Name())
	}
	if d.Err != nil {
		return
	}
	d.items(head, reflect.TypeFor[pq.PageHeader]())
	levels, v2 := int64(len(page.reps)+len(page.defs)), page.head.Type == pq.DataPageV2
	if v2 {
		d.levels(page, 0)
	}
	if stored := end - d.At; r.c.codec != pq.Uncompressed && !(v2 && stored+levels == int64(page.head.Raw)) {
		d.until(end, "%d bytes of %s, %d before compression", stored, codecOf(r.c.codec).name, page.head.Raw)
		return
	}
	if !v2 && page.number >= 0 {
		d.levels(page, 4)
	}
	d.values(r.c.leaf, page)
	d.until(end, "%d bytes of %v", end-d.At, page.encoding)
}

// levels dumps the levels of a page. Each kind follows its length, which has the given number of
// bytes.
func (d *dumper) levels(page *loadedPage, length int64) {
	for _, l := range []struct {
		name string
		b    []byte
	}{{"repetition levels", page.reps}, {"definition levels", page.defs}} {
		if l.b == nil {
			continue
		}
		if length > 0 {
			d.Claim(length, "bytes of %s: %d", l.name, len(l.b))
		}
		d.until(d.At+int64(len(l.b)), "%s of %d entries", l.name, page.entries)
	}
}

// values dumps PLAIN values one by one, and the width of indexes.
func (d *dumper) values(l *leaf, page *loadedPage) {
	b := page.values
	switch e := page.encoding; {
	case page.number >= 0 && dictionaryCoded(e):
		if len(b) > 0 {
			d.Claim(1, "bits of an index: %d", b[0])
		}
		return
	case e != pq.Plain && e != oldDictionary || l.physical == pq.Boolean:
		return
	}
	for len(b) > 0 && d.Err == nil {
		size := l.width()
		if size == 0 && len(b) >= 4 {
			size = 4 + int(min(binary.LittleEndian.Uint32(b), uint32(len(b)-4)))
		}
		if size == 0 || size > len(b) {
			return
		}
		d.Claim(int64(size), "%s", plainText(l, b[:size]))
		b = b[size:]
	}
}

// plainText formats a PLAIN value.
func plainText(l *leaf, b []byte) string {
	switch l.physical {
	case pq.Int32:
		return fmt.Sprint(int32(binary.LittleEndian.Uint32(b)))
	case pq.Int64:
		return fmt.Sprint(int64(binary.LittleEndian.Uint64(b)))
	case pq.Float:
		return fmt.Sprint(float32At(b))
	case pq.Double:
		return fmt.Sprint(float64At(b))
	case pq.ByteArray:
		b = b[4:]
	}
	return dump.Quote(b)
}

// checksums dumps the table of checksums.
func (d *dumper) checksums() {
	d.Title("CRC-32C of page headers, indexes and Bloom filters")
	for i := range d.p.chunks {
		c := &d.p.chunks[i]
		pages := c.pageCount
		if c.start < c.dataAt {
			d.Claim(4, "header of the dictionary of %s", d.name(c))
			pages--
		}
		for k := range pages {
			d.Claim(4, "header of page %d of %s", k, d.name(c))
		}
		if c.columnIndex.size > 0 {
			d.Claim(4, "column index of %s", d.name(c))
		}
		if c.offsetIndex.size > 0 {
			d.Claim(4, "offset index of %s", d.name(c))
		}
		if c.filter.size > 0 {
			d.Claim(4, "Bloom filter of %s", d.name(c))
		}
	}
}
