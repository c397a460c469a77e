package spill

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/rowtocol/rowtocol/internal/budget"
)

const folderPrefix = "rowtocol-spill-"

// Folder is the directory for the spills of the process. Its methods may be
// called concurrently.
type Folder struct {
	dir    string
	lock   *os.File // the directory itself, with an flock
	files  *budget.Files
	stored atomic.Int64 // number of bytes that all spills wrote to files
	once   sync.Once
	err    error // error of Close
	// warnings are about files in folders of dead processes.
	warnings []string

	mu     sync.Mutex
	closed []*Spill // closed spills to be used again
}

// OpenFolder removes the folders of dead processes in parent, which must exist.
// Then it makes a folder there.
func OpenFolder(parent string) (*Folder, error) {
	warnings, err := Sweep(parent)
	if err != nil {
		return nil, fmt.Errorf("spill: %w", err)
	}
	for {
		dir, err := os.MkdirTemp(parent, folderPrefix+"*")
		if err != nil {
			return nil, fmt.Errorf("spill: %w", err)
		}
		lock, err := lockDir(dir)
		if err == nil {
			spread(lock)
			f := &Folder{dir: dir, lock: lock, files: budget.OpenFiles(), warnings: warnings}
			folders.Store(f, true)
			return f, nil
		}
		// Another process's sweep may find the folder before it is locked.
		if !errors.Is(err, errTaken) {
			return nil, fmt.Errorf("spill: lock %s: %w", dir, errors.Join(err, os.Remove(dir)))
		}
	}
}

// errTaken is a folder that another process holds, or has removed.
var errTaken = errors.New("taken by another process")

// lockDir opens a directory and locks it. The lock ends with the process, or
// when the file is closed.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(dir, unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, errTaken
		}
		return nil, err
	}
	if err := lockOpen(f, dir); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// lockOpen locks a directory that was opened by its name.
func lockOpen(f *os.File, dir string) (err error) {
	//guard: keeps the spills of a living process
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errTaken
	}
	if err != nil {
		return err
	}
	named, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return errTaken
	}
	if err != nil {
		return err
	}
	//guard: rejects a folder that was removed
	return checkSame(f, named)
}

// checkSame checks that the locked directory is the one that was found. It may
// have been replaced between opening and locking.
func checkSame(f *os.File, found fs.FileInfo) error {
	held, err := f.Stat()
	if err == nil && !os.SameFile(held, found) {
		return errTaken
	}
	return err
}

// folders holds the folders of this process that are not closed.
var folders sync.Map

// Clear removes the folders of this process with the spills in them, when the process ends
// during its work. Later uses of these spills fail.
func Clear() {
	folders.Range(func(key, _ any) bool {
		f := key.(*Folder)
		_, _ = removeFolder(f.dir, f.lock) // the next process tries again
		return true
	})
}

// Warnings returns warnings about files of other programs, which OpenFolder left in folders
// of dead processes. There is one warning per folder and process.
func (f *Folder) Warnings() []string { return f.warnings }

// Dir returns the folder's path.
func (f *Folder) Dir() string { return f.dir }

// Stored returns the number of bytes that spills have written to files.
func (f *Folder) Stored() int64 { return f.stored.Load() }

// New makes an empty spill of some columns. It fails with ENOSPC if less than
// o.Reserve is free on the disk, or if fewer inodes are free than columns.
func (f *Folder) New(columns int, o Options) (*Spill, error) {
	//guard: refuses a disk without room for a row group
	if err := CheckFree(f.dir, o.Reserve); err != nil {
		return nil, err
	}
	share := o.share(columns)
	old := f.reuse(columns, share)
	if old == nil {
		//guard: refuses a disk without room for a row group's files
		if err := checkInodes(f.dir, columns); err != nil {
			return nil, err
		}
	}
	s := &Spill{folder: f, cols: make([]column, columns), share: share, reserve: o.Reserve}
	if old != nil {
		s.dir, s.memory, s.stale = old.dir, old.memory, true
		for col := range old.cols {
			s.cols[col].held = old.cols[col].held
		}
		return s, nil
	}
	var err error
	if s.dir, err = os.MkdirTemp(f.dir, "*"); err != nil {
		return nil, fmt.Errorf("spill: %w", err)
	}
	if s.memory, err = budget.Pages(columns * s.share); err != nil {
		return nil, fmt.Errorf("spill: memory: %w", errors.Join(err, os.Remove(s.dir)))
	}
	return s, nil
}

// recycle keeps a closed spill, whose files have known contents, for reuse.
func (f *Folder) recycle(s *Spill) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = append(f.closed, s)
}

// reuse returns a closed spill of the same shape, or nil.
func (f *Folder) reuse(columns, share int) *Spill {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.closed, func(s *Spill) bool { return len(s.cols) == columns && s.share == share })
	if i < 0 {
		return nil
	}
	s := f.closed[i]
	f.closed = slices.Delete(f.closed, i, i+1)
	return s
}

// Close removes the folder with the spills in it, and releases its lock. If files of other
// programs are in the folder, they stay with the folder, and the next OpenFolder warns of
// them. Spills must be closed, or no longer be used. Further calls return the same error.
func (f *Folder) Close() error {
	f.once.Do(func() {
		folders.Delete(f)
		_, err := removeFolder(f.dir, f.lock)
		f.err = errors.Join(err, f.lock.Close())
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, s := range f.closed {
			f.err = errors.Join(f.err, budget.ReleasePages(s.memory))
		}
	})
	return f.err
}
