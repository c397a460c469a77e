package job

import (
	"context"

	"github.com/rowtocol/rowtocol/store"
)

// ExpandInputs returns the locations of the input files that a conversion of
// these arguments would read, sorted. A nil resolve is store.Resolve. Errors
// have one of this package's kinds or come from storage.
func ExpandInputs(ctx context.Context, args []string, resolve Resolve) ([]string, error) {
	r := &Request{Inputs: args, Resolve: resolve}
	nowhere := store.Location{Origin: "nowhere:"} // overlaps no input
	found, err := r.expandInputs(ctx, nowhere)
	names := make([]string, len(found))
	for i, f := range found {
		names[i] = f.name
	}
	return names, err
}
