package parquet

import (
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"sync"

	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/parquet/encoding"
)

// encodeJob encodes a raw block into data pages.
type encodeJob struct {
	c      *groupColumn // nil if the column has no column chunk
	block  *column.Block
	number int64 // number of the job in the column
	// numbered is set if the block began while the column had a dictionary. The dictionary
	// then has, after the block, words of size bytes. It has ended if ended is set.
	numbered, ended bool
	size, words     int
	invalid         bool // a decimal is not one of its type
	pages           []pageEntry
	bounds          []byte // the bounds of pages, one after another
	// histogram has the number of entries of each definition level, then of each repetition
	// level.
	histogram []int64
}

// pageEntry is what the indexes and the footer need to know of a page.
type pageEntry struct {
	stored  int32 // bytes in the file, with the header
	raw     int32 // bytes before compression, with the header
	entries int32
	rows    int32
	nulls   int32
	header  uint32 // CRC-32C of the header
	text    int64  // bytes of values of any size without their lengths
	// min and max are the bytes of the bounds, or -1 for those that are not known.
	min, max int8
	coded    bool
}

// begin makes j the job of a block. j keeps its memory.
func (j *encodeJob) begin(c *groupColumn, block *column.Block) {
	*j = encodeJob{c: c, block: block, pages: j.pages[:0], bounds: j.bounds[:0], histogram: j.histogram[:0]}
	if c == nil {
		return
	}
	j.number = c.begunJobs
	if n := c.histogramSize(); n > 0 {
		j.histogram = slices.Grow(j.histogram, n)[:n]
		clear(j.histogram)
	}
}

// keptScratch is the size of the largest buffers that are kept for other blocks.
const keptScratch = 4 << 20

