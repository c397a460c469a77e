package publish

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// Run is a directory with the plan, the results and the staged files of a run.
type Run struct {
	// Dir is where tasks leave their work.
	Dir string
	// Plan is nil if there is none that this program can carry out.
	Plan *manifest.Plan

	pending []*record
}

// fromElsewhere reports whether a run is the work of tasks that ran elsewhere,
// and no output of it waits to be published.
func (r *Run) fromElsewhere() bool {
	return strings.HasPrefix(path.Base(r.Dir), planPrefix) && len(r.pending) == 0
}

// record is a manifest that is not, or not any more, a _SUCCESS.
type record struct {
	path    string
	success *manifest.Success
}

// contents are what holders' directories hold that counts.
type contents struct {
	runs    []*Run
	retired []*record
}

// pending reports whether an output waits to be published.
func (c *contents) pending() bool {
	return slices.ContainsFunc(c.runs, func(r *Run) bool { return len(r.pending) > 0 })
}

// sequence is the highest number of an output.
func (c *contents) sequence() (highest int64) {
	for _, r := range c.retired {
		highest = max(highest, r.success.Sequence)
	}
	for _, run := range c.runs {
		for _, p := range run.pending {
			highest = max(highest, p.success.Sequence)
		}
	}
	return highest
}

// collect looks for runs and retired manifests in a directory and below it.
// Holders move what they have in it meanwhile: what is gone is passed over.
// Links are not followed, and documents that do not decode do not count.
func (d *Destination) collect(ctx context.Context, dir string, to *contents) error {
	infos, err := d.st.List(ctx, dir)
	if errors.Is(err, store.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, info := range infos {
		switch {
		//guard: a link could lead to documents that others wrote
		case info.Link:
		//guard: what is being removed would count
		case strings.HasPrefix(info.Name, trashPrefix):
		//guard: files of a part that was replaced would be read as manifests
		case strings.HasPrefix(info.Name, old+"-"):
		//guard: tasks that run elsewhere would be looked at
		case dir == d.root() && strings.HasPrefix(info.Name, planPrefix):
		case info.Dir && (strings.HasPrefix(info.Name, run) || strings.HasPrefix(info.Name, planPrefix)):
			r, err := d.readRun(ctx, info.Path)
			if err != nil {
				return err
			}
			to.runs = append(to.runs, r)
		case info.Dir:
			if err := d.collect(ctx, info.Path, to); err != nil {
				return err
			}
		case isRecord(info.Name):
			r, err := d.readRecord(ctx, info.Path)
			if err != nil {
				return err
			}
			if r != nil {
				to.retired = append(to.retired, r)
			}
		}
	}
	return nil
}

// isRecord knows the files that may be manifests of replaced outputs.
func isRecord(name string) bool {
	return strings.HasPrefix(name, retired) || strings.HasPrefix(name, other)
}

// readRun reads the documents in a run's directory.
func (d *Destination) readRun(ctx context.Context, dir string) (*Run, error) {
	r := &Run{Dir: dir}
	infos, err := d.st.List(ctx, dir)
	if err != nil && !errors.Is(err, store.ErrNotExist) {
		return nil, err
	}
	for _, info := range infos {
		switch {
		//guard: a link could lead to documents that others wrote
		case info.Link:
		case info.Name == manifest.PlanName:
			text, err := d.readDocument(ctx, info.Path)
			if err != nil {
				return nil, err
			}
			if p, err := manifest.DecodePlan(text); err == nil {
				r.Plan = p
			}
		case strings.HasPrefix(info.Name, manifest.PendingPrefix):
			p, err := d.readRecord(ctx, info.Path)
			if err != nil {
				return nil, err
			}
			if p != nil {
				r.pending = append(r.pending, p)
			}
		}
	}
	return r, nil
}

// readRecord returns nil if the file is gone or no manifest.
func (d *Destination) readRecord(ctx context.Context, file string) (*record, error) {
	text, err := d.readDocument(ctx, file)
	if err != nil {
		return nil, err
	}
	s, err := manifest.DecodeSuccess(text)
	if err != nil {
		return nil, nil
	}
	return &record{path: file, success: s}, nil
}

// readDocument returns nothing if the file is gone or is nothing that can be
// read as one.
func (d *Destination) readDocument(ctx context.Context, file string) ([]byte, error) {
	text, err := d.st.ReadFile(ctx, file, manifest.MaxSize)
	if store.Absent(err) {
		return nil, nil
	}
	return text, err
}
