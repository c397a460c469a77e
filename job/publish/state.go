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
	// namedForeign and namedDifferences are how many of each an error lists.
	namedForeign     = 3
	namedDifferences = 5
)

// State is what a destination holds.
type State struct {
	// Success is the manifest of the output; nil without one.
	Success *manifest.Success
	// Increments are those beside it, by their numbers: those that count.
	Increments []Committed
	// Leftovers is set if something waits for a holder to clear it up. The work of plans
	// that may be committed yet does not.
	Leftovers bool

	path      string
	damage    string   // why an output is not what its manifest says, or empty
	foreign   []string // names that are not ours
	debris    []string // names that are ours, but not of the output
	uncounted []string // increments of outputs that were replaced, and directories that were to become increments
	staged    []string // IDs of plans of which there is work
	dead      []string // those of which no output can come
	orphans   []string // increments and parts of an output that is not there, though none replaced it
	locked    bool     // there is a lock
	pending   bool     // an output waits to be published
	sequence  int64    // the last that was given, as far as it is known
	marker    string   // name of the file that remembers it when the increment is gone, or empty
	unread    string   // a manifest that cannot be read, or empty
}

// Look reads the state of the destination. It takes no lock: what a holder
// changes meanwhile may be seen before or after.
func (d *Destination) Look(ctx context.Context) (*State, error) {
	var before string
	for try := 1; ; try++ {
		s, err := d.readState(ctx)
		if err != nil {
			return nil, d.wrap(err)
		}
		// An output that is published meanwhile looks damaged, once. One that a holder
		// replaces may look gone for as long as others take over what that one has.
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
		case info.Name == manifest.WorkName && info.Dir && !info.Link:
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

// readSuccess reads the manifest in a file that was found. One that does not decode is not
// ours.
func (d *Destination) readSuccess(ctx context.Context, s *State, info store.Info) error {
	//guard: rejects a link or directory in place of the manifest
	if info.Dir || info.Link {
		s.foreign = append(s.foreign, info.Name+" (no regular file)")
		return nil
	}
	text, err := d.st.ReadFile(ctx, info.Path, manifest.MaxSize)
	if errors.Is(err, store.ErrNotExist) {
		return nil
	}
	//guard: calls a non-file in place of the manifest damage, not storage
	if store.Absent(err) {
		s.foreign = append(s.foreign, fmt.Sprintf("%s (no manifest of rowtocol: %v)", info.Name, err))
		return nil
	}
	if err != nil {
		return err
	}
	if s.Success, err = manifest.DecodeSuccess(text); err != nil {
		s.foreign = append(s.foreign, fmt.Sprintf("%s (no manifest of rowtocol: %v)", info.Name, err))
		s.unread = s.foreign[len(s.foreign)-1]
	} else {
		s.Success.Request.MoveInputs(d.moved)
	}
	return nil
}

// classify tells the names in the destination apart: the output's, ours, others'.
func (d *Destination) classify(ctx context.Context, s *State, infos []store.Info) error {
	expected := make(map[string]manifest.Entry)
	if s.Success != nil {
		for _, e := range s.Success.Entries() {
			expected[e.Name] = e
		}
	}
	var parts []manifest.Entry // directories, of parts and of indexes
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
		case info.Name == manifest.WorkName && info.Dir && !info.Link:
			if err := d.findLeftovers(ctx, s); err != nil {
				return err
			}
		case manifest.IsAside(info.Name) && info.Dir && !info.Link:
			dirs, err := d.classifyAside(ctx, s, info.Name, expected)
			if err != nil {
				return err
			}
			parts = append(parts, dirs...)
		//guard: keeps parts without a manifest
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
	//guard: calls an output damaged that lost a file
	if len(missing) > 0 {
		s.damage = missing[0] + " is missing"
	}
	s.Leftovers = s.Leftovers || len(s.debris) > 0
	return nil
}

// compareEntry notes how what has the name of an entry differs from it. It is true of a
// directory, in which there is more to compare.
func (s *State) compareEntry(info store.Info, e manifest.Entry) (inside bool) {
	switch {
	case !e.Dir:
		s.compare(e.Name, info, e.Files[0])
	//guard: rejects a link in place of a directory
	case info.Link:
		s.damage = e.Name + " is a link"
	//guard: calls an output damaged with a file in place of a directory
	case !info.Dir:
		s.damage = e.Name + " is not a directory"
	default:
		return true
	}
	return false
}

// compare notes how a file differs from what the manifest says.
func (s *State) compare(name string, info store.Info, file manifest.File) {
	//guard: rejects a link in place of a file
	if info.Link {
		s.damage = name + " is a link"
	}
	//guard: calls an output damaged with a file of another size
	if info.Dir || info.Size != file.Bytes {
		s.damage = fmt.Sprintf("%s has %d bytes, not %d", name, info.Size, file.Bytes)
	}
}

// classifyParts does what classify does, in the directories of parts.
func (d *Destination) classifyParts(ctx context.Context, s *State, parts []manifest.Entry, expected map[string]manifest.Entry) error {
	inside := make([][]store.Info, len(parts))
	err := parallel.Do(ctx, len(parts), d.movers, func(ctx context.Context, i int) (err error) {
		inside[i], err = d.st.List(ctx, d.pathOf(parts[i].Name))
		if errors.Is(err, store.ErrNotExist) {
			return nil // it was moved away meanwhile
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
			//guard: keeps files of others in a part
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

// isOurs knows names that nothing but an output, or what was to become one, has.
func isOurs(name string) bool {
	_, ok := manifest.OutputID(name)
	return ok || store.IsTemp(name)
}

// isPart knows the names of an output's parts.
func isPart(name string) bool {
	_, ok := manifest.OutputID(name)
	return ok && !strings.Contains(name, "/")
}

// findLeftovers finds out which plans there is work of, and whether holders left anything.
func (d *Destination) findLeftovers(ctx context.Context, s *State) error {
	infos, err := d.list(ctx, d.workDir())
	if err != nil {
		return err
	}
	for _, info := range infos {
		if id, ok := stagedPlanID(info); ok {
			s.staged = append(s.staged, id)
		} else if !strings.HasPrefix(info.Name, planPrefix) {
			s.Leftovers = true
		}
	}
	s.Leftovers = s.Leftovers || len(infos) == 0
	return nil
}

// classifyAside does what classify does, in a directory of files that are no parts. It
// returns the directories of the output in it.
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
				//guard: keeps files of others in a directory
				if !listed {
					s.foreign = append(s.foreign, name+"/"+i.Name)
					continue
				}
				delete(expected, e.Name)
				if s.compareEntry(i, e) {
					dirs = append(dirs, e)
				}
			}
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

// Finished reports whether the destination holds what is asked for, whole, without
// increments beside it, and nothing waits to replace it.
func (s *State) Finished(r *manifest.Request) bool {
	return s.intact() && len(s.Success.Request.Differences(r)) == 0
}

// intact reports whether the destination holds an output that is what its manifest says,
// without increments beside it, and nothing waits to replace it.
func (s *State) intact() bool {
	return s.Success != nil && len(s.Increments) == 0 && s.damage == "" && !s.pending
}

// checkForeign is failure.Foreign if the destination holds what is not ours.
func (s *State) checkForeign() error {
	n := len(s.foreign)
	if n == 0 {
		return nil
	}
	return failure.New(failure.Foreign, "destination %s holds what rowtocol did not write: %s; move it away, or choose another destination",
		s.path, joinFirst(s.foreign, namedForeign, ", "))
}

// checkNext is failure.Foreign if nothing must be published to the destination.
func (s *State) checkNext() error {
	//guard: refuses files of others
	if err := s.checkForeign(); err != nil {
		return err
	}
	//guard: refuses to plan beyond the last number
	if s.sequence >= manifest.MaxSequence {
		return failure.New(failure.Foreign, "destination %s has no number left for another output: it gave the last one, %d; choose another destination", s.path, s.sequence)
	}
	return nil
}

// Allow is failure.Foreign if the destination must not be filled with what is
// asked for.
func (s *State) Allow(r *manifest.Request, overwrite bool) error {
	if err := s.checkNext(); err != nil {
		return err
	}
	switch {
	case overwrite || s.pending:
		return nil // what is pending is considered once it is published
	//guard: refuses to replace a damaged output unless told to
	case s.damage != "":
		return failure.New(failure.Foreign, "destination %s holds an output that was changed: %s; --overwrite makes it anew", s.path, s.damage)
	case s.Success == nil && len(s.Increments) == 0:
		return nil
	}
	//guard: refuses to replace increments unless told to
	if n := len(s.Increments); n > 0 {
		return failure.New(failure.Foreign, "destination %s holds increments (%d): --incremental adds to them, --overwrite replaces all that is there",
			s.path, n)
	}
	differences := s.Success.Request.Differences(r)
	if len(differences) == 0 {
		return nil
	}
	//guard: refuses to replace another request's output unless told to
	return failure.New(failure.Foreign, "destination %s holds the output of another request: %s; --overwrite replaces it",
		s.path, joinFirst(differences, namedDifferences, "; "))
}

// AllowWhole is failure.Foreign if the destination holds rows of which it is not known
// what inputs they are of.
func (s *State) AllowWhole() error {
	if len(s.orphans) == 0 || s.pending {
		return nil
	}
	return failure.New(failure.Foreign, "destination %s holds rows of unknown inputs: %s", s.path, s.damage)
}

// UnknownInputs says why the inputs of rows in the destination are not known; empty if
// they are.
func (s *State) UnknownInputs() string {
	switch {
	case s.unread != "":
		return fmt.Sprintf("%s holds %s", s.path, s.unread)
	case len(s.orphans) > 0 && !s.pending:
		return fmt.Sprintf("%s: %s", s.path, s.damage)
	}
	return ""
}

// AllowPlan is what Allow is for a plan that was made earlier: it must not
// replace what the destination got since.
func (s *State) AllowPlan(p *manifest.Plan, overwrite bool) error {
	if p.Increment {
		return s.checkIncrementPlan(p)
	}
	//guard: refuses a plan that did not see newer rows
	if came := s.Unseen(p); len(came) > 0 && !s.pending {
		return s.outdatedError(p.ID, came)
	}
	return s.Allow(&p.Request, overwrite)
}

// ID is that of the output; empty if there is none.
func (s *State) ID() string {
	if s.Success == nil {
		return ""
	}
	return s.Success.ID
}

// joinFirst joins the first texts, and says how many more there are.
func joinFirst(texts []string, most int, separator string) string {
	s := strings.Join(texts[:min(len(texts), most)], separator)
	if more := len(texts) - most; more > 0 {
		s += fmt.Sprintf("%sand %d more", separator, more)
	}
	return s
}
