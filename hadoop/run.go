package hadoop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
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
	// searchAfter is for how long the client may say nothing until the job is looked for
	// by its tag: the log of the client may be turned off. One that is known is asked
	// for after askAfter such times: the client may hang.
	searchAfter = 20 * time.Second
	statusEvery = 3
	// minStart is for how long at least the client may say nothing while there is no
	// job: it may be listing the inputs.
	minStart = 10 * time.Minute
	// A job whose client is gone, or was another run's, is asked for after a share of
	// the time for which it was followed: each time starts a JVM.
	minPause = 3 * time.Second
	maxPause = 30 * time.Second
)

// start makes a job of batches and runs it to its end.
func (e *Engine) start(ctx context.Context, h *home, batches []task.Batch, m *jobProgress) error {
	j, file, err := e.prepare(ctx, h, batches)
	if file != "" {
		defer func() { _ = os.Remove(file) }() // it has no secrets
	}
	if err == nil {
		err = e.watch(ctx, j, file, m)
	}
	if ctx.Err() != nil {
		e.kill(ctx, h, j)
		return context.Cause(ctx)
	}
	if err != nil && j.app.ID == "" {
		// It did not begin, so nobody needs its files.
		return errors.Join(err, ignoreAbsent(h.removeJob(ctx, j.key)))
	}
	if err != nil || j.app.State == "" {
		return err
	}
	return e.finish(ctx, h, j, m)
}

// prepare uploads what a job needs, and writes the file of its properties.
func (e *Engine) prepare(ctx context.Context, h *home, batches []task.Batch) (j *running, file string, err error) {
	e.jobs++
	j = &running{key: e.o.Run}
	if e.jobs > 1 {
		j.key = fmt.Sprintf("%s-%d", e.o.Run, e.jobs)
	}
	j.plans = newJobPlans(j.key, e.o.Run, batches)
	servers := e.servers(h, batches)
	//guard: starts no job whose tasks cannot reach their files
	if err := checkTokens(e.o.Login, e.conf(), append(servers, h.Origin)); err != nil {
		return j, "", err
	}
	program, err := h.program(ctx, e.exe)
	if err != nil {
		return j, "", err
	}
	dir := h.jobDir(j.key)
	l := newLayout(batches, h.Origin+path.Join(dir, carriers))
	job := Job{Program: e.o.Program, Run: e.o.Run, Memory: e.o.Memory, Workers: e.o.Workers, StoreRetry: e.taskPatience(), Replication: e.o.Replication}
	if err := h.makeJob(ctx, job, batches, l, j.plans); err != nil {
		return j, "", err
	}
	r := &request{
		name: jobName(j.key, batches[0].Plan.Dest), tag: tag(j.key), queue: e.o.Queue,
		executable: h.uri(program), tasks: h.uri(path.Join(dir, tasksFile)),
		memory: containerMemory(e.o.Memory), workers: e.o.Workers,
		layout: l, servers: servers,
	}
	f, err := os.CreateTemp(e.o.TempDir, "rowtocol-job-*.xml")
	if err != nil {
		return j, "", failure.As(failure.Storage, err)
	}
	err = errors.Join(writeProperties(f, r.properties(e.site, e.user)), f.Close())
	e.o.Log.Info("the job is prepared", "tasks", j.plans.Tasks, "bytes", j.plans.Bytes,
		"not_local", len(l.carriers), "split_size", l.splitSize, "container_memory", r.memory)
	return j, f.Name(), failure.As(failure.Storage, err)
}

// conf is the configuration as the job has it.
func (e *Engine) conf() *cluster.Conf {
	user := make(map[string]string, len(e.user))
	for _, p := range e.user {
		user[p.name] = p.value
	}
	return e.site.With(user)
}

// taskPatience is for how long a task waits for storage. Java hears nothing of one that
// waits, and ends it after a time, which would leave no words of why.
func (e *Engine) taskPatience() time.Duration {
	const key = "mapreduce.task.timeout"
	value, _ := takeLast(e.user, key)
	ms, err := strconv.ParseInt(strings.TrimSpace(cmp.Or(value, e.site.String(key, "600000"))), 10, 64)
	if err != nil || ms <= 0 || ms > math.MaxInt64/int64(time.Second) {
		return e.o.StoreRetry // there is no such time
	}
	return min(e.o.StoreRetry, time.Duration(ms)*time.Millisecond/4*3)
}

// servers are the file systems, besides the default one, that tasks read and write.
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

// watch runs Hadoop's client until the job has ended, or with Detach until it is
// started: then the error is task.ErrDetached. The job's state is empty if only the
// client ended.
func (e *Engine) watch(ctx context.Context, j *running, file string, m *jobProgress) error {
	client, end := context.WithCancelCause(ctx)
	defer end(nil)
	lines, ended := make(chan string), make(chan error, 1)
	go func() { ended <- e.client.submit(client, file, func(text string) { lines <- text }) }()
	ticker := time.NewTicker(searchAfter)
	defer ticker.Stop()
	o, announced, s := &output{}, false, &quiet{}
	for {
		select {
		case text := <-lines:
			ticker.Reset(searchAfter)
			s = &quiet{}
			if o.addLine(text) {
				m.setPercent(o.percent)
			}
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
			if e.o.Detach {
				end(nil)
			}
		}
	}
}

