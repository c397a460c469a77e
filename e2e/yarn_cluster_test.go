package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/e2e/hadooptest"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/location"
)

const (
	// taskMemory is the --memory of the tasks of these tests.
	taskMemory = 64 << 20
	// processMemory is the memory that a process may take besides --memory.
	processMemory = 48 << 20
)

// yarn is a cluster that runs tasks, and records of their processes.
type yarn struct {
	*hadooptest.Cluster
	resolver *location.Resolver
	dirs     atomic.Int32

	mu       sync.Mutex
	children map[int]*childSeen // by process
}

// childSeen is the record of a child.
type childSeen struct {
	first, last time.Time
	peak        int64 // resident bytes
	wrote       int64 // bytes written to the local disk
}

// newYARN returns a cluster that runs tasks. The programs that the test runs find its client
// in the environment.
func newYARN(t *testing.T, c *hadooptest.Cluster) *yarn {
	t.Helper()
	y := &yarn{Cluster: c, children: map[int]*childSeen{}}
	t.Setenv("HADOOP_CONF_DIR", y.ConfDir())
	t.Setenv("HADOOP_HOME", y.Home())
	y.resolver = location.New(location.Options{Patience: store.Patience{Limit: time.Minute}})
	t.Cleanup(func() { _ = y.resolver.Close() })
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		y.watch(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	return y
}

// watch records the children until ctx ends.
func (y *yarn) watch(ctx context.Context) {
	for ctx.Err() == nil {
		all, _ := y.Processes() // on an error, the next call counts
		for _, p := range all {
			if p.Child() {
				y.record(p.PID)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(30 * time.Millisecond):
		}
	}
}

// record records a child, which may end meanwhile.
func (y *yarn) record(pid int) {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	io, _ := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	y.mu.Lock()
	defer y.mu.Unlock()
	c := y.children[pid]
	if c == nil {
		c = &childSeen{first: time.Now()}
		y.children[pid] = c
	}
	c.last = time.Now()
	c.peak = max(c.peak, field(status, "VmHWM:")<<10)
	c.wrote = max(c.wrote, field(io, "write_bytes:"))
}

// field returns the number after a name in a text of the kernel; 0 if the name is absent.
func field(text []byte, name string) (n int64) {
	if _, rest, ok := bytes.Cut(text, []byte("\n"+name)); ok {
		_, _ = fmt.Sscan(string(rest), &n) // 0
	}
	return n
}

// measured sums up the children since a moment: their number and life, the peak memory of
// the largest, and the bytes written to the local disk.
func (y *yarn) measured(since time.Time) (n int, lived time.Duration, peak, wrote int64) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, c := range y.children {
		if c.first.After(since) {
			n++
			lived += c.last.Sub(c.first)
			peak = max(peak, c.peak)
			wrote += c.wrote
		}
	}
	return n, lived, peak, wrote
}

// wantSmall fails the test unless all children kept to their budget, by the kernel's
// account.
func (y *yarn) wantSmall(t *testing.T) {
	t.Helper()
	children, _, peak, _ := y.measured(time.Time{})
	t.Logf("%d children, the largest with %d MiB", children, peak>>20)
	if limit := int64(taskMemory + processMemory); children == 0 || peak > limit {
		t.Errorf("the largest of %d children took %d bytes, want at most %d", children, peak, limit)
	}
}

// locate returns a location on the cluster.
func (y *yarn) locate(t *testing.T, uri string) store.Location {
	t.Helper()
	l, err := y.resolver.Resolve(uri)
	must(t, err)
	return l
}

// dir makes a directory and returns its URI.
func (y *yarn) dir(t *testing.T) string {
	t.Helper()
	uri := fmt.Sprintf("%s/dir-%d", y.URI(), y.dirs.Add(1))
	at := y.locate(t, uri)
	must(t, at.Store.Mkdir(t.Context(), at.Path))
	return uri
}

// put writes a file into a directory.
func (y *yarn) put(t *testing.T, dir, name string, content []byte) {
	t.Helper()
	at := y.locate(t, dir)
	must(t, at.Store.WriteFile(t.Context(), path.Join(at.Path, name), content, false))
}

// putFile copies a local file.
func (y *yarn) putFile(t *testing.T, dir, name, file string) {
	t.Helper()
	content, err := os.ReadFile(file)
	must(t, err)
	y.put(t, dir, name, content)
}

// wantClean fails the test unless all files of jobs are removed soon. The cluster itself
// removes some after a job has ended.
func (y *yarn) wantClean(t *testing.T) {
	t.Helper()
	var left []string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if left = y.leftovers(t); len(left) == 0 {
			return
		}
	}
	t.Errorf("left over:\n%s", strings.Join(left, "\n"))
	for _, file := range left { // so that other tests do not find it
		if strings.HasPrefix(file, "/tmp/hadoop-yarn/") || strings.HasPrefix(file, "/user/") {
			must(t, y.locate(t, y.URI()+"/").Store.RemoveAll(t.Context(), file))
		}
	}
}

