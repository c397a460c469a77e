package parquet

import (
	"encoding/binary"
	"math"

	"github.com/cespare/xxhash/v2"
	"github.com/parquet-go/parquet-go/bloom"
	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// valueVerifier decodes the values of pages and compares them with bounds. Its errors are damage
// without a place.
type valueVerifier struct {
	leaf   leaf // that of a presence has the type boolean
	null   bool // the column has only nulls
	truths bool // all values must be true
	order  order
	reader valueReader
	words  *words
	seen   []uint64 // bits of the words that the page has
	bounds []bound
	filter bloom.SplitBlockFilter // nil if the column has none
	batch  column.Vector
	plain  [8]byte
}

// bound is a range that the values must not leave. Its ends are nil if they are not known.
type bound struct{ least, most []byte }

func newValueVerifier(l *leaf) valueVerifier {
	v := valueVerifier{leaf: *l, order: orderOf(l), null: l.Type == column.Null && !l.presence}
	if l.presence {
		v.truths = true
		c := *l.Column
		c.Type = column.Boolean
		v.leaf.Column = &c
	}
	return v
}

// bound adds a bound of the page's values.
func (v *valueVerifier) bound(least, most []byte) {
	for _, end := range []*[]byte{&least, &most} {
		if len(*end) == v.leaf.width() && isNaN(&v.leaf, *end) {
			*end = nil // readers ignore it
		}
	}
	if least != nil || most != nil {
		v.bounds = append(v.bounds, bound{least, most})
	}
}

// checkBounds checks the sizes of bounds.
func (v *valueVerifier) checkBounds() error {
	size := v.leaf.width()
	if v.leaf.physical == pq.Boolean {
		size = 1
	}
	for _, b := range v.bounds {
		for _, end := range [][]byte{b.least, b.most} {
			//guard: rejects a bound of another type
			if end != nil && size > 0 && len(end) != size && v.leaf.physical != pq.FixedLenByteArray {
				return bad(damage.Value, "a bound of %d bytes, expected %d", len(end), size)
			}
		}
	}
	return nil
}

// verify decodes the n values of a page. It returns how many bytes the strings have.
func (v *valueVerifier) verify(page *loadedPage, n int) (text int64, err error) {
	if v.reader.leaf == nil {
		v.reader = newValueReader(&v.leaf)
	}
	if err := v.checkBounds(); err != nil {
		return 0, err
	}
	if err := v.reader.reset(page, v.words, math.MaxInt64); err != nil {
		return 0, err
	}
	if v.reader.coding == codedWords {
		v.seen = append(v.seen[:0], make([]uint64, v.reader.words.count/64+1)...)
	}
	for n > 0 {
		some, more := min(n, levelWindow), int64(0)
		switch textual := v.leaf.textual(); {
		case v.reader.coding == codedWords:
			more, err = v.verifyWords(some)
		case v.reader.coding == codedPlain && textual:
			more, err = v.verifyText(some)
		case textual:
			some = 1 // values can be long
			more, err = v.verifyBatch(some)
		default:
			more, err = v.verifyBatch(some)
		}
		if err != nil {
			return 0, err
		}
		n, text = n-some, text+more
	}
	return text, v.reader.end()
}

// verifyWords verifies the next n values, which are indexes of the dictionary.
func (v *valueVerifier) verifyWords(n int) (text int64, err error) {
	var some [levelWindow]uint32
	if _, err := v.reader.hybrid.Read(some[:n]); err != nil {
		return 0, undecodable(err)
	}
	for _, i := range some[:n] {
		//guard: rejects an index without a value
		if int64(i) >= int64(v.reader.words.count) {
			return 0, bad(damage.Value, "the index %d, but the dictionary has %d values", i, v.reader.words.count)
		}
		word := v.word(int(i))
		if v.leaf.physical == pq.ByteArray {
			text += int64(len(word))
		}
		if v.seen[i/64]>>(i%64)&1 == 0 {
			v.seen[i/64] |= 1 << (i % 64)
			if err := v.compare(word); err != nil {
				return 0, err
			}
		}
	}
	return text, nil
}

// word returns a word of the dictionary as statistics have it.
func (v *valueVerifier) word(i int) []byte {
	switch w := v.reader.words; {
	case w.places != nil:
		return w.text[w.places[i] : w.places[i+1]-4]
	case w.text != nil:
		return w.text[i*v.leaf.size : (i+1)*v.leaf.size]
	default:
		return v.value(&w.values, i)
	}
}

// number returns a decoded number as a stored INT64.
func (v *valueVerifier) number(n int64) []byte {
	plain := binary.LittleEndian.AppendUint64(v.plain[:0], uint64(n))
	v.leaf.unit.store(plain) // n was a stored number, so store does not refuse it
	return plain
}

// value returns a decoded value as statistics have it, valid until the next call.
func (v *valueVerifier) value(from *column.Vector, i int) []byte {
	switch v.leaf.Type {
	case column.Boolean:
		if v.plain[0] = 0; from.Bools[i] {
			v.plain[0] = 1
		}
		return v.plain[:1]
	case column.Int:
		if v.leaf.Symbols != nil {
			return []byte(v.leaf.Symbols[from.Ints[i]])
		}
		if v.leaf.physical == pq.Int64 {
			return v.number(int64(from.Ints[i]))
		}
		return binary.LittleEndian.AppendUint32(v.plain[:0], uint32(from.Ints[i]))
	case column.Long:
		return v.number(from.Longs[i])
	case column.Float:
		return binary.LittleEndian.AppendUint32(v.plain[:0], math.Float32bits(from.Floats[i]))
	case column.Double:
		return binary.LittleEndian.AppendUint64(v.plain[:0], math.Float64bits(from.Doubles[i]))
	}
	return from.Data[from.Offsets[i]:from.Offsets[i+1]]
}

// verifyBatch verifies the next n values, which are not in the dictionary.
func (v *valueVerifier) verifyBatch(n int) (text int64, err error) {
	v.batch.Reset()
	if err := v.reader.read(&v.batch, n); err != nil {
		return 0, err
	}
	for i := range n {
		value := v.value(&v.batch, i)
		if v.leaf.physical == pq.ByteArray {
			text += int64(len(value))
		}
		//guard: rejects a presence that is false
		if v.truths && value[0] == 0 {
			return 0, bad(damage.Value, "false in a column that only says that its values exist")
		}
		if err := v.compare(value); err != nil {
			return 0, err
		}
	}
	return text, nil
}

// verifyText verifies the next n values, which are PLAIN strings. It copies none.
func (v *valueVerifier) verifyText(n int) (text int64, err error) {
	for range n {
		before := v.reader.plain
		if err := v.reader.skip(1); err != nil {
			return 0, err
		}
		value := before[:len(before)-len(v.reader.plain)]
		if v.leaf.physical == pq.ByteArray {
			value = value[4:]
			text += int64(len(value))
		}
		if v.leaf.Symbols != nil {
			if _, err := v.reader.ordinal(value); err != nil {
				return 0, err
			}
		}
		if err := v.compare(value); err != nil {
			return 0, err
		}
	}
	return text, nil
}

// compare compares a value with the bounds and the Bloom filter.
func (v *valueVerifier) compare(value []byte) error {
	//guard: rejects a filter that would hide rows from conditions
	if v.filter != nil && !v.filter.Check(xxhash.Sum64(value)) {
		return bad(damage.Value, "a value %.60x that the Bloom filter does not have", value)
	}
	if len(v.bounds) == 0 || isNaN(&v.leaf, value) {
		return nil
	}
	for _, b := range v.bounds {
		//guard: rejects a bound that would hide rows from conditions
		if b.least != nil && v.order.compare(b.least, value) > 0 || b.most != nil && v.order.compare(b.most, value) < 0 {
			return bad(damage.Value, "a value %.60x outside its bounds %.60x and %.60x", value, b.least, b.most)
		}
	}
	return nil
}
