package cli

import (
	"context"
	"path"
	"slices"

	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// destinationNames lists files that a destination always or sometimes has.
var destinationNames = []string{manifest.SuccessName, manifest.WorkName, manifest.LockName}

// CheckOutside refuses a file in a destination: in one of the run's own dests, or in any other
// destination. The next run would refuse that destination, because the file is not rowtocol's.
func CheckOutside(ctx context.Context, at store.Location, dests ...store.Location) error {
	// Some writers replace a link to the file, and others follow the link.
	for _, file := range []string{InRealDirectory(at), store.RealPath(at.Store, at.Path)} {
		for _, dest := range dests {
			//guard: refuses a file in the destination of this run, or with its path
			if at.Origin == dest.Origin && (store.Within(file, InRealDirectory(dest)) || store.Within(file, store.RealPath(dest.Store, dest.Path))) {
				return Usagef("%s is in the destination %s", at.Path, dest.Path)
			}
		}
		dir, err := destinationAround(ctx, at.Store, path.Dir(file))
		if err != nil {
			return err
		}
		//guard: refuses a file in the destination of another run
		if dir != "" {
			return Usagef("%s is in %s, which is a destination of rowtocol", at.Path, dir)
		}
	}
	return nil
}

// destinationAround returns the destination that is dir, or a directory above dir. It returns
// "" if there is none.
func destinationAround(ctx context.Context, st store.Store, dir string) (string, error) {
	//guard: refuses a file between increments or partitions
	if holds, err := holdsOutputs(ctx, st, dir); holds || err != nil {
		return dir, err
	}
	for ; ; dir = path.Dir(dir) {
		for _, name := range destinationNames {
			_, err := st.Stat(ctx, path.Join(dir, name))
			//guard: refuses a file in or next to a committed output
			if err == nil {
				return dir, nil
			}
			if !store.Absent(err) {
				return "", err
			}
		}
		if dir == path.Dir(dir) {
			return "", nil
		}
	}
}

// holdsOutputs reports whether a directory is a destination, or a tree of partitions with
// destinations.
func holdsOutputs(ctx context.Context, st store.Store, dir string) (bool, error) {
	infos, err := st.List(ctx, dir)
	if err != nil {
		if store.Absent(err) || store.Classify(err) == store.Final {
			return false, nil // the writer reports the error
		}
		return false, err
	}
	partition := ""
	for _, info := range infos {
		if _, _, increment := manifest.ParseIncrement(info.Name); increment || slices.Contains(destinationNames, info.Name) {
			return true, nil
		}
		if manifest.HasKey(info) {
			partition = info.Path
		}
	}
	if partition == "" {
		return false, nil
	}
	return holdsOutputs(ctx, st, partition)
}

// InRealDirectory returns the path of a file after resolving the links of its directory. It
// does not resolve a link that is the file, because a written file replaces the link.
func InRealDirectory(at store.Location) string {
	return path.Join(store.RealPath(at.Store, path.Dir(at.Path)), path.Base(at.Path))
}