// leftovers returns the files of jobs, except the program and the documents about ended jobs.
func (y *yarn) leftovers(t *testing.T) (left []string) {
	t.Helper()
	all, err := y.Processes()
	must(t, err)
	for _, p := range all {
		left = append(left, p.String())
	}
	local, err := filepath.Glob(filepath.Join(filepath.Dir(y.ConfDir()), "nodes", "*", "usercache", "*", "appcache", "*"))
	must(t, err)
	left = append(left, local...)
	for _, pattern := range []string{"/user/*/.rowtocol/*", "/tmp/hadoop-yarn/staging/*/.staging/*"} {
		root := y.locate(t, y.URI()+"/")
		for _, file := range glob(t.Context(), root, strings.TrimPrefix(pattern, "/")) {
			if name := path.Base(file); !strings.HasPrefix(name, "rowtocol-") && !strings.HasPrefix(name, "ended-") {
				left = append(left, file)
			}
		}
	}
	return left
}

// newest returns the job that started last.
func (y *yarn) newest(t *testing.T) (a hadooptest.Application) {
	t.Helper()
	all, err := y.Applications(t.Context())
	must(t, err)
	for _, one := range all {
		if one.ID > a.ID {
			a = one
		}
	}
	return a
}

// jobs returns the number of jobs so far.
func (y *yarn) jobs(t *testing.T) int {
	t.Helper()
	all, err := y.Applications(t.Context())
	must(t, err)
	return len(all)
}

// submittable is a conversion of files on the cluster, and its output.
type submittable struct {
	site
	y      *yarn
	inputs []string
	rows   int64
	tasks  int
	size   int64 // of the output
}

// submittable converts inputs on this machine. A job must make the same output.
func (y *yarn) submittable(t *testing.T, inputs []string, flags ...string) *submittable {
	t.Helper()
	s := y.newSubmittable(inputs, flags...)
	s.local(t, 0)
	return s
}

// newSubmittable returns a conversion whose output is not known yet.
func (y *yarn) newSubmittable(inputs []string, flags ...string) *submittable {
	flags = append([]string{"--memory", fmt.Sprint(taskMemory), "--workers=1"}, flags...)
	return &submittable{site: site{Cluster: y.Cluster, resolver: y.resolver, flags: flags}, y: y, inputs: inputs}
}

// local makes the wanted output on this machine, with an exit code.
func (s *submittable) local(t *testing.T, code int) {
	t.Helper()
	dest := filepath.Join(t.TempDir(), "out")
	r := run(t, append(append([]string{"convert", "--json"}, s.flags...), append(s.inputs, dest)...)...).want(t, code)
	var answer submitReport
	must(t, json.Unmarshal([]byte(r.stdout), &answer))
	s.rows, s.tasks, s.size = answer.Result.Rows, answer.Result.Tasks, answer.Result.Bytes+answer.Result.IndexBytes
	s.want = map[string]string{}
	for name, content := range plain(t, tree(t, dest)) {
		s.want[name] = digest([]byte(content))
	}
}

// submitReport is the report of submit.
type submitReport struct {
	Exit   int
	Status string
	Error  *struct{ Message string }
	Result struct {
		Rows, Bytes  int64
		Tasks        int
		ResumedTasks int   `json:"resumed_tasks"`
		IndexBytes   int64 `json:"index_bytes"`
		Nothing      bool
		Seconds      float64
		Application  string
		Job          string
		TrackingURL  string `json:"tracking_url"`
		Detached     bool
		Cancelled    bool
		Counters     map[string]map[string]int64
		Losses       []manifest.Loss
	}
}

// counter returns a counter of a job, by the name that Hadoop shows.
func (r submitReport) counter(name string) (n int64) {
	for _, group := range r.Result.Counters {
		n += group[name]
	}
	return n
}

// submission is a submit that has started.
type submission struct {
	*running
	stdout *bytes.Buffer
}

