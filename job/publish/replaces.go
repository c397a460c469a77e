package publish

import (
	"maps"
	"slices"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// OutputIDs returns the sorted IDs of all outputs whose rows the destination holds: the output,
// the increments, and orphans. An output that is planned now replaces these and no others.
// Pending outputs are not among them, because the process that publishes one may live and report
// it as done.
func (s *State) OutputIDs() []string {
	var ids []string
	for _, o := range s.Outputs() {
		ids = append(ids, o.Success.ID)
	}
	return addIDs(ids, s.orphans)
}

// allIDs returns the sorted IDs of all of rowtocol's files in the destination: those of OutputIDs,
// those in the names of debris and of increments that do not count, and those of kept outputs.
// While an output is replaced, files of kept outputs look like orphans.
func (s *State) allIDs() []string {
	//guard: names kept outputs, so that the next holder can complete the output
	ids := slices.Concat(s.OutputIDs(), slices.Collect(maps.Keys(s.kept)))
	return addIDs(ids, slices.Concat(s.debris, s.uncounted))
}

// addIDs adds the IDs in the names of parts and increments, and sorts all IDs.
func addIDs(ids, names []string) []string {
	for _, name := range names {
		if id := idInName(name); id != "" {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// idInName returns the ID in the name of a part or of an increment, or an empty string.
func idInName(name string) string {
	if _, id, ok := manifest.ParseIncrement(name); ok {
		return id
	}
	id, _ := manifest.OutputID(name)
	return id
}

// NewSincePlan returns the outputs and orphans that came after a plan was made. The plan's output
// must not replace them. An output of the plan itself is not among them. An orphan has a name,
// but no manifest. For the plan of an increment, which replaces nothing, the result is empty.
func (s *State) NewSincePlan(p *manifest.Plan) []Committed {
	if p.Increment {
		return nil
	}
	seen := slices.Clone(p.Replaces)
	//guard: lets a plan make its own output again
	if s.Success != nil && s.Success.Plan == p.ID {
		seen = append(seen, s.Success.ID)
	}
	return s.unseen(seen)
}

// NewSince returns the outputs and orphans that the destination did not hold before.
func (s *State) NewSince(before *State) []Committed { return s.unseen(before.OutputIDs()) }

// unseenBy returns the outputs and orphans that m does not name as replaced. They came after the
// output of m was begun.
func (s *State) unseenBy(m *manifest.Success) []Committed {
	return s.unseen(append(slices.Clone(m.Replaces), m.ID))
}

// unseen returns the outputs and orphans with other IDs than these.
func (s *State) unseen(seen []string) (came []Committed) {
	known := make(map[string]bool, len(seen))
	for _, id := range seen {
		known[id] = true
	}
	for _, o := range s.Outputs() {
		if !known[o.Success.ID] {
			came = append(came, o)
		}
	}
	for _, name := range s.orphans {
		if !known[idInName(name)] {
			came = append(came, Committed{Name: name})
		}
	}
	return came
}

// outdatedError returns the error for a plan that was made before these outputs came.
func (s *State) outdatedError(plan string, came []Committed) error {
	names := make([]string, len(came))
	for i, o := range came {
		if names[i] = o.Name; o.Name == "" {
			names[i] = "output " + o.Success.ID
		}
	}
	return failure.New(failure.Foreign, "destination %s got another output after plan %s was made: %s; make the plan again", s.path, plan, joinFirst(names, namedForeign, ", "))
}
