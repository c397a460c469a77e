package cfile

import (
	"bytes"
	"fmt"
	"io"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/format/dump"
	"github.com/rowtocol/rowtocol/format/protobuf"
)

// Dump writes every byte of the part with its meaning: the lines of the document, then
// each file block by block, and uncompressed blocks down to the fields of encodings and
// index entries. Blocks that do not decode, and bytes that belong to nothing, are shown
// as bytes. Dump returns the first of these errors at the end.
func (p *part) Dump(w io.Writer) error {
	d := &dumper{Dumper: dump.New(w)}
	if p.document != nil {
		d.document(p)
	}
	for _, f := range p.files {
		if d.Err != nil {
			break
		}
		d.file(p, f)
	}
	return d.End()
}

// dumper writes the bytes of files from first to last.
type dumper struct {
	dump.Dumper
	f     *File
	block blockReader
	rows  rowDecoder
}

// begin begins the dump of a file.
func (d *dumper) begin(f format.File, title string, args ...any) {
	d.Begin(f, f.Size(), f.Name())
	d.Title(title, args...)
}

// until claims the bytes before an offset, if there are any.
func (d *dumper) until(offset int64, label string) {
	if offset > d.At {
		d.Claim(offset-d.At, "%s", label)
	}
}

// document dumps the lines of the document.
func (d *dumper) document(p *part) {
	_, text, err := p.readDocument()
	if err == nil {
		defer p.memory.Release(documentMemory * p.document.Size())
	}
	d.begin(p.document, "%s", documentName)
	if d.Damaged(err) {
		d.Claim(p.document.Size(), "damaged: %v", err)
		return
	}
	for line := range bytes.Lines(text) {
		d.Claim(int64(len(line)), "%.100s", bytes.TrimRight(line, "\n"))
	}
}

// file dumps a file.
func (d *dumper) file(p *part, f *partFile) {
	memory := &column.Reservation{Account: p.memory}
	defer memory.ShrinkTo(0)
	d.begin(f.stored, "%s", d.describe(p, f))
	file, err := f.openBy(p, memory)
	if d.Damaged(err) {
		d.Claim(f.stored.Size(), "damaged: %v", err)
		return
	}
	d.f, d.block, d.rows = file, blockReader{f: file, from: file.readBlock}, rowDecoder{f: file}
	defer func() {
		d.block.close()
		d.rows.close()
	}()
	m, err := file.mapFile()
	d.Damaged(err)
	for i := range m.regions {
		if d.Err != nil {
			return
		}
		r := &m.regions[i]
		if r.offset != d.At {
			d.Damaged(file.gap(d.At, r))
			d.until(r.offset, "damaged: bytes that belong to nothing")
		}
		if r.offset == d.At {
			d.region(r)
		}
	}
	d.until(file.size, "rest")
}

// describe returns the title of a file.
func (d *dumper) describe(p *part, f *partFile) string {
	c := &p.columns[f.column]
	holds := "values"
	if f == c.lengthsFile {
		holds = "lengths"
	}
	return fmt.Sprintf("%s: %s of %s, %v, %s", f.stored.Name(), holds, dump.Quote([]byte(c.Name)), f.Type, f.codec())
}

// region dumps the region that begins at d.At.
func (d *dumper) region(r *region) {
	switch r.kind {
	case headerRegion:
		d.Title("header")
		d.header()
		return
	case footerRegion:
		d.Title("footer")
		d.footer()
		return
	case dictionaryRegion:
		d.Title("dictionary")
	case indexRegion:
		index := "value"
		if r.positional {
			index = "positional"
		}
		d.Title("block of the %s index, level %d", index, r.level)
	case dataRegion:
		if r.ordinal < 0 {
			d.Title("data block %d", r.data)
		} else {
			d.Title("data block %d, from row %d", r.data, r.ordinal)
		}
	}
	raw, err := d.block.read(r.pointer())
	if d.Damaged(err) {
		d.Claim(r.size, "damaged: %v", err)
		return
	}
	sum := int64(d.f.footer.checksumSize())
	if d.f.footer.Compression == NoCompression {
		d.content(r, raw)
		d.until(r.offset+r.size-sum, "rest")
	} else {
		d.compressed(r.size-sum, len(raw))
	}
	if sum > 0 {
		d.Claim(sum, "CRC-32C")
	}
}

// compressed dumps a block of stored bytes that decompress to raw bytes.
func (d *dumper) compressed(stored int64, raw int) {
	c := d.f.footer.Compression
	if d.f.footer.Version == 1 {
		d.Claim(4, "compressed size %d", stored-8)
		d.Claim(4, "uncompressed size %d", raw)
		d.Claim(stored-8, "%d bytes of %v", stored-8, c)
		return
	}
	d.Claim(4, "uncompressed size %d", raw)
	if stored-4 == int64(raw) {
		d.Claim(stored-4, "%d bytes, not compressed", raw)
		return
	}
	d.Claim(stored-4, "%d bytes of %v", stored-4, c)
}

func (d *dumper) header() {
	d.Claim(int64(magicSize), "magic, version %d", d.f.footer.Version)
	size := d.f.headerSize - int64(frameSize) - int64(d.f.footer.checksumSize())
	d.Claim(4, "%d bytes of message", size)
	if size > 0 {
		d.Claim(size, "metadata: %d pairs", len(d.f.header))
	}
	if d.f.footer.checksums() {
		d.Claim(checksumSize, "CRC-32C")
	}
}

// footer dumps the fields of the footer.
func (d *dumper) footer() {
	if d.f.footer.checksums() {
		d.Claim(checksumSize, "CRC-32C")
	}
	size := d.f.size - int64(frameSize) - d.At
	text := make([]byte, size) // at most maxMessage
	if d.Err == nil {
		d.Err = damage.ReadFull(d.f.r, text, d.At, d.f.name)
	}
	if d.Err != nil {
		return
	}
	pairs := d.f.footer.Metadata
	m := protobuf.New("footer", text, d.At)
	for from := 0; m.Next(); from = m.Read() {
		label := d.footerField(int(m.Number))
		if m.Number == footerMetadata && len(pairs) > 0 {
			label = fmt.Sprintf("metadata %s: %s", dump.Quote([]byte(pairs[0].Key)), dump.Quote(pairs[0].Value))
			pairs = pairs[1:]
		}
		d.Claim(int64(m.Read()-from), "%s", label)
	}
	d.Claim(int64(magicSize), "magic, version %d", d.f.footer.Version)
	d.Claim(4, "%d bytes of message", size)
}

// footerField returns the label of a field of the footer.
func (d *dumper) footerField(number int) string {
	f := d.f.footer
	block := func(label string, p *Pointer) string {
		return fmt.Sprintf("%s: %d bytes at %d", label, p.Size, p.Offset)
	}
	switch number {
	case footerType:
		return "type " + f.Type.String()
	case footerEncoding:
		return "encoding " + f.Encoding.String()
	case footerValues:
		return fmt.Sprintf("rows: %d", f.Values)
	case footerPositional:
		return block("root of the positional index", f.Positional)
	case footerValue:
		return block("root of the value index", f.Value)
	case footerCompression:
		return "compression " + f.Compression.String()
	case footerNullable:
		return fmt.Sprintf("nullable: %v", f.Nullable)
	case footerDictionary:
		return block("dictionary", f.Dictionary)
	case footerIncompatible:
		return fmt.Sprintf("incompatible features %#x", f.Incompatible)
	case footerCompatible:
		return fmt.Sprintf("compatible features %#x", f.Compatible)
	}
	return fmt.Sprintf("field %d", number)
}
