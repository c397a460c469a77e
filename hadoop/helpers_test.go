package hadoop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/hadoop/pipes"
	"github.com/rowtocol/rowtocol/hadoop/pipes/pipestest"
	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/memstore"
	"github.com/rowtocol/rowtocol/trevni"
)

// testCluster has a plan, the work directory of its tasks, and a container for them.
type testCluster struct {
	t       *testing.T
	st      store.Store
	plan    *manifest.Plan
	dir     string // directory of the tasks' work
	logs    string
	temp    string
	resolve input.Resolve
}

const testRun = "00000000000000aa"

// newCluster returns a cluster with three tasks of two inputs: one that is cut, and a small
// one.
func newCluster(t *testing.T) *testCluster {
	t.Helper()
	c := &testCluster{t: t, st: memstore.New().Client(), logs: t.TempDir(), temp: t.TempDir()}
	c.resolve = func(location string) (store.Location, error) {
		return store.Location{Store: c.st, Origin: "hdfs://nn", Path: barePath(location)}, nil
	}
	c.plan = &manifest.Plan{
		Version: manifest.Version, Dest: "hdfs://nn/out", Columns: 2, BlockSize: 4 << 10, SplitSize: 12 << 10, Ratio: 1,
		Request: manifest.Request{Options: manifest.Options{
			Format: "trevni", FormatOptions: json.RawMessage(`{"codec":"null"}`), RowGroupSize: 1 << 20, OnDamage: "skip", MaxInputBlock: 1 << 20, MaxLostRows: -1,
		}},
	}
	c.must(c.st.Mkdir(t.Context(), "/in"))
	for i, blocks := range []int{10, 2} {
		in := fmt.Sprintf("hdfs://nn/in/%d.avro", i)
		c.must(c.st.WriteFile(t.Context(), barePath(in), avrotest.File(t, avrotest.Schema, [16]byte{1, 2, 3}, avrotest.BlockRows, avrotest.Blocks(uint64(i), blocks)...), true))
		c.addInput(in)
	}
	if len(c.plan.Tasks) != 3 {
		t.Fatalf("%d tasks", len(c.plan.Tasks))
	}
	var err error
	c.plan.ID, err = c.plan.Sum()
	c.must(err)
	c.dir = "/out/.rowtocol/plan-" + c.plan.ID
	for _, dir := range []string{"/out", "/out/.rowtocol", c.dir} {
		c.must(c.st.Mkdir(t.Context(), dir))
	}
	t.Chdir(t.TempDir())
	c.writeTasks(c.entries())
	t.Setenv("LOG_DIRS", c.logs+",/elsewhere")
	t.Setenv("TMPDIR", c.temp)
	t.Setenv("NM_HOST", "node7")
	workers := runtime.GOMAXPROCS(0)
	t.Cleanup(func() {
		runtime.GOMAXPROCS(workers)
		budget.SetLimit(1 << 40)
	})
	return c
}

func (c *testCluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// addInput adds an input to the plan, cut into tasks.
func (c *testCluster) addInput(name string) {
	c.t.Helper()
	in, h, err := input.Describe(c.t.Context(), c.resolve, name)
	c.must(err)
	p := c.plan
	p.Schema = h.Schema
	for start := int64(0); start < in.Size; start += p.SplitSize {
		p.Tasks = append(p.Tasks, manifest.Task{ID: len(p.Tasks), Pieces: []manifest.Piece{{Input: len(p.Request.Inputs), Start: start, End: min(start+p.SplitSize, in.Size)}}})
	}
	p.Request.Inputs = append(p.Request.Inputs, in)
}

func (c *testCluster) entries() (entries []Entry) {
	for n := range c.plan.Tasks {
		entries = append(entries, Entry{Split: c.split(n), Task: n})
	}
	return entries
}

func (c *testCluster) split(number int) pipes.Split {
	piece := c.plan.Tasks[number].Pieces[0]
	return pipes.Split{Path: c.plan.Request.Inputs[piece.Input].Path, Start: piece.Start, Length: piece.End - piece.Start}
}

// writeTasks writes the task file into the working directory.
func (c *testCluster) writeTasks(entries []Entry) {
	c.t.Helper()
	batches := []task.Batch{{Plan: c.plan, Dir: c.dir}}
	file := taskFile(c.t, Job{Program: "test", Run: testRun, Memory: 64 << 20, Workers: 2}, batches, entries)
	c.must(os.WriteFile(TasksName, file, 0o600))
}

func attemptID(number, try int) string {
	return fmt.Sprintf("attempt_1700000000000_0003_m_%06d_%d", number, try)
}

// startJava starts a task attempt on Java's side.
func (c *testCluster) startJava(s pipes.Split, attempt string) *pipestest.Java {
	c.t.Helper()
	j := pipestest.Start(c.t, pipes.MapTask{Split: s, Conf: map[string]string{"mapreduce.task.attempt.id": attempt}})
	j.Setenv()
	return j
}

func (c *testCluster) options() ChildOptions {
	return ChildOptions{Environment: task.Environment{Formats: format.Registry{trevni.Format}, Program: "test", Resolve: c.resolve}, Exit: func(error) int { return 42 }}
}

// runAttempt runs an attempt at a task and returns the messages that Java got.
func (c *testCluster) runAttempt(number, try int) (pipestest.Outcome, error) {
	c.t.Helper()
	j := c.startJava(c.split(number), attemptID(number, try))
	err := RunChild(c.t.Context(), c.options())
	out := j.Wait()
	if out.Done != (err == nil) {
		c.t.Errorf("Java got %+v, but the attempt returned %v", out, err)
	}
	return out, err
}

// fileNames returns the names of the files in the work directory.
func (c *testCluster) fileNames() (names []string) {
	c.t.Helper()
	infos, err := c.st.List(c.t.Context(), c.dir)
	c.must(err)
	for _, i := range infos {
		names = append(names, i.Name)
	}
	return names
}

// checkNoTempFiles fails the test if there are local temporary files.
func (c *testCluster) checkNoTempFiles() {
	c.t.Helper()
	if left, _ := os.ReadDir(c.temp); len(left) > 0 {
		c.t.Errorf("the temporary directory has %v, want nothing", left)
	}
}

// failures returns the documents about failures.
func (c *testCluster) failures() []task.Failed {
	c.t.Helper()
	all, err := task.ReadFailures(c.t.Context(), c.st, c.dir, testRun)
	c.must(err)
	return all
}

func (c *testCluster) readLog() []map[string]any {
	c.t.Helper()
	b, err := os.ReadFile(c.logs + "/rowtocol.log")
	c.must(err)
	var lines []map[string]any
	for line := range bytes.Lines(b) {
		var l map[string]any
		c.must(json.Unmarshal(line, &l))
		lines = append(lines, l)
	}
	return lines
}
