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

// Options say how an Engine runs tasks.
type Options struct {
	// RemoteOptions are what any engine is told. StoreRetry is also for how long a cluster is
	// waited for that takes no job.
	task.RemoteOptions
	// Login is whose job it is: Hadoop's client logs in as it does. Nil leaves that to
	// the environment.
	Login *cluster.Login
	// Home is the location of the user's home directory on the cluster's default
	// file system, in which the program and the files of jobs are: hdfs:///user/NAME.
	Home string
	// Queue is the queue of the job; empty is the cluster's default.
	Queue string
	// Properties are properties of the job, as key=value, that override what the
	// configuration says.
	Properties []string
	// TempDir is the local directory of temporary files; empty is the system's.
	TempDir string
}

// Engine runs tasks of plans as jobs on a Hadoop cluster. It is used by one
// goroutine at a time.
type Engine struct {
	o      Options
	client *client
	site   *cluster.Conf
	user   []property
	exe    string // path of this program
	jobs   int    // that were started
}

// New returns an engine. It refuses options that no job could have, and a machine
// without Hadoop's client, with failure.Usage; it asks no server.
func New(o Options) (*Engine, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Told == nil {
		o.Told = func(task.RemoteJob) {}
	}
	user, err := parseProperties(o.Properties)
	if err != nil {
		return nil, err
	}
	if !fitsXML(o.Queue) {
		return nil, failure.New(failure.Usage, "--queue %q has characters that no queue's name has", o.Queue)
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("this program, to be uploaded: %w", err)
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
	// minPatience is for how long a cluster is waited for at least: Hadoop's client
	// tells of a first try to connect again after a second.
	minPatience = 10 * time.Second
	// killTime bounds how long a job is being killed when the program is told to end.
	killTime = 5500 * time.Millisecond
	// jobDirMaxAge is the age at which the directory of a job is removed that is not under
	// way: until then it may be about to start, or be attached to.
	jobDirMaxAge = 7 * 24 * time.Hour
)

// Run runs the tasks of batches, and returns when the job has ended: with nil if it
// succeeded. The error of a task is a task.Failure. Tasks that an earlier run's
// job is still running are not started again; that job is followed to its end.
// When ctx ends, the job is killed.
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
			e.o.Log.Info("an earlier run's job is ended, to start anew", "application", j.app.ID, "run_of_job", j.plans.Run)
			if err := e.client.kill(ctx, j.app.ID); err != nil {
				return err
			}
			e.removeFiles(ctx, h, j)
			continue
		}
		n := len(batches)
		batches = slices.DeleteFunc(batches, func(b task.Batch) bool { return j.plans.covers(&b) })
		if len(batches) == n {
			continue
		}
		e.o.Log.Info("an earlier run's job is still running", "application", j.app.ID, "run_of_job", j.plans.Run)
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

// Attach follows the job with an ID, of an application or a job, to its end, and
// returns the plans whose tasks it ran. When ctx ends, the job is killed.
func (e *Engine) Attach(ctx context.Context, id string, progress func(task.Progress)) ([]task.Attached, error) {
	application := applicationID(id)
	if application == "" {
		return nil, failure.New(failure.Usage, "%s is no ID of an application or a job, such as application_1700000000000_0001", id)
	}
	h, err := openHome(ctx, e.o.Resolve, e.o.Home)
	if err != nil {
		return nil, err
	}
	r, err := e.client.status(ctx, application)
	if errors.Is(err, errGone) {
		return nil, failure.As(failure.Usage, err)
	}
	if err != nil {
		return nil, err
	}
	key := keyOf(r.name)
	if key == "" {
		return nil, failure.New(failure.Usage, "%s is not a job of rowtocol, but %q", application, r.name)
	}
	plans, err := h.readPlans(ctx, key)
	if err != nil {
		return nil, err
	}
	if plans == nil {
		return nil, failure.New(failure.Usage, "%s was followed to its end before, or is another user's: %s is not there; a submit of the same INPUT and DEST goes on from what it did", application, h.Origin+h.jobDir(key))
	}
	j := &running{key: key, plans: plans, app: e.application(r)}
	j.app.Found = true
	var attached []task.Attached
	for _, p := range plans.Plans {
		attached = append(attached, task.Attached{Dest: p.Dest, PlanID: p.ID})
	}
	return attached, e.follow(ctx, h, j, &jobProgress{total: plans.Bytes, report: progress})
}

// running is a job under way.
type running struct {
	key    string // of its directory and tag
	plans  *jobPlans
	app    task.RemoteJob
	reason []string // why it failed
}

// tag is the tag of the job with a key.
func tag(key string) string { return "rowtocol-" + key }

// jobName is the name of a job, which keyOf reads.
func jobName(key, dest string) string { return "rowtocol " + key + " " + plainText(dest) }

var keyPattern = lazyregexp.New(`^rowtocol ([0-9A-Za-z-]{1,80}) `)

// keyOf is the key in a job's name; empty for the names of other jobs.
func keyOf(name string) string {
	if m := keyPattern.FindStringSubmatch(name + " "); m != nil {
		return m[1]
	}
	return ""
}

// application is what a report says of an application.
func (e *Engine) application(r *report) task.RemoteJob {
	app := task.RemoteJob{ID: r.id, Job: jobID(r.id), URL: cmp.Or(e.proxyURL(r.id), r.url)}
	if r.ended() {
		app.State = r.final
	}
	return app
}

// proxyURL is where the cluster shows an application, as its client says of one that
// it starts. A report has the address that the application's master gave, which
// there is only while that runs. Empty if the configuration does not tell.
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

// notify tells of a job.
func (e *Engine) notify(j *running) {
	app := j.app
	app.Tasks, app.Bytes = j.plans.Tasks, j.plans.Bytes
	e.o.Told(app)
}

// findEarlier finds the jobs of earlier runs that are under way for some of the batches.
// It removes the directories of those that have ended, and of any that are forgotten.
func (e *Engine) findEarlier(ctx context.Context, h *home, batches []task.Batch) ([]*running, error) {
	created, err := h.jobs(ctx)
	if err != nil {
		return nil, err
	}
	var ours []*running
	var tags []string
	old := make(map[string]bool)
	for _, key := range slices.Sorted(maps.Keys(created)) {
		plans, err := h.readPlans(ctx, key)
		if err != nil {
			return nil, err
		}
		old[key] = time.Since(created[key]) >= jobDirMaxAge
		switch {
		case plans != nil && slices.ContainsFunc(batches, func(b task.Batch) bool { return plans.covers(&b) }):
			ours = append(ours, &running{key: key, plans: plans})
		case old[key] || e.allPublished(ctx, plans):
			old[key] = true
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
		if r == nil && !old[key] || r != nil && !r.ended() {
			continue
		}
		if err := h.removeJob(ctx, key); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(ours, func(j *running) bool {
		r := known[j.key]
		if r != nil {
			j.app = e.application(r)
			j.app.Found = true
		}
		return r == nil || r.ended()
	}), nil
}

// allPublished reports whether nothing is left to publish of what a job was for: somebody
// did, without the job.
func (e *Engine) allPublished(ctx context.Context, plans *jobPlans) bool {
	if plans == nil {
		return false
	}
	// A cluster that is away is not waited for.
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

// latestByKey are the applications of jobs by their keys, of several the one that has not
// ended.
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
