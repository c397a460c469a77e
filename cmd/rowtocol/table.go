package main

import (
	"bufio"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// table prints aligned cells. A heading that ends in > is of a column aligned
// to the right.
type table struct {
	right []bool
	rows  [][]string
}

func newTable(headings ...string) *table {
	t := &table{right: make([]bool, len(headings))}
	for i, h := range headings {
		headings[i], t.right[i] = strings.CutSuffix(h, ">")
	}
	t.add(headings...)
	return t
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// minFlexible is the width below which the flexible column is not shortened.
const minFlexible = 20

// print writes the table. Where it is wider than width, which 0 does not
// limit, the cells of the flexible column are shortened in their middle: both
// ends of a column's path tell it from its neighbours.
func (t *table) print(w *bufio.Writer, flexible, width int) {
	widths := make([]int, len(t.right))
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	total := 2 * (len(widths) - 1)
	for _, n := range widths {
		total += n
	}
	if over := total - width; width > 0 && over > 0 {
		widths[flexible] = max(widths[flexible]-over, min(widths[flexible], minFlexible))
	}
	var line strings.Builder
	for _, row := range t.rows {
		line.Reset()
		for i, cell := range row {
			if i > 0 {
				line.WriteString("  ")
			}
			if i == flexible {
				cell = shorten(cell, widths[i])
			}
			pad := strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(cell)))
			if t.right[i] {
				line.WriteString(pad + cell)
			} else {
				line.WriteString(cell + pad)
			}
		}
		_, _ = w.WriteString(strings.TrimRight(line.String(), " ") + "\n") // Flush reports it
	}
}

// shorten cuts the middle out of a text of more than n characters.
func shorten(s string, n int) string {
	r := []rune(s)
	if len(r) <= n || n < 3 {
		return s
	}
	head := (n - 1) / 3
	return string(r[:head]) + "…" + string(r[len(r)-(n-1-head):])
}

// printable makes a name from a file safe to print on a terminal.
func printable(s string) string {
	for _, r := range s {
		if !unicode.IsPrint(r) {
			q := strconv.Quote(s)
			return q[1 : len(q)-1]
		}
	}
	return s
}

// bar draws a share between 0 and 1 in eighths of a character.
func bar(share float64, width int) string {
	eighths := int(share*float64(8*width) + 0.5)
	s := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		s += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return s
}
