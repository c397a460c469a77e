package task

import (
	"context"
	"sync"

	"github.com/rowtocol/rowtocol/mapper"
)

// slots bounds the number of tasks that map at the same time. A task that only uploads has no
// slot, so that another task maps meanwhile. As soon as no task waits for a slot, the workers of
// free slots help the tasks that map.
type slots struct {
	helpers *mapper.Helpers
	workers int           // of each slot
	used    chan struct{} // has an entry for each slot that is taken

	mu      sync.Mutex
	waiting int // number of tasks that have had no slot yet
}

func newSlots(s share, tasks int) *slots {
	return &slots{
		helpers: mapper.NewHelpers(s.mapping * s.workers), workers: s.workers,
		used: make(chan struct{}, s.mapping), waiting: tasks,
	}
}

// take waits for a slot, which release frees. Only the first call of release has an effect.
func (s *slots) take(ctx context.Context) (release func(), err error) {
	select {
	case s.used <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting--; s.waiting == 0 {
		s.helpers.Add((cap(s.used) - len(s.used)) * s.workers)
	}
	return sync.OnceFunc(s.free), nil
}

func (s *slots) free() {
	s.mu.Lock()
	defer s.mu.Unlock()
	<-s.used
	if s.waiting == 0 {
		s.helpers.Add(s.workers)
	}
}
