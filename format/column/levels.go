package column

// A word of Block.Lengths with layout Levels is a run of equal levels: the definition level in
// the low bits, then the repetition level, then the number of entries less one.
const (
	defBits = 11
	repBits = 10
	// MaxDef and MaxRep are the highest levels that a word can hold.
	MaxDef = 1<<defBits - 1
	MaxRep = 1<<repBits - 1
	// maxRun is the most entries of a word.
	maxRun = 1 << (32 - defBits - repBits)
	// maxPending is the number of complete words at which a place passes its pending entries
	// to the columns below it.
	maxPending = 64
	// maxPassed bounds the words that a row passes to leaves. A few bytes of a row can be
	// nulls above a hundred thousand leaves.
	maxPassed = 1 << 23
)

// LevelRun returns the levels in a word of Block.Lengths with layout Levels, and the number
// of consecutive entries that have these levels.
func LevelRun(word uint32) (rep, def, count int) {
	return int(word >> defBits & MaxRep), int(word & MaxDef), int(word>>(defBits+repBits)) + 1
}

// runs is a list of entries. Its words depend only on the entries.
type runs struct {
	// levels and count are the run that still grows, which is not in words. levels is a word
	// without a count.
	levels, count uint32
	words         []uint32
}

// add adds an entry. It reports whether this completed a word.
func (r *runs) add(levels uint32) bool {
	if r.levels == levels && r.count < maxRun {
		r.count++
		return false
	}
	return r.next(levels)
}

// next begins a run with one entry.
func (r *runs) next(levels uint32) (completed bool) {
	completed = r.complete()
	r.levels, r.count = levels, 1
	return completed
}

// complete ends the run that grows.
func (r *runs) complete() bool {
	if r.count == 0 {
		return false
	}
	r.words = append(r.words, r.levels|(r.count-1)<<(defBits+repBits))
	r.count = 0
	return true
}

// addRun adds n equal entries. It reports whether this completed a word.
func (r *runs) addRun(levels, n uint32) (completed bool) {
	for n > 0 {
		if r.count > 0 && (r.levels != levels || r.count == maxRun) {
			completed = r.complete()
		}
		more := min(n, maxRun-r.count)
		r.levels, r.count, n = levels, r.count+more, n-more
	}
	return completed
}

// addAll adds the entries of another list. It reports whether this completed a word.
func (r *runs) addAll(from *runs) bool {
	before := len(r.words)
	rest := from.words
	for len(rest) > 0 && r.count > 0 && r.levels == rest[0]&(1<<(defBits+repBits)-1) {
		// The words of a long run can be divided at other entries than in from.
		r.addRun(r.levels, rest[0]>>(defBits+repBits)+1)
		rest = rest[1:]
	}
	if len(rest) > 0 {
		r.complete()
		r.words = append(r.words, rest...)
	}
	if from.count > 0 {
		r.addRun(from.levels, from.count)
	}
	return len(r.words) > before
}

func (r *runs) reset() { r.words, r.count = r.words[:0], 0 }

// len returns the number of words, with that of the run that grows.
func (r *runs) len() int {
	if r.count > 0 {
		return len(r.words) + 1
	}
	return len(r.words)
}

// place has what a column needs if other columns are below it.
// The runs of its Buffer are pending entries for all columns below except the required ones:
// the nulls since its last value. They are passed down, to the columns directly below, when
// the place gets a value.
type place struct {
	optional bool // a branch of a union, not a list
	begun    bool // the open list has an item
	// others are the columns directly below that are not required.
	others []*Buffer
	// required are the leaves directly below whose levels are those of the place: they have
	// an entry with the same levels for each null and each value of it. shared are their
	// pending entries.
	required []*Buffer
	shared   runs
}

// link prepares the buffers for layout Levels.
func (s *Buffers) link(cols []Column) {
	s.places, s.above = make([]*place, len(cols)), make([]int32, len(cols))
	for i := range cols {
		p := cols[i].Parent
		if s.above[i] = int32(p); p >= 0 && s.places[p] == nil {
			s.places[p] = &place{optional: cols[p].Optional}
			s.Cols[p].repeatedLength = ofPlace
		}
	}
	for i := range cols {
		b, c := &s.Cols[i], &cols[i]
		b.def, b.rep = c.Def, c.Rep
		around := uint16(0)
		if c.Parent >= 0 {
			around = cols[c.Parent].Def
		}
		if !b.Place() && c.Type == Null && !c.Optional && (!c.Array || c.Def > around+1) {
			b.def-- // of type null, or an array of nulls: no entry has a value
		}
		if c.Parent < 0 {
			continue
		}
		if p := s.places[c.Parent]; b.required(&s.Cols[c.Parent]) {
			p.required = append(p.required, b)
		} else {
			p.others = append(p.others, b)
		}
	}
}

// Layout returns the layout of the buffers.
func (s *Buffers) Layout() Layout { return s.layout }

// Place reports whether the column has columns below it and the layout is Levels. Then it has
// no entries of its own.
func (b *Buffer) Place() bool { return b.repeatedLength == ofPlace }

