package hadoop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rowtocol/rowtocol/internal/lazyregexp"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/cluster"
)

// Options are the options of an Engine.
type Options struct {
	// RemoteOptions are the options of all engines. StoreRetry is also how long to wait
	// for a cluster that does not answer, but at least 10 seconds.
	task.RemoteOptions
	// Login is the login that Hadoop's client uses. If it is nil, the environment
	// decides.
	Login *cluster.Login
	// Home is the location of the user's home directory on the cluster's default file
	// system: hdfs:///user/NAME. The program and the files of jobs are stored there.
	Home string
	// Queue is the queue of the job. If it is empty, the cluster's default applies.
	Queue string
	// Properties are properties of the job, as key=value, that override the
	// configuration.
	Properties []string
	// TempDir is the local directory of temporary files. If it is empty, the system's
	// is used.
	TempDir string
}

// Engine runs tasks of plans as jobs on a Hadoop cluster. Only one goroutine may use
// it at a time.
type Engine struct {
	o      Options
	client *client
	site   *cluster.Conf
	user   []property
	exe    string // path of this program
	jobs   int    // number of jobs started
}

// New returns an engine. It returns failure.Usage if options are invalid, or the machine
// has no Hadoop client. It contacts no server.
func New(o Options) (*Engine, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.OnJob == nil {
		o.OnJob = func(task.RemoteJob) {}
	}
	o.TempDir = cmp.Or(o.TempDir, os.TempDir())
	user, err := parseProperties(o.Properties)
	if err != nil {
		return nil, err
	}
	if !fitsXML(o.Queue) {
		return nil, failure.New(failure.Usage, "--queue %q has characters that a queue's name cannot have", o.Queue)
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("cannot find this program to upload it: %w", err)
	}
	site, err := cluster.LoadConf("mapred-site.xml", "yarn-site.xml")
	if err != nil {
		return nil, failure.As(failure.Usage, err)
	}
	mapred, yarn, err := findClient()
	if err != nil {
		return nil, err
	}
	environ := environment()
	if o.Login != nil {
		environ = loginEnviron(environ, o.Login)
	}
	c := &client{
		runner: &commands{environ}, mapred: mapred, yarn: yarn,
		patience: max(o.StoreRetry, minPatience), log: o.Log,
	}
	return &Engine{o: o, client: c, site: site, user: user, exe: exe}, nil
}

const (
	// minPatience is the least time to wait for a cluster. Hadoop's client reports
	// that it tries to connect again only after about a second. A wait that is not clearly
	// longer could end before that report.
	minPatience = 10 * time.Second
	// killTime bounds the time for killing a job when the program is stopped.
	killTime = 5500 * time.Millisecond
	// jobDirMaxAge is the age at which the directory of any job that is not running is
	// removed. A younger directory may be that of a job that is about to start, or to which
	// a user may attach.
	jobDirMaxAge = 7 * 24 * time.Hour
)

// Run runs the tasks of batches as a job, and returns when the job has ended. With Detach,
// it returns task.ErrDetached once the job has started. It returns nil if the job succeeded. The
// error of a task is a task.Failure. The job of an earlier run may still be running tasks of a
// plan. With Restart, Run kills that job. Otherwise it follows that job to its end instead of
// starting the tasks again. When ctx ends, Run kills the job.
func (e *Engine) Run(ctx context.Context, batches []task.Batch, progress func(task.Progress)) error {
	batches = slices.DeleteFunc(slices.Clone(batches), func(b task.Batch) bool { return len(b.Numbers) == 0 })
	if len(batches) == 0 {
		return nil
	}
	h, err := openHome(ctx, e.o.Resolve, e.o.Home)
	if err != nil {
		return err
	}
	m := &jobProgress{report: progress}
	for _, b := range batches {
		m.total += b.Bytes()
	}
	earlier, err := e.findEarlier(ctx, h, batches)
	if err != nil {
		return err
	}
	for _, j := range earlier {
		if e.o.Restart {
			e.o.Log.Info("killing the job of an earlier run, to start over", "application", j.app.ID, "run_of_job", j.plans.Run)
			if err := e.client.kill(ctx, j.app.ID); err != nil {
				return err
			}
			e.removeFiles(ctx, h, j)
			continue
		}
		batches = slices.DeleteFunc(batches, func(b task.Batch) bool {
			covered := j.plans.covers(&b)
			if covered {
				j.tasks += len(b.Numbers)
			}
			return covered
		})
		if j.tasks == 0 {
			continue
		}
		if err := e.follow(ctx, h, j, m); err != nil && !errors.Is(err, task.ErrDetached) {
			return err
		}
	}
	if len(batches) > 0 {
		return e.start(ctx, h, batches, m)
	}
	if e.o.Detach {
		return task.ErrDetached
	}
	return nil
}

