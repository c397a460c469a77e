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

// header is what the header of a file tells.
type header struct {
	file   *input.File
	input  manifest.Input
	schema string // its text
	known  bool   // the destination has the file's rows
	lost   bool   // there is none, and the file is an input of which nothing is left
	skip   string // why the file is no input; "" if it is one
	same   string // of a file that is skipped: what has its rows
	open   bool   // a writer has the file open
}

// readHeaders takes the files into the request, but for those that are known, and
// returns what their headers tell. What was found in a directory and is no Avro file
// is skipped, and so is a file that is still being written, unless the user named it.
func (s *Survey) readHeaders(ctx context.Context, files []input.File) ([]header, error) {
	headers := make([]header, len(files))
	var shared sharedTexts
	err := parallel.Do(ctx, len(files), input.Readers, func(ctx context.Context, i int) (err error) {
		h := &headers[i]
		*h = header{file: &files[i], input: files[i].Facts}
		if done, err := s.unopened(ctx, h); done || err != nil {
			return err
		}
		in, first, err := input.Describe(ctx, s.of.Resolve, files[i].Name)
		in.Real = files[i].Facts.Real
		h.input = in
		if done, err := s.opened(ctx, h, err); done || err != nil {
			return s.without(h, err)
		}
		h.schema = shared.of(first.Schema)
		return nil
	})
	if err == nil {
		err = s.once(ctx, headers)
	}
	if err == nil {
		err = s.of.Taken.checkNew(s.of.Partition, headers)
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
			s.Skipped = append(s.Skipped, input.Skipped{Path: h.file.Name, Reason: h.skip, Same: h.same, By: h.by(), Named: h.file.Named})
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

// by are the inputs that led to a file which is left out because its rows are elsewhere.
func (h *header) by() []int {
	if h.same == "" {
		return nil
	}
	return h.file.By
}

// without decides about a file whose header cannot be read because of err, which
// it returns if that ends the job.
func (s *Survey) without(h *header, err error) error {
	h.open = errors.Is(err, store.ErrBeingWritten)
	switch {
	case err == nil:
		return nil
	case h.file.Found || h.open && !h.file.Named:
		if h.skip = input.NotInput(err); h.skip == "" {
			return err
		}
		return nil
	case errors.Is(err, input.ErrEmpty) && s.Request.Options.OnDamage != "fail":
		h.lost = true // manifest.NewSuccess lists it
		return nil
	}
	return err
}

// checkHeld refuses a request of which one of the inputs stands for no file, or all
// for none that has a header. Files that the filter leaves out do not count, unless
// that is allowed; then files may also be gone that the destination knows.
func (s *Survey) checkHeld(taken []header, args []string) error {
	if s.of.AllowEmpty {
		return nil
	}
	held, waits, sound := make([]bool, len(args)), make([]bool, len(args)), false
	for _, out := range s.Skipped {
		for _, i := range out.By {
			waits[i] = true
		}
	}
	for _, h := range taken {
		sound = sound || !h.lost
		for _, i := range h.file.By {
			held[i] = true
		}
	}
	beside := ""
	if n := len(s.Skipped); n > 0 {
		beside = fmt.Sprintf(" (skipped: %d, the first is %s: %s)", n, s.Skipped[0].Path, s.Skipped[0].Reason)
	}
	for i, arg := range args {
		what := "no Avro file"
		if waits[i] {
			what = "nothing that is to be converted yet"
		}
		//guard: refuses to leave out inputs that are not complete yet
		if !held[i] && !(s.of.AllowWaiting && (waits[i] || s.of.Known.Len() > 0)) {
			return failure.New(failure.Input, "input %s holds %s%s; with --allow-empty that is no error", arg, what, beside)
		}
	}
	//guard: refuses to replace an output by nothing
	if !sound && len(taken) > 0 {
		return failure.New(failure.Input, "all inputs are empty files; --allow-empty makes nothing of them")
	}
	return nil
}

// schemaOf returns the schema of the rows in the output.
func (s *Survey) schemaOf(sound []header) (*shred.Schema, error) {
	inputs, texts := make([]manifest.Input, len(sound)), make([]string, len(sound))
	for i, h := range sound {
		inputs[i], texts[i] = h.input, h.schema
	}
	s.first = inputs[0].Path
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

// sharedTexts keeps one copy of equal texts: many inputs have few schemas. It may
// be used concurrently.
type sharedTexts struct {
	mu    sync.Mutex
	known map[string]string
}

func (s *sharedTexts) of(text string) string {
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

// schemaFault says whose schema it is that cannot be converted.
func (s *Survey) schemaFault(err error) error {
	if s.Request.Schema != "" {
		return failure.As(failure.Usage, fmt.Errorf("the reader's schema: %w", err))
	}
	return failure.As(failure.Input, input.InFile(s.first, err))
}
