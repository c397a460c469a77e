package pipestest_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/hadoop/pipes"
	"github.com/rowtocol/rowtocol/hadoop/pipes/pipestest"
)

var task = pipes.MapTask{
	Conf:  map[string]string{"mapreduce.task.attempt.id": "attempt_1_0001_m_000000_0", "empty": ""},
	Split: pipes.Split{Path: "hdfs://n:8020/a/b.avro", Start: 1 << 40, Length: 128 << 20},
}

var counters = []pipes.Counter{{Group: "rowtocol", Name: "rows"}, {Group: "rowtocol", Name: "bytes"}}

// accept connects with a Java side and registers the counters.
func accept(t *testing.T, j *pipestest.Java) *pipes.Conn {
	t.Helper()
	j.Setenv()
	c, err := pipes.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	got, err := c.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.Split != task.Split || !maps.Equal(got.Conf, task.Conf) {
		t.Errorf("the task is %+v, want %+v", got, task)
	}
	if err := c.Register(counters...); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestChild is a child of its own: the test's binary, with the variables that Java sets.
func TestChild(t *testing.T) {
	if pipes.Started() {
		c, err := pipes.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		if _, err := c.Accept(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := c.Done(); err != nil {
			t.Fatal(err)
		}
		return
	}
	j := pipestest.Start(t, task)
	child := exec.Command(os.Args[0], "-test.run=^TestChild$")
	child.Env = append(os.Environ(), j.Environ()...)
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := j.Wait(); !got.Done {
		t.Errorf("Java heard %+v", got)
	}
}

func TestDone(t *testing.T) {
	j := pipestest.Start(t, task)
	c := accept(t, j)
	err := errors.Join(c.Add(0, 3), c.Add(1, 1<<40), c.Add(1, -200), c.Progress(0.25), c.Status("half"), c.Done())
	if err != nil {
		t.Fatal(err)
	}
	got := j.Wait()
	if !got.Done || got.Err != nil || got.Counters[counters[0]] != 3 || got.Counters[counters[1]] != 1<<40-200 ||
		!slices.Equal(got.Statuses, []string{"half"}) || !slices.Equal(got.Progress, []float32{0.25}) {
		t.Errorf("Java heard %+v", got)
	}
}

// TestConcurrent holds that messages of many goroutines stay whole.
func TestConcurrent(t *testing.T) {
	j := pipestest.Start(t, task)
	c := accept(t, j)
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for range 200 {
				if err := errors.Join(c.Add(0, 1), c.Add(1, 1000), c.Status("at work"), c.Progress(0.5)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	workers.Wait()
	if err := c.Done(); err != nil {
		t.Fatal(err)
	}
	got := j.Wait()
	if !got.Done || got.Counters[counters[0]] != 1600 || got.Counters[counters[1]] != 1_600_000 || len(got.Statuses) != 1600 {
		t.Errorf("Java heard %v, %d texts, %v", got.Counters, len(got.Statuses), got.Err)
	}
}

func TestLeave(t *testing.T) {
	j := pipestest.Start(t, task)
	if err := accept(t, j).Close(); err != nil {
		t.Fatal(err)
	}
	if got := j.Wait(); got.Done || got.Err == nil {
		t.Errorf("a child that leaves is %+v", got)
	}
}

func TestJavaEnds(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(*pipestest.Java)
		want error
	}{
		"abort": {(*pipestest.Java).Abort, pipes.ErrAborted},
		"die":   {(*pipestest.Java).Die, pipes.ErrGone},
	} {
		t.Run(name, func(t *testing.T) {
			j := pipestest.Start(t, task)
			c := accept(t, j)
			for j.Outcome().Counters[counters[0]] == 0 { // Java has heard all
				if err := c.Add(0, 1); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Millisecond)
			}
			test.end(j)
			select {
			case <-c.Context().Done():
			case <-time.After(30 * time.Second):
				t.Fatal("the child does not notice")
			}
			if err := context.Cause(c.Context()); !errors.Is(err, test.want) {
				t.Errorf("the cause is %v, want %v", err, test.want)
			}
			if got := j.Wait(); got.Done || got.Err == nil {
				t.Errorf("the attempt is %+v", got)
			}
		})
	}
}
