package plan

import (
	"errors"
	"fmt"

	"github.com/rowtocol/rowtocol/failure"
	"github.com/rowtocol/rowtocol/input"
	"github.com/rowtocol/rowtocol/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// Changed is the error for an input that is known and is not what it was.
type Changed struct {
	Path string
	how  string // what it was and is
}

func (c *Changed) Error() string {
	return fmt.Sprintf("input %s changed since it was converted: %s", c.Path, c.how)
}

// known are the inputs that the destination has, by their paths.
type known map[string]manifest.Input

func knownInputs(inputs []manifest.Input) known {
	k := make(known, len(inputs))
	for _, in := range inputs {
		k[in.Path] = in
	}
	return k
}

// unopened reports whether a file is known to be what it was without a look into
// it: by its size and the time of its modification.
func (k known) unopened(f *input.File) bool {
	in, ok := k[f.Name]
	return ok && in.Size == f.Size && !in.ModTime.IsZero() && in.ModTime.Equal(f.ModTime)
}

// opened reports whether a file that was described, or could not be because of err,
// is a known input. One that is not what it was is an error.
func (k known) opened(now manifest.Input, err error) (bool, error) {
	before, ok := k[now.Path]
	switch {
	case !ok, errors.Is(err, store.ErrBeingWritten):
		return false, err
	case errors.Is(err, input.ErrEmpty) && before.Size == 0:
		return true, nil
	//guard: a file that was replaced by another would be skipped in silence
	case err != nil && input.NotInput(err) != "":
		return false, failure.As(failure.Input, &Changed{now.Path, fmt.Sprintf("it was an Avro file, and is none: %v", err)})
	case err != nil:
		return false, err
	case before.Same(now):
		return true, nil
	case before.Size != now.Size:
		return false, failure.As(failure.Input, &Changed{now.Path, fmt.Sprintf("it had %d bytes and has %d", before.Size, now.Size)})
	}
	return false, failure.As(failure.Input, &Changed{now.Path, fmt.Sprintf("its identity was %08x and is %08x", before.Identity, now.Identity)})
}
