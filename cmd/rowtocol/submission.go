package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/job"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/telemetry/lineage"
)

// ready refuses locations that no node can reach, and a machine without Hadoop's client.
func (s *submitCommand) ready() error {
	if err := job.Reachable(s.Resolve, s.req.Dest, s.req.Inputs); err != nil {
		return err
	}
	return s.open()
}

// open makes the engine.
func (s *submitCommand) open() error {
	o := &s.options
	o.Resolve, o.Program, o.Run = s.Resolve, s.Run.Version, s.Run.ID
	o.Memory, o.StoreRetry, o.Replication = int64(s.Memory), s.Store.Patience.Limit, s.Store.Hadoop.Replication
	o.Log, o.OnJob = s.engineLog(), s.tellJob
	return cli.OfSettings(s.cluster.Open(*o, s.Stores))
}

// engineLog returns the log of the engine, which is shorter for people at a terminal.
func (s *submitCommand) engineLog() *slog.Logger {
	if s.ForPeople() && s.Log.Enabled(context.Background(), slog.LevelInfo) {
		return s.Console.Logger(slog.LevelWarn, s.Logs.Format)
	}
	return s.Log
}

// tellJob reports that a job was started or found, or that it has ended.
func (s *submitCommand) tellJob(j task.RemoteJob) {
	s.last = j
	if s.ForPeople() {
		//guard: prints nothing with --quiet
		if j.State == "" && !s.options.Detach && s.Log.Enabled(context.Background(), slog.LevelInfo) {
			s.showJob(j)
		}
		return
	}
	attrs := []any{"application", j.ID, "job", j.Job, "url", j.URL}
	switch {
	case j.State != "":
		s.Log.Info("job ended", append(attrs, "state", j.State)...)
	case j.Found:
		s.Log.Info("job of an earlier run found, and followed", attrs...)
	default:
		s.Log.Info("job started", attrs...)
	}
}

// showJob prints where people can follow a job.
func (s *submitCommand) showJob(j task.RemoteJob) {
	text := cli.Printable(j.ID) + " runs"
	if j.Found {
		text = cli.Printable(j.ID) + ", which an earlier run started, is followed"
	}
	if j.URL != "" { // on a separate line, which is easy to copy
		text += ":\n  " + cli.Printable(j.URL)
	}
	_, _ = fmt.Fprintln(s.Console, text) // an error has no place to go
}

func (s *submitCommand) convert(ctx context.Context, req job.Request) (*job.Outcome, error) {
	p, stop := s.StartProgress(ctx)
	defer stop()
	req.Progress = func(now job.Progress) { showProgress(p, now) }
	out, err := job.Submit(ctx, req, s.cluster)
	s.detached = errors.Is(err, task.ErrDetached)
	return out, err
}

func (s *submitCommand) partitions(ctx context.Context, p *job.Partitions, names []string, each func(string, *job.Outcome, error)) {
	progress, stop := s.StartProgress(ctx)
	defer stop()
	p.Progress = func(now job.Progress) { showProgress(progress, now) }
	p.Submit(ctx, names, s.cluster, func(name string, out *job.Outcome, err error) {
		s.detached = s.detached || errors.Is(err, task.ErrDetached)
		each(name, out, err)
	})
}

// follow follows a job to its end, and publishes the outputs of the plans whose tasks the
// job ran.
func (s *submitCommand) follow(ctx context.Context) error {
	moves, err := s.moves(s.moved)
	if err != nil {
		return err
	}
	if err := s.open(); err != nil {
		return err
	}
	p, stop := s.StartProgress(ctx)
	defer stop()
	plans, err := s.cluster.Attach(ctx, s.attach, func(t task.Progress) {
		showProgress(p, job.Progress{Rows: t.Rows, Bytes: t.Bytes, TotalBytes: s.last.Bytes, Tasks: t.Tasks, TotalTasks: s.last.Tasks, Waiting: t.Waiting})
	})
	stop()
	if err != nil {
		return damageHelp(err, s.req.Output.OnDamage)
	}
	o := job.Options{Environment: s.environment()}
	o.Destination.Moved, o.Destination.KeepReplaced = moves, s.req.Destination.KeepReplaced
	s.keepForTable(&o.Destination)
	if len(plans) == 1 {
		outcome, err := s.publish(ctx, plans[0], o)
		s.Run.Dest = store.Showable(plans[0].Dest)
		return s.report(outcome, err, plans[0].Dest)
	}
	return s.publishAll(ctx, plans, o)
}

