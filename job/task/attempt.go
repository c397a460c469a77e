package task

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/mapper"
	"github.com/rowtocol/rowtocol/reducer"
	"github.com/rowtocol/rowtocol/spill"
	"github.com/rowtocol/rowtocol/store"
)

// attempt is one run of a task.
type attempt struct {
	*Runner
	task   *manifest.Task
	st     store.Store
	dir    string
	share  share
	spaces *mapper.Workspaces
	// helpers are the workers of tasks that have mapped.
	helpers *mapper.Helpers
	// releaseMapping is called before the upload of the last row group.
	releaseMapping func()

	inputs   map[string]int // numbers of the task's inputs, by path
	summed   []*summedFile  // opened file of each piece; nil until it is opened
	parts    []manifest.Part
	lost     []manifest.Loss // inputs that are lost as a whole
	copies   []manifest.File // copies of damaged ranges, one for each loss, first those of lost
	sink     AttemptSink     // nil if there is no sink
	side     []manifest.File
	reported atomic.Int64 // input bytes that were reported as progress
}

// run runs the task and writes its result. If it fails before that, it removes
// its files.
func (a *attempt) run(ctx context.Context) (*manifest.TaskResult, error) {
	began := time.Now()
	stats, err := a.convert(ctx)
	var reads []manifest.Read
	if err == nil {
		reads, err = a.reads()
	}
	if err != nil {
		//guard: removes the files of an attempt that failed
		a.removeFiles(ctx)
		return nil, err
	}
	res := &manifest.TaskResult{
		Version: manifest.Version, Plan: a.plan.ID, Task: a.task.ID, Parts: a.parts, RowsIn: stats.Rows, Reads: reads,
		Losses: a.losses(stats), Side: a.side, InvalidUTF8: stats.InvalidUTF8, Inexact: stats.Inexact,
		Made: &manifest.Made{
			Program: a.options.Program, At: began.UTC(), Seconds: time.Since(began).Seconds(), Run: a.options.Run,
			InputBytes: a.task.Bytes(), PeakMemory: budget.PeakResident(),
		},
	}
	if a.options.Sink != nil {
		res.Sink = a.options.Sink.Name()
	}
	// From here on the files stay, because the result may exist despite an error.
	if err := writeResult(ctx, a.st, a.dir, res); err != nil {
		return nil, err
	}
	a.report(0, a.task.Bytes()-a.reported.Load(), 1)
	a.taskDone(res)
	return res, nil
}

// writeResult writes the result of a task, or of the last step.
func writeResult(ctx context.Context, st store.Store, dir string, res *manifest.TaskResult) error {
	doc, err := res.Encode()
	if err != nil {
		return err
	}
	if err := st.WriteFile(ctx, path.Join(dir, manifest.TaskName(res.Task)), doc, false); err != nil {
		return fmt.Errorf("write the result of task %d: %w", res.Task, err)
	}
	return nil
}

// convert makes the files of the task.
func (a *attempt) convert(ctx context.Context) (_ mapper.Stats, err error) {
	sources, err := a.sources(ctx)
	if err != nil {
		return mapper.Stats{}, err
	}
	endSink, err := a.beginSink()
	if err != nil {
		return mapper.Stats{}, err
	}
	defer func() { err = errors.Join(err, endSink()) }()
	o := a.plan.Request.Options
	cfg := mapper.Config{
		Mapping: a.mapping, Writer: a.writer, RowGroupSize: o.RowGroupSize, BlockSize: a.plan.BlockSize,
		MaxInputBlock: o.MaxInputBlock, OnDamage: a.onDamage, MaxLostRows: o.MaxLostRows,
		Workers: a.share.workers, Helpers: a.helpers, Memory: a.share.memory, Pool: a.options.Memory, MaxOpen: a.share.inputs, Workspaces: a.spaces,
		Spill: a.spill, SpillOptions: spill.Options{Reserve: spillReserve, Memory: int(a.share.spill)},
		Quarantine: func(src mapper.Source, lost ocf.Range) error { return a.quarantine(ctx, src, lost) },
		Progress: func(rows, bytes int64) {
			a.reported.Add(bytes)
			a.report(rows, bytes, 0)
		},
	}
	if a.sink != nil {
		cfg.RowSink = a.sink
	}
	stats, err := mapper.Run(ctx, sources, cfg, func(g mapper.RowGroup) error { return a.write(ctx, g) })
	if errors.As(err, new(*budget.Error)) {
		err = memoryError(err, a.share.mapping)
	}
	if err == nil {
		err = a.storeSide(ctx)
	}
	return stats, err
}

// memoryError returns err as failure.Usage. The message names --workers if fewer workers would
// help.
func memoryError(err error, mapping int) error {
	if mapping > 1 {
		return failure.New(failure.Usage, "%w; fewer --workers leave more for each", err)
	}
	return failure.As(failure.Usage, err)
}

