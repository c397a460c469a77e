package hadoop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/cluster"
)

const (
	// searchAfter is how long the client may print nothing before the engine searches
	// for the job by its tag, because the client's log may be turned off. After every
	// statusEvery such times, the engine requests the status of a known job, because the
	// client may hang.
	searchAfter = 20 * time.Second
	statusEvery = 3
	// minStart is the least time to wait for a client that prints nothing while there is
	// no job, because the client may be listing the inputs.
	minStart = 10 * time.Minute
	// minPause and maxPause bound the pause between status requests for a job without a
	// client. The pause grows with the time of following, because each request starts a JVM.
	minPause = 3 * time.Second
	maxPause = 30 * time.Second
)

// start submits a job for batches and follows the job to its end. With Detach, it returns
// task.ErrDetached once the job is started.
func (e *Engine) start(ctx context.Context, h *home, batches []task.Batch, m *jobProgress) error {
	j, err := e.prepare(ctx, h, batches)
	defer j.removeFile()
	if err == nil {
		err = e.watch(ctx, j, m)
	}
	if ctx.Err() != nil {
		return e.kill(ctx, h, j)
	}
	if err != nil && j.app.ID == "" {
		// The job did not begin, so its files are not needed.
		return errors.Join(err, ignoreAbsent(h.removeJob(ctx, j.key)))
	}
	if err != nil || j.app.State == "" {
		return err
	}
	return e.finish(ctx, h, j, m)
}

// prepare uploads the files of a job, and writes the file with its properties.
func (e *Engine) prepare(ctx context.Context, h *home, batches []task.Batch) (j *running, err error) {
	e.jobs++
	j = &running{key: e.o.Run}
	if e.jobs > 1 {
		j.key = fmt.Sprintf("%s-%d", e.o.Run, e.jobs)
	}
	j.plans = newJobPlans(j.key, e.o.Run, batches)
	j.tasks = j.plans.Tasks
	servers := e.servers(h, batches)
	//guard: starts no job whose tasks cannot reach their files
	if err := checkTokens(e.o.Login, e.conf(), append(servers, h.Origin)); err != nil {
		return j, err
	}
	program, err := h.program(ctx, e.exe)
	if err != nil {
		return j, err
	}
	dir := h.jobDir(j.key)
	l := newLayout(batches, h.Origin+path.Join(dir, carriers))
	job := Job{Program: e.o.Program, Run: e.o.Run, Memory: e.o.Memory, Workers: e.o.Workers, StoreRetry: e.taskPatience(), Replication: e.o.Replication}
	if err := h.makeJob(ctx, job, batches, l, j.plans); err != nil {
		return j, err
	}
	r := &request{
		name: jobName(j.key, batches[0].Plan.Dest), tag: tag(j.key), queue: e.o.Queue,
		executable: h.uri(program), tasks: h.uri(path.Join(dir, tasksFile)),
		memory: containerMemory(e.o.Memory), workers: e.o.Workers,
		layout: l, servers: servers,
	}
	err = e.writeJobFile(j, func(w io.Writer) error { return writeProperties(w, r.properties(e.site, e.user)) })
	e.o.Log.Info("the job is prepared", "tasks", j.plans.Tasks, "bytes", j.plans.Bytes,
		"not_local", len(l.carriers), "split_size", l.splitSize, "container_memory", r.memory)
	return j, failure.As(failure.Storage, err)
}

// conf returns the configuration of the job: that of the site with the user's properties.
func (e *Engine) conf() *cluster.Conf {
	user := make(map[string]string, len(e.user))
	for _, p := range e.user {
		user[p.name] = p.value
	}
	return e.site.With(user)
}

// taskPatience returns how long a task may wait for storage. A task that waits reports nothing
// to Java. After a timeout, Java kills the task, and the reason is lost. So the wait is shorter
// than the timeout.
func (e *Engine) taskPatience() time.Duration {
	const key = "mapreduce.task.timeout"
	value, _ := takeLast(e.user, key)
	ms, err := strconv.ParseInt(strings.TrimSpace(cmp.Or(value, e.site.String(key, "600000"))), 10, 64)
	if err != nil || ms <= 0 || ms > math.MaxInt64/int64(time.Second) {
		return e.o.StoreRetry // no timeout
	}
	return min(e.o.StoreRetry, time.Duration(ms)*time.Millisecond/4*3)
}

