package plan

import (
	"context"

	"github.com/rowtocol/rowtocol/internal/parallel"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// What becomes of an input with the same bytes as another: see manifest.Options.
const (
	SkipCopies   = "skip"
	RefuseCopies = "refuse"
)

// SameContent begins the reason why a copy is skipped.
const SameContent = "the same content as "

// once leaves out new files that are the same as others among them, and files with the
// same bytes as another if that is asked for.
func (s *Survey) once(ctx context.Context, headers []header) error {
	mine := manifest.NewKnown()
	for i := range headers {
		h := &headers[i]
		if !h.isNew() {
			continue
		}
		in := h.input
		in.Recent = false // both were looked at just now
		m, err := input.Find(ctx, &in, func() manifest.Match { return mine.Find(&in, "", false) }, nil, s.sum)
		if err != nil {
			return err
		}
		//guard: takes a file once, whatever its names
		if m.Relation == manifest.SameFile {
			h.known, h.same, h.skip = true, m.Path, "the same file as "+m.Path
			continue
		}
		mine.Add("", in)
	}
	if s.Request.Options.Copies == "" {
		return nil
	}
	return s.leaveCopies(ctx, headers)
}

// leaveCopies skips or refuses files with the same bytes as a known one, as one of another
// partition, or as another. It reads those of the same length, header and end.
func (s *Survey) leaveCopies(ctx context.Context, headers []header) error {
	alike := manifest.NewKnown()
	for i := range headers {
		if headers[i].isNew() {
			alike.Add("", headers[i].input)
		}
	}
	err := parallel.Do(ctx, len(headers), input.Readers, func(ctx context.Context, i int) error {
		in := &headers[i].input
		if !headers[i].isNew() {
			return nil
		}
		if s.of.Known.Alike(in) > 0 || alike.Alike(in) > 1 || s.of.Taken.find(in, s.of.Partition, true).Relation != manifest.Unrelated {
			return s.sum(ctx, in)
		}
		return nil
	})
	if err != nil {
		return err
	}
	mine := manifest.NewKnown()
	for i := range headers {
		h := &headers[i]
		if !h.isNew() {
			continue
		}
		found, err := s.findKnown(ctx, &h.input, true)
		if err != nil {
			return err
		}
		m := found.Match
		if m.Relation != manifest.SameContent {
			m = mine.Find(&h.input, "", true)
		}
		switch {
		case m.Relation != manifest.SameContent:
			mine.Add("", h.input)
		//guard: refuses rows that are there already
		case s.Request.Options.Copies == RefuseCopies:
			return failure.New(failure.Input, "input %s has the same content as %s; --copies skip leaves such files out, and take converts them", h.file.Name, m.Path)
		default:
			h.known, h.same, h.skip = true, m.Path, SameContent+m.Path
		}
	}
	return nil
}

// isNew reports whether a file is an input with rows that nothing is known of yet.
func (h *header) isNew() bool { return !h.known && !h.lost && h.skip == "" }
