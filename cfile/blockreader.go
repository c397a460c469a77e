package cfile

import (
	"encoding/binary"
	"fmt"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// blockReader reads blocks of a file, each into the same memory.
type blockReader struct {
	f    *File
	from readBlock
	room column.Room
}

// read reads a block, checks its checksum, and returns the block decompressed and without
// the checksum. It is valid until the next read. The caller has checked the pointer.
func (b *blockReader) read(p Pointer) ([]byte, error) {
	if b.f.footer.Compression == NoCompression {
		if err := b.room.Make(b.f.memory, int64(p.Size)); err != nil {
			return nil, b.refused(p, int64(p.Size), err)
		}
		b.room.Bytes = b.room.Bytes[:p.Size]
		return b.stored(b.room.Bytes, p)
	}
	buf, err := column.StoredBuffer(b.f.memory, int64(p.Size))
	if err != nil {
		return nil, b.refused(p, int64(p.Size), err)
	}
	defer column.ReleaseStored(b.f.memory, buf)
	stored, err := b.stored(*buf, p)
	if err != nil {
		return nil, err
	}
	size, err := decompressedSize(b.f.footer.Compression, b.f.footer.Version, stored)
	if err != nil {
		return nil, b.f.locate(err, p)
	}
	if err := b.room.Make(b.f.memory, int64(size)); err != nil {
		return nil, b.refused(p, int64(size), err)
	}
	raw, err := decompress(b.room.Bytes[:0], b.f.footer.Compression, b.f.footer.Version, stored)
	return raw, b.f.locate(err, p)
}

// stored reads a block as it is in the file into buf, checks its checksum, and returns the
// block without the checksum.
func (b *blockReader) stored(buf []byte, p Pointer) ([]byte, error) {
	n, err := b.from(buf, p.Offset, b.f.footerAt)
	if err := damage.Full(n, err, len(buf), p.Offset, b.f.name); err != nil {
		return nil, err
	}
	end := len(buf) - b.f.footer.checksumSize()
	if b.f.footer.checksums() {
		if err := checkSum(buf[:end], buf[end:], p.Offset, "block"); err != nil {
			damage.SetFile(err, b.f.name)
			return nil, err
		}
		b.f.keepCRC(p.Offset, binary.LittleEndian.Uint32(buf[end:]))
	}
	return buf[:end], nil
}

// refused adds the block to err, which refused memory for it.
func (b *blockReader) refused(p Pointer, size int64, err error) error {
	return fmt.Errorf("%s: a block at offset %d, of %d bytes: %w", b.f.name, p.Offset, size, err)
}

// close releases the memory of the block.
func (b *blockReader) close() { b.room.Release(b.f.memory) }
