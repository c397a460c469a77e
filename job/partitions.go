package job

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/internal/parallel"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/plan"
	"github.com/rowtocol/rowtocol/job/publish"
	"github.com/rowtocol/rowtocol/store"
)

// Partitions converts each partition below a directory.
type Partitions struct {
	// Request is the request for each partition, except its input and destination. Inputs is
	// the one directory that holds the partitions, and Dest the one that receives them under
	// the same names.
	Request
	// Reprocess converts a partition again as one output if its inputs changed or got more, if
	// it has increments, or if another format or schema, or an index that it lacks, is asked
	// for. Without it, added inputs become an increment, and all other changes are refused.
	Reprocess bool

	failed map[string]error // errors of directories, by path below the input; nothing in them can be converted
	// states are the states of destinations that Find read, by partition, until their first use.
	states map[string]*publish.State
}

// Find returns the partitions, and the files and directories next to them.
func (p *Partitions) Find(ctx context.Context) (names []string, others []input.Skipped, err error) {
	dest, err := input.Locate(p.Resolve, p.Dest)
	if err != nil {
		return nil, nil, failure.Judge(err)
	}
	found, err := input.Partitions(ctx, input.Search{Resolve: p.Resolve, Inputs: p.Inputs, Dest: &dest, Filter: p.InputFilter()})
	if err != nil {
		return nil, nil, failure.Judge(err)
	}
	p.failed = found.Failed
	if err := p.lookAtAll(ctx, dest, found.Names); err != nil {
		return nil, nil, failure.Judge(err)
	}
	for _, name := range found.Names {
		for dir := path.Dir(name); ; dir = path.Dir(dir) {
			if _, known := p.failed[dir]; !known {
				p.failed[dir] = inOutput(ctx, dest.Store, path.Join(dest.Path, dir))
			}
			if dir == "." {
				break
			}
		}
	}
	return found.Names, found.Outside, ctx.Err()
}

