package hadoop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/store/cluster"
)

// fakeClient plays Hadoop's client, which prints lines recorded on a real cluster, and
// a cluster with applications.
type fakeClient struct {
	t *testing.T
	// submit plays `mapred pipes`.
	submit func(ctx context.Context, line func(string)) error
	// reports are the successive reports of `yarn application -status`, by application.
	// The last report is repeated.
	reports map[string][]*report

	mu     sync.Mutex
	calls  []string
	job    string // properties of the submitted job
	killed []string
}

var errExit = errors.New("exit status 1")

func (f *fakeClient) run(ctx context.Context, line func(string), name string, args ...string) error {
	f.mu.Lock()
	f.calls = append(f.calls, strings.Join(append([]string{filepath.Base(name)}, args...), " "))
	f.mu.Unlock()
	switch {
	case args[0] == "pipes":
		b, err := os.ReadFile(args[2])
		if err != nil {
			f.t.Error(err)
		}
		f.job = string(b)
		return f.submit(ctx, line)
	case args[1] == "-kill":
		f.killed = append(f.killed, args[2])
		return nil
	case args[1] == "-list":
		line("Total number of applications")
		for _, all := range f.reports {
			if r := all[0]; slices.Contains(strings.Split(args[5], ","), tag(keyOf(r.name))) {
				line(strings.Join([]string{r.id, r.name, "MAPREDUCE", "etl", "q", r.state, r.final, fmt.Sprint(r.percent, "%"), "N/A"}, "\t"))
			}
		}
		return nil
	}
	all := f.reports[args[2]]
	if len(all) == 0 {
		line("Application with id '" + args[2] + "' doesn't exist in RM or Timeline Server.")
		return errExit
	}
	r := all[0]
	if len(all) > 1 {
		f.reports[args[2]] = all[1:]
	}
	for _, l := range []string{"Application Report : ", "\tApplication-Id : " + r.id, "\tApplication-Name : " + r.name, "\tProgress : " + fmt.Sprint(r.percent, "%"),
		"\tState : " + r.state, "\tFinal-State : " + r.final, "\tTracking-URL : N/A", "\tDiagnostics : " + strings.Join(r.why, "\n"), "\tUnmanaged Application : false"} {
		line(l)
	}
	return nil
}

// replay returns a client that prints a recording and ends with end. If until is not empty,
// the client prints only lines up to the first that contains until. With errStays it runs
// until it is stopped.
func replay(t *testing.T, name, until string, end error) func(context.Context, func(string)) error {
	return func(ctx context.Context, line func(string)) error {
		for _, l := range readRecording(t, name) {
			line(l)
			if until != "" && strings.Contains(l, until) {
				break
			}
		}
		if end != errStays {
			return end
		}
		<-ctx.Done()
		return ctx.Err()
	}
}

// errStays makes replay return a client that runs until it is stopped.
var errStays = errors.New("waits")

// rig is an engine on a fake cluster.
type rig struct {
	*Engine
	t        *testing.T
	client   *fakeClient
	st       *ownedStore
	batch    task.Batch
	notified []task.RemoteJob
	progress []task.Progress
	log      bytes.Buffer
}

const rigKey = "c0ffee"

func newRig(t *testing.T, change func(*Options)) *rig {
	t.Helper()
	r := &rig{t: t, client: &fakeClient{t: t, reports: map[string][]*report{}}, st: newOwnedStore()}
	exe := filepath.Join(t.TempDir(), "exe")
	testenv.Must(t, os.WriteFile(exe, []byte("a program"), 0o700))
	o := Options{
		RemoteOptions: task.RemoteOptions{
			Resolve: resolveTo(r.st), Program: "1.2.3", Run: rigKey, Memory: 64 << 20, Workers: 2, StoreRetry: time.Minute,
			Log: slog.New(slog.NewTextHandler(&r.log, nil)), OnJob: func(a task.RemoteJob) { r.notified = append(r.notified, a) },
		},
		Home: homeLocation, TempDir: t.TempDir(),
	}
	if change != nil {
		change(&o)
	}
	c := &client{runner: r.client, mapred: "/h/bin/mapred", yarn: "/h/bin/yarn", patience: o.StoreRetry, log: o.Log}
	r.Engine = &Engine{o: o, client: c, site: cluster.NewConf(nil), exe: exe}
	const s = 1 << 20
	r.batch = newBatch("00ff", s, manifest.Input{Path: "hdfs://nn/in/a", Size: 3 * s}, manifest.Input{Path: "hdfs://nn/in/_b", Size: s})
	testenv.Must(t, mkdirs(t.Context(), r.st, r.batch.Dir))
	return r
}

