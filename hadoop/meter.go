package hadoop

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rowtocol/rowtocol/hadoop/pipes"
	"github.com/rowtocol/rowtocol/job"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// CounterGroup is the group of the job's counters to which tasks add.
const CounterGroup = "rowtocol"

// Indexes of counters.
const (
	rowsIn = iota
	inputBytes
	outputBytes
	outputFiles
	damagedRanges
	lostRows
	storageRetries
	localBytes
	doneBefore
	counterCount
)

var counters = [counterCount]pipes.Counter{
	rowsIn:         {Group: CounterGroup, Name: "rows"},
	inputBytes:     {Group: CounterGroup, Name: "input bytes"},
	outputBytes:    {Group: CounterGroup, Name: "output bytes"},
	outputFiles:    {Group: CounterGroup, Name: "files"},
	damagedRanges:  {Group: CounterGroup, Name: "damaged ranges"},
	lostRows:       {Group: CounterGroup, Name: "lost rows"},
	storageRetries: {Group: CounterGroup, Name: "storage retries"},
	localBytes:     {Group: CounterGroup, Name: "local bytes written"},
	doneBefore:     {Group: CounterGroup, Name: "tasks done before"},
}

// reportInterval is the time between reports to Java.
const reportInterval = time.Second

// meter measures the progress of a task and reports it to Java.
type meter struct {
	total    int64 // input bytes of the task
	every    time.Duration
	moved    atomic.Int64 // bytes read from and written to storage
	retries  atomic.Int64
	rows     atomic.Int64
	bytes    atomic.Int64 // input bytes done
	spilled  atomic.Int64
	reported [counterCount]int64 // values that were sent to Java; one goroutine uses it at a time
}

// addMoved counts bytes that were read from or written to storage.
func (m *meter) addMoved(n int) { m.moved.Add(int64(n)) }

// progress records the progress of the task.
func (m *meter) progress(p job.Progress) {
	m.rows.Store(p.Rows)
	m.bytes.Store(p.Bytes)
	m.spilled.Store(p.Spilled)
}

// report reports progress to Java until stop is called. stop waits until reporting has ended.
// As long as the task makes no progress, report sends nothing, so that Java ends a task that
// hangs.
func (m *meter) report(conn *pipes.Conn, what string) (stop func()) {
	finished := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(m.every)
		defer tick.Stop()
		var last [3]int64
		for {
			select {
			case <-finished:
				return
			case <-tick.C:
			}
			now := [3]int64{m.moved.Load(), m.rows.Load(), m.bytes.Load()}
			//guard: does not report a task that hangs as alive
			if now == last {
				continue
			}
			last = now
			_ = m.sendProgress(conn, what) // an error ends the connection's context
		}
	})
	return func() {
		close(finished)
		running.Wait()
	}
}

// sendProgress sends the progress to Java.
func (m *meter) sendProgress(conn *pipes.Conn, what string) error {
	rows, bytes := m.rows.Load(), m.bytes.Load()
	return errors.Join(
		conn.Progress(float32(float64(bytes)/float64(max(m.total, 1)))),
		m.sendCounter(conn, rowsIn, rows), m.sendCounter(conn, inputBytes, bytes), m.sendCounter(conn, storageRetries, m.retries.Load()),
		conn.Status(fmt.Sprintf("%s: %d of %d input bytes, %d rows", what, bytes, m.total, rows)))
}

// sendCounter tells Java that a counter of the task is n.
func (m *meter) sendCounter(conn *pipes.Conn, counter int, n int64) error {
	more := n - m.reported[counter]
	if more == 0 {
		return nil
	}
	m.reported[counter] = n
	return conn.Add(counter, more)
}

// sendResult sends the counters of a finished task to Java.
func (m *meter) sendResult(conn *pipes.Conn, res *manifest.TaskResult) error {
	var bytes int64
	files := res.Files()
	for _, f := range files {
		bytes += f.Bytes
	}
	lost, _ := manifest.LostRows(res.Losses)
	var errs []error
	for counter, n := range [counterCount]int64{
		rowsIn: res.RowsIn, inputBytes: m.total, outputBytes: bytes, outputFiles: int64(len(files)), damagedRanges: int64(len(res.Losses)),
		lostRows: lost, storageRetries: m.retries.Load(), localBytes: m.spilled.Load(),
	} {
		errs = append(errs, m.sendCounter(conn, counter, n))
	}
	return errors.Join(errs...)
}
