// Package report is what one run of the program did: the figures that its log, its
// JSON object, its metrics and its lineage all tell. It imports nothing of the program;
// cmd/rowtocol fills it in, and whoever tells of a run takes it.
package report

import "time"

// Run is what one run of the program did. Inputs and figures are of the outputs that it
// made, of the tasks that it was to do, or of what it planned or verified: a run that had
// nothing to do has none, and one that failed those of what it had committed before.
type Run struct {
	ID      string // drawn at the start; log lines have it as "run"
	Command string
	Version string // of the program
	Dest    string // of convert, submit, plan, task and commit; what verify read
	Place   string // of Dest, where that leaves the authority to the configuration; else empty
	Began   time.Time
	Ended   time.Time // zero while the run works
	Exit    int
	Status  string // "done", "nothing", "detached", or the name of the exit code

	Inputs     []Input
	InputBytes int64 // of Inputs together
	Rows       int64 // in the output; those that verify read
	Bytes      int64 // stored
	LostRows   int64 // that are known to be lost
	Losses     int   // ranges of inputs that were lost
	Files      int   // of the output
	Tasks      int   // done, the resumed ones included
	Resumed    int   // tasks that an earlier run had done
	// ResumedBytes is the part of InputBytes that those tasks have.
	ResumedBytes int64

	PeakMemory int64  // bytes resident at most; 0 if the system does not tell
	Schema     string // Avro JSON of the rows
	OutputID   string // of the last output that was committed
}

// Input is a file that was converted.
type Input struct {
	Path  string
	Bytes int64
}

// Duration is the time that the run took, to its end.
func (r *Run) Duration() time.Duration { return r.Ended.Sub(r.Began) }

// Rate is how many input bytes the run itself converted a second; of verify, how many
// stored bytes it read. It is 0 for a run without files, such as plan's.
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
