package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math"
	"slices"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/job"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/spill"
	"github.com/rowtocol/rowtocol/telemetry/report"
)

// outcomes reports the outcomes of conversions in the account of the run, in the log and in
// the final JSON object.
type outcomes struct{ *app }

// environment returns the environment of conversions, from the common flags.
func (a *outcomes) environment() task.Environment {
	return task.Environment{
		Formats: formats, Workers: a.Workers, Memory: a.Pool, TempDir: a.TempDir,
		Program: a.Run.Version, Run: a.Run.ID, Resolve: a.Resolve, TaskDone: a.taskDone,
		Warn: func(warning string) { a.Warn([]string{warning}) },
	}
}

// converted is the result of convert in the final JSON object.
type converted struct {
	*cli.Figures
	Dest    string          `json:"dest"`
	Plan    string          `json:"plan"`
	Nothing bool            `json:"nothing"`
	Tasks   int             `json:"tasks"`
	Resumed int             `json:"resumed_tasks"`
	Rows    int64           `json:"rows"`
	Bytes   int64           `json:"bytes"`
	Files   int             `json:"files"`
	Index   int64           `json:"index_bytes"` // bytes of key indexes
	Inputs  int             `json:"inputs"`
	Copies  int             `json:"copies"` // inputs with the same content as another input
	Parts   []manifest.Part `json:"parts"`
	Losses  []manifest.Loss `json:"losses"`
	// LeftOut lists fields of inputs that the schema of the output lacks. Inexact counts
	// values that the types of that schema do not hold exactly.
	LeftOut  []manifest.LeftOut `json:"left_out"`
	Inexact  shred.Inexact      `json:"inexact"`
	Warnings []string           `json:"warnings"`
	Skipped  int                `json:"skipped"` // found files and directories that are not inputs
}

// report reports the outcome of a conversion or a commit. If there are an outcome and an
// error, the error is about losses, or about a failure after an increment was published.
func (a *outcomes) report(outcome *job.Outcome, err error, dest string) error {
	//guard: reports the increments published before one that failed
	if outcome == nil {
		return err
	}
	r := a.account(outcome, dest)
	a.Result = r
	switch {
	case outcome.Nothing && outcome.Incremental:
		skipped := ""
		if n := len(outcome.Skipped); n > 0 {
			skipped = fmt.Sprintf(" (skipped: %d)", n)
		}
		a.Summary("nothing to do: no input is new for %s%s\n", dest, skipped)
	case outcome.Nothing:
		a.Summary("nothing to do: %s already holds the %s of these inputs\n", dest, cli.Plural(r.Rows, "row"))
	default:
		copies := ""
		if r.Copies > 0 {
			copies = fmt.Sprintf(" (copies among the inputs: %d)", r.Copies)
		}
		a.Summary("%s: %s in %s, %s%s%s%s\n", dest, cli.Plural(r.Rows, "row"), cli.Plural(r.Files, "file"), cli.Human(r.Bytes), indexed(r.Index), doneBefore(outcome.Resumed), copies)
	}
	if outcome.Nothing && err == nil {
		a.nothing()
	}
	return err
}

// nothing records that the run had nothing to do, and removes spills of dead processes, as a run
// with tasks does.
func (a *outcomes) nothing() {
	a.Status = cli.StatusNothing
	warnings, err := spill.Sweep(a.TempDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		warnings = append(warnings, fmt.Sprintf("spills of earlier runs could not be removed: %v", err))
	}
	a.Warn(warnings)
}

// indexed returns the part of a summary about the bytes of key indexes.
func indexed(bytes int64) string {
	if bytes == 0 {
		return ""
	}
	return ", and " + cli.Human(bytes) + " of key indexes"
}

