package storetest

import (
	"context"
	"slices"
	"sync"

	"github.com/rowtocol/rowtocol/store"
)

// Op is a kind of call.
type Op string

// The operations: those of a Store, of a File and of a Writer.
const (
	Open      Op = "open"
	ReadAt    Op = "read at"
	Close     Op = "close"
	Create    Op = "create"
	Write     Op = "write"
	Commit    Op = "commit"
	Abort     Op = "abort"
	Stat      Op = "stat"
	List      Op = "list"
	Rename    Op = "rename"
	Remove    Op = "remove"
	RemoveAll Op = "remove all"
	Mkdir     Op = "mkdir"
	ReadFile  Op = "read file"
	WriteFile Op = "write file"
)

// Ops are the operations that can fail, for tests that fail each in turn.
var Ops = []Op{Open, ReadAt, Create, Write, Commit, Stat, List, Rename, Remove, RemoveAll, Mkdir, ReadFile, WriteFile}

// Call is one call to a store, a file or a writer. What it is given may be changed before
// Do, and what it returns after it.
type Call struct {
	Op     Op
	Ctx    context.Context // nil for calls that have none
	Path   string
	To     string // of Rename
	Offset int64  // of ReadAt
	Data   []byte // what Write and WriteFile are given, what ReadAt fills and ReadFile returns
	N      int    // the bytes of Data that ReadAt or Write took
	File   store.File
	Writer store.Writer
	Info   store.Info
	Infos  []store.Info

	do func() error
}

// Do makes the call. It may be made later than the injector returns, or more than once.
func (c *Call) Do() error { return c.do() }

// Injector decides what becomes of a call: it makes the call or not, before or after
// something else, and returns what the caller gets. It may be called concurrently.
type Injector func(*Call) error

// Inject returns a store the calls of which go through injectors: the Do of one is the call
// of the next, and that of the last is the store's. It has no capabilities, and its files
// are read by ReadAt.
func Inject(st store.Store, injectors ...Injector) store.Store {
	for _, in := range slices.Backward(injectors) {
		st = &injected{st, in}
	}
	return st
}

type injected struct {
	inner store.Store
	in    Injector
}

// pass gives a call to the injector.
func (s *injected) pass(c *Call, do func() error) error {
	c.do = do
	return s.in(c)
}

func (s *injected) Open(ctx context.Context, path string) (store.File, error) {
	c := &Call{Op: Open, Ctx: ctx, Path: path}
	err := s.pass(c, func() (err error) { c.File, err = s.inner.Open(c.Ctx, c.Path); return err })
	if err != nil {
		if c.File != nil {
			_ = c.File.Close()
		}
		return nil, err
	}
	return &injectedFile{c.File, s}, nil
}

type injectedFile struct {
	store.File
	s *injected
}

func (f *injectedFile) Identity() store.Identity { return store.IdentityOf(f.File) }

func (f *injectedFile) ReadAt(p []byte, off int64) (int, error) {
	c := &Call{Op: ReadAt, Path: f.Name(), Data: p, Offset: off}
	err := f.s.pass(c, func() (err error) { c.N, err = f.File.ReadAt(c.Data, c.Offset); return err })
	return c.N, err
}

func (f *injectedFile) Close() error {
	return f.s.pass(&Call{Op: Close, Path: f.Name()}, f.File.Close)
}

func (s *injected) Create(ctx context.Context, path string, o store.CreateOptions) (store.Writer, error) {
	c := &Call{Op: Create, Ctx: ctx, Path: path}
	err := s.pass(c, func() (err error) { c.Writer, err = s.inner.Create(c.Ctx, c.Path, o); return err })
	if err != nil {
		return nil, err
	}
	return &injectedWriter{Writer: c.Writer, s: s, path: path}, nil
}

type injectedWriter struct {
	store.Writer
	s    *injected
	path string
	err  error // the first of Write or Commit, which sticks
}

