package e2e

import (
	"bytes"
	"fmt"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/e2e/hadooptest"
)

// all returns the tests of a soak by name.
func (y *yarn) all() map[string]func(t *testing.T) {
	return map[string]func(t *testing.T){
		"mixed": y.mixed, "detached": y.detached, "interrupted": y.interrupted, "cancelled": y.cancelled,
		"killed child": func(t *testing.T) { y.childEnds(t, syscall.SIGKILL) },
		"child ends":   func(t *testing.T) { y.childEnds(t, syscall.SIGTERM, parquetFiles.flagsFor("2MiB", "4MiB")...) },
		"hung child":   y.hungChild, "killed Java": y.killedJava, "duplicate": y.duplicate, "killed master": y.killedMaster,
		"damaged": y.damaged, "damaged header": y.damagedHeader, "incremental": y.incremental, "partitioned": y.partitioned,
	}
}

// same fails the test unless a destination holds the output alone, and the cluster has no
// files of jobs.
func (s *submittable) same(t *testing.T, dest string) {
	t.Helper()
	s.wantComplete(t, dest)
	s.y.wantClean(t)
}

// childEnds ends a child before it reports that it is done.
func (y *yarn) childEnds(t *testing.T, signal syscall.Signal, flags ...string) {
	s := y.mail(t, flags...)
	dest := y.dir(t) + "/out"
	job := s.start(t, dest, "-D", "mapreduce.map.speculative=false")
	child := y.stop(t, job)
	must(t, syscall.Kill(child.PID, signal))
	must(t, syscall.Kill(child.PID, syscall.SIGCONT))
	if r := job.end(t, 0); r.counter("Failed map tasks") < 1 {
		t.Errorf("no attempt failed: %v", r.Result.Counters)
	}
	s.same(t, dest)
}

// hungChild suspends a child for good. Since it makes no progress, its attempt fails.
func (y *yarn) hungChild(t *testing.T) {
	s := y.mail(t)
	dest := y.dir(t) + "/out"
	job := s.start(t, dest, "-D", "mapreduce.task.timeout=15000", "-D", "mapreduce.task.timeout.check-interval-ms=1000",
		"-D", "mapreduce.map.speculative=false")
	child := y.stop(t, job)
	if r := job.end(t, 0); r.counter("Failed map tasks") < 1 {
		t.Errorf("no attempt failed: %v", r.Result.Counters)
	}
	if !endedProcess(child.PID) {
		t.Error("the child that hung still exists")
	}
	s.same(t, dest)
}

// killedJava kills the Java of a map task: its child must end.
func (y *yarn) killedJava(t *testing.T) {
	s := y.mail(t)
	dest := y.dir(t) + "/out"
	job := s.start(t, dest)
	child := y.stop(t, job)
	must(t, syscall.Kill(y.attempt(t, child.Container).PID, syscall.SIGKILL))
	_ = syscall.Kill(child.PID, syscall.SIGCONT) // the node manager may have killed it
	job.waitFor(t, "the child has ended", func() bool { return endedProcess(child.PID) })
	job.end(t, 0)
	s.same(t, dest)
}

// duplicate suspends a child until there is another attempt of its task, and then lets both
// finish.
func (y *yarn) duplicate(t *testing.T) {
	s := y.mail(t)
	dest := y.dir(t) + "/out"
	job := s.start(t, dest, "-D", "mapreduce.map.speculative=true",
		"-D", "mapreduce.job.speculative.retry-after-no-speculate=500", "-D", "mapreduce.job.speculative.retry-after-speculate=1000")
	child := y.stop(t, job)
	java := y.attempt(t, child.Container)
	task, ok := strings.CutSuffix(java.MapTask(), "_0")
	if !ok {
		t.Fatal(java.MapTask())
	}
	other := y.find(t, job, "a second attempt of "+task, func(p hadooptest.Process) bool {
		if p.Container == child.Container || !p.Child() {
			return false
		}
		for _, q := range y.processesIn(t, p.Container) {
			if strings.HasPrefix(q.MapTask(), task) {
				return true
			}
		}
		return false
	})
	_ = syscall.Kill(child.PID, syscall.SIGCONT) // it fails if the other one finished earlier
	t.Logf("processes %d and %d run the same task", child.PID, other.PID)
	r := job.end(t, 0)
	if got, want := r.counter("Launched map tasks"), int64(s.tasks); got <= want {
		t.Errorf("%d attempts of %d tasks", got, want)
	}
	s.same(t, dest)
}

