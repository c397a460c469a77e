package shred

import (
	"encoding/binary"
	"slices"

	"github.com/rowtocol/rowtocol/format/column"
)

// The size of strips. A strip holds at most stripRows elements, a divisor of feedSize, and
// at most stripColumnBytes for each column and stripBytes in all, which fit into a
// processor's cache. Fewer columns or elements than the least are assembled one by one.
const (
	stripRows         = 64
	leastStripRows    = 4
	leastStripColumns = 8
	stripColumnBytes  = 1 << 10
	stripBytes        = 512 << 10
)

// unstripped is how many elements are assembled one by one after one that did not fit into
// a strip.
const unstripped = 64

// A strip assembles consecutive columns of a record for many elements at a time, column by
// column, because each column's values and state are then in the processor's cache.
//
// A strip never fails. An element that has no value in some column, a wrong value, or too
// many bytes is left to the joints of the columns, which take it from the same feeds.
type strip struct {
	cols  []stripColumn
	limit int // most bytes in data, kept and coded

	data   []byte
	starts [stripRows]int // each element is data[starts[i]:ends[i]]
	ends   [stripRows]int
	at, n  int // the next element, and how many there are
	passed int // how many elements the last skip passed over

	rows  int    // how many elements to assemble at a time, a power of two
	alone int    // how many elements to leave to the joints
	kept  []byte // values of blocks that are no longer loaded
	torn  bool   // a feed may still have values in kept
	coded []byte // values that a column does not store in Avro's encoding
	pairs []int32
}

// stripColumn is a column of a strip, and where the values of the elements are.
type stripColumn struct {
	feed     *feed
	optional bool
	null     byte         // see joint
	symbols  int          // number of symbols of an enum, else 0
	parts    [2]stripPart // values in the feed's two vectors
}

// stripPart locates the values of n elements of a column: value i is
// data[at[2*i]:at[2*i+1]]. An optional column has a length for each element, 0 or 1, and
// one pair in at after those of the values.
type stripPart struct {
	n       int
	lengths []int32
	data    []byte
	at      []int32
}

// newStrip returns a strip of simple joints, or nil if they are too few.
func newStrip(joints []joint) *strip {
	if len(joints) < leastStripColumns {
		return nil
	}
	s := &strip{cols: make([]stripColumn, len(joints)), rows: stripRows, limit: min(len(joints)*stripColumnBytes, stripBytes)}
	for i := range joints {
		j := &joints[i]
		s.cols[i] = stripColumn{feed: j.col, optional: j.code == joinOptional, null: j.null}
		if j.code == joinEnum {
			s.cols[i].symbols = len(j.node.Symbols)
		}
		j.col.strip = s
	}
	return s
}

// start drops the elements.
func (s *strip) start() { s.at, s.n, s.alone, s.torn = 0, 0, 0, false }

// take returns the bytes of the next element. ok is false if the joints must assemble it.
func (s *strip) take() (element []byte, ok bool) {
	if s.at == s.n && !s.fill() {
		return nil, false
	}
	element = s.data[s.starts[s.at]:s.ends[s.at]]
	s.at++
	return element, true
}

// skip passes over at most n elements.
func (s *strip) skip(n int) {
	s.passed = min(n, s.n-s.at)
	s.at += s.passed
}

// fill assembles the next elements. It reports whether there are any.
func (s *strip) fill() bool {
	s.at, s.n = 0, 0
	if s.alone > 0 {
		s.alone--
		return false
	}
	// The vectors of all columns end at the same elements, except at the end of a block.
	first := s.cols[0].feed
	want := int(min(int64(s.rows)-first.position()%int64(s.rows), first.left()))
	if want < leastStripRows {
		return false
	}
	if s.kept = s.kept[:0]; s.torn {
		s.kept = nil
	}
	s.torn, s.coded, s.pairs = true, s.coded[:0], s.pairs[:0]
	n := want
	for i := range s.cols {
		if n = s.locate(&s.cols[i], n); n == 0 {
			return false
		}
	}
	if n = s.place(n); n == 0 {
		return false
	}
	s.copy(n)
	s.n, s.torn = n, n < want
	return true
}

// locate finds the values of the next n elements of a column. It returns how many it found.
func (s *strip) locate(c *stripColumn, n int) int {
	f := c.feed
	if f.loaded() == 0 && f.fill() != nil {
		return 0
	}
	have := min(f.loaded(), n)
	if have < n && f.ahead() == 0 {
		// Reading ahead may drop the block of the values.
		var ok bool
		if s.kept, ok = keep(&f.v, f.value, s.kept, s.limit); ok {
			f.readAhead()
		}
	}
	p := &c.parts[0]
	if f.array {
		p.lengths = f.v.Lengths[f.length:]
	}
	found := s.locatePart(c, p, &f.v, f.value, have)
	c.parts[1].n = 0
	if found < n && found == have && f.ahead() > 0 {
		p = &c.parts[1]
		p.lengths = f.after.Lengths
		found += s.locatePart(c, p, f.after, 0, min(f.ahead(), n-found))
	}
	return found
}

// locatePart finds the values of up to n elements, which begin at value from of v.
func (s *strip) locatePart(c *stripColumn, p *stripPart, v *column.Vector, from, n int) int {
	values := n
	if c.optional {
		values, n = countOptional(p.lengths[:n])
	}
	switch {
	case !v.Encoded:
		if !s.encode(c, p, v, from, values) {
			n = 0
		}
	case c.optional:
		more := append(v.Offsets, 0, 0)
		p.data, p.at = v.Data, more[2*from:]
		v.Offsets = more[:len(more)-2]
	default:
		p.data, p.at = v.Data, v.Offsets[2*from:]
	}
	//guard: leaves an ordinal without a symbol to its joint
	if c.symbols > 0 {
		n = p.known(n, c.symbols)
	}
	p.n = n
	return n
}

