package input

import (
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// Fit says how the schemas of inputs fit the schema of their output.
type Fit struct {
	Schema *shred.Schema // schema of the output; nil if there are no inputs
	// LeftOut are the fields that inputs have and the output does not.
	LeftOut []manifest.LeftOut
	// Warnings name fields that are left out, values that change their meaning, and
	// differences between equivalent schemas.
	Warnings []string

	fields map[string]int // index in LeftOut
	more   int            // number of warnings beyond maxWarnings
}

const (
	// maxWarnings bounds the warnings that are listed; further warnings are only counted.
	maxWarnings = 50
	// maxPlaces bounds the differences of a schema that a warning names.
	maxPlaces = 5
)

// FitFirst checks that all inputs have the same schema. The output gets the schema text of
// the first input.
func FitFirst(inputs []manifest.Input, texts []string) (*Fit, error) {
	f := &Fit{}
	var groups []*schemaGroup
	known := make(map[string]*schemaGroup) // groups, by the identity of the schema
	for _, w := range writersOf(inputs, texts) {
		s, err := shred.ParseSchema(w.text)
		if err != nil {
			return nil, failure.As(failure.Input, &HeaderError{InFile(w.files[0], err)})
		}
		identity := s.Identity()
		g := known[identity]
		if g == nil {
			g = &schemaGroup{schema: s, identity: identity}
			groups, known[identity] = append(groups, g), g
		}
		g.files = append(g.files, w.files...)
		f.tellDifferences(w, g.schema.Differences(s), "that of "+inputs[0].Path+", which the output gets")
	}
	//guard: refuses rows of several schemas in one output
	if len(groups) > 1 {
		return nil, schemasDiffer(groups)
	}
	for _, g := range groups {
		f.Schema = g.schema
	}
	f.tellMore()
	return f, nil
}

// FitRequest parses the schema of the request, and checks that the schemas of all inputs
// resolve to it.
func FitRequest(r *manifest.Request, inputs []manifest.Input, texts []string) (*Fit, error) {
	reader, err := shred.ParseSchema(r.Schema)
	if err != nil {
		return nil, failure.As(failure.Usage, fmt.Errorf("the reader's schema: %w", err))
	}
	f, by := &Fit{Schema: reader, fields: map[string]int{}}, NewResolutions(r, reader)
	for _, w := range writersOf(inputs, texts) {
		how, err := by.resolve(w.files[0], w.text)
		if err != nil {
			return nil, err
		}
		f.leaveOut(w, how.LeftOut())
		for _, change := range how.Changes() {
			f.warn("%s: %s", w.name(), change)
		}
		f.tellDifferences(w, how.Differences(), "that of the output")
	}
	for _, left := range f.LeftOut {
		f.warn("%s has the field %q, which the schema of the output lacks: its values are left out", firstOf(left.Input, left.Inputs), left.Field)
	}
	f.tellMore()
	//guard: refuses to leave out fields with --strict
	if r.Options.Strict && len(f.LeftOut) > 0 {
		left, more := f.LeftOut[0], ""
		if n := len(f.LeftOut) - 1; n > 0 {
			more = fmt.Sprintf(" (the first of %d such fields)", n+1)
		}
		return nil, failure.New(failure.Input, "with --strict: %s has the field %q, which the schema of the output lacks: its values would be left out%s",
			firstOf(left.Input, left.Inputs), left.Field, more)
	}
	return f, nil
}

// writers are the inputs with one schema text.
type writers struct {
	text  string
	files []string
}

// writersOf groups the inputs by the texts of their schemas, in order of first occurrence.
func writersOf(inputs []manifest.Input, texts []string) (all []*writers) {
	known := make(map[string]*writers)
	for i, text := range texts {
		w := known[text]
		if w == nil {
			w = &writers{text: text}
			all, known[text] = append(all, w), w
		}
		w.files = append(w.files, inputs[i].Path)
	}
	return all
}

func (w *writers) name() string { return firstOf(w.files[0], len(w.files)) }

// firstOf names the first of several inputs and their number.
func firstOf(first string, inputs int) string {
	if inputs > 1 {
		return fmt.Sprintf("input %s (the first of %d)", first, inputs)
	}
	return "input " + first
}

// leaveOut records fields that inputs have and the output lacks.
func (f *Fit) leaveOut(w *writers, fields []string) {
	for _, field := range fields {
		i, ok := f.fields[field]
		if !ok {
			i = len(f.LeftOut)
			f.fields[field] = i
			f.LeftOut = append(f.LeftOut, manifest.LeftOut{Field: field, Input: w.files[0]})
		}
		f.LeftOut[i].Inputs += len(w.files)
	}
}

// tellDifferences warns of differences between equivalent schemas.
func (f *Fit) tellDifferences(w *writers, places []string, from string) {
	if len(places) == 0 {
		return
	}
	more := ""
	if n := len(places) - maxPlaces; n > 0 {
		places, more = places[:maxPlaces], fmt.Sprintf(" and %d more", n)
	}
	f.warn("%s: the schema differs from %s: %s%s", w.name(), from, strings.Join(places, "; "), more)
}

func (f *Fit) warn(format string, args ...any) {
	if len(f.Warnings) == maxWarnings {
		f.more++
		return
	}
	f.Warnings = append(f.Warnings, fmt.Sprintf(format, args...))
}

func (f *Fit) tellMore() {
	if f.more > 0 {
		f.Warnings = append(f.Warnings, fmt.Sprintf("further warnings about the schemas of inputs: %d", f.more))
	}
}

// schemaGroup is the inputs with one schema.
type schemaGroup struct {
	schema   *shred.Schema
	identity string
	files    []string
}

// listedFiles is the number of files that an error names for each schema.
const listedFiles = 10

func schemasDiffer(groups []*schemaGroup) error {
	var s strings.Builder
	fmt.Fprintf(&s, "the inputs have %d different schemas, but a job takes one; --schema FILE resolves all inputs to one schema", len(groups))
	for _, g := range groups {
		root := g.schema.Root()
		name := root.Kind.String()
		if root.Name != "" {
			name += " " + root.FullName()
		}
		slices.Sort(g.files)
		listed := min(len(g.files), listedFiles)
		fmt.Fprintf(&s, "; %s (%08x) has %s", name, crc32.ChecksumIEEE([]byte(g.identity)), strings.Join(g.files[:listed], ", "))
		if more := len(g.files) - listed; more > 0 {
			fmt.Fprintf(&s, " and %d more", more)
		}
	}
	return failure.New(failure.Input, "%s", s.String())
}
