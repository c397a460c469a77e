package manifest

// Standing says whether an increment belongs to the output next to it.
type Standing int

const (
	// Counts is the standing of an increment of the output next to it.
	Counts Standing = iota
	// Replaced is the standing of an increment whose output was replaced later.
	Replaced
	// Orphaned is the standing of an increment whose output was lost, or replaced by an older one.
	Orphaned
)

// StandingTo returns the standing of an increment next to the output with an ID and a number. If
// there is no output, the ID is empty and the number is 0.
func (s *Success) StandingTo(id string, sequence int64) Standing {
	switch {
	//guard: reports increments of this output as counting
	case s.Base == id:
		return Counts
	//guard: reports increments of a replaced output as replaced
	case s.Sequence < sequence:
		return Replaced
	}
	return Orphaned
}

// NotIncrement says why the manifest in a directory does not belong to the increment that
// the directory is named after; empty if it does.
func (s *Success) NotIncrement(dir string) string {
	//guard: rejects an output that is not an increment
	if !s.Increment {
		return "it is of no increment"
	}
	//guard: rejects an increment that was copied or renamed
	if name := IncrementName(s.Sequence, s.ID); name != dir {
		return "it is of " + name
	}
	return ""
}