// Attach follows a job to its end, and returns the plans whose tasks the job ran. id is the ID
// of an application or a job. If the job succeeded and another run followed it, Attach only returns
// the plans. When ctx ends, Attach kills the job.
func (e *Engine) Attach(ctx context.Context, id string, progress func(task.Progress)) ([]task.Attached, error) {
	h, r, key, err := e.find(ctx, id)
	if err != nil {
		return nil, err
	}
	plans, err := h.readPlans(ctx, h.plansOf(key), key)
	if err != nil {
		return nil, err
	}
	j := &running{key: key, plans: plans, app: e.application(r)}
	j.app.Found = true
	if plans == nil && j.app.State == succeeded {
		ended, err := h.readPlans(ctx, h.endedOf(key), key)
		if err != nil {
			return nil, err
		}
		if ended != nil {
			j.plans = ended
			e.notify(j)
			return ended.attached(), nil
		}
	}
	if plans == nil {
		return nil, failure.New(failure.Usage, "%s does not exist: %s was already followed to its end, or belongs to another user; to continue its work, submit the same INPUT and DEST", h.Origin+h.jobDir(key), r.id)
	}
	j.tasks = plans.Tasks
	return plans.attached(), e.follow(ctx, h, j, &jobProgress{total: plans.Bytes, report: progress})
}

// Cancel kills the job with an ID, unless it has ended, and removes its files. The work of finished
// tasks stays. The result has the state of a job that had ended before.
func (e *Engine) Cancel(ctx context.Context, id string) (task.RemoteJob, error) {
	h, r, key, err := e.find(ctx, id)
	if err != nil {
		return task.RemoteJob{}, err
	}
	j := &running{key: key, app: e.application(r)}
	j.app.Found = true
	//guard: keeps the files of a job that has ended, which may wait to be published
	if r.ended() {
		return j.app, nil
	}
	if err := e.client.kill(ctx, r.id); err != nil {
		return j.app, err
	}
	e.removeFiles(ctx, h, j)
	return j.app, nil
}

// find finds a job of rowtocol by the ID of its application or job.
func (e *Engine) find(ctx context.Context, id string) (h *home, r *report, key string, err error) {
	application := applicationID(id)
	if application == "" {
		return nil, nil, "", failure.New(failure.Usage, "%s is not the ID of an application or a job, such as application_1700000000000_0001", id)
	}
	if h, err = openHome(ctx, e.o.Resolve, e.o.Home); err != nil {
		return nil, nil, "", err
	}
	r, err = e.client.status(ctx, application)
	if errors.Is(err, errGone) {
		err = failure.As(failure.Usage, err)
	}
	if err != nil {
		return nil, nil, "", err
	}
	if key = keyOf(r.name); key == "" {
		return nil, nil, "", failure.New(failure.Usage, "%s is not a job of rowtocol, but %q", application, r.name)
	}
	return h, r, key, nil
}

// running is a job of this or an earlier run, from its preparation until it is finished.
type running struct {
	key    string // part of the names of the job's directory and tag
	plans  *jobPlans
	tasks  int // number of tasks that this run waits for: those that were not done when it began
	app    task.RemoteJob
	reason []string // why the job failed, by line
	ended  bool     // the cluster reports that the application has ended, and not only the client
	file   *os.File // local file with the job's properties; nil if this run did not start the job
}

// tag returns the tag of the job with a key.
func tag(key string) string { return "rowtocol-" + key }

// jobName returns the name of a job, which keyOf parses.
func jobName(key, dest string) string { return "rowtocol " + key + " " + plainText(dest) }

var keyPattern = lazyregexp.New(`^rowtocol ([0-9A-Za-z-]{1,80}) `)

// keyOf returns the key in a job's name. It is empty for jobs of other programs.
func keyOf(name string) string {
	if m := keyPattern.FindStringSubmatch(name + " "); m != nil {
		return m[1]
	}
	return ""
}

// application returns the application that a report describes.
func (e *Engine) application(r *report) task.RemoteJob {
	app := task.RemoteJob{ID: r.id, Job: jobID(r.id), URL: cmp.Or(e.proxyURL(r.id), r.url)}
	if r.ended() {
		app.State = r.final
	}
	return app
}

// proxyURL returns the URL at which the cluster shows an application. Hadoop's client prints
// the same URL. The URL in a report is that of the application's master, which works only
// while the master runs. The result is empty if the configuration has no address, or one that
// is not that of a host.
func (e *Engine) proxyURL(id string) string {
	scheme, key := "http", "yarn.resourcemanager.webapp.address"
	if e.site.String("yarn.http.policy", "") == "HTTPS_ONLY" {
		scheme, key = "https", "yarn.resourcemanager.webapp.https.address"
	}
	address := e.site.String("yarn.web-proxy.address", "")
	if host := e.site.String("yarn.resourcemanager.hostname", ""); address == "" {
		if address = e.site.String(key, ""); address == "" && host != "" {
			address = host + map[string]string{"http": ":8088", "https": ":8090"}[scheme]
		}
	}
	if address == "" || strings.Contains(address, "$") || strings.HasPrefix(address, "0.0.0.0:") {
		return ""
	}
	return scheme + "://" + address + "/proxy/" + id + "/"
}

