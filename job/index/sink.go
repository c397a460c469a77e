package index

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rowtocol/rowtocol/avro/rowkey"
	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/hfile"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/mapper"
	"github.com/rowtocol/rowtocol/spill"
)

// minMemory and maxMemory bound the memory, in bytes, in which an attempt at a task sorts the keys
// of an index. All indexes together get 1/memoryShare of the memory of the process. maxMerge
// bounds the memory of a merge.
const (
	minMemory   = 512 << 10
	maxMemory   = 8 << 20
	memoryShare = 16
	maxMerge    = 16 << 20
)

// Sink makes the indexes of a plan. It implements task.Sink.
type Sink struct {
	specs  []*rowkey.Spec
	memory int64 // bytes for each index of an attempt
	size   int64 // ceiling of a file of an index, in bytes
	merge  int64 // bytes for merging
}

// NewSink returns the Sink that makes the indexes of a plan; nil if the plan has none. memory is
// the limit of the process, in bytes. If fields cannot be a key, the error is failure.Usage.
func NewSink(p *manifest.Plan, memory int64) (task.Sink, error) {
	o := &p.Request.Options
	if len(o.Index) == 0 {
		return nil, nil
	}
	n := int64(len(o.Index))
	s := &Sink{
		memory: min(max(memory/memoryShare/n, minMemory), maxMemory), size: o.RowGroupSize,
		merge: min(memory/4, maxMerge),
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
func (s *Sink) Memory() int64 { return int64(len(s.specs)) * s.memory }

// Begin implements task.Sink.
func (s *Sink) Begin(number int, local *spill.Folder) (task.AttemptSink, error) {
	a := &attempt{task: number, local: local}
	for _, spec := range s.specs {
		a.indexes = append(a.indexes, keys{spec: spec, field: len(a.paths), sorter: newSorter(local, s.memory)})
		a.paths = append(a.paths, spec.Paths()...)
	}
	return a, nil
}

// attempt collects the keys of the rows of a task.
type attempt struct {
	task    int
	local   *spill.Folder
	paths   []string
	indexes []keys
	files   []*localFile
}

// keys are the keys of one index.
type keys struct {
	spec     *rowkey.Spec
	field    int           // number of the first field among the fields of all indexes
	sorter   *spill.Sorter // sorts positions by keys
	nulls    int64
	key      []byte
	position []byte
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
		k.key, ok = k.spec.Append(k.key[:0], r.Keys[k.field:])
		if !ok {
			k.nulls++
			continue
		}
		//guard: refuses a key that is too long for an HFile row
		if len(k.key) > hfile.MaxRow {
			err := damage.New(damage.Unsupported, "", -1, "the key %s has %d bytes, an index takes at most %d", k.spec, len(k.key), hfile.MaxRow)
			err.Row = r.Number
			return err
		}
		k.position = p.append(k.position[:0])
		if err := k.sorter.Add(k.key, k.position); err != nil {
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
		f, err := createLocal(a.local, hfile.WriterOptions{BlockSize: sideBlock, Info: hfile.Info{fieldsPair(k.spec.String()), nullsPair(k.nulls)}})
		if err != nil {
			return nil, err
		}
		a.files = append(a.files, f)
		if err := k.sorter.Each(ctx, f.add); err != nil {
			return nil, err
		}
		k.sorter = nil // frees its memory
		if files[i], err = f.end(sideName(k.spec)); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// Close implements task.AttemptSink.
func (a *attempt) Close() error {
	var err error
	for _, f := range a.files {
		err = errors.Join(err, f.spill.Close())
	}
	for _, k := range a.indexes {
		if k.sorter != nil {
			err = errors.Join(err, k.sorter.Reset())
		}
	}
	return err
}

// Merge implements task.Sink.
func (s *Sink) Merge(ctx context.Context, output task.Output, local *spill.Folder, store func(task.NewFile) error) error {
	for _, spec := range s.specs {
		if err := s.mergeIndex(ctx, spec, output, local, store); err != nil {
			return fmt.Errorf("%s: %w", spec, err)
		}
	}
	return nil
}

// mergeIndex makes the files of one index.
func (s *Sink) mergeIndex(ctx context.Context, spec *rowkey.Spec, output task.Output, local *spill.Folder, store func(task.NewFile) error) (err error) {
	sorter, nulls := newSorter(local, s.merge), int64(0)
	defer func() { err = errors.Join(err, sorter.Reset()) }()
	for _, f := range output.Side {
		if f.Name == sideName(spec) {
			n, err := readSide(ctx, &f, sorter.Add)
			if err != nil {
				return err
			}
			nulls += n
		}
	}
	w := &fileWriter{
		local: local, name: manifest.IndexName(spec.String()), limit: s.size, store: store,
		info: hfile.Info{fieldsPair(spec.String()), nullsPair(nulls), {Key: infoFingerprint, Value: []byte(output.Fingerprint)}},
	}
	if err := w.begin(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.f.spill.Close()) }()
	if err := sorter.Each(ctx, w.add); err != nil {
		return err
	}
	return w.end()
}

// sideName returns the name of the side file with the sorted keys of a task.
func sideName(spec *rowkey.Spec) string { return manifest.IndexName(spec.String()) + suffix }

// suffix ends the names of files of an index and of side files.
const suffix = ".hfile"

// fileWriter writes the files of an index, one after the other. It writes at least one.
type fileWriter struct {
	local *spill.Folder
	name  string // name of the index's directory
	limit int64  // limit of a file, in bytes
	info  hfile.Info
	store func(task.NewFile) error

	number int
	f      *localFile
	first  []byte // first key of the file
}

// add writes a cell. It begins a new file if the cell would make the file exceed the limit.
func (w *fileWriter) add(key, position []byte) error {
	cell := w.f.cell(key, position)
	if w.f.Cells() > 0 && w.f.Bound(len(cell), 0) > w.limit {
		if err := errors.Join(w.end(), w.f.spill.Close()); err != nil {
			return err
		}
		if err := w.begin(); err != nil {
			return err
		}
	}
	if w.f.Cells() == 0 {
		w.first = append(w.first[:0], key...)
	}
	return w.f.Append(cell, nil)
}

// begin begins a file.
func (w *fileWriter) begin() error {
	f, err := createLocal(w.local, hfile.WriterOptions{RowBloom: true, Info: w.info})
	if err == nil {
		w.f = f
	}
	return err
}

// end stores the file.
func (w *fileWriter) end() error {
	f, err := w.f.end(manifest.InPart(w.name, manifest.IndexFile(w.number, suffix)))
	if err != nil {
		return err
	}
	f.Keys = &manifest.KeyRange{Entries: w.f.Cells()}
	if w.f.Cells() > 0 {
		f.Keys.First, f.Keys.Last = bytes.Clone(w.first), bytes.Clone(w.f.LastKey().Row())
	}
	w.number++
	return w.store(f)
}