func (r *rig) run(ctx context.Context) error {
	return r.Run(ctx, []task.Batch{{Plan: &manifest.Plan{ID: "done"}}, r.batch}, func(p task.Progress) { r.progress = append(r.progress, p) })
}

// jobDirs returns the names of the directories of jobs.
func (r *rig) jobDirs() (names []string) {
	r.t.Helper()
	infos, err := r.st.List(context.Background(), "/user/etl/.rowtocol")
	if err != nil {
		r.t.Error(err)
	}
	for _, info := range infos {
		if info.Dir {
			names = append(names, info.Name)
		}
	}
	return names
}

func (r *rig) report(id, key, state, final string, percent int) *report {
	return &report{id: id, name: jobName(key, r.batch.Plan.Dest), state: state, final: final, percent: percent}
}

// writeFailure writes a document about a task that failed.
func (r *rig) writeFailure(f task.Failed) {
	r.t.Helper()
	f.Version, f.Run = 1, rigKey
	if err := f.Write(context.Background(), r.st, r.batch.Dir); err != nil {
		r.t.Fatal(err)
	}
}

func TestRun(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Queue = "etl" })
	play := replay(t, "success", "", nil)
	r.client.submit = func(ctx context.Context, line func(string)) error {
		if got := r.jobDirs(); !slices.Equal(got, []string{"job-" + rigKey}) {
			t.Errorf("got job directories %v", got)
		}
		for _, p := range []string{"tasks", "plans.json", "carriers/0-00003"} {
			if info, err := r.st.Stat(ctx, path.Join("/user/etl/.rowtocol/job-"+rigKey, p)); err != nil || info.Size == 0 {
				t.Errorf("%s: %+v, %v", p, info, err)
			}
		}
		testenv.Must(t, r.st.WriteFile(ctx, path.Join(r.batch.Dir, manifest.TaskName(2)), nil, true))
		return play(ctx, line)
	}
	testenv.Must(t, r.run(t.Context()))
	if first := r.progress[0]; first != (task.Progress{Waiting: "YARN (queue etl, application_1795425022941_0003)"}) {
		t.Errorf("got first progress %+v", first)
	}
	if next := r.progress[1]; next != (task.Progress{Tasks: 1}) {
		t.Errorf("got next progress %+v", next)
	}
	for _, want := range []string{"<value>rowtocol-c0ffee</value>", "<value>etl</value>", "/carriers</value>", "job-c0ffee/tasks#rowtocol-tasks"} {
		if !strings.Contains(r.client.job, want) {
			t.Errorf("the job's properties lack %s:\n%s", want, r.client.job)
		}
	}
	if len(r.notified) != 2 || r.notified[0].State != "" || r.notified[0].ID != "application_1795425022941_0003" || r.notified[0].Tasks != 4 || r.notified[0].Bytes != 4<<20 || r.notified[1].State != succeeded || r.notified[1].Counters["rowtocol"]["rows"] != 82 {
		t.Errorf("notified %+v", r.notified)
	}
	if last := r.progress[len(r.progress)-1]; last != (task.Progress{Rows: 82, Bytes: 4 << 20, Tasks: 4}) {
		t.Errorf("got last progress %+v", last)
	}
	if !slices.IsSortedFunc(r.progress, func(a, b task.Progress) int { return int(a.Bytes - b.Bytes) }) {
		t.Errorf("progress goes backwards: %v", r.progress)
	}
	if len(r.jobDirs()) != 0 || len(r.client.calls) != 1 {
		t.Errorf("jobs left %v after %q", r.jobDirs(), r.client.calls)
	}
	if left, err := os.ReadDir(r.o.TempDir); err != nil || len(left) != 0 {
		t.Errorf("temporary files left: %v, %v", left, err)
	}
	r.client.submit = play
	// Another job of the same run has another name.
	if err := r.run(t.Context()); err != nil || !strings.Contains(r.client.job, "<value>rowtocol-c0ffee-2</value>") {
		t.Errorf("%v:\n%s", err, r.client.job)
	}
	if err := r.Run(t.Context(), nil, nil); err != nil {
		t.Errorf("nothing to do: %v", err)
	}
}

