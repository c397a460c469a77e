package cfile

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rowtocol/rowtocol/cfile/encoding"
)

// Limits of a data block besides its size.
const (
	// maxRows is the most rows of a block. Kudu has no such limit. Nulls and long runs need no
	// space, so without a limit a block could have all rows of a file, and a writer would keep
	// all of them in memory.
	maxRows = 1 << 20
	// valueOverhead is the most bytes that a block of one value has besides the value.
	valueOverhead = 64
	// rowsOverhead is the most bytes that a block has for its rows, besides the values: the
	// null bitmap, and restarts of the PREFIX encoding.
	rowsOverhead = maxRows/4 + 4*maxRows/16 + valueOverhead
)

// cut returns how many of the n values that begin at index first go into the block before Kudu's
// rule for the encoding calls it full. If the block has room for more after all of them, full is
// false. A block of BINARY values is also full if the next value would make it too large for a
// reader. Kudu no longer has a rule for GROUP_VARINT. Here it has the rule of PLAIN.
func (e *blockEncoder) cut(v *encoding.Values, first, n int, c *coded) (values int, full bool) {
	size := e.o.BlockSize
	switch e.o.Encoding {
	case Dict:
		coded := len(c.codes)/codeWidth - first
		if coded <= 0 {
			return cutPlainBinary(v.Offsets, first, n, size)
		}
		limit := max(1, size/codeWidth)
		if coded >= limit {
			return limit, true
		}
		return coded, c.full
	case Prefix:
		return cutPrefix(v, first, n, size)
	case RLE:
		return e.cutRLE(v, first, n)
	}
	switch {
	case e.physical == Binary:
		return cutPlainBinary(v.Offsets, first, n, size)
	case e.o.Encoding == Bitshuffle:
		return atMost(n, max(1, size/e.width))
	case e.physical == Bool:
		return atMost(n, max(0, size-countAndOrdinal)*8+1)
	}
	return atMost(n, max(0, size-countAndOrdinal)/e.width+1)
}

const (
	countAndOrdinal = 8 // bytes at the beginning of PLAIN and RLE blocks
	codeWidth       = 4 // bytes of a code of a dictionary
)

// atMost cuts after limit values. full says whether there are that many.
func atMost(n, limit int) (values int, full bool) { return min(n, limit), n >= limit }

func cutPlainBinary(offsets []uint32, first, n, blockSize int) (values int, full bool) {
	block := emptyBlock
	for i := range n {
		size := int(offsets[first+i+1] - offsets[first+i])
		//guard: refuses a block that is too large for readers
		if i > 0 && int(block)+size+rowsOverhead > maxBlock {
			return i, true
		}
		block.add(i, int(offsets[first+i]-offsets[first]), size)
		if int(block) > blockSize {
			return i + 1, true
		}
	}
	return n, false
}

func cutPrefix(v *encoding.Values, first, n, blockSize int) (values int, full bool) {
	block := 0
	var before []byte
	for i := range n {
		value := v.Binary(first + i)
		//guard: refuses a block that is too large for readers
		if i > 0 && block+len(value)+rowsOverhead > maxBlock {
			return i, true
		}
		shared := 0
		if i%encoding.RestartInterval != 0 {
			shared = encoding.CommonPrefix(before, value)
		}
		block += protowire.SizeVarint(uint64(shared)) + protowire.SizeVarint(uint64(len(value)-shared)) + len(value) - shared
		if block > blockSize {
			return i + 1, true
		}
		before = value
	}
	return n, false
}

func (e *blockEncoder) cutRLE(v *encoding.Values, first, n int) (values int, full bool) {
	if countAndOrdinal+runsBound(e.physical, n) <= e.o.BlockSize {
		return n, false
	}
	fixed := v.Fixed[first*e.width : (first+n)*e.width]
	m := newRunMeter(e.physical)
	for i := range n {
		m.put(integer(fixed[i*e.width:], e.width))
		if m.size > e.o.BlockSize {
			return i + 1, true
		}
	}
	return n, false
}

// integer returns the little-endian number of width bytes at the beginning of b.
func integer(b []byte, width int) uint64 {
	switch width {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

// runsBound returns the most bytes of the runs of n values. The worst case is one run per
// eight values.
func runsBound(physical Type, n int) int {
	if physical == Bool {
		return n/4 + 8
	}
	return n*physical.Width() + n/8 + 16*physical.Width()
}

// runMeter measures RLE runs as Kudu's encoder does while values are added. It does not count a
// repeated run that is open, or a group of eight that is not full.
type runMeter struct {
	size     int // bytes written
	value    int // bytes of the value that a run repeats
	group    int // bytes of eight literal values
	last     uint64
	repeated int // number of times in a row that last came, from the start of its run or group
	buffered int // number of values in the group that is not full
	groups   int // number of groups in the literal run that is open
}

// newRunMeter returns the meter of an empty RLE block.
func newRunMeter(physical Type) *runMeter {
	m := &runMeter{size: countAndOrdinal, value: physical.Width(), group: 8 * physical.Width()}
	if physical == Bool {
		m.group = 1
	}
	return m
}

func (m *runMeter) put(v uint64) {
	if v == m.last {
		m.repeated++
		if m.repeated > 8 {
			return
		}
	} else {
		if m.repeated >= 8 {
			m.size += protowire.SizeVarint(uint64(m.repeated)<<1) + m.value
		}
		m.last, m.repeated = v, 1
	}
	m.buffered++
	if m.buffered == 8 {
		m.endGroup()
	}
}

// endGroup makes the eight buffered values the beginning of a repeated run if they are
// equal, else a group of the literal run.
func (m *runMeter) endGroup() {
	m.buffered = 0
	if m.repeated >= 8 {
		m.groups = 0
		return
	}
	if m.groups == 0 {
		m.size++
	}
	m.size += m.group
	m.groups = (m.groups + 1) % encoding.MaxGroups
	m.repeated = 0
}
