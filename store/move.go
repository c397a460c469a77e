package store

import (
	"context"
	"errors"
)

// Move renames a file or directory to a name that is used only once. If the old name does not
// exist and the new name does, an earlier try succeeded and its answer was lost. A store that
// numbers its files detects that itself.
func Move(ctx context.Context, st Store, from, to string) error {
	err := st.Rename(ctx, from, to)
	if errors.Is(err, ErrNotExist) {
		//guard: recognizes its own rename whose answer was lost (tests: ./job/publish)
		if _, there := st.Stat(ctx, to); there == nil {
			return nil
		}
	}
	return err
}
