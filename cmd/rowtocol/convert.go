package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/job"
	"github.com/rowtocol/rowtocol/job/task"
)

const convertLong = `Convert Avro object container files to column files, one per row group. With
--format parquet, each row group is a Parquet file, which most engines read.
With --format cfile, each row group is a directory of Kudu CFiles, one per
column. With --format hfile, the output is HFiles of whole rows, sorted by
--key.

INPUT is a file, a directory or a quoted glob pattern. DEST is a directory,
which convert makes. Give both as arguments, or as --input and --dest, which a
job file can hold. If you give both forms, the arguments win. A directory stands
for the Avro files in it and below it; their names need not end in .avro.
convert skips hidden files, names that begin with _, and unfinished copies such
as a.avro._COPYING_. The log says how many it skipped, and --dry-run names them.
All inputs must have the same schema. If their schemas differ, --schema names
one schema, and convert resolves all inputs to it: by Avro's rules it converts
their rows to that schema. With --incremental and --partitioned, convert
resolves new inputs to the schema of the output in DEST.

The last file that convert writes is DEST/_SUCCESS, which lists the output's
files. A program that reads only the listed files never sees part of a dataset.
If you run the same job again, convert does nothing, or resumes the work of a
run that was interrupted. If DEST holds the output of other inputs or options,
convert ends with exit code 9. With --overwrite it replaces that output; rows of
inputs that no longer exist are then lost. See rowtocol help exit-codes.
Programs that are reading the replaced output lose its files, unless you give
--keep-replaced: the files then stay for that time. Afterwards the next run, or
clean, removes them.

With --incremental, convert takes only the inputs that DEST does not have yet.
They become an increment: a directory in DEST with its own _SUCCESS, next to the
output and the other increments. Commands that read DEST read all of these
together. If an input changed after it was converted, the exit code is 3. Inputs
that were converted may be deleted.` + partitionedLong

const convertExample = `  # a directory of files, with the defaults
  rowtocol convert /data/mail /data/mail.columns

  # show the plan only
  rowtocol convert --dry-run '/data/mail/archive-*.avro' /data/mail.columns

  # bzip2 for the column body; for the column date also the first value of each
  # block, so that readers can seek by value
  rowtocol convert --codec snappy --codec body=bzip2 --values date \
    /data/mail /data/mail.columns

  # Parquet, for DuckDB, Polars, pandas and Spark
  rowtocol convert --format parquet --compression zstd \
    /data/mail /data/mail.parquet

  # Kudu CFiles, with an index of a column whose values ascend
  rowtocol convert --format cfile --sorted-by id --encoding body=plain \
    /data/mail/archive-1.avro /data/mail.columns

  # HFiles, for HBase and Hudi
  rowtocol convert --format hfile --key id /data/mail /data/mail.hfiles

  # files of several versions of a schema, resolved to the latest
  rowtocol convert --schema mail-v3.avsc /data/mail /data/mail.columns

  # inputs that are new since the last time
  rowtocol convert --incremental /data/mail /data/mail.columns

  # from a scheduler: go on after damage, keep the damaged bytes, exit 99 when
  # there is nothing to do
  rowtocol convert --config job.yaml --on-damage quarantine --exit-nothing 99 \
    /data/mail /data/mail.columns

  # everything from a job file, inputs and destination too
  rowtocol convert --config job.yaml`

// convertCommand is rowtocol convert, and the part that submit shares with it.
type convertCommand struct {
	requestFlags
	engine                         engine
	partitioned, reprocess, dryRun bool
}

func newConvertCommand(a *app) *cobra.Command {
	c := &convertCommand{requestFlags: requestFlags{outcomes: outcomes{a}}, engine: &here{a}}
	cmd := &cobra.Command{
		Use:     "convert [INPUT... DEST]",
		Short:   "Convert Avro files to column files",
		Long:    convertLong,
		Example: convertExample,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.execute(cmd.Context()) },
	}
	a.Begins(cmd, func(args []string) error { return c.begin(cmd, args) })
	c.add(cmd)
	return cmd
}

// add adds the flags of all commands that convert.
func (c *convertCommand) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	c.addPlaces(flags)
	c.requestFlags.add(cmd)
	flags.BoolVar(&c.req.Overwrite, "overwrite", false, "replace the output and all increments that DEST has")
	addKeepReplaced(flags, &c.req.Destination)
	flags.BoolVar(&c.partitioned, "partitioned", false, "INPUT must be one directory: convert the new files of each of its deepest key=value directories into the directory of the same name in DEST")
	flags.BoolVar(&c.reprocess, "reprocess", false, "with --partitioned, make one new output of each partition whose inputs, format or schema changed, that lacks an index of --index, or that has increments")
	flags.BoolVar(&c.req.Restart, "restart", false, "plan anew instead of resuming unfinished work; with --overwrite, convert again even if DEST already holds the output")
	flags.BoolVar(&c.dryRun, "dry-run", false, "print what would be converted, and change nothing")
	c.Watchers.Add(flags)
	c.AddExitNothing(flags)
	c.AddMaxRuntime(flags)
}

// engine runs conversions in this process or on other machines.
type engine interface {
	// ready returns an error if the engine cannot convert, before anything is done.
	ready() error
	convert(ctx context.Context, req job.Request) (*job.Outcome, error)
	// partitions converts partitions until ctx ends, and calls each with every outcome.
	partitions(ctx context.Context, p *job.Partitions, names []string, each func(name string, out *job.Outcome, err error))
}

// here is the engine that converts in this process.
type here struct{ *app }

func (h *here) ready() error { return nil }

func (h *here) convert(ctx context.Context, req job.Request) (*job.Outcome, error) {
	p, stop := h.StartProgress(ctx)
	defer stop()
	req.Progress = func(now job.Progress) { showProgress(p, now) }
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
	progress, stop := h.StartProgress(ctx)
	defer stop()
	p.Progress = func(now job.Progress) { showProgress(progress, now) }
	return p.Convert(ctx, name)
}

// begin takes the arguments, and logs the start of the run.
func (c *convertCommand) begin(cmd *cobra.Command, args []string) error {
	if c.dryRun {
		c.Watchers = cli.Watchers{} // a dry run is not reported
	}
	if err := c.takePlaces(cmd, args); err != nil {
		return err
	}
	if !c.dryRun {
		c.LogStart("dest", c.Run.Dest, cli.InputsAttr(c.req.Inputs))
	}
	return nil
}

func (c *convertCommand) execute(ctx context.Context) error {
	if err := c.StartTelling(ctx, c.req.Dest, c.req.Inputs); err != nil {
		return err
	}
	if err := c.checkPartitioned(); err != nil {
		return err
	}
	if err := c.engine.ready(); err != nil {
		return err
	}
	req, err := c.request(ctx)
	if err != nil {
		return err
	}
	if c.partitioned {
		return c.convertPartitions(ctx, req)
	}
	if c.dryRun {
		return c.showPlan(ctx, req)
	}
	c.warnOfSize()
	outcome, err := c.engine.convert(ctx, req)
	if errors.Is(err, task.ErrDetached) {
		c.reportDetached(outcome, req.Dest)
		return nil
	}
	return c.report(outcome, damageHelp(err, req.Output.OnDamage), req.Dest)
}
