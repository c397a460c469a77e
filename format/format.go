package format

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Format is one column format.
type Format interface {
	// Name is the format's name on the command line and in documents.
	Name() string
	// Suffix ends the names of the format's parts, with a dot.
	Suffix() string
	// Choices are the options of the format that its users have.
	Choices() []Choice
	// Options makes the document that a plan carries of what was chosen: values
	// in the order in which they were given, by the names of Choices. Equal
	// choices make equal documents.
	Options(chosen map[string][]string) (json.RawMessage, error)
	// Describe says in a few words what a document of Options asks for.
	Describe(options json.RawMessage) string
	// Writer returns the writer of row groups with the options of a document. An
	// option that it does not know is an error.
	Writer(options json.RawMessage) (Writer, error)
	// Recognizes reports whether a file that begins with some bytes, of which
	// there are 16 or the whole file, is one of the format's.
	Recognizes(head []byte) bool
	// Open opens a part that consists of files, in no particular order. Errors
	// are *damage.Error, or wrap what reading reported.
	Open(files []File, o OpenOptions) (Part, error)
}

// InMemory is a Format that also suits parts which never leave memory.
type InMemory interface {
	Format
	// Plain returns the writer of parts that are neither compressed nor protected.
	Plain() ColumnWriter
}

// Choice is an option of a format on the command line.
type Choice struct {
	Name  string
	Usage string // one line; a `word` in back quotes names the value
	// Default is the value that Options takes where there is none.
	Default string
	// Repeatable is whether it can be given more than once.
	Repeatable bool
	// Switch is whether it needs no value on the command line. Options gets "true"
	// then, or "false", which is the default.
	Switch bool
	// Values are suggestions for the shell's completion.
	Values []string
}

// HeadSize is the number of bytes that Recognizes wants.
const HeadSize = 16

// Registry are the formats that a program has. The first is the default; otherwise their
// order means nothing.
type Registry []Format

// ErrUnknown is the error for a format that is not in the registry.
var ErrUnknown = errors.New("unknown format")

// Named returns the format of a name, or ErrUnknown.
func (r Registry) Named(name string) (Format, error) {
	if f := r.find(func(f Format) bool { return f.Name() == name }); f != nil {
		return f, nil
	}
	return nil, fmt.Errorf("%w %q; known are: %s", ErrUnknown, name, strings.Join(r.Names(), ", "))
}

// Names are the names of all formats.
func (r Registry) Names() []string {
	names := make([]string, len(r))
	for i, f := range r {
		names[i] = f.Name()
	}
	return names
}

// OfName returns the format whose parts have names like this one, nil if there
// is none.
func (r Registry) OfName(part string) Format {
	return r.find(func(f Format) bool { return strings.HasSuffix(part, f.Suffix()) })
}

// OfFile returns the format of a file by its first HeadSize bytes, nil if there
// is none.
func (r Registry) OfFile(head []byte) Format {
	return r.find(func(f Format) bool { return f.Recognizes(head) })
}

// InMemory returns the format of parts that never leave memory, nil if there is none.
func (r Registry) InMemory() InMemory {
	f, _ := r.find(func(f Format) bool { _, ok := f.(InMemory); return ok }).(InMemory)
	return f
}

func (r Registry) find(is func(Format) bool) Format {
	if i := slices.IndexFunc(r, is); i >= 0 {
		return r[i]
	}
	return nil
}

// Writer returns the writer of the format of a name with the options of a
// document.
func (r Registry) Writer(name string, options json.RawMessage) (Writer, error) {
	f, err := r.Named(name)
	if err != nil {
		return nil, err
	}
	return f.Writer(options)
}
