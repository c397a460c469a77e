package parquet

import (
	"cmp"
	"slices"

	"github.com/rowtocol/rowtocol/format/damage"
)

// region is a part of the file.
type region struct {
	section
	kind  regionKind
	chunk *partChunk // nil if the region is that of no chunk
}

type regionKind uint8

const (
	headRegion regionKind = iota // the magic
	pagesRegion
	filterRegion
	columnIndexRegion
	offsetIndexRegion
	checksumsRegion
	footerRegion
)

// regions returns the parts of the file, in the order of their offsets.
func (p *part) regions() []region {
	all := []region{{section{0, int64(len(magic))}, headRegion, nil}}
	add := func(kind regionKind, chunk *partChunk, s section) {
		if s.size > 0 {
			all = append(all, region{s, kind, chunk})
		}
	}
	for i := range p.chunks {
		c := &p.chunks[i]
		add(pagesRegion, c, section{c.start, c.end - c.start})
		add(filterRegion, c, c.filter)
		add(columnIndexRegion, c, c.columnIndex)
		add(offsetIndexRegion, c, c.offsetIndex)
	}
	if p.checksums.size > 0 {
		add(checksumsRegion, nil, section{p.footerAt - p.checksums.size, p.checksums.size})
	}
	add(footerRegion, nil, section{p.footerAt, p.file.Size() - p.footerAt})
	slices.SortStableFunc(all, func(a, b region) int { return cmp.Compare(a.offset, b.offset) })
	return all
}

// verifyRegions checks that the parts of the file do not overlap, and that there is nothing
// between them. Other writers may leave gaps.
func (p *part) verifyRegions() error {
	at := int64(0)
	for _, r := range p.regions() {
		//guard: rejects bytes that belong to two parts of the file
		if r.offset < at {
			return damage.New(damage.Size, p.file.Name(), r.offset, "a part of %d bytes overlaps the one that ends at %d", r.size, at)
		}
		//guard: rejects bytes that belong to nothing
		if r.offset > at && p.checksums.size >= 0 {
			return p.gap(at, r.offset)
		}
		at = r.end()
	}
	return nil
}

func (p *part) gap(from, to int64) error {
	return damage.New(damage.Trailing, p.file.Name(), from, "%d bytes belong to nothing", to-from)
}
