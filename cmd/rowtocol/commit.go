package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/rowtocol/rowtocol/job"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/telemetry/lineage"
)

const commitLong = `Publish the work of a plan's tasks: check that all tasks are done and that their
files are as written, and make them the output of the plan's destination, at
once. commit refuses if a task is not done (exit 4), or if an input changed
since the plan was made (exit 3). It also refuses if the plan or a task's work
was altered, if DEST got another output or increment since, or if DEST got an
input of an incremental plan (exit 9). The same commit again does nothing.`

// commitCommand is rowtocol commit.
type commitCommand struct {
	outcomes
	file    string
	moved   []string
	options job.Options
}

func newCommitCommand(a *app) *cobra.Command {
	c := &commitCommand{outcomes: outcomes{a}}
	cmd := &cobra.Command{
		Use:     "commit --plan FILE",
		Short:   "Publish the work of the tasks of a plan",
		Long:    commitLong,
		Example: "  rowtocol commit --plan plan.json",
		Args:    a.takes(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.execute(cmd.Context()) },
	}
	flags := cmd.Flags()
	flags.StringVar(&c.file, "plan", "", "`file` with the plan")
	flags.BoolVar(&c.options.Overwrite, "overwrite", false, "replace the output and increments that DEST held when the plan was made")
	addMoved(flags, &c.moved)
	c.addExitNothing(flags)
	c.watchers.add(flags)
	return cmd
}

func (c *commitCommand) execute(ctx context.Context) (err error) {
	c.options.Environment = c.environment()
	if c.options.Destination.Moved, err = c.moves(c.moved); err != nil {
		return err
	}
	c.start("plan_file", store.Showable(c.file))
	p, err := c.readPlan(ctx, c.file)
	if err != nil {
		return err
	}
	c.about(p, nil)
	if err := c.startTelling(ctx, p.Dest, lineage.Directories(inputPaths(p))); err != nil {
		return err
	}
	outcome, err := job.Commit(ctx, p, c.options)
	return c.report(outcome, err, p.Dest)
}

// inputPaths returns the locations of the inputs of a plan.
func inputPaths(p *manifest.Plan) []string {
	paths := make([]string, len(p.Request.Inputs))
	for i, in := range p.Request.Inputs {
		paths[i] = in.Path
	}
	return paths
}
