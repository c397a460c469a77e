package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/internal/parallel"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// header is a file and the content of its header.
type header struct {
	file   *input.File
	input  manifest.Input
	schema string // text of the schema
	known  bool   // whether the destination, another partition or an earlier file has the rows
	lost   bool   // whether the file is an input without a readable header, whose rows are all lost
	skip   string // why the file is not an input; empty if it is an input
	same   string // name of the file that has the same rows, if this file is skipped
	open   bool   // whether a writer has the file open
}

// readHeaders reads the headers of files and adds the files to the request, except known
// files. It skips a non-Avro file that was found in a directory, and a file that is still
// being written unless the user named it. It returns the headers of the files that it did not
// skip, and of known files.
func (s *Survey) readHeaders(ctx context.Context, files []input.File) ([]header, error) {
	headers := make([]header, len(files))
	var shared sharedTexts
	err := parallel.Do(ctx, len(files), input.Readers, func(ctx context.Context, i int) (err error) {
		h := &headers[i]
		*h = header{file: &files[i], input: files[i].Facts}
		if done, err := s.knownUnopened(ctx, h); done || err != nil {
			return err
		}
		in, first, err := input.Describe(ctx, s.config.Resolve, files[i].Name)
		in.Real = files[i].Facts.Real
		h.input = in
		if done, err := s.knownOpened(ctx, h, err); done || err != nil {
			return s.headerFailed(h, err)
		}
		h.schema = shared.intern(first.Schema)
		return s.headerFailed(h, s.checkSchema(&shared, h))
	})
	if err == nil {
		err = s.skipRepeated(ctx, headers)
	}
	if err == nil {
		err = s.tellLost(headers)
	}
	if err == nil {
		err = s.config.Taken.checkNew(s.config.Partition, headers)
	}
	if err != nil {
		return nil, err
	}
	taken := headers[:0]
	for _, h := range headers {
		if h.skip != "" {
			if h.open {
				s.Warnings = append(s.Warnings, fmt.Sprintf("input %s is left out: %v", h.file.Name, store.ErrBeingWritten))
			}
			s.Skipped = append(s.Skipped, input.Skipped{Path: h.file.Name, Reason: h.skip, Same: h.same, By: h.argumentsOfCopy(), Named: h.file.Named})
		}
		if h.skip != "" && !h.known {
			continue
		}
		//guard: refuses a file whose name JSON cannot hold
		if !utf8.ValidString(h.file.Name) {
			return nil, failure.New(failure.Input, "input %q: the name is not UTF-8, and plan and _SUCCESS cannot hold it: give the file, or its directory, another", h.file.Name)
		}
		taken = append(taken, h)
		if !h.known {
			s.Request.Inputs = append(s.Request.Inputs, h.input)
		}
	}
	slices.SortStableFunc(s.Skipped, func(a, b input.Skipped) int { return strings.Compare(a.Path, b.Path) })
	return taken, nil
}

// argumentsOfCopy returns the indexes of the arguments that led to a file, if the file is skipped
// because another file has its rows.
func (h *header) argumentsOfCopy() []int {
	if h.same == "" {
		return nil
	}
	return h.file.By
}

// headerFailed decides what to do with a file whose header cannot be read because of err. It
// skips the file, marks it as lost, or returns err to end the job.
func (s *Survey) headerFailed(h *header, err error) error {
	h.open = errors.Is(err, store.ErrBeingWritten)
	switch {
	case err == nil:
		return nil
	case h.file.Found || h.open && !h.file.Named:
		if h.skip = input.NotInput(err); h.skip != "" {
			return nil
		}
	}
	if s.Request.Options.OnDamage == "fail" || !errors.As(err, new(*input.HeaderError)) {
		return err
	}
	h.lost = true // the task that has the file records the loss; of an empty file, manifest.NewSuccess
	return nil
}

// checkSchema checks that the schema of a file can be read if the file can be lost. Otherwise
// schemaOf reports the first of the files whose schema cannot be read.
func (s *Survey) checkSchema(shared *sharedTexts, h *header) error {
	if s.Request.Options.OnDamage == "fail" {
		return nil
	}
	err := shared.check(h.schema)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%s: %w", h.file.Name, err)
	h.input.Unreadable = err.Error()
	return &input.HeaderError{Err: err}
}

// listedLost is the number of lost files that warnings name.
const listedLost = 10

