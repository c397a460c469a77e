package pipestest_test

import (
	"errors"
	"maps"
	"sync"
	"testing"

	"github.com/rowtocol/rowtocol/hadoop/pipes"
	"github.com/rowtocol/rowtocol/hadoop/pipes/pipestest"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// TestConcurrent checks that messages of many goroutines stay whole.
func TestConcurrent(t *testing.T) {
	counters := []pipes.Counter{{Group: "rowtocol", Name: "rows"}, {Group: "rowtocol", Name: "bytes"}}
	task := pipes.MapTask{Conf: map[string]string{"empty": ""}, Split: pipes.Split{Path: "hdfs://n:8020/a/b.avro", Start: 1 << 40, Length: 128 << 20}}
	j := pipestest.Start(t, task)
	j.Setenv()
	c, err := pipes.Dial(t.Context())
	testenv.Must(t, err)
	defer func() { _ = c.Close() }()
	got, err := c.Accept(t.Context())
	if err != nil || got.Split != task.Split || !maps.Equal(got.Conf, task.Conf) {
		t.Fatalf("the task is %+v, %v; want %+v", got, err, task)
	}
	testenv.Must(t, c.Register(counters...))
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
	testenv.Must(t, c.Done())
	out := j.Wait()
	if !out.Done || out.Counters[counters[0]] != 1600 || out.Counters[counters[1]] != 1_600_000 || len(out.Statuses) != 1600 {
		t.Errorf("Java got counters %v, %d statuses, error %v", out.Counters, len(out.Statuses), out.Err)
	}
}
