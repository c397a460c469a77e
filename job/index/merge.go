package index

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/rowtocol/rowtocol/hfile"
	"github.com/rowtocol/rowtocol/internal/kway"
)

// source is a run to be merged.
type source struct {
	name string
	open func(ctx context.Context) (file, error)
	// remove is called when the run is merged to another one; nil if it stays.
	remove func() error
}

// file is an open run.
type file interface {
	io.ReaderAt
	Size() int64
	Close() error
}

// localRun is a run on the local disk, which is removed when it is merged.
func localRun(name string) source {
	return source{
		name:   name,
		open:   func(context.Context) (file, error) { return openLocal(name) },
		remove: func() error { return os.Remove(name) },
	}
}

type localFile struct {
	*os.File
	size int64
}

func (f localFile) Size() int64 { return f.size }

func openLocal(name string) (file, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return localFile{f, info.Size()}, nil
}

// mergeMemory is about what an open run takes: a block, an index and the buffers of a
// remote file.
const mergeMemory = 128 << 10

// maxRunBlock is more than a block of a run has, also with the longest key, and than all that is
// read on opening it.
const maxRunBlock = 1 << 20

// Bounds of how many runs are merged at a time, as each is an open file.
const (
	leastFanIn = 4
	mostFanIn  = 128
)

// fanIn is how many runs are merged at a time in some bytes of memory.
func fanIn(memory int) int { return max(leastFanIn, min(memory/mergeMemory, mostFanIn)) }

// merger merges runs, in as many passes as it takes.
type merger struct {
	dir     string // for runs between passes
	maxOpen int    // runs at a time
	sources []source
}

// run calls begin with how many rows have no key, and then emit with all keys of the runs in
// their order.
func (m *merger) run(ctx context.Context, begin func(nulls int64) error, emit func(key hfile.Key) error) error {
	for len(m.sources) > m.maxOpen {
		var next []source
		for i := 0; i < len(m.sources); i += m.maxOpen {
			group := m.sources[i:min(i+m.maxOpen, len(m.sources))]
			merged, err := m.toRun(ctx, group)
			if err != nil {
				return err
			}
			next = append(next, merged)
		}
		m.sources = next
	}
	return merge(ctx, m.sources, begin, emit)
}

// toRun merges some runs to one.
func (m *merger) toRun(ctx context.Context, group []source) (source, error) {
	w := &runWriter{dir: m.dir}
	path, err := w.end(merge(ctx, group, func(nulls int64) error {
		return w.begin(hfile.Info{nullsPair(nulls)})
	}, w.append))
	return localRun(path), err
}

func removeRuns(group []source) error {
	for _, s := range group {
		if s.remove == nil {
			continue
		}
		if err := s.remove(); err != nil {
			return fmt.Errorf("index: %w", err)
		}
	}
	return nil
}

// openedRun is a run at one of its cells.
type openedRun struct {
	file  file
	r     *hfile.Reader
	s     *hfile.Scanner
	order int // among the runs
}

func openRun(ctx context.Context, s source) (*openedRun, error) {
	f, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	r, err := hfile.Open(f, f.Size(), hfile.OpenOptions{Name: s.name, MaxBlock: maxRunBlock})
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &openedRun{file: f, r: r, s: r.Scan()}, nil
}

func (r *openedRun) close() error {
	r.s.Close()
	r.r.Close()
	return r.file.Close()
}

// merge merges some runs: see merger.run. They are removed then.
func merge(ctx context.Context, sources []source, begin func(nulls int64) error, emit func(key hfile.Key) error) error {
	if err := mergeOpen(ctx, sources, begin, emit); err != nil {
		return err
	}
	return removeRuns(sources)
}

func mergeOpen(ctx context.Context, sources []source, begin func(nulls int64) error, emit func(key hfile.Key) error) (err error) {
	var runs []*openedRun
	defer func() {
		for _, r := range runs {
			err = errors.Join(err, r.close())
		}
	}()
	nulls := int64(0)
	for i, s := range sources {
		r, err := openRun(ctx, s)
		if err != nil {
			return err
		}
		r.order = i
		runs = append(runs, r)
		n, err := nullsOf(r.r)
		if err != nil {
			return err
		}
		nulls += n
	}
	if err := begin(nulls); err != nil {
		return err
	}
	return mergeCells(ctx, runs, emit)
}

// mergeCells calls emit with all keys of some runs in their order.
func mergeCells(ctx context.Context, runs []*openedRun, emit func(key hfile.Key) error) error {
	var heap kway.Heap[*openedRun]
	for _, r := range runs {
		if r.s.Next() {
			heap = append(heap, r)
		} else if err := r.s.Err(); err != nil {
			return err
		}
	}
	heap.Order()
	for n := 0; len(heap) > 0; n++ {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		r := heap[0]
		if err := emit(r.s.Key()); err != nil {
			return err
		}
		more := r.s.Next()
		if err := r.s.Err(); err != nil {
			return err
		}
		heap.Advance(more)
	}
	return nil
}

// Before implements kway.Run. Equal keys are in the order of their runs.
func (r *openedRun) Before(other *openedRun) bool {
	if c := r.s.Key().Compare(other.s.Key()); c != 0 {
		return c < 0
	}
	return r.order < other.order
}
