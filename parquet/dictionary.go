package parquet

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"math/rand/v2"

	pq "github.com/parquet-go/parquet-go/format"
)

// dictionary numbers the distinct values of a column from 0 on, in the order of their first
// occurrence. It ends once it is full or saves nothing. Whether it ends depends only on the
// values before and their pages.
type dictionary struct {
	table table
	limit int // most bytes of the words, with wordOverhead for each
	size  int // plain bytes of the words
	words int
	pages uint32 // pages so far, the current one included
	// numbered is the number of values that have got a number, and plain their plain bytes.
	numbered, plain int64
}

// table is a dictionary's words.
type table interface {
	// number numbers the next n values of p, and adds new words to d. It stops before a
	// word for which there is no room, and returns how many values it numbered.
	number(d *dictionary, p *pass, n int) (int, error)
	// appendPlain appends the first words as plain values.
	appendPlain(dst []byte, words int) []byte
	// release releases the memory that only number needs.
	release()
}

// pass is what a dictionary collects from the values of a page.
type pass struct {
	source []byte     // the values that are left: plain numbers, or Avro's
	codes  []uint32   // the numbers so far
	bounds textBounds // bounds of the words, except numbers
	text   int64      // bytes of the values without lengths
	plain  int64      // plain bytes of the values
}

const (
	// wordOverhead bounds the memory of small words: it counts for each word.
	wordOverhead = 8
	// firstSlots is the length of an empty table.
	firstSlots = 64
	// firstCheck is the number of a column's values after which a dictionary ends if nearly
	// all values are distinct.
	firstCheck = 4096
)

func newDictionary(l *leaf, kind valueKind, symbols [][]byte, limit int) *dictionary {
	d := &dictionary{limit: limit}
	switch kind {
	case ints, floats:
		d.table = &numberTable[uint32]{width: 4}
	case longs, doubles:
		d.table = &numberTable[uint64]{width: 8}
	case enums:
		d.table = &enumTable{symbols: symbols}
	default:
		d.table = &textTable{fixed: l.physical == pq.FixedLenByteArray}
	}
	return d
}

// room reports whether a word of size plain bytes fits.
func (d *dictionary) room(size int) bool {
	return d.size+size+(d.words+1)*wordOverhead <= d.limit
}

func (d *dictionary) add(size int) {
	d.size += size
	d.words++
}

// page numbers the n values of a page. It returns false if the dictionary ends before the
// page: it then has only the words of earlier pages.
func (d *dictionary) page(p *pass, n int) (bool, error) {
	d.pages++
	size, words := d.size, d.words
	end := func() {
		d.size, d.words = size, words
		d.table.release()
	}
	for left := n; left > 0; {
		most := left
		if d.numbered < firstCheck {
			most = min(most, int(firstCheck-d.numbered))
		}
		m, err := d.table.number(d, p, most)
		if err != nil {
			end()
			return false, err
		}
		d.numbered += int64(m)
		if m < most || d.numbered == firstCheck && d.words > firstCheck/8*7 {
			end()
			return false, nil
		}
		left -= m
	}
	d.plain += p.plain
	if !d.saves() {
		end()
		return false, nil
	}
	return true, nil
}

// saves reports whether the numbers so far and the words have fewer bytes than the values.
func (d *dictionary) saves() bool {
	if d.numbered == 0 {
		return true
	}
	return int64(d.size)+(d.numbered*int64(d.width())+7)/8+pageHeaderBound < d.plain
}

// width returns the bits of a number.
func (d *dictionary) width() int { return bits.Len(uint(max(d.words-1, 0))) }

// numberTable has words of the size of K.
type numberTable[K uint32 | uint64] struct {
	width int
	words []K
	// slots is a hash table. The slot of a word, or the next free one, has its number plus 1.
	slots []uint32
}

// seedHigh and seedLow are different in each process, so that no input makes every process slow.
var seedHigh, seedLow = rand.Uint64(), rand.Uint64() | 1

func hashNumber(v uint64) int {
	high, low := bits.Mul64(v^seedHigh, seedLow)
	return int(high ^ low)
}

func (t *numberTable[K]) number(d *dictionary, p *pass, n int) (int, error) {
	if len(t.slots) == 0 {
		t.slots = make([]uint32, firstSlots)
	}
	source, codes, slots, words := p.source, p.codes, t.slots, t.words
	mask := len(slots) - 1
	i := 0
	for ; i < n; i++ {
		v := t.load(source)
		at := hashNumber(uint64(v)) & mask
		for slots[at] != 0 && words[slots[at]-1] != v {
			at = (at + 1) & mask
		}
		code := slots[at]
		if code == 0 {
			if !d.room(t.width) {
				break
			}
			d.add(t.width)
			words = append(words, v)
			code = uint32(len(words))
			slots[at] = code
			if len(words)*4 > len(slots)*3 {
				t.words = words
				t.grow()
				slots, mask = t.slots, len(t.slots)-1
			}
		}
		codes = append(codes, code-1)
		source = source[t.width:]
	}
	p.source, p.codes, t.words = source, codes, words
	p.plain += int64(i * t.width)
	return i, nil
}

func (t *numberTable[K]) load(source []byte) K {
	if t.width == 4 {
		return K(binary.LittleEndian.Uint32(source))
	}
	return K(binary.LittleEndian.Uint64(source))
}

