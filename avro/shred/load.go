package shred

import (
	"context"
	"sync/atomic"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/parallel"
)

// A loader reads the values of some columns, and copies those that are memory of blocks.
type loader struct {
	feeds []feed
	kept  []byte
}

// Load reads the values of all rows of Start, and copies those that are memory of blocks to memory
// of size bytes. It reports whether it has all of them. If so, the columns may be read by others: no
// row needs them until the next Start. If not, rows read what is missing, or return the error that
// prevents it. Idle workers load some of the columns.
func (a *Assembler) Load(ctx context.Context, workers *parallel.Workers, size int) bool {
	if a.loaders == nil {
		a.loaders = a.newLoaders(size)
	}
	var short atomic.Bool
	err := workers.Do(ctx, len(a.loaders), func(_ context.Context, i int) error {
		if !a.loaders[i].load() {
			short.Store(true)
		}
		return nil
	})
	return err == nil && !short.Load()
}

// newLoaders returns loaders for all columns, which divide size bytes among them.
func (a *Assembler) newLoaders(size int) (all []loader) {
	first := 0
	for _, end := range column.Groups(len(a.feeds), func(i int) bool { return a.mapping.Columns[i].Parent >= 0 }) {
		share := size * (end - first) / len(a.feeds)
		all = append(all, loader{a.feeds[first:end], make([]byte, 0, share)})
		first = end
	}
	return all
}

// load loads the columns. It reports whether it has all their values.
func (l *loader) load() bool {
	l.kept = l.kept[:0]
	for i := range l.feeds {
		if !l.column(&l.feeds[i]) {
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
