package trevni

import (
	"errors"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// lastBlock is the last decoded block of a column. All cursors of the file share the
// lastBlock of a column with children: each child counts its items with its own cursor
// over the parent, and most of these read the same block.
type lastBlock struct {
	mu    sync.Mutex
	block int
	raw   []byte // never changed
	held  int64  // bytes of raw that are accounted for
}

func (l *lastBlock) get(block int) ([]byte, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.raw, l.raw != nil && l.block == block
}

// put stores a block and returns how many bytes were accounted for the block before it.
func (l *lastBlock) put(block int, raw []byte, held int64) (before int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before = l.held
	l.block, l.raw, l.held = block, raw, held
	return before
}

// blockReader reads the blocks of one column. It reuses its buffer unless it shares it.
type blockReader struct {
	f      *File
	index  int // number of the column
	col    *Column
	last   *lastBlock // nil for a column without children
	blocks []Descriptor
	room   column.Room // memory of the loaded block; accounted for unless the block is shared
	loaded int         // number of the loaded block; -1 if there is none
	crcs   []uint32    // unless nil, gets the CRC-32C of each stored block that is read
}

// Blocks returns the column's block table. It must not be changed.
func (b *blockReader) Blocks() []Descriptor { return b.blocks }

func (b *blockReader) fail(kind damage.Kind, block int, offset int64, reason string, args ...any) *damage.Error {
	err := damage.New(kind, b.f.name, offset, reason, args...)
	err.Column, err.Block = b.col.Name, int64(block)
	return err
}

// read loads a block: it fills room with the checked, uncompressed bytes.
func (b *blockReader) read(block int) error {
	if block == b.loaded {
		return nil
	}
	b.loaded = -1
	if b.last != nil {
		// Another cursor may use the current block as well.
		raw, ok := b.last.get(block)
		if b.room.Bytes = nil; ok {
			b.room.Bytes, b.loaded = raw, block
			return nil
		}
	}
	d := &b.blocks[block]
	//guard: rejects a block that decompresses beyond the limit
	if d.RawSize > b.f.MaxBlock {
		return b.fail(damage.Unsupported, block, d.Offset, "a block of %d bytes exceeds the limit of %d", d.RawSize, b.f.MaxBlock)
	}
	n := d.StoredSize + int64(checksumSize(b.col.Checksum))
	buf, err := column.StoredBuffer(b.f.memory, n)
	if err != nil {
		return b.refused(d, err)
	}
	defer column.ReleaseStored(b.f.memory, buf)
	read, err := b.f.r.ReadBlock(*buf, b.index, d.Offset, b.f.SectionEnd(b.index))
	if err := damage.Full(read, err, len(*buf), d.Offset, b.f.name); err != nil {
		return err
	}
	if b.crcs != nil {
		b.crcs[block] = crc32.Checksum(*buf, castagnoli)
	}
	stored, sum := (*buf)[:d.StoredSize], (*buf)[d.StoredSize:]
	err = b.decode(block, stored)
	//guard: rejects damaged values
	if err == nil {
		err = b.check(block, sum)
	}
	if err != nil {
		b.drop()
		return err
	}
	b.share(block)
	b.loaded = block
	return nil
}

// decode decompresses a block into room.
func (b *blockReader) decode(block int, stored []byte) error {
	d := &b.blocks[block]
	z := decompressors.Get().(*decompressor)
	defer decompressors.Put(z)
	err := z.check(b.col.Codec, stored, d.RawSize)
	if err == nil {
		// Room for one more byte shows whether the block has more bytes than it should.
		if err := b.room.Make(b.f.memory, d.RawSize+1); err != nil {
			return b.refused(d, err)
		}
		b.room.Bytes, err = z.decode(b.col.Codec, b.room.Bytes, stored, d.RawSize)
	}
	if err == nil {
		return nil
	}
	kind := damage.Codec
	if errors.Is(err, errRawSize) {
		kind = damage.Size
	}
	e := b.fail(kind, block, d.Offset, "%d bytes cannot be decoded to %d", d.StoredSize, d.RawSize)
	e.Err = err
	return e
}

// refused returns the error for a block for which there is not enough memory.
func (b *blockReader) refused(d *Descriptor, err error) error {
	return fmt.Errorf("column %s: a block of %d bytes, %d uncompressed: %w", b.col.Name, d.StoredSize, d.RawSize, err)
}

// share shares the block with all cursors of the column, if the column has children. -1 means
// no block.
func (b *blockReader) share(block int) {
	if b.last != nil {
		b.f.memory.Release(b.last.put(block, b.room.Bytes, b.room.Held))
		b.room.Held = 0
	}
}

// drop releases the memory of the block, unless it is shared.
func (b *blockReader) drop() {
	b.room.Release(b.f.memory)
	b.loaded = -1
}

// check compares the stored checksum sum with the checksum of the block.
func (b *blockReader) check(block int, sum []byte) error {
	if len(sum) == 0 {
		return nil
	}
	var own [4]byte
	appendChecksum(own[:0], b.col.Checksum, b.room.Bytes)
	want, got := readChecksum(b.col.Checksum, sum), readChecksum(b.col.Checksum, own[:])
	if want == got {
		return nil
	}
	if want == 0 {
		java, err := b.javasZeros()
		if err != nil {
			return err
		}
		if java {
			b.f.unverified.Store(true)
			return nil
		}
	}
	d := &b.blocks[block]
	return b.fail(damage.Checksum, block, d.Offset, "the stored %s is %08x, the block's is %08x", b.col.Checksum, want, got)
}

// javasZeros reports whether every checksum of the column is 0, as Java writes them with the
// codec null. A single 0 among other checksums is damage.
func (b *blockReader) javasZeros() (bool, error) {
	zeros := &b.f.tables[b.index].zeros
	if zeros.Load() {
		return true, nil
	}
	//guard: rejects a checksum of 0 in a file that Java cannot have written
	if b.col.Codec != "null" || b.col.Checksum != ChecksumJava || b.f.h.protected {
		return false, nil
	}
	var sum [4]byte
	for i := range b.blocks {
		if err := damage.ReadFull(b.f.r, sum[:], b.blocks[i].Offset+b.blocks[i].StoredSize, b.f.name); err != nil {
			return false, err
		}
		//guard: rejects a checksum of 0 if the column has other checksums
		if sum != [4]byte{} {
			return false, nil
		}
	}
	zeros.Store(true)
	return true, nil
}
