package column

// groupSize is about how many columns a group has.
const groupSize = 64

// Groups divides n columns into groups of consecutive columns, and returns the number of the column
// after each group. child reports whether a column has a parent. A child is in the group of its
// parent, so that each group can be read on its own. No columns are one empty group.
func Groups(n int, child func(col int) bool) (ends []int) {
	first := 0
	for next := 1; next < n; next++ {
		if next-first >= groupSize && !child(next) {
			ends, first = append(ends, next), next
		}
	}
	return append(ends, n)
}
