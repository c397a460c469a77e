package dataset

import (
	"cmp"
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

// listTries is how often a directory is listed if its output is replaced each time.
const listTries = 5

// errReplaced is returned for a directory whose output was replaced during the listing.
var errReplaced = errors.New("the output was replaced")

// incrementDirs lists the increments in a directory.
type incrementDirs struct {
	dir             string
	base            string       // ID of the output in the directory itself; empty if there is none
	sequence        int64        // sequence number of that output
	all, increments []store.Info // all entries, and the increments among them
	any             bool         // increments of any output are read
}

// incrementReaders is the number of manifests of increments that are read at the same
// time. Reading hundreds one by one is slow on a distant store, and reading all at the
// same time takes much memory.
const incrementReaders = 16

// addIncrements adds the parts of increments. An increment belongs to the output that was
// in the directory when the increment was published. If that output is replaced, its
// increments are no longer read. The directory is listed before any manifest is read. If
// a listed file is gone when it is read, the listing starts again.
func (l *finder) addIncrements(ctx context.Context, b *incrementDirs) error {
	orphan, before := "", len(l.Outputs)
	for infos := range slices.Chunk(b.increments, incrementReaders) {
		found := make([]foundIncrement, len(infos))
		err := parallel.Do(ctx, len(infos), len(infos), func(ctx context.Context, i int) (err error) {
			found[i], err = l.findIncrement(ctx, infos[i])
			return err
		})
		if err != nil {
			return err
		}
		for i, r := range found {
			standing := manifest.Counts
			if r.success != nil && !b.any {
				standing = r.success.StandingTo(b.base, b.sequence)
			}
			switch {
			//guard: rejects an increment that an older output has overtaken
			case standing == manifest.Orphaned:
				orphan = infos[i].Path
			case r.success == nil:
				err = l.addFiles(ctx, r.files)
			case standing == manifest.Counts && b.any:
				err = l.addListed(r.output, r.success)
			case standing == manifest.Counts:
				err = l.addDisjoint(r.output, r.success)
			}
			if err != nil {
				return err
			}
		}
	}
	return l.checkIncrements(ctx, b, orphan, len(l.Outputs)-before)
}

// checkIncrements returns an error if an output or an increment is missing from the
// count increments that were found. orphan is an increment whose output is missing, or "".
func (l *finder) checkIncrements(ctx context.Context, b *incrementDirs, orphan string, count int) error {
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
	//guard: notices an increment that was moved away during the listing
	case err == nil && !info.Dir:
		return errReplaced
	case err != nil && !errors.Is(err, store.ErrNotExist):
		return err
	//guard: waits for an output that is being replaced
	case orphan == "" && count > 0:
		return nil
	}
	if err = underWay(ctx, l.store, b.dir, b.all); err == nil {
		err = &unfinished{fmt.Sprintf("%s is not a finished output: it has no %s, and no increment that counts without", b.dir, manifest.SuccessName)}
	}
	return err
}

// foundIncrement is the content of the directory of an increment.
type foundIncrement struct {
	output  Output
	success *manifest.Success // nil if the increment is not finished
	files   []store.Info      // entries of the directory, if the increment is not finished
}

// findIncrement reads the directory of an increment.
func (l *finder) findIncrement(ctx context.Context, info store.Info) (r foundIncrement, err error) {
	r.output, r.success, err = l.readOutput(ctx, info.Path)
	if errors.Is(err, ErrUnfinished) && isIncrement(info) {
		// The directory is empty for a moment while the increment is published.
		infos, failed := l.store.List(ctx, info.Path)
		if failed == nil && len(infos) == 0 {
			return r, nil
		}
		err = cmp.Or(failed, err)
	}
	switch {
	case l.partial && errors.Is(err, ErrUnfinished):
		r.files, err = l.store.List(ctx, info.Path)
		return r, err
	//guard: lists again if an increment was moved or is being published
	case errors.Is(err, store.ErrNotExist) || errors.Is(err, ErrChanging) && isIncrement(info):
		return r, errReplaced
	case err != nil:
		return r, err
	}
	//guard: rejects an increment that belongs to another output
	if why := r.success.NotIncrement(info.Name); why != "" {
		return r, damage.New(damage.Header, path.Join(info.Path, manifest.SuccessName), -1, "%s", why)
	}
	return r, nil
}

// isIncrement reports whether a directory has a name that rowtocol gives to increments.
func isIncrement(info store.Info) bool {
	_, _, ok := manifest.ParseIncrement(info.Name)
	return ok
}
