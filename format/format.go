package format

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/format/column"
)

// Format is one column format.
type Format interface {
	// Name returns the format's name on the command line and in documents.
	Name() string
	// Suffix returns the ending of the names of the format's parts, with its dot.
	Suffix() string
	// Choices returns the options that users can set.
	Choices() []Choice
	// Options returns the document of options for a plan. chosen has the values that a user
	// gave, in their order, by the names of Choices. Equal choices give equal documents.
	Options(chosen map[string][]string) (json.RawMessage, error)
	// Describe returns a short description of a document of Options.
	Describe(options json.RawMessage) string
	// Writer returns the writer of row groups with the options of a document. An
	// unknown option is an error.
	Writer(options json.RawMessage) (Writer, error)
	// Recognizes reports whether a file is a file of the format. head is the first HeadSize
	// bytes of the file, or the whole file.
	Recognizes(head []byte) bool
	// Open opens a part that consists of files, in any order. Errors are *damage.Error,
	// or wrap an error of the files' reader.
	Open(files []File, o OpenOptions) (Part, error)
}

// RowFormat is a Format that keeps rows whole: its parts are RowParts, which are read from their
// first row on.
type RowFormat interface {
	Format
	KeepsRows()
}

// MultiGroup is a Format whose files can have several row groups.
type MultiGroup interface {
	Format
	// NewFile starts a file with the options of a document. memory accounts for what the file
	// keeps of its row groups until End. Its owner releases it.
	NewFile(options json.RawMessage, memory column.Account) (FileWriter, error)
}

// Choice is an option of a format on the command line.
type Choice struct {
	Name  string
	Usage string // one line; a `word` in back quotes names the value
	// Default is the value that Options uses if the user gives no value.
	Default string
	// Repeatable reports whether the option can be given more than once.
	Repeatable bool
	// Switch reports whether the option needs no value on the command line. The values for
	// Options are "true" and "false". The default is "false".
	Switch bool
	// Values are suggestions for the shell's completion.
	Values []string
}

// HeadSize is the number of bytes that Recognizes needs.
const HeadSize = 16

// Registry is the list of formats of a program. The first format is the default. The order of
// the others has no meaning.
type Registry []Format

// ErrUnknown is the error for a format that is not in the registry.
var ErrUnknown = errors.New("unknown format")

// Named returns the format with a name, or ErrUnknown.
func (r Registry) Named(name string) (Format, error) {
	if f := r.find(func(f Format) bool { return f.Name() == name }); f != nil {
		return f, nil
	}
	return nil, fmt.Errorf("%w %q; known are: %s", ErrUnknown, name, strings.Join(r.Names(), ", "))
}

// Names returns the names of all formats.
func (r Registry) Names() []string {
	names := make([]string, len(r))
	for i, f := range r {
		names[i] = f.Name()
	}
	return names
}

// OfName returns the format whose suffix the name of a part has, or nil.
func (r Registry) OfName(part string) Format {
	return r.find(func(f Format) bool { return strings.HasSuffix(part, f.Suffix()) })
}

// OfFile returns the format that recognizes the first HeadSize bytes of a file, or nil.
func (r Registry) OfFile(head []byte) Format {
	return r.find(func(f Format) bool { return f.Recognizes(head) })
}

func (r Registry) find(is func(Format) bool) Format {
	if i := slices.IndexFunc(r, is); i >= 0 {
		return r[i]
	}
	return nil
}

// Writer returns the writer of the named format with the options of a document.
func (r Registry) Writer(name string, options json.RawMessage) (Writer, error) {
	f, err := r.Named(name)
	if err != nil {
		return nil, err
	}
	return f.Writer(options)
}