// processesIn returns the processes of a container.
func (y *yarn) processesIn(t *testing.T, container string) (in []hadooptest.Process) {
	t.Helper()
	all, err := y.Processes()
	must(t, err)
	for _, p := range all {
		if p.Container == container {
			in = append(in, p)
		}
	}
	return in
}

// killedMaster kills the application master when a task is done and another is not.
func (y *yarn) killedMaster(t *testing.T) {
	s := y.mail(t)
	dest := y.dir(t) + "/out"
	job := s.start(t, dest)
	y.hold(t, job, dest, 1)
	master := y.find(t, job, "the master", hadooptest.Process.Master)
	jobs := y.jobs(t)
	must(t, syscall.Kill(master.PID, syscall.SIGKILL))
	job.end(t, 0)
	if y.jobs(t) != jobs {
		t.Errorf("%d jobs, not %d", y.jobs(t), jobs)
	}
	s.same(t, dest)
}

// interrupted sends the signals with which a scheduler stops a program. The job ends,
// readers see nothing, and the rerun runs the remaining tasks.
func (y *yarn) interrupted(t *testing.T) {
	for signal, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		t.Run(signal.String(), func(t *testing.T) {
			s := y.mail(t)
			dest := y.dir(t) + "/out"
			job := s.start(t, dest)
			y.hold(t, job, dest, 2)
			client, began := clients(t, job), time.Now()
			must(t, job.cmd.Process.Signal(signal))
			job.running.want(t, code)
			wantEnded(t, client)
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("the submit ended after %v", took)
			}
			s.wantNothing(t, dest)
			y.wantClean(t)
			if a := y.newest(t); a.State != "KILLED" {
				t.Errorf("the job is %+v", a)
			}
			done := y.doneTasks(t, dest)
			if done < 2 {
				t.Errorf("%d tasks are done", done)
			}
			r := s.submit(t, dest, 0)
			if r.Result.ResumedTasks != done || r.counter("Launched map tasks") > int64(s.tasks-done) {
				t.Errorf("%d tasks were resumed, want %d; %v", r.Result.ResumedTasks, done, r.Result.Counters)
			}
			s.same(t, dest)
		})
	}
}

// cancelled ends a detached job by its ID. Meanwhile and afterwards status shows the job. The same
// command then goes on, --attach publishes the output, and a second --attach finds it published.
func (y *yarn) cancelled(t *testing.T) {
	s := y.mail(t)
	dest := y.dir(t) + "/out"
	id := s.submit(t, dest, 0, "--detach").Result.Application
	y.wantJob(t, dest, id, "")
	if r := startSubmit(t, "submit", "--json", "--cancel", id).end(t, 0); !r.Result.Cancelled || r.Result.Application != id {
		t.Errorf("%+v", r)
	}
	y.wantJob(t, dest, id, "KILLED")
	if r := startSubmit(t, "submit", "--json", "--cancel", id, "--exit-nothing", "99").end(t, 99); r.Status != "nothing" {
		t.Errorf("%+v", r)
	}
	next := s.submit(t, dest, 0, "--detach").Result.Application
	if next == id {
		t.Error("the killed job was followed")
	}
	startSubmit(t, "submit", "--json", "--attach", next).end(t, 0)
	startSubmit(t, "submit", "--json", "--attach", next, "--exit-nothing", "99").end(t, 99)
	s.same(t, dest)
	y.wantClean(t)
	y.wantLogs(t, next)
}

// wantJob checks that status shows a job, in a state unless it is empty.
func (y *yarn) wantJob(t *testing.T, dest, id, state string) {
	t.Helper()
	out := run(t, "status", dest).want(t, 0).stdout
	if !strings.Contains(out, "job "+id+" of run ") || !strings.Contains(out, state) || strings.Contains(out, "not known") {
		t.Errorf("status of the job %s, want %s:\n%s", id, state, out)
	}
}

