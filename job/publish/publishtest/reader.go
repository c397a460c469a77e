package publishtest

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// errChanging is the error of a reader while outputs change.
var errChanging = errors.New("the output changes")

// nameOf returns the name of an output's request.
func nameOf(m *manifest.Success) string { return m.Request.Inputs[0].Path }

// read reads the destination as readers do. It returns the name of the request of the output,
// which is empty if there is none, and the names of those of its increments, with a + between.
// An error other than errChanging is a fault of package publish.
func (w *world) read(ctx context.Context, st store.Store) (string, error) {
	for range 3 {
		top, increments, err := w.list(ctx, st)
		if errors.Is(err, errChanging) {
			continue
		}
		if err != nil {
			return "", err
		}
		names := []string{""}
		if top != nil {
			names[0] = nameOf(top)
			err = w.readOutput(ctx, st, w.dest, top, top)
		}
		for i := 0; i < len(increments) && err == nil; i++ {
			names = append(names, nameOf(increments[i]))
			err = w.readOutput(ctx, st, path.Join(w.dest, manifest.IncrementName(increments[i].Sequence, increments[i].ID)), increments[i], top)
		}
		return strings.Join(names, "+"), err
	}
	return "", errChanging
}

// list returns the outputs that count: the output, or nil if there is none, and the increments
// with this base.
func (w *world) list(ctx context.Context, st store.Store) (top *manifest.Success, increments []*manifest.Success, err error) {
	infos, err := st.List(ctx, w.dest)
	if errors.Is(err, store.ErrNotExist) {
		return nil, nil, nil
	}
	if err == nil {
		top, err = success(ctx, st, w.dest)
	}
	if err != nil {
		return nil, nil, err
	}
	base, others := idOf(top), false
	for _, info := range infos {
		if _, _, ok := manifest.ParseIncrement(info.Name); !ok {
			continue
		}
		m, err := success(ctx, st, info.Path)
		switch {
		case err != nil:
			return nil, nil, err
		case m == nil:
			return nil, nil, errChanging
		case m.Base == base:
			increments = append(increments, m)
		default:
			others = true
		}
	}
	again, err := success(ctx, st, w.dest)
	if err == nil && (idOf(again) != base || top == nil && others) {
		err = errChanging
	}
	return top, increments, err
}

func idOf(m *manifest.Success) string {
	if m == nil {
		return ""
	}
	return m.ID
}

// readOutput reads the files of an output in a directory. A file may be missing only if top
// is no longer the output of the destination.
func (w *world) readOutput(ctx context.Context, st store.Store, dir string, s, top *manifest.Success) error {
	if len(s.Parts) != tasks {
		return fmt.Errorf("the output has %d parts", len(s.Parts))
	}
	for _, part := range s.Parts {
		want := content(nameOf(s), part.Task)
		if len(part.Files) != len(want) {
			return fmt.Errorf("part %d has %d files", part.Task, len(part.Files))
		}
		for i, f := range part.Files {
			data, err := st.ReadFile(ctx, path.Join(dir, f.Name), maxFile)
			if errors.Is(err, store.ErrNotExist) {
				now, err := success(ctx, st, w.dest)
				if err == nil && idOf(now) != idOf(top) {
					return errChanging
				}
				return fmt.Errorf("%s is missing (%v)", f.Name, err)
			}
			if err != nil {
				return err
			}
			if string(data) != want[i] {
				return fmt.Errorf("%s holds %q", f.Name, data)
			}
		}
	}
	return nil
}

// success reads the manifest in a directory. It returns nil if there is none.
func success(ctx context.Context, st store.Store, dir string) (*manifest.Success, error) {
	text, err := st.ReadFile(ctx, path.Join(dir, manifest.SuccessName), maxFile)
	if errors.Is(err, store.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return manifest.DecodeSuccess(text)
}
