package cli

import (
	"time"

	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/telemetry/report"
)

// newRun begins the account of a run of the program.
func newRun() *report.Run {
	return &report.Run{ID: manifest.NewID(), Version: Version(), Began: time.Now().UTC()}
}

// endRun closes the account of the run.
func (a *App) endRun(code int, status string) {
	a.Run.Command, a.Run.JobName, a.Run.Exit, a.Run.Status = a.Command, a.Watchers.JobName, code, status
	a.Run.Ended, a.Run.PeakMemory = time.Now().UTC(), budget.PeakResident()
	a.Figures = figuresOf(a.Run)
}

// Figures is the part of a result that is common to all commands that convert or read all
// rows. It is in the final JSON object and in the last line of the log.
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

// Warn logs warnings.
func (a *App) Warn(warnings []string) {
	for _, w := range warnings {
		a.Log.Warn(w)
	}
}

// OrEmpty returns a list that is not nil, because JSON shows nil as null.
func OrEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
