package cfile

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/rowtocol/rowtocol/format/damage"
)

// regionKind is the kind of a region.
type regionKind uint8

const (
	headerRegion regionKind = iota
	dataRegion
	indexRegion
	dictionaryRegion
	footerRegion
)

// region is a range of a file: a block, the header or the footer.
type region struct {
	offset, size int64
	kind         regionKind
	positional   bool  // for an index block: whether the index is the positional one
	level        int   // for an index block: 0 is the root
	ordinal      int64 // for a data block: number of the first row
	data         int   // for a data block: its number
}

func (r *region) pointer() Pointer { return Pointer{r.offset, int32(r.size)} }

// mapped is a map of a file's bytes.
type mapped struct {
	regions []region    // in the order of the file
	blocks  []DataBlock // with ordinals and keys, if the file has such indexes
}

// DataBlock is a data block as the indexes describe it.
type DataBlock struct {
	Pointer
	Ordinal int64  // ordinal of the first row; -1 without a positional index
	Key     []byte // key in the value index; nil without a value index
}

// Blocks returns the data blocks. It reads the indexes each time.
func (f *File) Blocks() ([]DataBlock, error) {
	m, err := f.mapFile()
	return m.blocks, err
}

// mapFile walks the indexes of a file. After an error, m has the regions that were found.
func (f *File) mapFile() (m mapped, err error) {
	m.add(region{size: f.headerSize, kind: headerRegion})
	if f.footer.Positional != nil {
		err = f.mapIndex(&m, *f.footer.Positional, true)
	}
	if f.footer.Value != nil {
		err = cmp.Or(err, f.mapIndex(&m, *f.footer.Value, false))
	}
	for i, b := range m.blocks {
		m.add(region{offset: b.Offset, size: int64(b.Size), kind: dataRegion, ordinal: b.Ordinal, data: i})
	}
	if p := f.footer.Dictionary; p != nil {
		m.add(region{offset: p.Offset, size: int64(p.Size), kind: dictionaryRegion})
	}
	m.add(region{offset: f.footerAt, size: f.size - f.footerAt, kind: footerRegion})
	slices.SortStableFunc(m.regions, func(a, b region) int { return cmp.Compare(a.offset, b.offset) })
	return m, err
}

func (m *mapped) add(r region) { m.regions = append(m.regions, r) }

// mapIndex adds the blocks of an index, and its data blocks unless the other index added them.
func (f *File) mapIndex(m *mapped, root Pointer, positional bool) error {
	known := !positional && f.footer.Positional != nil
	next := 0
	err := f.visit(root, func(n node) error {
		switch {
		case n.index != nil:
			m.add(region{offset: n.Offset, size: int64(n.Size), kind: indexRegion, positional: positional, level: n.level})
			return nil
		case positional:
			b := DataBlock{Pointer: n.Pointer, Ordinal: int64(binary.BigEndian.Uint32(n.key))}
			m.blocks = append(m.blocks, b)
			return nil
		case !known:
			m.blocks = append(m.blocks, DataBlock{Pointer: n.Pointer, Ordinal: -1, Key: bytes.Clone(n.key)})
			return nil
		//guard: rejects a key of another block
		case next == len(m.blocks) || m.blocks[next].Pointer != n.Pointer:
			return damage.New(damage.Header, f.name, n.Offset, "the indexes do not agree on data block %d", next)
		}
		m.blocks[next].Key = bytes.Clone(n.key)
		next++
		return nil
	})
	//guard: rejects blocks without a key
	if err == nil && known && next < len(m.blocks) {
		err = damage.New(damage.Header, f.name, m.blocks[next].Offset, "the value index has %d data blocks, the positional index %d", next, len(m.blocks))
	}
	return err
}

// gap returns the damage of bytes between the offset at and a region. They belong to no block, or
// to two blocks.
func (f *File) gap(at int64, r *region) error {
	if r.offset < at {
		return damage.New(damage.Size, f.name, r.offset, "%d bytes belong to two blocks", at-r.offset)
	}
	return damage.New(damage.Trailing, f.name, at, "%d bytes belong to nothing", r.offset-at)
}
