package store

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// system is the calls to the operating system that change and store bytes and names. A
// test records the calls and replays a power cut after each of them.
type system interface {
	create(name string) (file, error) // creates a file for writing; fails if the name exists
	mkdir(name string) error
	rename(from, to string) error // replaces a file or an empty directory
	renameNoReplace(from, to string) error
	link(from, to string) error
	remove(name string) error
	removeAll(name string) error
	openDir(name string) (directory, error)
}

// file is an open file as a writer uses it. ReadFrom lets the kernel copy between
// files.
type file interface {
	io.Writer
	io.ReaderFrom
	io.Closer
	Fd() uintptr
	Name() string
	Stat() (fs.FileInfo, error)
	Sync() error
}

// directory is an open directory.
type directory interface {
	io.Closer
	Sync() error
}

// kernel is the operating system itself.
type kernel struct{}

func (kernel) create(name string) (file, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err // not a nil *os.File in a non-nil interface
	}
	return f, nil
}

func (kernel) mkdir(name string) error { return os.Mkdir(name, 0o777) }

// rename does not call os.Rename, because that refuses to replace an empty directory.
func (kernel) rename(from, to string) error {
	err := unix.Rename(from, to)
	for err == unix.EINTR {
		err = unix.Rename(from, to)
	}
	return err
}

func (kernel) link(from, to string) error { return os.Link(from, to) }

func (kernel) remove(name string) error { return os.Remove(name) }

func (kernel) removeAll(name string) error { return os.RemoveAll(name) }

func (kernel) openDir(name string) (directory, error) {
	d, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	return d, nil
}

// syncDir makes the entries of a directory durable. File systems that cannot sync a
// directory return EINVAL or ENOTSUP, which is ignored.
func syncDir(sys system, dir string) error {
	d, err := sys.openDir(dir)
	if err != nil {
		// A directory that is writable but not readable cannot be opened and synced.
		if errors.Is(err, fs.ErrPermission) {
			return nil
		}
		return err
	}
	//guard: syncs a directory
	err = d.Sync()
	//guard: accepts a file system that cannot sync directories
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
