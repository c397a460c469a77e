package publish

import (
	"context"
	"errors"
	"slices"

	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// isMarker reports whether something in a destination remembers the last number that was
// given to an increment.
func isMarker(info store.Info) bool {
	//guard: what others put in the place of a marker would be moved out
	if info.Dir || info.Link {
		return false
	}
	_, ok := manifest.ParseNumber(info.Name)
	return ok
}

// classifyMarkers notes the last number that was given to an increment. A marker of a lower
// number was left by a holder that was killed between two renames, and none is needed once
// an output has a higher number.
func (s *State) classifyMarkers(names []string) {
	for _, name := range names {
		number, _ := manifest.ParseNumber(name)
		s.sequence = max(s.sequence, number)
		if s.Success == nil || s.Success.Sequence < number {
			s.marker = max(s.marker, name)
		}
	}
	s.debris = append(s.debris, slices.DeleteFunc(names, func(name string) bool { return name == s.marker })...)
}

// mark remembers that a number is given, before the increment with it appears.
func (c *Claim) mark(ctx context.Context, now *State, sequence int64) error {
	name := manifest.NumberName(sequence)
	//guard: an increment could not be completed whose process was killed after it marked the number
	if now.marker >= name {
		return nil
	}
	file := c.name("number")
	if err := c.st.WriteFile(ctx, file, nil, true); err != nil {
		return err
	}
	return c.move(ctx, file, c.in(name))
}

// unmark moves the marker of a lower number out, once the increment with the higher one
// is there.
func (c *Claim) unmark(ctx context.Context, before *State, sequence int64) error {
	if before.marker == "" || before.marker >= manifest.NumberName(sequence) {
		return nil
	}
	err := c.move(ctx, c.in(before.marker), c.name(old))
	if errors.Is(err, store.ErrNotExist) {
		return nil // somebody removed it
	}
	return err
}
