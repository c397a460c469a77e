package hadoop

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/hadoop/pipes"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/task"
)

// samplePlan returns a plan of a cut file and a group of small files.
func samplePlan() *manifest.Plan {
	return &manifest.Plan{
		Version: manifest.Version, ID: "0123", Dest: "hdfs://nn/out", Schema: `{"type":"int"}`, Columns: 1, BlockSize: 4096, SplitSize: 100, Ratio: 1.5,
		Warnings: []string{"odd"},
		Request: manifest.Request{
			Inputs: []manifest.Input{
				{Path: "hdfs://nn/in/a,{b} é<&>.avro", Size: 150, Identity: 1, HeaderSize: 9, ModTime: time.UnixMilli(5).UTC()},
				{Path: "hdfs://nn/in/b.avro", Size: 10}, {Path: "hdfs://nn/in/c.avro", Size: 20},
			},
			Options: manifest.Options{Format: "trevni", FormatOptions: json.RawMessage(`{"codec": "null"}`), RowGroupSize: 1 << 20, OnDamage: "fail", MaxInputBlock: 1 << 20, MaxLostRows: -1},
		},
		Tasks: []manifest.Task{
			{ID: 0, Pieces: []manifest.Piece{{Input: 0, Start: 0, End: 100}}},
			{ID: 1, Pieces: []manifest.Piece{{Input: 0, Start: 100, End: 150}}},
			{ID: 2, Pieces: []manifest.Piece{{Input: 1, End: 10}, {Input: 2, End: 20}}},
		},
	}
}

// sampleJob returns a job of all tasks of two plans. The splits of the second plan are
// carriers.
func sampleJob() (Job, []task.Batch, []Entry) {
	first, second := samplePlan(), samplePlan()
	second.ID, second.Dest = "4567", "hdfs://nn/other"
	job := Job{Program: "1.2.3", Run: "run", Memory: 512 << 20, Workers: 2, StoreRetry: time.Minute, Replication: 2}
	batches := []task.Batch{
		{Plan: first, Dir: "/out/.rowtocol/plan-0123"}, {Plan: second, Dir: "/other/.rowtocol/plan-4567"},
	}
	var entries []Entry
	for n, t := range first.Tasks {
		piece := t.Pieces[0]
		entries = append(entries,
			Entry{Split: pipes.Split{Path: first.Request.Inputs[piece.Input].Path, Start: piece.Start, Length: piece.End - piece.Start}, Batch: 0, Task: n},
			Entry{Split: pipes.Split{Path: fmt.Sprintf("/user/etl/carrier-1-%d", n), Length: 10}, Batch: 1, Task: n})
	}
	return job, batches, entries
}

func taskFile(t testing.TB, job Job, batches []task.Batch, entries []Entry) []byte {
	t.Helper()
	var b bytes.Buffer
	testenv.Must(t, WriteTasks(&b, job, batches, entries))
	return b.Bytes()
}

// TestFindTask checks that FindTask finds every task by its split, with any spelling of the
// split's file system. The assignment has all that the task needs of its plan, and nothing of
// other tasks.
func TestFindTask(t *testing.T) {
	job, batches, entries := sampleJob()
	file := taskFile(t, job, batches, entries)
	for _, e := range entries {
		s := e.Split
		s.Path = "hdfs://127.0.0.1:9000" + barePath(s.Path)
		a, err := FindTask(bytes.NewReader(file), s)
		if err != nil {
			t.Fatal(s, err)
		}
		batch := batches[e.Batch]
		want := *batch.Plan
		want.Warnings = nil
		want.Request.Options.FormatOptions = json.RawMessage(`{"codec":"null"}`)
		want.Request.Inputs = make([]manifest.Input, 3)
		want.Tasks = make([]manifest.Task, 3)
		want.Tasks[e.Task] = batch.Plan.Tasks[e.Task]
		for _, piece := range want.Tasks[e.Task].Pieces {
			want.Request.Inputs[piece.Input] = batch.Plan.Request.Inputs[piece.Input]
		}
		job.Version = tasksVersion
		if !reflect.DeepEqual(a, &Assignment{Job: job, Plan: &want, Dir: batch.Dir, Task: e.Task}) {
			t.Errorf("%v: got %+v of plan %+v", s, a, a.Plan)
		}
	}
}

// TestFindNoTask checks that FindTask reports a changed file if no task has a split. It also
// returns a directory in which this failure can be reported.
func TestFindNoTask(t *testing.T) {
	job, batches, entries := sampleJob()
	file := taskFile(t, job, batches, entries)
	for _, s := range []pipes.Split{{Path: "/in/b.avro", Length: 11}, {Path: "/in/b.avro", Start: 1, Length: 10}, {Path: "/in/x.avro", Length: 10}} {
		a, err := FindTask(bytes.NewReader(file), s)
		if !errors.Is(err, failure.Input) || !strings.Contains(err.Error(), s.Path) {
			t.Errorf("%v: %v", s, err)
		}
		if a == nil || a.Task != -1 || a.Dir != batches[0].Dir || a.Plan.Dest != batches[0].Plan.Dest || a.Run != job.Run {
			t.Errorf("%v: %+v", s, a)
		}
	}
}

func TestWriteSameSplitTwice(t *testing.T) {
	job, batches, entries := sampleJob()
	again := entries[0]
	again.Split.Path, again.Batch = "hdfs://elsewhere"+barePath(again.Split.Path), 1
	if err := WriteTasks(new(bytes.Buffer), job, batches, append(entries, again)); err == nil {
		t.Error("no error for two tasks with the same split")
	}
}

