package dataset

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/rowtocol/rowtocol/damage"
	"github.com/rowtocol/rowtocol/manifest"
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

// addRuns adds the parts of runs. A run of rowtocol counts only with the output that
// was in the directory when the run was published: the moment in which that is
// replaced ends its runs too. As the directory is listed before any manifest is read,
// what is replaced meanwhile is seen as it was, or is gone: then all is read again.
func (l *finder) addRuns(ctx context.Context, b *beside) error {
	orphan, before := "", len(l.Runs)
	for _, info := range b.runs {
		run, s, err := l.readRun(ctx, info.Path)
		switch {
		case errors.Is(err, ErrUnfinished) && l.isEmptyRun(ctx, info):
			continue
		case l.partial && errors.Is(err, ErrUnfinished):
			infos, err := l.store.List(ctx, info.Path)
			if err == nil {
				err = l.addFiles(ctx, infos)
			}
			if err != nil {
				return err
			}
			continue
		//guard: runs that come and go while they are listed would be called unfinished
		case errors.Is(err, store.ErrNotExist) || errors.Is(err, ErrChanging) && isRun(info):
			return errReplaced
		case err != nil:
			return err
		//guard: rows of a run that was copied would be read twice
		case s.Run && info.Name != manifest.RunName(s.Sequence, s.ID):
			return damage.New(damage.Header, path.Join(info.Path, manifest.SuccessName), -1, "it is of the run %s", manifest.RunName(s.Sequence, s.ID))
		//guard: rows of an output that was replaced would be read beside those of the new one
		case s.Run && s.Base != b.base && !b.any:
			//guard: a run that lost its output to an older one would be passed over
			if b.base == "" || s.Sequence > b.sequence {
				orphan = info.Path
			}
			continue
		}
		if err := l.addListed(run, s); err != nil {
			return err
		}
	}
	//guard: an output that is being replaced would be read as if it held nothing
	if b.any || orphan == "" && (b.base != "" || len(l.Runs) > before) {
		return nil
	}
	if b.base != "" {
		return &unfinished{fmt.Sprintf("%s is not a finished output: %s is of an output whose %s is not there", b.dir, orphan, manifest.SuccessName)}
	}
	err := underWay(ctx, l.store, b.dir, b.all)
	if err == nil {
		err = &unfinished{fmt.Sprintf("%s is not a finished output: it has no %s, and no run that counts without", b.dir, manifest.SuccessName)}
	}
	return err
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
