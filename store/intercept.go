package store

import (
	"context"
	"io/fs"
)

// Op is a kind of call.
type Op string

// The operations of a Store, a File and a Writer, and the capabilities that are functions.
// OpReadAt is also the operation of ReadRange.
const (
	OpOpen      Op = "open"
	OpReadAt    Op = "read at"
	OpClose     Op = "close"
	OpCreate    Op = "create"
	OpWrite     Op = "write"
	OpCommit    Op = "commit"
	OpAbort     Op = "abort"
	OpStat      Op = "stat"
	OpList      Op = "list"
	OpRename    Op = "rename"
	OpRemove    Op = "remove"
	OpRemoveAll Op = "remove all"
	OpMkdir     Op = "mkdir"
	OpReadFile  Op = "read file"
	OpWriteFile Op = "write file"
	OpChecksum  Op = "checksum"
	OpAccess    Op = "access"
	OpSetMode   Op = "set mode"
)

// Call is one call to a store, a file or a writer. Before Do, the interceptor may change the
// arguments that are fields here. After Do, it may change the results that are fields here.
type Call struct {
	Op     Op
	Ctx    context.Context // nil if the call has none
	Path   string
	To     string // new name in Rename
	Offset int64  // offset in ReadAt
	Data   []byte // argument of Write and WriteFile; ReadAt fills it; result of ReadFile
	N      int    // bytes of Data that ReadAt or Write processed
	File   File
	Writer Writer
	Info   Info
	Infos  []Info

	do func() error
}

// Do makes the call. The interceptor may call it more than once, and after it returned.
func (c *Call) Do() error { return c.do() }

// Intercept returns a store that passes its calls, and the calls of its files and writers, to
// through. That function decides whether and when to make a call, and returns the error for
// the caller. It may be called concurrently.
func Intercept(st Store, through func(*Call) error) Store { return &intercepted{st, through} }

type intercepted struct {
	inner   Store
	through func(*Call) error
}

// pass gives a call to the interceptor.
func (s *intercepted) pass(c *Call, do func() error) error {
	c.do = do
	return s.through(c)
}

// Capabilities returns the capabilities of the inner store, with their calls intercepted.
func (s *intercepted) Capabilities() Capabilities {
	c := CapabilitiesOf(s.inner)
	if checksum := c.Checksum; checksum != nil {
		c.Checksum = func(ctx context.Context, path string) (sum string, err error) {
			call := &Call{Op: OpChecksum, Ctx: ctx, Path: path}
			err = s.pass(call, func() (err error) { sum, err = checksum(call.Ctx, call.Path); return err })
			return sum, err
		}
	}
	if access := c.Access; access != nil {
		c.Access = func(ctx context.Context, path string) (a Access, err error) {
			call := &Call{Op: OpAccess, Ctx: ctx, Path: path}
			err = s.pass(call, func() (err error) { a, err = access(call.Ctx, call.Path); return err })
			return a, err
		}
	}
	if setMode := c.SetMode; setMode != nil {
		c.SetMode = func(ctx context.Context, path string, mode fs.FileMode) error {
			call := &Call{Op: OpSetMode, Ctx: ctx, Path: path}
			return s.pass(call, func() error { return setMode(call.Ctx, call.Path, mode) })
		}
	}
	return c
}

// Open implements Store.
func (s *intercepted) Open(ctx context.Context, path string) (File, error) {
	c := &Call{Op: OpOpen, Ctx: ctx, Path: path}
	err := s.pass(c, func() (err error) { c.File, err = s.inner.Open(c.Ctx, c.Path); return err })
	if err != nil {
		if c.File != nil {
			_ = c.File.Close() // the interceptor refused a file that was opened
		}
		return nil, err
	}
	return &interceptedFile{c.File, s}, nil
}

type interceptedFile struct {
	File
	s *intercepted
}

// Identity implements Identified.
func (f *interceptedFile) Identity() Identity { return IdentityOf(f.File) }

// ReadAt implements io.ReaderAt.
func (f *interceptedFile) ReadAt(p []byte, off int64) (int, error) {
	return f.read(p, off, f.File.ReadAt)
}

// ReadRange implements RangeReader.
func (f *interceptedFile) ReadRange(p []byte, off int64) (int, error) {
	return f.read(p, off, func(p []byte, off int64) (int, error) { return ReadRange(f.File, p, off) })
}

