package dataset

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// Lost returns the error to report if reading the file name of a listed part failed with
// err. If the file is gone or was replaced, and the output was replaced, the error is
// ErrChanging. If the output still lists the file, the error is damage. In all other cases
// it is err.
func (l *Listing) Lost(ctx context.Context, p *Part, name string, err error) error {
	if p.Output < 0 {
		if errors.Is(err, store.ErrNotRegular) {
			return damage.New(damage.Magic, name, -1, "it is not a file: %v", err)
		}
		return err
	}
	if !store.Absent(err) {
		return err
	}
	//guard: reports a replaced output, not damage
	if err := l.Outputs[p.Output].unchanged(ctx); err != nil {
		return err
	}
	if errors.Is(err, store.ErrNotExist) {
		return damage.New(damage.Truncated, name, -1, "the file is missing, %s lists it", manifest.SuccessName)
	}
	return damage.New(damage.Truncated, name, -1, "it is not the file that %s lists: %v", manifest.SuccessName, err)
}

// OpenListed opens, by its name, a file that the manifest of an output lists besides its
// parts, such as a file of an index. If the file is lost, the error is that of Lost. The
// caller closes the file.
func (l *Listing) OpenListed(ctx context.Context, output int, name string) (store.File, error) {
	r := &l.Outputs[output]
	f := &listedFile{file{name: path.Join(r.Path, name), size: -1, pool: budget.OpenFiles()}}
	f.open = func() (store.File, error) {
		stored, err := r.Store.Open(ctx, f.name)
		if err != nil {
			return nil, l.Lost(ctx, &Part{Output: output}, f.name, err)
		}
		return stored, nil
	}
	if _, err := f.take(); err != nil {
		return nil, err
	}
	f.release()
	return f, nil
}

// OpenListed calls Listing.OpenListed.
func (d *Dataset) OpenListed(ctx context.Context, output int, name string) (store.File, error) {
	return d.list.OpenListed(ctx, output, name)
}

// Unchanged returns ErrChanging if an output was replaced since it was listed.
func (l *Listing) Unchanged(ctx context.Context) error {
	for i := range l.Outputs {
		if err := l.Outputs[i].unchanged(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Success reads the manifest of the output. It returns ErrChanging if the output was
// replaced since it was listed.
func (r *Output) Success(ctx context.Context) (*manifest.Success, error) {
	s, err := r.success(ctx)
	var d *damage.Error
	//guard: returns an error of storage unchanged
	if err != nil && !store.Absent(err) && !errors.As(err, &d) {
		return nil, err
	}
	if err == nil && s.ID == r.ID {
		return s, nil
	}
	return nil, fmt.Errorf("%s was replaced while it was read: %w", r.Path, ErrChanging)
}

func (r *Output) unchanged(ctx context.Context) error {
	_, err := r.Success(ctx)
	return err
}

// success reads the current manifest.
func (r *Output) success(ctx context.Context) (*manifest.Success, error) {
	name := path.Join(r.Path, manifest.SuccessName)
	text, err := r.Store.ReadFile(ctx, name, manifest.MaxSize)
	if err != nil {
		return nil, err
	}
	s, err := manifest.DecodeSuccess(text)
	if err != nil {
		d := damage.New(damage.Header, name, -1, "the manifest does not parse")
		if errors.Is(err, manifest.ErrVersion) {
			d = damage.New(damage.Unsupported, name, -1, "the output cannot be read by this program")
		}
		d.Err = err
		return nil, d
	}
	return s, nil
}

// underWay returns ErrChanging if a run works on a directory that was listed without
// _SUCCESS, or began to publish in it.
func underWay(ctx context.Context, st store.Store, dir string, infos []store.Info) error {
	for _, info := range infos {
		//guard: tells an output that a run makes from an unfinished one
		if info.Name == manifest.LockName {
			return fmt.Errorf("%s is not a finished output yet: a run works on it, or was killed (rowtocol status says which): %w", dir, ErrChanging)
		}
		if info.Name != manifest.WorkName || !info.Dir || info.Link {
			continue
		}
		pending, err := holdsPending(ctx, st, info.Path)
		if err != nil {
			return err
		}
		//guard: tells an output that the next run completes from an unfinished one
		if pending {
			return fmt.Errorf("%s is not a finished output yet: the run that was publishing it did not end; the next run completes it: %w", dir, ErrChanging)
		}
	}
	info, err := st.Stat(ctx, path.Join(dir, manifest.SuccessName))
	if err == nil && info.Dir {
		return nil
	}
	//guard: finds an output that was finished during the listing
	if err == nil {
		return fmt.Errorf("%s was finished while it was listed: %w", dir, ErrChanging)
	}
	if errors.Is(err, store.ErrNotExist) {
		return nil
	}
	return err
}

// holdsPending reports whether a directory holds the manifest of an output that is
// being published.
func holdsPending(ctx context.Context, st store.Store, dir string) (bool, error) {
	infos, err := st.List(ctx, dir)
	if err != nil {
		if errors.Is(err, store.ErrNotExist) {
			return false, nil
		}
		return false, err
	}
	for _, info := range infos {
		switch {
		//guard: does not follow a link out of the directory
		case info.Link:
		//guard: skips the work of tasks
		case strings.HasPrefix(info.Name, manifest.StagedPrefix):
		//guard: leaves out what is being removed
		case strings.HasPrefix(info.Name, manifest.TrashPrefix):
		case info.Dir:
			if found, err := holdsPending(ctx, st, info.Path); found || err != nil {
				return found, err
			}
		case strings.HasPrefix(info.Name, manifest.PendingName+"-"):
			return true, nil
		}
	}
	return false, nil
}
