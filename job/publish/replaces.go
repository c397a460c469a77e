package publish

import (
	"slices"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// Holds are the IDs of all that the destination holds rows of, in order: the output,
// the increments, and what lost its output. An output that is planned now replaces these and no
// others. What waits to be published is not among them: its process may live, and report
// it as done.
func (s *State) Holds() []string {
	var ids []string
	for _, o := range s.Outputs() {
		ids = append(ids, o.Success.ID)
	}
	return addIDs(ids, s.orphans)
}

// allIDs are the IDs of all that is ours in the destination, in order: Holds, and what
// belongs to no output.
func (s *State) allIDs() []string {
	return addIDs(s.Holds(), slices.Concat(s.debris, s.uncounted))
}

// addIDs adds the IDs in the names of parts and increments, and sorts.
func addIDs(ids, names []string) []string {
	for _, name := range names {
		if id := idInName(name); id != "" {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// idInName is the ID in the name of a part or of an increment; empty if there is none.
func idInName(name string) string {
	if _, id, ok := manifest.ParseIncrement(name); ok {
		return id
	}
	id, _ := manifest.OutputID(name)
	return id
}

// Unseen is what came to the destination after a replacing plan was made, so that the
// plan's output must not replace it: all but an output of the plan itself. What lost its
// output is without a manifest.
func (s *State) Unseen(p *manifest.Plan) []Committed {
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

// Came is what the destination holds that it did not hold before.
func (s *State) Came(before *State) []Committed { return s.unseen(before.Holds()) }

// unseenBy is what came to the destination after an output was begun that is published now.
func (s *State) unseenBy(m *manifest.Success) []Committed {
	return s.unseen(append(slices.Clone(m.Replaces), m.ID))
}

// unseen returns what the destination holds besides the outputs with these IDs.
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

// outdatedError is the error of a plan that is too old for what came to the destination.
func (s *State) outdatedError(plan string, came []Committed) error {
	names := make([]string, len(came))
	for i, o := range came {
		if names[i] = o.Name; o.Name == "" {
			names[i] = "output " + o.Success.ID
		}
	}
	return failure.New(failure.Foreign, "destination %s got another output after plan %s was made: %s; make the plan again", s.path, plan, joinFirst(names, namedForeign, ", "))
}
