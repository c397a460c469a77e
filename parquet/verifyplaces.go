package parquet

import "github.com/rowtocol/rowtocol/format/damage"

// aroundSum is a checksum of the levels of a place around a leaf. It is the sum of the checksums of
// the rows, so that it does not depend on where pages begin.
type aroundSum struct {
	column int
	levelPair
	before uint64 // sum of the rows before the current one
	row    uint64 // checksum of the current row up to now
}

// add adds levels. first is the number of the first row that begins in them.
func (s *aroundSum) add(reps, defs []uint32, first uint64) {
	for i, def := range defs {
		if reps[i] == 0 {
			s.before += s.row
			s.row = first * 0x9e3779b97f4a7c15 // so that the order of the rows matters
			first++
		}
		if reps[i] <= s.rep {
			s.row = (s.row ^ uint64(reps[i])<<32 ^ uint64(min(def, s.def))) * 0x100000001b3 // as FNV-1
			s.row ^= s.row >> 29
		}
	}
}

// total returns the sum of all rows.
func (s *aroundSum) total() uint64 { return s.before + s.row }

// placeSum is a checksum of the levels of a place, by the leaf that was verified first.
type placeSum struct {
	sum  uint64
	leaf string
}

// verifyPlaces compares the levels of the places around a leaf with those that other leaves have.
func (p *part) verifyPlaces(c *partChunk, around []aroundSum, places map[int]placeSum) error {
	for _, a := range around {
		first, ok := places[a.column]
		if !ok {
			places[a.column] = placeSum{a.total(), c.leaf.Name}
			continue
		}
		//guard: rejects columns whose levels contradict each other
		if first.sum != a.total() {
			return p.damaged(c, -1, damage.Count, -1, "the levels of %q differ from those in column %q", p.tree.mapping.Columns[a.column].Name, first.leaf)
		}
	}
	return nil
}
