package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/rowtocol/rowtocol/job"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/telemetry/lineage"
)

const commitLong = `Publish the files that the tasks of a plan made. commit checks that all tasks
are finished and that their files are unchanged. Then it publishes the files in
DEST in one step: as an increment if the plan is incremental, otherwise as the
output. If you commit the same plan again, commit does nothing.

If a task is not finished, the exit code is 4: run the tasks that the message
names, then commit again. If an input changed since the plan was made, the exit
code is 3. If the plan or a task's files were altered, it is 9. If DEST got
another output or an increment since the plan was made, it is 9, too. But an
incremental plan may be committed after other increments that have none of its
inputs. If tasks left out damaged input, as --on-damage allowed, commit
publishes the output and ends with 8.`

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
		Short:   "Publish the files that the tasks of a plan made",
		Long:    commitLong,
		Example: "  rowtocol commit --plan plan.json",
		Args:    a.Takes(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.execute(cmd.Context()) },
	}
	a.Begins(cmd, func([]string) error {
		c.LogStart("plan_file", store.Showable(c.file))
		return nil
	})
	flags := cmd.Flags()
	flags.StringVar(&c.file, "plan", "", "`file` with the plan")
	flags.BoolVar(&c.options.Overwrite, "overwrite", false, "replace the output and increments that DEST held when the plan was made")
	addKeepReplaced(flags, &c.options.Destination)
	addMoved(flags, &c.moved)
	c.AddExitNothing(flags)
	c.Watchers.Add(flags)
	return cmd
}

func (c *commitCommand) execute(ctx context.Context) (err error) {
	c.options.Environment = c.environment()
	c.keepForTable(&c.options.Destination)
	if c.options.Destination.Moved, err = c.moves(c.moved); err != nil {
		return err
	}
	p, err := c.readPlan(ctx, c.file)
	if err != nil {
		return err
	}
	c.About(p, nil)
	if err := c.StartTelling(ctx, p.Dest, lineage.Directories(inputPaths(p))); err != nil {
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
