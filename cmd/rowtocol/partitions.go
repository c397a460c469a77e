package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/job"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/task"
)

const partitionedLong = `

With --partitioned, INPUT and DEST are directories that hold partitions.
Partitions are directories named key=value, in one or several levels, and
convert converts the deepest ones, one after another. If DEST does not have a
partition, all its files become an output in the directory of the same name in
DEST. Files that come later become an increment next to that output, as with
--incremental. With --reprocess, convert makes one new output of each partition
whose inputs, format or schema changed, that lacks an index of --index, or that
has increments. If the new output would lack the rows of a deleted input,
convert refuses the partition with exit code 9. If a partition fails, convert
still converts and publishes the others. The exit code is the gravest one of all
partitions. From the gravest to the least grave, the codes are 2, 1, 3, 9, 7, 4,
5, 8, 0. If INPUT has Avro files or other directories outside of the partitions,
the exit code is 3.`

// partitioned is the result of convert --partitioned in the final JSON object. Its figures
// count the rows and bytes that were converted.
type partitioned struct {
	*cli.Figures
	Dest       string            `json:"dest"`
	Rows       int64             `json:"rows"`
	Bytes      int64             `json:"bytes"`
	Converted  int               `json:"converted"` // number of partitions
	Nothing    bool              `json:"nothing"`   // no partition was converted, and none failed
	Failed     int               `json:"failed"`    // number of partitions
	Partitions []partitionResult `json:"partitions"`
	Beside     []input.Skipped   `json:"beside"` // files and directories in no partition

	detached int // number of partitions whose tasks run on
	worst    worstOf
}

// partitionResult is the outcome of one partition.
type partitionResult struct {
	Partition string        `json:"partition"`
	Exit      int           `json:"exit"`
	Status    string        `json:"status"`
	Error     *cli.Reported `json:"error,omitempty"`
	// Action is the action that was taken, or with --dry-run the one that would be: "output"
	// if the whole partition is converted, "increment" if inputs are added, "nothing", or
	// "detached" if the tasks run on. It is "" if the partition failed.
	Action   string   `json:"action"`
	Inputs   int      `json:"inputs"` // inputs that were, or would be, converted
	Rows     int64    `json:"rows"`   // converted rows; Bytes are their bytes
	Bytes    int64    `json:"bytes"`
	Resumed  int      `json:"resumed_tasks"`
	Losses   int      `json:"losses"`
	Warnings []string `json:"warnings"`
	Skipped  int      `json:"skipped"`
}

// checkPartitioned refuses flags that make no sense with --partitioned.
func (c *convertCommand) checkPartitioned() error {
	switch {
	case c.reprocess && !c.partitioned:
		return cli.Usagef("--reprocess needs --partitioned")
	case !c.partitioned:
		return nil
	case c.req.Overwrite:
		return cli.Usagef("--partitioned takes --reprocess, and not --overwrite")
	case c.req.Incremental:
		return cli.Usagef("--partitioned is incremental by itself: leave out --incremental")
	case len(c.req.Inputs) != 1:
		return cli.Usagef("--partitioned takes one directory of partitions, not %d", len(c.req.Inputs))
	}
	return nil
}

// convertPartitions converts all partitions. After a failure it converts the other partitions.
// A signal stops it.
func (c *convertCommand) convertPartitions(ctx context.Context, req job.Request) error {
	p := &job.Partitions{Request: req, Reprocess: c.reprocess}
	if !c.dryRun {
		c.warnOfSize()
	}
	names, beside, err := p.Find(ctx)
	if err != nil {
		return err
	}
	r := &partitioned{Figures: &c.Figures, Dest: req.Dest, Partitions: []partitionResult{}, Beside: cli.OrEmpty(beside)}
	c.Result = r
	if len(beside) > 0 {
		c.listSkipped("not in a partition", beside)
		r.worst.add("", failure.New(failure.Input, "%s is not converted: %s", beside[0].Path, beside[0].Reason))
	} else if len(names) == 0 && !req.AllowEmpty {
		return failure.New(failure.Input, "%s holds no directory named key=value; with --allow-empty that is not an error", req.Inputs[0])
	}
	if c.dryRun {
		for i := 0; i < len(names) && ctx.Err() == nil; i++ {
			result, err := c.previewPartition(ctx, p, names[i])
			c.tellPartition(ctx, r, result, err)
		}
	} else {
		c.engine.partitions(ctx, p, names, func(name string, out *job.Outcome, err error) {
			c.tellPartition(ctx, r, c.accountPartition(name, out), err)
		})
	}
	return c.reportPartitions(ctx, r, names)
}

// accountPartition adds the outcome of a partition to the account of the run.
func (c *convertCommand) accountPartition(name string, out *job.Outcome) partitionResult {
	result := partitionResult{Partition: name, Warnings: []string{}}
	if out == nil {
		return result
	}
	c.tally(out)
	c.Warn(out.Warnings)
	c.tellSame(slog.LevelWarn, out.Skipped) // the rows of a copy may be in another partition
	result.Resumed, result.Warnings, result.Skipped = out.Resumed, cli.OrEmpty(out.Warnings), len(out.Skipped)
	if out.Nothing {
		result.Action = job.Unchanged
	}
	for _, m := range out.Published {
		result.Rows, result.Bytes = result.Rows+m.Rows, result.Bytes+m.Bytes
		result.Inputs, result.Losses = result.Inputs+len(m.Request.Inputs), result.Losses+len(m.Losses)
		if result.Action = job.Whole; m.Increment {
			result.Action = job.Added
		}
	}
	return result
}

