package task

import (
	"errors"

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

// Bytes is the number of input bytes of the tasks.
func (b *Batch) Bytes() (n int64) {
	for _, number := range b.Numbers {
		n += b.Plan.Tasks[number].Bytes()
	}
	return n
}
