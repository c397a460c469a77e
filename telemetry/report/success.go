package report

// Succeeded reports whether the run succeeded: it is done, had nothing to do, had losses that
// were allowed, or verified without a difference.
func (r *Run) Succeeded() bool {
	switch r.Status {
	case "done", "nothing", "losses", "incomplete":
		return true
	}
	return false
}
