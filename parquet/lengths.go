package parquet

import (
	"slices"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// lengths appends up to n lengths of the page, and returns their sum. It appends none if the page
// has no more, and stops when it has most items. If one sequence alone has more than room items, the error is column.ErrFull.
func (c *cursor) lengths(dst []int32, n, most, room int) (_ []int32, items int, err error) {
	if c.levels.repetition.most > 0 {
		return c.sequences(dst, n, most, room)
	}
	//guard: bounds the values in a vector
	if n = min(n, room, c.levels.left, most); n == 0 {
		return dst, 0, column.ErrFull
	}
	from := len(dst)
	dst = slices.Grow(dst, n)
	if d := &c.levels.definition; d.same {
		c.levels.left -= n
		if d.level < c.around.def {
			return dst, 0, nil
		}
		dst = dst[:from+n]
		length := lengthOf(d.level, c.item.def)
		for i := range dst[from:] {
			dst[from+i] = length
		}
		return dst, n * int(length), nil
	}
	var levels [levelWindow]uint32
	for n > 0 {
		some := levels[:min(n, levelWindow)]
		if err := c.levels.next(some); err != nil {
			return dst, 0, c.undecodable(err)
		}
		dst, items = c.appendOptional(dst, items, some)
		n -= len(some)
	}
	return dst, items, nil
}

// lengthOf returns the length of a unit with a definition level.
func lengthOf(level, item uint32) int32 {
	if level >= item {
		return 1
	}
	return 0
}

// appendOptional appends the lengths of entries, and adds them to items.
func (c *cursor) appendOptional(dst []int32, items int, levels []uint32) ([]int32, int) {
	item, sum := c.item.def, int32(0)
	if c.around.def == 0 { // each entry is a unit
		from := len(dst)
		dst = dst[:from+len(levels)]
		for i, to := 0, dst[from:]; i < len(to) && i < len(levels); i++ {
			to[i] = lengthOf(levels[i], item)
			sum += to[i]
		}
		return dst, items + int(sum)
	}
	for _, level := range levels {
		if level >= c.around.def {
			dst = append(dst, lengthOf(level, item))
			sum += lengthOf(level, item)
		}
	}
	return dst, items + int(sum)
}

// sequences is lengths for a leaf with repetition levels. It may append a sequence that has more than most items.
func (c *cursor) sequences(dst []int32, n, most, room int) (_ []int32, items int, err error) {
	l, had, around, item := &c.levels, len(dst), c.around, c.item
	open := false // the last length has items
	for {
		more, err := l.fill()
		if err != nil || !more {
			return dst, items, c.undecodable(err)
		}
		defs := l.defs[l.at:]
		for i, rep := range l.reps[l.at:] {
			def := defs[i]
			switch {
			case rep <= around.rep && def < around.def:
				open = false // the parent has no item here
			case rep <= around.rep:
				if k := len(dst) - had; k == n || k > 0 && items >= most {
					l.at += i
					return dst, items, nil
				}
				length := lengthOf(def, item.def)
				dst, items, open = append(dst, length), items+int(length), length > 0
			//guard: rejects items of a sequence that is empty
			case !open:
				return dst, items, c.damaged(damage.Value, "levels of an item without a list")
			case rep == item.rep:
				//guard: rejects an item that does not exist
				if def < item.def {
					return dst, items, c.damaged(damage.Value, "an item with the definition level %d, expected at least %d", def, item.def)
				}
				dst[len(dst)-1]++
				items++
			}
			//guard: bounds the values in a vector
			if items > room {
				l.at += i
				return dst, items, column.ErrFull
			}
		}
		l.at = len(l.reps)
	}
}
