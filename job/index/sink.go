package index

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/rowtocol/rowtocol/avro/rowkey"
	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/hfile"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/mapper"
)

// Bounds of what an attempt at a task takes for sorting the keys of an index, in bytes, and
// the part of the memory that is for all of them.
const (
	leastMemory = leastFanIn * mergeMemory
	mostMemory  = 8 << 20
	memoryShare = 16
)

// Sink makes the indexes of a plan. It implements task.Sink.
type Sink struct {
	specs  []*rowkey.Spec
	memory int   // bytes for each index of an attempt
	size   int64 // ceiling of a file of an index, in bytes
	merge  int   // bytes for merging
}

// Of returns the Sink that makes the indexes that a plan asks for; nil if it asks for none.
// memory is what the process may take, in bytes. Fields that can be no key are failure.Usage.
func Of(p *manifest.Plan, memory int64) (task.Sink, error) {
	o := &p.Request.Options
	if len(o.Index) == 0 {
		return nil, nil
	}
	n := int64(len(o.Index))
	s := &Sink{
		memory: int(min(max(memory/memoryShare/n, leastMemory), mostMemory)), size: o.RowGroupSize,
		merge: int(min(memory/4, mostFanIn*mergeMemory)),
	}
	if p.Schema == "" {
		return s, nil // there are no rows
	}
	schema, err := shred.ParseSchema(p.Schema)
	if err != nil {
		return nil, failure.As(failure.Input, err)
	}
	s.specs, err = rowkey.ParseAll(schema, o.Index)
	if err != nil {
		return nil, failure.As(failure.Usage, err)
	}
	return s, nil
}

// Name implements task.Sink.
func (s *Sink) Name() string {
	names := make([]string, len(s.specs))
	for i, spec := range s.specs {
		names[i] = spec.String()
	}
	return "index " + strings.Join(names, " ")
}

// Memory implements task.Sink.
func (s *Sink) Memory() int64 { return int64(len(s.specs)) * int64(s.memory) }

// Begin implements task.Sink.
func (s *Sink) Begin(number int, dir string) (task.AttemptSink, error) {
	a := &attempt{sink: s, task: number}
	for _, spec := range s.specs {
		a.indexes = append(a.indexes, keys{spec: spec, field: len(a.paths), sorter: newSorter(dir, s.memory)})
		a.paths = append(a.paths, spec.Paths()...)
	}
	return a, nil
}

// attempt takes the keys of the rows of a task.
type attempt struct {
	sink    *Sink
	task    int
	paths   []string
	indexes []keys
	files   []*os.File
}

// keys are those of one index.
type keys struct {
	spec   *rowkey.Spec
	field  int // of its first field among those of all indexes
	sorter *sorter
	nulls  int64
	buf    []byte
}

// Keys implements mapper.RowSink.
func (a *attempt) Keys() []string { return a.paths }

// Row implements mapper.RowSink.
func (a *attempt) Row(r *mapper.Row) error {
	p, err := positionOf(a.task, r.Group, r.Number)
	if err != nil {
		return err
	}
	for i := range a.indexes {
		k := &a.indexes[i]
		var ok bool
		k.buf, ok = k.spec.Append(k.buf[:0], r.Keys[k.field:])
		if !ok {
			k.nulls++
			continue
		}
		//guard: the key would not fit its cell
		if len(k.buf) > hfile.MaxRow {
			err := damage.New(damage.Unsupported, "", -1, "the key %s has %d bytes, of which an index takes %d", k.spec, len(k.buf), hfile.MaxRow)
			err.Row = r.Number
			return err
		}
		if err := k.sorter.add(k.buf, p); err != nil {
			return err
		}
	}
	return nil
}

