package spill

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

const folderPrefix = "rowtocol-spill-"

// Folder is the process's place for spills. Its methods may be called
// concurrently.
type Folder struct {
	dir    string
	lock   *os.File // the directory itself, with an flock
	budget int64    // of open files
	open   atomic.Int64
	next   atomic.Int64 // number of the next spill
	once   sync.Once
	err    error // of Close

	mu sync.Mutex
	// emptied are directories of closed spills, with files of no bytes. Making
	// a file costs several times as much as emptying one.
	emptied []string
}

// OpenFolder makes a folder in parent, which must exist, after removing those
// there whose process has died.
func OpenFolder(parent string) (*Folder, error) {
	if err := sweep(parent); err != nil {
		return nil, fmt.Errorf("spill: %w", err)
	}
	budget := fileBudget()
	for {
		dir, err := os.MkdirTemp(parent, folderPrefix+"*")
		if err != nil {
			return nil, fmt.Errorf("spill: %w", err)
		}
		lock, err := lockDir(dir)
		if err == nil {
			return &Folder{dir: dir, lock: lock, budget: budget}, nil
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
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = errTaken
	}
	if err == nil {
		err = checkSame(f, dir)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// checkSame makes sure that the locked directory still has its name: it may
// have been removed between opening and locking.
func checkSame(f *os.File, dir string) error {
	held, err := f.Stat()
	if err != nil {
		return err
	}
	named, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(held, named) {
		return errTaken
	}
	return err
}

// sweep removes the folders of dead processes. What cannot be locked or
// removed, such as another user's, is left alone.
func sweep(parent string) error {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), folderPrefix) {
			continue
		}
		dir := filepath.Join(parent, e.Name())
		lock, err := lockDir(dir)
		if err != nil {
			continue
		}
		_ = os.RemoveAll(dir)
		_ = lock.Close()
	}
	return nil
}

// Limits of the open-file budget. Below the lower one spilling would be
// opening and closing only; the upper one is where more helps no longer.
const (
	minOpen = 8
	maxOpen = 8192
)

// fileBudget is half of what the process may open; the rest is for inputs,
// outputs and the runtime.
func fileBudget() int64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return minOpen
	}
	return int64(min(max(limit.Cur/2, minOpen), maxOpen))
}

// Dir returns the folder's path.
func (f *Folder) Dir() string { return f.dir }

// New makes an empty spill of so many columns. It fails with ENOSPC if the
// disk has less than the reserve free, or fewer inodes than columns.
func (f *Folder) New(columns int, o Options) (*Spill, error) {
	if err := CheckFree(f.dir, o.Reserve); err != nil {
		return nil, err
	}
	dir, ok := f.reuse()
	if !ok {
		if err := checkInodes(f.dir, columns); err != nil {
			return nil, err
		}
		dir = filepath.Join(f.dir, strconv.FormatInt(f.next.Add(1)-1, 10))
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, fmt.Errorf("spill: %w", err)
		}
	}
	limit := o.MaxOpen
	if limit <= 0 {
		limit = int(f.budget)
	}
	return newSpill(f, dir, columns, limit, o.Reserve), nil
}

// recycle keeps a directory whose files are empty for another spill.
func (f *Folder) recycle(dir string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.emptied = append(f.emptied, dir)
}

func (f *Folder) reuse() (dir string, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := len(f.emptied) - 1
	if last < 0 {
		return "", false
	}
	dir, f.emptied = f.emptied[last], f.emptied[:last]
	return dir, true
}

// Close removes the folder with all that is in it and gives up its lock.
// Spills must not be used any more. Further calls return the same error.
func (f *Folder) Close() error {
	f.once.Do(func() {
		f.err = errors.Join(os.RemoveAll(f.dir), f.lock.Close())
	})
	return f.err
}
