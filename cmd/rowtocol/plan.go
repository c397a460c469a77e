package main

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/job"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/plan"
	"github.com/rowtocol/rowtocol/job/publish"
	"github.com/rowtocol/rowtocol/store"
)

const planLong = `Examine the inputs, and write a plan for "rowtocol task" and "rowtocol commit".
A plan is a JSON document with numbered tasks. Each task may run on any machine
that reaches the inputs and DEST, any number of times, in any order. In DEST,
plan changes nothing but the file _inputs: if plan had to read whole inputs to
identify them, it keeps their checksums there, so that later runs need not read
these inputs again. With --incremental, the plan covers only the inputs that
DEST does not have yet, and commit publishes their rows as an increment next to
what DEST holds.

If DEST holds another output, plan warns that only "commit --overwrite" can
publish the plan. Such a commit replaces only what DEST held when the plan was
made. If DEST already holds the output of the plan, plan says so. In both cases
the exit code is 0, and plan --json has the fields needs_overwrite and finished.
If DEST holds files that rowtocol did not write, the exit code is 9.`

const planExample = `  # three steps, for your own scheduler
  rowtocol plan /data/mail hdfs://nn/data/mail.columns -o plan.json
  seq 0 $(( $(jq '.tasks | length' plan.json) - 1 )) |
    xargs -P 4 -I{} rowtocol task --plan plan.json --task {}
  rowtocol commit --plan plan.json`

// planCommand is rowtocol plan.
type planCommand struct {
	requestFlags
	output string
}

func newPlanCommand(a *app) *cobra.Command {
	c := &planCommand{requestFlags: requestFlags{outcomes: outcomes{a}}}
	cmd := &cobra.Command{
		Use:     "plan [INPUT... DEST] -o FILE",
		Short:   "Write the plan of a conversion, for task and commit",
		Long:    planLong,
		Example: planExample,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.execute(cmd.Context()) },
	}
	a.Begins(cmd, func(args []string) error {
		if err := c.takePlaces(cmd, args); err != nil {
			return err
		}
		c.LogStart("dest", c.Run.Dest, cli.InputsAttr(c.req.Inputs), "plan_file", store.Showable(c.output))
		return nil
	})
	c.addPlaces(cmd.Flags())
	c.add(cmd)
	cmd.Flags().StringVarP(&c.output, "output", "o", "", "write the plan to this `file`, local or on HDFS; - is standard output; an existing plan is replaced")
	return cmd
}

// planned is the result of plan in the final JSON object.
type planned struct {
	*cli.Figures
	Plan     string   `json:"plan"`
	File     string   `json:"file"`
	Tasks    int      `json:"tasks"`
	Inputs   int      `json:"inputs"`
	Warnings []string `json:"warnings"`
	Skipped  int      `json:"skipped"` // found files and directories that are not inputs
	// Finished is set if the destination already holds the output. NeedsOverwrite is set if
	// a commit needs --overwrite to replace the contents of the destination.
	Finished       bool `json:"finished"`
	NeedsOverwrite bool `json:"needs_overwrite"`
	RowGroups      int  `json:"row_groups"` // estimated number
}

func (c *planCommand) execute(ctx context.Context) error {
	req, err := c.request(ctx)
	if err != nil {
		return err
	}
	if c.output == "" {
		return cli.Usagef("--output: name the file for the plan")
	}
	if c.output == standardOutput && c.JSON {
		return cli.Usagef("--output %s and --json both print on standard output", c.output)
	}
	file, err := c.planFile(ctx, req.Dest)
	if err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	c.warnOfSize()
	made, err := makePlan(ctx, req)
	if err != nil {
		return err
	}
	c.Warn(job.KeepAnswers(ctx, req, made.survey))
	p := made.plan
	p.Made = &manifest.Made{Program: cli.Version()}
	doc, err := p.Encode()
	if err != nil {
		return err
	}
	c.Warn(p.Warnings)
	c.tellSkipped(made.survey.Skipped)
	if c.output == standardOutput {
		_, err = c.Out.Write(doc)
	} else {
		err = file.Store.WriteFile(ctx, file.Path, doc, false)
	}
	if err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	c.tallyInputs(p.Request.Inputs)
	c.Run.Tasks, c.Run.Schema = len(p.Tasks), p.Schema
	result := planned{Figures: &c.Figures, Plan: p.ID, File: c.output, Tasks: len(p.Tasks), Inputs: len(p.Request.Inputs), Warnings: cli.OrEmpty(p.Warnings), Skipped: len(made.survey.Skipped),
		RowGroups: rowGroups(made.survey.Expect(p))}
	if result.Finished = made.finished(); result.Finished {
		c.Log.Info(fmt.Sprintf("destination %s holds the output of this plan already: its commit will do nothing", req.Dest))
	} else if kept := made.state.CheckPlan(p, false); kept != nil {
		result.NeedsOverwrite = true
		c.Log.Warn(fmt.Sprintf("commit will need --overwrite: %v", kept))
	}
	c.Result = result
	if c.output != standardOutput {
		c.Summary("%s: plan %s, %s, %s\n", c.output, p.ID, cli.Plural(len(p.Request.Inputs), "input"), cli.Plural(len(p.Tasks), "task"))
	}
	return nil
}

