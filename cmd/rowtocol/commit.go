package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/rowtocol/rowtocol/job"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/telemetry/lineage"
)

const commitLong = `Publish what the tasks of a plan left: check that all of them are done and that
their files are what they wrote, and make them the output of the plan's
destination, at once. It is refused while a task is not done (exit 4), if an
input changed since the plan was made (exit 3), and if the plan or what a task
left was altered, or DEST got another output or increment since, or got an input
of an incremental plan (exit 9). The same commit again does nothing.`

func (a *app) commitCommand() *cobra.Command {
	var file string
	var overwrite bool
	var moved []string
	var nothing int
	cmd := &cobra.Command{
		Use:     "commit --plan FILE",
		Short:   "Publish the work of the tasks of a plan",
		Long:    commitLong,
		Example: "  rowtocol commit --plan plan.json",
		Args:    a.takes(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkExitNothing(nothing); err != nil {
				return err
			}
			moves, err := a.moves(moved)
			if err != nil {
				return err
			}
			return a.commit(cmd.Context(), file, overwrite, moves, nothing)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&file, "plan", "", "`file` with the plan")
	flags.BoolVar(&overwrite, "overwrite", false, "replace the output and the increments that DEST held when the plan was made")
	addMoved(flags, &moved)
	addExitNothing(flags, &nothing)
	a.watchers.add(flags)
	return cmd
}

func (a *app) commit(ctx context.Context, file string, overwrite bool, moves []manifest.Move, nothing int) error {
	if file == "" {
		return usagef("--plan: name the file with the plan")
	}
	a.start("plan_file", store.Shown(file))
	p, err := a.readPlan(ctx, file)
	if err != nil {
		return err
	}
	a.about(p, nil)
	if err := a.startTelling(ctx, p.Dest, lineage.Directories(inputPaths(p))); err != nil {
		return err
	}
	o := a.jobOptions()
	o.Overwrite, o.Destination.Moved = overwrite, moves
	outcome, err := job.Commit(ctx, p, o)
	return a.report(outcome, err, p.Dest, nothing)
}

// inputPaths are the locations of the inputs of a plan.
func inputPaths(p *manifest.Plan) []string {
	paths := make([]string, len(p.Request.Inputs))
	for i, in := range p.Request.Inputs {
		paths[i] = in.Path
	}
	return paths
}
