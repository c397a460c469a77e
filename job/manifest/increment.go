package manifest

// Standing is what an increment is to the output beside which it lies.
type Standing int

const (
	// Counts is an increment of that output.
	Counts Standing = iota
	// Replaced is an increment of an output that was replaced since.
	Replaced
	// Orphaned is an increment of an output that was lost, or replaced by an older one.
	Orphaned
)

// Beside says what an increment is to an output, which is given by its ID and number: empty
// and 0 if there is none.
func (s *Success) Beside(id string, sequence int64) Standing {
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

// NotIncrement says why the manifest in a directory is not that of the increment which the
// name of the directory says; empty if it is.
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
