package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/rowtocol/rowtocol/store"
)

// Calls makes a call of each operation that has a context. The directory must have a file a with
// the content "a". Calls that read check that they return this content.
func Calls(ctx context.Context, st store.Store, dir string) map[Op]func() error {
	a, b := dir+"/a", dir+"/b"
	check := func(got []byte, err error) error {
		if err == nil && string(got) != "a" {
			return fmt.Errorf("read %q", got)
		}
		return err
	}
	return map[Op]func() error{
		Open: func() error {
			f, err := st.Open(ctx, a)
			if err == nil {
				err = f.Close()
			}
			return err
		},
		ReadAt: func() error {
			f, err := st.Open(ctx, a)
			if err != nil {
				return err
			}
			return errors.Join(check(io.ReadAll(io.NewSectionReader(f, 0, f.Size()))), f.Close())
		},
		Create: func() error { _, err := st.Create(ctx, b, store.CreateOptions{Size: 1}); return err },
		Stat:   func() error { _, err := st.Stat(ctx, a); return err },
		List: func() error {
			infos, err := st.List(ctx, dir)
			if err == nil && (len(infos) != 1 || infos[0].Name != "a") {
				return fmt.Errorf("listed %v", infos)
			}
			return err
		},
		Rename:    func() error { return st.Rename(ctx, a, b) },
		Remove:    func() error { return st.Remove(ctx, a) },
		RemoveAll: func() error { return st.RemoveAll(ctx, a) },
		Mkdir:     func() error { return st.Mkdir(ctx, b) },
		ReadFile:  func() error { return check(st.ReadFile(ctx, a, 10)) },
		WriteFile: func() error { return st.WriteFile(ctx, b, []byte("mine"), true) },
	}
}