func (w *injectedWriter) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	c := &Call{Op: Write, Path: w.path, Data: p}
	w.err = w.s.pass(c, func() (err error) { c.N, err = w.Writer.Write(c.Data); return err })
	return c.N, w.err
}

func (w *injectedWriter) Commit(ctx context.Context) error {
	if w.err == nil {
		c := &Call{Op: Commit, Ctx: ctx, Path: w.path}
		w.err = w.s.pass(c, func() error { return w.Writer.Commit(c.Ctx) })
	}
	return w.err
}

func (w *injectedWriter) Abort() error {
	return w.s.pass(&Call{Op: Abort, Path: w.path}, w.Writer.Abort)
}

func (s *injected) Stat(ctx context.Context, path string) (store.Info, error) {
	c := &Call{Op: Stat, Ctx: ctx, Path: path}
	err := s.pass(c, func() (err error) { c.Info, err = s.inner.Stat(c.Ctx, c.Path); return err })
	return c.Info, err
}

func (s *injected) List(ctx context.Context, dir string) ([]store.Info, error) {
	c := &Call{Op: List, Ctx: ctx, Path: dir}
	err := s.pass(c, func() (err error) { c.Infos, err = s.inner.List(c.Ctx, c.Path); return err })
	return c.Infos, err
}

func (s *injected) Rename(ctx context.Context, from, to string) error {
	c := &Call{Op: Rename, Ctx: ctx, Path: from, To: to}
	return s.pass(c, func() error { return s.inner.Rename(c.Ctx, c.Path, c.To) })
}

func (s *injected) Remove(ctx context.Context, path string) error {
	c := &Call{Op: Remove, Ctx: ctx, Path: path}
	return s.pass(c, func() error { return s.inner.Remove(c.Ctx, c.Path) })
}

func (s *injected) RemoveAll(ctx context.Context, path string) error {
	c := &Call{Op: RemoveAll, Ctx: ctx, Path: path}
	return s.pass(c, func() error { return s.inner.RemoveAll(c.Ctx, c.Path) })
}

func (s *injected) Mkdir(ctx context.Context, path string) error {
	c := &Call{Op: Mkdir, Ctx: ctx, Path: path}
	return s.pass(c, func() error { return s.inner.Mkdir(c.Ctx, c.Path) })
}

func (s *injected) ReadFile(ctx context.Context, path string, max int64) ([]byte, error) {
	c := &Call{Op: ReadFile, Ctx: ctx, Path: path}
	err := s.pass(c, func() (err error) { c.Data, err = s.inner.ReadFile(c.Ctx, c.Path, max); return err })
	return c.Data, err
}

func (s *injected) WriteFile(ctx context.Context, path string, data []byte, exclusive bool) error {
	c := &Call{Op: WriteFile, Ctx: ctx, Path: path, Data: data}
	return s.pass(c, func() error { return s.inner.WriteFile(c.Ctx, c.Path, c.Data, exclusive) })
}

// Counter counts calls, and what files are open. Its zero value has counted none.
type Counter struct {
	mu    sync.Mutex
	calls map[Op]int
	bytes int64
	open  int
	most  int
}

// Inject is an Injector.
func (n *Counter) Inject(c *Call) error {
	n.count(c.Op)
	err := c.Do()
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case c.Op == ReadAt:
		n.bytes += int64(c.N)
	case c.Op == Open && err == nil:
		n.open++
		n.most = max(n.most, n.open)
	case c.Op == Close:
		n.open--
	}
	return err
}

// count counts a call, and returns how many of its operation there were.
func (n *Counter) count(op Op) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.calls == nil {
		n.calls = make(map[Op]int)
	}
	n.calls[op]++
	return n.calls[op]
}

// Calls returns how often an operation was called.
func (n *Counter) Calls(op Op) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.calls[op]
}

// Bytes returns how many bytes were read of files that were opened.
func (n *Counter) Bytes() int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.bytes
}

// OpenFiles returns how many files are open.
func (n *Counter) OpenFiles() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.open
}

// MostFiles returns how many files were open at most at a time.
func (n *Counter) MostFiles() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.most
}
