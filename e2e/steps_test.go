package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/e2e/hadooptest"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/location"
)

// steps is a conversion like a scheduler's: plan, tasks and commit are processes.
type steps struct {
	at    store.Location // of the destination
	plan  store.Location // of the plan document
	file  string         // its location as an argument
	temp  string
	id    string // of the plan
	tasks int
	took  time.Duration // of a task
}

// newSteps plans a conversion. The plan document is next to the destination.
func newSteps(t *testing.T, input, dest string, flags ...string) *steps {
	t.Helper()
	resolver := location.New(location.Options{})
	t.Cleanup(func() { _ = resolver.Close() })
	s := &steps{file: dest + "-plan.json", temp: t.TempDir()}
	var err error
	s.at, err = resolver.Resolve(dest)
	must(t, err)
	s.plan, err = resolver.Resolve(s.file)
	must(t, err)
	r := run(t, append([]string{"plan", "--json", "--output", s.file, input, dest}, flags...)...).want(t, 0)
	var answer struct {
		Result struct {
			Plan  string
			Tasks int
		}
	}
	must(t, json.Unmarshal([]byte(r.stdout), &answer))
	s.id, s.tasks = answer.Result.Plan, answer.Result.Tasks
	if s.tasks < 4 {
		t.Fatalf("%d tasks are too few", s.tasks)
	}
	return s
}

func (s *steps) task(n int) []string {
	return []string{"task", "--plan", s.file, "--temp-dir", s.temp, "--task", fmt.Sprint(n)}
}

func (s *steps) commit(t *testing.T, flags ...string) result {
	t.Helper()
	return run(t, append([]string{"commit", "--plan", s.file}, flags...)...)
}

