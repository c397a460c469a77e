package main

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

// watchers are those who learn from elsewhere than the log what a run did. That one of
// them cannot be told is a warning, and never changes what becomes of the run.
type watchers struct {
	metricsFile, pushGateway, lineage string
	gateway                           *metrics.Gateway
	noMetrics, noLineage              bool     // the file is refused
	inputs                            []string // as the user named them, with their authorities
	started                           bool     // the lineage has the start of the run
	checked                           bool     // the flags were
}

func (w *watchers) add(flags *pflag.FlagSet) {
	flags.StringVar(&w.metricsFile, "metrics-file", "", "`file`, *.prom, for the figures of the run, which node-exporter's textfile collector reads for Prometheus")
	flags.StringVar(&w.pushGateway, "push-gateway", "", "`address` of a Prometheus push gateway for the same figures, http://HOST:PORT")
	flags.StringVar(&w.lineage, "lineage", "", "`file` to add OpenLineage run events to, a line of JSON each")
}

// check checks the flags. One that is wrong is not used to tell so.
func (w *watchers) check(ctx context.Context) error {
	w.checked = true
	if name := w.metricsFile; name != "" {
		if err := metrics.CheckName(name); err != nil {
			w.noMetrics = true
			return usagef("--metrics-file: %w", err)
		}
	}
	if name := w.lineage; name != "" {
		//guard: checks the file before the work begins
		if err := lineage.Check(name); err != nil {
			w.noLineage = true
			return usagef("--lineage: %w", err)
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
		return usagef("flag --push-gateway: %w", err) // the message may not tell the value
	}
	return nil
}

// checkPlaces refuses files in destinations, that of the run or others.
func (w *watchers) checkPlaces(ctx context.Context, dests ...store.Location) (wrong error) {
	for _, f := range []struct {
		flag, name string
		refused    *bool
	}{{"metrics-file", w.metricsFile, &w.noMetrics}, {"lineage", w.lineage, &w.noLineage}} {
		if f.name == "" {
			continue
		}
		at, err := input.Locate(store.Resolve, f.name)
		if err == nil {
			err = checkOutside(ctx, at, dests...)
		}
		if err != nil {
			*f.refused, wrong = true, fmt.Errorf("--%s: %w", f.flag, store.Conceal(err))
		}
	}
	return wrong
}

// startTelling tells of a run that begins its work.
func (a *outcomes) startTelling(ctx context.Context, dest string, inputs []string) error {
	w := &a.watchers
	a.run.Command, a.run.Dest, a.run.Place = a.command, store.Shown(dest), store.Shown(a.place(dest))
	for _, name := range inputs {
		w.inputs = append(w.inputs, store.Shown(a.place(name)))
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
		a.told(lineage.Append(w.lineage, lineage.Start(a.run, w.inputs)), "lineage")
	}
	return nil
}

// place is a location with the authority that its scheme alone stands for: plans and other
// programs know a dataset by that.
func (a *outcomes) place(name string) string {
	scheme, p := store.Scheme(name)
	if scheme == "" || !strings.HasPrefix(p, "/") {
		return name
	}
	at, err := a.resolve(name)
	if err != nil || at.Origin == "" {
		return name // the run will say what is wrong
	}
	return at.Origin + p
}

const (
	// pushTime is how long a push gateway has; less if a signal ended the run, for what
	// sent it waits.
	pushTime      = 10 * time.Second
	pushTimeAfter = 2 * time.Second
)

// push sends to the gateway what became of the run, which err ended. It is the last to be
// told, for it may take its time.
func (a *app) push(err error) {
	if a.watchers.gateway == nil {
		return
	}
	limit := pushTime
	if isInterrupted(err) {
		limit = pushTimeAfter
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	a.told(a.watchers.gateway.Push(ctx, a.run), "metrics")
}

// tell writes down what became of the run, which err ended.
func (a *app) tell(err error) {
	w, r := &a.watchers, a.run
	//guard: writes no file that was not checked
	if !w.checked {
		_ = w.check(context.Background()) // the run has failed already
	}
	if w.metricsFile != "" && !w.noMetrics {
		a.told(metrics.WriteFile(w.metricsFile, r), "metrics")
	}
	if w.lineage != "" && !w.noLineage {
		var events []*lineage.Event
		if !w.started {
			events = append(events, lineage.Start(r, w.inputs))
		}
		failure := ""
		if err != nil {
			failure = err.Error()
		}
		a.told(lineage.Append(w.lineage, append(events, lineage.End(r, w.inputs, failure))...), "lineage")
	}
}

// told warns of what could not be told.
func (a *app) told(err error, what string) {
	if err != nil {
		a.log.Warn(fmt.Sprintf("%s: %v", what, err))
	}
}
