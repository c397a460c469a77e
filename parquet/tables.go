package parquet

import (
	"slices"
	"sync"

	"github.com/rowtocol/rowtocol/format/damage"
)

// tableWindow is how much of the indexes is read at once. Most files have them all in one window.
const tableWindow = 64 << 10

// tables reads the indexes and the table of checksums, which follow the pages. The indexes of all
// columns lie together, and small reads are slow on remote storage. So the bytes that are read
// with the footer are kept, and larger indexes are read in windows.
type tables struct {
	mu      sync.Mutex
	tail    window // up to the footer
	windows [2]window
}

// window is a range of the file that is in memory.
type window struct {
	at int64
	b  []byte
}

// A tableKind is what a window has. Columns are read in order, but their two indexes in turn.
type tableKind int

const (
	columnIndexes tableKind = iota
	offsetIndexes
)

// copy fills dst from an offset of the file, and reports whether the window has these bytes.
func (w *window) copy(dst []byte, at int64) bool {
	from := at - w.at
	if from < 0 || from > int64(len(w.b)-len(dst)) {
		return false
	}
	copy(dst, w.b[from:])
	return true
}

// keep keeps the bytes before the footer, from the first index on. If there is no memory for
// them, they are read again.
func (p *part) keep(before []byte) {
	from := p.footerAt - max(p.checksums.size, 0)
	for i := range p.chunks {
		for _, s := range []section{p.chunks[i].columnIndex, p.chunks[i].offsetIndex} {
			if s.size > 0 {
				from = min(from, s.offset)
			}
		}
	}
	n := min(p.footerAt-from, int64(len(before)))
	if p.memory.Reserve(n) == nil {
		p.tables.tail = window{p.footerAt - n, slices.Clone(before[int64(len(before))-n:])}
	}
}

// readTable fills dst with an index, or a table, at an offset of the file.
func (p *part) readTable(dst []byte, at int64, kind tableKind) error {
	t := &p.tables
	t.mu.Lock()
	defer t.mu.Unlock()
	w := &t.windows[kind]
	if t.tail.copy(dst, at) || w.copy(dst, at) {
		return nil
	}
	end := p.footerAt
	if len(t.tail.b) > 0 {
		end = t.tail.at
	}
	size := min(tableWindow, end-at)
	if size <= int64(len(dst)) || cap(w.b) == 0 && p.memory.Reserve(tableWindow) != nil {
		return damage.ReadFull(p.file, dst, at, p.file.Name())
	}
	if cap(w.b) == 0 {
		w.b = make([]byte, tableWindow)
	}
	w.at, w.b = at, w.b[:size]
	if err := damage.ReadFull(p.file, w.b, at, p.file.Name()); err != nil {
		w.b = w.b[:0]
		return err
	}
	w.copy(dst, at)
	return nil
}
