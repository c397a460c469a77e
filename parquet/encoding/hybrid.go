package encoding

import (
	"encoding/binary"
	"slices"
)

const (
	maxWidth    = 32 // bits of a level or index
	packedWidth = 8  // most bits of a value if eight values are packed in one word
	maxGroups   = 63 // groups in a literal run: its header has one byte
)

// HybridEncoder encodes levels and indexes of a dictionary. It stores 8 or more equal
// values as a repeat, and the others as literals.
type HybridEncoder struct {
	dst    []byte
	width  int
	value  uint32 // of the run that may still grow
	times  int    // its length
	group  [8]uint32
	packed uint64 // in place of group if width is at most packedWidth
	ones   uint64 // the lowest bit of each value in packed
	held   int    // values in group or packed, which are before that run
	open   int    // offset in dst of the open literal run's header; -1 if none is open
	groups int    // in the open run
}

// Reset begins to append to dst. The values have up to 32 bits.
func (e *HybridEncoder) Reset(dst []byte, width int) {
	*e = HybridEncoder{dst: dst, width: width, open: -1}
	if width <= packedWidth {
		for i := range 8 {
			e.ones |= 1 << (i * width)
		}
	}
}

// Put appends n values v. Its time does not depend on n. The bytes do not depend on how
// equal values are divided among calls.
func (e *HybridEncoder) Put(v uint32, n int) {
	if v != e.value && n > 0 {
		e.endRun()
		e.value = v
	}
	e.times += n
}

// Finish returns dst with the values. After it only Reset may be called.
func (e *HybridEncoder) Finish() []byte {
	if e.held > 0 {
		e.hold(min(8-e.held, e.times))
	}
	if e.times > 0 {
		e.repeat()
	} else if e.held > 0 {
		clear(e.group[e.held:])
		e.store()
	}
	e.closeLiteral()
	return e.dst
}

// endRun stores the run, or holds its last values.
func (e *HybridEncoder) endRun() {
	if e.held > 0 {
		e.hold(min(8-e.held, e.times))
	}
	if e.times >= 8 {
		e.repeat()
	} else {
		e.hold(e.times)
	}
}

// hold holds the first n values of the run, for which there must be room. As soon as it holds eight
// values, it stores them.
func (e *HybridEncoder) hold(n int) {
	if e.width <= packedWidth {
		values := uint64(e.value) * (e.ones & (1<<(n*e.width) - 1))
		e.packed |= values << (e.held * e.width)
	} else {
		for i := range n {
			e.group[(e.held+i)&7] = e.value
		}
	}
	e.held += n
	e.times -= n
	if e.held == 8 {
		e.store()
	}
}

// store stores the values that are held.
func (e *HybridEncoder) store() {
	if e.width <= packedWidth {
		e.beginGroup()
		e.dst = binary.LittleEndian.AppendUint64(e.dst, e.packed)[:len(e.dst)+e.width]
		e.packed = 0
	} else {
		e.literal(&e.group)
	}
	e.held = 0
}

// repeat stores the run.
func (e *HybridEncoder) repeat() {
	e.closeLiteral()
	e.dst = binary.AppendUvarint(e.dst, uint64(e.times)<<1)
	for w := 0; w < e.width; w += 8 {
		e.dst = append(e.dst, byte(e.value>>w))
	}
	e.times = 0
}

// literal stores 8 values.
func (e *HybridEncoder) literal(group *[8]uint32) {
	e.beginGroup()
	e.dst = appendPacked(e.dst, group[:], e.width)
}

// beginGroup begins a group of a literal run.
func (e *HybridEncoder) beginGroup() {
	if e.groups == maxGroups {
		e.closeLiteral()
	}
	if e.open < 0 {
		e.open = len(e.dst)
		e.dst = append(e.dst, 0)
	}
	e.groups++
}

func (e *HybridEncoder) closeLiteral() {
	if e.open >= 0 {
		e.dst[e.open] = byte(e.groups<<1 | 1)
	}
	e.open, e.groups = -1, 0
}

// AppendHybrid appends values as a HybridEncoder does, but faster.
func AppendHybrid(dst []byte, values []uint32, width int) []byte {
	var e HybridEncoder
	e.Reset(slices.Grow(dst, HybridBound(len(values), len(values), width)), width)
	for len(values) > 0 {
		n := equalValues(values)
		switch {
		case n >= 8 || n == len(values):
			e.value, e.times = values[0], n
			e.repeat()
			values = values[n:]
		case len(values) < 8:
			copy(e.group[:], values)
			e.literal(&e.group)
			values = nil
		default:
			e.literal((*[8]uint32)(values))
			values = values[8:]
		}
	}
	e.closeLiteral()
	return e.dst
}

// equalValues returns how many values at the start are equal.
func equalValues(values []uint32) int {
	n := 1
	for n < len(values) && values[n] == values[0] {
		n++
	}
	return n
}

// boolsRepeat is the number of equal bytes of plain BOOLEAN that become a repeat. A repeat ends
// a literal run, so a shorter one would not save bytes.
const boolsRepeat = 4

// AppendHybridBools appends n plain BOOLEAN as values of one bit.
func AppendHybridBools(dst, plain []byte, n int) []byte {
	var e HybridEncoder
	e.Reset(dst, 1)
	for at := 0; at < len(plain); {
		b, times := plain[at], 1
		for at+times < len(plain) && plain[at+times] == b {
			times++
		}
		if times >= boolsRepeat && (b == 0 || b == 0xff) {
			e.value, e.times = uint32(b&1), min(8*times, n-8*at)
			e.repeat()
		} else {
			for range times {
				e.beginGroup()
				e.dst = append(e.dst, b)
			}
		}
		at += times
	}
	e.closeLiteral()
	return e.dst
}

// HybridBoolsBound returns the most bytes that AppendHybridBools appends for n values.
func HybridBoolsBound(n int) int { return (n+7)/8 + n/8/maxGroups + 1 }

// HybridBound returns the most bytes that n values of up to width bits take, in as many
// runs of equal values.
func HybridBound(n, runs, width int) int {
	if n <= 0 {
		return 0
	}
	// Each 8 values take at most a group with a header. A repeat of 8 or more takes less.
	all := (n/8 + 1) * (width + 1)
	// A run is a repeat and up to 14 literals, before it and after it.
	each := runs*(5+(width+7)/8) + (14*runs/8+1)*(width+1)
	return min(all, each)
}
