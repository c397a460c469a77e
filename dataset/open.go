package dataset

import (
	"container/list"
	"io/fs"
	"sync"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/store"
)

// openFiles are the files of all parts that are being read. At most so many of them
// are open: the one that was not read for the longest time is closed for another, and
// opened again when it is read next. Where more than that are read at the same moment,
// these are open: none waits for the reads of others.
type openFiles struct {
	limit int

	mu   sync.Mutex // of what follows, and of the state of the files
	open int        // those of the list, and those that are being opened
	used list.List  // those that are open, the one used last in front
}

func newOpenFiles(limit int) *openFiles { return &openFiles{limit: limit} }

// reading are the files of the process. They take half of what files should: a program
// that reads may convert, too.
var reading = sync.OnceValue(func() *openFiles { return newOpenFiles(budget.OpenFiles() / 2) })

// file is a stored file that is opened when it is read first, as of a part with a file
// per column a query needs few, and again if it was closed for others.
type file struct {
	name  string
	size  int64
	open  func() (store.File, error)
	among *openFiles

	opening sync.Mutex     // of the next three
	opened  bool           // once
	is      store.Identity // since then
	err     error          // why it is never opened again

	stored  store.File    // nil while it is closed; this and what follows under among.mu
	readers int           // of stored
	use     *list.Element // place among the open files
}

// take returns the open file for a read, after which it is to be given back.
func (f *file) take() (store.File, error) {
	if stored := f.among.take(f); stored != nil {
		return stored, nil
	}
	f.opening.Lock()
	defer f.opening.Unlock()
	if stored := f.among.take(f); stored != nil { // another read opened it
		return stored, nil
	}
	if f.err != nil {
		return nil, f.err
	}
	f.among.admit()
	stored, err := f.begin()
	if err != nil {
		f.among.dismiss()
		f.err = err
		return nil, err
	}
	f.among.add(f, stored)
	return stored, nil
}

func (f *file) release() { f.among.release(f) }

// begin opens the file, which must be the one that is expected.
func (f *file) begin() (store.File, error) {
	stored, err := f.open()
	if err != nil {
		return nil, err
	}
	if err := f.check(stored); err != nil {
		_ = stored.Close() // only read
		return nil, err
	}
	f.opened, f.is = true, store.IdentityOf(stored)
	return stored, nil
}

func (f *file) check(stored store.File) error {
	//guard: the blocks of one file would be read after the tables of another
	if f.opened && store.IdentityOf(stored) != f.is {
		return &fs.PathError{Op: "read", Path: f.name, Err: store.ErrReplaced}
	}
	//guard: a file that was cut or replaced would be read
	if size := stored.Size(); size != f.size {
		return damage.New(damage.Size, f.name, min(size, f.size), "the file has %d bytes, expected %d", size, f.size)
	}
	return nil
}

// Close ends the use of the file, also by reads that have not ended.
func (f *file) Close() {
	f.opening.Lock()
	defer f.opening.Unlock()
	//guard: a file that nobody closes would be opened
	f.err = fs.ErrClosed
	f.among.remove(f)
}

// take returns the file for a read if it is open.
func (o *openFiles) take(f *file) store.File {
	o.mu.Lock()
	defer o.mu.Unlock()
	if f.stored != nil {
		f.readers++
		o.used.MoveToFront(f.use)
	}
	return f.stored
}

// release ends a read.
func (o *openFiles) release(f *file) {
	o.mu.Lock()
	f.readers--
	surplus := o.surplus()
	o.mu.Unlock()
	closeAll(surplus)
}

// admit makes room for a file that is going to be opened.
func (o *openFiles) admit() {
	o.mu.Lock()
	o.open++
	surplus := o.surplus()
	o.mu.Unlock()
	closeAll(surplus)
}

// dismiss gives back the room of a file that was not opened.
func (o *openFiles) dismiss() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open--
}

// add is for a file that was admitted, for a read.
func (o *openFiles) add(f *file, stored store.File) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f.stored, f.readers = stored, f.readers+1
	f.use = o.used.PushFront(f)
}

// remove closes a file if it is open.
func (o *openFiles) remove(f *file) {
	o.mu.Lock()
	stored := f.stored
	if stored != nil {
		o.takeOut(f)
	}
	o.mu.Unlock()
	if stored != nil {
		_ = stored.Close() // only read
	}
}

// surplus takes out files that nobody reads while there are too many. o.mu is held.
func (o *openFiles) surplus() (closed []store.File) {
	for use := o.used.Back(); use != nil && o.open > o.limit; {
		f := use.Value.(*file)
		use = use.Prev()
		//guard: a read would be of a file that is closed
		if f.readers == 0 {
			closed = append(closed, f.stored)
			o.takeOut(f)
		}
	}
	return closed
}

// takeOut makes a file one that is closed. o.mu is held.
func (o *openFiles) takeOut(f *file) {
	o.used.Remove(f.use)
	f.stored = nil
	o.open--
}

func closeAll(files []store.File) {
	for _, f := range files {
		_ = f.Close() // only read
	}
}
