package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/internal/parallel"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

const (
	readTries = 10
	// namedForeign and namedDifferences are how many foreign files and differences an error lists.
	namedForeign     = 3
	namedDifferences = 5
)

// State is the state of a destination.
type State struct {
	// Success is the manifest of the output; nil if there is none.
	Success *manifest.Success
	// Increments are the increments that count: those whose base is the output or, if there is no
	// output, those without a base. They are sorted by number.
	Increments []Committed
	// Leftovers is set if there are files for a holder to clear up. Work of plans that may
	// still be committed is not among them.
	Leftovers bool

	path      string
	damage    string          // what is wrong with the outputs, such as a missing file; empty if nothing is
	foreign   []string        // names of files that rowtocol did not write
	debris    []string        // names of rowtocol's files that belong to no output
	uncounted []string        // increments of replaced outputs that are not kept, and empty directories with the name of an increment
	kept      map[string]bool // IDs of the kept outputs: replaced ones, increments too, whose files stay for a time
	staged    []string        // IDs of plans that have staged work
	dead      []string        // IDs of staged plans that can never be committed
	orphans   []string        // increments and parts whose output is gone, and that no later output replaced
	locked    bool            // whether there is a lock
	pending   bool            // whether there is a pending output
	sequence  int64           // highest known number of an output
	marker    string          // name of the marker of the last number, or empty
	unread    string          // a manifest that cannot be read, and why, or empty
}

// ReadState reads the state of the destination. It takes no lock, so it may or may not see a
// change that a holder makes meanwhile.
func (d *Destination) ReadState(ctx context.Context) (*State, error) {
	var before string
	for try := 1; ; try++ {
		s, err := d.readState(ctx)
		if err != nil {
			return nil, d.wrap(err)
		}
		// If an output is published meanwhile, it looks damaged at one read. If an output is being
		// replaced, it may look gone while other processes take over the directory of the holder.
		now := s.ID() + s.damage
		if s.damage == "" || now == before && !(s.locked && len(s.orphans) > 0) || try == readTries {
			return s, nil
		}
		before = now
	}
}