// account adds an outcome to the account of the run, logs it, and returns the result.
func (a *outcomes) account(o *job.Outcome, dest string) converted {
	a.tally(o)
	a.published(o)
	a.Warn(o.Warnings)
	a.tellSkipped(o.Skipped)
	a.tellSame(slog.LevelInfo, o.Skipped)
	r := converted{
		Figures: &a.Figures, Dest: dest, Nothing: o.Nothing, Tasks: o.Tasks, Resumed: o.Resumed, Parts: []manifest.Part{}, Losses: []manifest.Loss{}, LeftOut: []manifest.LeftOut{}, Warnings: cli.OrEmpty(o.Warnings), Skipped: len(o.Skipped), Copies: o.Copies,
	}
	for _, m := range o.Outputs() {
		r.Plan, r.Rows, r.Bytes, r.Inputs = m.Plan, r.Rows+m.Rows, r.Bytes+m.Bytes, r.Inputs+len(m.Request.Inputs)
		r.Parts, r.Losses = append(r.Parts, m.Parts...), append(r.Losses, m.Losses...)
		r.LeftOut, r.Inexact = append(r.LeftOut, m.LeftOut...), r.Inexact.Plus(m.Inexact)
		for _, f := range m.Index {
			r.Index += f.Bytes
		}
	}
	for _, p := range r.Parts {
		r.Files += len(p.Files)
	}
	for _, l := range r.Losses {
		a.Log.Warn("lost", "input", l.Input, "start", l.Start, "end", l.End, "rows", l.Rows, "reason", l.Reason, "quarantine", quarantined(l))
	}
	return r
}

// quarantined returns the name of the copy of lost bytes, or "".
func quarantined(l manifest.Loss) string {
	if l.Quarantine == nil {
		return ""
	}
	return l.Quarantine.Name
}

// tally adds the outcome of a conversion or a commit to the account of the run.
func (a *outcomes) tally(o *job.Outcome) {
	r := a.Run
	for _, m := range o.Published {
		a.tallyInputs(m.Request.Inputs)
		for _, p := range m.Parts {
			r.Files += len(p.Files)
		}
		lost, _ := manifest.LostRows(m.Losses)
		r.Rows, r.Bytes, r.LostRows, r.Losses = r.Rows+m.Rows, r.Bytes+m.Bytes, r.LostRows+lost, r.Losses+len(m.Losses)
		r.Schema, r.OutputID = m.Schema, m.ID
	}
	r.Tasks, r.Resumed, r.ResumedBytes = r.Tasks+o.Tasks, r.Resumed+o.Resumed, r.ResumedBytes+o.ResumedBytes
}

func (a *outcomes) tallyInputs(inputs []manifest.Input) {
	for _, in := range inputs {
		a.Run.Inputs = append(a.Run.Inputs, report.Input{Path: in.Path, Bytes: in.Size})
		a.Run.InputBytes += in.Size
	}
}

// tallyTasks adds tasks of a plan and their results to the account. Earlier results are in
// all figures except the bytes that the run itself converted.
func (a *outcomes) tallyTasks(p *manifest.Plan, numbers []int, results []*manifest.TaskResult, resumed int, converted int64) {
	r := a.Run
	read := map[string]int64{}
	for _, n := range numbers {
		for _, piece := range p.Tasks[n].Pieces {
			read[p.Request.Inputs[piece.Input].Path] += piece.End - piece.Start
		}
	}
	for _, path := range slices.Sorted(maps.Keys(read)) {
		r.Inputs = append(r.Inputs, report.Input{Path: path, Bytes: read[path]})
		r.InputBytes += read[path]
	}
	for _, res := range results {
		lost, _ := manifest.LostRows(res.Losses)
		r.Rows, r.LostRows, r.Losses = r.Rows+res.RowsIn, r.LostRows+lost, r.Losses+len(res.Losses)
		for _, f := range res.Files() {
			r.Files, r.Bytes = r.Files+1, r.Bytes+f.Bytes
		}
	}
	r.Tasks, r.Resumed, r.ResumedBytes, r.Schema = len(numbers), resumed, max(r.InputBytes-converted, 0), p.Schema
}

// published logs the published files.
func (a *outcomes) published(o *job.Outcome) {
	for _, m := range o.Published {
		log := a.Log.With("output", m.ID)
		for _, p := range m.Parts {
			for _, f := range p.Files {
				log.Debug("published", append(a.TaskAttrs(m.Plan, p.Task), "row_group", p.RowGroup, "file", f.Name, "rows", p.Rows, "bytes", f.Bytes)...)
			}
		}
		for _, f := range m.Index {
			log.Debug("published", "file", f.Name, "bytes", f.Bytes)
		}
	}
}

// taskDone logs a task that is done.
func (a *outcomes) taskDone(res *manifest.TaskResult) {
	var bytes int64
	files := res.Files()
	for _, f := range files {
		bytes += f.Bytes
	}
	attrs := []any{"rows", res.RowsIn, "input_bytes", res.Made.InputBytes, "bytes", bytes, "files", len(files), "losses", len(res.Losses), "seconds", math.Round(1000*res.Made.Seconds) / 1000}
	a.Log.Debug("task done", append(a.TaskAttrs(res.Plan, res.Task), attrs...)...)
}
