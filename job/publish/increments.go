package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/rowtocol/rowtocol/internal/parallel"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// Committed is a published output, with the name of its directory in the destination. The name
// is empty for the output that the increments belong to.
type Committed struct {
	Name    string
	Success *manifest.Success
}

// increment is the directory of an increment as it was read.
type increment struct {
	Committed
	empty   bool     // whether there is nothing in it, as after an interrupted rename
	damage  string   // how the directory differs from its manifest; empty if it does not
	foreign []string // names of files that rowtocol did not write
}

// isIncrement reports whether an entry of a destination may be an increment.
func isIncrement(info store.Info) bool {
	_, _, ok := manifest.ParseIncrement(info.Name)
	return ok && info.Dir && !info.Link
}

// classifyIncrements reads the increments in the destination, and separates those that count from
// the others. An increment counts if its base is the output, or if it has no base and there is no
// output. If two outputs that count have the rows of one input, the destination is damaged.
func (d *Destination) classifyIncrements(ctx context.Context, s *State, infos []store.Info) error {
	infos = slices.DeleteFunc(slices.Clone(infos), func(i store.Info) bool { return !isIncrement(i) })
	increments := make([]*increment, len(infos))
	err := parallel.Do(ctx, len(infos), d.movers, func(ctx context.Context, i int) (err error) {
		increments[i], err = d.readIncrement(ctx, infos[i].Name)
		return err
	})
	if err != nil {
		return err
	}
	var base int64
	if s.Success != nil {
		base = s.Success.Sequence
	}
	for i, r := range increments {
		sequence, _, _ := manifest.ParseIncrement(infos[i].Name)
		s.sequence = max(s.sequence, sequence)
		switch {
		case r == nil: // it was moved away meanwhile
		//guard: reports an increment that holds foreign files as foreign
		case len(r.foreign) > 0:
			s.foreign = append(s.foreign, r.foreign...)
			if r.Success == nil {
				s.unread = cmp.Or(s.unread, r.foreign[0])
			}
		case r.empty:
			s.uncounted = append(s.uncounted, r.Name)
		default:
			switch r.Success.StandingTo(s.ID(), base) {
			case manifest.Counts:
				s.damage = cmp.Or(s.damage, r.damage)
				s.Increments = append(s.Increments, r.Committed)
			case manifest.Replaced:
				//guard: keeps the increments of kept outputs
				if s.isKept(r.Name) {
					break
				}
				s.uncounted = append(s.uncounted, r.Name)
			case manifest.Orphaned:
				s.orphans = append(s.orphans, r.Name)
			}
		}
	}
	slices.SortFunc(s.Increments, func(a, b Committed) int { return cmp.Compare(a.Name, b.Name) })
	var holders manifest.Holders
	outputs := s.Outputs()
	if len(outputs) == 1 {
		outputs = nil // there is nothing to compare, and an output may have very many inputs
	}
	for _, o := range outputs {
		name := path.Join(s.path, o.Name)
		//guard: rejects an increment whose inputs another output has
		if conflict := holders.Add(name, o.Success); conflict != nil {
			s.damage = cmp.Or(s.damage, fmt.Sprintf("%s: %s", name, conflict))
		}
	}
	s.Leftovers = s.Leftovers || len(s.uncounted) > 0
	return nil
}

