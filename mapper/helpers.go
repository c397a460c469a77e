package mapper

// Helpers are workers of tasks that have ended. They do jobs of the tasks that still map, so that
// no processor is idle because one task is larger than another. Several tasks share them.
type Helpers struct{ free chan struct{} }

// NewHelpers returns Helpers for at most the given number of workers. There are none yet.
func NewHelpers(most int) *Helpers { return &Helpers{make(chan struct{}, most)} }

// Add adds workers that have no task.
func (h *Helpers) Add(workers int) {
	for range workers {
		h.free <- struct{}{}
	}
}

// admit lets a helper do jobs of the task, as soon as one is free, and then the next one. When the
// task ends, they are free again.
func (p *workers) admit(h *Helpers) {
	p.running.Go(func() {
		select {
		case <-h.free:
		case <-p.ctx.Done():
			return
		}
		defer h.Add(1)
		p.admit(h)
		helpUntil[struct{}](p, new(worker), nil)
	})
}
