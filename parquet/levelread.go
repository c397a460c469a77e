package parquet

import (
	"errors"
	"fmt"
	"io"
	"math/bits"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/parquet/encoding"
)

// levelWindow is how many entries are decoded at a time.
const levelWindow = 256

// levelReader reads the levels of a page entry by entry. Its errors have no place.
type levelReader struct {
	levelDecoders
	repetition, definition levels
	pageRows               int // rows that the page has by its index

	// The window is used only if the leaf has repetition levels. It has the levels of some
	// entries, and at is how many of these entries were passed. window is the state before it.
	reps, defs []uint32
	at         int
	window     levelDecoders
}

// levelDecoders decode the levels of the entries that are left.
type levelDecoders struct {
	rep, def encoding.HybridDecoder
	left     int
	rows     int // rows that were decoded, if the leaf has repetition levels
}

// levels describes the repetition or the definition levels of a page.
type levels struct {
	most  uint32
	same  bool // all entries have the level
	level uint32
}

// levelPlace is a place to which a levelReader can return in the same page.
type levelPlace struct {
	levelDecoders
	at int
}

// reset moves to the start of a page.
func (l *levelReader) reset(page *loadedPage) error {
	l.left, l.rows, l.pageRows = page.entries, 0, page.rows
	l.reps, l.defs, l.at = l.reps[:0], l.defs[:0], 0
	if err := l.repetition.begin(&l.rep, page.reps, page.entries); err != nil {
		return fmt.Errorf("repetition levels: %w", err)
	}
	if err := l.definition.begin(&l.def, page.defs, page.entries); err != nil {
		return fmt.Errorf("definition levels: %w", err)
	}
	return nil
}

// begin begins to decode the levels of a page.
func (l *levels) begin(d *encoding.HybridDecoder, src []byte, entries int) error {
	if l.same, l.level = true, 0; l.most == 0 || entries == 0 {
		return nil
	}
	width := bits.Len32(l.most)
	d.Reset(src, width)
	level, n, err := d.Next()
	if err != nil {
		return cutShort(err)
	}
	//guard: rejects levels that the column cannot have
	if level > l.most {
		return l.tooHigh(level)
	}
	l.same, l.level = n >= entries, level
	d.Reset(src, width)
	return nil
}

// read fills dst with the next levels.
func (l *levels) read(d *encoding.HybridDecoder, dst []uint32) error {
	if l.same {
		for i := range dst {
			dst[i] = l.level
		}
		return nil
	}
	if _, err := d.Read(dst); err != nil {
		return cutShort(err)
	}
	if l.most&(l.most+1) == 0 {
		return nil // no other levels have as many bits
	}
	for _, level := range dst {
		//guard: rejects levels that the column cannot have
		if level > l.most {
			return l.tooHigh(level)
		}
	}
	return nil
}

func (l *levels) tooHigh(level uint32) error {
	return fmt.Errorf("the level %d, but the highest is %d", level, l.most)
}

