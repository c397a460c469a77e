package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/plan"
	"github.com/rowtocol/rowtocol/job/publish"
)

// Survey reads the state of a conversion's destination and then surveys its inputs; with
// Incremental, only the inputs that the destination does not have. The order matters: an input
// that is committed in between is surveyed again, never missed.
func Survey(ctx context.Context, r Request) (*plan.Survey, *publish.State, error) {
	state, _, err := r.readState(ctx)
	if err != nil {
		return nil, nil, failure.Judge(err)
	}
	survey, err := r.survey(ctx, state)
	return survey, state, failure.Judge(err)
}

// readState reads what the destination of a conversion holds.
func (r *Request) readState(ctx context.Context) (*publish.State, *publish.Destination, error) {
	//guard: refuses --incremental with --overwrite
	if r.Incremental && r.Overwrite {
		return nil, nil, failure.New(failure.Usage, "an incremental conversion replaces nothing: leave out --overwrite, or --incremental")
	}
	place, err := input.Locate(r.Resolve, r.Dest)
	if err != nil {
		return nil, nil, err
	}
	dest := publish.At(place, r.Destination)
	state, err := dest.ReadState(ctx)
	if err == nil {
		err = r.checkMoves(state.Outputs())
	}
	return state, dest, err
}

// survey surveys the inputs: with Incremental, only those that the destination does not have.
// Otherwise it also compares them with the inputs of the destination's output.
func (r *Request) survey(ctx context.Context, state *publish.State) (*plan.Survey, error) {
	request := plan.Request{
		Asked: r.Asked, Formats: r.Formats, Memory: r.memory(), Resolve: r.Resolve, Nonce: r.nonce,
		AllowWaiting: r.Incremental || r.waits, Taken: r.taken, Partition: r.partition, Sums: r.answers(ctx),
	}
	if r.Incremental {
		return r.surveyNew(ctx, request, state)
	}
	survey, err := plan.NewSurvey(ctx, request)
	if err != nil {
		return nil, err
	}
	if state.Success == nil {
		return survey, nil
	}
	return survey, survey.Compare(ctx, state.Success.Request.Inputs)
}

// surveyNew surveys the inputs that the destination does not have.
func (r *Request) surveyNew(ctx context.Context, request plan.Request, state *publish.State) (*plan.Survey, error) {
	if err := state.CheckIncrement(); err != nil {
		return nil, err
	}
	request.Increment = true
	outputs := state.Outputs()
	request.Known = publish.Inputs(outputs)
	schema, err := checkCompatible(r.Dest, outputs, &r.Output, r.Schema)
	if err != nil {
		return nil, err
	}
	request.Schema, request.SchemaKept = schema, r.Schema == "" && schema != ""
	survey, err := plan.NewSurvey(ctx, request)
	var changed *plan.Changed
	if errors.As(err, &changed) {
		err = fmt.Errorf("%w; its rows are in %s", err, path.Join(r.Dest, changed.Owner))
	}
	if err == nil && len(survey.Request.Inputs) > 0 {
		survey.Warnings = append(survey.Warnings, missingIndexes(outputs, r.Output.Index)...)
	}
	return survey, err
}

// missingIndexes returns a warning for each key index that the outputs have and an increment with
// these indexes would lack. Lookup needs an index in every output.
func missingIndexes(outputs []publish.Committed, indexes []string) (warnings []string) {
	for _, out := range outputs {
		for _, fields := range out.Success.Request.Options.Index {
			text := fmt.Sprintf("the new increment gets no index on %s, but the destination has one: lookup by %s will fail; add --index %s", fields, fields, fields)
			if !slices.Contains(indexes, fields) && !slices.Contains(warnings, text) {
				warnings = append(warnings, text)
			}
		}
	}
	return warnings
}

// checkCompatible returns failure.Foreign if an increment would differ from the destination's
// outputs in format, schema or treatment of recursion. Otherwise it returns the schema to
// which the increment's rows are resolved; empty if the inputs decide.
func checkCompatible(dest string, outputs []publish.Committed, o *manifest.Options, schema string) (string, error) {
	differs := func(output, increment string) error {
		return failure.New(failure.Foreign, "destination %s holds an output %s, and this increment would be one %s; give the option of the output, choose another destination, or replace the output with --overwrite, partitions with --reprocess", dest, output, increment)
	}
	for _, out := range outputs {
		s := out.Success
		switch {
		//guard: refuses a second format in one destination
		case s.Request.Options.Format != o.Format:
			return "", differs("of --format "+s.Request.Options.Format, "of --format "+o.Format)
		//guard: refuses other columns in an increment
		case s.Request.Options.RecursiveBytes != o.RecursiveBytes:
			if o.RecursiveBytes {
				return "", differs("without --recursive bytes", "with it")
			}
			return "", differs("with --recursive bytes", "without it")
		case s.Schema == "":
			continue // the output has no inputs
		//guard: refuses a second schema in one destination
		case schema != "" && !sameSchema(s.Schema, schema):
			return "", differs("of one schema", "of another schema")
		}
		return cmp.Or(schema, s.Schema), nil
	}
	return schema, nil
}

