package store

import (
	"context"
	"errors"
)

// Move renames a file or directory to a name that is used once. So if it is not
// where it was, but is where it is to be, an earlier try did it and its answer was
// lost; a store that numbers its files finds that out by itself.
func Move(ctx context.Context, st Store, from, to string) error {
	err := st.Rename(ctx, from, to)
	if errors.Is(err, ErrNotExist) {
		//guard: knows its own rename whose answer was lost (tests: ./job/publish)
		if _, there := st.Stat(ctx, to); there == nil {
			return nil
		}
	}
	return err
}
