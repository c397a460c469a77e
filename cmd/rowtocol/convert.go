package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/job"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/plan"
	"github.com/rowtocol/rowtocol/job/task"
)

const convertLong = `Convert Avro object container files to column files, one per row group, or with
--format cfile to a directory of Kudu CFiles, one per column, for each row
group, or with --format hfile to HFiles of whole rows, sorted by --key.

INPUT is a file, a directory or a quoted glob pattern; DEST is a directory,
which convert makes. Both are arguments, or are --input and --dest, so that a
job file can hold them; arguments win. A directory stands for the Avro files in
it and below it, whatever their names; hidden ones, names that begin with _ and
unfinished copies, such as a.avro._COPYING_, are skipped. How much was skipped
is logged, and --dry-run names it. All inputs must have the same schema, unless
--schema names one that all of them are resolved to, by Avro's rules.
DEST/_SUCCESS is written last: a reader that follows it never sees part of a
dataset. The same job again finds it and does nothing; a job that was
interrupted goes on where it stopped.
A DEST that holds the output of other inputs or options is refused (exit 9),
unless --overwrite is given.

With --incremental only the inputs that DEST does not have yet are converted, as
an increment: a directory of its own, with its own _SUCCESS, beside the output
and the other increments in DEST, which are read together. An input that DEST
has, and that changed since, is exit 3; one that was deleted since is not
missed.` + partitionedLong

const convertExample = `  # a directory of files, with the defaults
  rowtocol convert /data/mail /data/mail.columns

  # what would be done
  rowtocol convert --dry-run '/data/mail/2026-*.avro' /data/mail.columns

  # one column stored with another codec, and an index of first values
  rowtocol convert --codec snappy --codec body=bzip2 --values date \
    /data/mail /data/mail.columns

  # Kudu CFiles, with an index of a column whose values ascend
  rowtocol convert --format cfile --sorted-by id --encoding body=plain \
    /data/mail /data/mail.columns

  # HFiles, for HBase and Hudi
  rowtocol convert --format hfile --key id /data/mail /data/mail.hfiles

  # files of several generations of a schema, as the latest has them
  rowtocol convert --schema mail-v3.avsc /data/mail /data/mail.columns

  # what has come since the last time
  rowtocol convert --incremental /data/mail /data/mail.columns

  # from a scheduler: go on after damage, keep the damaged bytes, exit 99 when
  # there is nothing to do
  rowtocol convert --config job.yaml --on-damage quarantine --exit-nothing 99 \
    /data/mail /data/mail.columns

  # what a job file says, inputs and destination too
  rowtocol convert --config job.yaml`

// convertFlags are the flags of convert as they were given.
type convertFlags struct {
	placeFlags
	outputFlags
	overwrite, restart, dryRun, allowEmpty, incremental bool
	partitioned, reprocess                              bool
	nothing                                             int
	maxRuntime                                          time.Duration
}

func (a *app) convertCommand() *cobra.Command {
	f := &convertFlags{}
	cmd := &cobra.Command{
		Use:     "convert [INPUT... DEST]",
		Short:   "Convert Avro files to column files",
		Long:    convertLong,
		Example: convertExample,
		RunE: func(cmd *cobra.Command, args []string) error {
			inputs, dest, err := a.places(cmd, &f.placeFlags, args)
			if err != nil {
				return err
			}
			return a.convert(cmd.Context(), f, inputs, dest, &here{a})
		},
	}
	a.addConversion(cmd, f)
	return cmd
}

// addConversion adds the flags that every command has which converts.
func (a *app) addConversion(cmd *cobra.Command, f *convertFlags) {
	flags := cmd.Flags()
	f.addPlaces(flags)
	f.add(flags)
	flags.BoolVar(&f.overwrite, "overwrite", false, "replace an earlier output in DEST, and all increments beside it")
	addIncremental(flags, &f.incremental)
	addPartitioned(flags, f)
	flags.BoolVar(&f.restart, "restart", false, "plan anew where an unfinished run of the same request could be resumed; with --overwrite, convert again what DEST holds already")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print the plan and do nothing")
	addAllowEmpty(flags, &f.allowEmpty)
	a.watchers.add(flags)
	addExitNothing(flags, &f.nothing)
	addMaxRuntime(flags, &f.maxRuntime)
	completeOutput(cmd)
}

