package job

import "context"

// ExpandInputs returns the locations of the input files that a conversion of
// these arguments would read, sorted. Errors have one of this package's kinds
// or come from storage.
func ExpandInputs(ctx context.Context, args []string) ([]string, error) {
	r := &Request{Inputs: args}
	nowhere := place{origin: "nowhere:"} // overlaps no input
	return r.expandInputs(ctx, nowhere)
}
