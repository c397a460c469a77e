package damage

import (
	"errors"
	"fmt"
	"strings"
)

// Kind is the kind of damage.
type Kind string

// The kinds of damage. Unsupported is for valid input that cannot be converted, such as a
// recursive schema. It is not damaged, but is located and reported in the same way.
const (
	Magic       Kind = "magic"
	Header      Kind = "header"
	Schema      Kind = "schema"
	Codec       Kind = "codec"
	Sync        Kind = "sync"
	Count       Kind = "count"
	Size        Kind = "size"
	Checksum    Kind = "checksum"
	Truncated   Kind = "truncated"
	Trailing    Kind = "trailing bytes"
	Value       Kind = "value"
	Unsupported Kind = "unsupported"
)

// Error is damage at a place. An empty Column or Path, and -1 for Offset, Row or Block,
// mean "does not apply".
type Error struct {
	Kind   Kind
	File   string // name as the user gave it
	Offset int64  // absolute byte offset in File, or -1
	Row    int64  // number of the row in the file, or -1
	// OfBlock says that Row counts from the first row of the block of an Avro file at Offset.
	OfBlock bool
	Block   int64  // block number (columns), or -1
	Column  string // column name, for column files
	Path    string // dotted field path, for rows
	Reason  string // one clause that says what was found, and what was expected
	Err     error  // cause, if another error explains it
}

// New returns an Error at a byte offset with a formatted reason.
func New(kind Kind, file string, offset int64, reason string, args ...any) *Error {
	return &Error{
		Kind: kind, File: file, Offset: offset, Row: -1, Block: -1,
		Reason: fmt.Sprintf(reason, args...),
	}
}

// SetFile sets the file of the Error that err is or wraps, unless it already has one.
// It returns false if there is no such Error.
func SetFile(err error, name string) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	//guard: keeps the name of a file that is already known
	if e.File == "" {
		e.File = name
	}
	return true
}

// Error returns the file, column, block, row, field and offset, as far as known, then
// the kind and the reason. Rows count from 0.
func (e *Error) Error() string {
	var s strings.Builder
	if e.File != "" {
		s.WriteString(e.File + ": ")
	}
	if e.Column != "" {
		fmt.Fprintf(&s, "column %s: ", e.Column)
	}
	if e.Block >= 0 {
		fmt.Fprintf(&s, "block %d: ", e.Block)
	}
	switch {
	case e.Row >= 0 && e.OfBlock:
		fmt.Fprintf(&s, "row %d of the block at offset %d: ", e.Row, e.Offset)
	case e.Row >= 0:
		fmt.Fprintf(&s, "row %d: ", e.Row)
	}
	if e.Path != "" {
		fmt.Fprintf(&s, "field %s: ", e.Path)
	}
	if e.Offset >= 0 && !e.OfBlock {
		fmt.Fprintf(&s, "offset %d: ", e.Offset)
	}
	fmt.Fprintf(&s, "%s: %s", e.Kind, e.Reason)
	if e.Err != nil {
		fmt.Fprintf(&s, ": %v", e.Err)
	}
	return s.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