// start submits the conversion.
func (s *submittable) start(t *testing.T, dest string, more ...string) *submission {
	t.Helper()
	args := append(append([]string{"submit", "--json"}, s.flags...), more...)
	return startSubmit(t, append(append(args, s.inputs...), dest)...)
}

func startSubmit(t *testing.T, args ...string) *submission {
	t.Helper()
	cmd, stdout := command(args...), &bytes.Buffer{}
	cmd.Stdout = stdout
	return &submission{launch(t, cmd), stdout}
}

// end waits for the exit code, and returns the report.
func (s *submission) end(t *testing.T, code int) (r submitReport) {
	t.Helper()
	s.running.want(t, code)
	if err := json.Unmarshal(s.stdout.Bytes(), &r); err != nil {
		t.Fatalf("%v in\n%s\n%s", err, s.stdout, tail(s.stderr.String()))
	}
	return r
}

// submit runs the conversion to its end.
func (s *submittable) submit(t *testing.T, dest string, code int, more ...string) submitReport {
	t.Helper()
	return s.start(t, dest, more...).end(t, code)
}

// find waits for a process in a container for which match is true.
func (y *yarn) find(t *testing.T, s *submission, what string, match func(hadooptest.Process) bool) (found hadooptest.Process) {
	t.Helper()
	s.waitFor(t, what, func() bool {
		all, err := y.Processes()
		must(t, err)
		for _, p := range all {
			if match(p) {
				found = p
				return true
			}
		}
		return false
	})
	return found
}

// waitFor waits until a condition is true. It fails the test if the run ends earlier.
func (r *running) waitFor(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if so() {
			return
		}
		select {
		case <-r.ended:
			t.Fatalf("the run ended before this was true: %s\n%s", what, tail(r.stderr.String()))
		default:
		}
	}
	t.Fatalf("this did not become true: %s\n%s", what, tail(r.stderr.String()))
}

// working reports whether a process is a child that is connected to its Java and to HDFS. If
// a child ends before it is connected, Java waits until the task times out.
func working(p hadooptest.Process) bool {
	if !p.Child() {
		return false
	}
	dir := fmt.Sprintf("/proc/%d/fd/", p.PID)
	open, _ := os.ReadDir(dir) // it may have ended
	sockets := 0
	for _, f := range open {
		if to, _ := os.Readlink(dir + f.Name()); strings.HasPrefix(to, "socket:") {
			sockets++
		}
	}
	return sockets >= 2
}

// attempt returns the map task attempt of a container.
func (y *yarn) attempt(t *testing.T, container string) (java hadooptest.Process) {
	t.Helper()
	all, err := y.Processes()
	must(t, err)
	for _, p := range all {
		if p.Container == container && p.MapTask() != "" {
			return p
		}
	}
	t.Fatalf("no map task in %s", container)
	return java
}

// doneTasks returns the number of tasks with results in a destination.
func (y *yarn) doneTasks(t *testing.T, dest string) int {
	t.Helper()
	return len(glob(t.Context(), y.locate(t, dest), ".rowtocol/plan-*/task-*.json"))
}

// hold suspends a child once the given number of tasks is done.
func (y *yarn) hold(t *testing.T, s *submission, dest string, done int) hadooptest.Process {
	t.Helper()
	s.waitFor(t, fmt.Sprint(done, " tasks done"), func() bool { return y.doneTasks(t, dest) >= done })
	return y.stop(t, s)
}

// stop suspends any child.
func (y *yarn) stop(t *testing.T, s *submission) (child hadooptest.Process) {
	t.Helper()
	s.waitFor(t, "a child that could be stopped", func() bool {
		child = y.find(t, s, "a child at work", working)
		if syscall.Kill(child.PID, syscall.SIGSTOP) != nil {
			return false // it has just ended
		}
		for stop := time.Now().Add(10 * time.Second); time.Now().Before(stop); time.Sleep(time.Millisecond) {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child.PID))
			if i := bytes.LastIndexByte(stat, ')'); err != nil || bytes.HasPrefix(stat[i+1:], []byte(" Z")) {
				return false
			} else if bytes.HasPrefix(stat[i+1:], []byte(" T")) {
				return true
			}
		}
		return false
	})
	return child
}

// endedProcess reports whether a process is gone.
func endedProcess(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	i := bytes.LastIndexByte(stat, ')')
	return err != nil || bytes.HasPrefix(stat[i+1:], []byte(" Z"))
}
