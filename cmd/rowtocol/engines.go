package main

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/rowtocol/rowtocol/hadoop"
	"github.com/rowtocol/rowtocol/job"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/store/location"
)

// scheduler runs tasks on other machines.
type scheduler interface {
	// AddFlags adds the flags that only this scheduler has.
	AddFlags(flags *pflag.FlagSet)
	// Open prepares Run and Attach. It calls no server.
	Open(o task.RemoteOptions, stores *location.Resolver) error
	job.RemoteRunner
	// Attach follows the job with this ID to its end, and returns the plans whose tasks the
	// job ran.
	Attach(ctx context.Context, id string, progress func(task.Progress)) ([]task.Attached, error)
	// Cancel kills the job with this ID. The result has the state of a job that had ended before.
	Cancel(ctx context.Context, id string) (task.RemoteJob, error)
	// Look returns the state of the job with this ID, in the scheduler's words, and how many
	// percent of it are done.
	Look(ctx context.Context, id string) (state string, percent int, err error)
	// Started reports whether the scheduler started this process to run a task with
	// RunTask. exit returns the exit code for an error.
	Started() bool
	RunTask(ctx context.Context, e task.Environment, exit func(error) int) error
}

// schedulers lists the known schedulers. submit uses the first of them.
var schedulers = []func() scheduler{func() scheduler { return new(hadoop.YARN) }}