// TestRunFails checks the errors of Run with recordings of failures on a real cluster.
func TestRunFails(t *testing.T) {
	attempt := func(n int) string { return fmt.Sprintf("attempt_1795425022941_0004_m_%06d_0", n) }
	for name, tt := range map[string]struct {
		recording string
		left      []task.Failed
		kind      error
		words     string
		task      int // -1 if no task failed
	}{
		"task": {"failed", []task.Failed{
			{Job: "application_1795425022941_0004", Attempt: attempt(2), Host: "node7", Task: 2, Kind: "storage", Message: "no data node"},
			{Job: "application_1795425022941_0004", Attempt: attempt(1), Host: "node8", Task: 1, Kind: "input", Message: "block 3 is damaged"},
			{Job: "application_1795425022941_0003", Attempt: "attempt_1795425022941_0003_m_000000_0", Task: 0, Kind: "usage", Message: "of another job"},
		}, failure.Input, "block 3 is damaged (" + attempt(1) + " on node8)", 1},
		"no documents": {"failed", nil, failure.Storage, "yarn logs -applicationId application_1795425022941_0004", -1},
		"killed":       {"killed", nil, failure.Refused, "was killed, and the work of its finished tasks stays: Application application_1795425022941_0005 was killed by user", -1},
		"containers":   {"toolarge", nil, failure.Usage, "--memory and --workers", -1},
		"master":       {"amlarge", nil, failure.Usage, "Requested resource type=[memory-mb]", -1},
		"queue":        {"queue", nil, failure.Refused, "unknown queue: nosuch", -1},
		"no cluster":   {"rmdown", nil, failure.Storage, "Connection refused", -1},
	} {
		r := newRig(t, nil)
		r.client.submit = replay(t, tt.recording, "", errExit)
		for _, f := range tt.left {
			r.writeFailure(f)
		}
		// YARN knows an application that it refused.
		r.client.reports["application_1795425022941_0007"] = []*report{r.report("application_1795425022941_0007", rigKey, failed, failed, 0)}
		err := r.run(t.Context())
		if !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.words) {
			t.Errorf("%s: got %v of kind %v, want %v with %q", name, err, failure.KindOf(err), tt.kind, tt.words)
		}
		if f := (*task.Failure)(nil); errors.As(err, &f) != (tt.task >= 0) || f != nil && (f.Task != tt.task || f.Plan != "00ff") {
			t.Errorf("%s: got %#v, want task %d", name, f, tt.task)
		}
		if len(r.jobDirs()) != 0 {
			t.Errorf("%s: jobs left %v", name, r.jobDirs())
		}
		// A client reports 100 % of a job that ran no task.
		if n := len(r.progress); n > 0 && r.progress[n-1] != (task.Progress{}) {
			t.Errorf("%s: got last progress %+v", name, r.progress[n-1])
		}
	}
}

// TestClientCannotRun checks that the error is failure.Usage if the scripts of Hadoop's client
// find no Java.
func TestClientCannotRun(t *testing.T) {
	for name, script := range map[string]string{
		"no java on the PATH": "echo 'mapred: line 3: java: command not found' >&2; exit 127",
		"not executable":      "echo 'mapred: java: Permission denied' >&2; exit 126",
		"no JAVA_HOME":        "echo 'ERROR: JAVA_HOME is not set and could not be found.' >&2; exit 1",
	} {
		r := newRig(t, nil)
		r.client.submit = func(ctx context.Context, line func(string)) error {
			return (&commands{os.Environ()}).run(ctx, line, "/bin/sh", "-c", script)
		}
		err := r.run(t.Context())
		if !errors.Is(err, failure.Usage) || !strings.Contains(err.Error(), "does not run on this machine") || !strings.Contains(strings.ToLower(err.Error()), "java") {
			t.Errorf("%s: got %v of kind %v", name, err, failure.KindOf(err))
		}
		if len(r.jobDirs()) != 0 {
			t.Errorf("%s: jobs left %v", name, r.jobDirs())
		}
	}
}

