package main

import (
	"maps"
	"slices"
	"time"

	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/job"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/telemetry/report"
)

// newRun begins the account of a run of the program.
func newRun() *report.Run {
	return &report.Run{ID: manifest.NewID(), Version: version(), Began: time.Now().UTC()}
}

// tally adds what a conversion or a commit came to to the account of the run.
func (a *app) tally(o *job.Outcome) {
	r := a.run
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

func (a *app) tallyInputs(inputs []manifest.Input) {
	for _, in := range inputs {
		a.run.Inputs = append(a.run.Inputs, report.Input{Path: in.Path, Bytes: in.Size})
		a.run.InputBytes += in.Size
	}
}

// tallyTasks does so of tasks of a plan and what they made. Those that were done before
// make no difference to the figures, but to the bytes that the run converted itself.
func (a *app) tallyTasks(p *manifest.Plan, numbers []int, results []*manifest.TaskResult, resumed int, converted int64) {
	r := a.run
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

// endRun closes the account of the run.
func (a *app) endRun(code int, status string) {
	a.run.Command, a.run.Exit, a.run.Status = a.command, code, status
	a.run.Ended, a.run.PeakMemory = time.Now().UTC(), budget.PeakResident()
	a.figures = figuresOf(a.run)
}

// Figures are the part of a result in the final JSON object that all commands have
// which convert or read everything. The last line of their logs has them as well.
type Figures struct {
	Began      time.Time `json:"began"`
	Seconds    float64   `json:"seconds"`
	InputBytes int64     `json:"input_bytes"`
	Rate       int64     `json:"bytes_per_second"` // see report.Run.Rate
	PeakMemory int64     `json:"peak_memory"`
	Version    string    `json:"version"`
}

func figuresOf(r *report.Run) Figures {
	return Figures{
		Began: r.Began, Seconds: float64(r.Duration().Round(time.Millisecond).Milliseconds()) / 1000, InputBytes: r.InputBytes,
		Rate: int64(r.Rate()), PeakMemory: r.PeakMemory, Version: r.Version,
	}
}