// planFile returns the location of the plan. It refuses a file in a destination. It refuses
// to replace an existing file that is not a plan.
func (c *planCommand) planFile(ctx context.Context, dest string) (at store.Location, err error) {
	if c.output == standardOutput {
		return at, nil
	}
	if at, err = input.Locate(c.Resolve, c.output); err != nil {
		return at, err
	}
	to, err := input.Locate(c.Resolve, dest)
	if err != nil {
		return at, err
	}
	if err := cli.CheckOutside(ctx, at, to); err != nil {
		return at, err
	}
	doc, err := at.Store.ReadFile(ctx, at.Path, manifest.MaxSize)
	if errors.Is(err, store.ErrNotExist) {
		return at, nil
	}
	if err == nil {
		_, err = manifest.DecodePlan(doc)
	}
	//guard: refuses to replace a file unless told to
	if err != nil {
		return at, failure.New(failure.Foreign, "%s exists and is not a plan, so it is not replaced: %w", at.Path, err)
	}
	return at, nil
}

// planning is a plan, and the state of the destination for which it was made.
type planning struct {
	survey *plan.Survey
	state  *publish.State // of the destination
	plan   *manifest.Plan
}

// makePlan plans a conversion. The plan names the output in the destination that it may
// replace.
func makePlan(ctx context.Context, req job.Request) (*planning, error) {
	survey, state, err := job.Survey(ctx, req)
	if err != nil {
		return nil, damageHelp(err, req.Output.OnDamage)
	}
	// If every commit would fail, the plan is refused before tasks run for nothing.
	if err := state.CheckReplaceable(&survey.Request, true); err != nil {
		return nil, err
	}
	p, err := survey.Plan(ctx, state.ID(), state.OutputIDs()...)
	return &planning{survey, state, p}, damageHelp(err, req.Output.OnDamage)
}

// finished reports whether the destination holds the output of the plan, or, for an
// incremental plan, all inputs.
func (p *planning) finished() bool {
	return p.state.Committed(p.plan) != nil || p.plan.Increment && len(p.plan.Request.Inputs) == 0
}

// showPlan shows what a conversion would do.
func (c *convertCommand) showPlan(ctx context.Context, req job.Request) error {
	made, err := makePlan(ctx, req)
	if err != nil {
		return err
	}
	skipped := made.survey.Skipped
	c.warnOfSize()
	c.Warn(made.plan.Warnings)
	c.tellSkipped(skipped)
	c.listSkipped("skipped", skipped)
	if made.finished() && !req.Anew() {
		c.Log.Info(fmt.Sprintf("destination %s holds the output of this plan already: %s will do nothing", req.Dest, c.Command))
	} else if kept := made.state.CheckPlan(made.plan, req.Overwrite); kept != nil {
		c.Log.Warn(fmt.Sprintf("%s will be refused: %v", c.Command, kept))
	}
	expected := made.survey.Expect(made.plan)
	c.Result = dryRun{made.plan, cli.OrEmpty(skipped), rowGroups(expected)}
	if !c.JSON {
		c.printPlan(made.plan, expected)
	}
	return nil
}

// dryRun is the result of --dry-run in the final JSON object.
type dryRun struct {
	*manifest.Plan
	Skipped []input.Skipped `json:"skipped_files"` // skipped files and directories
	// RowGroups is the estimated number of row groups.
	RowGroups int `json:"row_groups"`
}

// rowGroups estimates how many row groups the tasks of a plan make: at least one, if there
// are tasks.
func rowGroups(expected []plan.Expected) int {
	sum := 0.0
	for _, e := range expected {
		sum += e.RowGroups
	}
	return max(int(math.Round(sum)), min(len(expected), 1))
}

// printPlan prints what --dry-run shows.
func (c *convertCommand) printPlan(p *manifest.Plan, expected []plan.Expected) {
	var bytes int64
	for _, in := range p.Request.Inputs {
		bytes += in.Size
	}
	o := p.Request.Options
	c.Printf("plan %s\n", p.ID)
	c.Printf("  %s, %s, %s\n", cli.Plural(len(p.Request.Inputs), "input"), cli.Human(bytes), cli.Plural(p.Columns, "column"))
	c.Printf("  %s; files of more than about %s are cut\n", tasksText(p.Tasks), cli.Human(p.SplitSize))
	c.Printf("  output ratio %.2f, row groups up to %s\n", p.Ratio, cli.ByteSize(o.RowGroupSize))
	c.Printf("  %s, column blocks of %s, on damage %s\n", formatText(o), cli.ByteSize(p.BlockSize), o.OnDamage)
	if len(expected) > 0 {
		c.Printf("  about %s of %s\n", cli.Plural(rowGroups(expected), "row group"), cli.Between(cli.Span(expected, func(e plan.Expected) int64 { return e.Bytes })))
	}
	for _, t := range p.Tasks {
		c.Printf("task %d, a row group of about %s\n", t.ID, cli.Human(expected[t.ID].Bytes))
		for _, piece := range t.Pieces {
			in := p.Request.Inputs[piece.Input]
			if piece.Start == 0 && piece.End >= in.Size {
				c.Printf("  %s\n", in.Path)
			} else {
				c.Printf("  %s [%d, %d)\n", in.Path, piece.Start, piece.End)
			}
		}
	}
}

// tasksText returns the number of tasks, and how much each reads.
func tasksText(tasks []manifest.Task) string {
	if len(tasks) == 0 {
		return "0 tasks"
	}
	return cli.Plural(len(tasks), "task") + " of " + cli.Between(cli.Span(tasks, func(t manifest.Task) int64 { return t.Bytes() })) + " of input"
}

// formatText describes the format of an output and its options.
func formatText(o manifest.Options) string {
	f, err := formats.Named(o.Format)
	if err != nil {
		return o.Format
	}
	return o.Format + ", " + f.Describe(o.FormatOptions)
}