// TestWriteLongLine checks that WriteTasks rejects a line that tasks would reject.
func TestWriteLongLine(t *testing.T) {
	job, batches, entries := sampleJob()
	batches[1].Plan.Schema = strings.Repeat(" ", maxTaskLine)
	failuretest.Want(t, WriteTasks(new(bytes.Buffer), job, batches, entries), failure.Usage, "the schema")
}

// TestFindInDamagedFile checks that FindTask rejects an invalid task file, and does not report
// it as a change of the input.
func TestFindInDamagedFile(t *testing.T) {
	job, batches, entries := sampleJob()
	file := string(taskFile(t, job, batches, entries))
	s := entries[4].Split // a split of a task with two inputs
	long := `"id":2,` + strings.Repeat(" ", maxTaskLine)
	for name, damaged := range map[string]string{
		"nothing":           "",
		"header":            file[:10],
		"no header":         "\n" + file,
		"version":           strings.Replace(file, `"version":1`, `"version":2`, 1),
		"field":             strings.Replace(file, `"memory"`, `"melody"`, 1),
		"no plans":          file[:strings.Index(file, "\nplan 0 ")+1],
		"cut":               file[:strings.Index(file, "\nplan 1 ")],
		"plan's version":    strings.ReplaceAll(file, `{"version":2,"id"`, `{"version":3,"id"`),
		"plan's field":      strings.ReplaceAll(file, `"row_group_size"`, `"row_group_side"`),
		"empty plan":        file[:strings.Index(file, "\nplan 0 ")] + "\nplan 0 {}\n",
		"unknown plan":      strings.ReplaceAll(file, `"plan":0,`, `"plan":7,`),
		"task":              strings.ReplaceAll(file, `"task":{"id":2`, `"task":{"id":3`),
		"negative task":     strings.ReplaceAll(file, `"task":{"id":2`, `"task":{"id":-1`),
		"long line":         strings.Replace(file, `"id":2,`, long, 1),
		"many tasks":        strings.ReplaceAll(file, `"tasks":3`, `"tasks":4194305`),
		"many inputs":       strings.ReplaceAll(file, `"inputs":3`, `"inputs":4194305`),
		"negative tasks":    strings.ReplaceAll(file, `"tasks":3`, `"tasks":-1`),
		"negative inputs":   strings.ReplaceAll(file, `"inputs":3`, `"inputs":-1`),
		"few inputs":        strings.ReplaceAll(file, `"inputs":3`, `"inputs":2`),
		"no input":          strings.ReplaceAll(file, `"2":{"path"`, `"3":{"path"`),
		"empty of no input": strings.NewReplacer(`"2":{"path"`, `"3":{"path"`, `"start":0,"end":20`, `"start":0,"end":0`).Replace(file),
		"negative input":    strings.NewReplacer(`"input":2`, `"input":-2`, `"2":{"path"`, `"-2":{"path"`).Replace(file),
		"before the input":  strings.ReplaceAll(file, `"start":0,"end":20`, `"start":-1,"end":20`),
		"backwards":         strings.ReplaceAll(file, `"start":0,"end":20`, `"start":20,"end":10`),
		"after the input":   strings.ReplaceAll(file, `"start":0,"end":20`, `"start":0,"end":21`),
		"another split":     strings.ReplaceAll(file, `{"split":{"path":"/in/b.avro","start":0`, `{"split":{"path":"/in/b.avro","start":1`),
	} {
		if damaged == file {
			t.Errorf("%s: the file was not changed", name)
		}
		if a, err := FindTask(strings.NewReader(damaged), s); err == nil {
			t.Errorf("%s: got %+v, want an error", name, a)
		} else if errors.Is(err, failure.Input) {
			t.Errorf("%s: got %v, want an error other than of the input", name, err)
		}
	}
}

// TestFindAmongMany checks that FindTask needs little memory for the file of 100,000 tasks.
func TestFindAmongMany(t *testing.T) {
	const tasks = 100_000
	p := samplePlan()
	p.Request.Inputs, p.Tasks = nil, nil
	var entries []Entry
	for n := range tasks {
		in := manifest.Input{Path: fmt.Sprintf("hdfs://nn/warehouse/mail/day=2026-01-01/part-%05d.avro", n), Size: 128 << 20}
		p.Request.Inputs = append(p.Request.Inputs, in)
		p.Tasks = append(p.Tasks, manifest.Task{ID: n, Pieces: []manifest.Piece{{Input: n, End: in.Size}}})
		entries = append(entries, Entry{Split: pipes.Split{Path: in.Path, Length: in.Size}, Task: n})
	}
	file := taskFile(t, Job{}, []task.Batch{{Plan: p}}, entries)
	last := entries[tasks-1].Split
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if a, err := FindTask(bytes.NewReader(file), last); err != nil || a.Task != tasks-1 {
		t.Fatal(a, err)
	}
	runtime.ReadMemStats(&after)
	// The empty tasks and inputs of the plan take 14 MB.
	if got := after.TotalAlloc - before.TotalAlloc; got > 15<<20 {
		t.Errorf("finding a task allocates %d bytes", got)
	}
}

func FuzzFindTask(f *testing.F) {
	job, batches, entries := sampleJob()
	good := taskFile(f, job, batches, entries)
	s := entries[4].Split
	f.Add(good, s.Path, s.Start, s.Length)
	f.Add(good[:len(good)/2], entries[0].Split.Path, int64(0), int64(100))
	f.Fuzz(func(t *testing.T, b []byte, path string, start, length int64) {
		a, err := FindTask(bytes.NewReader(b), pipes.Split{Path: path, Start: start, Length: length})
		if err != nil {
			return
		}
		for _, piece := range a.Plan.Tasks[a.Task].Pieces {
			if in := a.Plan.Request.Inputs[piece.Input]; piece.Start < 0 || piece.End > in.Size || piece.End < piece.Start {
				t.Errorf("piece %+v of %+v", piece, in)
			}
		}
	})
}