// TestTokens checks that no job is started on a secure cluster if its tasks cannot reach
// their files with tokens, by the configuration of the job.
func TestTokens(t *testing.T) {
	t.Setenv("KRB5_CONFIG", filepath.Join(t.TempDir(), "none"))
	nn := map[string]string{"dfs.nameservices": "nn", "dfs.namenode.rpc-address.nn": "h:8020"}
	for name, tt := range map[string]struct {
		method string
		site   map[string]string
		user   []property
		words  string
	}{
		"reachable":       {"kerberos", nn, nil, ""},
		"unknown":         {"kerberos", map[string]string{"dfs.namenode.http-address": "other:9870"}, nil, "hdfs://nn"},
		"a user's policy": {"kerberos", nn, []property{{"dfs.http.policy", "NONE"}}, "dfs.http.policy is NONE"},
		"not secure":      {"simple", nn, []property{{"dfs.http.policy", "NONE"}}, ""},
	} {
		login, err := cluster.NewLogin(cluster.NewConf(map[string]string{"hadoop.security.authentication": tt.method}), cluster.LoginOptions{User: "etl"})
		testenv.Must(t, err)
		defer login.Close()
		r := newRig(t, func(o *Options) { o.Login = login })
		r.site, r.user = cluster.NewConf(tt.site), tt.user
		r.client.submit = replay(t, "killed", "", errExit)
		err = r.run(t.Context())
		refused := errors.Is(err, failure.Usage) && strings.Contains(err.Error(), tt.words)
		if submitted := len(r.client.calls) > 0; submitted != (tt.words == "") || refused != (tt.words != "") || len(r.jobDirs()) != 0 {
			t.Errorf("%s: got %v, submitted %v, jobs left %v", name, err, submitted, r.jobDirs())
		}
	}
}

// TestSilentCluster checks that Run fails, and leaves no job's directory, if the cluster never
// answers.
func TestSilentCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.client.submit = func(ctx context.Context, line func(string)) error {
			for i := 0; i < 300 && ctx.Err() == nil; i++ {
				line("INFO ipc.Client: Retrying connect to server: rm/10.0.0.1:8032. Already tried 3 time(s)")
				time.Sleep(time.Second)
			}
			return errExit
		}
		began := time.Now()
		err := r.run(t.Context())
		if !errors.Is(err, failure.Storage) || !strings.Contains(err.Error(), "did not answer") || time.Since(began) > 70*time.Second {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
		if len(r.client.calls) != 1 || len(r.jobDirs()) != 0 {
			t.Errorf("calls %q, jobs left %v", r.client.calls, r.jobDirs())
		}
	})
}