// sources returns the pieces of the task that have rows to read, and records the loss of the
// others.
func (a *attempt) sources(ctx context.Context) (sources []mapper.Source, err error) {
	a.inputs = make(map[string]int, len(a.task.Pieces))
	a.summed = make([]*summedFile, len(a.task.Pieces))
	for i, p := range a.task.Pieces {
		in := a.plan.Request.Inputs[p.Input]
		a.inputs[in.Path] = p.Input
		if in.Unreadable != "" {
			if err := a.lose(ctx, in, i, p); err != nil {
				return nil, err
			}
			continue
		}
		sources = append(sources, mapper.Source{
			Name: in.Path,
			Open: func(ctx context.Context) (mapper.Source, error) { return a.open(ctx, in, i, p) },
		})
	}
	return sources, nil
}

// openSummed opens a piece of an input. number is the number of the piece in the task.
func (a *attempt) openSummed(ctx context.Context, in manifest.Input, number int, p manifest.Piece) (*summedFile, error) {
	opened, found, err := input.Open(ctx, a.options.Resolve, in)
	if err != nil {
		return nil, err
	}
	f := &summedFile{File: opened, found: found, next: p.Start, end: p.End}
	a.summed[number] = f
	return f, nil
}

// lose records the loss of an input whose header cannot be read. It reads the input, because the
// result of a task has the checksum of each piece.
func (a *attempt) lose(ctx context.Context, in manifest.Input, number int, p manifest.Piece) error {
	f, err := a.openSummed(ctx, in, number, p)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	all := ocf.Range{Start: p.Start, End: p.End}
	if a.onDamage == mapper.Quarantine {
		err = a.quarantine(ctx, mapper.Source{Name: in.Path, R: f}, all)
	} else {
		_, _, err = store.SumRange(ctx, f, all.Start, all.End)
	}
	if err != nil {
		return fmt.Errorf("input %s: %w", in.Path, err)
	}
	a.lost = append(a.lost, manifest.Loss{Input: in.Path, Start: p.Start, End: p.End, Rows: -1, Reason: in.Unreadable, Whole: true})
	return nil
}

// open opens a piece of an input with rows. number is the number of the piece in the task.
func (a *attempt) open(ctx context.Context, in manifest.Input, number int, p manifest.Piece) (_ mapper.Source, err error) {
	f, err := a.openSummed(ctx, in, number, p)
	if err != nil {
		return mapper.Source{}, err
	}
	closeFile := func() { _ = f.Close() } // only read
	defer func() {
		if err != nil {
			closeFile()
		}
	}()
	h, err := ocf.ReadHeader(f, in.Size, in.Path)
	if err != nil {
		return mapper.Source{}, err
	}
	resolution, err := a.resolutions.Of(in.Path, h.Schema)
	if err != nil {
		return mapper.Source{}, err
	}
	return mapper.Source{
		Name: in.Path, R: f, Size: in.Size, Header: h, Range: ocf.Range{Start: p.Start, End: p.End}, Resolution: resolution, Close: closeFile,
	}, nil
}

// write writes the files of a row group.
func (a *attempt) write(ctx context.Context, g mapper.RowGroup) (err error) {
	defer func() { err = errors.Join(err, g.Spill.Close()) }()
	if !g.More {
		a.releaseMapping()
	}
	files, err := a.writePart(ctx, len(a.parts), g.Outputs, g.Spill)
	if err != nil {
		return err
	}
	a.parts = append(a.parts, manifest.Part{Task: a.task.ID, RowGroup: len(a.parts), Rows: g.Rows, Files: files})
	return nil
}

// quarantine copies a damaged range.
func (a *attempt) quarantine(ctx context.Context, src mapper.Source, lost ocf.Range) error {
	w, err := reducer.Copy(ctx, a.st, func() string {
		return path.Join(a.dir, manifest.StagedQuarantine(manifest.NewID(), a.inputs[src.Name], src.Name, lost.Start, lost.End))
	}, io.NewSectionReader(src.R, lost.Start, lost.Len()))
	if err == nil {
		a.copies = append(a.copies, storedFile(ctx, a.st, w, ""))
	}
	return err
}

// losses describes the lost rows.
func (a *attempt) losses(stats mapper.Stats) []manifest.Loss {
	losses := a.lost
	for _, l := range stats.Losses {
		losses = append(losses, manifest.Loss{Input: l.Source, Start: l.Range.Start, End: l.Range.End, Rows: l.Rows, Reason: l.Reason})
	}
	if a.onDamage == mapper.Quarantine {
		for i := range losses {
			losses[i].Quarantine = &a.copies[i]
		}
	}
	return losses
}

// removeFiles removes the files of the attempt, which no result will name. It ignores errors.
func (a *attempt) removeFiles(ctx context.Context) {
	clean, cancel := store.Cleanup(ctx)
	defer cancel()
	for i := range a.parts {
		if part := a.parts[i].Entry(); part.Dir {
			//guard: removes the files of an attempt that failed
			_ = a.st.RemoveAll(clean, path.Join(a.dir, part.Name))
		} else {
			_ = a.st.Remove(clean, path.Join(a.dir, part.Name))
		}
	}
	removeAll(ctx, a.st, a.dir, slices.Concat(a.copies, a.side))
}