// quiet is for how long the client has said nothing.
type quiet struct {
	ticks int  // times of lookAfter
	ended bool // the job had ended when it was last asked for
}

// checkQuietJob looks after the job of a client that says nothing. hangs is whether that
// is to be ended, and cause, if it started no job, the error then.
func (e *Engine) checkQuietJob(ctx context.Context, key string, o *output, s *quiet) (hangs bool, cause error) {
	s.ticks++
	if o.app.ID == "" {
		o.app, _ = e.findJob(ctx, key) // again later, if it fails now
		o.running = o.app.ID != ""
		//guard: bounds the wait for a client that hangs
		if most := max(e.client.patience, minStart); !o.running && time.Duration(s.ticks)*searchAfter >= most {
			return true, failure.New(failure.Storage, "Hadoop's client started no job, and said nothing for %v", most)
		}
		return false, nil
	}
	if s.ticks%statusEvery != 0 {
		return false, nil
	}
	r, err := e.client.status(ctx, o.app.ID)
	if err != nil {
		return false, nil // again later
	}
	o.running = true
	// The client has the time to find that out, too, and to get the counters.
	hangs, s.ended = s.ended && r.ended(), r.ended()
	return hangs, nil
}

// resolveJob finds out what became of a job whose client ended with err.
func (e *Engine) resolveJob(ctx context.Context, j *running, o *output, m *jobProgress, err error) error {
	j.app, j.reason = o.app, o.why
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case j.app.ID == "" && failure.Given(err):
		return err
	case j.app.ID == "" && unreachable.MatchString(o.exception):
		return submitError(&o.tail, err)
	case j.app.ID == "":
		// One that the cluster refused has an ID as well.
		found, _ := e.findJob(ctx, j.key)
		if found.ID == "" || found.State != "" && found.State != succeeded {
			return submitError(&o.tail, err)
		}
		if j.app = found; !e.o.Detach {
			e.notify(j)
		}
	case err == nil && j.app.State == succeeded || j.app.State == failed || j.app.State == killed:
		return nil
	default:
		j.app.State = ""
	}
	if e.o.Detach {
		// The cluster may have refused it.
		if r, err := e.client.status(ctx, j.app.ID); err == nil && !r.ended() {
			e.notify(j)
			return task.ErrDetached
		}
	}
	e.o.Log.Warn("Hadoop's client left its job alone, which is followed without it", "application", j.app.ID, "reason", o.tail.reason())
	return e.wait(ctx, j, m)
}

// findJob finds the application of a job; one without an ID if there is none.
func (e *Engine) findJob(ctx context.Context, key string) (task.RemoteJob, error) {
	reports, err := e.client.find(ctx, tag(key))
	if r := latestByKey(reports)[key]; err == nil && r != nil {
		return e.application(r), nil
	}
	return task.RemoteJob{}, err
}