// TestClientGone checks that Run follows a job whose client ended long before the job.
func TestClientGone(t *testing.T) {
	const id = "application_1795425022941_0005"
	for name, tt := range map[string]struct {
		until string // the last line of the recording that the client printed
		last  *report
		kind  error
		words string
	}{
		"succeeded":   {"map 0%", &report{state: "FINISHED", final: succeeded}, nil, ""},
		"killed":      {"map 0%", &report{state: killed, final: killed, why: []string{"by somebody"}}, failure.Refused, "by somebody"},
		"no ID":       {"number of splits", &report{state: "FINISHED", final: succeeded}, nil, ""},
		"unknown end": {"map 0%", nil, failure.Storage, "is not known"},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, nil)
			staging := "/tmp/hadoop-yarn/staging/etl/.staging/" + jobID(id)
			testenv.Must(t, mkdirs(t.Context(), r.st, staging))
			r.client.submit = replay(t, "killed", tt.until, errors.New("signal: killed"))
			if tt.last != nil {
				tt.last.id, tt.last.name = id, jobName(rigKey, "x")
				r.client.reports[id] = []*report{r.report(id, rigKey, "RUNNING", "UNDEFINED", 50), r.report(id, rigKey, "RUNNING", "UNDEFINED", 30), tt.last}
			}
			err := r.run(t.Context())
			if failure.KindOf(err) != tt.kind || err != nil && !strings.Contains(err.Error(), tt.words) {
				t.Errorf("%s: got %v, want %v with %q", name, err, tt.kind, tt.words)
			}
			if _, err := r.st.Stat(t.Context(), staging); tt.last != nil && err == nil {
				t.Errorf("%s: Hadoop's files of the job are left", name)
			}
			if tt.last != nil && (len(r.jobDirs()) != 0 || !slices.ContainsFunc(r.progress, func(p task.Progress) bool { return p.Bytes == 2<<20 })) {
				t.Errorf("%s: jobs left %v, progress %v", name, r.jobDirs(), r.progress)
			}
		})
	}
}

func TestInterrupt(t *testing.T) {
	const id = "application_1795425022941_0005"
	stop := errors.New("stopped")
	for name, until := range map[string]string{"running": "map 0%", "submitted but not reported": "number of splits"} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, nil)
			r.client.submit = replay(t, "killed", until, errStays)
			r.client.reports[id] = []*report{r.report(id, rigKey, "RUNNING", "UNDEFINED", 50)}
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(10*time.Second, func() { cancel(stop) })
			if err := r.run(ctx); !errors.Is(err, stop) || !strings.HasSuffix(err.Error(), id+" is killed") {
				t.Errorf("%s: got %v, want %v and the job", name, err, stop)
			}
			if !slices.Equal(r.client.killed, []string{id}) || len(r.jobDirs()) != 0 {
				t.Errorf("%s: killed %v, jobs left %v", name, r.client.killed, r.jobDirs())
			}
		})
	}
}

// TestEarlierJob checks that Run follows the running job of an earlier run, and removes the
// directories of jobs that have ended.
func TestEarlierJob(t *testing.T) {
	const id = "application_1_0001"
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.client.submit = replay(t, "success", "", nil)
		other := r.batch
		other.Plan = &manifest.Plan{ID: "another", Dest: "hdfs://nn/x"}
		other.Numbers, other.Dir = nil, r.batch.Dir
		published := other
		published.Dir = "/elsewhere/.rowtocol/plan-another"
		h, err := openHome(t.Context(), r.o.Resolve, r.o.Home)
		testenv.Must(t, err)
		makeJob := func(key string, b task.Batch, reports ...*report) {
			if err := h.makeJob(t.Context(), Job{Run: key}, nil, &layout{}, newJobPlans(key, key, []task.Batch{b})); err != nil {
				t.Fatal(err)
			}
			if len(reports) > 0 {
				r.client.reports[reports[0].id] = reports
			}
		}
		makeJob("ended", r.batch, r.report("application_1_0002", "ended", "FINISHED", failed, 100))
		makeJob("other", other, r.report("application_1_0003", "other", "RUNNING", "UNDEFINED", 1))
		makeJob("attachable", other, r.report("application_1_0004", "attachable", "FINISHED", succeeded, 100))
		makeJob("published", published, r.report("application_1_0005", "published", "FINISHED", succeeded, 100))
		makeJob("lost", published)
		makeJob("going", published, r.report("application_1_0006", "going", "RUNNING", "UNDEFINED", 100))
		makeJob("about", r.batch)
		makeJob("ours", r.batch, r.report(id, "ours", "RUNNING", "UNDEFINED", 10), r.report(id, "ours", "RUNNING", "UNDEFINED", 60), r.report(id, "ours", "FINISHED", succeeded, 100))
		testenv.Must(t, r.run(t.Context()))
		if len(r.notified) != 2 || !r.notified[0].Found || r.notified[0].ID != id || r.notified[1].State != succeeded || r.client.job != "" {
			t.Errorf("notified %+v, started %q", r.notified, r.client.job)
		}
		if got := r.jobDirs(); !slices.Equal(got, []string{"job-about", "job-attachable", "job-going", "job-other"}) {
			t.Errorf("jobs left %v", got)
		}
		// Old directories are removed, except those of running jobs.
		time.Sleep(jobDirMaxAge + time.Hour)
		testenv.Must(t, r.run(t.Context()))
		if got := r.jobDirs(); !slices.Equal(got, []string{"job-going", "job-other"}) || r.client.job == "" {
			t.Errorf("jobs left %v", got)
		}
	})
}