// servers returns the file systems, besides the default one, that tasks read and write.
func (e *Engine) servers(h *home, batches []task.Batch) []string {
	var origins []string
	add := func(location string) {
		if scheme, rest := store.Scheme(location); scheme != "" {
			authority, _, _ := strings.Cut(rest, "/")
			if origin := scheme + "://" + authority; origin != h.Origin && !slices.Contains(origins, origin) {
				origins = append(origins, origin)
			}
		}
	}
	for _, b := range batches {
		add(b.Plan.Dest)
		for i := range b.Plan.Request.Inputs {
			add(b.Plan.Request.Inputs[i].Path)
		}
	}
	return origins
}

// watch runs Hadoop's client until the job has ended. With Detach, it returns
// task.ErrDetached once the job is started. If the client ends before the job, watch follows
// the job without the client.
func (e *Engine) watch(ctx context.Context, j *running, m *jobProgress) error {
	client, end := context.WithCancelCause(ctx)
	defer end(nil)
	lines, ended := make(chan string), make(chan error, 1)
	go func() { ended <- e.client.submit(client, j.file.Name(), func(text string) { lines <- text }) }()
	ticker := time.NewTicker(searchAfter)
	defer ticker.Stop()
	o, announced, told, s := &output{}, false, -1, &quiet{}
	for {
		select {
		case text := <-lines:
			ticker.Reset(searchAfter)
			s = &quiet{}
			o.addLine(text)
		case <-ticker.C:
			if hangs, cause := e.checkQuietJob(ctx, j.key, o, s); hangs {
				end(cause)
			}
		case err := <-ended:
			if announced && e.o.Detach {
				return task.ErrDetached
			}
			return e.resolveJob(ctx, j, o, m, err)
		}
		j.app = o.app
		if o.running && !announced {
			announced = true
			e.notify(j)
			e.record(ctx, j)
			m.wait(e.waitingFor(j))
			if e.o.Detach {
				end(nil)
			}
		}
		if o.mapping && o.percent != told {
			told = o.percent
			m.run(o.percent, e.countDone(ctx, j))
		}
	}
}

// quiet counts how long the client has printed nothing.
type quiet struct {
	ticks int  // multiples of searchAfter
	ended bool // whether the job had ended at the last check
}

// checkQuietJob checks on the job of a client that prints nothing. hangs reports whether
// the client should be stopped. If the reason is that it started no job, cause is the error.
func (e *Engine) checkQuietJob(ctx context.Context, key string, o *output, s *quiet) (hangs bool, cause error) {
	s.ticks++
	if o.app.ID == "" {
		o.app, _ = e.findJob(ctx, key) // tried again later if it fails
		o.running = o.app.ID != ""
		//guard: bounds the wait for a client that hangs
		if most := max(e.client.patience, minStart); !o.running && time.Duration(s.ticks)*searchAfter >= most {
			return true, failure.New(failure.Storage, "Hadoop's client started no job, and printed nothing for %v", most)
		}
		return false, nil
	}
	if s.ticks%statusEvery != 0 {
		return false, nil
	}
	r, err := e.client.status(ctx, o.app.ID)
	if err != nil {
		return false, nil // tried again later
	}
	o.running = true
	if r.state == stateRunning {
		o.mapping, o.percent = true, r.percent
	}
	// The client gets time to notice the end as well, and to get the counters.
	hangs, s.ended = s.ended && r.ended(), r.ended()
	return hangs, nil
}

// resolveJob finds the state of a job whose client ended with err, and follows the job
// if it is still running.
func (e *Engine) resolveJob(ctx context.Context, j *running, o *output, m *jobProgress, err error) error {
	j.app, j.reason = o.app, o.why
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case j.app.ID == "" && failure.HasKind(err):
		return err
	case j.app.ID == "" && unreachable.MatchString(o.exception):
		return submitError(&o.tail, err)
	case j.app.ID == "":
		// A job that the cluster refused has an ID as well.
		found, _ := e.findJob(ctx, j.key)
		if found.ID == "" || found.State != "" && found.State != succeeded {
			return submitError(&o.tail, err)
		}
		if j.app = found; !e.o.Detach {
			e.notify(j)
		}
		e.record(ctx, j)
	case err == nil && j.app.State == succeeded || j.app.State == failed || j.app.State == killed:
		return nil
	default:
		j.app.State = ""
	}
	if e.o.Detach {
		// The cluster may have refused the job.
		if r, err := e.client.status(ctx, j.app.ID); err == nil && !r.ended() {
			e.notify(j)
			return task.ErrDetached
		}
	}
	e.o.Log.Warn("Hadoop's client ended before its job; following the job without it", "application", j.app.ID, "reason", o.tail.reason())
	return e.wait(ctx, j, m)
}