// tellLost warns of the files that are lost as a whole. It refuses them if the request limits the
// lost rows, because the number of rows of such a file is unknown.
func (s *Survey) tellLost(headers []header) error {
	lost := 0
	for i := range headers {
		h := &headers[i]
		if h.input.Unreadable == "" || !h.lost {
			continue
		}
		//guard: bounds the rows that are lost
		if limit := s.Request.Options.MaxLostRows; limit >= 0 {
			return failure.New(failure.Input, "input %s would be lost as a whole, and its number of rows is unknown, so --max-lost-rows %d cannot be kept: "+
				"restore it, leave it out with --exclude, or set no limit; %s", h.file.Name, limit, h.input.Unreadable)
		}
		if lost++; lost <= listedLost {
			s.Warnings = append(s.Warnings, fmt.Sprintf("input %s is lost as a whole, because its header cannot be read: %s", h.file.Name, h.input.Unreadable))
		}
	}
	if more := lost - listedLost; more > 0 {
		s.Warnings = append(s.Warnings, fmt.Sprintf("further inputs are lost as a whole: %d", more))
	}
	return nil
}

// checkArguments refuses a request if one of its arguments leads to no file, or if no file
// has a header. With AllowWaiting, an argument may also lead only to files that the filter
// leaves out, and may lead to no file at all if the destination has inputs already.
func (s *Survey) checkArguments(taken []header, args []string) error {
	if s.config.AllowEmpty {
		return nil
	}
	holdsFile, excluded, waits, readable := make([]bool, len(args)), make([]bool, len(args)), make([]bool, len(args)), false
	for _, out := range s.Skipped {
		for _, i := range out.By {
			if input.IsExcluded(out.Reason) {
				excluded[i] = true
			} else {
				waits[i] = true
			}
		}
	}
	for _, h := range taken {
		readable = readable || !h.lost
		for _, i := range h.file.By {
			holdsFile[i] = true
		}
	}
	skipped := ""
	if n := len(s.Skipped); n > 0 {
		skipped = fmt.Sprintf(" (skipped: %d, the first is %s: %s)", n, s.Skipped[0].Path, s.Skipped[0].Reason)
	}
	for i, arg := range args {
		what := "no Avro file"
		switch {
		case waits[i]:
			what = "nothing that is to be converted yet"
		case excluded[i]:
			what = "no Avro file but those that --exclude leaves out"
		}
		//guard: refuses an argument that leads to no file
		if !holdsFile[i] && !(s.config.AllowWaiting && (waits[i] || excluded[i] || s.config.Known.Len() > 0)) {
			return failure.New(failure.Input, "input %s holds %s%s; with --allow-empty that is no error", arg, what, skipped)
		}
	}
	//guard: refuses to replace an output by an empty one
	if !readable && len(taken) > 0 {
		return failure.New(failure.Input, "all inputs are empty files, or have no header that can be read; --allow-empty accepts that")
	}
	return nil
}

// schemaOf returns the schema of the rows in the output.
func (s *Survey) schemaOf(headers []header) (*shred.Schema, error) {
	inputs, texts := make([]manifest.Input, len(headers)), make([]string, len(headers))
	for i, h := range headers {
		inputs[i], texts[i] = h.input, h.schema
	}
	if len(inputs) > 0 {
		s.first = inputs[0].Path
	}
	var fit *input.Fit
	var err error
	if s.Request.Schema == "" {
		fit, err = input.FitFirst(inputs, texts)
	} else {
		fit, err = input.FitRequest(&s.Request, inputs, texts)
	}
	if err != nil {
		return nil, err
	}
	if s.Request.Schema != "" {
		s.Request.SchemaCanonical = fit.Schema.Canonical()
	}
	s.Warnings, s.leftOut = append(s.Warnings, fit.Warnings...), fit.LeftOut
	return fit.Schema, nil
}

// sharedTexts keeps one copy of equal texts, because many inputs have few schemas. It
// may be used concurrently.
type sharedTexts struct {
	mu      sync.Mutex
	known   map[string]string
	checked map[string]error // the error of each schema that was parsed, or nil
}

// check returns the error of parsing a schema.
func (s *sharedTexts) check(schema string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err, done := s.checked[schema]
	if !done {
		if s.checked == nil {
			s.checked = make(map[string]error)
		}
		_, err = shred.ParseSchema(schema)
		s.checked[schema] = err
	}
	return err
}

func (s *sharedTexts) intern(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first, ok := s.known[text]; ok {
		return first
	}
	if s.known == nil {
		s.known = make(map[string]string)
	}
	s.known[text] = text
	return text
}

// schemaFault returns err with the source of the schema that cannot be converted.
func (s *Survey) schemaFault(err error) error {
	if s.Request.Schema != "" {
		return failure.As(failure.Usage, fmt.Errorf("the reader's schema: %w", err))
	}
	return failure.As(failure.Input, input.InFile(s.first, err))
}
