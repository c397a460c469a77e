package dataset

import (
	"slices"
	"sort"
)

// span is a range of rows of a part.
type span struct{ from, to int64 }

// after returns spans without their first rows. It changes the first span that remains.
func after(spans []span, rows int64) []span {
	for len(spans) > 0 && spans[0].to-spans[0].from <= rows {
		rows -= spans[0].to - spans[0].from
		spans = spans[1:]
	}
	if len(spans) > 0 {
		spans[0].from += rows
	}
	return spans
}

// before returns only the first rows of spans. It changes the last span that remains.
func before(spans []span, rows int64) []span {
	for i := range spans {
		s := &spans[i]
		if s.to = s.from + min(rows, s.to-s.from); s.from == s.to {
			return spans[:i]
		}
		rows -= s.to - s.from
	}
	return spans
}

// count returns the number of rows of spans.
func count(spans []span) (rows int64) {
	for _, s := range spans {
		rows += s.to - s.from
	}
	return rows
}

// appendSpan appends rows after those of spans. Rows that follow the last ones make its span longer.
func appendSpan(spans []span, s span) []span {
	if s.from == s.to {
		return spans
	}
	if n := len(spans) - 1; n >= 0 && spans[n].to == s.from {
		spans[n].to = s.to
		return spans
	}
	return append(spans, s)
}

// intersect returns the rows that are in both a and b, which ascend.
func intersect(a, b []span) (both []span) {
	for len(a) > 0 && len(b) > 0 {
		if s := (span{max(a[0].from, b[0].from), min(a[0].to, b[0].to)}); s.from < s.to {
			both = append(both, s)
		}
		if a[0].to < b[0].to {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return both
}

// insertSpan adds a span to spans, which ascend, with gaps between them.
func insertSpan(spans []span, s span) []span {
	i := sort.Search(len(spans), func(i int) bool { return spans[i].to >= s.from })
	j := sort.Search(len(spans), func(j int) bool { return spans[j].from > s.to })
	if i < j {
		s.from, s.to = min(s.from, spans[i].from), max(s.to, spans[j-1].to)
	}
	return slices.Replace(spans, i, j, s)
}
