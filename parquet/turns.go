package parquet

import "sync"

// turns lets the jobs of a column number their values one after another, in the order in
// which they were begun, although they run on any goroutine. The jobs must be started in
// that order: a job waits for the turns of earlier ones.
type turns struct {
	mu     sync.Mutex
	passed sync.Cond
	next   int64 // number of the job whose turn it is
	ended  bool  // no later job takes its turn
}

// wait waits for the turn of a job. It returns false if the job needs no turn, because the
// turns have ended.
func (t *turns) wait(job int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.passed.L == nil {
		t.passed.L = &t.mu
	}
	for t.next != job && !t.ended {
		t.passed.Wait()
	}
	return !t.ended
}

// pass ends the turn of a job, and all turns if end is set.
func (t *turns) pass(job int64, end bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next = max(t.next, job+1)
	t.ended = t.ended || end
	t.passed.Broadcast()
}

// over reports whether the turns have ended.
func (t *turns) over() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ended
}
