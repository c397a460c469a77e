package report

// Succeeded reports whether the run succeeded: it is done, had nothing to do, or had losses that
// were allowed.
func (r *Run) Succeeded() bool {
	switch r.Status {
	case "done", "nothing", "losses":
		return true
	}
	return false
}
