package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
)

// Local returns the store of the machine's own file system. Relative paths are relative
// to the working directory. When an operation succeeds, its changes and the directory entries
// have been synced to disk.
func Local() Store { return local{kernel{}} }

type local struct{ sys system }

// Capabilities says that the files are local.
func (local) Capabilities() Capabilities { return Capabilities{Local: true} }

func (local) Open(ctx context.Context, path string) (File, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// Stat first: opening a named pipe would block.
	info, err := os.Stat(path)
	if err != nil {
		return nil, asNotExist(err)
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("%s is %w", kindOf(info.Mode()), ErrNotRegular)}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err != nil {
		_ = f.Close()
		return nil, err
	}
	return &localFile{File: f, size: info.Size(), identity: localInfo(path, info).identity()}, nil
}

// kindOf describes the mode of something that is not a regular file.
func kindOf(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "what is there"
}

// localFile has the methods ReadAt, Close and Name of os.File.
type localFile struct {
	*os.File
	size     int64
	identity Identity
}

func (f *localFile) Size() int64 { return f.size }

// Identity implements Identified. It includes the time of the last change, because the file
// system reuses the numbers of removed files at once.
func (f *localFile) Identity() Identity { return f.identity }

func fileID(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ino
	}
	return 0
}

func (local) Stat(ctx context.Context, p string) (Info, error) {
	if err := ctx.Err(); err != nil {
		return Info{}, err
	}
	info, err := os.Lstat(p)
	link := err == nil && info.Mode()&fs.ModeSymlink != 0
	if link {
		info, err = os.Stat(p)
	}
	if err != nil {
		return Info{}, asNotExist(err)
	}
	i := localInfo(p, info)
	i.Link = link
	return i, nil
}

// asNotExist adds ErrNotExist to the error of a path that leads through a file or through a
// cycle of links. As on other stores, nothing exists under such a path.
func asNotExist(err error) error {
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) {
		return fmt.Errorf("%w: %w", err, ErrNotExist)
	}
	return err
}

func localInfo(p string, info fs.FileInfo) Info {
	i := Info{Name: path.Base(p), Path: p, Dir: info.IsDir(), ModTime: info.ModTime(), FileID: fileID(info)}
	if !i.Dir {
		i.Size = info.Size()
	}
	return i
}

func (l local) List(ctx context.Context, dir string) ([]Info, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	infos := make([]Info, 0, len(entries))
	for _, e := range entries {
		p := path.Join(dir, e.Name())
		info, err := l.Stat(ctx, p)
		if errors.Is(err, fs.ErrNotExist) {
			// A dangling link stays in the list, because its rows must not be missed
			// silently: opening it fails. A file that was removed is left out.
			link, err := os.Lstat(p)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			info = localInfo(p, link)
			info.Link = link.Mode()&fs.ModeSymlink != 0
		} else if err != nil {
			return nil, err
		}
		infos = append(infos, info)
	}
	slices.SortFunc(infos, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	return infos, nil
}

func (l local) Remove(ctx context.Context, p string) error {
	//guard: stops removing after an interruption
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := l.sys.remove(p); err != nil {
		return err
	}
	//guard: syncs a removal
	return syncDir(l.sys, path.Dir(p))
}

func (l local) RemoveAll(ctx context.Context, p string) error {
	//guard: stops removing after an interruption
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := l.sys.removeAll(p); err != nil {
		return err
	}
	// If p does not exist, a process may have removed it and been killed before it synced
	// the directory. The directory may not exist either.
	//guard: syncs a removal
	if err := syncDir(l.sys, path.Dir(p)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (l local) Mkdir(ctx context.Context, p string) error {
	//guard: stops making directories after an interruption
	if err := ctx.Err(); err != nil {
		return err
	}
	p = path.Clean(p)
	err := l.sys.mkdir(p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &fs.PathError{Op: "mkdir", Path: p, Err: ErrNoParent}
	case err != nil && !errors.Is(err, fs.ErrExist):
		return err
	}
	// If p or its parent exists already, a process may have made it and been killed before
	// it synced the directory.
	//guard: syncs the name of the parent
	if err := syncDir(l.sys, path.Dir(path.Dir(p))); err != nil {
		return err
	}
	//guard: syncs the name of the directory
	if err := syncDir(l.sys, path.Dir(p)); err != nil {
		return err
	}
	return err
}

func (l local) ReadFile(ctx context.Context, path string, max int64) ([]byte, error) {
	f, err := l.Open(ctx, path)
	return ReadWhole(f, err, max)
}

func (l local) WriteFile(ctx context.Context, path string, data []byte, exclusive bool) (err error) {
	return WriteByRename(ctx, unsynced{l}, path, data, func(temp string) error {
		if exclusive {
			return l.Rename(ctx, temp, path)
		}
		return l.replace(temp, path)
	})
}

// unsynced removes files without waiting for the disk.
type unsynced struct{ local }

func (u unsynced) Remove(_ context.Context, p string) error { return u.sys.remove(p) }
