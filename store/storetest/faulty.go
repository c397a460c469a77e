package storetest

import (
	"context"
	"sync"

	"github.com/rowtocol/rowtocol/store"
)

// Op is a kind of call that can fail.
type Op string

// The operations: those of a Store, of a File and of a Writer.
const (
	Open      Op = "open"
	ReadAt    Op = "read at"
	Create    Op = "create"
	Write     Op = "write"
	Commit    Op = "commit"
	Stat      Op = "stat"
	List      Op = "list"
	Rename    Op = "rename"
	Remove    Op = "remove"
	RemoveAll Op = "remove all"
	Mkdir     Op = "mkdir"
	ReadFile  Op = "read file"
	WriteFile Op = "write file"
)

// Ops are all operations, for tests that fail each in turn.
var Ops = []Op{Open, ReadAt, Create, Write, Commit, Stat, List, Rename, Remove, RemoveAll, Mkdir, ReadFile, WriteFile}

// Fault is one failure to come.
type Fault struct {
	Op Op
	// N is the call that fails, counted from 1 at the start of the Faulty; 0
	// is every call.
	N int
	// Err is what the call returns. A nil Err on Write or ReadAt changes one
	// bit of the bytes instead and says nothing.
	Err error
	// Late makes the call do its work and then return Err, as a network
	// that loses the answer does. A failing Write writes half of its bytes
	// without Late, and all with it.
	Late bool
}

// Faulty is a store that fails where it was told to, and else is the store
// that it wraps. It may be used concurrently.
type Faulty struct {
	inner  store.Store
	mu     sync.Mutex
	calls  map[Op]int
	faults []Fault
}

// NewFaulty wraps a store.
func NewFaulty(inner store.Store, faults ...Fault) *Faulty {
	return &Faulty{inner: inner, calls: make(map[Op]int), faults: faults}
}

// Calls returns how often an operation was called.
func (f *Faulty) Calls(op Op) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[op]
}

// fault counts a call and returns its fault, if it has one.
func (f *Faulty) fault(op Op) *Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[op]++
	for i := range f.faults {
		if t := &f.faults[i]; t.Op == op && (t.N == 0 || t.N == f.calls[op]) {
			return t
		}
	}
	return nil
}

// do makes a call that returns an error only.
func (f *Faulty) do(op Op, call func() error) error {
	t := f.fault(op)
	if t == nil {
		return call()
	}
	if t.Late {
		if err := call(); err != nil {
			return err
		}
	}
	return t.Err
}

// Open implements store.Store.
func (f *Faulty) Open(ctx context.Context, path string) (store.File, error) {
	var file store.File
	err := f.do(Open, func() (err error) {
		file, err = f.inner.Open(ctx, path)
		return err
	})
	if err != nil {
		if file != nil {
			_ = file.Close()
		}
		return nil, err
	}
	return &faultyFile{File: file, f: f}, nil
}

type faultyFile struct {
	store.File
	f *Faulty
}

func (r *faultyFile) Identity() store.Identity { return store.IdentityOf(r.File) }

func (r *faultyFile) ReadAt(p []byte, off int64) (int, error) {
	t := r.f.fault(ReadAt)
	if t != nil && t.Err != nil {
		return 0, t.Err
	}
	n, err := r.File.ReadAt(p, off)
	if t != nil && n > 0 {
		p[n/2] ^= 1
	}
	return n, err
}

// Create implements store.Store.
func (f *Faulty) Create(ctx context.Context, path string, o store.CreateOptions) (store.Writer, error) {
	var w store.Writer
	err := f.do(Create, func() (err error) {
		w, err = f.inner.Create(ctx, path, o)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &faultyWriter{Writer: w, f: f}, nil
}

type faultyWriter struct {
	store.Writer
	f   *Faulty
	err error // of an injected failure; sticky, as a Writer's are
}

func (w *faultyWriter) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	t := w.f.fault(Write)
	if t == nil {
		return w.Writer.Write(p)
	}
	if t.Err == nil {
		changed := append([]byte(nil), p...)
		if len(changed) > 0 {
			changed[len(changed)/2] ^= 1
		}
		return w.Writer.Write(changed)
	}
	if !t.Late {
		p = p[:len(p)/2]
	}
	w.err = t.Err
	n, err := w.Writer.Write(p)
	if err != nil {
		return n, err
	}
	return n, t.Err
}

func (w *faultyWriter) Commit(ctx context.Context) error {
	if w.err != nil {
		return w.err
	}
	t := w.f.fault(Commit)
	if t == nil {
		return w.Writer.Commit(ctx)
	}
	// Late is not obeyed: a Commit that failed must leave the file to Abort,
	// which the wrapped writer would not do after it had committed.
	w.err = t.Err
	return t.Err
}

// Stat implements store.Store.
func (f *Faulty) Stat(ctx context.Context, path string) (info store.Info, err error) {
	err = f.do(Stat, func() (err error) {
		info, err = f.inner.Stat(ctx, path)
		return err
	})
	return info, err
}

// List implements store.Store.
func (f *Faulty) List(ctx context.Context, dir string) (infos []store.Info, err error) {
	err = f.do(List, func() (err error) {
		infos, err = f.inner.List(ctx, dir)
		return err
	})
	return infos, err
}

// Rename implements store.Store.
func (f *Faulty) Rename(ctx context.Context, from, to string) error {
	return f.do(Rename, func() error { return f.inner.Rename(ctx, from, to) })
}

// Remove implements store.Store.
func (f *Faulty) Remove(ctx context.Context, path string) error {
	return f.do(Remove, func() error { return f.inner.Remove(ctx, path) })
}

// RemoveAll implements store.Store.
func (f *Faulty) RemoveAll(ctx context.Context, path string) error {
	return f.do(RemoveAll, func() error { return f.inner.RemoveAll(ctx, path) })
}

// Mkdir implements store.Store.
func (f *Faulty) Mkdir(ctx context.Context, path string) error {
	return f.do(Mkdir, func() error { return f.inner.Mkdir(ctx, path) })
}

// ReadFile implements store.Store.
func (f *Faulty) ReadFile(ctx context.Context, path string, max int64) (data []byte, err error) {
	err = f.do(ReadFile, func() (err error) {
		data, err = f.inner.ReadFile(ctx, path, max)
		return err
	})
	return data, err
}

// WriteFile implements store.Store.
func (f *Faulty) WriteFile(ctx context.Context, path string, data []byte, exclusive bool) error {
	return f.do(WriteFile, func() error { return f.inner.WriteFile(ctx, path, data, exclusive) })
}