// readIncrement reads the directory of an increment. If the directory was read before and was
// sound, it is not read again. readIncrement returns nil if the increment was moved away
// meanwhile.
func (d *Destination) readIncrement(ctx context.Context, name string) (*increment, error) {
	if known, ok := d.increments.Load(name); ok {
		return known.(*increment), nil
	}
	in := d.atDir(d.pathOf(name))
	infos, err := d.st.List(ctx, in.path)
	if errors.Is(err, store.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := &increment{Committed: Committed{Name: name}, empty: len(infos) == 0}
	if r.empty {
		return r, nil
	}
	s := &State{path: in.path}
	if i := slices.IndexFunc(infos, func(i store.Info) bool { return i.Name == manifest.SuccessName }); i >= 0 {
		if err := in.readSuccess(ctx, s, infos[i]); err != nil || s.Success == nil && len(s.foreign) == 0 {
			return nil, err // without an error, the manifest was moved away after the list was read
		}
	}
	m := s.Success
	//guard: rejects a directory that is not an increment
	if m == nil || m.NotIncrement(name) != "" {
		why := name + " (not an increment of rowtocol)"
		if len(s.foreign) > 0 {
			why = path.Join(name, s.foreign[0])
		}
		r.foreign = []string{why}
		return r, nil
	}
	r.Success = m
	if err := in.inspect(ctx, s, infos); err != nil {
		return nil, err
	}
	if s.damage != "" {
		r.damage = path.Join(name, s.damage)
	}
	for _, other := range s.foreign {
		r.foreign = append(r.foreign, path.Join(name, other))
	}
	if r.damage == "" && r.foreign == nil {
		d.increments.Store(name, r)
	}
	return r, nil
}

// atDir returns a copy of d that reads dir, such as the directory of an increment.
func (d *Destination) atDir(dir string) *Destination {
	in := *d
	in.path = dir
	return &in
}

// inspect compares an increment's directory with its manifest. Files that the manifest does
// not list are foreign.
func (d *Destination) inspect(ctx context.Context, s *State, infos []store.Info) error {
	listed := slices.DeleteFunc(slices.Clone(infos), func(i store.Info) bool {
		//guard: rejects names that are valid only at the top of a destination
		if i.Name == manifest.LockName || i.Name == manifest.InputsName || i.Name == manifest.WorkName || isIncrement(i) || isMarker(i) {
			s.foreign = append(s.foreign, i.Name)
			return true
		}
		return false
	})
	if err := d.classify(ctx, s, listed); err != nil {
		return err
	}
	//guard: rejects debris in an increment
	s.foreign = append(s.foreign, s.debris...)
	return nil
}

// Outputs returns the output and its increments, in the order in which a reader of the dataset
// gets their rows. These are all the outputs that count.
func (s *State) Outputs() []Committed {
	if s.Success == nil {
		return s.Increments
	}
	return append([]Committed{{Success: s.Success}}, s.Increments...)
}

// Pending reports whether there is a pending output. The next holder completes it.
func (s *State) Pending() bool { return s.pending }

// SameOutputs reports whether the outputs that count are the same as in an earlier state. It
// returns false if the earlier state had a pending output.
func (s *State) SameOutputs(before *State) bool {
	return !before.pending && s.ID() == before.ID() && slices.EqualFunc(s.Increments, before.Increments, func(a, b Committed) bool { return a.Name == b.Name })
}

// CheckIncrement returns failure.Foreign if no increment may be added to the destination. While an
// output is pending, damage is no reason, because completing that output may mend it.
func (s *State) CheckIncrement() error {
	if err := s.checkNext(); err != nil {
		return err
	}
	//guard: refuses an increment to a damaged destination
	if s.damage != "" && !s.pending {
		return failure.New(failure.Foreign, "destination %s holds an output that was changed: %s; to convert all inputs again, use --overwrite without --incremental (for partitions, --reprocess)", s.path, s.damage)
	}
	return nil
}

// checkIncrementPlan is CheckIncrement for a plan that was made earlier. It also returns
// failure.Foreign if the output is no longer the base of the plan, or if another output got rows of
// the plan's inputs meanwhile. While an output is pending, it checks neither.
func (s *State) checkIncrementPlan(p *manifest.Plan) error {
	if err := s.CheckIncrement(); err != nil || s.pending {
		return err
	}
	//guard: refuses an increment to another output
	if s.ID() != p.Base {
		return failure.New(failure.Foreign, "destination %s got another output after plan %s was made; make the plan again", s.path, p.ID)
	}
	//guard: refuses an increment whose inputs another output has
	if in, owner := s.ownerOf(p.Request.Inputs); in != "" {
		return failure.New(failure.Foreign, "input %s was committed in %s after plan %s was made; make the plan again", in, owner, p.ID)
	}
	return nil
}

// ownerOf returns the first of these inputs whose rows an output has, and the path of that output.
// If there is none, both are empty.
func (s *State) ownerOf(inputs []manifest.Input) (input, owner string) {
	known := Inputs(s.Outputs())
	for i := range inputs {
		if m := known.Find(&inputs[i], "", false); m.Relation != manifest.Unrelated {
			return inputs[i].Path, path.Join(s.path, m.Owner)
		}
	}
	return "", ""
}

// Committed returns the manifest of the output that a plan is to make, if the destination already
// holds it. Otherwise, or if the destination is damaged or has a pending output, Committed returns
// nil. If the plan is not of an increment, the output of any plan with an equal request will do, but
// there must be no increments.
func (s *State) Committed(p *manifest.Plan) *manifest.Success {
	if !p.Increment {
		if s.Finished(&p.Request) || s.intact() && s.Success.Plan == p.ID {
			return s.Success
		}
		return nil
	}
	for _, r := range s.Increments {
		if r.Success.Plan == p.ID && s.damage == "" && !s.pending {
			return r.Success
		}
	}
	return nil
}

// placeOf returns the directory into which the files of an output are moved. For an increment, it
// is a directory among the staged files, which is later moved into the destination. For any other
// output, it is the destination.
func (c *Claim) placeOf(work string, s *manifest.Pending) string {
	if !s.Increment {
		return c.path
	}
	return path.Join(work, manifest.IncrementName(s.Sequence, s.ID))
}

// addIncrement publishes a pending increment. Each step finds out whether a killed process
// did it before.
func (c *Claim) addIncrement(ctx context.Context, work string, s *manifest.Pending) error {
	now, err := c.ReadState(ctx)
	if err != nil {
		return err
	}
	//guard: refuses foreign files that came meanwhile
	if err := now.checkForeign(); err != nil {
		return err
	}
	//guard: refuses an increment to another output
	if now.ID() != s.Base {
		return failure.New(failure.Foreign, "destination %s got another output meanwhile", c.path)
	}
	dir := c.placeOf(work, s)
	if err := c.assemble(ctx, work, s, dir); err != nil {
		return err
	}
	//guard: writes the marker before the increment appears
	if err := c.addMarker(ctx, now, s.Sequence); err != nil {
		return err
	}
	to := c.pathOf(path.Base(dir))
	err = c.move(ctx, dir, to)
	if errors.Is(err, store.ErrExist) || errors.Is(err, store.ErrNotExist) {
		err = c.replaceEmpty(ctx, dir, to, err)
	}
	if err == nil {
		_ = c.removeMarker(ctx, now, s.Sequence) // after an error, the next holder removes it
	}
	return err
}

// assemble moves all files of an increment into one directory, its manifest last.
func (c *Claim) assemble(ctx context.Context, work string, s *manifest.Pending, dir string) error {
	err := c.makeDirs(ctx, work, path.Base(dir), map[string]bool{".": true})
	if err == nil {
		err = c.moveIn(ctx, work, dir, s)
	}
	if err != nil {
		return err
	}
	infos, err := c.st.List(ctx, dir)
	if err != nil {
		return err
	}
	now := &State{path: dir, Success: s.Success}
	if err := c.atDir(dir).inspect(ctx, now, infos); err != nil {
		return err
	}
	//guard: refuses to publish an increment with a wrong file
	if now.damage != "" {
		return mismatch(now.damage)
	}
	//guard: refuses to publish an increment with foreign files
	if err := now.checkForeign(); err != nil {
		return err
	}
	file := path.Join(dir, manifest.SuccessName)
	// A killed holder may have moved the manifest in. inspect did not compare it, so it is replaced.
	if slices.ContainsFunc(infos, func(i store.Info) bool { return i.Name == manifest.SuccessName }) {
		if err := c.move(ctx, file, c.newPath(old)); err != nil {
			return err
		}
	}
	written, err := c.writeSuccess(ctx, s.Success)
	if err != nil {
		return err
	}
	return c.move(ctx, written, file)
}

// replacedIncrements returns the names of all increments. Once an output replaces everything,
// none of them counts.
func (s *State) replacedIncrements() []string {
	increments := slices.Clone(s.uncounted)
	for _, r := range s.Increments {
		increments = append(increments, r.Name)
	}
	for _, name := range s.orphans {
		//guard: removes an increment without an output
		if !isPart(name) {
			increments = append(increments, name)
		}
	}
	return increments
}

// clearIncrements moves directories of increments into the claim's own directory, to be removed
// with it.
func (c *Claim) clearIncrements(ctx context.Context, names []string) error {
	return parallel.Do(ctx, len(names), c.movers, func(ctx context.Context, i int) error {
		err := c.moveNth(ctx, i, c.pathOf(names[i]), c.newPath(old))
		if errors.Is(err, store.ErrNotExist) {
			return nil
		}
		return err
	})
}

// isMarker reports whether an entry of a destination is a marker: see manifest.NumberName.
func isMarker(info store.Info) bool {
	//guard: rejects a directory or link in place of a marker
	if info.Dir || info.Link {
		return false
	}
	_, ok := manifest.ParseNumber(info.Name)
	return ok
}

// classifyMarkers records the last number that was given to an increment, and the name of its
// marker. The other markers, which a killed holder left, have lower numbers and are debris. If the
// output has the same or a higher number, all markers are debris.
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

// addMarker writes the marker of a number, before the increment with that number appears.
func (c *Claim) addMarker(ctx context.Context, now *State, sequence int64) error {
	name := manifest.NumberName(sequence)
	//guard: does not write a marker that is there already
	if now.marker >= name {
		return nil
	}
	file := c.newPath("number")
	if err := c.st.WriteFile(ctx, file, nil, true); err != nil {
		return err
	}
	return c.move(ctx, file, c.pathOf(name))
}

// removeMarker moves the marker of a lower number out of the destination, after the increment with
// the number sequence was published. before is the state before that.
func (c *Claim) removeMarker(ctx context.Context, before *State, sequence int64) error {
	if before.marker == "" || before.marker >= manifest.NumberName(sequence) {
		return nil
	}
	err := c.move(ctx, c.pathOf(before.marker), c.newPath(old))
	if errors.Is(err, store.ErrNotExist) {
		return nil // another process or a person removed it
	}
	return err
}
