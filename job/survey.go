package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/plan"
	"github.com/rowtocol/rowtocol/job/publish"
)

// Survey reads the state of a conversion's destination and then surveys its inputs; with
// Incremental, only those that the destination does not have. The order matters: an input
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
	//guard: would add an increment where the user asked for a replacement
	if r.Incremental && r.Overwrite {
		return nil, nil, failure.New(failure.Usage, "an incremental conversion replaces nothing: leave out --overwrite, or --incremental")
	}
	place, err := input.Locate(r.Resolve, r.Dest)
	if err != nil {
		return nil, nil, err
	}
	dest := publish.At(place, r.Destination)
	state, err := dest.Look(ctx)
	if err == nil {
		err = r.checkMoves(state.Outputs())
	}
	return state, dest, err
}

// survey surveys all inputs, or those that the destination does not have, and finds out
// which of them are those of its output.
func (r *Request) survey(ctx context.Context, state *publish.State) (*plan.Survey, error) {
	request := plan.Request{
		Asked: r.Asked, Formats: r.Formats, Memory: r.memory(), Resolve: r.Resolve, Nonce: r.nonce,
		AllowWaiting: r.Incremental || r.waits, Taken: r.taken, Partition: r.partition, Sums: r.answers(ctx),
	}
	if r.Incremental {
		return r.surveyNew(ctx, request, state)
	}
	survey, err := plan.Look(ctx, request)
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
	if err := state.AllowIncrement(); err != nil {
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
	survey, err := plan.Look(ctx, request)
	var changed *plan.Changed
	if errors.As(err, &changed) {
		err = fmt.Errorf("%w; its rows are in %s", err, path.Join(r.Dest, changed.Owner))
	}
	return survey, err
}

// checkCompatible is failure.Foreign if an increment would differ from what the destination
// holds in format, schema or treatment of recursion. It returns the schema that the rows of
// the increment are resolved to; empty if the inputs decide.
func checkCompatible(dest string, outputs []publish.Committed, o *manifest.Options, schema string) (string, error) {
	differs := func(what string) error {
		return failure.New(failure.Foreign, "destination %s holds an output of another %s, and all its increments have one; choose another destination, or --overwrite without --incremental", dest, what)
	}
	for _, out := range outputs {
		s := out.Success
		switch {
		//guard: readers would find two formats in one destination
		case s.Request.Options.Format != o.Format:
			return "", differs("format: " + s.Request.Options.Format)
		//guard: readers would find other columns in the increments
		case s.Request.Options.RecursiveBytes != o.RecursiveBytes:
			return "", differs("kind of recursive columns")
		case s.Schema == "":
			continue // it has no inputs
		//guard: readers would find two schemas in one destination
		case schema != "" && !sameSchema(s.Schema, schema):
			return "", differs("schema")
		}
		return cmp.Or(schema, s.Schema), nil
	}
	return schema, nil
}

// sameSchema reports whether two texts are of one schema. Text that does not parse is the
// same as no other; its user reports why.
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
