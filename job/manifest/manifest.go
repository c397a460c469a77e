package manifest

import (
	"errors"
	"time"
)

// Version is the version of the documents that this package writes, and the
// newest that it reads. A program reads results and _SUCCESS documents of its
// version that have fields which it does not know: such fields are always
// optional. In a plan they are refused, as a task that ignored one could make
// other bytes.
const Version = 2

// MaxSize bounds a document that is worth reading: what callers pass to a
// store as the most bytes of a file to load.
const MaxSize = 1 << 30

// ErrVersion is the error for a document of a version that this program does
// not know.
var ErrVersion = errors.New("unknown version of the document")

// ErrAltered is the error for a document without a checksum, or with a wrong one.
var ErrAltered = errors.New("the document is damaged, or not rowtocol's")

// Made says how a document came about. It shapes no byte of an output and does
// not count when documents are compared.
type Made struct {
	Program string    `json:"program,omitempty"` // version of the program
	At      time.Time `json:"at,omitzero"`       // by the clock of the machine
	Seconds float64   `json:"seconds,omitempty"` // that the work took
	// Run is the ID of the run of the program, as its log has it.
	Run        string `json:"run,omitempty"`
	InputBytes int64  `json:"input_bytes,omitempty"`
	PeakMemory int64  `json:"peak_memory,omitempty"` // bytes that the process had resident at most
	Tasks      int    `json:"tasks,omitempty"`
	Resumed    int    `json:"resumed_tasks,omitempty"` // those of Tasks that an earlier run had done
}

// MadeNow says that a program made something just now, in the time since it
// began.
func MadeNow(program string, began time.Time) *Made {
	return &Made{Program: program, At: time.Now().UTC(), Seconds: time.Since(began).Round(time.Millisecond).Seconds()}
}
