package hadoop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/rowtocol/rowtocol/hadoop/pipes"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/job"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/spill"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/cluster"
	"github.com/rowtocol/rowtocol/store/location"
)

// ChildOptions are what a child does not have from its job.
type ChildOptions struct {
	// Environment has what the job does not tell. Resolve nil is package location with
	// the job's configuration.
	task.Environment
	// Exit is the exit code for an error.
	Exit func(error) int
}

// stopTime is what the work has to end by itself when Java has ended the task. Tests
// shorten it.
var stopTime = 5 * time.Second

// RunChild runs the map task for which Hadoop started this process: one task of a
// plan. It returns when Java has heard of the end, or has ended the task itself, and
// then with an error. The process is to end with it: work that hangs is left alone.
func RunChild(ctx context.Context, o ChildOptions) error {
	conn, err := pipes.Dial(ctx)
	if err != nil {
		return failure.As(failure.Storage, err)
	}
	return runOn(conn, o)
}

// runOn runs the task of a connection, and closes that.
func runOn(conn *pipes.Conn, o ChildOptions) (err error) {
	defer func() { _ = conn.Close() }()
	c := &child{ChildOptions: o, conn: conn, began: time.Now(), log: slog.New(slog.NewJSONHandler(os.Stderr, nil))}
	ended := make(chan error, 1)
	go func() { ended <- c.run(conn.Context()) }()
	select {
	case err = <-ended:
		return err
	case <-conn.Context().Done():
	}
	select {
	case err = <-ended:
		return err
	case <-time.After(stopTime):
		spill.Clear()
		return fmt.Errorf("%w (something under way did not end and was given up)", context.Cause(conn.Context()))
	}
}

// child is one attempt at a task.
type child struct {
	ChildOptions
	conn    *pipes.Conn
	log     *slog.Logger
	logFile string // empty if the log is on standard error
	conf    *cluster.Conf
	attempt string // Hadoop's ID of it

	job    *Assignment // nil until it is found
	stores *location.Resolver
	dest   store.Location // of the destination; its Store is nil until it is found
	meter  *meter
	began  time.Time
}

// run runs the attempt from its start to its end.
func (c *child) run(ctx context.Context) error {
	t, err := c.conn.Accept(ctx)
	if err != nil {
		return failure.As(failure.Storage, err)
	}
	c.conf, c.attempt = cluster.NewConf(t.Conf), t.Conf["mapreduce.task.attempt.id"]
	defer c.openLog()()
	defer c.closeStores()
	err = recoverPanic(func() error {
		if err := c.prepare(t.Split); err != nil {
			return err
		}
		return c.work(ctx)
	})
	if err == nil {
		err = c.conn.Done()
	}
	return c.conclude(ctx, err)
}

// recoverPanic makes an error of a panic.
func recoverPanic(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("this is a defect of rowtocol, please report it with the lines below: %v\n%s", p, debug.Stack())
		}
	}()
	return do()
}

// openLog opens the attempt's log in the container's directory of logs, because
// Java overwrites a part of standard error. The caller calls shut.
func (c *child) openLog() (closeLog func()) {
	closeLog = func() {}
	if dir, _, _ := strings.Cut(os.Getenv("LOG_DIRS"), ","); dir != "" {
		name := filepath.Join(dir, "rowtocol.log")
		if f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o640); err == nil {
			c.logFile, c.log = name, slog.New(slog.NewJSONHandler(f, nil))
			_ = debug.SetCrashOutput(f, debug.CrashOptions{}) // else it is on standard error alone
			closeLog = func() {
				_ = debug.SetCrashOutput(nil, debug.CrashOptions{})
				_ = f.Close() // nowhere is left to complain
			}
		}
	}
	c.log = c.log.With("attempt", c.attempt)
	return closeLog
}

// prepare finds out what is to be done, where, and in what bounds.
func (c *child) prepare(s pipes.Split) error {
	if err := c.conn.Register(counters[:]...); err != nil {
		return err
	}
	f, err := os.Open(TasksName)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	job, noTask := FindTask(f, s)
	if job == nil {
		return noTask
	}
	c.job, c.meter = job, &meter{every: reportInterval}
	if noTask == nil {
		c.meter.total = job.Plan.Tasks[job.Task].Bytes()
	}
	c.log = c.log.With("run", job.Run, "plan", job.Plan.ID, "task", job.Task)
	c.log.Info("task begins", "split", s.Path, "start", s.Start, "length", s.Length, "host", host(), "container", os.Getenv("CONTAINER_ID"),
		"version", c.Program, "workers", job.Workers, "memory", job.Memory, "temp_dir", tempDir())
	// What is reserved fits the pool; this keeps garbage out of it.
	budget.SetLimit(job.Memory + budget.Headroom)
	runtime.GOMAXPROCS(job.Workers)
	if c.Resolve == nil {
		c.openStores()
	}
	c.dest, err = input.Locate(c.Resolve, job.Plan.Dest)
	return cmp.Or(noTask, err)
}