// countOptional counts the values of elements up to the first that has more than one.
func countOptional(lengths []int32) (values, n int) {
	for i, length := range lengths {
		//guard: leaves an optional value with two values to its joint
		if length > 1 {
			return values, i
		}
		values += int(length)
	}
	return values, len(lengths)
}

// known returns how many of the first n elements are ordinals of symbols.
func (p *stripPart) known(n, symbols int) int {
	for i := range n {
		if ordinal, _ := binary.Varint(p.data[p.at[2*i]:p.at[2*i+1]]); ordinal < 0 || ordinal >= int64(symbols) {
			return i
		}
	}
	return n
}

// encode encodes n values of a vector that does not hold them in Avro's encoding. It reports
// whether there is room for them.
func (s *strip) encode(c *stripColumn, p *stripPart, v *column.Vector, from, n int) bool {
	most := n * longest(c.feed.typ)
	if len(v.Offsets) > 0 {
		most += int(v.Offsets[from+n] - v.Offsets[from])
	}
	//guard: bounds the memory of values that are encoded
	if len(s.coded)+most > s.limit {
		s.shrink()
		return false
	}
	s.coded = slices.Grow(s.coded, most+room)
	before := len(s.pairs)
	for i := range n {
		start := len(s.coded)
		s.coded = c.feed.appendDecoded(s.coded, v, from+i)
		s.pairs = append(s.pairs, int32(start), int32(len(s.coded)))
	}
	s.pairs = append(s.pairs, 0, 0) // see stripPart
	p.data, p.at = s.coded, s.pairs[before:]
	return true
}

// place gives each of the next n elements a place in data. It returns how many fit.
func (s *strip) place(n int) int {
	var sizes [stripRows]int
	for i := range s.cols {
		c := &s.cols[i]
		at := 0
		for j := range c.parts {
			if p := &c.parts[j]; at < n {
				p.addSizes(sizes[at:min(at+p.n, n)], c.optional)
				at += p.n
			}
		}
	}
	end := 0
	for i := range n {
		next := end + sizes[i] + wide
		//guard: bounds the memory of elements
		if next > s.limit {
			s.shrink()
			n = i
			break
		}
		s.starts[i], s.ends[i], end = end, end, next
	}
	if end < s.limit/4 && n == s.rows {
		s.rows = min(2*s.rows, stripRows)
	}
	if cap(s.data) < end {
		s.data = make([]byte, end, min(2*end, s.limit))
	}
	s.data = s.data[:cap(s.data)]
	return n
}

// shrink makes the next strip shorter.
func (s *strip) shrink() {
	if s.rows = s.rows / 2; s.rows < leastStripRows {
		s.rows, s.alone = leastStripRows, unstripped
	}
}

// addSizes adds the sizes of a column to those of elements.
func (p *stripPart) addSizes(sizes []int, optional bool) {
	at := p.at
	if !optional {
		for i := range sizes {
			sizes[i] += int(at[2*i+1] - at[2*i])
		}
		return
	}
	lengths, value := p.lengths[:len(sizes)], 0
	for i, length := range lengths {
		sizes[i] += 1 + int(length*(at[2*value+1]-at[2*value]))
		value += int(length)
	}
}

// copy copies n elements to their places, column by column.
func (s *strip) copy(n int) {
	for i := range s.cols {
		c := &s.cols[i]
		at, values := 0, 0
		for j := range c.parts {
			p := &c.parts[j]
			if at >= n {
				break
			}
			ends := s.ends[at:min(at+p.n, n)]
			if c.optional {
				values += p.copyOptional(s.data, ends, c.null)
			} else {
				p.copyValues(s.data, ends)
				values += len(ends)
			}
			at += p.n
		}
		c.feed.pass(n, values)
	}
}

// copyValues copies a value to the end of each element. As in feed.appendOptional, short
// values are copied together with the bytes after them.
func (p *stripPart) copyValues(dst []byte, ends []int) {
	data, at := p.data, p.at[:2*len(ends)]
	for i, to := range ends {
		start, end := int(at[2*i]), int(at[2*i+1])
		if size := end - start; size <= wide && start+wide <= cap(data) {
			*(*[wide]byte)(dst[to : to+wide]) = *(*[wide]byte)(data[start : start+wide])
		} else {
			copy(dst[to:], data[start:end])
		}
		ends[i] = to + end - start
	}
}

// copyOptional copies an optional value to the end of each element. It returns the number
// of values.
func (p *stripPart) copyOptional(dst []byte, ends []int, null byte) (value int) {
	data, at, lengths := p.data, p.at, p.lengths[:len(ends)]
	for i, to := range ends {
		n := int(lengths[i])
		start, size := int(at[2*value]), int(at[2*value+1]-at[2*value])
		dst[to] = null ^ byte(2*n)
		if size <= wide && start+wide <= cap(data) {
			*(*[wide]byte)(dst[to+1 : to+1+wide]) = *(*[wide]byte)(data[start : start+wide])
		} else {
			copy(dst[to+1:], data[start:start+n*size])
		}
		ends[i] = to + 1 + n*size
		value += n
	}
	return value
}