// findJob finds the application of a job. If there is none, the result has no ID.
func (e *Engine) findJob(ctx context.Context, key string) (task.RemoteJob, error) {
	reports, err := e.client.find(ctx, tag(key))
	if r := latestByKey(reports)[key]; err == nil && r != nil {
		return e.application(r), nil
	}
	return task.RemoteJob{}, err
}

// follow follows a job of another run to its end. With Detach, it only reports the job, and returns
// task.ErrDetached.
func (e *Engine) follow(ctx context.Context, h *home, j *running, m *jobProgress) error {
	e.notify(j)
	if e.o.Detach {
		return task.ErrDetached
	}
	err := e.wait(ctx, j, m)
	if ctx.Err() != nil {
		return e.kill(ctx, h, j)
	}
	if err != nil {
		return err
	}
	return e.finish(ctx, h, j, m)
}

// wait requests the status of a job until it has ended.
func (e *Engine) wait(ctx context.Context, j *running, m *jobProgress) error {
	began, answered := time.Now(), time.Now()
	for j.app.State == "" {
		r, err := e.client.status(ctx, j.app.ID)
		switch {
		case err == nil:
			answered = time.Now()
			j.app.State, j.reason, j.ended = e.application(r).State, r.why, r.ended()
			if j.app.URL == "" {
				j.app.URL = r.url
			}
			switch {
			case r.ended(): // a failed job reports 100%
			case r.state == stateRunning:
				m.run(r.percent, e.countDone(ctx, j))
			default:
				m.wait(e.waitingFor(j))
			}
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, errGone):
			return failure.New(failure.Storage, "it is not known how %s ended: %w; a rerun continues its work", j.app.ID, err)
		case time.Since(answered) > e.client.patience:
			return fmt.Errorf("%w; %s continues by itself, and a rerun follows it", err, j.app.ID)
		}
		if j.app.State != "" {
			return nil
		}
		pause := min(max(time.Since(began)/20, minPause), maxPause)
		if store.Sleep(ctx, pause) != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// kill kills a job when the program is stopped, and removes its files. It returns the cause of the
// stop, and says what became of the job.
func (e *Engine) kill(ctx context.Context, h *home, j *running) error {
	cause := context.Cause(ctx)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTime)
	defer cancel()
	var err error
	if j.app.ID == "" {
		// The client may have submitted the job without reporting it yet.
		job := j.app.Job
		if j.app, err = e.findJob(ctx, j.key); j.app.ID == "" {
			j.app.Job = job
		}
	}
	if j.app.ID != "" && err == nil {
		err = e.client.kill(ctx, j.app.ID)
	}
	if err != nil {
		e.o.Log.Warn("the job may still be running; a rerun follows it, or `yarn application -kill` ends it", "application", j.app.ID, "tag", tag(j.key), "reason", err.Error())
		return cause
	}
	e.removeFiles(ctx, h, j)
	if j.app.ID == "" {
		return cause
	}
	return fmt.Errorf("%w; %s is killed", cause, j.app.ID)
}

// removeFiles removes the files of a job that has ended.
func (e *Engine) removeFiles(ctx context.Context, h *home, j *running) {
	if err := h.removeJob(ctx, j.key); err != nil {
		e.o.Log.Warn("cannot remove the job's directory; a rerun removes it", "directory", h.Origin+h.jobDir(j.key), "reason", err.Error())
	}
	dir := e.stagingDir(h, j.app.Job)
	// Until the application has ended, the master of a job that succeeded needs these files.
	if dir == "" || j.app.State == succeeded && !j.ended {
		return
	}
	clean, cancel := store.Cleanup(ctx)
	defer cancel()
	if err := ignoreAbsent(h.Store.RemoveAll(clean, dir)); err != nil {
		e.o.Log.Warn("cannot remove Hadoop's files of the job", "directory", h.Origin+dir, "reason", err.Error())
	}
}

