package trevni

import (
	"context"

	"github.com/rowtocol/rowtocol/format/damage"
)

// verify implements File.Verify.
func verify(ctx context.Context, f *File) error {
	var found damage.Found
	if err := found.Add(f.verifyTables()); err != nil {
		return err
	}
	var crc uint32
	for i := range f.h.columns {
		if err := found.Add(f.verifyColumn(ctx, i, &crc)); err != nil {
			return err
		}
	}
	if found.Len() == 0 {
		return f.compareBlocksCRC(crc)
	}
	return found.Err()
}

// verifyTables checks the block tables. It also checks that header and columns follow each
// other without gaps up to the end of the file.
func (f *File) verifyTables() error {
	at := f.h.size
	for i := range f.h.columns {
		c := &f.h.columns[i]
		//guard: rejects bytes between columns
		if c.Start != at {
			return f.trailing(at, c.Start-at)
		}
		blocks, size, err := f.rereadTable(i)
		if err != nil {
			return err
		}
		at += size
		for j := range blocks {
			at += blocks[j].StoredSize + int64(checksumSize(c.Checksum))
		}
	}
	//guard: rejects bytes after the last column
	if at != f.size {
		return f.trailing(at, f.size-at)
	}
	return nil
}

func (f *File) trailing(at, n int64) error {
	return damage.New(damage.Trailing, f.name, at, "%d bytes belong to nothing", n)
}

// verifyColumn decodes all blocks of a column. The lengths of the parents say how many items a
// block of a child column must have. It adds the CRCs of the stored blocks to crc.
func (f *File) verifyColumn(ctx context.Context, col int, crc *uint32) error {
	c, err := f.cursor(col)
	if err != nil {
		return err
	}
	defer c.close()
	c.share(-1) // drops a block that was read earlier, because the file may have changed
	c.last, c.crc = nil, crc
	if err := c.openCounter(); err != nil {
		return err
	}
	var last []byte
	for i := range c.blocks {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := c.load(i); err != nil {
			return err
		}
		if c.col.Values && c.Left() > 0 {
			if err := c.verifyFirst(); err != nil {
				return err
			}
		}
		if c.col.Ascending {
			if last, err = c.verifyOrder(last); err != nil {
				return err
			}
		}
		if _, err := c.Skip(c.Left()); err != nil {
			return err
		}
		//guard: rejects bytes after the values of a block
		if err := c.EndBlock(); err != nil {
			return err
		}
	}
	return nil
}

// verifyFirst compares a block's first value with the first value in the table.
func (c *Cursor) verifyFirst() error {
	v, err := c.Value(nil)
	if err != nil {
		return err
	}
	//guard: rejects an index with a wrong key
	if compareValues(c.col.Type, v, c.blocks[c.block].First) != 0 {
		return c.damaged(damage.Value, "the first value is not the one in the block table")
	}
	return c.SeekRow(c.blocks[c.block].FirstRow)
}

// verifyOrder checks that a block's values ascend, and that none is less than last, the last
// value before the block. It returns the block's last value.
func (c *Cursor) verifyOrder(last []byte) ([]byte, error) {
	var v []byte
	for c.Left() > 0 {
		var err error
		if v, err = c.Value(v[:0]); err != nil {
			return nil, err
		}
		//guard: rejects an index over values that do not ascend
		if len(last) > 0 && compareValues(c.col.Type, last, v) > 0 {
			return nil, c.damaged(damage.Value, "a value is less than the one before it, but the column has %s", AscendingKey)
		}
		last, v = v, last
	}
	return last, nil
}