// TestTasksOfEarlierJob checks that a run that follows the job of an earlier run counts only the
// tasks that were not done when it began.
func TestTasksOfEarlierJob(t *testing.T) {
	const id = "application_1_0001"
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		h, err := openHome(t.Context(), r.o.Resolve, r.o.Home)
		testenv.Must(t, err)
		testenv.Must(t, h.makeJob(t.Context(), Job{Run: "ours"}, nil, &layout{}, newJobPlans("ours", "ours", []task.Batch{r.batch})))
		running := r.report(id, "ours", "RUNNING", "UNDEFINED", 75)
		r.client.reports[id] = []*report{running, running, r.report(id, "ours", "FINISHED", succeeded, 100)}
		for n := range 3 { // two before this run began, and one after
			testenv.Must(t, r.st.WriteFile(t.Context(), path.Join(r.batch.Dir, manifest.TaskName(n)), nil, false))
		}
		r.batch.Numbers = r.batch.Numbers[2:]
		testenv.Must(t, r.run(t.Context()))
		var tasks []int
		for _, p := range r.progress {
			tasks = append(tasks, p.Tasks)
		}
		if !slices.Equal(tasks, []int{1, len(r.batch.Numbers)}) {
			t.Errorf("tasks done: %v", tasks)
		}
	})
}

