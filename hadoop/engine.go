package hadoop

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/rowtocol/rowtocol/input"
	"github.com/rowtocol/rowtocol/task"
)

// Options say how an Engine runs tasks.
type Options struct {
	// Resolve finds the stores of locations.
	Resolve input.Resolve
	// Home is the location of the user's home directory on the cluster's default
	// file system, in which the program and the files of jobs are: hdfs:///user/NAME.
	Home string
	// Executable is the path of the program that tasks run; empty is this one.
	Executable string
	// Program is its version, and Run the ID of this run of it.
	Program, Run string
	// Queue is the queue of the job; empty is the cluster's default.
	Queue string
	// Properties are properties of the job, as key=value, that override what the
	// configuration says.
	Properties []string
	// Memory and Workers are what each task may use.
	Memory  int64
	Workers int
	// Patience is for how long tasks wait for storage that fails in a way that may
	// pass, and for how long a cluster is waited for that takes no job. Replication
	// is the number of replicas of the files that tasks make; 0 is the cluster's.
	Patience    time.Duration
	Replication int
	// Detach has Run return task.ErrDetached once the job is started.
	Detach bool
	// Environ are variables, as key=value, that Hadoop's client gets besides those
	// of this process.
	Environ []string
	// Log takes what is to be told of the way; nil is nothing.
	Log *slog.Logger
	// Told, if set, is told of the job when it was started or found, and again
	// when it has ended, with its counters.
	Told func(Application)
}

// Application is a job on YARN.
type Application struct {
	ID  string // application_…
	Job string // job_…
	URL string // where the cluster shows it
	// Found is whether an earlier run started it.
	Found bool
	// State is what became of it, as YARN has it: SUCCEEDED, FAILED, KILLED; empty
	// until it has ended.
	State string
	// Counters are those of a job that has ended, by their group and name; nil if the
	// cluster did not tell.
	Counters map[string]map[string]int64
}

// Attached is a plan whose tasks a job runs.
type Attached struct {
	Dest   string // location of the destination
	PlanID string
}

// Engine runs tasks of plans as one job on a Hadoop cluster. It is used by one
// goroutine at a time.
type Engine struct{ o Options }

// New returns an engine. It refuses options that no job could have, and a machine
// without Hadoop's client, with failure.Usage; it asks no server.
func New(o Options) (*Engine, error) {
	return &Engine{o}, nil
}

// Run runs the tasks of batches, and returns when the job has ended: with nil if it
// succeeded. The error of a task is a task.Failure. Tasks that an earlier run's
// job is still running are not started again; that job is followed to its end.
// When ctx ends, the job is killed.
func (e *Engine) Run(ctx context.Context, batches []task.Batch, progress func(task.Progress)) error {
	return errors.ErrUnsupported
}

// Attach follows the job with an ID, of an application or a job, to its end, and
// returns the plans whose tasks it ran. When ctx ends, the job is killed.
func (e *Engine) Attach(ctx context.Context, id string, progress func(task.Progress)) ([]Attached, error) {
	return nil, errors.ErrUnsupported
}
