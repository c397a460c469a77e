package parquet

import (
	"math"
	"slices"

	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// words are the values of a dictionary. Value i of text is text[places[i]:places[i+1]-4], or for
// FIXED_LEN_BYTE_ARRAY it begins at i*size.
type words struct {
	count  int
	values column.Vector // decoded, unless they are text
	text   []byte
	places []int32
	// longest is the size of the longest word, if the words have places.
	longest int
	held    int64 // bytes that are accounted for
}

// oldDictionary is the encoding PLAIN_DICTIONARY of old writers: of PLAIN words in dictionaries,
// and of indexes in data pages.
const oldDictionary pq.Encoding = 2

// dictionaryCoded reports whether the values of a data page are indexes of the dictionary.
func dictionaryCoded(e pq.Encoding) bool {
	return e == pq.RLEDictionary || e == oldDictionary
}

// readWords appends values of the dictionary.
func (v *valueReader) readWords(dst *column.Vector, n int) error {
	if v.indexes == nil {
		v.indexes = make([]uint32, levelWindow)
	}
	for n > 0 {
		indexes := v.indexes[:min(n, len(v.indexes))]
		if _, err := v.hybrid.Read(indexes); err != nil {
			return err
		}
		most := uint32(0)
		for _, i := range indexes {
			most = max(most, i)
		}
		//guard: rejects an index without a value
		if int64(most) >= int64(v.words.count) {
			return bad(damage.Value, "the index %d, but the dictionary has %d values", most, v.words.count)
		}
		if err := v.appendWords(dst, indexes); err != nil {
			return err
		}
		n -= len(indexes)
	}
	return nil
}

// appendWords appends the values with the given indexes, which exist.
func (v *valueReader) appendWords(dst *column.Vector, indexes []uint32) error {
	w := v.words
	switch v.leaf.Type {
	case column.Boolean:
		dst.Bools = gather(dst.Bools, w.values.Bools, indexes)
	case column.Int:
		dst.Ints = gather(dst.Ints, w.values.Ints, indexes)
	case column.Long:
		dst.Longs = gather(dst.Longs, w.values.Longs, indexes)
	case column.Float:
		dst.Floats = gather(dst.Floats, w.values.Floats, indexes)
	case column.Double:
		dst.Doubles = gather(dst.Doubles, w.values.Doubles, indexes)
	default:
		return v.gatherText(dst, indexes)
	}
	return nil
}

func gather[T any](dst, words []T, indexes []uint32) []T {
	from := len(dst)
	dst = slices.Grow(dst, len(indexes))[:from+len(indexes)]
	for i, to := 0, dst[from:]; i < len(to) && i < len(indexes); i++ {
		to[i] = words[indexes[i]]
	}
	return dst
}

// shortWord is the size up to which a word is copied as an array of this size, with the bytes
// that follow it. Such a copy needs no call, and the next word overwrites the excess.
const shortWord = 16

// gatherText appends the text of words.
func (v *valueReader) gatherText(dst *column.Vector, indexes []uint32) error {
	if len(dst.Offsets) == 0 {
		dst.Offsets = append(dst.Offsets, 0)
	}
	offsets, data, text, places := slices.Grow(dst.Offsets, len(indexes)), dst.Data, v.words.text, v.words.places
	// The vector never has more room than 2^30 bytes, so offsets fit 32 bits.
	_, _, room := dst.Room(v.leaf.Type)
	limit := len(data) + room
	budget := int64(len(data)) + min(v.text, math.MaxInt64/2)
	for _, i := range indexes {
		from, to := 0, 0
		if places != nil {
			from, to = int(places[i]), int(places[i+1])-4
		} else {
			from = int(i) * v.leaf.size
			to = from + v.leaf.size
		}
		size := to - from
		//guard: bounds the text that a dictionary expands to
		if int64(len(data)+size) > budget {
			return v.tooLong()
		}
		//guard: keeps offsets of strings within 32 bits
		if size > limit-len(data) {
			return column.ErrFull
		}
		if size <= shortWord && from+shortWord <= len(text) && len(data)+shortWord <= cap(data) {
			*(*[shortWord]byte)(data[len(data) : len(data)+shortWord]) = *(*[shortWord]byte)(text[from:])
			data = data[:len(data)+size]
		} else {
			data = append(data, text[from:to]...)
		}
		offsets = append(offsets, int32(len(data)))
	}
	dst.Offsets, dst.Data = offsets, data
	return nil
}

// readDictionary decodes the dictionary page of a leaf. The result keeps the page's values if
// they are text.
func (v *valueReader) readDictionary(page *loadedPage) (*words, error) {
	w := &words{count: page.entries}
	//guard: refuses dictionaries in other encodings
	if page.encoding != pq.Plain && page.encoding != oldDictionary {
		return nil, bad(damage.Unsupported, "a dictionary with the encoding %v (%d)", page.encoding, int32(page.encoding))
	}
	//guard: keeps the places of words within 32 bits
	if len(page.values) > math.MaxInt32-4 {
		return nil, bad(damage.Unsupported, "a dictionary of %d bytes", len(page.values))
	}
	plain := *page
	plain.encoding = pq.Plain
	if err := v.reset(&plain, nil, math.MaxInt64); err != nil {
		return nil, err
	}
	//guard: rejects more values than the page has bytes for
	if w.count > len(page.values)/v.leastSize() {
		return nil, bad(damage.Count, "a dictionary of %d values in %d bytes", w.count, len(page.values))
	}
	switch {
	case v.symbols != nil || !v.leaf.textual():
		if err := v.read(&w.values, w.count); err != nil {
			return nil, err
		}
	case v.leaf.physical == pq.FixedLenByteArray:
		w.text, v.plain = page.values, v.plain[w.count*v.leaf.size:]
	default:
		w.text, w.places = page.values, make([]int32, 0, w.count+1)
		for range w.count {
			w.places = append(w.places, int32(len(page.values)-len(v.plain)+4))
			left := len(v.plain)
			if err := v.skip(1); err != nil {
				return nil, err
			}
			w.longest = max(w.longest, left-len(v.plain)-4)
		}
		w.places = append(w.places, int32(len(page.values)-len(v.plain)+4))
	}
	if err := v.end(); err != nil {
		return nil, err
	}
	return w, nil
}

// wordsMemory returns a bound of the memory of a dictionary's words, besides their text.
func (v *valueReader) wordsMemory(page *loadedPage) int64 {
	return 8 * int64(min(page.entries, len(page.values)/v.leastSize())+1)
}

// leastSize returns the least size in bytes of a PLAIN value. A boolean counts as one.
func (v *valueReader) leastSize() int {
	switch v.leaf.physical {
	case pq.Boolean:
		return 1
	case pq.ByteArray:
		return 4
	}
	return v.leaf.width()
}

// size returns the bytes of memory of the words besides their text.
func (w *words) size() int64 {
	s := &w.values
	return int64(4*cap(w.places) + 4*cap(s.Ints) + 8*cap(s.Longs) + 4*cap(s.Floats) + 8*cap(s.Doubles) + cap(s.Bools))
}
