package manifest

import (
	"errors"
	"time"
)

// Version is the version of the documents that this package writes, and the only one that it
// reads. In results and _SUCCESS documents of this version, it ignores fields that it does not
// know, because such fields are always optional. In a plan it refuses unknown fields, because a
// task that ignores one could make other bytes.
const Version = 2

// MaxSize bounds a document, in bytes. Callers pass it to a store as the size of the largest
// file to read.
const MaxSize = 1 << 30

// ErrVersion is the error for a document of an unknown version.
var ErrVersion = errors.New("unknown version of the document")

// ErrAltered is the error for a document without a checksum, or with a wrong one.
var ErrAltered = errors.New("the document is damaged, or not rowtocol's")

// Made says how a document was made. It does not shape the bytes of an output, and
// comparisons of documents ignore it.
type Made struct {
	Program string    `json:"program,omitempty"` // version of the program
	At      time.Time `json:"at,omitzero"`       // time by the clock of the machine
	Seconds float64   `json:"seconds,omitempty"` // duration of the work
	// Run is the ID of the run, as in its log.
	Run        string `json:"run,omitempty"`
	InputBytes int64  `json:"input_bytes,omitempty"`
	PeakMemory int64  `json:"peak_memory,omitempty"` // the most bytes that the process had resident
	Tasks      int    `json:"tasks,omitempty"`
	Resumed    int    `json:"resumed_tasks,omitempty"` // how many of Tasks an earlier run had done
}

// MadeNow returns a Made for work that began at began and ends now. program is the version of
// the program.
func MadeNow(program string, began time.Time) *Made {
	return &Made{Program: program, At: time.Now().UTC(), Seconds: time.Since(began).Round(time.Millisecond).Seconds()}
}