// scratch is the memory of an Encode. Each worker uses one.
type scratch struct {
	pages    []page
	leftAvro []byte // the values that are left, in Avro's encoding
	// converted is set if plain has all numbers of the block. Then leftPlain has those that are
	// left, and leftAvro none.
	converted bool
	plain     []byte
	leftPlain []byte
	codes     []uint32 // numbers of the dictionary
	hashes    []uint64 // of the values of a page
	way       pass
	body      []byte // of a page, before compression
	levels    blockLevels
	head      [pageHeaderBound]byte
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// release keeps the memory for other jobs, unless a huge value made it large.
func (s *scratch) release() {
	s.leftAvro, s.leftPlain, s.way = nil, nil, pass{}
	clear(s.pages) // bounds are in the memory of the block
	if cap(s.plain)+4*cap(s.codes)+8*cap(s.hashes)+cap(s.body)+s.levels.size() <= keptScratch {
		scratches.Put(s)
	}
}

// Bound returns the most bytes that Encode appends. If they can be many, it adds the other
// memory that Encode uses.
func (j *encodeJob) Bound() int64 {
	if j.c == nil {
		return 0
	}
	b := &j.c.bound
	raw := b.raw(j.block.Rows, len(j.block.Data), len(j.block.Lengths))
	n := compressRoom(b.codec, raw) + b.pages(j.block.Rows, raw, len(j.block.Lengths))*b.page
	if raw > keptScratch {
		n += 2*raw + b.levels(j.block.Rows, len(j.block.Lengths)) // values as plain, the body of a page, and levels
		if j.c.encoding == pq.DeltaByteArray {
			n += raw / 2 // four bytes for each value, which counts as eight or more
		}
	}
	return n
}

// Encode appends the data pages.
func (j *encodeJob) Encode(dst []byte) ([]byte, error) {
	if j.c == nil {
		return dst, nil
	}
	s := scratches.Get().(*scratch)
	defer s.release()
	err := s.cut(j)
	if err == nil {
		err = s.number(j)
	}
	if err == nil {
		err = s.filterPages(j)
	}
	if err != nil {
		j.c.turns.pass(j.number, true)
		return dst, j.locate(err)
	}
	dst, err = s.encode(j, dst)
	return dst, j.locate(err)
}

// locate adds the column to err.
func (j *encodeJob) locate(err error) error {
	if err == nil {
		return nil
	}
	if d := (*damage.Error)(nil); errors.As(err, &d) {
		d.Column = j.c.Name
		if v := (*valueError)(nil); errors.As(err, &v) {
			d.Row = j.rowOf(v.value)
			return d
		}
		return err
	}
	return fmt.Errorf("parquet: column %q: %w", j.c.Name, err)
}

// cut divides the block into pages.
func (s *scratch) cut(j *encodeJob) error {
	if err := s.levels.take(j); err != nil {
		return err
	}
	s.pages = append(s.pages[:0], s.levels.pages...)
	copy(j.histogram, s.levels.histogram)
	s.converted, s.codes, s.leftAvro = false, s.codes[:0], j.block.Data
	return nil
}

// number numbers the values of the block while the column has a dictionary.
func (s *scratch) number(j *encodeJob) error {
	c := j.c
	if c.dictionary == nil || c.turns.over() {
		return nil
	}
	source := j.block.Data
	if c.kind == ints || c.kind == longs {
		if err := s.convert(c); err != nil {
			return err
		}
		source = s.plain
	}
	if !c.turns.wait(j.number) {
		return nil
	}
	j.numbered = true
	for i := 0; i < len(s.pages) && !j.ended; i++ {
		p := &s.pages[i]
		p.first = len(s.codes)
		if p.values == 0 {
			// A page of nulls alone counts as coded, so that readers take the dictionary for all values.
			p.coded, p.end = true, p.first
			continue
		}
		//guard: rejects missing values
		if w := c.kind.width(); w > 0 && len(source)/w < p.values {
			return errCut
		}
		way := &s.way
		*way = pass{source: source, codes: s.codes}
		way.bounds.reset(c.order)
		ok, err := c.dictionary.page(way, p.values)
		if err != nil {
			return err
		}
		j.ended = !ok
		if s.codes = way.codes; ok {
			p.coded, p.end, p.width = true, len(s.codes), c.dictionary.width()
			p.size, p.bounds, p.text = len(source)-len(way.source), way.bounds, way.text
			source = way.source
		}
	}
	j.size, j.words = c.dictionary.size, c.dictionary.words
	c.turns.pass(j.number, j.ended)
	return nil
}

// convert makes plain values of all ints or longs of the block.
func (s *scratch) convert(c *groupColumn) (err error) {
	n := 0
	for i := range s.pages {
		n += s.pages[i].values
	}
	s.plain, err = s.convertNumbers(s.plain[:0], c, n)
	s.leftPlain, s.converted = s.plain, true
	return err
}

// encode appends the pages.
func (s *scratch) encode(j *encodeJob, dst []byte) (_ []byte, err error) {
	for i := range s.pages {
		p := &s.pages[i]
		j.pages = append(j.pages, pageEntry{
			entries: int32(p.entries), rows: int32(p.rows), nulls: int32(p.entries - p.values), coded: p.coded, min: -1, max: -1,
		})
		s.body = append(s.body[:0], s.levels.of(p)...)
		if p.coded {
			s.appendCodes(j, p)
		} else if err := s.appendValues(j, p); err != nil {
			return dst, err
		}
		//guard: refuses decimals for which readers would refuse the column
		if j.invalid {
			return dst, j.invalidDecimal()
		}
		if dst, err = s.store(j, p, dst); err != nil {
			return dst, err
		}
	}
	//guard: rejects values left over
	if len(s.leftAvro) > 0 {
		return dst, fmt.Errorf("%d bytes after the values of a block", len(s.leftAvro))
	}
	return dst, nil
}

// appendCodes appends the numbers of the dictionary to the body of a page: their width and a
// hybrid.
func (s *scratch) appendCodes(j *encodeJob, p *page) {
	s.body = append(s.body, byte(p.width))
	s.body = encoding.AppendHybrid(s.body, s.codes[p.first:p.end], p.width)
	entry := &j.pages[len(j.pages)-1]
	switch {
	case s.converted:
		j.addNumberBounds(s.leftPlain[:p.size])
		s.leftPlain = s.leftPlain[p.size:]
	case j.c.kind == floats || j.c.kind == doubles:
		j.addNumberBounds(s.leftAvro[:p.size])
		s.leftAvro = s.leftAvro[p.size:]
	default:
		j.addTextBounds(&p.bounds)
		if j.c.kind != fixed {
			entry.text = p.text
		}
		s.leftAvro = s.leftAvro[p.size:]
	}
}

// store appends a page with its header. s.body has the page before compression.
func (s *scratch) store(j *encodeJob, p *page, dst []byte) ([]byte, error) {
	e := &j.pages[len(j.pages)-1]
	//guard: refuses a page that is too large for its header
	if len(s.body) > maxPage {
		return dst, damage.New(damage.Unsupported, "", -1, "a row, or the rows of a page, need %d bytes; a page has at most %d", len(s.body), maxPage)
	}
	// The header is in front of the bytes that determine it.
	at := len(dst)
	dst = append(dst, s.head[:]...)
	body := len(dst)
	values := s.body
	if j.c.pageVersion == 2 {
		levels := p.reps + p.defs
		dst, values = append(dst, values[:levels]...), values[levels:]
	}
	dst, err := compress(dst, j.c.codec, values)
	if err != nil {
		return dst[:at], err
	}
	head := s.header(j.c, p, pageSizes{raw: len(s.body), stored: len(dst) - body, crc: crc32.ChecksumIEEE(dst[body:])})
	copy(dst[at:], head)
	dst = dst[:at+len(head)+copy(dst[at+len(head):], dst[body:])]
	e.header = crc32.Checksum(head, castagnoli)
	e.stored, e.raw = int32(len(dst)-at), int32(len(head)+len(s.body))
	return dst, nil
}

// header returns the header of a data page.
func (s *scratch) header(c *groupColumn, p *page, sizes pageSizes) []byte {
	e := pq.RLEDictionary
	if !p.coded {
		e = c.valuesEncoding()
	}
	if c.pageVersion == 1 {
		return appendDataHeader(s.head[:0], p.entries, e, sizes)
	}
	return appendDataHeaderV2(s.head[:0], headerV2{
		entries: p.entries, nulls: p.entries - p.values, rows: p.rows, reps: p.reps, defs: p.defs, compressed: c.codec != pq.Uncompressed,
	}, e, sizes)
}

// maxPage is the most bytes of a page before compression. With any codec it is then not too
// large for the 31 bits of the sizes in its header.
const maxPage = math.MaxInt32 - math.MaxInt32/32
