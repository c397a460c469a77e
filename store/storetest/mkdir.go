package storetest

import (
	"context"
	"errors"
	"path"

	"github.com/rowtocol/rowtocol/store"
)

// MkdirAll makes a directory and its missing parents. The directory may exist already.
func MkdirAll(ctx context.Context, st store.Store, p string) error {
	err := st.Mkdir(ctx, p)
	if errors.Is(err, store.ErrNoParent) {
		if err = MkdirAll(ctx, st, path.Dir(p)); err == nil {
			err = st.Mkdir(ctx, p)
		}
	}
	if errors.Is(err, store.ErrExist) {
		return nil
	}
	return err
}
