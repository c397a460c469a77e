package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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

// encode writes indented JSON, readable by people, with a newline at its end.
// Struct fields keep their order and map keys are sorted, so equal documents
// have equal bytes.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// versionOf looks at the version alone: a newer document may well not fit the
// types of this program, and "too new" is what its reader has to know. It stands
// first, so the rest is not read for it.
func versionOf(what string, b []byte) (version int, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	if _, err = d.Token(); err != nil {
		return 0, inDocument(what, err)
	}
	for d.More() {
		key, err := d.Token()
		if err == nil && key == "version" {
			err = d.Decode(&version)
			return version, inDocument(what, err)
		}
		var skipped json.RawMessage
		if err == nil {
			err = d.Decode(&skipped)
		}
		if err != nil {
			return 0, inDocument(what, err)
		}
	}
	return 0, nil
}

func inDocument(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// checkVersion refuses documents of other versions.
func checkVersion(what string, b []byte) error {
	version, err := versionOf(what, b)
	if err != nil {
		return err
	}
	//guard: a document of another version would be misread
	if version != Version {
		return fmt.Errorf("%s: %w: it has %d, this program knows %d", what, ErrVersion, version, Version)
	}
	return nil
}

// decode reads a document of this version, and passes over fields that v does
// not have.
func decode(what string, b []byte, v any) error {
	if err := checkVersion(what, b); err != nil {
		return err
	}
	return inDocument(what, json.Unmarshal(b, v))
}

// decodeKnown reads a document of this version that has no fields but v's.
func decodeKnown(what string, b []byte, v any) error {
	if err := checkVersion(what, b); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	//guard: what a newer program asks for would be left out in silence
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err != nil && json.Unmarshal(b, v) == nil {
		return fmt.Errorf("%s: a newer program made it, or it was altered: this one does not know all that is in it: %w", what, err)
	}
	//guard: what follows the document would be left out in silence
	if err == nil && len(bytes.TrimSpace(b[d.InputOffset():])) > 0 {
		err = errors.New("something follows it")
	}
	return inDocument(what, err)
}
