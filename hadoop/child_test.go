package hadoop

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/hadoop/pipes"
	"github.com/rowtocol/rowtocol/hadoop/pipes/pipestest"
	"github.com/rowtocol/rowtocol/job"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
	"github.com/rowtocol/rowtocol/trevni"
)

// counterOf returns the value of a counter by its index in counters.
func counterOf(out pipestest.Outcome, counter int) int64 { return out.Counters[counters[counter]] }

// TestChild checks that tasks which Hadoop starts write the same files as tasks of this
// process, and report their rows and bytes in Hadoop's counters.
func TestChild(t *testing.T) {
	c := newCluster(t)
	r, err := task.Open(c.plan, task.Options{Environment: task.Environment{Formats: format.Registry{trevni.Format}, Resolve: c.resolve, TempDir: t.TempDir()}})
	c.must(err)
	defer func() { c.must(r.Close()) }()
	c.must(c.st.Mkdir(t.Context(), "/here"))
	want, err := r.Run(t.Context(), c.st, "/here", []int{0, 1, 2})
	c.must(err)
	for n := range c.plan.Tasks {
		out, err := c.runAttempt(n, 0)
		c.must(err)
		got, err := task.NewWork(c.plan, nil, c.st, c.dir).Finished(t.Context(), n)
		if err != nil || got == nil || got.RowsIn != want[n].RowsIn || len(got.Parts) != 1 || got.Made.Run != testRun ||
			got.Parts[0].Files[0].CRC32C != want[n].Parts[0].Files[0].CRC32C {
			t.Fatalf("task %d: got %+v, %v, want %+v", n, got, err, want[n])
		}
		figures := map[int]int64{
			rowsIn: got.RowsIn, inputBytes: c.plan.Tasks[n].Bytes(), outputBytes: got.Parts[0].Files[0].Bytes, outputFiles: 1,
			damagedRanges: 0, lostRows: 0, storageRetries: 0, doneBefore: 0, localBytes: 0,
		}
		for counter, want := range figures {
			if got := counterOf(out, counter); got != want {
				t.Errorf("task %d: got %d %s, want %d", n, got, counters[counter].Name, want)
			}
		}
	}
	if names := c.fileNames(); len(names) != 2*len(c.plan.Tasks) {
		t.Errorf("got files %v, want two for each task", names)
	}
	c.checkNoTempFiles()
	for i, l := range c.readLog() {
		if n := i / 2; l["run"] != testRun || l["attempt"] != attemptID(n, 0) || l["plan"] != c.plan.ID || l["task"] != float64(n) || l["level"] != "INFO" {
			t.Errorf("line %d of the log: %v", i, l)
		}
	}
}

// damageInput damages a block of task 0.
func (c *testCluster) damageInput() {
	c.t.Helper()
	name := "/in/0.avro"
	file, err := c.st.ReadFile(c.t.Context(), name, 1<<20)
	c.must(err)
	at := len(file)/8 + bytes.Index(file[len(file)/8:], []byte{1, 2, 3, 0, 0, 0}) + 16 + 4
	copy(file[at:], bytes.Repeat([]byte{0xff}, 10))
	c.must(c.st.WriteFile(c.t.Context(), name, file, false))
	in := &c.plan.Request.Inputs[0]
	*in, _, err = input.Describe(c.t.Context(), c.resolve, in.Path)
	c.must(err)
	c.writeTasks(c.entries())
}

// TestChildOfDamagedInput checks that a task reports damaged ranges and lost rows in counters.
func TestChildOfDamagedInput(t *testing.T) {
	c := newCluster(t)
	c.damageInput()
	out, err := c.runAttempt(0, 0)
	c.must(err)
	if counterOf(out, damagedRanges) != 1 || counterOf(out, lostRows) == 0 {
		t.Errorf("got counters %v, want damage and lost rows", out.Counters)
	}
}

// TestChildFailsAtDamage checks that the engine and later attempts get the place of the damage
// in an input.
func TestChildFailsAtDamage(t *testing.T) {
	c := newCluster(t)
	c.damageInput()
	c.plan.Request.Options.OnDamage = "fail"
	c.writeTasks(c.entries())
	_, err := c.runAttempt(0, 0)
	var want *damage.Error
	if !errors.As(err, &want) || want.Offset <= 0 {
		t.Fatalf("%v", err)
	}
	all := c.failures()
	if len(all) != 1 {
		t.Fatalf("%d documents", len(all))
	}
	_, again := c.runAttempt(0, 1)
	for receiver, err := range map[string]error{"the engine": all[0].Err("plan"), "the next attempt": again} {
		var got *damage.Error
		if !errors.As(err, &got) || !errors.Is(err, failure.Input) {
			t.Errorf("%s: got error %v", receiver, err)
			continue
		}
		got.Err = want.Err // the message contains its text
		if *got != *want || !strings.HasPrefix(err.Error(), all[0].Message) {
			t.Errorf("%s: got %+v, want %+v", receiver, got, want)
		}
	}
}