// Finish implements task.AttemptSink.
func (a *attempt) Finish(ctx context.Context) ([]task.NewFile, error) {
	files := make([]task.NewFile, len(a.indexes))
	for i := range a.indexes {
		k := &a.indexes[i]
		path, err := k.sorter.finish(ctx, hfile.Info{fieldsPair(k.spec.String()), nullsPair(k.nulls)})
		if err != nil {
			return nil, err
		}
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("index: %w", err)
		}
		a.files = append(a.files, f)
		if files[i], err = newFile(runName(k.spec), f); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// newFile is a local file that is to be stored under a name.
func newFile(name string, f *os.File) (task.NewFile, error) {
	info, err := f.Stat()
	if err != nil {
		return task.NewFile{}, fmt.Errorf("index: %w", err)
	}
	return task.NewFile{Name: name, Content: io.NewSectionReader(f, 0, info.Size())}, nil
}

// Close implements task.AttemptSink.
func (a *attempt) Close() error {
	var err error
	for _, f := range a.files {
		err = errors.Join(err, f.Close())
	}
	return err
}

// Merge implements task.Sink.
func (s *Sink) Merge(ctx context.Context, of task.Output, dir string, store func(task.NewFile) error) error {
	for _, spec := range s.specs {
		if err := s.mergeIndex(ctx, spec, of, dir, store); err != nil {
			return fmt.Errorf("%s: %w", spec, err)
		}
	}
	return nil
}

// mergeIndex makes the files of one index.
func (s *Sink) mergeIndex(ctx context.Context, spec *rowkey.Spec, of task.Output, dir string, store func(task.NewFile) error) (err error) {
	m := &merger{dir: dir, maxOpen: fanIn(s.merge)}
	for _, f := range of.Side {
		if f.Name == runName(spec) {
			m.sources = append(m.sources, source{
				name: fmt.Sprintf("the keys of task %d", f.Task),
				open: func(ctx context.Context) (file, error) { return f.Open(ctx) },
			})
		}
	}
	w := &fileWriter{dir: dir, name: manifest.IndexName(spec.String()), limit: s.size, store: store}
	defer func() { err = errors.Join(err, w.abandon()) }()
	begin := func(nulls int64) error {
		w.info = hfile.Info{
			fieldsPair(spec.String()), nullsPair(nulls),
			{Key: infoFingerprint, Value: []byte(of.Fingerprint)},
		}
		return w.begin()
	}
	if err := m.run(ctx, begin, w.add); err != nil {
		return err
	}
	return w.end()
}

// runName is the name of the side file with the sorted keys of a task.
func runName(spec *rowkey.Spec) string { return manifest.IndexName(spec.String()) + suffix }

// suffix ends the names of files of an index and of runs.
const suffix = ".hfile"

// fileWriter writes the files of an index, one after the other, of which there is always one.
type fileWriter struct {
	dir   string
	name  string // of the index's directory
	limit int64  // bytes of a file
	info  hfile.Info
	store func(task.NewFile) error

	number int
	f      *os.File
	out    *buffered
	w      *hfile.Writer
	first  []byte // key
}

// add writes a cell. A file ends where its size would pass the limit.
func (w *fileWriter) add(key hfile.Key) error {
	if w.w.Cells() > 0 && w.w.Bound(len(key), 0) > w.limit {
		if err := errors.Join(w.end(), w.abandon()); err != nil {
			return err
		}
		if err := w.begin(); err != nil {
			return err
		}
	}
	if w.w.Cells() == 0 {
		w.first = append(w.first[:0], key.Row()...)
	}
	return w.w.Append(key, nil)
}

// begin begins a file.
func (w *fileWriter) begin() (err error) {
	if w.f, err = create(w.dir, diskReserve); err != nil {
		return err
	}
	w.out = &buffered{f: w.f}
	w.w, err = hfile.NewWriter(w.out, hfile.WriterOptions{RowBloom: true, Info: w.info})
	return err
}

// end stores the file.
func (w *fileWriter) end() error {
	if err := w.w.Close(); err != nil {
		return err
	}
	if err := w.out.flush(); err != nil {
		return err
	}
	f, err := newFile(manifest.InPart(w.name, manifest.IndexFile(w.number, suffix)), w.f)
	if err != nil {
		return err
	}
	f.Keys = &manifest.KeyRange{Entries: w.w.Cells()}
	if w.w.Cells() > 0 {
		f.Keys.First, f.Keys.Last = bytes.Clone(w.first), bytes.Clone(w.w.LastKey().Row())
	}
	w.number++
	return w.store(f)
}

// abandon removes the local file, if there is one.
func (w *fileWriter) abandon() error {
	if w.f == nil {
		return nil
	}
	err := errors.Join(w.f.Close(), os.Remove(w.f.Name()))
	w.f = nil
	return err
}
