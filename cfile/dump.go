package cfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/format/protobuf"
)

// Dump writes every byte of the part with what it means: the lines of the document, then
// each file block by block, and what is not compressed down to the fields of encodings and
// index entries. Blocks that cannot be decoded, and bytes that belong to nothing, are shown
// as bytes; the first of such errors is returned at the end.
func (p *part) Dump(w io.Writer) error {
	d := &dumper{w: bufio.NewWriter(w)}
	if p.document != nil {
		d.document(p)
	}
	for _, f := range p.files {
		if d.err != nil {
			break
		}
		d.file(p, f)
	}
	if err := d.w.Flush(); err != nil && d.err == nil {
		d.err = fmt.Errorf("writing the dump: %w", err)
	}
	if d.err == nil {
		d.err = d.bad
	}
	return d.err
}

// dumper writes the bytes of files from first to last.
type dumper struct {
	in   *bufio.Reader // stands at at
	name string        // of the file
	w    *bufio.Writer
	at   int64 // of the first byte not yet written
	err  error // ends the dump
	bad  error // the first damage, which did not

	f     *File
	block blockReader
	rows  rowDecoder
}

const (
	// dumpWidth is the number of bytes on a line.
	dumpWidth = 16
	// dumpBuffer is how much is read at once, which on remote storage is a request.
	dumpBuffer = 1 << 20
)

// begin begins with a file.
func (d *dumper) begin(f format.File, title string, args ...any) {
	in := io.NewSectionReader(f, 0, f.Size())
	d.in, d.name, d.at = bufio.NewReaderSize(in, int(min(f.Size(), dumpBuffer))), f.Name(), 0
	d.title(title, args...)
}

// claim writes the next n bytes, with a label on the first line.
func (d *dumper) claim(n int64, label string, args ...any) {
	label = fmt.Sprintf(label, args...)
	if n == 0 && d.err == nil {
		d.line(nil, label)
	}
	var buf [dumpWidth]byte
	for n > 0 && d.err == nil {
		b := buf[:min(n, dumpWidth)]
		read, err := io.ReadFull(d.in, b)
		if d.err = damage.Full(read, err, len(b), d.at, d.name); d.err != nil {
			return
		}
		d.line(b, label)
		n, label = n-int64(len(b)), ""
	}
}

// until claims the bytes before an offset, if there are any.
func (d *dumper) until(offset int64, label string) {
	if offset > d.at {
		d.claim(offset-d.at, "%s", label)
	}
}

func (d *dumper) line(b []byte, label string) {
	if label == "" {
		_, d.err = fmt.Fprintf(d.w, "%08x  % x\n", d.at, b)
	} else {
		_, d.err = fmt.Fprintf(d.w, "%08x  %-*s  %s\n", d.at, 3*dumpWidth-1, fmt.Sprintf("% x", b), label)
	}
	d.at += int64(len(b))
}

// title writes a line without bytes.
func (d *dumper) title(format string, args ...any) {
	if d.err == nil {
		_, d.err = fmt.Fprintf(d.w, "\n"+format+"\n", args...)
	}
}

// damaged notes damage, and makes any other error end the dump. It is false for no error.
func (d *dumper) damaged(err error) bool {
	switch {
	case err == nil:
		return false
	case !errors.As(err, new(*damage.Error)):
		d.err = err
	case d.bad == nil:
		d.bad = err
	}
	return true
}

// document dumps the lines of the document.
func (d *dumper) document(p *part) {
	_, text, err := p.readDocument()
	if err == nil {
		defer p.memory.Release(documentMemory * p.document.Size())
	}
	d.begin(p.document, "%s", documentName)
	if d.damaged(err) {
		d.claim(p.document.Size(), "damaged: %v", err)
		return
	}
	for line := range bytes.Lines(text) {
		d.claim(int64(len(line)), "%.100s", bytes.TrimRight(line, "\n"))
	}
}

// file dumps a file.
func (d *dumper) file(p *part, f *partFile) {
	memory := &column.Reservation{Of: p.memory}
	defer memory.ShrinkTo(0)
	d.begin(f.stored, "%s", d.describe(p, f))
	file, err := f.openBy(p, memory)
	if d.damaged(err) {
		d.claim(f.stored.Size(), "damaged: %v", err)
		return
	}
	d.f, d.block, d.rows = file, blockReader{f: file, from: file.readBlock}, rowDecoder{f: file}
	defer func() { d.block.close() }()
	m, err := file.mapFile()
	d.damaged(err)
	for i := range m.regions {
		if d.err != nil {
			return
		}
		r := &m.regions[i]
		if r.offset != d.at {
			d.damaged(file.gap(d.at, r))
			d.until(r.offset, "damaged: bytes that belong to nothing")
		}
		if r.offset == d.at {
			d.region(r)
		}
	}
	d.until(file.size, "rest")
}

