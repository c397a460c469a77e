package budget

import (
	"container/list"
	"errors"
	"io"
	"io/fs"
	"sync"

	"golang.org/x/sys/unix"
)

// Limits of the open files of a process. With fewer than the lower one, work would
// be opening and closing only; the upper one is where more helps no longer.
const (
	leastOpen = 16
	mostOpen  = 8192
	// inputShare is the part of the open files, one of so many, that inputs of tasks
	// take, which are open from their start to their end.
	inputShare = 4
)

// fileLimit is how many files all parts of a process should have open together at
// most: half of what it may open. The rest is for connections and the runtime.
func fileLimit() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return leastOpen
	}
	return int(min(max(limit.Cur/2, leastOpen), mostOpen))
}

// InputFiles is how many inputs of tasks should be open together at most.
func InputFiles() int { return fileLimit() / inputShare }

// OpenFiles are the other files of the process: those of spills, and of what is read
// back.
var OpenFiles = sync.OnceValue(func() *Files {
	limit := fileLimit()
	return NewFiles(limit - limit/inputShare)
})

// Files are files that are opened when they are used. At most a limit of them are
// open: the one that was not used for the longest time is closed for another, and
// opened again when it is used next. Where more than that are used at the same moment,
// these are open: no use waits for others.
type Files struct {
	limit int

	mu   sync.Mutex // of what follows, and of the state of the files
	open int        // those of the list, and those that are being opened
	used list.List  // those that are open, the one used last in front
}

// NewFiles returns files of which at most limit are open.
func NewFiles(limit int) *Files { return &Files{limit: limit} }

// File is one of Files, of which it is always the same one. It begins closed.
type File struct {
	opening sync.Mutex
	err     error // why it is never opened again; under opening

	stored io.Closer // nil while it is closed; this and what follows under Files.mu
	users  int
	use    *list.Element // place among the open files
}

// Acquire returns the open file for a use, which Release ends. If the file is closed
// it calls open; after an error of that it keeps failing.
func (o *Files) Acquire(f *File, open func() (io.Closer, error)) (io.Closer, error) {
	if stored := o.take(f); stored != nil {
		return stored, nil
	}
	f.opening.Lock()
	defer f.opening.Unlock()
	if stored := o.take(f); stored != nil { // another use opened it
		return stored, nil
	}
	if f.err != nil {
		return nil, f.err
	}
	o.admit()
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

// take returns the file for a use if it is open.
func (o *Files) take(f *File) io.Closer {
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
	surplus := o.surplus(o.open - o.limit)
	o.mu.Unlock()
	closeAll(surplus)
}

// admit makes room for a file that is going to be opened.
func (o *Files) admit() {
	o.mu.Lock()
	o.open++
	surplus := o.surplus(o.open - o.limit)
	o.mu.Unlock()
	closeAll(surplus)
}

// closeOldest reports whether there was a file to close.
func (o *Files) closeOldest() bool {
	o.mu.Lock()
	oldest := o.surplus(1)
	o.mu.Unlock()
	closeAll(oldest)
	return len(oldest) > 0
}

// Close ends the use of a file, also by those who have not released it.
func (o *Files) Close(f *File) {
	f.opening.Lock()
	defer f.opening.Unlock()
	//guard: opens no file after the part was closed
	f.err = fs.ErrClosed
	o.mu.Lock()
	stored := f.stored
	if stored != nil {
		o.takeOut(f)
	}
	o.mu.Unlock()
	if stored != nil {
		closeAll([]io.Closer{stored})
	}
}

// surplus takes out up to n files that nobody uses. o.mu is held.
func (o *Files) surplus(n int) (closed []io.Closer) {
	for use := o.used.Back(); use != nil && len(closed) < n; {
		f := use.Value.(*File)
		use = use.Prev()
		//guard: closes no file that is in use
		if f.users == 0 {
			closed = append(closed, f.stored)
			o.takeOut(f)
		}
	}
	return closed
}

// takeOut makes a file one that is closed. o.mu is held.
func (o *Files) takeOut(f *File) {
	o.used.Remove(f.use)
	f.stored = nil
	o.open--
}

// closeAll closes files that were only read, or whose bytes were handed to the kernel,
// which reports errors of writing them back to nobody who could use them.
func closeAll(files []io.Closer) {
	for _, f := range files {
		_ = f.Close()
	}
}