// cancelJob kills a job.
func (s *submitCommand) cancelJob(ctx context.Context) error {
	if err := s.open(); err != nil {
		return err
	}
	j, err := s.cluster.Cancel(ctx, s.cancel)
	if err != nil {
		return err
	}
	s.Result = &onCluster{Application: j.ID, Job: j.Job, TrackingURL: j.URL, Cancelled: j.State == "", Counters: map[string]map[string]int64{}}
	s.Watchers.DropFigures()
	if j.State == "" {
		s.Summary("%s is killed; the work of its finished tasks stays, and the same submit command goes on with it\n", j.ID)
		return nil
	}
	s.Status = cli.StatusNothing
	s.Summary("%s had already ended: %s\n", j.ID, j.State)
	return nil
}

// publish publishes the output of a plan, and reports its inputs to watchers.
func (s *submitCommand) publish(ctx context.Context, p task.Attached, o job.Options) (*job.Outcome, error) {
	out, err := job.CommitStaged(ctx, p.Dest, p.PlanID, o)
	if out != nil && out.Plan != nil {
		s.Watchers.Inputs = append(s.Watchers.Inputs, cli.Shown(lineage.Directories(inputPaths(out.Plan)))...)
	}
	return out, err
}

// publishAll publishes the outputs of the plans of several partitions. After a failure it
// publishes the other outputs. A signal stops it.
func (s *submitCommand) publishAll(ctx context.Context, plans []task.Attached, o job.Options) error {
	dest, names := partitionsOf(plans)
	s.Run.Dest = store.Showable(dest)
	r := &partitioned{Figures: &s.Figures, Dest: dest, Partitions: []partitionResult{}, Beside: []input.Skipped{}}
	s.Result = r
	for i := 0; i < len(plans) && ctx.Err() == nil; i++ {
		out, err := s.publish(ctx, plans[i], o)
		s.tellPartition(ctx, r, s.accountPartition(names[i], out), err)
	}
	return s.reportPartitions(ctx, r, names)
}

// partitionsOf returns the common directory of the destinations of plans, and their names
// in it.
func partitionsOf(plans []task.Attached) (dest string, names []string) {
	//guard: handles a submission without plans
	if len(plans) == 0 {
		return "", nil
	}
	common := strings.Split(plans[0].Dest, "/")
	for _, p := range plans {
		parts := strings.Split(p.Dest, "/")
		n := 0
		for n < min(len(common), len(parts)) && common[n] == parts[n] {
			n++
		}
		common = common[:n]
	}
	// All plans may be in one partition of the first level.
	if i := slices.IndexFunc(common, func(part string) bool { return strings.Contains(part, "=") }); i >= 0 {
		common = common[:i]
	}
	dest = strings.Join(common, "/")
	for _, p := range plans {
		names = append(names, strings.TrimPrefix(p.Dest[len(dest):], "/"))
	}
	return dest, names
}

// statusDetached is the JSON status of a run, and the action of a partition, whose tasks run
// on without this program.
const statusDetached = "detached"

// detach ends a run whose tasks run on. The run that publishes the results reports to
// watchers.
func (c *convertCommand) detach() {
	c.Status = statusDetached
	c.Watchers.DropFigures()
}

// reportDetached reports a conversion whose tasks run on.
func (c *convertCommand) reportDetached(o *job.Outcome, dest string) {
	r := c.account(o, dest)
	r.Plan, r.Tasks, r.Inputs = o.Plan.ID, len(o.Plan.Tasks), len(o.Plan.Request.Inputs)
	c.Result = r
	c.detach()
}

// reportJob adds the job to the report of a conversion.
func (s *submitCommand) reportJob() {
	on := &onCluster{Application: s.last.ID, Job: s.last.Job, TrackingURL: s.last.URL, Detached: s.detached, Counters: s.last.Counters}
	if on.Counters == nil {
		on.Counters = map[string]map[string]int64{}
	}
	if s.detached {
		s.Summary("%s runs on%s\n\"rowtocol submit --attach %s\" publishes what it makes\n", on.Application, atURL(on.TrackingURL), on.Application)
	}
	switch r := s.Result.(type) {
	case converted:
		s.Result = submitted{r, on}
	case *partitioned:
		s.Result = submittedPartitions{r, on}
	case nil:
		if on.Application != "" { // it failed, and the job has more to say
			none := converted{Figures: &s.Figures, Dest: s.Run.Dest, Parts: []manifest.Part{}, Losses: []manifest.Loss{}, LeftOut: []manifest.LeftOut{}, Warnings: []string{}}
			s.Result = submitted{none, on}
		}
	}
}

// atURL returns the address of a job for a sentence. A job has an address once it begins.
func atURL(url string) string {
	if url == "" {
		return ""
	}
	return ": " + url
}