// TestChildOfFinishedTask checks that a task which an earlier attempt has finished runs again
// only if its files are damaged.
func TestChildOfFinishedTask(t *testing.T) {
	c := newCluster(t)
	_, err := c.runAttempt(1, 0)
	c.must(err)
	before := c.fileNames()
	out, err := c.runAttempt(1, 1)
	c.must(err)
	if names := c.fileNames(); !slices.Equal(names, before) || counterOf(out, doneBefore) != 1 || counterOf(out, rowsIn) != 0 {
		t.Errorf("got files %v, want %v; counters %v", names, before, out.Counters)
	}
	for _, name := range before {
		if strings.HasPrefix(name, "part-") {
			c.must(c.st.WriteFile(t.Context(), path.Join(c.dir, name), []byte("no part"), false))
		}
	}
	out, err = c.runAttempt(1, 2)
	c.must(err)
	if res, err := task.NewWork(c.plan, nil, c.st, c.dir).Finished(t.Context(), 1); res == nil || counterOf(out, doneBefore) != 0 || counterOf(out, outputFiles) != 1 {
		t.Errorf("%+v, %v, counters %v", res, err, out.Counters)
	}
}

// TestChildFails checks that a failure is reported in a document and to Java. After a
// permanent failure, later attempts of the job fail without a try. Attempts of another job try
// again.
func TestChildFails(t *testing.T) {
	c := newCluster(t)
	const in = "/in/1.avro"
	last := len(c.plan.Tasks) - 1
	file, err := c.st.ReadFile(t.Context(), in, 1<<20)
	c.must(err)
	c.must(c.st.Remove(t.Context(), in))
	out, err := c.runAttempt(last, 0)
	if !errors.Is(err, failure.Input) {
		t.Fatalf("got error %v", err)
	}
	if n := len(out.Statuses); n == 0 || out.Statuses[n-1] != err.Error() {
		t.Errorf("Java got statuses %q, want %q", out.Statuses, err)
	}
	want := task.Failed{
		Version: 1, Run: testRun, Job: "application_1700000000000_0003", Attempt: attemptID(last, 0), Host: "node7", Task: last,
		Kind: "input", Exit: 42, Message: err.Error(), Log: c.logs + "/rowtocol.log",
	}
	if all := c.failures(); len(all) != 1 || all[0] != want {
		t.Errorf("got documents %+v, want %+v", all, want)
	}
	c.must(c.st.WriteFile(t.Context(), in, file, true))
	for _, try := range []int{1, 3, 1000} {
		_, again := c.runAttempt(last, try)
		if !errors.Is(again, failure.Input) || again.Error() != err.Error() {
			t.Errorf("attempt %d: got %v, want %v", try, again, err)
		}
	}
	if all := c.failures(); len(all) != 1 {
		t.Errorf("got documents %+v", all)
	}
	j := c.startJava(c.split(last), strings.Replace(attemptID(last, 1), "_0003_", "_0004_", 1))
	c.must(RunChild(t.Context(), c.options()))
	j.Wait()
	c.checkNoTempFiles()
}

// withOpenHook returns a store that calls open before it opens an input.
func withOpenHook(st store.Store, open func(ctx context.Context) error) store.Store {
	return storetest.Inject(st, func(c *storetest.Call) error {
		if c.Op == storetest.Open && strings.HasPrefix(c.Path, "/in/") {
			if err := open(c.Ctx); err != nil {
				return err
			}
		}
		return c.Do()
	})
}

// TestChildFailsTemporarily checks that an attempt tries again after a temporary failure, and
// removes the document of that failure after a success.
func TestChildFailsTemporarily(t *testing.T) {
	c := newCluster(t)
	inner := c.st
	c.st = withOpenHook(inner, func(context.Context) error { return store.ErrUnavailable })
	if _, err := c.runAttempt(0, 0); !errors.Is(err, failure.Storage) {
		t.Errorf("got error %v", err)
	}
	c.st = inner
	if all := c.failures(); len(all) != 1 || all[0].Kind != "storage" {
		t.Errorf("got documents %+v", all)
	}
	if _, err := c.runAttempt(0, 1); err != nil {
		t.Error(err)
	}
	if all := c.failures(); len(all) > 0 {
		t.Errorf("got documents %+v, want none", all)
	}
}