// previewPartition returns what convert would do with a partition.
func (c *convertCommand) previewPartition(ctx context.Context, p *job.Partitions, name string) (partitionResult, error) {
	result := partitionResult{Partition: name, Warnings: []string{}}
	what, survey, err := p.Preview(ctx, name)
	if survey == nil {
		return result, err
	}
	c.Warn(survey.Warnings)
	result.Warnings, result.Skipped, result.Inputs = cli.OrEmpty(survey.Warnings), len(survey.Skipped), len(survey.Request.Inputs)
	if result.Action = what; what == job.Unchanged {
		result.Inputs = 0
	}
	return result, err
}

// tellPartition adds the result of a partition, and reports it in one line.
func (c *convertCommand) tellPartition(ctx context.Context, r *partitioned, p partitionResult, err error) {
	r.Rows, r.Bytes = c.Run.Rows, c.Run.Bytes
	if err != nil && ctx.Err() != nil {
		return // there is no result
	}
	err = damageHelp(err, c.req.Output.OnDamage)
	runsOn := errors.Is(err, task.ErrDetached)
	if runsOn {
		p.Action, err = statusDetached, nil
		r.detached++
	}
	r.worst.add(p.Partition, err)
	e := cli.Classify(err)
	p.Exit, p.Status, p.Error = e.Code, e.Name(), cli.Describe(err)
	level, what := slog.LevelInfo, "partition converted"
	args := []any{"partition", p.Partition}
	switch {
	case err != nil && !errors.Is(err, failure.Losses):
		level, what, p.Action = slog.LevelError, "partition failed", ""
		r.Failed++
	case p.Action == job.Unchanged:
		what = "partition unchanged"
		if err == nil {
			p.Status = p.Action
		}
	case runsOn:
		what, p.Status = "partition detached", p.Action
	default:
		r.Converted++
		args = append(args, "as", p.Action, "inputs", p.Inputs, "rows", p.Rows, "bytes", p.Bytes)
	}
	if err != nil {
		level = max(level, slog.LevelWarn)
		args = append(args, "exit", p.Exit, "error", err.Error())
	}
	c.Log.Log(context.Background(), level, what, args...)
	r.Partitions = append(r.Partitions, p)
}

// order puts the results of partitions in the order of names. An engine that converts several
// partitions at the same time ends them in any order.
func (r *partitioned) order(names []string) {
	at := make(map[string]int, len(names))
	for i, name := range names {
		at[name] = i
	}
	slices.SortStableFunc(r.Partitions, func(a, b partitionResult) int { return at[a.Partition] - at[b.Partition] })
}

// reportPartitions reports the outcome of all partitions.
func (c *convertCommand) reportPartitions(ctx context.Context, r *partitioned, names []string) error {
	r.order(names)
	if len(r.Partitions) < len(names) && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r.Nothing = r.Converted == 0 && r.Failed == 0 && r.detached == 0
	if !c.JSON {
		did, say := "converted", c.Summary
		if c.dryRun {
			did, say = "to be converted", c.Printf
		}
		runOn := ""
		if r.detached > 0 {
			runOn = fmt.Sprintf(", %d detached", r.detached)
		}
		say("%s: %s %s%s, %s unchanged, %d failed; %s, %s\n", r.Dest, cli.Plural(r.Converted, "partition"), did, runOn,
			fmt.Sprint(len(r.Partitions)-r.Converted-r.Failed-r.detached), r.Failed, cli.Plural(r.Rows, "row"), cli.Human(r.Bytes))
	}
	if r.worst.err != nil {
		return r.worst.error(len(r.Partitions))
	}
	switch {
	case r.detached > 0:
		c.detach()
	case r.Nothing && !c.dryRun:
		c.nothing()
	}
	return nil
}

// worstOf is the error that decides the exit code of several partitions.
type worstOf struct {
	kind error  // kind of package failure
	name string // name of the partition, or ""
	err  error
	n    int // number of errors
}

func (w *worstOf) add(name string, err error) {
	if err == nil {
		return
	}
	w.n++
	kind := cli.Classify(err).Kind
	//guard: keeps the failure whose exit code comes first
	if w.err == nil || failure.Compare(kind, w.kind) < 0 {
		w.kind, w.name, w.err = kind, name, err
	}
}

// error returns one error for a run over of partitions.
func (w *worstOf) error(of int) error {
	if w.name == "" {
		return w.err
	}
	if w.n == 1 {
		return fmt.Errorf("partition %s, the only failure in %s: %w", w.name, cli.Plural(of, "partition"), w.err)
	}
	return fmt.Errorf("%s in %s; the most serious: partition %s: %w", cli.Plural(w.n, "failure"), cli.Plural(of, "partition"), w.name, w.err)
}