// A later run removes the file of a killed one, and not that of a run that lives.
func TestJobFile(t *testing.T) {
	r, killed := newRig(t, nil), newRig(t, nil)
	living, dead := &running{}, filepath.Join(r.o.TempDir, "rowtocol-job-1.xml")
	testenv.Must(t, os.WriteFile(dead, nil, 0o600))
	killed.o.TempDir = r.o.TempDir
	none := func(io.Writer) error { return nil }
	testenv.Must(t, r.writeJobFile(living, none))
	j := &running{}
	testenv.Must(t, killed.writeJobFile(j, none))
	for _, c := range []struct {
		name string
		is   bool
	}{{dead, false}, {living.file.Name(), true}, {j.file.Name(), true}} {
		if _, err := os.Stat(c.name); (err == nil) != c.is {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	j.removeFile()
	living.removeFile()
	if left, err := os.ReadDir(r.o.TempDir); len(left) != 0 || err != nil {
		t.Errorf("left %v, %v", left, err)
	}
}

func (r *rig) home(t *testing.T) *home {
	t.Helper()
	h, err := openHome(t.Context(), r.o.Resolve, r.o.Home)
	testenv.Must(t, err)
	return h
}

func TestCancel(t *testing.T) {
	const id = "application_1795425022941_0005"
	r := newRig(t, func(o *Options) { o.Detach = true })
	r.client.submit = replay(t, "killed", "Running job", errStays)
	if err := r.run(t.Context()); err != task.ErrDetached {
		t.Fatal(err)
	}
	// The job of a run that succeeded waits to be published.
	r.client.reports[id] = []*report{r.report(id, rigKey, "FINISHED", succeeded, 100)}
	if j, err := r.Cancel(t.Context(), id); err != nil || j.State != succeeded || len(r.client.killed) != 0 || len(r.jobDirs()) != 1 {
		t.Errorf("a job that has ended: %+v, %v, killed %v, jobs left %v", j, err, r.client.killed, r.jobDirs())
	}
	r.client.reports[id] = []*report{r.report(id, rigKey, "RUNNING", "UNDEFINED", 10)}
	if j, err := r.Cancel(t.Context(), jobID(id)); err != nil || j.State != "" || j.ID != id || !slices.Equal(r.client.killed, []string{id}) || len(r.jobDirs()) != 0 {
		t.Errorf("%+v, %v, killed %v, jobs left %v", j, err, r.client.killed, r.jobDirs())
	}
	r.client.reports[id] = []*report{{id: id, name: "word count", state: "RUNNING"}}
	if _, err := r.Cancel(t.Context(), id); !errors.Is(err, failure.Usage) || len(r.client.killed) != 1 {
		t.Errorf("another program's job: %v, killed %v", err, r.client.killed)
	}
}

func TestDetachAndAttach(t *testing.T) {
	const id = "application_1795425022941_0005"
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(o *Options) { o.Detach = true })
		r.client.submit = replay(t, "killed", "Running job", errStays)
		if err := r.run(t.Context()); err != task.ErrDetached {
			t.Fatal(err)
		}
		if len(r.notified) != 1 || r.notified[0].ID != id || !slices.Equal(r.jobDirs(), []string{"job-" + rigKey}) || len(r.client.killed) != 0 {
			t.Errorf("notified %+v, jobs left %v, killed %v", r.notified, r.jobDirs(), r.client.killed)
		}
		r.client.reports[id] = []*report{r.report(id, rigKey, "RUNNING", "UNDEFINED", 10)}
		if err := r.run(t.Context()); err != task.ErrDetached || len(r.notified) != 2 || !r.notified[1].Found {
			t.Errorf("second run: got %v, notified %+v", err, r.notified)
		}
		r.o.Detach, r.o.Run = false, "another"
		r.client.reports[id] = []*report{r.report(id, rigKey, "RUNNING", "UNDEFINED", 10), r.report(id, rigKey, "FINISHED", failed, 100)}
		r.writeFailure(task.Failed{Job: id, Attempt: "attempt_1795425022941_0005_m_000001_0", Task: 1, Kind: "input", Message: "damaged"})
		got, err := r.Attach(t.Context(), jobID(id), nil)
		if f := (*task.Failure)(nil); !errors.As(err, &f) || f.Plan != "00ff" || f.Task != 1 {
			t.Errorf("%v", err)
		}
		if a := r.notified[2]; !a.Found || a.Bytes == 0 {
			t.Errorf("notified of %+v, want a found job with its size", a)
		}
		if len(got) != 1 || got[0] != (task.Attached{Dest: "hdfs://nn/00ff", PlanID: "00ff"}) || len(r.jobDirs()) != 0 {
			t.Errorf("got %+v, jobs left %v", got, r.jobDirs())
		}
		if _, err := r.Attach(t.Context(), id, nil); !errors.Is(err, failure.Usage) || !strings.Contains(err.Error(), "was already followed to its end") {
			t.Errorf("a job that was followed: got %v", err)
		}
		// The scheduler tries again after another run published the output.
		r.client.reports[id] = []*report{r.report(id, rigKey, "FINISHED", succeeded, 100)}
		if got, err := r.Attach(t.Context(), id, nil); err != nil || len(got) != 1 || got[0].PlanID != "00ff" {
			t.Errorf("a job that succeeded and was followed: got %+v, %v", got, err)
		}
		time.Sleep(jobDirMaxAge + time.Hour)
		_, err = r.findEarlier(t.Context(), r.home(t), []task.Batch{r.batch})
		testenv.Must(t, err)
		if _, err := r.Attach(t.Context(), id, nil); !errors.Is(err, failure.Usage) {
			t.Errorf("after a week: got %v", err)
		}
		r.client.reports["application_1_0009"] = []*report{{id: "application_1_0009", name: "word count", state: "RUNNING"}}
		for id, words := range map[string]string{"application_1_0009": "not a job of rowtocol", "application_9_9999": "does not know it", "plan-1": "not the ID"} {
			if _, err := r.Attach(t.Context(), id, nil); !errors.Is(err, failure.Usage) || !strings.Contains(err.Error(), words) {
				t.Errorf("%s: got %v, want %q", id, err, words)
			}
		}
	})
}