// stagingDir returns the directory in which Hadoop's client stores files for the job's master.
// A master that is killed does not remove the directory. The result is empty if the directory
// is not known.
func (e *Engine) stagingDir(h *home, job string) string {
	root, _ := takeLast(e.user, stagingKey)
	root = cmp.Or(root, e.site.String(stagingKey, "/tmp/hadoop-yarn/staging"))
	//guard: rejects a path on another file system
	if bare := barePath(root); strings.Contains(root, "$") || bare != root && !strings.HasPrefix(root, h.Origin+"/") || applicationID(job) == "" {
		return ""
	}
	return path.Join(barePath(root), path.Base(path.Dir(h.Path)), ".staging", job)
}

// finish reports a job that has ended, and removes its files.
func (e *Engine) finish(ctx context.Context, h *home, j *running, m *jobProgress) error {
	err := e.jobError(ctx, j)
	if err == nil {
		m.end(j.app.Counters[CounterGroup][counters[rowsIn].Name], j)
	} else {
		m.fail(e.countDone(ctx, j))
	}
	e.notify(j)
	e.removeFiles(ctx, h, j)
	return err
}

// jobError returns the error of a job that has ended.
func (e *Engine) jobError(ctx context.Context, j *running) error {
	if j.app.State == succeeded {
		return nil
	}
	if err := e.taskErrors(ctx, j); err != nil {
		return err
	}
	reason := printable(strings.Join(j.reason, " "))
	logs := "yarn logs -applicationId " + j.app.ID
	switch {
	case strings.Contains(reason, "more than the supported max container capability"):
		return failure.New(failure.Usage, "the cluster has no containers as large as tasks need with this --memory and --workers: %s", reason)
	case j.app.State == killed:
		// A retry would start again what somebody ended on purpose.
		return failure.New(failure.Refused, "%s was killed, and the work of its finished tasks stays: %s (%s shows more)", j.app.ID, reason, logs)
	}
	return failure.New(failure.Storage, "%s failed: %s (%s shows more)", j.app.ID, reason, logs)
}

// taskErrors returns the most severe failure of each plan's tasks. It returns nil if no task
// left a document about a failure.
func (e *Engine) taskErrors(ctx context.Context, j *running) error {
	var errs []error
	for _, p := range j.plans.Plans {
		at, err := input.Locate(e.o.Resolve, p.Dest)
		if err != nil {
			return err
		}
		found, err := task.ReadFailures(ctx, at.Store, p.Dir, j.plans.Run)
		if errors.Is(err, store.ErrNotExist) {
			errs = append(errs, failure.New(failure.Storage, "%s failed, and the work of its tasks is gone: another run published it, or somebody removed %s", j.app.ID, at.Origin+p.Dir))
		} else if err != nil {
			e.o.Log.Warn("cannot read the failures of tasks", "directory", at.Origin+p.Dir, "reason", err.Error())
		}
		found = slices.DeleteFunc(found, func(f task.Failed) bool { return f.Job != j.app.ID })
		if f := task.MostSevere(found); f != nil {
			errs = append(errs, f.Err(p.ID))
		}
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// submitError returns the error of a client that could not submit its job.
func submitError(end *tail, err error) error {
	reason := end.reason()
	has := func(texts ...string) bool {
		return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(reason, t) })
	}
	kind := failure.Storage
	switch {
	case cannotRun(err, reason):
		return failure.New(failure.Usage, "Hadoop's client does not run on this machine: %s (mapred pipes: %w)", reason, err)
	case has("InvalidResourceRequestException"):
		kind = failure.Usage
	case has("unknown queue", "AccessControlException", "does not have permission", "Permission denied", "cannot submit", "is STOPPED", "not a leaf queue", "AuthorizationException"):
		kind = failure.Refused
	}
	if err == nil {
		err = errors.New("no job was started")
	}
	return failure.New(kind, "the cluster accepted no job: %s (mapred pipes: %w)", reason, err)
}

// cannotRun reports whether Hadoop's client could not run. Shells then end with a certain exit
// code, and Hadoop's scripts print a certain message if there is no Java.
func cannotRun(err error, reason string) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && (exit.ExitCode() == 126 || exit.ExitCode() == 127 || strings.Contains(reason, "JAVA_HOME"))
}

func ignoreAbsent(err error) error {
	if store.Absent(err) {
		return nil
	}
	return err
}
