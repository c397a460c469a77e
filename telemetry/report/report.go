// Package report describes one run of the program: the figures that its log, its JSON
// object, its metrics and its lineage report. It imports nothing of the program;
// cmd/rowtocol fills it in.
package report

import "time"

// Run describes one run of the program. Inputs and figures are those of the outputs that
// it made, of its tasks, or of what it planned or verified. A run that had nothing to do
// has none. A run that failed has those of its earlier commits.
type Run struct {
	ID           string // drawn at the start; log lines have it as "run"
	Command      string
	Version      string // of the program
	Dest         string // of convert, submit, plan, task and commit; the input of verify
	ResolvedDest string // Dest with its authority, if Dest leaves that to the configuration; else empty
	Began        time.Time
	Ended        time.Time // zero while the run works
	Exit         int
	Status       string // "done", "nothing", "detached", or the name of the exit code

	Inputs     []Input
	InputBytes int64 // sum of Inputs
	Rows       int64 // in the output, or read by verify
	Bytes      int64 // stored
	LostRows   int64 // known to be lost
	Losses     int   // ranges of inputs that were lost
	Files      int   // of the output
	Tasks      int   // done, the resumed ones included
	Resumed    int   // tasks that an earlier run had done
	// ResumedBytes is the part of InputBytes that those tasks have.
	ResumedBytes int64

	PeakMemory int64  // largest resident memory in bytes; 0 if it is not known
	Schema     string // of the rows, as Avro JSON
	OutputID   string // of the last committed output
}

// Input is a file that was converted.
type Input struct {
	Path  string
	Bytes int64
}

// Duration returns the time that the run took.
func (r *Run) Duration() time.Duration { return r.Ended.Sub(r.Began) }

// Rate returns how many input bytes the run itself converted per second; for verify, how
// many stored bytes it read. It is 0 for a run without files, such as that of plan.
func (r *Run) Rate() float64 {
	bytes, seconds := r.InputBytes-r.ResumedBytes, r.Duration().Seconds()
	if r.InputBytes == 0 {
		bytes = r.Bytes
	}
	if r.Files == 0 || seconds <= 0 {
		return 0
	}
	return float64(bytes) / seconds
}