// wantLogs checks the command by which the documentation prints the logs of tasks.
func (y *yarn) wantLogs(t *testing.T, id string) {
	t.Helper()
	var out []byte
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Second) {
		cmd := exec.Command(filepath.Join(y.Home(), "bin", "yarn"), "logs", "-applicationId", id, "-log_files", "rowtocol.log")
		out, _ = cmd.CombinedOutput()
		if bytes.Contains(out, []byte(`"msg":`)) && bytes.Contains(out, []byte(`"attempt":`)) {
			return
		}
	}
	t.Errorf("logs of %s:\n%s", id, out)
}

// detached starts a job and does not wait for it. --attach publishes it, or the same command
// again.
func (y *yarn) detached(t *testing.T) {
	for _, way := range []string{"attach", "again"} {
		t.Run(way, func(t *testing.T) {
			s := y.mail(t)
			dest := y.dir(t) + "/out"
			r := s.submit(t, dest, 0, "--detach", "--queue", hadooptest.OtherQueue)
			if !r.Result.Detached || r.Result.TrackingURL == "" {
				t.Errorf("%+v", r)
			}
			a := y.newest(t)
			if a.ID != r.Result.Application || !strings.HasSuffix(a.Queue, hadooptest.OtherQueue) || !strings.Contains(a.Name, "/out") {
				t.Errorf("%s was the job, the newest is %+v", r.Result.Application, a)
			}
			s.wantNothing(t, dest)
			jobs := y.jobs(t)
			if way == "attach" {
				startSubmit(t, "submit", "--json", "--attach", a.ID).end(t, 0)
			} else {
				s.submit(t, dest, 0)
			}
			if y.jobs(t) != jobs {
				t.Error("another job was started")
			}
			s.same(t, dest)
		})
	}
}

// damaged converts a file with a damaged block. The error from the cluster has its position.
func (y *yarn) damaged(t *testing.T) {
	in := y.dir(t)
	good := mailFile(t, 3, 20_000, "snappy")
	bad := bytes.Clone(good)
	bad[len(bad)/2] ^= 0xff
	y.put(t, in, "good.avro", good)
	y.put(t, in, "bad.avro", bad)
	s := y.newSubmittable([]string{in}, "--row-group-size=2MiB")
	local := run(t, append(append([]string{"convert", "--json"}, s.flags...), in, filepath.Join(t.TempDir(), "out"))...).want(t, 3).report(t)
	dest := y.dir(t) + "/out"
	r := s.submit(t, dest, 3)
	if where := fmt.Sprintf("/bad.avro: offset %d: ", *local.Error.Offset); r.Error == nil || !strings.Contains(r.Error.Message, where) {
		t.Errorf("%+v, want %s", r.Error, where)
	}
	s.wantNothing(t, dest)
	s.flags = append(s.flags, "--on-damage=skip")
	s.local(t, 8)
	dest = y.dir(t) + "/out"
	s.submit(t, dest, 8)
	s.same(t, dest)
}

