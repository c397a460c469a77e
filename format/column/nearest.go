package column

import (
	"slices"
	"strings"
)

// maxNear is the most words that an error suggests.
const maxNear = 3

// Nearest returns the words that may have been meant by an unknown word, the likeliest
// first.
func Nearest(word string, words []string) (nearest []string) {
	type near struct {
		word     string
		distance int
	}
	var all []near
	seen := map[string]bool{}
	limit := min(1+len(word)/3, max(0, len(word)-1)) // a single letter is near no word
	for _, w := range words {
		if seen[w] {
			continue
		}
		seen[w] = true
		d := distance(strings.ToLower(word), strings.ToLower(w), limit)
		if strings.HasSuffix(strings.ToLower(w), "."+strings.ToLower(word)) {
			d = 0 // word is a path without the record around it
		}
		if d <= limit {
			all = append(all, near{w, d})
		}
	}
	slices.SortStableFunc(all, func(a, b near) int { return a.distance - b.distance })
	for _, n := range all[:min(len(all), maxNear)] {
		if n.distance <= all[0].distance+1 {
			nearest = append(nearest, n.word)
		}
	}
	return nearest
}

// distance returns the number of bytes to insert, remove or change to turn one string into
// the other. A result above limit means more than limit.
func distance(a, b string, limit int) int {
	if max(len(a)-len(b), len(b)-len(a)) > limit {
		return limit + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0]++
		for j := range len(b) {
			d := diagonal
			if a[i] != b[j] {
				d = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}
