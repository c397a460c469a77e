package parquet

import (
	"encoding/binary"

	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/parquet/encoding"
)

// sizeBound bounds the bytes that a raw block adds to a file. The bound does not depend on
// other blocks, except that it is lower once the dictionary has ended.
type sizeBound struct {
	kind  valueKind
	codec pq.CompressionCodec
	per   int64 // compression adds up to one byte to each per bytes: see compressRatio
	lists bool  // a row may have several values
	// word is the most bytes of the levels in a word of a block's lengths. Without lists, bits is
	// the most bits of the level of a row.
	word, bits int64
	// value is the most plain bytes of a value, without its bytes of data if hasData is set.
	value   int64
	hasData bool
	// extra is what 128 values add to their plain bytes in other encodings, except for value.
	extra int64
	// number is the most bits of a number of the dictionary. It is 0 without one.
	number int
	// filter is the most bytes that a value adds to the Bloom filter.
	filter int64
	// dictionary is the most bytes of the dictionary's words.
	dictionary int64
	// page is the most bytes that a page adds without its levels and values: to itself, to the
	// indexes, and to the table of checksums.
	page int64
}

// pageTables bounds the bytes of a page in the indexes and in the table of checksums, without
// the bytes of its bounds.
const pageTables = 4 + // checksum
	2*(1+binary.MaxVarintLen64) + (1 + binary.MaxVarintLen32) + 1 + // location
	binary.MaxVarintLen64 + // bytes of text
	1 + 2*binary.MaxVarintLen32 + binary.MaxVarintLen64 // null page, lengths of bounds, null count

func newSizeBound(c *groupColumn, limit int) sizeBound {
	b := sizeBound{codec: c.codec, kind: c.kind, lists: c.rep > 0, bits: int64(width(c.def)) + 1, value: int64(c.kind.width())}
	least := 4 // of a word
	switch c.kind {
	case texts:
		b.value, b.hasData = 3, true // four bytes of length instead of at least one
	case fixed:
		b.value, b.hasData = 0, true
		least = c.size
	case enums:
		for _, s := range c.symbols {
			b.value = max(b.value, int64(4+len(s)))
			b.dictionary += int64(4 + len(s))
		}
		b.dictionary = min(b.dictionary, int64(limit))
	case longs, doubles:
		least = 8
	}
	overhead := b.encode(c.encoding)
	if c.dictionary != nil {
		if c.kind != enums {
			b.dictionary = int64(limit)
		}
		b.number = width(limit / (least + wordOverhead))
	}
	if c.filter != nil {
		b.filter = filterValue
	}
	per, compression := compressRatio(c.codec)
	b.per = per
	b.page = pageHeaderBound + compression + overhead + pageTables + 2*int64(c.boundSize()) +
		1 + int64(encoding.HybridBound(1, 1, b.number)) + 1
	for _, most := range []int{c.def, c.rep} {
		w := width(most)
		b.page += 4 + 2*int64(encoding.HybridBound(1, 1, w))
		if most > 0 {
			b.word += int64(5 + (w+7)/8 + 2*(w+1))
		}
	}
	b.page += b.page/32 + 1 // for compression
	return b
}

// encode raises the bounds for values in an encoding. It returns what the encoding adds to a page
// with any number of values.
func (b *sizeBound) encode(e pq.Encoding) (page int64) {
	delta := func(size int) {
		page += int64(encoding.DeltaBound(0, size))
		b.extra += int64(encoding.DeltaBound(128, size) - encoding.DeltaBound(0, size) - 128*size)
	}
	switch e {
	case pq.RLE:
		page, b.extra = 4+int64(encoding.HybridBoolsBound(0)), 1
	case pq.DeltaBinaryPacked:
		delta(int(b.value))
	case pq.DeltaLengthByteArray:
		delta(4) // instead of the lengths of plain values
	case pq.DeltaByteArray:
		delta(4)
		delta(4)
		b.value += 4
		if b.kind == fixed {
			b.value += 4 // plain values have no lengths
		}
	}
	return page
}

// end lowers the bound once the dictionary has ended.
func (b *sizeBound) end() { b.number, b.dictionary = 0, 0 }

// values returns the most values of a block.
func (b *sizeBound) values(rows int64, data, lengths int) int64 {
	n := int64(data)
	switch b.kind {
	case nulls:
		return 0
	case presences:
		n = int64(lengths) << 11
	}
	if !b.lists {
		n = min(n, rows)
	}
	return n
}

// raw returns the most bytes of the pages of a block before compression, and of new words of
// the dictionary, without those that sizeBound.page counts.
func (b *sizeBound) raw(rows int64, data, lengths int) int64 {
	n := b.values(rows, data, lengths)
	if b.kind == booleans || b.kind == presences {
		return (n+7)/8 + (n*b.extra+127)/128 + b.levels(rows, lengths)
	}
	plain := n*b.value + (n*b.extra+127)/128
	if b.hasData {
		plain += int64(data)
	}
	// A page has plain values or numbers, and the numbers may need new words.
	numbers := (n*int64(b.number+1) + 7) / 8
	return min(max(plain, numbers)+min(plain, b.dictionary), plain+numbers) + b.levels(rows, lengths)
}

// levels returns the most bytes of levels.
func (b *sizeBound) levels(rows int64, lengths int) int64 {
	n := int64(lengths) * b.word
	if !b.lists {
		n = min(n, (rows*b.bits+7)/8)
	}
	return n
}

// pages returns the most pages of a block whose pages have up to raw bytes.
func (b *sizeBound) pages(rows, raw int64, lengths int) int64 {
	return 1 + rows/maxPageRows + int64(lengths)/(maxPageEntries>>11) + raw/pageBytes
}

// block returns the bound of a block.
func (b *sizeBound) block(rows int64, data, lengths int) int64 {
	raw := b.raw(rows, data, lengths)
	return raw + raw/b.per + b.page + b.values(rows, data, lengths)*b.filter +
		(rows*b.page+maxPageRows-1)/maxPageRows + (int64(lengths)+1)*b.page/(maxPageEntries>>11) + raw*b.page/pageBytes + 1
}

// growth returns the most by which a byte of data, or a quarter of a length, raises the bound.
func (b *sizeBound) growth() int64 {
	data := b.value + int64(b.number+8)/8 + (b.extra+127)/128 + b.filter
	if b.hasData {
		data++
	}
	length := b.word
	if b.kind == presences {
		length += 1<<8 + b.extra<<4
	}
	length += b.page / (maxPageEntries >> 11)
	data, length = data+data/8+1, length+length/8+1 // for compression and shares of pages
	rows := int64(4)                                // for the levels of a row, and its share of a page
	return max(data+rows, (length+rows+3)/4)
}
