package cfile

import (
	"bytes"
	"errors"
	"io"
)

// DataBlock is a data block as an index has it.
type DataBlock struct {
	Pointer
	Ordinal int64  // of the first row; -1 by the value index
	Key     []byte // by the value index, else nil
}

// BlockCursor moves over the data blocks of a file. It is for files that hold no rows, and
// for those who decode blocks themselves; Cursor is for all others. Errors are as those of
// Cursor.
type BlockCursor struct {
	f    *File
	way  *tree
	data blockReader
}

// BlockCursor returns a cursor before the first data block, by the positional index, or by
// the value index if there is no other.
func (f *File) BlockCursor() *BlockCursor {
	c := &BlockCursor{f: f, way: f.tree(true), data: blockReader{f: f, from: f.readBlock}}
	if c.way == nil {
		c.way = f.tree(false)
	}
	return c
}

// Next moves to the next block. The end is io.EOF. The block's key is valid until the next
// move.
func (c *BlockCursor) Next() (DataBlock, error) {
	ok, err := c.way.next()
	if err == nil && !ok {
		err = io.EOF
	}
	if err != nil {
		return DataBlock{}, err
	}
	return c.block(), nil
}

// SeekKey moves, by the value index, to the last block whose key is not greater than key. If
// all are greater it moves before the first one, and returns io.EOF. The block's key is valid
// until the next move.
func (c *BlockCursor) SeekKey(key []byte) (DataBlock, error) {
	if c.way.positional {
		value := c.f.tree(false)
		if value == nil {
			return DataBlock{}, errors.New("cfile: no value index")
		}
		c.way.close()
		c.way = value
	}
	ok, err := c.way.seek(key, false)
	if err == nil && !ok {
		err = io.EOF
	}
	if err != nil {
		return DataBlock{}, err
	}
	return c.block(), nil
}

func (c *BlockCursor) block() DataBlock {
	key, p := c.way.block()
	b := DataBlock{Pointer: p, Ordinal: c.way.ordinal(key)}
	if !c.way.positional {
		b.Key = key
	}
	return b
}

// Read returns a data block, uncompressed and without its checksum, which is compared. It is
// valid until the next Read.
func (c *BlockCursor) Read(b DataBlock) ([]byte, error) { return c.data.read(b.Pointer) }

// Close gives the memory of the cursor back. It is before the first block then.
func (c *BlockCursor) Close() {
	c.way.close()
	c.data.close()
}

// Blocks are the data blocks, by the positional index, or by the value index if there is no
// other. The indexes are read from the file each time.
func (f *File) Blocks() (blocks []DataBlock, err error) {
	c := f.BlockCursor()
	defer c.Close()
	for {
		b, err := c.Next()
		if errors.Is(err, io.EOF) {
			return blocks, nil
		}
		if err != nil {
			return nil, err
		}
		b.Key = bytes.Clone(b.Key)
		blocks = append(blocks, b)
	}
}
