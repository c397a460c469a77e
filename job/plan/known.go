package plan

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// Changed is the error for an input that is known and is not what it was.
type Changed struct {
	Owner string // of the known input
	name  string
	how   string // what it was and is
}

func (c *Changed) Error() string {
	return fmt.Sprintf("input %s changed since it was converted: %s", c.name, c.how)
}

// Taken are the inputs of the partitions of one conversion, so that a file which is in
// several of them is converted once. It may be used concurrently.
type Taken struct {
	mu      sync.Mutex
	known   *manifest.Known
	unknown map[string]string
}

// AddUnknown notes that a partition holds rows of unknown inputs, and why they are unknown.
func (t *Taken) AddUnknown(partition, why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.unknown == nil {
		t.unknown = make(map[string]string)
	}
	t.unknown[partition] = why
}

// checkNew is failure.Foreign for a new input that a partition other than its own may
// have, as the inputs of that one cannot be known.
func (t *Taken) checkNew(partition string, headers []header) error {
	i := slices.IndexFunc(headers, func(h header) bool { return h.isNew() })
	if t == nil || i < 0 {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, other := range slices.Sorted(maps.Keys(t.unknown)) {
		//guard: refuses to judge files by a damaged manifest
		if other != partition {
			return failure.New(failure.Foreign, "input %s is new, unless partition %s has its rows: %s", headers[i].file.Name, other, t.unknown[other])
		}
	}
	return nil
}

// Add notes inputs that a partition has.
func (t *Taken) Add(partition string, inputs []manifest.Input) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil {
		t.known = manifest.NewKnown()
	}
	for _, in := range inputs {
		t.known.Add(partition, in)
	}
}

// find finds an input among those of all partitions but one. With content, it also finds one
// with the same content.
func (t *Taken) find(in *manifest.Input, partition string, content bool) (m manifest.Match) {
	if t == nil {
		return m
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil {
		return m
	}
	return t.known.Find(in, partition, content)
}

// match is a known input.
type match struct {
	manifest.Match
	otherPartition bool // has it, and not the destination
}

// findKnown finds an input among those that the destination has, then among those of other
// partitions. With content, it also finds one with the same content.
func (s *Survey) findKnown(ctx context.Context, in *manifest.Input, content bool) (m match, err error) {
	open := func(_ context.Context, in *manifest.Input) error {
		s.answered(in)
		return nil
	}
	for _, m.otherPartition = range []bool{false, true} {
		m.Match, err = input.Find(ctx, in, func() manifest.Match {
			if m.otherPartition {
				return s.of.Taken.find(in, s.of.Partition, content)
			}
			return s.of.Known.Find(in, "", content)
		}, open, s.sum)
		if err != nil || m.Relation != manifest.Unrelated {
			break
		}
	}
	return m, err
}

// unopened reports whether a file is known to be unchanged without opening it.
func (s *Survey) unopened(ctx context.Context, h *header) (bool, error) {
	m, err := s.findKnown(ctx, &h.input, false)
	if err != nil || m.Relation != manifest.SameFile {
		return false, err
	}
	h.is(m)
	return true, nil
}

// opened reports whether a file is known that was opened and described, or was not because of
// err. A known file that changed is an error.
func (s *Survey) opened(ctx context.Context, h *header, err error) (bool, error) {
	now := &h.input
	before := s.of.Known.Named(now)
	switch {
	case err != nil && (before == nil || errors.Is(err, store.ErrBeingWritten)):
		return false, err
	case errors.Is(err, input.ErrEmpty) && before.Size == 0:
		return true, nil
	//guard: reports a file that was replaced
	case err != nil && input.NotInput(err) != "":
		return false, failure.As(failure.Input, &Changed{before.Owner, now.Path, fmt.Sprintf("it was an Avro file and is not one now: %v", err)})
	case err != nil:
		return false, err
	}
	m, err := s.findKnown(ctx, now, false)
	switch {
	case err != nil || m.Relation == manifest.Unrelated:
		return false, err
	//guard: converts a file that changed since another partition took it
	case m.otherPartition && m.Relation == manifest.Changed:
		return false, nil
	//guard: reports a file that changed
	case m.Relation != manifest.SameFile:
		return false, failure.As(failure.Input, &Changed{m.Owner, now.Path, m.How(now)})
	}
	h.is(m)
	return true, nil
}

// is notes that a file is a known input.
func (h *header) is(m match) {
	h.known = true
	switch {
	case m.otherPartition:
		h.same, h.skip = m.Path, fmt.Sprintf("the same file as %s, which partition %s has", m.Path, m.Owner)
	case m.Path != h.file.Name:
		h.same, h.skip = m.Path, fmt.Sprintf("the same file as %s, which the destination has", m.Path)
	}
}

// Compare reads the inputs that may be those of an output, if nothing else decides, so
// that their requests can be compared.
func (s *Survey) Compare(ctx context.Context, before []manifest.Input) error {
	return input.SumUnread(ctx, s.Request.Inputs, manifest.NewKnown(before...), s.sum)
}

// Answers returns the whole CRC-32C of inputs, with which this survey decided what they
// are; none if it learned nothing new.
func (s *Survey) Answers() []manifest.Input {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.learned {
		return nil
	}
	return slices.Clone(s.answers)
}

// answered sets the whole CRC-32C of an input if an earlier survey read it.
func (s *Survey) answered(in *manifest.Input) bool {
	if s.of.Sums == nil {
		return false
	}
	before := s.of.Sums().Named(in)
	if before == nil || before.CRC32C == nil || !before.Settled(in) {
		return false
	}
	in.CRC32C = before.CRC32C
	s.keep(in, false)
	return true
}

// sum sets the whole CRC-32C of an input, which was opened.
func (s *Survey) sum(ctx context.Context, in *manifest.Input) error {
	if in.CRC32C != nil || s.answered(in) {
		return nil
	}
	if err := input.Sum(ctx, s.of.Resolve, in); err != nil {
		return err
	}
	s.keep(in, true)
	return nil
}

// keep notes an answer for later surveys.
func (s *Survey) keep(in *manifest.Input, learned bool) {
	//guard: keeps no answer for a file that may change unseen
	if in.Recent || in.ModTime.IsZero() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers, s.learned = append(s.answers, *in), s.learned || learned
}