// TestChildWithoutID checks that an attempt without a valid ID writes no files named after it.
func TestChildWithoutID(t *testing.T) {
	c := newCluster(t)
	c.must(c.st.Remove(t.Context(), "/in/1.avro"))
	for _, id := range []string{"", "x", "/../../x_1"} {
		j := c.startJava(c.split(len(c.plan.Tasks)-1), id)
		if err := RunChild(t.Context(), c.options()); !errors.Is(err, failure.Input) {
			t.Errorf("%q: %v", id, err)
		}
		j.Wait()
	}
	infos, err := c.st.List(t.Context(), path.Dir(c.dir))
	if names := c.fileNames(); err != nil || len(names) > 0 || len(infos) != 1 {
		t.Errorf("got files %v and %v, %v", names, infos, err)
	}
}

// TestChildPanics checks that a panic is reported as a defect of the program.
func TestChildPanics(t *testing.T) {
	c := newCluster(t)
	resolve := c.resolve
	c.resolve = func(location string) (store.Location, error) {
		if strings.Contains(location, "/in/") {
			panic("a defect")
		}
		return resolve(location)
	}
	out, err := c.runAttempt(0, 0)
	if err == nil || !strings.Contains(err.Error(), "a defect") || !strings.Contains(err.Error(), "child_test.go") {
		t.Errorf("got error %v", err)
	}
	if last := out.Statuses[len(out.Statuses)-1]; !strings.HasSuffix(last, "a defect") {
		t.Errorf("Java got status %q", last)
	}
	if all := c.failures(); len(all) != 1 || all[0].Kind != "defect" {
		t.Errorf("got documents %+v", all)
	}
	c.checkNoTempFiles()
}

// TestChildWithoutTask checks that the failure of a split without a task is reported in the
// plan's directory.
func TestChildWithoutTask(t *testing.T) {
	c := newCluster(t)
	s := c.split(0)
	s.Length++
	j := c.startJava(s, attemptID(9, 0))
	err := RunChild(t.Context(), c.options())
	if out := j.Wait(); out.Done || !errors.Is(err, failure.Input) {
		t.Errorf("%+v, %v", out, err)
	}
	if all := c.failures(); len(all) != 1 || all[0].Task != -1 || all[0].Kind != "input" || all[0].Message != err.Error() {
		t.Errorf("got documents %+v", all)
	}
}

// TestChildWithoutTasks checks that an attempt without the task file fails, and reports the
// failure only to Java and the log.
func TestChildWithoutTasks(t *testing.T) {
	c := newCluster(t)
	c.must(os.Remove(TasksName))
	out, err := c.runAttempt(0, 0)
	if err == nil || !strings.Contains(err.Error(), TasksName) || len(out.Statuses) != 1 || !strings.Contains(out.Statuses[0], TasksName) {
		t.Errorf("got %v; Java got statuses %q", err, out.Statuses)
	}
	if lines := c.readLog(); len(lines) != 1 || lines[0]["level"] != "ERROR" || lines[0]["attempt"] != attemptID(0, 0) {
		t.Errorf("got log %v", lines)
	}
}

// TestChildOfCommittedPlan checks that an attempt does not make a work directory again that a
// commit has moved before or during the task.
func TestChildOfCommittedPlan(t *testing.T) {
	c := newCluster(t)
	inner := c.st
	take := func() { c.must(inner.Rename(t.Context(), c.dir, "/out/.rowtocol/taken")) }
	c.st = withOpenHook(inner, func(context.Context) error {
		take()
		return nil
	})
	for _, when := range []string{"meanwhile", "before"} {
		if _, err := c.runAttempt(0, 0); !errors.Is(err, failure.Storage) || !strings.Contains(err.Error(), "a commit took") {
			t.Errorf("%s: %v", when, err)
		}
		if _, err := inner.Stat(t.Context(), c.dir); !errors.Is(err, store.ErrNotExist) {
			t.Errorf("%s: the directory exists again", when)
		}
	}
	c.checkNoTempFiles()
}

