package hadoop

import (
	"context"
	"fmt"
	"time"

	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/task"
)

// countTime bounds the time for counting tasks that are done.
const countTime = 10 * time.Second

// jobProgress reports the progress of tasks. As long as no job fails, the progress never goes
// backwards.
type jobProgress struct {
	total    int64 // bytes of input of all tasks
	report   func(task.Progress)
	reported task.Progress // the last report
	base     task.Progress // progress of jobs that have ended
}

// wait reports what the tasks of a job wait for.
func (m *jobProgress) wait(what string) {
	p := m.reported
	p.Waiting = what
	m.set(p)
}

// run reports the percentage of the running job, at most 99, because a job that fails also
// reaches 100, and how many of its tasks are done.
func (m *jobProgress) run(percent, tasks int) {
	bytes := m.base.Bytes + int64(float64(m.total-m.base.Bytes)*float64(min(percent, 99))/100)
	m.set(task.Progress{
		Rows: m.reported.Rows, Bytes: max(bytes, m.reported.Bytes), Tasks: max(m.base.Tasks+tasks, m.reported.Tasks),
	})
}

// end reports that a job has succeeded.
func (m *jobProgress) end(rows int64, j *running) {
	m.base = task.Progress{Rows: m.base.Rows + rows, Bytes: min(m.base.Bytes+j.plans.Bytes, m.total), Tasks: m.base.Tasks + j.tasks}
	m.set(m.base)
}

// fail takes back what was reported of a job that failed: its percentage may be that of tasks
// that never ran.
func (m *jobProgress) fail(tasks int) {
	p := m.base
	p.Tasks += tasks
	m.set(p)
}

func (m *jobProgress) set(p task.Progress) {
	if m.report != nil && p != m.reported {
		m.reported = p
		m.report(p)
	}
}

// waitingFor says that a job waits for the cluster.
func (e *Engine) waitingFor(j *running) string {
	queue := "the default queue"
	if e.o.Queue != "" && !j.app.Found {
		queue = "queue " + e.o.Queue
	}
	return fmt.Sprintf("YARN (%s, %s)", queue, j.app.ID)
}

// countDone returns how many tasks that this run waits for are done. It returns 0 if the storage does
// not answer.
func (e *Engine) countDone(ctx context.Context, j *running) int {
	ctx, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	n := j.tasks - j.plans.Before - j.plans.Tasks
	for _, p := range j.plans.Plans {
		at, err := input.Locate(e.o.Resolve, p.Dest)
		if err != nil {
			return 0
		}
		infos, err := at.Store.List(ctx, p.Dir)
		if err != nil {
			return 0
		}
		for i := range infos {
			if _, ok := manifest.TaskNumber(infos[i].Name); ok {
				n++
			}
		}
	}
	return max(min(n, j.tasks), 0)
}
