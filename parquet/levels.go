package parquet

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/parquet/encoding"
)

// blockLevels are the encoded levels of a block, and the pages into which the block is divided.
// Many leaves below one record have equal levels. So take keeps those of the last block.
type blockLevels struct {
	// The fields below depend on these, and on nothing else unless bySize is set.
	shape levelShape
	words []uint32 // a copy of Block.Lengths

	// bySize is set if pages end because of the bytes of their values.
	bySize bool
	pages  []page // without values
	values int    // of all pages
	// histogram is as encodeJob.histogram.
	histogram []int64
	encoded   []byte
	encoder   encoding.HybridEncoder
}

// levelShape is what the levels of a block mean.
type levelShape struct {
	rows     int64
	def, rep int
	valued   bool // entries of the highest level have values
	version  int  // of pages; 0 if the levels of the block are not kept
}

// maxKeptWords is the most words of a block whose levels are kept for the next block.
const maxKeptWords = 1 << 16

// take sets the levels of a job's block.
func (l *blockLevels) take(j *encodeJob) error {
	shape := levelShape{j.block.Rows, j.c.def, j.c.rep, j.c.presence || j.c.Type != column.Null, j.c.pageVersion}
	c := cutter{pages: l.pages[:0], valued: shape.valued, width: j.c.kind.width()}
	switch {
	case j.c.kind == enums:
		c.width = int(j.c.bound.value)
	case j.c.kind == booleans:
		c.width = 1
	case c.width == 0 && len(j.block.Data) > pageBytes:
		c.data = j.block.Data
	}
	bySize := c.data != nil
	if l.shape == shape && !l.bySize && !bySize && l.values*c.width < pageBytes && slices.Equal(l.words, j.block.Lengths) {
		return nil
	}
	c.cut(j.c.leaf, j.block)
	l.pages, l.shape = c.pages, levelShape{}
	rows := int64(0)
	l.values = 0
	for i := range l.pages {
		rows, l.values = rows+int64(l.pages[i].rows), l.values+l.pages[i].values
	}
	//guard: rejects levels that do not fit the rows
	if rows != j.block.Rows {
		return fmt.Errorf("a block of %d rows has levels of %d", j.block.Rows, rows)
	}
	l.bySize = bySize || l.values*c.width >= pageBytes
	l.encode(j)
	if len(j.block.Lengths) <= maxKeptWords {
		l.shape, l.words = shape, append(l.words[:0], j.block.Lengths...)
	}
	return nil
}

// size returns the bytes of memory, without that of pages.
func (l *blockLevels) size() int { return 4*cap(l.words) + cap(l.encoded) }

// of returns the levels of a page.
func (l *blockLevels) of(p *page) []byte { return l.encoded[p.levels:][:p.reps+p.defs] }

// encode encodes the levels of each page.
func (l *blockLevels) encode(j *encodeJob) {
	l.encoded = l.encoded[:0]
	l.histogram = slices.Grow(l.histogram[:0], len(j.histogram))[:len(j.histogram)]
	clear(l.histogram)
	for i := range l.pages {
		p := &l.pages[i]
		p.levels = len(l.encoded)
		if j.c.rep > 0 {
			l.append(j, p, width(j.c.rep), true)
		}
		p.reps = len(l.encoded) - p.levels
		if j.c.def > 0 {
			l.append(j, p, width(j.c.def), false)
		}
		p.defs = len(l.encoded) - p.levels - p.reps
	}
}

// append appends the repetition levels or the definition levels of a page: a hybrid, after its
// size in a page of version 1.
func (l *blockLevels) append(j *encodeJob, p *page, width int, repetition bool) {
	counts := l.histogram
	if repetition && len(counts) > 0 {
		counts = counts[j.c.def+1:]
	}
	at := len(l.encoded)
	if j.c.pageVersion == 1 {
		l.encoded = append(l.encoded, 0, 0, 0, 0)
	}
	l.encoder.Reset(l.encoded, width)
	left, skip := p.entries, p.skip
	for _, word := range j.block.Lengths[p.word:] {
		level, def, n := column.LevelRun(word)
		if !repetition {
			level = def
		}
		n = min(n-skip, left)
		skip = 0
		l.encoder.Put(uint32(level), n)
		if len(counts) > 0 {
			counts[level] += int64(n)
		}
		if left -= n; left == 0 {
			break
		}
	}
	if l.encoded = l.encoder.Finish(); j.c.pageVersion == 1 {
		binary.LittleEndian.PutUint32(l.encoded[at:], uint32(len(l.encoded)-at-4))
	}
}
