package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

func (local) Rename(ctx context.Context, from, to string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := renameNoReplace(from, to)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			if _, statErr := os.Lstat(from); statErr == nil {
				err = ErrNoParent
			}
		}
		return linkError(from, to, err)
	}
	return syncDirs(from, to)
}

// linkError puts both names on an error, unless it has them already.
func linkError(from, to string, err error) error {
	var named *os.LinkError
	if errors.As(err, &named) {
		return err
	}
	return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
}

func renameNoReplace(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	// EINVAL, too, is how a file system says that it does not know the flag.
	if err == unix.EINVAL || err == unix.ENOSYS || err == unix.ENOTSUP {
		return renameWithoutFlag(from, to)
	}
	return err
}

// renameWithoutFlag is renameNoReplace for file systems that cannot do it in
// one step (some network and FUSE file systems, old kernels).
//
// A file is linked to its new name, which fails if that exists, then unlinked
// from the old: between the two it has both names. Where there are no links,
// the new name is looked up and then the file renamed; a writer of the same
// name in between would be replaced, and as all writers of a name write the
// same bytes, that is harmless.
//
// A directory is renamed onto a directory made just before: making one fails if
// the name exists, and a directory that is not empty is never replaced.
func renameWithoutFlag(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		if err := os.Mkdir(to, 0o777); err != nil {
			return err
		}
		// os.Rename would refuse the directory that stands there.
		if err := unix.Rename(from, to); err != nil {
			_ = os.Remove(to)
			return err
		}
		return nil
	}
	err = os.Link(from, to)
	switch {
	case err == nil:
		return os.Remove(from)
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EMLINK):
		if _, err := os.Lstat(to); err == nil {
			return fs.ErrExist
		}
		return os.Rename(from, to)
	}
	return err
}

// replace renames a file to a name that may exist.
func replace(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return syncDirs(from, to)
}

// syncDirs makes a rename durable.
func syncDirs(from, to string) error {
	if err := syncDir(path.Dir(to)); err != nil || path.Dir(from) == path.Dir(to) {
		return err
	}
	return syncDir(path.Dir(from))
}

// syncDir makes the entries of a directory durable. File systems that cannot
// sync a directory say EINVAL or ENOTSUP; there is nothing more to do on them.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		// The directory was writable, or there were nothing to sync; one that
		// cannot be read, and so cannot be opened, is legitimate.
		if errors.Is(err, fs.ErrPermission) {
			return nil
		}
		return err
	}
	err = d.Sync()
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
