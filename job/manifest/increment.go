package manifest

// Standing is how an increment stands to the output next to it.
type Standing int

const (
	// Counts is an increment of that output.
	Counts Standing = iota
	// Replaced is an increment of an output that was replaced later.
	Replaced
	// Orphaned is an increment of an output that was lost, or replaced by an older one.
	Orphaned
)

// StandingTo returns how an increment stands to an output with an ID and number. They are
// empty and 0 if there is no output.
func (s *Success) StandingTo(id string, sequence int64) Standing {
	switch {
	//guard: keeps only increments of this output
	case s.Base == id:
		return Counts
	//guard: calls increments of a replaced output outdated
	case s.Sequence < sequence:
		return Replaced
	}
	return Orphaned
}

// NotIncrement says why the manifest in a directory does not belong to the increment that
// the directory is named after; empty if it does.
func (s *Success) NotIncrement(dir string) string {
	//guard: calls an output that others put there foreign
	if !s.Increment {
		return "it is of no increment"
	}
	//guard: calls a copied increment foreign
	if name := IncrementName(s.Sequence, s.ID); name != dir {
		return "it is of " + name
	}
	return ""
}
