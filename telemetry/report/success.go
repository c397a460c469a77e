package report

// Succeeded reports whether the destination holds what the run was to put there: it
// did so, found nothing to do, or did so with losses that were allowed.
func (r *Run) Succeeded() bool {
	switch r.Status {
	case "done", "nothing", "losses":
		return true
	}
	return false
}
