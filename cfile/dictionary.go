package cfile

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math/bits"

	"github.com/rowtocol/rowtocol/cfile/encoding"
)

// dictionary numbers the distinct strings of a file from 0 on, in the order of their first
// occurrence. It is full by Kudu's rule once the estimated size of the dictionary block exceeds
// the block size. It needs memory for at most about five times the block size, or five times the
// size of one longer value.
type dictionary struct {
	blockSize int
	limit     int // bytes of the block that no string may exceed
	seed      maphash.Seed
	// slots is the hash table. The slot of a string's hash, or the next free one, has the
	// string's number plus 1. The length is a power of two, and at most three quarters of
	// the slots are taken.
	slots []uint32
	words encoding.Values // the strings by number
	last  uint32          // the number of the last string, because many strings come again at once
	block blockEstimate
	// overflow is set if a string would have made the block too large.
	overflow bool
}

// firstSlots is the length of the hash table of an empty dictionary.
const firstSlots = 64

// newDictionary returns an empty dictionary of a file with blocks of the given size.
func newDictionary(blockSize int) *dictionary {
	return &dictionary{
		blockSize: blockSize, limit: maxBlock, seed: maphash.MakeSeed(), slots: make([]uint32, firstSlots),
		block: emptyBlock,
	}
}

// code appends the numbers of BINARY values (as in encoding.Values) to codes, UINT32 each,
// and returns how many values have one. If not all have, the dictionary is full.
func (d *dictionary) code(codes []byte, offsets []uint32, data []byte) ([]byte, int) {
	n := max(0, len(offsets)-1)
	for i := range n {
		if d.full() {
			return codes, i
		}
		number, ok := d.number(data[offsets[i]:offsets[i+1]])
		if !ok {
			return codes, i
		}
		codes = binary.LittleEndian.AppendUint32(codes, number)
	}
	return codes, n
}

// number returns the number of a string, which it adds if it is new. It returns false if
// there is no room for the string: the dictionary is then full.
func (d *dictionary) number(word []byte) (uint32, bool) {
	if d.words.BinaryLen() > 0 && bytes.Equal(word, d.words.Binary(int(d.last))) {
		return d.last, true
	}
	slot := d.find(word)
	if d.slots[slot] == 0 {
		//guard: keeps a dictionary within the largest block
		if int(d.block)+len(word)+valueOverhead > d.limit {
			d.overflow = true
			return 0, false
		}
		d.block.add(d.words.BinaryLen(), len(d.words.Data), len(word))
		d.words.AppendBinary(word)
		d.slots[slot] = uint32(d.words.BinaryLen())
		d.last = d.slots[slot] - 1
		if d.words.BinaryLen()*4 > len(d.slots)*3 {
			d.grow()
		}
		return d.last, true
	}
	d.last = d.slots[slot] - 1
	return d.last, true
}

// find returns the slot of a string, or the free slot for it.
func (d *dictionary) find(word []byte) int {
	mask := len(d.slots) - 1
	slot := int(maphash.Bytes(d.seed, word)) & mask
	for d.slots[slot] != 0 && !bytes.Equal(word, d.words.Binary(int(d.slots[slot]-1))) {
		slot = (slot + 1) & mask
	}
	return slot
}

// grow doubles the hash table.
func (d *dictionary) grow() {
	d.slots = make([]uint32, 2*len(d.slots))
	mask := len(d.slots) - 1
	for i := range d.words.BinaryLen() {
		slot := int(maphash.Bytes(d.seed, d.words.Binary(i))) & mask
		for d.slots[slot] != 0 {
			slot = (slot + 1) & mask
		}
		d.slots[slot] = uint32(i + 1)
	}
}

// full reports whether the dictionary is full. It then gives no numbers, not even for its strings.
func (d *dictionary) full() bool { return d.overflow || int(d.block) > d.blockSize }

// size returns the most bytes that appendBlock appends now.
func (d *dictionary) size() int { return int(d.block) + groupPadding }

// appendBlock appends the dictionary block, before compression.
func (d *dictionary) appendBlock(dst []byte) []byte {
	return encoding.AppendPlainBinary(dst, 0, d.words.Offsets, d.words.Data)
}

// blockEstimate is Kudu's estimate of the size of a PLAIN block of BINARY values, which
// decides when the block, or a dictionary, is full. It is exact but for groupPadding.
type blockEstimate int

const (
	// emptyBlock is the estimate of an empty block: its header.
	emptyBlock blockEstimate = 12
	// groupPadding is the most bytes that pad the last group of offsets.
	groupPadding = 3
)

// add adds the value with the number n, which has size bytes and follows data bytes.
func (e *blockEstimate) add(n, data, size int) {
	if n%4 == 0 {
		*e++ // the tag of a group of offsets
	}
	offset := uint32(int(emptyBlock) + data)
	*e += blockEstimate((bits.Len32(offset|1)+7)/8 + size)
}