// cutShort returns the error for an end that comes too early.
func cutShort(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// badLevels returns an error of levels as damage.
func badLevels(err error) error {
	if err == nil || errors.As(err, new(*damage.Error)) {
		return err
	}
	d := damage.New(damage.Value, "", -1, "the levels cannot be decoded")
	d.Err = err
	return d
}

// next fills dst with the definition levels of the next entries. At least as many entries must be
// left, and the leaf must have no repetition levels.
func (l *levelReader) next(dst []uint32) error {
	l.left -= len(dst)
	return l.definition.read(&l.def, dst)
}

// fill decodes more entries if the window was passed. It reports whether there are any.
func (l *levelReader) fill() (bool, error) {
	if l.at < len(l.reps) {
		return true, nil
	}
	n := min(levelWindow, l.left)
	if cap(l.reps) < levelWindow {
		l.reps, l.defs = make([]uint32, 0, levelWindow), make([]uint32, 0, levelWindow)
	}
	l.window = l.levelDecoders
	l.reps, l.defs, l.at, l.left = l.reps[:n], l.defs[:n], 0, l.left-n
	if err := l.repetition.read(&l.rep, l.reps); err != nil {
		return false, fmt.Errorf("repetition levels: %w", err)
	}
	if err := l.definition.read(&l.def, l.defs); err != nil {
		return false, fmt.Errorf("definition levels: %w", err)
	}
	for _, rep := range l.reps {
		if rep == 0 {
			l.rows++
		}
	}
	//guard: rejects a page with other rows than its index says, which would shift all later rows
	if l.rows > l.pageRows || l.left == 0 && l.rows < l.pageRows {
		return false, bad(damage.Count, "the page does not have the %d rows that its index says", l.pageRows)
	}
	return n > 0, nil
}

// place returns the current place.
func (l *levelReader) place() levelPlace {
	if len(l.reps) == 0 {
		return levelPlace{l.levelDecoders, 0}
	}
	return levelPlace{l.window, l.at}
}

// move returns to a place of the same page.
func (l *levelReader) move(p levelPlace) error {
	l.levelDecoders = p.levelDecoders
	l.reps, l.defs, l.at = l.reps[:0], l.defs[:0], 0
	if p.at == 0 {
		return nil
	}
	_, err := l.fill()
	l.at = p.at
	return err
}

// count returns how many of the entries that are left have at least a definition level. It does
// not move.
func (l *levelReader) count(least uint32) (n int, err error) {
	if l.repetition.most > 0 {
		return l.countItems(least)
	}
	if d := &l.definition; d.same {
		if d.level < least {
			return 0, nil
		}
		return l.left, nil
	}
	at := l.levelDecoders
	var levels [levelWindow]uint32
	for l.left > 0 && err == nil {
		some := levels[:min(l.left, levelWindow)]
		if err = l.next(some); err == nil {
			n += atLeast(some, least)
		}
	}
	l.levelDecoders = at
	return n, err
}

// countItems is count for a leaf with repetition levels. It also checks the number of rows.
func (l *levelReader) countItems(least uint32) (n int, err error) {
	place := l.place()
	for {
		more, err := l.fill()
		if err != nil {
			return 0, err
		}
		if !more {
			return n, l.move(place)
		}
		n += atLeast(l.defs[l.at:], least)
		l.at = len(l.reps)
	}
}

// atLeast returns how many levels are at least least.
func atLeast(levels []uint32, least uint32) (n int) {
	for _, level := range levels {
		if level >= least {
			n++
		}
	}
	return n
}

// entries returns how many entries are left.
func (l *levelReader) entries() int { return l.left + len(l.reps) - l.at }

// passRows passes over the entries of n rows, after which the page must have another row. It
// returns how many of these entries have at least a definition level.
func (l *levelReader) passRows(n int, least uint32) (passed int, err error) {
	if l.repetition.most == 0 {
		return l.passEntries(n, least)
	}
	for {
		if more, err := l.fill(); err != nil || !more {
			return passed, err
		}
		for ; l.at < len(l.reps); l.at++ {
			if l.reps[l.at] == 0 {
				if n--; n < 0 {
					return passed, nil
				}
			}
			if l.defs[l.at] >= least {
				passed++
			}
		}
	}
}

// passEntries is passRows for a leaf without repetition levels.
func (l *levelReader) passEntries(n int, least uint32) (passed int, err error) {
	n = min(n, l.left)
	if d := &l.definition; d.same {
		if l.left -= n; d.level < least {
			return 0, nil
		}
		return n, nil
	}
	var levels [levelWindow]uint32
	for n > 0 {
		some := levels[:min(n, levelWindow)]
		if err := l.next(some); err != nil {
			return passed, err
		}
		passed += atLeast(some, least)
		n -= len(some)
	}
	return passed, nil
}
