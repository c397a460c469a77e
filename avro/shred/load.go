package shred

import (
	"sync/atomic"

	"github.com/rowtocol/rowtocol/format/column"
)

// A loader reads the values of the columns from first up to end, and copies those that are memory of
// blocks.
type loader struct {
	first, end int
	kept       []byte
}

// Load reads the values of all rows of Start. It copies those that are memory of blocks to memory of
// its own, which the first call limits to size bytes. If it returns true, others may read the columns
// from now on. If it returns false, the columns must stay with the assembler until its rows are
// assembled, and Row returns the error, if there is one. do calls load for 0 to n-1, and may make
// several calls at the same time.
func (a *Assembler) Load(do func(n int, load func(i int) error) error, size int) bool {
	if a.loaders == nil {
		a.loaders = a.newLoaders(size)
	}
	var missing atomic.Bool
	err := do(len(a.loaders), func(i int) error {
		if !a.load(&a.loaders[i]) {
			missing.Store(true)
		}
		return nil
	})
	return err == nil && !missing.Load()
}

// newLoaders returns loaders for all columns, which divide size bytes among them.
func (a *Assembler) newLoaders(size int) (all []loader) {
	first := 0
	for _, end := range column.Groups(len(a.feeds), func(i int) bool { return a.mapping.Columns[i].Parent >= 0 }) {
		all = append(all, loader{first, end, make([]byte, 0, size*(end-first)/max(len(a.feeds), 1))})
		first = end
	}
	return all
}

// load loads the columns of a loader. It reports whether it has all their values.
func (a *Assembler) load(l *loader) bool {
	l.kept = l.kept[:0]
	for i := l.first; i < l.end; i++ {
		if !l.column(&a.feeds[i]) {
			return false
		}
	}
	return true
}

// column loads a column. The elements after the end of a block go to the vector of those that are
// read ahead.
func (l *loader) column(f *feed) bool {
	if !l.vector(f, &f.v) {
		return false
	}
	if f.due == 0 {
		return true
	}
	f.beginAhead()
	return l.vector(f, f.after) && f.due == 0
}

// vector reads elements into an empty vector. It reports whether the vector keeps its values when
// the column is read on.
func (l *loader) vector(f *feed, v *column.Vector) (ok bool) {
	if f.due == 0 {
		return true
	}
	if f.read(v, fewValues) != nil {
		return false
	}
	l.kept, ok = keep(v, 0, l.kept, cap(l.kept))
	return ok
}
