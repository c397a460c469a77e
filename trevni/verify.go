package trevni

import (
	"context"
	"hash/crc32"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/damage"
)

// verify implements File.Verify. It verifies columns, and ranges of their blocks, with run.
func verify(ctx context.Context, f *File, run format.Runner) error {
	var found damage.Found
	if err := found.Add(f.verifyTables()); err != nil {
		return err
	}
	crcs := make([][]uint32, len(f.h.columns)) // of the stored blocks, by column; nil after damage
	if found.Len() == 0 {
		all := int64(0)
		for i := range f.tables {
			all += int64(len(f.tables[i].blocks))
		}
		if err := f.memory.Reserve(crc32.Size * all); err != nil {
			return err
		}
		defer f.memory.Release(crc32.Size * all)
		for i := range crcs {
			crcs[i] = make([]uint32, len(f.tables[i].blocks))
		}
	}
	damaged, err := run.Check(ctx, len(crcs), func(ctx context.Context, i int) error {
		return f.verifyColumn(ctx, run, i, crcs[i])
	})
	if err != nil {
		return err
	}
	for _, d := range damaged {
		_ = found.Add(d) // damage is kept
	}
	if found.Len() == 0 {
		return f.compareBlocksCRC(crcs)
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

// verifyRange is how many bytes of a column's blocks are verified one after another.
var verifyRange = int64(2 << 20) // less in tests

// verifyColumn decodes all blocks of a column, and keeps the CRCs of the stored blocks in crcs,
// unless it is nil. Ranges of blocks are verified apart, except if all values must ascend.
func (f *File) verifyColumn(ctx context.Context, run format.Runner, col int, crcs []uint32) error {
	blocks, err := f.Blocks(col)
	if err != nil {
		return err
	}
	starts, size := []int{0}, int64(0)
	for i := range blocks {
		if size > verifyRange && !f.h.columns[col].Ascending {
			starts, size = append(starts, i), 0
		}
		size += blocks[i].RawSize
	}
	ends := append(starts[1:], len(blocks))
	return run.First(ctx, len(starts), func(ctx context.Context, i int) error {
		return f.verifyBlocks(ctx, col, starts[i], ends[i], crcs)
	})
}

// verifyBlocks decodes the blocks of a column from start to end. The lengths of the parents say
// how many items a block of a child column must have. Its cursors share no blocks with others,
// because the file may have changed since these were read, and because each of several
// goroutines accounts for its own memory.
func (f *File) verifyBlocks(ctx context.Context, col, start, end int, crcs []uint32) error {
	c, err := f.cursor(col)
	if err != nil {
		return err
	}
	c.room.Reuse(f.memory)
	defer func() {
		c.room.Recycle(f.memory)
		c.close()
	}()
	c.alone, c.last, c.crcs = true, nil, crcs
	if err := c.openCounter(); err != nil {
		return err
	}
	var last []byte
	for i := start; i < end; i++ {
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