func (b *Buffer) place() *place { return b.set.places[b.index] }

// now returns the levels of an entry that is added now.
func (b *Buffer) now(def uint16) uint32 {
	if b.rep == 0 {
		return uint32(def) // the column is in no list
	}
	return uint32(def) | b.set.rep
}

// lengthLevels is Length with layout Levels. The length of a list that is a place only
// matters if it is 0. Otherwise Item is called for each item.
func (b *Buffer) lengthLevels(n uint32) {
	switch {
	case n == 0:
		b.absent(b.def - 1)
	case b.Place():
		if p := b.place(); p.optional {
			b.present(p)
		}
	default:
		b.entry(b.now(b.def))
		if n > 1 && b.addRun(uint32(b.def)|uint32(b.rep)<<defBits, n-1) {
			b.grown()
		}
	}
}

// Null adds the entry of a branch of a union, with layout Levels, when null is chosen in a
// union that also has other branches.
func (b *Buffer) Null() { b.absent(b.def - 2) }

// Entry adds the entry of a column of type null that has no Parent, with layout Levels.
func (b *Buffer) Entry() { b.entry(b.now(b.def)) }

// BeginList begins a list of a Place. EndList must be called at its end, with the result.
func (b *Buffer) BeginList() (around uint32) {
	b.place().begun = false
	return b.set.rep
}

// EndList ends a list of a Place.
func (b *Buffer) EndList(around uint32) { b.set.rep = around }

// Item begins an item of a list of a Place.
func (b *Buffer) Item() {
	p := b.place()
	if p.begun {
		b.set.rep = uint32(b.rep) << defBits
	}
	p.begun = true
	b.present(p)
}

// EndRow ends a row with layout Levels. It returns false, and the blocks are lost, if the
// levels of the row take too much memory.
func (s *Buffers) EndRow() bool {
	ok := s.passed <= maxPassed
	s.passed = 0
	return ok
}

// entry adds an entry of a leaf.
func (b *Buffer) entry(levels uint32) {
	if b.add(levels) {
		b.grown()
	}
}

// grown is called when a leaf has more words.
func (b *Buffer) grown() {
	if len(b.words) >= int(b.mostWords) {
		b.full()
	}
}

// absent adds an entry without a value. In a place it is pending.
func (b *Buffer) absent(def uint16) {
	levels := b.now(def)
	if !b.Place() {
		b.entry(levels)
		return
	}
	p := b.place()
	if b.add(levels) && len(b.words) >= maxPending {
		b.pass(p)
	}
	if len(p.required) > 0 && p.shared.add(levels) && len(p.shared.words) >= maxPending {
		p.share()
	}
}

// present adds a value of a place.
func (b *Buffer) present(p *place) {
	if b.count > 0 {
		b.pass(p)
	}
	if len(p.required) > 0 && p.shared.add(b.now(b.def)) && len(p.shared.words) >= maxPending {
		p.share()
	}
}

// pass moves the pending entries of a place down to the columns that are not required.
func (b *Buffer) pass(p *place) {
	for _, c := range p.others {
		c.take(&b.runs)
	}
	b.reset()
}

// share moves the shared entries of a place down to the required leaves.
func (p *place) share() {
	for _, c := range p.required {
		c.take(&p.shared)
	}
	p.shared.reset()
}

// take adds entries from the place above.
func (b *Buffer) take(from *runs) {
	if b.Place() {
		p := b.place()
		if b.addAll(from) && len(b.words) >= maxPending {
			b.pass(p)
		}
		if len(p.required) > 0 && p.shared.addAll(from) && len(p.shared.words) >= maxPending {
			p.share()
		}
		return
	}
	if !b.set.settling {
		b.set.passed += len(from.words)
		//guard: bounds the memory for the levels of a row
		if b.set.passed > maxPassed {
			return
		}
	}
	if b.addAll(from) {
		b.grown()
	}
}

// required reports whether the levels of a leaf are those of the place above it.
func (b *Buffer) required(above *Buffer) bool { return !b.Place() && b.def == above.def }

// pending returns the number of words that are pending for a leaf in the places above it.
func (b *Buffer) pending() (words int) {
	for c := b; b.set.above[c.index] >= 0; {
		above := &b.set.Cols[b.set.above[c.index]]
		if c.required(above) {
			words += above.place().shared.len()
		} else {
			words += above.runs.len()
		}
		c = above
	}
	return words
}

// settle moves down all that is pending above a column.
func (b *Buffer) settle() {
	i := b.set.above[b.index]
	if i < 0 {
		return
	}
	above, p := &b.set.Cols[i], b.set.places[i]
	above.settle()
	if above.count > 0 {
		above.pass(p)
	}
	if b.required(above) && p.shared.count > 0 {
		p.share()
	}
}

// finishLevels completes the entries of a block. Other blocks also grow, but become due only
// by their next entries: what is due depends on the rows alone.
func (b *Buffer) finishLevels() {
	b.set.settling = true
	b.settle()
	b.set.settling = false
	b.complete()
}