// openStores makes ready to resolve locations, as the job's user.
func (c *child) openStores() {
	s := c.job.Job
	c.stores = location.New(location.Options{
		Hadoop: location.Hadoop{
			Conf: c.conf, Login: cluster.LoginOptions{User: c.conf.String("mapreduce.job.user.name", "")}, Tokens: true, Replication: s.Replication,
		},
		Moved: c.meter.addMoved,
		Patience: store.Patience{Limit: s.StoreRetry, Waiting: func(what string, err error, wait time.Duration) {
			c.meter.retries.Add(1)
			c.log.Warn("storage failed, trying again", "operation", what, "wait", wait.Round(time.Millisecond).String(), "reason", err.Error())
		}},
	})
	c.Resolve = c.stores.Resolve
}

// closeStores ends connections; that one cannot be ended well is no news.
func (c *child) closeStores() {
	if c.stores != nil {
		_ = c.stores.Close()
	}
}

// work runs the task, unless that is needless or in vain.
func (c *child) work(ctx context.Context) error {
	if err := c.checkEarlierFailure(ctx); err != nil {
		return err
	}
	results, done, err := c.convert(ctx)
	if err != nil {
		return err
	}
	if done > 0 {
		c.log.Info("an earlier attempt has done the task")
		return c.conn.Add(doneBefore, 1)
	}
	for _, name := range c.earlierFailures() {
		_ = c.dest.Store.Remove(ctx, name) // the failure that it tells of is mended
	}
	return c.meter.sendResult(c.conn, results[0])
}

// convert runs the task, unless it is done.
func (c *child) convert(ctx context.Context) ([]*manifest.TaskResult, int, error) {
	defer c.meter.report(c.conn, fmt.Sprintf("task %d of plan %s", c.job.Task, c.job.Plan.ID))()
	j := c.job
	c.Workers, c.Memory, c.TempDir, c.Run = j.Workers, budget.New(j.Memory), tempDir(), j.Run
	c.Warn = func(warning string) { c.log.Warn(warning) }
	return job.RunTasksIn(ctx, j.Plan, job.Options{Progress: c.meter.progress, Environment: c.Environment}, []int{j.Task}, c.dest.Store, j.Dir)
}

// earlierFailures are the documents that earlier attempts at the task may have left.
func (c *child) earlierFailures() (names []string) {
	for _, id := range earlierAttempts(c.attempt, c.conf.Int("mapreduce.map.maxattempts", 4)) {
		names = append(names, path.Join(c.job.Dir, task.FailedName(c.job.Task, id)))
	}
	return names
}

// checkEarlierFailure is the failure of an earlier attempt of the same job, if this one would
// fail of the same.
func (c *child) checkEarlierFailure(ctx context.Context) error {
	for _, name := range c.earlierFailures() {
		if f := task.ReadFailed(ctx, c.dest.Store, name, c.job.Run); f != nil && f.Lasting() {
			return &repeatedFailure{f.Cause(), f.Attempt}
		}
	}
	return nil
}

// repeatedFailure is an error of which an earlier attempt left a document.
type repeatedFailure struct {
	error
	attempt string
}

func (e *repeatedFailure) Unwrap() error { return e.error }

// conclude tells what came of the attempt, and returns the error with its kind.
func (c *child) conclude(ctx context.Context, err error) error {
	if err == nil {
		c.log.Info("task ended", "seconds", time.Since(c.began).Seconds(), "peak_memory", budget.PeakResident())
		return nil
	}
	// After the end of the context Java does not listen, and nothing failed but that.
	if cause := context.Cause(ctx); cause != nil {
		err = failure.As(failure.Storage, cause)
		c.log.Warn("task stopped", "reason", err.Error(), "peak_memory", budget.PeakResident())
		return err
	}
	err = failure.Judge(err)
	log := c.log.With("kind", failure.Name(failure.KindOf(err)), "exit", c.Exit(err))
	if before := (*repeatedFailure)(nil); errors.As(err, &before) {
		log.Error("an earlier attempt failed of this: "+err.Error(), "earlier", before.attempt)
	} else {
		log.Error(err.Error(), "peak_memory", budget.PeakResident())
		c.writeFailure(ctx, err)
	}
	message, _, _ := strings.Cut(err.Error(), "\n")
	_ = c.conn.Status(message) // Java may be gone by now
	return err
}

// writeFailure leaves a document of the failure, if it can.
func (c *child) writeFailure(ctx context.Context, err error) {
	id, ok := application(c.attempt)
	//guard: refuses an ID that is none of Hadoop's
	if !ok || c.dest.Store == nil {
		return
	}
	f := task.FailedOf(err)
	f.Run, f.Job, f.Attempt, f.Host = c.job.Run, id, c.attempt, host()
	f.Task, f.Exit, f.Log = c.job.Task, c.Exit(err), c.logFile
	clean, cancel := store.Cleanup(ctx)
	defer cancel()
	if err := f.Leave(clean, c.dest.Store, c.job.Dir); err != nil {
		c.log.Warn("no document of the failure could be left", "reason", err.Error())
	}
}

// host is this machine as the cluster calls it.
func host() string {
	name, _ := os.Hostname()
	return cmp.Or(os.Getenv("NM_HOST"), name)
}

// tempDir is the container's directory for temporary files, which goes with it.
func tempDir() string {
	dir := os.Getenv("TMPDIR")
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return dir
	}
	return "."
}
