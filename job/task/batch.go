package task

import (
	"errors"
	"log/slog"
	"time"

	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// ErrDetached is returned when tasks were started on other machines and nobody waits for
// them.
var ErrDetached = errors.New("the tasks run on, and nobody waits for them")

// Batch are tasks of one plan that are to run on other machines.
type Batch struct {
	Plan *manifest.Plan
	// Instead are the IDs of plans that this one replaces, and whose tasks need not go on.
	Instead []string
	// Store is that of the destination, and Dir the directory on it, which exists, in
	// which the tasks leave their work.
	Store store.Store
	Dir   string
	// Numbers are those of the tasks, in order; those of the others are done.
	Numbers []int
}

// RemoteOptions are what an engine is told that runs tasks on other machines.
type RemoteOptions struct {
	// Resolve finds the stores of locations.
	Resolve input.Resolve
	// Program is the version of the program, and Run the ID of this run of it.
	Program, Run string
	// Memory, in bytes, and Workers are what each task may use.
	Memory  int64
	Workers int
	// StoreRetry is for how long tasks wait for storage that fails in a way that may pass.
	StoreRetry time.Duration
	// Replication is the number of replicas of files that tasks make; 0 is the store's.
	Replication int
	// Restart has jobs ended that earlier runs started for the same plans: what they did is
	// discarded.
	Restart bool
	// Detach has Run return ErrDetached once the job is started.
	Detach bool
	// Log takes what is to be told of the way; nil is nothing.
	Log *slog.Logger
	// Told, if set, is told of the job when it was started or found, and again when it has
	// ended, with its counters.
	Told func(RemoteJob)
}

// RemoteJob is a job of a scheduler that runs tasks.
type RemoteJob struct {
	ID  string // by which it is attached to; on YARN application_…
	Job string // another ID of it, if the scheduler has one; on YARN job_…
	URL string // where the scheduler shows it
	// Found is whether an earlier run started it.
	Found bool
	// Tasks are how many it has, and Bytes those of their inputs.
	Tasks int
	Bytes int64
	// State is what became of it, in the scheduler's words; empty until it has ended.
	State string
	// Counters are those of a job that has ended, by their group and name; nil if the
	// scheduler did not tell.
	Counters map[string]map[string]int64
}

// Attached is a plan whose tasks a job runs.
type Attached struct {
	Dest   string // location of the destination
	PlanID string
}

// Bytes is the number of input bytes of the tasks.
func (b *Batch) Bytes() (n int64) {
	for _, number := range b.Numbers {
		n += b.Plan.Tasks[number].Bytes()
	}
	return n
}