// TestChildIsStopped checks that an attempt stops when Java aborts it or is gone, or when the
// process is interrupted. It leaves no files, and reports no failure.
func TestChildIsStopped(t *testing.T) {
	for name, tt := range map[string]struct {
		stop func(j *pipestest.Java, cancel func())
		want error
	}{
		"abort":  {func(j *pipestest.Java, _ func()) { j.Abort() }, pipes.ErrAborted},
		"gone":   {func(j *pipestest.Java, _ func()) { j.Die() }, pipes.ErrGone},
		"signal": {func(_ *pipestest.Java, cancel func()) { cancel() }, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			j := c.startJava(c.split(0), attemptID(0, 0))
			inner := c.st
			c.st = withOpenHook(inner, func(ctx context.Context) error {
				go tt.stop(j, cancel)
				<-ctx.Done()
				return ctx.Err()
			})
			began := time.Now()
			if err := RunChild(ctx, c.options()); !errors.Is(err, tt.want) {
				t.Errorf("got error %v, want %v", err, tt.want)
			}
			if took := time.Since(began); took > stopTime/2 {
				t.Errorf("stopping took %v", took)
			}
			if out := j.Wait(); out.Done {
				t.Error("Java got DONE")
			}
			c.st = inner
			if names := c.fileNames(); len(names) > 0 {
				t.Errorf("got files %v, want none", names)
			}
			c.checkNoTempFiles()
		})
	}
}

// TestChildThatHangs checks that work which does not stop is abandoned, and that its temporary
// files are removed.
func TestChildThatHangs(t *testing.T) {
	defer func(was time.Duration) { stopTime = was }(stopTime)
	stopTime = 200 * time.Millisecond
	c := newCluster(t)
	j := c.startJava(c.split(0), attemptID(0, 0))
	release, released := make(chan struct{}), make(chan struct{})
	c.st = withOpenHook(c.st, func(context.Context) error {
		go j.Die()
		defer close(released)
		<-release
		return store.ErrUnavailable
	})
	if err := RunChild(t.Context(), c.options()); !errors.Is(err, pipes.ErrGone) || !strings.Contains(err.Error(), "abandoned") {
		t.Errorf("got error %v", err)
	}
	c.checkNoTempFiles()
	close(release)
	<-released
}

// TestMeter checks that a meter reports progress only while bytes move, so that Java ends a
// task that hangs.
func TestMeter(t *testing.T) {
	const every = 100 * time.Millisecond
	c := newCluster(t)
	j := c.startJava(c.split(0), attemptID(0, 0))
	conn, err := pipes.Dial(t.Context())
	c.must(err)
	_, err = conn.Accept(t.Context())
	c.must(err)
	c.must(conn.Register(counters[:]...))
	m := &meter{total: 200, every: every}
	stop := m.report(conn, "task 3")
	m.progress(job.Progress{Rows: 7, Bytes: 50})
	time.Sleep(3*every + every/2)
	m.addMoved(1)
	time.Sleep(3*every + every/2)
	stop()
	c.must(conn.Done())
	c.must(conn.Close())
	out := j.Wait()
	if !slices.Equal(out.Progress, []float32{0.25, 0.25}) || counterOf(out, rowsIn) != 7 || counterOf(out, inputBytes) != 50 ||
		out.Statuses[0] != "task 3: 50 of 200 input bytes, 7 rows" {
		t.Errorf("Java got %+v", out)
	}
}

// TestConcurrentAttempts checks that two concurrent attempts at a task leave one valid result.
func TestConcurrentAttempts(t *testing.T) {
	c := newCluster(t)
	inner := c.st
	var both sync.WaitGroup
	both.Add(2)
	c.st = withOpenHook(inner, func(context.Context) error {
		both.Done()
		both.Wait()
		return nil
	})
	javas := []*pipestest.Java{c.startJava(c.split(2), attemptID(2, 0)), c.startJava(c.split(2), attemptID(2, 1))}
	var running sync.WaitGroup
	for _, j := range javas {
		j.Setenv()
		conn, err := pipes.Dial(t.Context())
		c.must(err)
		running.Go(func() {
			if err := runOn(conn, c.options()); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	for _, j := range javas {
		if out := j.Wait(); !out.Done {
			t.Errorf("%+v", out)
		}
	}
	c.st = inner
	if res, err := task.NewWork(c.plan, nil, c.st, c.dir).Finished(t.Context(), 2); res == nil || err != nil {
		t.Errorf("%+v, %v", res, err)
	}
	c.checkNoTempFiles()
}
