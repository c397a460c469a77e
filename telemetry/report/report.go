// Package report describes one run of the program: the figures that the log, the JSON
// object, the metrics and the lineage of the run have. It imports nothing of the program.
// cmd/rowtocol sets the figures.
package report

import "time"

// Run describes one run of the program. The inputs and figures are those of the outputs that
// the run made, of the tasks that it ran, or of what it planned or verified. A run that had
// nothing to do has none. A run that failed has those of the outputs that it committed before.
type Run struct {
	ID           string // random ID; log lines have it as "run"
	Command      string
	JobName      string // name that the user gave the job; empty if there is none
	Version      string // version of the program
	Dest         string // destination; for verify, its argument
	ResolvedDest string // Dest with its authority, if Dest leaves that to the configuration; else empty
	Catalog      string // location of the catalog of Table
	Table        string // name of the table that the run changes, if it does not make Dest; else empty
	Began        time.Time
	Ended        time.Time // zero until the run has ended
	Exit         int
	Status       string // "done", "nothing", "detached", or the name of the exit code

	Inputs      []Input
	InputBytes  int64 // sum of Inputs
	Rows        int64 // rows in the output, or that verify read
	Bytes       int64 // stored bytes
	LostRows    int64 // rows that are known to be lost
	Losses      int   // number of lost ranges of inputs
	Skipped     int   // files among the inputs that are no Avro files, and may have been meant as inputs
	Differences int64 // number of differences that verify found
	Files       int   // files of the output
	Tasks       int   // tasks that are done, including those of earlier runs
	Resumed     int   // tasks that an earlier run had done
	// ResumedBytes is the part of InputBytes that the resumed tasks read.
	ResumedBytes int64

	PeakMemory int64  // largest resident memory in bytes; 0 if it is not known
	Schema     string // Avro schema of the rows, as JSON
	OutputID   string // ID of the last committed output
}

// Input is a file that was converted.
type Input struct {
	Path  string
	Bytes int64
}

// Duration returns the time that the run took.
func (r *Run) Duration() time.Duration { return r.Ended.Sub(r.Began) }

// Rate returns how many input bytes the run itself converted per second. For verify, it returns
// how many stored bytes verify read per second. It is 0 for a run without files, for example of
// plan.
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