// addAllowEmpty adds the flag that takes inputs which hold no Avro file.
func addAllowEmpty(flags *pflag.FlagSet, allow *bool) {
	flags.BoolVar(allow, "allow-empty", false, "take directories without an Avro file, and patterns without a match")
}

// addIncremental adds the flag that leaves out the inputs which DEST has.
func addIncremental(flags *pflag.FlagSet, incremental *bool) {
	flags.BoolVar(incremental, "incremental", false, "convert only inputs that DEST does not have yet, as an increment beside what it holds")
}

// addExitNothing adds the flag that chooses the code of a run with nothing to do.
func addExitNothing(flags *pflag.FlagSet, code *int) {
	flags.IntVar(code, "exit-nothing", 0, "exit `code` when there was nothing to do")
}

// addMaxRuntime adds the flag that limits the time of a run.
func addMaxRuntime(flags *pflag.FlagSet, most *time.Duration) {
	flags.DurationVar(most, "max-runtime", 0, "end after this time as after SIGTERM, with exit code 4: what is done is kept (default no limit)")
}

func checkExitNothing(code int) error {
	if code < 0 || code > 255 {
		return usagef("--exit-nothing must be an exit code, 0 to 255")
	}
	return nil
}

// converted is the result of convert in the final JSON object.
type converted struct {
	*Figures
	Dest    string          `json:"dest"`
	Plan    string          `json:"plan"`
	Nothing bool            `json:"nothing"`
	Tasks   int             `json:"tasks"`
	Resumed int             `json:"resumed_tasks"`
	Rows    int64           `json:"rows"`
	Bytes   int64           `json:"bytes"`
	Files   int             `json:"files"`
	Index   int64           `json:"index_bytes"` // of key indexes
	Inputs  int             `json:"inputs"`
	Copies  int             `json:"copies"` // of Inputs, those that have the content of another
	Parts   []manifest.Part `json:"parts"`
	Losses  []manifest.Loss `json:"losses"`
	// LeftOut are fields of inputs that the schema of the output lacks, and Inexact counts
	// values that its types do not hold as they were.
	LeftOut  []manifest.LeftOut `json:"left_out"`
	Inexact  shred.Inexact      `json:"inexact"`
	Warnings []string           `json:"warnings"`
	Skipped  int                `json:"skipped"` // files and directories that were found and are no inputs
}

// engine carries out a conversion: in this process, or elsewhere.
type engine interface {
	// ready refuses what the engine cannot convert, before anything is done.
	ready(ctx context.Context, inputs []string, dest string) error
	convert(ctx context.Context, req job.Request) (*job.Outcome, error)
	// partitions tells each what came of every partition, until ctx ends.
	partitions(ctx context.Context, p *job.Partitions, names []string, each func(name string, out *job.Outcome, err error))
}

// here is the engine that is this process.
type here struct{ *app }

func (h *here) ready(context.Context, []string, string) error { return nil }

func (h *here) convert(ctx context.Context, req job.Request) (*job.Outcome, error) {
	p, stop := h.startProgress(ctx)
	defer stop()
	req.Progress = p.ofJob
	return job.Convert(ctx, req)
}

func (h *here) partitions(ctx context.Context, p *job.Partitions, names []string, each func(string, *job.Outcome, error)) {
	for _, name := range names {
		if ctx.Err() != nil {
			return
		}
		out, err := h.partition(ctx, *p, name)
		each(name, out, err)
	}
}

func (h *here) partition(ctx context.Context, p job.Partitions, name string) (*job.Outcome, error) {
	progress, stop := h.startProgress(ctx)
	defer stop()
	p.Progress = progress.ofJob
	return p.Convert(ctx, name)
}

func (a *app) convert(ctx context.Context, f *convertFlags, inputs []string, dest string, e engine) error {
	if f.dryRun {
		a.watchers = watchers{} // nothing is done
	}
	if err := a.startTelling(ctx, dest, inputs); err != nil {
		return err
	}
	if err := checkExitNothing(f.nothing); err != nil {
		return err
	}
	if err := checkPartitioned(f, inputs); err != nil {
		return err
	}
	if err := a.endAfter(f.maxRuntime); err != nil {
		return err
	}
	if err := e.ready(ctx, inputs, dest); err != nil {
		return err
	}
	req, err := a.request(ctx, &f.outputFlags, inputs, dest)
	if err != nil {
		return err
	}
	req.AllowEmpty, req.Overwrite, req.Restart, req.Incremental = f.allowEmpty, f.overwrite, f.restart, f.incremental
	if f.partitioned {
		return a.convertPartitions(ctx, f, req, e)
	}
	if f.dryRun {
		return a.dryRun(ctx, req)
	}
	a.start("dest", a.run.Dest, named(inputs))
	outcome, err := e.convert(ctx, req)
	if errors.Is(err, task.ErrDetached) {
		a.reportDetached(outcome, dest)
		return nil
	}
	return a.report(outcome, damageHelp(err, f.onDamage), dest, f.nothing)
}