// lookAtAll reads the destinations of all partitions and records which inputs they have. names
// are the sorted names of the partitions that were found; lookAtAll also reads destinations
// whose input directories are gone. If a destination cannot be read, its inputs are unknown.
func (p *Partitions) lookAtAll(ctx context.Context, dest store.Location, names []string) error {
	places := make(map[string]store.Location, len(names))
	for _, name := range names {
		places[name] = store.Location{Store: dest.Store, Origin: dest.Origin, Path: path.Join(dest.Path, name)}
	}
	tree, err := publish.FindTree(ctx, dest)
	if err != nil {
		return err
	}
	if tree != nil {
		for _, place := range tree.Partitions {
			places[strings.TrimPrefix(place.Path, dest.Path+"/")] = place
		}
	}
	all := slices.Sorted(maps.Keys(places))
	states := make([]*publish.State, len(all))
	p.taken, p.states = new(plan.Taken), make(map[string]*publish.State)
	err = parallel.Do(ctx, len(all), input.Readers, func(ctx context.Context, i int) (err error) {
		if states[i], err = publish.At(places[all[i]], p.Destination).ReadState(ctx); err != nil {
			p.taken.AddUnknown(all[i], err.Error())
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	for i, name := range all {
		if states[i] == nil {
			continue
		}
		if why := states[i].UnknownInputs(); why != "" {
			p.taken.AddUnknown(name, why)
		}
		if _, used := slices.BinarySearch(names, name); used {
			p.states[name] = states[i]
		}
		for _, o := range states[i].Outputs() {
			p.taken.Add(name, o.Success.Request.Inputs)
		}
	}
	return nil
}

// state returns what the destination of a partition holds. The first call returns what Find
// read, and later calls read the destination anew.
func (p *Partitions) state(ctx context.Context, name string, place store.Location) (*publish.State, error) {
	if s := p.states[name]; s != nil {
		delete(p.states, name)
		return s, nil
	}
	return publish.At(place, p.Destination).ReadState(ctx)
}

// inOutput returns failure.Foreign if a directory that would contain partitions holds an
// output or increments.
func inOutput(ctx context.Context, st store.Store, dir string) error {
	infos, err := st.List(ctx, dir)
	if errors.Is(err, store.ErrNotExist) {
		return nil
	}
	for _, info := range infos {
		_, _, increment := manifest.ParseIncrement(info.Name)
		//guard: refuses a directory that is an output
		if info.Name == manifest.SuccessName || increment && info.Dir {
			return failure.New(failure.Foreign, "%s holds %s: partitions in an output could not be read, nor could the output; move it away, or choose another destination", dir, info.Name)
		}
	}
	return err
}

// failure returns the reason that Find found why a partition cannot be converted. It returns nil
// if the partition can be converted.
func (p *Partitions) failure(name string) error {
	for dir := name; ; dir = path.Dir(dir) {
		if err := p.failed[dir]; err != nil || dir == "." {
			return failure.Judge(err)
		}
	}
}

// requestFor reads the destination of a partition and decides how to convert it: into an
// output if the destination has none, else into an increment. first is whether the destination
// has no output yet.
func (p *Partitions) requestFor(ctx context.Context, name string) (r Request, first bool, err error) {
	if err := p.failure(name); err != nil {
		return r, false, err
	}
	r = p.Request
	r.Inputs, r.Dest = []string{below(p.Inputs[0], name)}, below(p.Dest, name)
	r.parents, r.waits, r.partition = p.Dest, true, name
	if p.Reprocess {
		r.Overwrite, r.keep = true, true
		return r, false, nil
	}
	place, err := input.Locate(p.Resolve, r.Dest)
	if err != nil {
		return r, false, failure.Judge(err)
	}
	state, err := p.state(ctx, name, place)
	if err != nil {
		return r, false, failure.Judge(err)
	}
	first = len(state.Outputs()) == 0 && !state.Pending()
	r.Incremental = !first
	return r, first, nil
}

// Convert converts a partition as the function Convert does.
func (p *Partitions) Convert(ctx context.Context, name string) (*Outcome, error) {
	for {
		r, first, err := p.requestFor(ctx, name)
		if err != nil {
			return nil, err
		}
		out, err := Convert(ctx, r)
		if !first || !errors.Is(err, failure.Foreign) {
			return out, err
		}
		// Another process may have made the first output in the meantime.
		if _, still, again := p.requestFor(ctx, name); again != nil || still {
			return nil, err
		}
	}
}

// Results of Partitions.Preview.
const (
	Whole     = "output"    // the partition is converted whole
	Added     = "increment" // added inputs are converted as an increment
	Unchanged = "nothing"   // there is nothing to do, or not yet
)

// Preview returns what Convert would do, and the survey of the inputs that it would use.
func (p *Partitions) Preview(ctx context.Context, name string) (what string, survey *plan.Survey, err error) {
	r, _, err := p.requestFor(ctx, name)
	if err != nil {
		return "", nil, err
	}
	survey, state, err := Survey(ctx, r)
	if err != nil {
		return "", nil, err
	}
	_, nothing := r.nothingToDo(state, survey)
	switch {
	case nothing:
		return Unchanged, survey, nil
	case r.Incremental:
		return Added, survey, nil
	}
	return Whole, survey, r.checkReplaceable(state, &survey.Request)
}

// below returns a path below a location.
func below(location, name string) string { return strings.TrimRight(location, "/") + "/" + name }

// finished reports whether the destination holds what is asked for and nothing else. With
// keep, only the inputs and what readers see of format, schema and key indexes count.
func (r *Request) finished(state *publish.State, now *manifest.Request) bool {
	//guard: makes the output again even if it looks finished
	if r.Anew() {
		return false
	}
	if !r.keep || state.Success == nil {
		return state.Finished(now)
	}
	before := state.Success.Request
	for _, fields := range now.Options.Index {
		//guard: makes an index that the output lacks
		if !slices.Contains(before.Options.Index, fields) {
			return false
		}
	}
	before.Inputs = now.Inputs
	_, err := checkCompatible(r.Dest, state.Outputs(), &now.Options, now.Schema)
	return err == nil && state.Finished(&before)
}

// checkReplaceable returns failure.Foreign if the output asked for must not be put in the
// destination.
func (r *Request) checkReplaceable(state *publish.State, now *manifest.Request) error {
	err := state.CheckReplaceable(now, r.Overwrite)
	if err != nil || !r.keep || state.Pending() {
		return err
	}
	//guard: refuses to replace rows that may be nowhere else
	if err := state.CheckInputsKnown(); err != nil {
		return err
	}
	return r.covers(state.Outputs(), now)
}

// covers returns failure.Foreign if outputs hold rows of inputs that are not asked for, because
// an output in their place would lack these rows.
func (r *Request) covers(outputs []publish.Committed, now *manifest.Request) error {
	asked := manifest.NewKnown(now.Inputs...)
	for _, o := range outputs {
		//guard: refuses to replace rows that may be nowhere else
		if o.Success == nil {
			return failure.New(failure.Foreign, "%s holds rows of unknown inputs", path.Join(r.Dest, o.Name))
		}
		for _, in := range o.Success.Request.Inputs {
			//guard: refuses to replace rows that are nowhere else
			if asked.Find(&in, "", false).Relation == manifest.Unrelated {
				return failure.New(failure.Foreign, "%s holds the rows of %s, which is not among its inputs any more: made anew, it would lack them",
					path.Join(r.Dest, o.Name), in.Path)
			}
		}
	}
	return nil
}