// follow follows a job that another run started to its end.
func (e *Engine) follow(ctx context.Context, h *home, j *running, m *jobProgress) error {
	e.notify(j)
	if e.o.Detach {
		return task.ErrDetached
	}
	err := e.wait(ctx, j, m)
	if ctx.Err() != nil {
		e.kill(ctx, h, j)
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	return e.finish(ctx, h, j, m)
}

// wait asks for a job until it has ended.
func (e *Engine) wait(ctx context.Context, j *running, m *jobProgress) error {
	began, answered := time.Now(), time.Now()
	for j.app.State == "" {
		r, err := e.client.status(ctx, j.app.ID)
		switch {
		case err == nil:
			answered = time.Now()
			j.app.State, j.reason = e.application(r).State, r.why
			if j.app.URL == "" {
				j.app.URL = r.url
			}
			if j.app.State == "" { // all of a job that failed is over, and not done
				m.setPercent(r.percent)
			}
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, errGone):
			return failure.New(failure.Storage, "what became of %s is not known: %w; a rerun goes on from what it did", j.app.ID, err)
		case time.Since(answered) > e.client.patience:
			return fmt.Errorf("%w; %s goes on by itself, and a rerun follows it", err, j.app.ID)
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

// kill ends a job, as the program is told to end, and removes its files.
func (e *Engine) kill(ctx context.Context, h *home, j *running) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTime)
	defer cancel()
	var err error
	if j.app.ID == "" {
		// The client may have handed it over, and not said so yet.
		job := j.app.Job
		if j.app, err = e.findJob(ctx, j.key); j.app.ID == "" {
			j.app.Job = job
		}
	}
	if j.app.ID != "" && err == nil {
		err = e.client.kill(ctx, j.app.ID)
	}
	if err != nil {
		e.o.Log.Warn("the job may be running on; a rerun follows it, or `yarn application -kill` ends it", "application", j.app.ID, "tag", tag(j.key), "reason", err.Error())
		return
	}
	e.removeFiles(ctx, h, j)
}

// removeFiles removes the files of a job that has ended.
func (e *Engine) removeFiles(ctx context.Context, h *home, j *running) {
	if err := h.removeJob(ctx, j.key); err != nil {
		e.o.Log.Warn("the job's directory is left, and a rerun removes it", "directory", h.Origin+h.jobDir(j.key), "reason", err.Error())
	}
	dir := e.stagingDir(h, j.app.Job)
	if dir == "" || j.app.State == succeeded {
		return
	}
	clean, cancel := store.Cleanup(ctx)
	defer cancel()
	if err := ignoreAbsent(h.Store.RemoveAll(clean, dir)); err != nil {
		e.o.Log.Warn("Hadoop's files of the job are left", "directory", h.Origin+dir, "reason", err.Error())
	}
}

// stagingDir is the directory of what Hadoop's client leaves for the master of a job,
// who removes it: one that was killed does not. It is empty if it cannot be told.
func (e *Engine) stagingDir(h *home, job string) string {
	root, _ := takeLast(e.user, stagingKey)
	root = cmp.Or(root, e.site.String(stagingKey, "/tmp/hadoop-yarn/staging"))
	//guard: rejects a path on another file system
	if bare := barePath(root); strings.Contains(root, "$") || bare != root && !strings.HasPrefix(root, h.Origin+"/") || applicationID(job) == "" {
		return ""
	}
	return path.Join(barePath(root), path.Base(path.Dir(h.Path)), ".staging", job)
}

// finish says what came of a job that has ended, and removes its files.
func (e *Engine) finish(ctx context.Context, h *home, j *running, m *jobProgress) error {
	err := e.jobError(ctx, j)
	if err == nil {
		m.addJob(j.app.Counters[CounterGroup][counters[rowsIn].Name], j.plans)
	}
	e.notify(j)
	e.removeFiles(ctx, h, j)
	return err
}

// jobError is the error of a job that has ended.
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
		return failure.New(failure.Storage, "%s was killed: %s (%s shows more)", j.app.ID, reason, logs)
	}
	return failure.New(failure.Storage, "%s failed: %s (%s shows more)", j.app.ID, reason, logs)
}

// taskErrors is the weightiest of what the job's tasks failed of, of each plan; nil if
// none said.
func (e *Engine) taskErrors(ctx context.Context, j *running) error {
	var errs []error
	for _, p := range j.plans.Plans {
		at, err := input.Locate(e.o.Resolve, p.Dest)
		if err != nil {
			return err
		}
		found, err := task.ReadFailures(ctx, at.Store, p.Dir, j.plans.Run)
		if errors.Is(err, store.ErrNotExist) {
			errs = append(errs, failure.New(failure.Storage, "%s failed, and what its tasks did is gone: another run published it, or somebody removed %s", j.app.ID, at.Origin+p.Dir))
		} else if err != nil {
			e.o.Log.Warn("what tasks failed of cannot be read", "directory", at.Origin+p.Dir, "reason", err.Error())
		}
		found = slices.DeleteFunc(found, func(f task.Failed) bool { return f.Job != j.app.ID })
		if f := task.Weightiest(found); f != nil {
			errs = append(errs, f.Err(p.ID))
		}
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// submitError is the error of a client that could not hand its job over.
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
	return failure.New(kind, "the cluster took no job: %s (mapred pipes: %w)", reason, err)
}

// cannotRun reports whether Hadoop's client ended as shells do with a command that they
// cannot run, or as Hadoop's scripts do without Java.
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

// jobProgress tells how far the tasks are, and never that they are less far than before.
type jobProgress struct {
	total    int64 // bytes of input
	report   func(task.Progress)
	reported task.Progress // that was told
	base     task.Progress // of jobs that have ended
}

// setPercent tells that the job under way is done to a part. Also one that fails has all
// of its tasks behind it in the end, so that it is done is for done to say.
func (m *jobProgress) setPercent(n int) {
	bytes := m.base.Bytes + int64(float64(m.total-m.base.Bytes)*float64(min(n, 99))/100)
	m.set(task.Progress{Rows: m.reported.Rows, Bytes: bytes, Tasks: m.reported.Tasks})
}

// addJob tells that a job is done.
func (m *jobProgress) addJob(rows int64, plans *jobPlans) {
	m.base = task.Progress{Rows: m.base.Rows + rows, Bytes: min(m.base.Bytes+plans.Bytes, m.total), Tasks: m.base.Tasks + plans.Tasks}
	m.set(m.base)
}

func (m *jobProgress) set(p task.Progress) {
	p.Bytes = max(p.Bytes, m.reported.Bytes)
	if m.report == nil || p == m.reported {
		return
	}
	m.reported = p
	m.report(p)
}
