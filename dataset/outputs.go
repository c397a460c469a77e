package dataset

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/parallel"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// listTries is how often a directory is listed that is replaced meanwhile.
const listTries = 5

// errReplaced is a directory in which the output was replaced while it was looked at.
var errReplaced = errors.New("the output was replaced")

// beside are the directories of runs in a directory.
type beside struct {
	dir       string
	base      string       // ID of the directory's own output; empty if there is none
	sequence  int64        // of that
	all, runs []store.Info // what the directory holds
	any       bool         // whatever output a run is of, it is taken
}

// runReaders is how many manifests of runs are read at a time: those of hundreds would
// take long one after another from a store that is far away, and much memory all at once.
const runReaders = 16

// addRuns adds the parts of runs. A run of rowtocol counts only with the output that
// was in the directory when the run was published: the moment in which that is
// replaced ends its runs too. As the directory is listed before any manifest is read,
// what is replaced meanwhile is seen as it was, or is gone: then all is read again.
func (l *finder) addRuns(ctx context.Context, b *beside) error {
	orphan, before := "", len(l.Runs)
	for infos := range slices.Chunk(b.runs, runReaders) {
		found := make([]foundRun, len(infos))
		err := parallel.Do(ctx, len(infos), len(infos), func(ctx context.Context, i int) (err error) {
			found[i], err = l.findRun(ctx, infos[i])
			return err
		})
		if err != nil {
			return err
		}
		for i, r := range found {
			switch {
			//guard: rows of an output that was replaced would be read beside those of the new one
			case r.success != nil && r.success.Run && r.success.Base != b.base && !b.any:
				//guard: a run that lost its output to an older one would be passed over
				if b.base == "" || r.success.Sequence > b.sequence {
					orphan = infos[i].Path
				}
			case r.success != nil:
				if r.success.Run && !b.any {
					err = l.hold(&r.run, r.success)
				}
				if err == nil {
					err = l.addListed(r.run, r.success)
				}
			default:
				err = l.addFiles(ctx, r.files)
			}
			if err != nil {
				return err
			}
		}
	}
	return l.checkRuns(ctx, b, orphan, len(l.Runs)-before)
}

// checkRuns is an error if so many runs that count are not all that there is to read.
// orphan is a run that belongs to an output which is not there, or empty.
func (l *finder) checkRuns(ctx context.Context, b *beside, orphan string, count int) error {
	switch {
	case b.any:
		return nil
	case b.base != "" && orphan != "":
		return &unfinished{fmt.Sprintf("%s is not a finished output: %s is of an output whose %s is not there", b.dir, orphan, manifest.SuccessName)}
	case b.base != "":
		return nil
	}
	info, err := l.store.Stat(ctx, path.Join(b.dir, manifest.SuccessName))
	switch {
	//guard: runs that were moved out while a listing went on would be missing beside others that it still has
	case err == nil && !info.Dir:
		return errReplaced
	case err != nil && !errors.Is(err, store.ErrNotExist):
		return err
	//guard: an output that is being replaced would be read as if it held nothing
	case orphan == "" && count > 0:
		return nil
	}
	if err = underWay(ctx, l.store, b.dir, b.all); err == nil {
		err = &unfinished{fmt.Sprintf("%s is not a finished output: it has no %s, and no run that counts without", b.dir, manifest.SuccessName)}
	}
	return err
}

// foundRun is what a directory of a run holds.
type foundRun struct {
	run     Run
	success *manifest.Success // nil if it is not finished
	files   []store.Info      // that are read if it is not
}

// findRun looks into the directory of a run.
func (l *finder) findRun(ctx context.Context, info store.Info) (r foundRun, err error) {
	r.run, r.success, err = l.readRun(ctx, info.Path)
	switch {
	case errors.Is(err, ErrUnfinished) && l.isEmptyRun(ctx, info):
		return r, nil
	case l.partial && errors.Is(err, ErrUnfinished):
		r.files, err = l.store.List(ctx, info.Path)
		return r, err
	//guard: runs that come and go while they are listed would be called unfinished
	case errors.Is(err, store.ErrNotExist) || errors.Is(err, ErrChanging) && isRun(info):
		return r, errReplaced
	case err != nil:
		return r, err
	//guard: rows of a run that was copied would be read twice
	case r.success.Run && info.Name != manifest.RunName(r.success.Sequence, r.success.ID):
		return r, damage.New(damage.Header, path.Join(info.Path, manifest.SuccessName), -1, "it is of the run %s",
			manifest.RunName(r.success.Sequence, r.success.ID))
	}
	return r, nil
}

// isRun reports whether a directory is named as rowtocol names runs.
func isRun(info store.Info) bool {
	_, _, ok := manifest.ParseRun(info.Name)
	return ok
}

// isEmptyRun reports whether there is nothing in the directory of a run: for a moment
// there may be one before the run takes its name.
func (l *finder) isEmptyRun(ctx context.Context, info store.Info) bool {
	infos, err := l.store.List(ctx, info.Path)
	return isRun(info) && err == nil && len(infos) == 0
}