// damagedHeader submits inputs, one with a header that is cut short. It is refused before a
// job starts, or lost as a whole.
func (y *yarn) damagedHeader(t *testing.T) {
	in := y.dir(t)
	bad := mailFile(t, 4, 200, "snappy")[:100]
	for name, content := range map[string][]byte{"a.avro": mailFile(t, 3, 5_000, "snappy"), "bad.avro": bad, "c.avro": mailFile(t, 5, 200, "deflate")} {
		y.put(t, in, name, content)
	}
	s, jobs := y.newSubmittable([]string{in}, "--row-group-size=512KiB"), y.jobs(t)
	dest := y.dir(t) + "/out"
	r := s.submit(t, dest, 3, "--on-damage=fail")
	for _, text := range []string{"/bad.avro", "truncated", "--on-damage skip or quarantine", "--exclude"} {
		if r.Error == nil || !strings.Contains(r.Error.Message, text) {
			t.Errorf("%+v, want %q", r.Error, text)
		}
	}
	if y.jobs(t) != jobs || len(s.tree(t, dest)) > 0 {
		t.Errorf("%d jobs were started, %s has %v", y.jobs(t)-jobs, dest, s.tree(t, dest))
	}
	for _, how := range []string{"skip", "quarantine"} {
		s := y.newSubmittable([]string{in}, "--row-group-size=512KiB", "--on-damage="+how)
		s.local(t, 8)
		if s.rows != 5_200 || s.tasks < 2 {
			t.Errorf("%d rows in %d tasks", s.rows, s.tasks)
		}
		dest, jobs := y.dir(t)+"/out", y.jobs(t)
		r := s.submit(t, dest, 8)
		if l := r.Result.Losses; r.Result.Rows != 5_200 || len(l) != 1 || !l[0].Whole || l[0].Rows != -1 || !strings.HasSuffix(l[0].Input, "/bad.avro") {
			t.Errorf("%s: %d rows, lost %+v", how, r.Result.Rows, l)
		}
		s.same(t, dest)
		kept := glob(t.Context(), y.locate(t, dest), "_quarantine/*/*")
		if (len(kept) == 1) != (how == "quarantine") {
			t.Errorf("%s: %v is quarantined", how, kept)
		}
		if s.submit(t, dest, 8); y.jobs(t) != jobs+1 {
			t.Errorf("%s: %d jobs, with the rerun", how, y.jobs(t)-jobs)
		}
	}
}

// incremental converts new inputs into increments.
func (y *yarn) incremental(t *testing.T) {
	in, local, dest := y.dir(t), filepath.Join(t.TempDir(), "out"), y.dir(t)+"/out"
	s := y.newSubmittable([]string{in}, "--incremental")
	for round := range 2 {
		for i := range 5 {
			y.put(t, in, fmt.Sprintf("mail-%d-%d.avro", round, i), mailFile(t, uint64(round*5+i), 50, "deflate"))
		}
		r := s.submit(t, dest, 0)
		if r.Result.Rows != 250 {
			t.Errorf("round %d: %d rows", round, r.Result.Rows)
		}
		run(t, append(append([]string{"convert"}, s.flags...), in, local)...).want(t, 0)
	}
	run(t, "verify", dest, "--against", in).want(t, 0)
	y.wantLocal(t, local, dest)
	y.wantClean(t)
}

// partitioned converts a tree of partitions by one job.
func (y *yarn) partitioned(t *testing.T) {
	in, local, dest := y.dir(t), filepath.Join(t.TempDir(), "out"), y.dir(t)+"/out"
	for i := range 3 {
		day := fmt.Sprintf("%s/day=%d", in, i)
		at := y.locate(t, day)
		must(t, at.Store.Mkdir(t.Context(), at.Path))
		y.put(t, day, "mail.avro", mailFile(t, uint64(i), 200, "snappy"))
	}
	s := y.newSubmittable([]string{in}, "--partitioned", "--format=parquet")
	jobs := y.jobs(t)
	s.submit(t, dest, 0)
	if y.jobs(t) != jobs+1 {
		t.Errorf("%d jobs for all partitions", y.jobs(t)-jobs)
	}
	run(t, append(append([]string{"convert"}, s.flags...), in, local)...).want(t, 0)
	y.wantLocal(t, local, dest)
	y.wantClean(t)
}

// isPart reports whether a file is a part of an output.
func isPart(name string) bool {
	return strings.HasPrefix(path.Base(name), "part-")
}

// wantLocal fails the test unless a destination on the cluster has the same column files as
// one on this machine.
func (y *yarn) wantLocal(t *testing.T, local, dest string) {
	t.Helper()
	want, got := map[string]int{}, map[string]int{}
	for name, content := range tree(t, local) {
		if isPart(name) {
			want[digest([]byte(content))]++
		}
	}
	s := site{Cluster: y.Cluster, resolver: y.resolver}
	for name, d := range s.tree(t, dest) {
		if isPart(name) {
			got[d]++
		}
		if strings.Contains(name, ".rowtocol") {
			t.Errorf("left over: %s", name)
		}
	}
	if len(want) == 0 || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("column files\n%v\nwant\n%v", got, want)
	}
}
