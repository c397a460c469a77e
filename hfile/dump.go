package hfile

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// Dump writes every byte of the file with what it means: the fields of each block's header,
// its payload, of data that is not compressed cell by cell, its checksums, and the trailer. A
// block that cannot be read ends the dump with its error. Bytes after an offset are those of
// the file.
func (f *Reader) Dump(w io.Writer) error {
	d := &dumper{f: f, w: bufio.NewWriter(w), s: f.Scan()}
	defer d.s.Close()
	for d.err == nil && d.at < f.size-trailerSize {
		d.block()
	}
	d.trailer()
	if err := d.w.Flush(); err != nil && d.err == nil {
		d.err = fmt.Errorf("%s: writing the dump: %w", f.name, err)
	}
	return f.located(d.err)
}

// dumper writes a file's bytes from first to last.
type dumper struct {
	f   *Reader
	w   *bufio.Writer
	s   *Scanner
	at  int64  // of the first byte not yet written
	buf []byte // of the block from there on
	err error
}

// dumpWidth is the number of bytes on a line.
const dumpWidth = 16

// claim writes the next n bytes, with a label on the first line.
func (d *dumper) claim(n int, label string, args ...any) {
	label = fmt.Sprintf(label, args...)
	for first := true; d.err == nil && (n > 0 || first); first = false {
		b := d.buf[:min(n, dumpWidth)]
		if first {
			_, d.err = fmt.Fprintf(d.w, "%08x  %-*s  %s\n", d.at, 3*dumpWidth-1, fmt.Sprintf("% x", b), label)
		} else {
			_, d.err = fmt.Fprintf(d.w, "%08x  % x\n", d.at, b)
		}
		d.buf, d.at, n = d.buf[len(b):], d.at+int64(len(b)), n-len(b)
	}
}

// block dumps the block at d.at.
func (d *dumper) block() {
	blocks := d.s.data
	h, payload, err := blocks.read(d.at, -1, magics...)
	if err != nil {
		d.err = err
		return
	}
	if _, d.err = fmt.Fprintf(d.w, "\nblock %q: %d bytes, %d before compression\n", h.magic, h.size(), h.raw); d.err != nil {
		return
	}
	d.buf = blocks.stored
	d.claim(magicSize, "magic")
	d.claim(4, "bytes after the header: %d", h.stored)
	d.claim(4, "bytes before compression: %d", h.raw)
	d.claim(8, "block before of its kind: %d", h.previous)
	d.claim(1, "checksums: %s", h.checksum)
	d.claim(4, "bytes per checksum: %d", h.perChecksum)
	d.claim(4, "bytes with checksums: %d", h.covered)
	if h.magic == magicData && d.f.trailer.Codec == None {
		d.cells(payload)
	} else if n := h.payload(); n > 0 {
		d.claim(n, "payload, codec %s", d.f.trailer.Codec)
	}
	for i := range chunks(h.covered, h.perChecksum) {
		d.claim(checksumSize, "checksum %d: %08x", i, binary.BigEndian.Uint32(d.buf))
	}
}

// cells dumps the cells of a data block.
func (d *dumper) cells(payload []byte) {
	s := d.s
	s.offset, s.payload, s.at = d.at-headerSize, payload, 0
	for d.err == nil && s.at < len(payload) {
		start := s.at
		if err := s.cell(); err != nil {
			d.err = err
			return
		}
		d.claim(4, "key bytes: %d", len(s.key))
		d.claim(4, "value bytes: %d", len(s.value))
		d.claim(len(s.key), "key %s", s.key)
		d.claim(len(s.value), "value")
		if rest := s.at - start - 8 - len(s.key) - len(s.value); rest > 0 {
			d.claim(rest, "tags and version")
		}
	}
}

// trailer dumps the end of the file.
func (d *dumper) trailer() {
	if d.err != nil {
		return
	}
	d.buf = make([]byte, trailerSize)
	if d.err = readFull(d.f.r, d.buf, d.at); d.err != nil {
		return
	}
	t := d.f.trailer
	_, d.err = fmt.Fprintf(d.w, "\ntrailer: %d cells, %d index levels, codec %s, comparator %s\n", t.Entries, t.Levels, t.Codec, t.Comparator)
	d.claim(len(magicTrailer), "magic")
	d.claim(trailerSize-versionSize-len(magicTrailer), "file info at %d, indexes at %d, data at %d to %d, and zeros", t.FileInfo, t.LoadOnOpen, t.FirstData, t.LastData)
	d.claim(versionSize, "version %d.%d", t.Major, t.Minor)
}
