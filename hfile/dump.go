package hfile

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/format/dump"
)

// Dump writes every byte of the file with its meaning. It writes the fields of each block's header,
// the payload, the checksums, and the trailer. Data that is not compressed is written cell by cell.
// A block that cannot be read ends the dump with its error. The bytes are as stored.
func (f *Reader) Dump(w io.Writer) error {
	d := &dumper{Dumper: dump.New(w), f: f, s: f.Scan()}
	defer d.s.Close()
	for d.Err == nil && d.At < f.size-trailerSize {
		d.block()
	}
	d.trailer()
	return f.located(d.End())
}

// dumper writes a file's bytes from first to last.
type dumper struct {
	dump.Dumper
	f *Reader
	s *Scanner
}

// block dumps the block at d.At.
func (d *dumper) block() {
	blocks := d.s.data
	h, payload, err := blocks.read(d.At, -1, magics...)
	if err != nil {
		d.Err = err
		return
	}
	d.Title("block %q: %d bytes, %d before compression", h.magic, h.size(), h.raw)
	start := d.At
	d.From(start, bytes.NewReader(blocks.stored), d.f.name)
	d.Claim(int64(magicSize), "magic")
	d.Claim(4, "bytes after the header: %d", h.stored)
	d.Claim(4, "bytes before compression: %d", h.raw)
	d.Claim(8, "block before of its kind: %d", h.previous)
	d.Claim(1, "checksums: %s", h.checksum)
	d.Claim(4, "bytes per checksum: %d", h.perChecksum)
	d.Claim(4, "bytes with checksums: %d", h.covered)
	if h.magic == magicData && d.f.trailer.Codec == None {
		d.cells(payload)
	} else if n := h.payload(); n > 0 {
		d.Claim(int64(n), "payload, codec %s", d.f.trailer.Codec)
	}
	for i := range chunks(h.covered, h.perChecksum) {
		d.Claim(checksumSize, "checksum %d: %08x", i, binary.BigEndian.Uint32(blocks.stored[d.At-start:]))
	}
}

// cells dumps the cells of a data block.
func (d *dumper) cells(payload []byte) {
	s := d.s
	s.offset, s.payload, s.at = d.At-headerSize, payload, 0
	for d.Err == nil && s.at < len(payload) {
		start := s.at
		if err := s.cell(); err != nil {
			d.Err = err
			return
		}
		d.Claim(4, "key bytes: %d", len(s.key))
		d.Claim(4, "value bytes: %d", len(s.value))
		d.Claim(int64(len(s.key)), "key %s", s.key)
		d.Claim(int64(len(s.value)), "value")
		if rest := s.at - start - 8 - len(s.key) - len(s.value); rest > 0 {
			d.Claim(int64(rest), "tags and version")
		}
	}
}

// trailer dumps the end of the file.
func (d *dumper) trailer() {
	if d.Err != nil {
		return
	}
	b := make([]byte, trailerSize)
	if d.Err = damage.ReadFull(d.f.r, b, d.At, d.f.name); d.Err != nil {
		return
	}
	d.From(d.At, bytes.NewReader(b), d.f.name)
	t := d.f.trailer
	d.Title("trailer: %d cells, %d index levels, codec %s, comparator %s", t.Entries, t.Levels, t.Codec, t.Comparator)
	d.Claim(int64(len(magicTrailer)), "magic")
	d.Claim(int64(trailerSize-versionSize-len(magicTrailer)), "file info at %d, indexes at %d, data at %d to %d, and zeros", t.FileInfo, t.LoadOnOpen, t.FirstData, t.LastData)
	d.Claim(versionSize, "version %d.%d", t.Major, t.Minor)
}