// sameSchema reports whether two texts denote one schema. Text that does not parse equals only
// itself; its user reports the parse error.
func sameSchema(a, b string) bool {
	if a == b {
		return true
	}
	x, err := shred.ParseSchema(a)
	if err != nil {
		return false
	}
	y, err := shred.ParseSchema(b)
	return err == nil && x.Same(y)
}

// answers returns a function that returns the inputs that earlier surveys for the destination
// read. The function loads them at its first call.
func (r *Request) answers(ctx context.Context) func() *manifest.Known {
	return sync.OnceValue(func() *manifest.Known {
		place, err := input.Locate(r.Resolve, r.Dest)
		if err != nil {
			return manifest.NewKnown()
		}
		return publish.At(place, r.Destination).KnownInputs(ctx)
	})
}

// keepAnswers keeps what a survey read, for later surveys. A failure only causes a warning.
func (o *Outcome) keepAnswers(ctx context.Context, dest *publish.Destination, survey *plan.Survey) {
	read := survey.Sums()
	if len(read) == 0 {
		return
	}
	if err := dest.KeepInputs(ctx, read); err != nil && ctx.Err() == nil {
		o.warn([]string{fmt.Sprintf("cannot keep the checksums of inputs (%d) in the destination, so the next run reads them again: %v", len(read), err)})
	}
}

// KeepAnswers keeps what Survey read of inputs that the destination knows, so that the next
// survey does not read them again. It returns a warning, or nothing.
func KeepAnswers(ctx context.Context, r Request, survey *plan.Survey) []string {
	out := new(Outcome)
	out.keepAnswers(ctx, publish.At(survey.Dest, r.Destination), survey)
	return out.Warnings
}

// comparePlan reads the inputs of a plan that only their bytes can match with an input of the
// destination's output. It does not read inputs that are gone or have another length.
func (o *Options) comparePlan(ctx context.Context, p *manifest.Plan, state *publish.State) error {
	if state.Success == nil || p.Increment {
		return nil
	}
	known := manifest.NewKnown(state.Success.Request.Inputs...)
	return input.SumUnread(ctx, p.Request.Inputs, known, func(ctx context.Context, in *manifest.Input) error {
		if err := input.Sum(ctx, o.Resolve, in); !errors.Is(err, failure.Input) {
			return err
		}
		return nil
	})
}

// checkMoves returns an error if a moved tree holds no input of the outputs. Its name may then
// have a typing error, and all inputs would be converted again.
func (r *Request) checkMoves(outputs []publish.Committed) error {
	for i, move := range r.Destination.Moved {
		now := manifest.Moved(move.To, r.Destination.Moved[i+1:])
		holds := func(o publish.Committed) bool {
			return slices.ContainsFunc(o.Success.Request.Inputs, func(in manifest.Input) bool {
				return manifest.InTree(in.Path, now) || manifest.InTree(in.Location(), now)
			})
		}
		//guard: refuses a moved tree that holds no input
		if len(outputs) > 0 && !slices.ContainsFunc(outputs, holds) {
			return failure.New(failure.Usage, "--moved %s=%s: destination %s knows no input below %s", move.From, move.To, r.Dest, move.From)
		}
	}
	return nil
}

// checkInputs checks that the inputs of a plan still hold the bytes that its tasks read, and
// records them in the plan as they are now.
func (o *Options) checkInputs(ctx context.Context, p *manifest.Plan, results []*manifest.TaskResult, state *publish.State) error {
	found, err := input.Check(ctx, o.Resolve, p, results)
	//guard: refuses inputs that changed meanwhile
	if err != nil {
		return err
	}
	p.Request.Inputs = found
	if !p.Increment || p.Request.Options.Copies == "" {
		return nil
	}
	known := publish.Inputs(state.Outputs())
	for i := range found {
		//guard: refuses rows that are there already
		if m := known.Find(&found[i], "", true); m.Relation == manifest.SameContent {
			return failure.New(failure.Foreign, "input %s has the same content as %s, which was committed after plan %s was made; make the plan again", found[i].Path, m.Path, p.ID)
		}
	}
	return nil
}

// countCopies counts the inputs of an output whose content equals that of another input, in
// the same output or in one of others, and warns of them.
func (o *Outcome) countCopies(m *manifest.Success, others []publish.Committed) {
	if !m.Increment {
		others = nil // the other outputs are replaced
	}
	known, copies, first := publish.Inputs(others), 0, ""
	for _, in := range m.Request.Inputs {
		same := known.Find(&in, "", true)
		if same.Relation == manifest.SameContent {
			if copies++; copies == 1 {
				first = fmt.Sprintf("input %s has the same content as %s", in.Path, same.Path)
			}
		}
		known.Add("", in)
	}
	if copies == 0 {
		return
	}
	o.Copies += copies
	if copies > 1 {
		first += fmt.Sprintf("; in all %d inputs are copies", copies)
	}
	o.warn([]string{first + "; their rows are in the output twice (--copies skip leaves such files out)"})
}
