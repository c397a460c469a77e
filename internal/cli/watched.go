package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/telemetry/lineage"
	"github.com/rowtocol/rowtocol/telemetry/metrics"
)

// Watchers reports a run to other places than the log. A failure to report is a warning, and
// never changes the outcome of the run.
type Watchers struct {
	JobName                           string
	MetricsFile, pushGateway, lineage string
	gateway                           *metrics.Gateway
	noMetrics, noLineage              bool     // the flag's file was refused
	Inputs                            []string // inputs as the user named them, with their authorities
	started                           bool     // the lineage has the start of the run
	checked                           bool     // the flags were checked
}

// JobSuffix is the annotation of commands that read the job file of another command, and report
// as a job of their own. Its value ends the names of the job and of the file of metrics, unless
// they are from the command line.
const JobSuffix = "job"

// nameJob adds the suffix of a command to the names that other commands read as well.
func (a *App) nameJob(suffix string) {
	w := &a.Watchers
	if w.JobName != "" && !a.OnCommandLine("job-name") {
		w.JobName += suffix
	}
	if w.MetricsFile != "" && !a.OnCommandLine("metrics-file") {
		w.MetricsFile = metrics.Apart(w.MetricsFile, suffix)
	}
}

// Add adds the flags.
func (w *Watchers) Add(flags *pflag.FlagSet) {
	w.AddMetrics(flags)
	flags.StringVar(&w.lineage, "lineage", "", "append OpenLineage run events to this `file`, one JSON line each")
}

// AddMetrics adds the flags of commands that make no dataset.
func (w *Watchers) AddMetrics(flags *pflag.FlagSet) {
	flags.StringVar(&w.JobName, "job-name", "", "`name` of the scheduled job in metrics and lineage, for a DEST that changes from run to run (default DEST)")
	flags.StringVar(&w.MetricsFile, "metrics-file", "", "write the figures of the run to this `file`, *.prom, or to a file named after the job in this directory; node-exporter's textfile collector reads it for Prometheus")
	flags.StringVar(&w.pushGateway, "push-gateway", "", "send the figures of the run to the Prometheus push gateway at this `address`, http://HOST:PORT")
}

// check checks the flags. It does not report to a place whose flag is wrong.
func (w *Watchers) check(ctx context.Context) error {
	w.checked = true
	if name := w.MetricsFile; name != "" {
		if err := metrics.CheckName(name); err != nil {
			w.noMetrics = true
			return Usagef("--metrics-file: %w", err)
		}
	}
	if name := w.lineage; name != "" {
		//guard: checks the file before the work begins
		if err := lineage.Check(name); err != nil {
			w.noLineage = true
			return Usagef("--lineage: %w", err)
		}
	}
	if err := w.checkPlaces(ctx); err != nil {
		return err
	}
	if w.pushGateway == "" {
		return nil
	}
	var err error
	if w.gateway, err = metrics.NewGateway(w.pushGateway); err != nil {
		return Usagef("flag --push-gateway: %w", err) // the value may have a password
	}
	return nil
}

// DropFigures keeps figures from being reported, because another run reports them.
func (w *Watchers) DropFigures() { w.MetricsFile, w.gateway = "", nil }

// checkPlaces refuses files in the destination of the run, or in any other destination.
func (w *Watchers) checkPlaces(ctx context.Context, dests ...store.Location) (wrong error) {
	for _, f := range []struct {
		flag, name string
		refused    *bool
	}{{"metrics-file", w.MetricsFile, &w.noMetrics}, {"lineage", w.lineage, &w.noLineage}} {
		if f.name == "" {
			continue
		}
		at, err := input.Locate(store.Resolve, metrics.FileFor(f.name, ""))
		if err == nil {
			err = CheckOutside(ctx, at, dests...)
		}
		if err != nil {
			*f.refused, wrong = true, fmt.Errorf("--%s: %w", f.flag, store.RedactError(err))
		}
	}
	return wrong
}

// StartTelling reports that a run begins its work.
func (a *App) StartTelling(ctx context.Context, dest string, inputs []string) error {
	w := &a.Watchers
	a.Run.Command, a.Run.JobName = a.Command, w.JobName
	a.Run.Dest, a.Run.ResolvedDest = store.Showable(dest), store.Showable(a.place(dest))
	for _, name := range inputs {
		w.Inputs = append(w.Inputs, store.Showable(a.place(name)))
	}
	if scheme, _, remote := strings.Cut(dest, "://"); !remote || scheme == "file" {
		at, err := input.Locate(store.Resolve, dest)
		if err == nil {
			err = w.checkPlaces(ctx, at)
		}
		if err != nil {
			return err
		}
	}
	if w.lineage != "" {
		w.started = true
		a.told(lineage.Append(w.lineage, lineage.Start(a.Run, w.Inputs)), "lineage")
	}
	return nil
}

// place returns a location with its authority, such as a host and a port, filled in. Plans
// and other programs identify a dataset by the full location.
func (a *App) place(name string) string {
	scheme, p := store.Scheme(name)
	if scheme == "" || !strings.HasPrefix(p, "/") {
		return name
	}
	at, err := a.Resolve(name)
	if err != nil || at.Origin == "" {
		return name // the run will report the error
	}
	return at.Origin + p
}

const (
	// pushTime is the time limit for a push gateway. It is shorter after a signal, because
	// the sender of the signal waits for the program to end.
	pushTime      = 10 * time.Second
	pushTimeAfter = 2 * time.Second
)

// push sends the outcome of the run, which err ended, to the gateway. It is called last,
// because it may take long.
func (a *App) push(err error) {
	if a.Watchers.gateway == nil {
		return
	}
	limit := pushTime
	if isInterrupted(err) {
		limit = pushTimeAfter
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	a.told(a.Watchers.gateway.Push(ctx, a.Run), "metrics")
}

// tell writes the outcome of the run, which err ended, to files.
func (a *App) tell(err error) {
	w, r := &a.Watchers, a.Run
	//guard: writes no file that was not checked
	if !w.checked {
		_ = w.check(context.Background()) // the run has failed already
	}
	if w.MetricsFile != "" && !w.noMetrics {
		a.told(metrics.WriteFile(w.MetricsFile, r), "metrics")
	}
	if w.lineage != "" && !w.noLineage {
		var events []*lineage.Event
		if !w.started {
			events = append(events, lineage.Start(r, w.Inputs))
		}
		failure := ""
		if err != nil {
			failure = err.Error()
		}
		a.told(lineage.Append(w.lineage, append(events, lineage.End(r, w.Inputs, failure))...), "lineage")
	}
}

// told warns of a report that failed.
func (a *App) told(err error, what string) {
	if err != nil {
		a.Log.Warn(fmt.Sprintf("%s: %v", what, err))
	}
}