// describe is the title of a file.
func (d *dumper) describe(p *part, f *partFile) string {
	of := &p.columns[f.column]
	holds := "values"
	if f == of.lengthsFile {
		holds = "lengths"
	}
	return fmt.Sprintf("%s: %s of %s, %v, %s", f.stored.Name(), holds, quote([]byte(of.Name)), f.Type, f.codec())
}

// quote shows the start of a string.
func quote(b []byte) string {
	const most = 48
	if len(b) > most {
		return fmt.Sprintf("%q… (%d bytes)", b[:most], len(b))
	}
	return fmt.Sprintf("%q", b)
}

// region dumps a region, at whose start the dump is.
func (d *dumper) region(r *region) {
	switch r.kind {
	case headerRegion:
		d.title("header")
		d.header()
		return
	case footerRegion:
		d.title("footer")
		d.footer()
		return
	case dictionaryRegion:
		d.title("dictionary")
	case indexRegion:
		what := "value"
		if r.positional {
			what = "positional"
		}
		d.title("block of the %s index, level %d", what, r.level)
	case dataRegion:
		if r.ordinal < 0 {
			d.title("data block %d", r.data)
		} else {
			d.title("data block %d, from row %d", r.data, r.ordinal)
		}
	}
	raw, err := d.block.read(r.pointer())
	if d.damaged(err) {
		d.claim(r.size, "damaged: %v", err)
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
		d.claim(sum, "CRC-32C")
	}
}

// compressed dumps a block of stored bytes, which are raw bytes compressed.
func (d *dumper) compressed(stored int64, raw int) {
	c := d.f.footer.Compression
	if d.f.footer.Version == 1 {
		d.claim(4, "compressed size %d", stored-8)
		d.claim(4, "uncompressed size %d", raw)
		d.claim(stored-8, "%d bytes of %v", stored-8, c)
		return
	}
	d.claim(4, "uncompressed size %d", raw)
	if stored-4 == int64(raw) {
		d.claim(stored-4, "%d bytes, not compressed", raw)
		return
	}
	d.claim(stored-4, "%d bytes of %v", stored-4, c)
}

func (d *dumper) header() {
	d.claim(int64(magicSize), "magic, version %d", d.f.footer.Version)
	size := d.f.headerSize - int64(frameSize) - int64(d.f.footer.checksumSize())
	d.claim(4, "%d bytes of message", size)
	if size > 0 {
		d.claim(size, "metadata: %d pairs", len(d.f.header))
	}
	if d.f.footer.checksums() {
		d.claim(checksumSize, "CRC-32C")
	}
}

// footer dumps the fields of the footer.
func (d *dumper) footer() {
	if d.f.footer.checksums() {
		d.claim(checksumSize, "CRC-32C")
	}
	size := d.f.size - int64(frameSize) - d.at
	text := make([]byte, size) // at most maxMessage
	if d.err == nil {
		d.err = damage.ReadFull(d.f.r, text, d.at, d.name)
	}
	if d.err != nil {
		return
	}
	pairs := d.f.footer.Metadata
	m := protobuf.New("footer", text, d.at)
	for from := 0; m.Next(); from = m.Read() {
		label := d.footerField(int(m.Number))
		if m.Number == footerMetadata && len(pairs) > 0 {
			label = fmt.Sprintf("metadata %s: %s", quote([]byte(pairs[0].Key)), quote(pairs[0].Value))
			pairs = pairs[1:]
		}
		d.claim(int64(m.Read()-from), "%s", label)
	}
	d.claim(int64(magicSize), "magic, version %d", d.f.footer.Version)
	d.claim(4, "%d bytes of message", size)
}

// footerField is what a field of the footer says.
func (d *dumper) footerField(number int) string {
	is := d.f.footer
	block := func(what string, p *Pointer) string {
		return fmt.Sprintf("%s: %d bytes at %d", what, p.Size, p.Offset)
	}
	switch number {
	case footerType:
		return "type " + is.Type.String()
	case footerEncoding:
		return "encoding " + is.Encoding.String()
	case footerValues:
		return fmt.Sprintf("rows: %d", is.Values)
	case footerPositional:
		return block("root of the positional index", is.Positional)
	case footerValue:
		return block("root of the value index", is.Value)
	case footerCompression:
		return "compression " + is.Compression.String()
	case footerNullable:
		return fmt.Sprintf("nullable: %v", is.Nullable)
	case footerDictionary:
		return block("dictionary", is.Dictionary)
	case footerIncompatible:
		return fmt.Sprintf("incompatible features %#x", is.Incompatible)
	case footerCompatible:
		return fmt.Sprintf("compatible features %#x", is.Compatible)
	}
	return fmt.Sprintf("field %d", number)
}
