package plan

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"sync"

	"github.com/rowtocol/rowtocol/failure"
	"github.com/rowtocol/rowtocol/input"
	"github.com/rowtocol/rowtocol/internal/parallel"
	"github.com/rowtocol/rowtocol/manifest"
	"github.com/rowtocol/rowtocol/shred"
	"github.com/rowtocol/rowtocol/store"
)

// readHeaders describes the files in the request and returns the schema of their
// rows in the output. A file that is still being written is left out, unless the
// user named it.
func (s *Survey) readHeaders(ctx context.Context, files []input.File) (*shred.Schema, error) {
	inputs := make([]manifest.Input, len(files))
	texts := make([]string, len(files))
	var shared sharedTexts
	open := make([]bool, len(files))
	err := parallel.Do(ctx, len(files), input.Readers, func(ctx context.Context, i int) error {
		in, h, err := input.Describe(ctx, s.resolve, files[i].Name)
		if errors.Is(err, store.ErrBeingWritten) && !files[i].Named {
			open[i] = true
			return nil
		}
		if err == nil {
			inputs[i], texts[i] = in, shared.of(h.Schema)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var schemas []string // of the inputs that are taken
	for i, in := range inputs {
		if open[i] {
			s.Warnings = append(s.Warnings, fmt.Sprintf("input %s is left out: %v", files[i].Name, store.ErrBeingWritten))
			continue
		}
		s.Request.Inputs, schemas = append(s.Request.Inputs, in), append(schemas, texts[i])
	}
	if s.Request.Schema != "" {
		reader, err := input.ReaderSchema(s.Request.Schema, s.Request.Inputs, schemas)
		if err != nil {
			return nil, err
		}
		s.Request.SchemaCanonical = reader.Canonical()
		return reader, nil
	}
	return oneSchema(s.Request.Inputs, schemas)
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
	return failure.As(failure.Input, input.InFile(s.Request.Inputs[0].Path, err))
}

// oneSchema parses the schemas of the inputs and returns it if they are the
// same; nil if there are none.
func oneSchema(inputs []manifest.Input, texts []string) (*shred.Schema, error) {
	var groups []schemaGroup
	known := make(map[string]int) // schema text → index in groups
	for i, text := range texts {
		g, ok := known[text]
		if !ok {
			s, err := shred.ParseSchema(text)
			if err != nil {
				return nil, failure.As(failure.Input, input.InFile(inputs[i].Path, err))
			}
			g = slices.IndexFunc(groups, func(g schemaGroup) bool { return g.schema.Canonical() == s.Canonical() })
			if g < 0 {
				g = len(groups)
				groups = append(groups, schemaGroup{schema: s})
			}
			known[text] = g
		}
		groups[g].files = append(groups[g].files, inputs[i].Path)
	}
	switch len(groups) {
	case 0:
		return nil, nil
	case 1:
		return groups[0].schema, nil
	}
	return nil, schemasDiffer(groups)
}

// schemaGroup is the inputs of one schema.
type schemaGroup struct {
	schema *shred.Schema
	files  []string
}

// listedFiles is the number of files of a schema that a refusal names.
const listedFiles = 10

func schemasDiffer(groups []schemaGroup) error {
	var s strings.Builder
	fmt.Fprintf(&s, "the inputs have %d different schemas, but a job takes one:", len(groups))
	for _, g := range groups {
		root := g.schema.Root()
		name := root.Kind.String()
		if root.Name != "" {
			name += " " + root.FullName()
		}
		fmt.Fprintf(&s, "\n  %s (%08x), %d files:", name, crc32.ChecksumIEEE([]byte(g.schema.Canonical())), len(g.files))
		for _, f := range g.files[:min(len(g.files), listedFiles)] {
			fmt.Fprintf(&s, "\n    %s", f)
		}
		if more := len(g.files) - listedFiles; more > 0 {
			fmt.Fprintf(&s, "\n    and %d more", more)
		}
	}
	return failure.New(failure.Input, "%s", s.String())
}