func (f *interceptedFile) read(p []byte, off int64, from func([]byte, int64) (int, error)) (int, error) {
	c := &Call{Op: OpReadAt, Path: f.Name(), Data: p, Offset: off}
	err := f.s.pass(c, func() (err error) { c.N, err = from(c.Data, c.Offset); return err })
	return c.N, err
}

// Close implements io.Closer.
func (f *interceptedFile) Close() error {
	return f.s.pass(&Call{Op: OpClose, Path: f.Name()}, f.File.Close)
}

// Create implements Store.
func (s *intercepted) Create(ctx context.Context, path string, o CreateOptions) (Writer, error) {
	c := &Call{Op: OpCreate, Ctx: ctx, Path: path}
	err := s.pass(c, func() (err error) { c.Writer, err = s.inner.Create(c.Ctx, c.Path, o); return err })
	if err != nil {
		return nil, err
	}
	return &interceptedWriter{Writer: c.Writer, s: s, path: path}, nil
}

type interceptedWriter struct {
	Writer
	s    *intercepted
	path string
	err  error // the first error of Write or Commit, which later calls return, too
}

// Write implements io.Writer.
func (w *interceptedWriter) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	c := &Call{Op: OpWrite, Path: w.path, Data: p}
	w.err = w.s.pass(c, func() (err error) { c.N, err = w.Writer.Write(c.Data); return err })
	return c.N, w.err
}

// Commit implements Writer.
func (w *interceptedWriter) Commit(ctx context.Context) error {
	if w.err == nil {
		c := &Call{Op: OpCommit, Ctx: ctx, Path: w.path}
		w.err = w.s.pass(c, func() error { return w.Writer.Commit(c.Ctx) })
	}
	return w.err
}

// Abort implements Writer.
func (w *interceptedWriter) Abort() error {
	return w.s.pass(&Call{Op: OpAbort, Path: w.path}, w.Writer.Abort)
}

// Stat implements Store.
func (s *intercepted) Stat(ctx context.Context, path string) (Info, error) {
	c := &Call{Op: OpStat, Ctx: ctx, Path: path}
	err := s.pass(c, func() (err error) { c.Info, err = s.inner.Stat(c.Ctx, c.Path); return err })
	return c.Info, err
}

// List implements Store.
func (s *intercepted) List(ctx context.Context, dir string) ([]Info, error) {
	c := &Call{Op: OpList, Ctx: ctx, Path: dir}
	err := s.pass(c, func() (err error) { c.Infos, err = s.inner.List(c.Ctx, c.Path); return err })
	return c.Infos, err
}

// Rename implements Store.
func (s *intercepted) Rename(ctx context.Context, from, to string) error {
	c := &Call{Op: OpRename, Ctx: ctx, Path: from, To: to}
	return s.pass(c, func() error { return s.inner.Rename(c.Ctx, c.Path, c.To) })
}

// Remove implements Store.
func (s *intercepted) Remove(ctx context.Context, path string) error {
	c := &Call{Op: OpRemove, Ctx: ctx, Path: path}
	return s.pass(c, func() error { return s.inner.Remove(c.Ctx, c.Path) })
}

// RemoveAll implements Store.
func (s *intercepted) RemoveAll(ctx context.Context, path string) error {
	c := &Call{Op: OpRemoveAll, Ctx: ctx, Path: path}
	return s.pass(c, func() error { return s.inner.RemoveAll(c.Ctx, c.Path) })
}

// Mkdir implements Store.
func (s *intercepted) Mkdir(ctx context.Context, path string) error {
	c := &Call{Op: OpMkdir, Ctx: ctx, Path: path}
	return s.pass(c, func() error { return s.inner.Mkdir(c.Ctx, c.Path) })
}

// ReadFile implements Store.
func (s *intercepted) ReadFile(ctx context.Context, path string, max int64) ([]byte, error) {
	c := &Call{Op: OpReadFile, Ctx: ctx, Path: path}
	err := s.pass(c, func() (err error) { c.Data, err = s.inner.ReadFile(c.Ctx, c.Path, max); return err })
	return c.Data, err
}

// WriteFile implements Store.
func (s *intercepted) WriteFile(ctx context.Context, path string, data []byte, exclusive bool) error {
	c := &Call{Op: OpWriteFile, Ctx: ctx, Path: path, Data: data}
	return s.pass(c, func() error { return s.inner.WriteFile(c.Ctx, c.Path, c.Data, exclusive) })
}
