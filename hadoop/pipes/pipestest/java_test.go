package pipestest_test

import (
	"context"
	"errors"
	"maps"
	"slices"
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