// request is the conversion that flags and arguments ask for.
func (a *app) request(ctx context.Context, f *outputFlags, inputs []string, dest string) (job.Request, error) {
	options, err := f.options()
	if err != nil {
		return job.Request{}, err
	}
	schema, err := a.readerSchema(ctx, f.schema)
	if err != nil {
		return job.Request{}, err
	}
	filter, err := f.filter.filter()
	if err != nil {
		return job.Request{}, err
	}
	req := job.Request{Options: a.jobOptions(), Asked: plan.Asked{Inputs: inputs, Dest: dest, Output: options, Schema: schema, Filter: filter}}
	req.Destination.Moved, err = a.moves(f.moved)
	return req, err
}

// jobOptions are what the flags of all commands say about conversions.
func (a *app) jobOptions() job.Options {
	return job.Options{Environment: task.Environment{
		Formats: formats, Workers: a.workers, Memory: a.pool, TempDir: a.tempDir,
		Program: a.run.Version, Run: a.run.ID, Resolve: a.resolve, TaskDone: a.taskDone,
		Warn: func(warning string) { a.warn([]string{warning}) },
	}}
}

// report tells what a conversion or a commit came to. Beside an outcome, err is about
// losses, or about what failed after the increment that the outcome has.
func (a *app) report(outcome *job.Outcome, err error, dest string, nothing int) error {
	//guard: nobody would be told of an increment that was published before a later one failed
	if outcome == nil {
		return err
	}
	r := a.account(outcome, dest)
	a.result = r
	switch {
	case outcome.Nothing && outcome.Incremental:
		skipped := ""
		if n := len(outcome.Skipped); n > 0 {
			skipped = fmt.Sprintf(" (skipped: %d)", n)
		}
		a.summary("nothing to do: no input is new for %s%s\n", dest, skipped)
	case outcome.Nothing:
		a.summary("nothing to do: %s already holds the %s of these inputs\n", dest, plural(r.Rows, "row"))
	default:
		copies := ""
		if r.Copies > 0 {
			copies = fmt.Sprintf(" (copies among the inputs: %d)", r.Copies)
		}
		a.summary("%s: %s in %s, %s%s%s%s\n", dest, plural(r.Rows, "row"), plural(r.Files, "file"), human(r.Bytes), indexed(r.Index), doneBefore(outcome.Resumed), copies)
	}
	if outcome.Nothing && err == nil {
		a.status, a.nothing = "nothing", nothing
	}
	return err
}

// indexed tells of the bytes of key indexes.
func indexed(bytes int64) string {
	if bytes == 0 {
		return ""
	}
	return ", and " + human(bytes) + " of key indexes"
}

func (a *app) warn(warnings []string) {
	for _, w := range warnings {
		a.log.Warn(w)
	}
}

// account adds an outcome to the account of the run, logs what is to be said of it, and
// returns the result that it makes.
func (a *app) account(o *job.Outcome, dest string) converted {
	a.tally(o)
	a.published(o)
	a.warn(o.Warnings)
	a.tellSkipped(o.Skipped)
	a.tellSame(slog.LevelInfo, o.Skipped)
	r := converted{
		Figures: &a.figures, Dest: dest, Nothing: o.Nothing, Tasks: o.Tasks, Resumed: o.Resumed, Parts: []manifest.Part{}, Losses: []manifest.Loss{}, LeftOut: []manifest.LeftOut{}, Warnings: orEmpty(o.Warnings), Skipped: len(o.Skipped), Copies: o.Copies,
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
		a.log.Warn("lost", "input", l.Input, "start", l.Start, "end", l.End, "rows", l.Rows, "reason", l.Reason, "quarantine", quarantined(l))
	}
	return r
}

// quarantined is the name of the copy of lost bytes; empty without one.
func quarantined(l manifest.Loss) string {
	if l.Quarantine == nil {
		return ""
	}
	return l.Quarantine.Name
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