// notify passes a job to the engine's caller.
func (e *Engine) notify(j *running) {
	app := j.app
	app.Tasks, app.Bytes = j.plans.Tasks, j.plans.Bytes
	e.o.OnJob(app)
}

// record leaves the ID of a job in the work of its plans, for status.
func (e *Engine) record(ctx context.Context, j *running) {
	for _, p := range j.plans.Plans {
		at, err := input.Locate(e.o.Resolve, p.Dest)
		if err == nil {
			s := &task.Started{Run: e.o.Run, Job: j.app.ID, URL: cmp.Or(j.app.URL, e.proxyURL(j.app.ID)), At: time.Now().UTC().Truncate(time.Second)}
			err = s.Write(ctx, at.Store, p.Dir)
		}
		if err != nil {
			e.o.Log.Warn("cannot record the job for status", "directory", p.Dir, "reason", err.Error())
		}
	}
}

// Look returns the state of the job with an ID, in the words of the cluster, and how many percent of
// it are done.
func (e *Engine) Look(ctx context.Context, id string) (state string, percent int, err error) {
	application := applicationID(id)
	//guard: passes no option to Hadoop's client
	if application == "" {
		return "", 0, failure.New(failure.Foreign, "%s is not the ID of an application", id)
	}
	r, err := e.client.status(ctx, application)
	if err != nil {
		return "", 0, err
	}
	if r.ended() {
		return r.final, r.percent, nil
	}
	return r.state, r.percent, nil
}

// findEarlier finds the jobs of earlier runs that still run tasks of some batches. It also
// removes directories of jobs that are not running: those of jobs for these batches that have
// ended, those older than jobDirMaxAge, and those of jobs whose plans' work is gone.
func (e *Engine) findEarlier(ctx context.Context, h *home, batches []task.Batch) ([]*running, error) {
	created, err := h.jobs(ctx)
	if err != nil {
		return nil, err
	}
	var matching []*running
	var tags []string
	removable := make(map[string]bool) // whether to remove a directory if no job with its key is known
	for _, key := range slices.Sorted(maps.Keys(created)) {
		plans, err := h.readPlans(ctx, h.plansOf(key), key)
		if err != nil {
			return nil, err
		}
		removable[key] = time.Since(created[key]) >= jobDirMaxAge
		switch {
		case plans != nil && slices.ContainsFunc(batches, func(b task.Batch) bool { return plans.covers(&b) }):
			matching = append(matching, &running{key: key, plans: plans})
		case removable[key] || e.workGone(ctx, plans):
			removable[key] = true
		default:
			continue
		}
		tags = append(tags, tag(key))
	}
	if len(tags) == 0 {
		return nil, nil
	}
	reports, err := e.client.find(ctx, tags...)
	if err != nil {
		return nil, err
	}
	known := latestByKey(reports)
	for key := range created {
		r := known[key]
		//guard: keeps the files of a job that is still running
		if r == nil && !removable[key] || r != nil && !r.ended() {
			continue
		}
		if err := h.removeJob(ctx, key); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(matching, func(j *running) bool {
		r := known[j.key]
		if r != nil {
			j.app = e.application(r)
			j.app.Found = true
		}
		return r == nil || r.ended()
	}), nil
}

// workGone reports whether the work directories of a job's plans are gone, because other runs
// have published or removed them.
func (e *Engine) workGone(ctx context.Context, plans *jobPlans) bool {
	if plans == nil {
		return false
	}
	// This bounds the wait for a cluster that is down.
	ctx, cancel := store.Cleanup(ctx)
	defer cancel()
	for _, p := range plans.Plans {
		at, err := input.Locate(e.o.Resolve, p.Dest)
		if err != nil {
			return false
		}
		if _, err := at.Store.Stat(ctx, p.Dir); !errors.Is(err, store.ErrNotExist) {
			return false
		}
	}
	return true
}

// latestByKey returns the applications of jobs by key. If several applications have a
// key, it returns the first that has not ended. If all have ended, it returns the last one in
// reports.
func latestByKey(reports []*report) map[string]*report {
	known := make(map[string]*report)
	for _, r := range reports {
		key := keyOf(r.name)
		if other := known[key]; key != "" && (other == nil || other.ended()) {
			known[key] = r
		}
	}
	return known
}