// grow doubles the slots.
func (t *numberTable[K]) grow() {
	t.slots = make([]uint32, 2*len(t.slots))
	mask := len(t.slots) - 1
	for i, v := range t.words {
		at := hashNumber(uint64(v)) & mask
		for t.slots[at] != 0 {
			at = (at + 1) & mask
		}
		t.slots[at] = uint32(i + 1)
	}
}

func (t *numberTable[K]) appendPlain(dst []byte, words int) []byte {
	for _, v := range t.words[:words] {
		if t.width == 4 {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(v))
		} else {
			dst = binary.LittleEndian.AppendUint64(dst, uint64(v))
		}
	}
	return dst
}

func (t *numberTable[K]) release() { t.slots = nil }

// textTable has words of any size, or of the same size.
type textTable struct {
	fixed bool
	seed  maphash.Seed
	// slots is a hash table. The slot of a word, or the next free one, has the word's number
	// plus 1, and the higher half of its hash.
	slots []uint64
	words []textWord
	data  []byte // the words as plain values
	last  uint32 // the number of the last value, because many values come again at once
}

// textWord is where a word is in the data, and the last page in which it occurred.
type textWord struct{ from, to, page uint32 }

func (t *textTable) number(d *dictionary, p *pass, n int) (int, error) {
	if len(t.slots) == 0 {
		t.slots, t.seed = make([]uint64, firstSlots), maphash.MakeSeed()
	}
	head := 4
	if t.fixed {
		head = 0
	}
	for i := range n {
		word, rest, err := cutText(p.source)
		if err != nil {
			return i, err
		}
		code, ok := t.find(d, word, head)
		if !ok {
			return i, nil
		}
		if w := &t.words[code]; w.page != d.pages {
			w.page = d.pages
			p.bounds.add(word)
		}
		p.codes = append(p.codes, code)
		p.source = rest
		p.text += int64(len(word))
		p.plain += int64(head + len(word))
	}
	return n, nil
}

// find returns the number of a word, which it adds if it is new and there is room.
func (t *textTable) find(d *dictionary, word []byte, head int) (uint32, bool) {
	if int(t.last) < len(t.words) && bytes.Equal(word, t.word(t.last)) {
		return t.last, true
	}
	hash := maphash.Bytes(t.seed, word)
	mask := len(t.slots) - 1
	at := int(hash) & mask
	for t.slots[at] != 0 {
		if s := t.slots[at]; s>>32 == hash>>32 && bytes.Equal(word, t.word(uint32(s)-1)) {
			t.last = uint32(s) - 1
			return t.last, true
		}
		at = (at + 1) & mask
	}
	if !d.room(head + len(word)) {
		return 0, false
	}
	d.add(head + len(word))
	if !t.fixed {
		t.data = binary.LittleEndian.AppendUint32(t.data, uint32(len(word)))
	}
	from := len(t.data)
	t.data = append(t.data, word...)
	t.words = append(t.words, textWord{from: uint32(from), to: uint32(len(t.data))})
	t.slots[at] = hash>>32<<32 | uint64(len(t.words))
	t.last = uint32(len(t.words) - 1)
	if len(t.words)*4 > len(t.slots)*3 {
		t.grow()
	}
	return t.last, true
}

func (t *textTable) word(number uint32) []byte {
	w := &t.words[number]
	return t.data[w.from:w.to]
}

// grow doubles the slots.
func (t *textTable) grow() {
	t.slots = make([]uint64, 2*len(t.slots))
	mask := len(t.slots) - 1
	for i := range t.words {
		hash := maphash.Bytes(t.seed, t.word(uint32(i)))
		at := int(hash) & mask
		for t.slots[at] != 0 {
			at = (at + 1) & mask
		}
		t.slots[at] = hash>>32<<32 | uint64(i+1)
	}
}

func (t *textTable) appendPlain(dst []byte, words int) []byte {
	if words == 0 {
		return dst
	}
	return append(dst, t.data[:t.words[words-1].to]...)
}

func (t *textTable) release() { t.slots = nil }

// enumTable has symbols of an enum as words. It finds them by their ordinals.
type enumTable struct {
	symbols [][]byte
	codes   []uint32 // number plus 1, by ordinal
	words   []enumWord
}

// enumWord is the ordinal of a word, and the last page in which it occurred.
type enumWord struct {
	ordinal int
	page    uint32
}

func (t *enumTable) number(d *dictionary, p *pass, n int) (int, error) {
	if t.codes == nil {
		t.codes = make([]uint32, len(t.symbols))
	}
	for i := range n {
		ordinal, rest, err := cutOrdinal(p.source, len(t.symbols))
		if err != nil {
			return i, err
		}
		size := len(t.symbols[ordinal])
		code := t.codes[ordinal]
		if code == 0 {
			if !d.room(4 + size) {
				return i, nil
			}
			d.add(4 + size)
			t.words = append(t.words, enumWord{ordinal: ordinal})
			code = uint32(len(t.words))
			t.codes[ordinal] = code
		}
		if w := &t.words[code-1]; w.page != d.pages {
			w.page = d.pages
			p.bounds.add(t.symbols[ordinal])
		}
		p.codes = append(p.codes, code-1)
		p.source = rest
		p.text += int64(size)
		p.plain += int64(4 + size)
	}
	return n, nil
}

func (t *enumTable) appendPlain(dst []byte, words int) []byte {
	for _, w := range t.words[:words] {
		dst = appendSymbol(dst, t.symbols[w.ordinal])
	}
	return dst
}

func (t *enumTable) release() { t.codes = nil }
