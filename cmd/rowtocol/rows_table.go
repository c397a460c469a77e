package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/dataset/export"
	"github.com/rowtocol/rowtocol/internal/cli"
)

const (
	// aheadRows and aheadBytes bound the first rows, which decide the widths of columns.
	aheadRows  = 1000
	aheadBytes = 4 << 20
	// widestCell is the width up to which a column is aligned. On a terminal, only columns
	// wider than wholeCell are narrowed, to no less than leastCell. A time in nanoseconds
	// fits in wholeCell: half a number or half a time would have another meaning.
	widestCell = 60
	wholeCell  = 30
	leastCell  = 16
	// shownCell bounds the bytes of a cell that are read for a terminal.
	shownCell = 4 << 10
)

// rowTable is an export.Writer that prints rows as a table. The first rows decide how wide
// its columns are. On a terminal it shortens cells and leaves out columns that do not fit.
// Elsewhere cells are complete, and a cell that is wider than its column shifts the row.
type rowTable struct {
	w     *bufio.Writer
	cells *export.Cells
	width int // columns of the terminal; 0 if there is none

	ahead  [][]string // rows that are not printed yet, and the names
	bytes  int        // bytes of ahead
	widths []int      // nil until they are decided
	line   strings.Builder
}

func newRowTable(w io.Writer, s *shred.Schema, width int) *rowTable {
	t := &rowTable{w: bufio.NewWriter(w), cells: export.NewCells(s), width: width}
	var names []string
	for _, name := range t.cells.Names() {
		names = append(names, t.shown([]byte(name)))
	}
	t.ahead = append(t.ahead, names)
	return t
}

// Memory implements export.Writer. It covers the copies of a row's cells.
func (t *rowTable) Memory(row int) int64 { return 8 * int64(row) }

func (t *rowTable) Write(row []byte) error {
	cells, err := t.cells.Row(row)
	if err != nil {
		return err
	}
	texts := make([]string, len(cells))
	for i, cell := range cells {
		texts[i] = t.shown(cell)
		t.bytes += len(texts[i])
	}
	if t.widths != nil {
		return t.print(texts)
	}
	if t.ahead = append(t.ahead, texts); len(t.ahead) <= aheadRows && t.bytes < aheadBytes {
		return nil
	}
	return t.begin()
}

// shown returns a cell on one line. For a terminal it leaves out the middle of a long cell.
func (t *rowTable) shown(cell []byte) string {
	if t.width == 0 || len(cell) <= shownCell {
		return cli.Printable(string(cell))
	}
	head, tail := cell[:shownCell/2], cell[len(cell)-shownCell/2:]
	for len(head) > 0 && !utf8.RuneStart(cell[len(head)]) {
		head = head[:len(head)-1]
	}
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return cli.Printable(string(head)) + "…" + cli.Printable(string(tail))
}

// Close prints the remaining rows, and the names of columns that were left out.
func (t *rowTable) Close() error {
	if t.widths == nil {
		if err := t.begin(); err != nil {
			return err
		}
	}
	if left := t.cells.Names()[len(t.widths):]; len(left) > 0 {
		if _, err := fmt.Fprintln(t.w, t.leftOut(left)); err != nil {
			return err
		}
	}
	return t.w.Flush()
}

// leftOut lists the columns that were left out: as many names as fit the terminal.
func (t *rowTable) leftOut(names []string) string {
	note, before := cli.Plural(len(names), "more column"), ": "
	for i, name := range names {
		longer := note + before + cli.Printable(name)
		room := t.width
		if i < len(names)-1 {
			room -= cli.TextWidth(", …")
		}
		if cli.TextWidth(longer) > room {
			return note + before + "…"
		}
		note, before = longer, ", "
	}
	return note
}

// begin decides the widths of the columns, and prints the rows so far.
func (t *rowTable) begin() error {
	t.widths = make([]int, len(t.cells.Names()))
	for _, row := range t.ahead {
		for i, cell := range row {
			t.widths[i] = max(t.widths[i], cli.TextWidth(cell))
		}
	}
	if t.width > 0 {
		t.widths = fitColumns(t.widths, t.width)
	} else {
		for i := range t.widths {
			t.widths[i] = min(t.widths[i], widestCell)
		}
	}
	for _, row := range t.ahead {
		if err := t.print(row); err != nil {
			return err
		}
	}
	t.ahead = nil
	return nil
}

// fitColumns narrows wide columns, the widest first, until they fit a width. If they still
// do not fit, it leaves out the last columns, but never the first.
func fitColumns(widths []int, width int) []int {
	narrowed := func(n, most int) int {
		if n <= wholeCell {
			return n
		}
		return min(n, max(most, leastCell))
	}
	shown, total := 1, narrowed(widths[0], leastCell)
	for ; shown < len(widths); shown++ {
		if total += cli.TableGap + narrowed(widths[shown], leastCell); total > width {
			break
		}
	}
	widths = slices.Clone(widths[:shown])
	sum := func(most int) (total int) {
		for _, n := range widths {
			total += cli.TableGap + narrowed(n, most)
		}
		return total - cli.TableGap
	}
	most := slices.Max(widths)
	for most > leastCell && sum(most) > width {
		most--
	}
	for i := range widths {
		widths[i] = narrowed(widths[i], most)
	}
	if shown == 1 {
		widths[0] = min(widths[0], width)
	}
	return widths
}

func (t *rowTable) print(row []string) error {
	t.line.Reset()
	for i, width := range t.widths {
		cell := row[i]
		if t.width > 0 {
			cell = cli.Shorten(cell, width)
		}
		if i > 0 {
			t.line.WriteString("  ")
		}
		t.line.WriteString(cli.Align(cell, width, t.cells.Number(i)))
	}
	_, err := t.w.WriteString(strings.TrimRight(t.line.String(), " ") + "\n")
	return err
}
