package cfile

import (
	"encoding/binary"
	"math"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
)

// Metadata keys of a file with a value index, for the keys of its first and last value.
const (
	minKey = "min_key"
	maxKey = "max_key"
)

// keyBound returns the least value whose key begins with the given key of the value index, as an
// encoded value of the column. It is nil for enums and decimals, because their values in the
// column sort in another way than in the file.
func keyBound(c *column.Column, t Type, key []byte) []byte {
	switch {
	case c.Type == column.String || c.Type == column.Bytes && t.Width() == 0 && c.Logical != column.LogicalDecimal:
		return append(binary.AppendVarint(nil, int64(len(key))), key...)
	case t.Width() > 0 && (c.Type == column.Int || c.Type == column.Long):
		if n, ok := keyInteger(t, key); ok {
			return binary.AppendVarint(nil, n)
		}
	}
	return nil
}

// keyInteger is the inverse of AppendKey for integers of up to 8 bytes. Bytes that were cut
// off the key are zero. ok is false for numbers that do not fit an int64.
func keyInteger(t Type, key []byte) (n int64, ok bool) {
	var whole [8]byte
	width := t.Width()
	copy(whole[:width], key)
	u := binary.BigEndian.Uint64(whole[:])
	if types[t].signed {
		return int64(u^1<<63) >> (64 - 8*width), true
	}
	u >>= 64 - 8*width
	return int64(u), u <= math.MaxInt64
}

// setBounds sets the bounds of the blocks of a column without lengths whose file has a value
// index. The key of a data block is not greater than its first value, and not less than
// the last value before it.
func (p *part) setBounds(blocks []format.Block, f *partFile) error {
	file, err := f.open(p)
	if err != nil || len(blocks) == 0 {
		return err
	}
	m, err := file.mapFile()
	if err != nil {
		return err
	}
	c, next := &p.columns[f.column].Column, 0
	for _, d := range m.blocks {
		for next < len(blocks) && blocks[next].FirstRow < d.Ordinal {
			next++
		}
		if next == len(blocks) {
			break
		}
		if blocks[next].FirstRow != d.Ordinal {
			continue
		}
		value := keyBound(c, f.Type, d.Key)
		if blocks[next].Min = value; next > 0 {
			blocks[next-1].Max = value
		}
	}
	if key, ok := file.footer.Get(minKey); ok {
		blocks[0].Min = keyBound(c, f.Type, key)
	}
	if key, ok := file.footer.Get(maxKey); ok {
		blocks[len(blocks)-1].Max = keyBound(c, f.Type, key)
	}
	return nil
}