// runConcurrently runs each of the tasks several times, in random order and several at once,
// like "xargs -P". With kill, half of the processes are killed at a random moment.
func (s *steps) runConcurrently(t *testing.T, numbers []int, times int, kill bool) {
	t.Helper()
	queue := slices.Repeat(numbers, times)
	rand.Shuffle(len(queue), func(i, j int) { queue[i], queue[j] = queue[j], queue[i] })
	next := make(chan int)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for n := range next {
				if err := s.process(n, kill && rand.N(2) == 0); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, n := range queue {
		next <- n
	}
	close(next)
	wg.Wait()
}

// process runs a task in a process.
func (s *steps) process(n int, kill bool) error {
	cmd := command(s.task(n)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	if kill {
		time.Sleep(rand.N(s.took))
		_ = cmd.Process.Kill() // it may have ended
	}
	if err := cmd.Wait(); err != nil && (!kill || cmd.ProcessState.ExitCode() != -1) {
		return fmt.Errorf("task %d: %w\n%s", n, err, stderr.String())
	}
	return nil
}

// taskNumbers returns the numbers of the tasks.
func (s *steps) taskNumbers() (numbers []int) {
	for n := range s.tasks {
		numbers = append(numbers, n)
	}
	return numbers
}

// staged returns the files that tasks left, except those that killed ones were writing.
func (s *steps) staged(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	eachFile(t, store.Location{Store: s.at.Store, Path: s.dir()}, func(name string, content []byte) {
		if content != nil {
			files[name] = string(content)
		}
	})
	return files
}

func (s *steps) dir() string { return path.Join(s.at.Path, manifest.WorkName, "plan-"+s.id) }

// replace replaces the content of a file in the directory of the tasks.
func (s *steps) replace(t *testing.T, name, content string) {
	t.Helper()
	must(t, s.at.Store.WriteFile(t.Context(), path.Join(s.dir(), name), []byte(content), false))
}

// listedFile returns the file that the result of a task lists.
func listedFile(t *testing.T, staged map[string]string, task int) string {
	t.Helper()
	var doc struct {
		Parts []struct {
			Files []struct{ Name string }
		}
	}
	must(t, json.Unmarshal([]byte(staged[manifest.TaskName(task)]), &doc))
	return doc.Parts[0].Files[0].Name
}

// runTasks runs the tasks repeatedly and kills some, along with a conversion that is killed,
// and commits their work once it is complete.
func (s *steps) runTasks(t *testing.T, convert []string) {
	began := time.Now()
	run(t, s.task(0)...).want(t, 0)
	s.took = time.Since(began)
	run(t, append(s.task(0), "--exit-nothing=99")...).want(t, 99)
	s.commit(t).want(t, 4).wantComplaint(t, fmt.Sprintf("%d of %d tasks", s.tasks-1, s.tasks))

	other := launch(t, command(convert...))
	if !other.suspendAt(t, s.at, ".rowtocol/plan-*/plan.json") {
		t.Fatalf("the conversion ended\n%s", other.stderr)
	}
	s.runConcurrently(t, s.taskNumbers(), 2, true)
	must(t, other.cmd.Process.Kill())
	<-other.ended
	s.runConcurrently(t, s.taskNumbers(), 2, false)
	wantEmpty(t, s.temp)
	s.refuseChanged(t)
	s.commit(t).want(t, 0)
	s.commit(t, "--exit-nothing=99").want(t, 99)
}

// refuseChanged changes files of the tasks, and the plan: commit must refuse them. Tasks
// that run again replace their files.
func (s *steps) refuseChanged(t *testing.T) {
	before := s.staged(t)
	part := listedFile(t, before, 1)
	flipped := []byte(before[part])
	flipped[len(flipped)/2] ^= 1
	s.replace(t, part, string(flipped))
	s.commit(t).want(t, 9).wantComplaint(t, "task 1", part)
	run(t, s.task(1)...).want(t, 0)

	s.replace(t, manifest.TaskName(2), before[manifest.TaskName(3)])
	s.commit(t).want(t, 9).wantComplaint(t, "task 2")
	run(t, s.task(2)...).want(t, 0)

	plan, err := s.plan.Store.ReadFile(t.Context(), s.plan.Path, 1<<20)
	must(t, err)
	altered := strings.Replace(string(plan), `"tasks"`, `"ratio": 0.5, "tasks"`, 1)
	must(t, s.plan.Store.WriteFile(t.Context(), s.plan.Path, []byte(altered), false))
	s.commit(t).want(t, 9).wantComplaint(t, "--plan")
	run(t, s.task(0)...).want(t, 9)
	must(t, s.plan.Store.WriteFile(t.Context(), s.plan.Path, plan, false))
}

// outdated makes another output in the destination of a plan. The plan can never be
// committed, so the work of its tasks is removed.
func (s *steps) outdated(t *testing.T, convert []string) {
	s.runConcurrently(t, s.taskNumbers(), 1, false)
	run(t, convert...).want(t, 0)
	s.commit(t).want(t, 9).wantComplaint(t, "another output")
	s.commit(t, "--overwrite").want(t, 9)
	if left := glob(t.Context(), s.at, manifest.WorkName+"/*"); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

const otherInput = "../testdata/real/list-columns.avro"

// TestSteps converts like a scheduler.
func TestSteps(t *testing.T) {
	c := newInterruptible(t, indexed, 30_000)
	dir := t.TempDir()
	dest := filepath.Join(dir, "out")
	flags := c.flagsFor("2MiB", "4MiB")
	s := newSteps(t, c.input, dest, flags...)
	s.runTasks(t, append(c.args(dest, t.TempDir()), c.other))
	c.wantComplete(t, dest, s.temp)
	run(t, "verify", dest, "--against", c.input).want(t, 0)

	dest = filepath.Join(dir, "older")
	s = newSteps(t, c.input, dest, flags...)
	s.outdated(t, []string{"convert", otherInput, dest})
	run(t, "verify", dest, "--against", otherInput).want(t, 0)
}

func TestHDFSSteps(t *testing.T) {
	for client, f := range clientTargets {
		t.Run(client, func(t *testing.T) {
			flags := f.flagsFor("1MiB", "2MiB")
			c := newSite(t, hadooptest.Shared(t), 20_000, flags...)
			dest := c.clients()[client] + "/steps-" + client
			s := newSteps(t, c.input, dest, flags...)
			s.runTasks(t, c.args(dest, f.other))
			c.wantComplete(t, dest)
		})
	}
}
