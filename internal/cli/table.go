package cli

import (
	"bufio"
	"slices"
	"strings"
)

// Table prints aligned cells. A column whose heading ends in > is aligned to the right.
type Table struct {
	right  []bool
	rows   [][]string
	spared []int
}

// NewTable returns a table with headings.
func NewTable(headings ...string) *Table {
	t := &Table{right: make([]bool, len(headings))}
	for i, h := range headings {
		headings[i], t.right[i] = strings.CutSuffix(h, ">")
	}
	t.Add(headings...)
	return t
}

// Add adds a row. Each cell takes one line.
func (t *Table) Add(cells ...string) {
	for i := range cells {
		cells[i] = Printable(cells[i])
	}
	t.rows = append(t.rows, cells)
}

// Spare sets the columns that are left out, in this order, if the table is too wide.
func (t *Table) Spare(columns ...int) { t.spared = columns }

const (
	// minFlexible is the least width of the flexible column while further spared columns
	// can be left out.
	minFlexible = 24
	// LeastFlexible is its least width then.
	LeastFlexible = 8
	// TableGap is the width between columns.
	TableGap = 2
)

// Print writes the table. If the table is wider than width, print shortens the cells of the
// flexible column, and leaves out the spared columns, and then columns from the right. An empty
// column takes no room. It cuts the middle out of cells, because both ends of a column's path
// tell it from other columns. A width of 0 is no limit.
func (t *Table) Print(w *bufio.Writer, flexible, width int) {
	widths, shown := t.fit(flexible, width)
	var line strings.Builder
	for _, row := range t.rows {
		line.Reset()
		for _, i := range shown {
			if i != shown[0] {
				line.WriteString(strings.Repeat(" ", TableGap))
			}
			cell := row[i]
			if i == flexible {
				cell = Shorten(cell, widths[i])
			}
			line.WriteString(Align(cell, widths[i], t.right[i]))
		}
		text := strings.TrimRight(line.String(), " ")
		if width > 0 {
			text = Shorten(text, width)
		}
		_, _ = w.WriteString(text + "\n") // Flush reports the error
	}
}

// Align fills a cell up to a width.
func Align(cell string, width int, right bool) string {
	pad := strings.Repeat(" ", max(0, width-TextWidth(cell)))
	if right {
		return pad + cell
	}
	return cell + pad
}

// fit returns the width of each column, and the columns that are shown.
func (t *Table) fit(flexible, width int) (widths, shown []int) {
	widths = make([]int, len(t.right))
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], TextWidth(cell))
		}
	}
	for i, n := range widths {
		if n > 0 {
			shown = append(shown, i)
		}
	}
	if width == 0 {
		return widths, shown
	}
	over := func() int {
		total := TableGap * (len(shown) - 1)
		for _, i := range shown {
			total += widths[i]
		}
		return total - width
	}
	spared := t.spared
	for len(spared) > 0 && over() > max(0, widths[flexible]-minFlexible) {
		shown = slices.DeleteFunc(shown, func(i int) bool { return i == spared[0] })
		spared = spared[1:]
	}
	// A column is left out as a whole, because half a figure reads as another number.
	for last := len(shown) - 1; last > 0 && over() > max(0, widths[flexible]-LeastFlexible); last-- {
		if shown[last] != flexible {
			shown = slices.Delete(shown, last, last+1)
		}
	}
	if n := over(); n > 0 {
		widths[flexible] = max(widths[flexible]-n, min(widths[flexible], LeastFlexible))
	}
	return widths, shown
}

// Shorten cuts the middle out of a text that takes more than n columns of a
// terminal.
func Shorten(s string, n int) string {
	if n < 3 || TextWidth(s) <= n {
		return s
	}
	r := []rune(s)
	head, tail, room := 0, len(r), n-1
	for left := room / 3; runeWidth(r[head]) <= left; head++ {
		left -= runeWidth(r[head])
		room -= runeWidth(r[head])
	}
	for ; runeWidth(r[tail-1]) <= room; tail-- {
		room -= runeWidth(r[tail-1])
	}
	for runeWidth(r[tail]) == 0 { // belongs to a character that was cut
		tail++
	}
	return string(r[:head]) + "…" + string(r[tail:])
}

// Wrap breaks text into lines of at most width, indenting all but the first.
func Wrap(text string, width int, indent string) string {
	var s strings.Builder
	line := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case line+1+len(word) > width:
			s.WriteString("\n" + indent)
			line = 0
		default:
			s.WriteByte(' ')
			line++
		}
		s.WriteString(word)
		line += len(word)
	}
	return s.String()
}

// Bar draws a share between 0 and 1 in eighths of a character.
func Bar(share float64, width int) string {
	eighths := int(share*float64(8*width) + 0.5)
	s := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		s += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return s
}
