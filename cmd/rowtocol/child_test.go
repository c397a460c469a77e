package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/hadoop"
	"github.com/rowtocol/rowtocol/hadoop/pipes"
	"github.com/rowtocol/rowtocol/hadoop/pipes/pipestest"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/task"
)

// childOf runs the program as Hadoop does, for a task of a plan made in dir.
func childOf(t *testing.T, dir string, p *manifest.Plan, number int) (output, pipestest.Outcome) {
	t.Helper()
	staging := filepath.Join(p.Dest, ".rowtocol", "plan-"+p.ID)
	piece := p.Tasks[number].Pieces[0]
	split := pipes.Split{Path: p.Request.Inputs[piece.Input].Path, Start: piece.Start, Length: piece.End - piece.Start}
	var file bytes.Buffer
	job := hadoop.Job{Run: "0123456789abcdef", Memory: 64 << 20, Workers: 1}
	err := hadoop.WriteTasks(&file, job, []task.Batch{{Plan: p, Dir: staging}}, []hadoop.Entry{{Split: split, Task: number}})
	if err == nil {
		err = os.MkdirAll(staging, 0o755)
	}
	must(t, err)
	write(t, filepath.Join(dir, hadoop.TasksName), file.Bytes())
	j := pipestest.Start(t, pipes.MapTask{Split: split, Conf: map[string]string{"mapreduce.task.attempt.id": "attempt_1_0001_m_000000_0"}})
	// The child ignores the variables of flags.
	env := append(j.Environ(), "LOG_DIRS="+dir, "ROWTOCOL_MEMORY=rubbish")
	out := rowtocol(t, dir, env, "--what", "ever")
	return out, j.Wait()
}

// TestChildOfHadoop checks that the program runs a map task in Hadoop's environment, and
// that commit accepts its work like any other.
func TestChildOfHadoop(t *testing.T) {
	dir := placesOutput(t)
	rowtocol(t, dir, nil, "plan", "places.avro", "out", "-o", "plan.json").want(t, 0)
	doc, err := os.ReadFile(filepath.Join(dir, "plan.json"))
	must(t, err)
	p, err := manifest.DecodePlan(doc)
	must(t, err)
	out, heard := childOf(t, dir, p, 0)
	if out.want(t, 0); !heard.Done || out.stdout+out.stderr != "" {
		t.Errorf("Java got %+v, others %q", heard, out.stdout+out.stderr)
	}
	rowtocol(t, dir, nil, "commit", "--plan", "plan.json").want(t, 0)
	rowtocol(t, dir, nil, "verify", "out", "--against", "places.avro").want(t, 0)
	log, err := os.ReadFile(filepath.Join(dir, "rowtocol.log"))
	if err != nil || !strings.Contains(string(log), `"msg":"task ended"`) {
		t.Errorf("the log is %s, %v", log, err)
	}

	// Now the plan's work and the input are gone.
	must(t, os.Remove(filepath.Join(dir, "places.avro")))
	out, heard = childOf(t, dir, p, 0)
	if out.want(t, 3, "places.avro does not exist"); heard.Done || heard.Err == nil {
		t.Errorf("Java got %+v", heard)
	}
}
