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

// ChildOptions are settings that a child does not get from its job.
type ChildOptions struct {
	// Environment has settings that are not in the job. If Resolve is nil, package location
	// resolves locations with the job's configuration.
	task.Environment
	// Exit returns the exit code for an error.
	Exit func(error) int
}

// stopTime is how long the work may take to stop after Java has ended the task. Tests
// shorten it.
var stopTime = 5 * time.Second

// RunChild runs the map task for which Hadoop started this process: one task of a plan. It
// returns nil when Java has confirmed that the task is done. It returns an error when the task
// failed, or Java ended it. The process must then exit, because work that hangs may still be
// running.
func RunChild(ctx context.Context, o ChildOptions) error {
	conn, err := pipes.Dial(ctx)
	if err != nil {
		return failure.As(failure.Storage, err)
	}
	return runOn(conn, o)
}

// runOn runs the task of a connection, and closes the connection.
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
		return fmt.Errorf("%w (work did not stop in time and was abandoned)", context.Cause(conn.Context()))
	}
}

// child is one attempt at a task.
type child struct {
	ChildOptions
	conn    *pipes.Conn
	log     *slog.Logger
	logFile string // empty if the log is on standard error
	conf    *cluster.Conf
	attempt string // ID that Hadoop gave the attempt

	job    *Assignment // nil until it is found
	stores *location.Resolver
	dest   store.Location // location of the destination; Store is nil until it is found
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

// recoverPanic calls do, and returns an error if it panics.
func recoverPanic(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("this is a defect of rowtocol, please report it with the lines below: %v\n%s", p, debug.Stack())
		}
	}()
	return do()
}

// openLog opens the attempt's log in the container's log directory, because Java
// overwrites a part of standard error. The caller must call closeLog.
func (c *child) openLog() (closeLog func()) {
	closeLog = func() {}
	if dir, _, _ := strings.Cut(os.Getenv("LOG_DIRS"), ","); dir != "" {
		name := filepath.Join(dir, "rowtocol.log")
		if f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o640); err == nil {
			c.logFile, c.log = name, slog.New(slog.NewJSONHandler(f, nil))
			_ = debug.SetCrashOutput(f, debug.CrashOptions{}) // standard error still gets it
			closeLog = func() {
				_ = debug.SetCrashOutput(nil, debug.CrashOptions{})
				_ = f.Close() // there is no log for an error
			}
		}
	}
	c.log = c.log.With("attempt", c.attempt)
	return closeLog
}

// prepare finds the attempt's task and destination, and applies its limits.
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
	// Reservations fit the pool; this limit keeps garbage from exceeding it.
	budget.SetLimit(job.Memory + budget.Headroom)
	runtime.GOMAXPROCS(job.Workers)
	if c.Resolve == nil {
		c.openStores()
	}
	c.dest, err = input.Locate(c.Resolve, job.Plan.Dest)
	return cmp.Or(noTask, err)
}

// openStores prepares to resolve locations as the job's user.
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

// closeStores closes connections. It ignores errors.
func (c *child) closeStores() {
	if c.stores != nil {
		_ = c.stores.Close()
	}
}

// work runs the task, unless it is done or an earlier attempt failed permanently.
func (c *child) work(ctx context.Context) error {
	if err := c.checkEarlierFailure(ctx); err != nil {
		return err
	}
	results, done, err := c.convert(ctx)
	if err != nil {
		return err
	}
	if done > 0 {
		c.log.Info("an earlier attempt already finished the task")
		return c.conn.Add(doneBefore, 1)
	}
	for _, name := range c.earlierFailures() {
		_ = c.dest.Store.Remove(ctx, name) // the task has succeeded since
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

// earlierFailures returns the names of the failure documents that earlier attempts at
// the task may have written.
func (c *child) earlierFailures() (names []string) {
	for _, id := range earlierAttempts(c.attempt, c.conf.Int("mapreduce.map.maxattempts", 4)) {
		names = append(names, path.Join(c.job.Dir, task.FailedName(c.job.Task, id)))
	}
	return names
}

// checkEarlierFailure returns the permanent failure of an earlier attempt of this job.
func (c *child) checkEarlierFailure(ctx context.Context) error {
	for _, name := range c.earlierFailures() {
		if f := task.ReadFailed(ctx, c.dest.Store, name, c.job.Run); f != nil && f.Permanent() {
			return &repeatedFailure{f.Cause(), f.Attempt}
		}
	}
	return nil
}

// repeatedFailure is the error of an earlier attempt, which has written a document about it.
type repeatedFailure struct {
	error
	attempt string
}

func (e *repeatedFailure) Unwrap() error { return e.error }

// conclude reports how the attempt ended, and returns the error with its kind.
func (c *child) conclude(ctx context.Context, err error) error {
	if err == nil {
		c.log.Info("task ended", "seconds", time.Since(c.began).Seconds(), "peak_memory", budget.PeakResident())
		return nil
	}
	// Once ctx has ended, Java no longer reads messages, and err is only a consequence.
	if cause := context.Cause(ctx); cause != nil {
		err = failure.As(failure.Storage, cause)
		c.log.Warn("task stopped", "reason", err.Error(), "peak_memory", budget.PeakResident())
		return err
	}
	err = failure.Judge(err)
	log := c.log.With("kind", failure.Name(failure.KindOf(err)), "exit", c.Exit(err))
	if before := (*repeatedFailure)(nil); errors.As(err, &before) {
		log.Error("an earlier attempt failed with this error: "+err.Error(), "earlier", before.attempt)
	} else {
		log.Error(err.Error(), "peak_memory", budget.PeakResident())
		c.writeFailure(ctx, err)
	}
	message, _, _ := strings.Cut(err.Error(), "\n")
	_ = c.conn.Status(message) // Java may be gone
	return err
}

// writeFailure writes a document about the failure, if possible.
func (c *child) writeFailure(ctx context.Context, err error) {
	id, ok := application(c.attempt)
	//guard: rejects an attempt ID that Hadoop cannot have made
	if !ok || c.dest.Store == nil {
		return
	}
	f := task.NewFailed(err)
	f.Run, f.Job, f.Attempt, f.Host = c.job.Run, id, c.attempt, host()
	f.Task, f.Exit, f.Log = c.job.Task, c.Exit(err), c.logFile
	clean, cancel := store.Cleanup(ctx)
	defer cancel()
	if err := f.Write(clean, c.dest.Store, c.job.Dir); err != nil {
		c.log.Warn("cannot write the document about the failure", "reason", err.Error())
	}
}

// host returns the name that the cluster has for this machine.
func host() string {
	name, _ := os.Hostname()
	return cmp.Or(os.Getenv("NM_HOST"), name)
}

// tempDir returns the directory for temporary files, which YARN removes with the container.
func tempDir() string {
	dir := os.Getenv("TMPDIR")
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return dir
	}
	return "."
}