func (d *Destination) readState(ctx context.Context) (*State, error) {
	s := &State{path: d.path}
	info, err := d.st.Stat(ctx, d.path)
	if errors.Is(err, store.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	//guard: refuses a destination that is not a directory
	if !info.Dir {
		return nil, failure.New(failure.Usage, "destination %s is a file", d.path)
	}
	infos, err := d.st.List(ctx, d.path)
	if err != nil {
		return nil, err
	}
	var found contents
	for _, info := range infos {
		switch {
		case isWorkDir(info):
			err = d.collect(ctx, info.Path, &found)
		case info.Name == manifest.SuccessName:
			err = d.readSuccess(ctx, s, info)
		}
		if err != nil {
			return nil, err
		}
	}
	s.pending, s.sequence = len(found.pending) > 0, found.sequence()
	if s.Success != nil {
		s.sequence = max(s.sequence, s.Success.Sequence)
	}
	if err := d.classify(ctx, s, infos); err != nil {
		return nil, err
	}
	if err := d.classifyIncrements(ctx, s, infos); err != nil {
		return nil, err
	}
	//guard: refuses increments without an output
	if len(s.orphans) > 0 && !s.pending {
		s.damage = cmp.Or(s.damage, fmt.Sprintf("%s of the output that %s belongs to is missing", manifest.SuccessName, s.orphans[len(s.orphans)-1]))
	}
	return s, d.findDead(ctx, s)
}

// readSuccess reads the manifest in a file into s. A file that does not decode is foreign.
func (d *Destination) readSuccess(ctx context.Context, s *State, info store.Info) error {
	//guard: rejects a link or directory in place of the manifest
	if info.Dir || info.Link {
		s.foreign = append(s.foreign, info.Name+" (not a regular file)")
		return nil
	}
	text, err := d.st.ReadFile(ctx, info.Path, manifest.MaxSize)
	if errors.Is(err, store.ErrNotExist) {
		return nil
	}
	//guard: reports a non-file in place of the manifest as foreign, not as failing storage
	if store.Absent(err) {
		s.foreign = append(s.foreign, fmt.Sprintf("%s (not a manifest of rowtocol: %v)", info.Name, err))
		return nil
	}
	if err != nil {
		return err
	}
	if s.Success, err = manifest.DecodeSuccess(text); err != nil {
		s.foreign = append(s.foreign, fmt.Sprintf("%s (not a manifest of rowtocol: %v)", info.Name, err))
		s.unread = s.foreign[len(s.foreign)-1]
	} else {
		s.Success.Request.MoveInputs(d.moved)
	}
	return nil
}

// classify sorts the names in the destination into names of the output, other names of rowtocol,
// and foreign names.
func (d *Destination) classify(ctx context.Context, s *State, infos []store.Info) error {
	expected := make(map[string]manifest.Entry)
	if s.Success != nil {
		for _, e := range s.Success.Entries() {
			expected[e.Name] = e
		}
	}
	if slices.ContainsFunc(infos, isWorkDir) { // first of all, because it finds the kept outputs
		if err := d.findLeftovers(ctx, s); err != nil {
			return err
		}
	}
	var parts []manifest.Entry // listed directories: parts and indexes
	var markers []string
	for _, info := range infos {
		switch e, listed := expected[info.Name]; {
		case listed:
			delete(expected, info.Name)
			if s.compareEntry(info, e) {
				parts = append(parts, e)
			}
		case info.Name == manifest.SuccessName:
		case info.Name == manifest.InputsName && !info.Dir && !info.Link:
		case isIncrement(info): // see classifyIncrements
		case isMarker(info):
			markers = append(markers, info.Name)
		case info.Name == manifest.LockName:
			s.Leftovers, s.locked = true, true
		case isWorkDir(info):
		//guard: keeps the parts of kept outputs
		case s.isKept(info.Name):
		case manifest.IsAside(info.Name) && info.Dir && !info.Link:
			dirs, err := d.classifyAside(ctx, s, info.Name, expected)
			if err != nil {
				return err
			}
			parts = append(parts, dirs...)
		//guard: keeps parts that no manifest lists
		case s.Success == nil && isPart(info.Name):
			s.orphans = append(s.orphans, info.Name)
		case isOurs(info.Name):
			s.debris = append(s.debris, info.Name)
		case info.Link:
			s.foreign = append(s.foreign, info.Name+" (a link)")
		default:
			s.foreign = append(s.foreign, info.Name)
		}
	}
	if err := d.classifyParts(ctx, s, parts, expected); err != nil {
		return err
	}
	s.classifyMarkers(markers)
	missing := slices.Sorted(maps.Keys(expected))
	//guard: reports an output that lost a file as damaged
	if len(missing) > 0 {
		s.damage = missing[0] + " is missing"
	}
	s.Leftovers = s.Leftovers || len(s.debris) > 0
	return nil
}

// compareEntry notes how a file or directory differs from an entry of the manifest. It returns
// true for a directory whose files are still to be compared.
func (s *State) compareEntry(info store.Info, e manifest.Entry) (inside bool) {
	switch {
	case !e.Dir:
		s.compare(e.Name, info, e.Files[0])
	//guard: rejects a link in place of a directory
	case info.Link:
		s.damage = e.Name + " is a link"
	//guard: rejects a file in place of a directory
	case !info.Dir:
		s.damage = e.Name + " is not a directory"
	default:
		return true
	}
	return false
}

// compare notes how a file differs from its entry in the manifest.
func (s *State) compare(name string, info store.Info, file manifest.File) {
	//guard: rejects a link in place of a file
	if info.Link {
		s.damage = name + " is a link"
	}
	//guard: rejects a file of another size
	if info.Dir || info.Size != file.Bytes {
		s.damage = fmt.Sprintf("%s has %d bytes, not %d", name, info.Size, file.Bytes)
	}
}

// classifyParts compares the files in directories with their entries in the manifest. It adds
// files that are missing to expected.
func (d *Destination) classifyParts(ctx context.Context, s *State, parts []manifest.Entry, expected map[string]manifest.Entry) error {
	inside := make([][]store.Info, len(parts))
	err := parallel.Do(ctx, len(parts), d.movers, func(ctx context.Context, i int) (err error) {
		inside[i], err = d.st.List(ctx, d.pathOf(parts[i].Name))
		if errors.Is(err, store.ErrNotExist) {
			return nil // another process moved it away
		}
		return err
	})
	if err != nil {
		return err
	}
	for i, part := range parts {
		files := make(map[string]manifest.File)
		for _, f := range part.Files {
			files[f.Name] = f
		}
		for _, info := range inside[i] {
			name := manifest.InPart(part.Name, info.Name)
			file, listed := files[name]
			//guard: reports foreign files in a part
			if !listed {
				s.foreign = append(s.foreign, name)
				continue
			}
			delete(files, name)
			s.compare(name, info, file)
		}
		for name := range files {
			expected[name] = manifest.Entry{} // it is missing
		}
	}
	return nil
}

// isOurs reports whether only files of an output, published or not, have names like this one.
func isOurs(name string) bool {
	_, ok := manifest.OutputID(name)
	return ok || store.IsTemp(name)
}

// isPart reports whether a name is that of an output's part.
func isPart(name string) bool {
	_, ok := manifest.OutputID(name)
	return ok && !strings.Contains(name, "/")
}

// isWorkDir reports whether an entry of a destination is its work directory.
func isWorkDir(info store.Info) bool {
	return info.Name == manifest.WorkName && info.Dir && !info.Link
}

// findLeftovers finds kept outputs, the plans that have staged work, and whether holders left
// anything.
func (d *Destination) findLeftovers(ctx context.Context, s *State) error {
	infos, err := d.list(ctx, d.workDir())
	if err != nil {
		return err
	}
	s.kept = make(map[string]bool)
	for _, info := range infos {
		if id, ok := stagedPlanID(info); ok {
			s.staged = append(s.staged, id)
		} else if id, ok := manifest.KeptID(info); ok {
			s.kept[id] = true
		} else if !strings.HasPrefix(info.Name, planPrefix) {
			s.Leftovers = true
		}
	}
	s.Leftovers = s.Leftovers || len(infos) == 0
	return nil
}

// classifyAside classifies the files in a directory of copies or indexes. It returns the
// entries of the output that are directories.
func (d *Destination) classifyAside(ctx context.Context, s *State, dir string, expected map[string]manifest.Entry) (dirs []manifest.Entry, err error) {
	infos, err := d.st.List(ctx, d.pathOf(dir))
	if err != nil && !errors.Is(err, store.ErrNotExist) {
		return nil, err
	}
	for _, info := range infos {
		name := dir + "/" + info.Name
		switch {
		case s.Success != nil && info.Name == s.Success.ID && info.Dir && !info.Link:
			inside, err := d.st.List(ctx, info.Path)
			if err != nil && !errors.Is(err, store.ErrNotExist) {
				return nil, err
			}
			for _, i := range inside {
				e, listed := expected[name+"/"+i.Name]
				//guard: reports foreign files in a directory
				if !listed {
					s.foreign = append(s.foreign, name+"/"+i.Name)
					continue
				}
				delete(expected, e.Name)
				if s.compareEntry(i, e) {
					dirs = append(dirs, e)
				}
			}
		//guard: keeps the copies and indexes of kept outputs
		case s.isKept(name):
		case isOurs(name):
			s.debris = append(s.debris, name)
		default:
			s.foreign = append(s.foreign, name)
		}
	}
	if len(infos) == 0 {
		s.debris = append(s.debris, dir)
	}
	return dirs, nil
}

// Finished reports whether the destination holds exactly the output of a request. The output
// must be intact and without increments, and there must be no pending output.
func (s *State) Finished(r *manifest.Request) bool {
	return s.intact() && len(s.Success.Request.Differences(r)) == 0
}

// intact reports whether the destination holds an output that is as its manifest says,
// without increments, and there is no pending output.
func (s *State) intact() bool {
	return s.Success != nil && len(s.Increments) == 0 && s.damage == "" && !s.pending
}

// checkForeign returns failure.Foreign if the destination holds foreign files.
func (s *State) checkForeign() error {
	n := len(s.foreign)
	if n == 0 {
		return nil
	}
	return failure.New(failure.Foreign, "destination %s holds what rowtocol did not write: %s; move it away, or choose another destination",
		s.path, joinFirst(s.foreign, namedForeign, ", "))
}

// checkNext returns failure.Foreign if no output may be published to the destination.
func (s *State) checkNext() error {
	//guard: refuses foreign files
	if err := s.checkForeign(); err != nil {
		return err
	}
	//guard: refuses to plan beyond the last number
	if s.sequence >= manifest.MaxSequence {
		return failure.New(failure.Foreign, "destination %s has no number left for another output: the last one, %d, is used; choose another destination", s.path, s.sequence)
	}
	return nil
}

// CheckReplaceable returns failure.Foreign if the destination must not be filled with the output of
// a request.
func (s *State) CheckReplaceable(r *manifest.Request, overwrite bool) error {
	if err := s.checkNext(); err != nil {
		return err
	}
	switch {
	case overwrite || s.pending:
		return nil // a pending output is checked once it is published
	//guard: refuses to replace a damaged output without overwrite
	case s.damage != "":
		return failure.New(failure.Foreign, "destination %s holds an output that was changed: %s; --overwrite makes it anew", s.path, s.damage)
	case s.Success == nil && len(s.Increments) == 0:
		return nil
	}
	//guard: refuses to replace increments without overwrite
	if n := len(s.Increments); n > 0 {
		return failure.New(failure.Foreign, "destination %s holds increments (%d); --incremental adds to them, --overwrite replaces everything",
			s.path, n)
	}
	differences := s.Success.Request.Differences(r)
	if len(differences) == 0 {
		return nil
	}
	//guard: refuses to replace another request's output without overwrite
	return failure.New(failure.Foreign, "destination %s holds the output of another request: %s; --overwrite replaces the output",
		s.path, joinFirst(differences, namedDifferences, "; "))
}

// CheckInputsKnown returns failure.Foreign if the destination holds rows of unknown inputs.
func (s *State) CheckInputsKnown() error {
	if len(s.orphans) == 0 || s.pending {
		return nil
	}
	return failure.New(failure.Foreign, "destination %s holds rows of unknown inputs: %s", s.path, s.damage)
}

// UnknownInputs says why the inputs of rows in the destination are unknown; empty if they
// are known.
func (s *State) UnknownInputs() string {
	switch {
	case s.unread != "":
		return fmt.Sprintf("%s holds %s", s.path, s.unread)
	case len(s.orphans) > 0 && !s.pending:
		return fmt.Sprintf("%s: %s", s.path, s.damage)
	}
	return ""
}

// CheckPlan is CheckReplaceable for a plan that was made earlier. The plan's output must not
// replace an output that came since.
func (s *State) CheckPlan(p *manifest.Plan, overwrite bool) error {
	if p.Increment {
		return s.checkIncrementPlan(p)
	}
	//guard: refuses a plan that did not see newer rows
	if came := s.NewSincePlan(p); len(came) > 0 && !s.pending {
		return s.outdatedError(p.ID, came)
	}
	return s.CheckReplaceable(&p.Request, overwrite)
}

// ID returns the ID of the output, or an empty string if there is none.
func (s *State) ID() string {
	if s.Success == nil {
		return ""
	}
	return s.Success.ID
}

// joinFirst joins the first texts and adds the number of the others.
func joinFirst(texts []string, most int, separator string) string {
	s := strings.Join(texts[:min(len(texts), most)], separator)
	if more := len(texts) - most; more > 0 {
		s += fmt.Sprintf("%sand %d more", separator, more)
	}
	return s
}
