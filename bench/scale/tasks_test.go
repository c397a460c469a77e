package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/internal/parallel"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/plan"
	"github.com/rowtocol/rowtocol/job/publish"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/location"
	"github.com/rowtocol/rowtocol/store/memstore"
	"github.com/rowtocol/rowtocol/trevni"
)

// Flags for a run by hand:
//
//	go test -C bench ./scale -run TestTasks -v -tasks 100000
var (
	tasks = flag.Int("tasks", 0, "about how many `tasks` to submit, on stores in memory")
	files = flag.Int("files", 1000, "of -tasks: input files, which are not on any disk either")
	dest  = flag.String("dest", "", "of -tasks: what to make on HDFS, in a directory that exists; empty is in memory")
	delay = flag.Duration("delay", 0, "of -tasks: how long each call of the destination's store takes")
)

// TestTasks prints the cost of each step of a submission; with -cpuprofile also a profile.
func TestTasks(t *testing.T) {
	if *tasks == 0 {
		return // see TestCallsPerTask
	}
	c := &cluster{tasks: *tasks, files: *files, delay: *delay}
	if *dest != "" {
		resolver := location.New(location.Options{})
		defer func() { _ = resolver.Close() }()
		at, err := resolver.Resolve(*dest)
		testenv.Must(t, err)
		c.disk, c.dest = at.Store, at.Path
	}
	testenv.Must(t, c.prepare(t.Context()))
	testenv.Must(t, c.submit(t.Context()))
	c.print()
}

// partBytes is the approximate size of a task's output here.
const partBytes = 64

// cluster is a submission of very many tasks, on stores in memory. No task reads its input;
// the results are invented.
type cluster struct {
	tasks int // to make
	files int // of input
	delay time.Duration

	inputs  *virtual
	disk    store.Store // of the machines that run the tasks; nil is one in memory
	dest    string      // on it
	store   *countingStore
	request job.Request
	half    bool // only every second task is done
	steps   []*step
}

// step is a part of the work, and its cost.
type step struct {
	name    string
	wall    time.Duration
	cpu     time.Duration
	heap    int64 // peak of additional bytes
	calls   calls
	atATime int // calls

	began  time.Time
	busy   time.Duration // processor time before the step
	before uint64
	peak   atomic.Uint64
}

// prepare makes the inputs and the request.
func (c *cluster) prepare(ctx context.Context) (err error) {
	const perTask = 150 << 20 // input of a row group of 128 MiB, approximately
	if c.inputs, err = newVirtual(c.files, perTask*int64(c.tasks)/int64(c.files)); err != nil {
		return err
	}
	if c.disk == nil {
		c.disk, c.dest = memstore.New().Client(), "/out"
	}
	c.store = &countingStore{Store: c.disk, delay: c.delay, next: stepOf, began: c.beginLocked}
	c.request = job.Request{
		Asked: plan.Asked{
			Inputs: []string{inputDir}, Dest: c.dest,
			Output: manifest.Options{Format: "trevni", FormatOptions: []byte(`{"codec":"snappy","checksum":"crc32"}`), MaxLostRows: -1},
		},
		Options: job.Options{Environment: task.Environment{
			Formats: format.Registry{trevni.Format}, Memory: budget.New(512 << 20),
			Resolve: func(location string) (store.Location, error) {
				if strings.HasPrefix(location, inputDir) {
					return store.Location{Store: c.inputs, Path: location}, nil
				}
				return store.Location{Store: c.store, Path: location}, nil
			},
		}},
	}
	return ctx.Err()
}

// submit submits twice: half of the tasks are done at first, the rest later.
func (c *cluster) submit(ctx context.Context) error {
	stop := c.watch()
	defer stop()
	c.half = true
	c.begin("look and plan")
	if _, err := job.Submit(ctx, c.request, c); err == nil {
		return errors.New("the submission succeeded with half of the tasks")
	}
	c.half = false
	c.begin("again: look and plan")
	out, err := job.Submit(ctx, c.request, c)
	if err != nil {
		return err
	}
	c.tasks = out.Tasks
	if got := len(out.Manifest.Parts); got != out.Tasks || out.Resumed == 0 {
		return fmt.Errorf("%d tasks have %d parts, and %d were resumed", out.Tasks, got, out.Resumed)
	}
	c.begin("nothing to do")
	if out, err = job.Submit(ctx, c.request, c); err != nil || !out.Nothing {
		return fmt.Errorf("the third submission returned %+v, %w", out, err)
	}
	return c.documents(ctx, out)
}

// documents measures the plan and the manifest as documents.
func (c *cluster) documents(ctx context.Context, out *job.Outcome) error {
	success, err := c.disk.ReadFile(ctx, path.Join(c.request.Dest, manifest.SuccessName), manifest.MaxSize)
	if err != nil {
		return err
	}
	c.begin(fmt.Sprintf("decode _SUCCESS of %.1f MB", float64(len(success))/1e6))
	if _, err := manifest.DecodeSuccess(success); err != nil {
		return err
	}
	request := c.request
	request.Dest += ".other"
	survey, _, err := job.Survey(ctx, request)
	if err != nil {
		return err
	}
	c.begin("plan what was looked at")
	p, err := survey.Plan(ctx, "")
	if err != nil {
		return err
	}
	c.begin("encode the plan")
	text, err := p.Encode()
	if err != nil {
		return err
	}
	c.begin(fmt.Sprintf("decode the plan of %.1f MB", float64(len(text))/1e6))
	if _, err = manifest.DecodePlan(text); err != nil {
		return err
	}
	c.begin("status")
	_, err = publish.At(store.Location{Store: c.store, Path: c.request.Dest}, publish.Options{}).Status(ctx)
	c.begin("")
	return err
}

