package report

// Succeeded reports whether the destination has the output of the run: the run is done,
// had nothing to do, or had losses that were allowed.
func (r *Run) Succeeded() bool {
	switch r.Status {
	case "done", "nothing", "losses":
		return true
	}
	return false
}
