package task

import (
	"errors"
	"log/slog"
	"time"

	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// ErrDetached is returned when tasks were started on other machines and the run does not
// wait for them.
var ErrDetached = errors.New("the tasks continue, and this run does not wait for them")

// Batch holds tasks of one plan that are to run on other machines.
type Batch struct {
	Plan *manifest.Plan
	// Superseded are the IDs of plans that Plan replaces. Tasks of these plans may be ended.
	Superseded []string
	// Store is the store of the destination. Dir is an existing directory on Store, in which
	// the tasks leave their files.
	Store store.Store
	Dir   string
	// Numbers are the numbers of the tasks, in order. All other tasks are done.
	Numbers []int
}

// RemoteOptions configures an engine that runs tasks on other machines.
type RemoteOptions struct {
	// Resolve finds the stores of locations.
	Resolve input.Resolve
	// Program is the version of the program, and Run the ID of this run of the program.
	Program, Run string
	// Memory, in bytes, and Workers are the limits of each task.
	Memory  int64
	Workers int
	// StoreRetry is how long tasks retry after temporary errors of the storage.
	StoreRetry time.Duration
	// Replication is the number of replicas of files that tasks make; 0 is the store's default.
	Replication int
	// Restart ends the jobs that earlier runs started for the same plans, whose work is
	// discarded.
	Restart bool
	// Detach makes Run return ErrDetached after it started the job.
	Detach bool
	// Log receives log messages; nil discards them.
	Log *slog.Logger
	// OnJob, if set, is called with the job after it was started or found, and again with its
	// counters after it has ended.
	OnJob func(RemoteJob)
}

// RemoteJob is a job of a scheduler that runs tasks.
type RemoteJob struct {
	ID  string // ID for attaching to the job; on YARN application_…
	Job string // another ID of the job, if the scheduler has one; on YARN job_…
	URL string // where the scheduler shows the job
	// Found is whether an earlier run started the job.
	Found bool
	// Tasks is the number of tasks of the job, and Bytes the size of their inputs.
	Tasks int
	Bytes int64
	// State is the final state, in the scheduler's words; empty until the job has ended.
	State string
	// Counters are the counters of an ended job, by group and name; nil if the scheduler
	// returned none.
	Counters map[string]map[string]int64
}

// Attached is a plan whose tasks a job runs.
type Attached struct {
	Dest   string // location of the destination
	PlanID string
}

// Bytes returns the number of input bytes of the tasks.
func (b *Batch) Bytes() (n int64) {
	for _, number := range b.Numbers {
		n += b.Plan.Tasks[number].Bytes()
	}
	return n
}
