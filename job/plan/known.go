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

// Changed is the error for a known input that changed.
type Changed struct {
	Owner string // name of the output that has the rows of the known input
	name  string
	how   string // the difference
}

func (c *Changed) Error() string {
	return fmt.Sprintf("input %s changed since it was converted: %s", c.name, c.how)
}

// Taken holds the inputs of all partitions of one conversion, so that a file that is in
// several partitions is converted once. It may be used concurrently.
type Taken struct {
	mu      sync.Mutex
	known   *manifest.Known
	unknown map[string]string
}

// AddUnknown records that a partition has rows of unknown inputs, and why they are unknown.
func (t *Taken) AddUnknown(partition, why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.unknown == nil {
		t.unknown = make(map[string]string)
	}
	t.unknown[partition] = why
}

// checkNew returns failure.Foreign if there is a new input and another partition has unknown
// inputs, because that partition may have the rows of the new input.
func (t *Taken) checkNew(partition string, headers []header) error {
	i := slices.IndexFunc(headers, func(h header) bool { return h.isNew() })
	if t == nil || i < 0 {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, other := range slices.Sorted(maps.Keys(t.unknown)) {
		//guard: refuses a new input while another partition has unknown inputs
		if other != partition {
			return failure.New(failure.Foreign, "input %s is new, unless partition %s has its rows: %s", headers[i].file.Name, other, t.unknown[other])
		}
	}
	return nil
}

// Add records inputs that a partition has.
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

// find finds an input among those of all partitions other than the given one. With content, it
// also finds an input with the same content.
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
	otherPartition bool // whether another partition has the input, and not the destination
}

// findKnown finds an input among those that the destination has, then among those of other
// partitions. With content, it also finds an input with the same content.
func (s *Survey) findKnown(ctx context.Context, in *manifest.Input, content bool) (m match, err error) {
	open := func(_ context.Context, in *manifest.Input) error {
		s.reuseSum(in)
		return nil
	}
	for _, m.otherPartition = range []bool{false, true} {
		m.Match, err = input.Find(ctx, in, func() manifest.Match {
			if m.otherPartition {
				return s.config.Taken.find(in, s.config.Partition, content)
			}
			return s.config.Known.Find(in, "", content)
		}, open, s.sum)
		if err != nil || m.Relation != manifest.Unrelated {
			break
		}
	}
	return m, err
}

// knownUnopened reports whether a file is known and unchanged, without opening it.
func (s *Survey) knownUnopened(ctx context.Context, h *header) (bool, error) {
	m, err := s.findKnown(ctx, &h.input, false)
	if err != nil || m.Relation != manifest.SameFile {
		return false, err
	}
	h.setKnown(m)
	return true, nil
}

// knownOpened reports whether a file is known, after input.Describe described it or failed
// with err. A known file that changed is an error.
func (s *Survey) knownOpened(ctx context.Context, h *header, err error) (bool, error) {
	now := &h.input
	before := s.config.Known.Named(now)
	switch {
	case err != nil && (before == nil || errors.Is(err, store.ErrBeingWritten)):
		return false, err
	case errors.Is(err, input.ErrEmpty) && before.Size == 0:
		return true, nil
	//guard: reports a file that was replaced
	case err != nil && input.NotInput(err) != "" && before.Unreadable == "":
		return false, failure.As(failure.Input, &Changed{before.Owner, now.Path, fmt.Sprintf("it was an Avro file and is not one now: %v", err)})
	case err != nil && now.Unreadable == "":
		return false, err
	}
	m, findErr := s.findKnown(ctx, now, false)
	switch {
	case findErr != nil:
		return false, findErr
	case m.Relation == manifest.Unrelated:
		return false, err
	//guard: converts a file that changed after another partition converted it
	case m.otherPartition && m.Relation == manifest.Changed:
		return false, err
	//guard: reports a file that changed
	case m.Relation != manifest.SameFile:
		return false, failure.As(failure.Input, &Changed{m.Owner, now.Path, m.How(now)})
	}
	h.setKnown(m)
	return true, nil
}

// setKnown records that the file is the known input m.
func (h *header) setKnown(m match) {
	h.known = true
	switch {
	case m.otherPartition:
		h.same, h.skip = m.Path, fmt.Sprintf("the same file as %s, which partition %s has", m.Path, m.Owner)
	case m.Path != h.file.Name:
		h.same, h.skip = m.Path, fmt.Sprintf("the same file as %s, which the destination has", m.Path)
	}
}

// Compare reads the inputs of the survey that only their bytes can match with one of before, the
// inputs of an output. The requests of both can then be compared.
func (s *Survey) Compare(ctx context.Context, before []manifest.Input) error {
	return input.SumUnread(ctx, s.Request.Inputs, manifest.NewKnown(before...), s.sum)
}

// Sums returns the inputs whose whole CRC-32C this survey used. It returns nil if the
// survey read none of them itself.
func (s *Survey) Sums() []manifest.Input {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.read {
		return nil
	}
	return slices.Clone(s.answers)
}

// reuseSum sets the whole CRC-32C of an input and returns true if an earlier survey read it.
func (s *Survey) reuseSum(in *manifest.Input) bool {
	if s.config.Sums == nil {
		return false
	}
	before := s.config.Sums().Named(in)
	if before == nil || before.CRC32C == nil || !before.Settled(in) {
		return false
	}
	in.CRC32C = before.CRC32C
	s.addAnswer(in, false)
	return true
}

// sum sets the whole CRC-32C of an input, which has been opened.
func (s *Survey) sum(ctx context.Context, in *manifest.Input) error {
	if in.CRC32C != nil || s.reuseSum(in) {
		return nil
	}
	if err := input.Sum(ctx, s.config.Resolve, in); err != nil {
		return err
	}
	s.addAnswer(in, true)
	return nil
}

// addAnswer adds an input to Sums. read says that this survey read the whole input.
func (s *Survey) addAnswer(in *manifest.Input, read bool) {
	//guard: drops the checksum of a file that may change unnoticed
	if in.Recent || in.ModTime.IsZero() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers, s.read = append(s.answers, *in), s.read || read
}
