package plan

import (
	"context"

	"github.com/rowtocol/rowtocol/internal/parallel"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// Values of manifest.Options.Copies, for an input with the same bytes as another.
const (
	SkipCopies   = "skip"
	RefuseCopies = "refuse"
)

// SameContent begins the reason why a copy is skipped.
const SameContent = "the same content as "

// skipRepeated skips each new file that is the same file as an earlier one. If the options
// say so, it also skips or refuses each file with the same bytes as another file.
func (s *Survey) skipRepeated(ctx context.Context, headers []header) error {
	seen := manifest.NewKnown()
	for i := range headers {
		h := &headers[i]
		if !h.isNew() {
			continue
		}
		in := h.input
		in.Recent = false // both were examined just now
		m, err := input.Find(ctx, &in, func() manifest.Match { return seen.Find(&in, "", false) }, nil, s.sum)
		if err != nil {
			return err
		}
		//guard: skips the further names of a file
		if m.Relation == manifest.SameFile {
			h.known, h.same, h.skip = true, m.Path, "the same file as "+m.Path
			continue
		}
		seen.Add("", in)
	}
	if s.Request.Options.Copies == "" {
		return nil
	}
	return s.handleCopies(ctx, headers)
}

// handleCopies skips or refuses each new file with the same bytes as a known file, a file of
// another partition, or another new file. It reads only files that agree in length, header and end.
func (s *Survey) handleCopies(ctx context.Context, headers []header) error {
	unread := manifest.NewKnown()
	for i := range headers {
		if headers[i].isNew() {
			unread.Add("", headers[i].input)
		}
	}
	err := parallel.Do(ctx, len(headers), input.Readers, func(ctx context.Context, i int) error {
		in := &headers[i].input
		if !headers[i].isNew() {
			return nil
		}
		if s.config.Known.CountSimilar(in) > 0 || unread.CountSimilar(in) > 1 || s.config.Taken.find(in, s.config.Partition, true).Relation != manifest.Unrelated {
			return s.sum(ctx, in)
		}
		return nil
	})
	if err != nil {
		return err
	}
	seen := manifest.NewKnown()
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
			m = seen.Find(&h.input, "", true)
		}
		switch {
		case m.Relation != manifest.SameContent:
			seen.Add("", h.input)
		//guard: refuses rows that would be in the output twice
		case s.Request.Options.Copies == RefuseCopies:
			return failure.New(failure.Input, "input %s has the same content as %s; --copies skip leaves such files out, and take converts them", h.file.Name, m.Path)
		default:
			h.known, h.same, h.skip = true, m.Path, SameContent+m.Path
		}
	}
	return nil
}

// isNew reports whether h is of an input with rows that is neither known nor skipped.
func (h *header) isNew() bool { return !h.known && !h.lost && h.skip == "" }
