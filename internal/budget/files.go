package budget

import (
	"container/list"
	"errors"
	"io"
	"io/fs"
	"sync"

	"golang.org/x/sys/unix"
)

// Limits of the open files of a process. With less than minOpen, a process would mainly
// open and close files. More than maxOpen does not help.
const (
	minOpen = 16
	maxOpen = 8192
	// inputShare divides the open files: one inputShare-th is for the inputs of tasks,
	// which stay open during their task.
	inputShare = 4
)

// fileLimit returns how many files the process should have open at most: half of its
// limit. The rest is for connections and the runtime.
func fileLimit() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return minOpen
	}
	return int(min(max(limit.Cur/2, minOpen), maxOpen))
}

// InputFiles returns how many inputs of tasks should be open at the same time at most.
func InputFiles() int { return fileLimit() / inputShare }

// OpenFiles returns the other files of the process: files of spills, and outputs that
// are read back.
var OpenFiles = sync.OnceValue(func() *Files {
	limit := fileLimit()
	return NewFiles(limit - limit/inputShare)
})

// Files opens files when they are used. It keeps at most limit files open. To open another file, it
// closes the file that was not used for longest, and opens that file again for its next use. No use
// waits. If more than limit files are in use at the same time, more are open.
type Files struct {
	limit int

	mu   sync.Mutex // guards the fields below, and the state of the files
	open int        // number of files in used, and of those that are being opened
	used list.List  // open files, the most recently used one first
}

// NewFiles returns Files that keep at most limit files open.
func NewFiles(limit int) *Files { return &Files{limit: limit} }

// File is a file of one Files. The zero value is closed.
type File struct {
	opening sync.Mutex
	err     error // why the file is never opened again; guarded by opening

	stored io.Closer // nil while closed; Files.mu guards this and the fields below
	users  int
	use    *list.Element // place among the open files
}

// Acquire returns the open file for a use, which Release ends. If the file is closed,
// Acquire calls open. After an error of open it always fails.
func (o *Files) Acquire(f *File, open func() (io.Closer, error)) (io.Closer, error) {
	if stored := o.acquireOpen(f); stored != nil {
		return stored, nil
	}
	f.opening.Lock()
	defer f.opening.Unlock()
	if stored := o.acquireOpen(f); stored != nil { // another use opened it
		return stored, nil
	}
	if f.err != nil {
		return nil, f.err
	}
	o.makeRoom()
	stored, err := open()
	//guard: closes an idle file when the system has no more descriptors
	for (errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE)) && o.closeOldest() {
		stored, err = open()
	}
	if err != nil {
		o.mu.Lock()
		o.open--
		o.mu.Unlock()
		f.err = err
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	f.stored, f.users, f.use = stored, f.users+1, o.used.PushFront(f)
	return stored, nil
}

// acquireOpen starts a use of the file if it is open, and returns nil if not.
func (o *Files) acquireOpen(f *File) io.Closer {
	o.mu.Lock()
	defer o.mu.Unlock()
	if f.stored != nil {
		f.users++
		o.used.MoveToFront(f.use)
	}
	return f.stored
}

// Release ends a use.
func (o *Files) Release(f *File) {
	o.mu.Lock()
	f.users--
	surplus := o.evict(o.open - o.limit)
	o.mu.Unlock()
	closeAll(surplus)
}

// makeRoom makes room for a file that will be opened.
func (o *Files) makeRoom() {
	o.mu.Lock()
	o.open++
	surplus := o.evict(o.open - o.limit)
	o.mu.Unlock()
	closeAll(surplus)
}

// closeOldest closes the idle file that was not used for longest. It reports whether there was an
// idle file.
func (o *Files) closeOldest() bool {
	o.mu.Lock()
	oldest := o.evict(1)
	o.mu.Unlock()
	closeAll(oldest)
	return len(oldest) > 0
}

// Close closes a file for good, even if it is in use.
func (o *Files) Close(f *File) {
	f.opening.Lock()
	defer f.opening.Unlock()
	//guard: keeps a closed file closed
	f.err = fs.ErrClosed
	o.mu.Lock()
	stored := f.stored
	if stored != nil {
		o.markClosed(f)
	}
	o.mu.Unlock()
	if stored != nil {
		closeAll([]io.Closer{stored})
	}
}

// evict marks up to n idle files closed, and returns them. The caller holds o.mu.
func (o *Files) evict(n int) (closed []io.Closer) {
	for use := o.used.Back(); use != nil && len(closed) < n; {
		f := use.Value.(*File)
		use = use.Prev()
		//guard: keeps files open that are in use
		if f.users == 0 {
			closed = append(closed, f.stored)
			o.markClosed(f)
		}
	}
	return closed
}

// markClosed marks a file closed. The caller holds o.mu.
func (o *Files) markClosed(f *File) {
	o.used.Remove(f.use)
	f.stored = nil
	o.open--
}

// closeAll closes files. It ignores errors: the files were only read, or hold temporary
// bytes that the kernel already has.
func closeAll(files []io.Closer) {
	for _, f := range files {
		_ = f.Close()
	}
}
