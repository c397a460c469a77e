package where

// itemsAtOnce is the number of items of arrays that are evaluated together.
const itemsAtOnce = 4096

// anyOf is true if an item of an array or a map meets a condition. If negated, it is true if
// no item meets the condition.
type anyOf struct {
	f         *field // the array
	column    int    // column of the array's lengths
	items     *scope
	condition condition
	not       bool

	lengths []int32
}

func (c *anyOf) eval(match []bool, s *scratch) {
	total := 0
	for i := range match {
		match[i] = false
		total += c.length(i)
	}
	row, left := -1, 0
	for total > 0 {
		n := min(total, itemsAtOnce)
		c.items.load(n)
		items := s.take(n)
		c.condition.eval(items, s)
		for _, m := range items {
			for left == 0 {
				row++
				left = c.length(row)
			}
			left--
			match[row] = match[row] || m
		}
		s.release(items)
		total -= n
	}
	if c.not {
		for i, m := range match {
			match[i] = !m && c.f.index(i) >= 0
		}
	}
}

// length returns the number of a row's items.
func (c *anyOf) length(row int) int {
	if at := c.f.index(row); at >= 0 {
		return int(c.lengths[at])
	}
	return 0
}