// Run implements job.RemoteRunner: it writes results in place of tasks.
func (c *cluster) Run(ctx context.Context, batches []task.Batch, _ func(task.Progress)) error {
	c.begin("")
	defer c.begin("check")
	for _, b := range batches {
		err := parallel.Do(ctx, len(b.Numbers), 8, func(ctx context.Context, i int) error {
			if c.half && i%2 == 1 {
				return nil
			}
			return c.writeResult(ctx, &b, b.Numbers[i])
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// writeResult writes the result of a task.
func (c *cluster) writeResult(ctx context.Context, b *task.Batch, number int) error {
	part := manifest.File{Name: manifest.StagedPart(number, 0, manifest.NewID(), ".trv"), Bytes: partBytes}
	at := path.Join(b.Dir, part.Name)
	if err := c.disk.WriteFile(ctx, at, make([]byte, partBytes), true); err != nil {
		return err
	}
	_, crc, err := store.Sum(ctx, c.disk, at, partBytes)
	if err != nil {
		return err
	}
	part.CRC32C = crc
	if part.StoreChecksum, err = store.CapabilitiesOf(c.disk).Checksum(ctx, at); err != nil {
		return err
	}
	var reads []manifest.Read
	for _, piece := range b.Plan.Tasks[number].Pieces {
		in := b.Plan.Request.Inputs[piece.Input]
		reads = append(reads, manifest.Read{FileID: in.FileID, ModTime: in.ModTime})
	}
	res := &manifest.TaskResult{
		Version: manifest.Version, Plan: b.Plan.ID, Task: number, RowsIn: 1, Reads: reads,
		Parts: []manifest.Part{{Task: number, Rows: 1, Files: []manifest.File{part}}}, Made: manifest.MadeNow("bench", time.Now()),
	}
	text, err := res.Encode()
	if err != nil {
		return err
	}
	return c.disk.WriteFile(ctx, path.Join(b.Dir, manifest.TaskName(number)), text, false)
}

// begin ends the current step, and begins another one unless the name is empty.
func (c *cluster) begin(name string) {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	c.beginLocked(name)
}

// beginLocked is begin for a caller that holds the lock.
func (c *cluster) beginLocked(name string) {
	if s := c.store.step; s != nil {
		s.wall, s.cpu = time.Since(s.began), busy()-s.busy
		s.heap = int64(max(s.peak.Load(), heapNow())) - int64(s.before)
	}
	s := &step{name: name, calls: make(calls)}
	if name != "" {
		runtime.GC()
		c.steps = append(c.steps, s)
	}
	s.began, s.busy, s.before = time.Now(), busy(), heapNow()
	c.store.step = s
}

// busy returns the processor time of the process.
func busy() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func heapNow() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// watch samples the size of the heap.
func (c *cluster) watch() (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticks := time.NewTicker(50 * time.Millisecond)
		defer ticks.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticks.C:
			}
			now := heapNow()
			c.store.mu.Lock()
			if s := c.store.step; s != nil {
				s.peak.Store(max(s.peak.Load(), now))
			}
			c.store.mu.Unlock()
		}
	}()
	return func() { close(done); <-ended }
}

// print prints the table of the steps.
func (c *cluster) print() {
	var size int64
	for _, s := range c.inputs.sizes {
		size += s
	}
	fmt.Printf("%d tasks of %d files with %.1f TB; a call takes %v\n\n", c.tasks, c.files, float64(size)/1e12, c.delay)
	fmt.Println("| step | s | CPU s | heap MB | calls at a time | calls of the destination's store, per task |")
	fmt.Println("|---|---:|---:|---:|---:|---|")
	for _, s := range c.steps {
		var texts []string
		few := 0
		for _, call := range slices.Sorted(maps.Keys(s.calls)) {
			n := s.calls[call]
			if n < c.tasks/10 {
				few += n
				continue
			}
			texts = append(texts, fmt.Sprintf("%.2f %s", float64(n)/float64(c.tasks), call))
		}
		if few > 0 {
			texts = append(texts, fmt.Sprintf("and %d calls", few))
		}
		fmt.Printf("| %s | %.2f | %.2f | %d | %d | %s |\n", s.name, s.wall.Seconds(), s.cpu.Seconds(), s.heap>>20, s.atATime, strings.Join(texts, ", "))
	}
}

// TestCallsPerTask checks that a submission makes only a few calls to the destination's
// store for each task: a name node answers them one after another.
func TestCallsPerTask(t *testing.T) {
	for _, files := range []int{3, 300} {
		c := &cluster{tasks: 300, files: files}
		testenv.Must(t, c.prepare(t.Context()))
		testenv.Must(t, c.submit(t.Context()))
		if c.tasks < 250 {
			t.Fatalf("there were %d tasks", c.tasks)
		}
		total := make(calls)
		for _, s := range c.steps {
			for call, n := range s.calls {
				total[call] += n
			}
			if s.name == "nothing to do" {
				break
			}
		}
		// Half of the tasks are checked before the others run, and then once more.
		for call, most := range map[string]float64{"read": 2, "checksum": 2, "stat": 0, "rename": 1, "open": 0, "create": 0, "mkdir": 0, "write": 0, "remove": 0} {
			if got := float64(total[call]) / float64(c.tasks); got > most+0.2 {
				t.Errorf("%d files: %.2f calls of %s for each task, and not %.0f", files, got, call, most)
			}
		}
		if total["list"] > 60 {
			t.Errorf("%d listings", total["list"])
		}
		if len(c.steps) < 12 {
			t.Errorf("the steps are only %+v", c.steps)
		}
	}
}
