package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/store"
)

// ReadDocument returns the text of a document that a flag names. It refuses a document of more
// than most bytes, and all but regular files: reading a pipe may never end.
func ReadDocument(ctx context.Context, flag, name string, at store.Location, most int64) ([]byte, error) {
	text, err := at.Store.ReadFile(ctx, at.Path, most)
	switch {
	case errors.Is(err, store.ErrNotExist):
		return nil, failure.New(failure.Input, "%s: %s does not exist", flag, name)
	case errors.Is(err, store.ErrNotRegular), errors.Is(err, store.ErrTooLarge):
		return nil, Usagef("%s: %s: %w", flag, name, err)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return text, nil
}
