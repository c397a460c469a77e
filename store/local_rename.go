package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

func (l local) Rename(ctx context.Context, from, to string) error {
	//guard: stops renaming after an interruption
	if err := ctx.Err(); err != nil {
		return err
	}
	err := l.renameNoReplace(from, to)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			if _, statErr := os.Lstat(from); statErr == nil {
				err = ErrNoParent
			}
		}
		return linkError(from, to, err)
	}
	//guard: syncs a rename
	return l.syncDirs(from, to)
}

// linkError adds both names to an error that lacks them.
func linkError(from, to string, err error) error {
	var named *os.LinkError
	if errors.As(err, &named) {
		return err
	}
	return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
}

func (l local) renameNoReplace(from, to string) error {
	err := l.sys.renameNoReplace(from, to)
	// A file system that does not know the flag may also return EINVAL.
	if err == unix.EINVAL || err == unix.ENOSYS || err == unix.ENOTSUP {
		return l.renameWithoutFlag(from, to)
	}
	return err
}

// renameWithoutFlag is renameNoReplace for file systems that cannot do it in one step, such
// as some network and FUSE file systems, and for old kernels.
//
// A file is first linked to its new name, which fails if the name exists. Then the old name
// is removed. The new name is durable before that, so that a power cut leaves at least one
// name. If the file system has no links, the rename is refused, because it could replace a
// file of another process, such as a lock.
//
// For a directory, an empty directory with the new name is made first, which fails if the
// name exists. Then the directory is renamed onto the empty one. Such a rename never
// replaces a directory that has files.
func (l local) renameWithoutFlag(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	//guard: refuses to replace a directory
	if info.IsDir() {
		if err := l.sys.mkdir(to); err != nil {
			return err
		}
		if err := l.sys.rename(from, to); err != nil {
			_ = l.sys.remove(to)
			return err
		}
		return nil
	}
	err = l.sys.link(from, to)
	switch {
	case err == nil:
		//guard: syncs the new name before the old one is removed
		if err := syncDir(l.sys, path.Dir(to)); err != nil {
			return err
		}
		return l.sys.remove(from)
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EMLINK):
		return fmt.Errorf("the file system can neither rename without replacing nor link: %w", err)
	}
	return err
}

// replace renames a file to a name that may exist.
func (l local) replace(from, to string) error {
	if err := l.sys.rename(from, to); err != nil {
		return linkError(from, to, err)
	}
	//guard: syncs a rename that may have replaced a file
	return l.syncDirs(from, to)
}

// syncDirs makes a rename durable.
func (l local) syncDirs(from, to string) error {
	//guard: syncs the new name
	if err := syncDir(l.sys, path.Dir(to)); err != nil {
		return err
	}
	if path.Dir(from) == path.Dir(to) {
		return nil
	}
	//guard: syncs the removal of the old name
	return syncDir(l.sys, path.Dir(from))
}
