package input

import (
	"os"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// TestStillRead checks that StillRead notices a change of the input of a finished task.
func TestStillRead(t *testing.T) {
	file := t.TempDir() + "/a.avro"
	write(t, file, "x", 20)
	whole, err := os.ReadFile(file)
	testenv.Must(t, err)
	was := describe(t, file)
	res := &manifest.TaskResult{Reads: []manifest.Read{{CRC32C: *was.CRC32C, FileID: was.FileID, ModTime: was.ModTime}}}
	stillRead := func() (bool, error) {
		in, _, err := Describe(t.Context(), nil, file)
		testenv.Must(t, err)
		p := &manifest.Plan{Request: manifest.Request{Inputs: []manifest.Input{in}}, Tasks: []manifest.Task{{Pieces: []manifest.Piece{{End: in.Size}}}}}
		return StillRead(t.Context(), nil, p, res)
	}
	now := time.Now()
	for name, tc := range map[string]struct {
		change byte
		want   bool
	}{"touched": {0, true}, "rewritten": {1, false}} {
		b := append([]byte(nil), whole...)
		b[len(b)-20] ^= tc.change
		testenv.Must(t, os.WriteFile(file, b, 0o666))
		if ok, err := stillRead(); ok != tc.want || err != nil {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
	}
	// With the same time, StillRead reads no bytes.
	testenv.Must(t, os.Chtimes(file, was.ModTime, was.ModTime))
	if ok, err := stillRead(); !ok || err != nil {
		t.Errorf("with the same time: %v, %v", ok, err)
	}
	in := was
	in.Path, in.ModTime = t.TempDir()+"/gone", now
	p := &manifest.Plan{Request: manifest.Request{Inputs: []manifest.Input{in}}, Tasks: []manifest.Task{{Pieces: []manifest.Piece{{End: in.Size}}}}}
	ok, err := StillRead(t.Context(), nil, p, res)
	failuretest.Want(t, err, failure.Input, "does not exist")
	if ok {
		t.Error("a removed file is reported as still read")
	}
}

// TestCheckOfPlanned checks that Check refuses an input if the plan has another checksum of it
// than the task.
func TestCheckOfPlanned(t *testing.T) {
	file := t.TempDir() + "/a.avro"
	write(t, file, "x", 20)
	in := describe(t, file)
	read, planned := *in.CRC32C, *in.CRC32C+1
	in.CRC32C = &planned
	p := &manifest.Plan{Request: manifest.Request{Inputs: []manifest.Input{in}}, Tasks: []manifest.Task{{Pieces: []manifest.Piece{{End: in.Size}}}}}
	res := &manifest.TaskResult{Reads: []manifest.Read{{CRC32C: read, FileID: in.FileID, ModTime: in.ModTime}}}
	_, err := Check(t.Context(), nil, p, []*manifest.TaskResult{res})
	failuretest.Want(t, err, failure.Input, "changed during the job: the CRC-32C")
}
