package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

func (l local) Create(ctx context.Context, path string, o CreateOptions) (Writer, error) {
	//guard: a job that was interrupted would go on creating files
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := l.sys.create(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = &fs.PathError{Op: "create", Path: path, Err: ErrNoParent}
		}
		return nil, err
	}
	w := &localWriter{ctx: ctx, sys: l.sys, f: f, size: o.Size}
	if o.Size > 0 {
		if err := reserve(f, o.Size); err != nil {
			return nil, errors.Join(err, w.Abort())
		}
	}
	return w, nil
}

// reserve takes the disk space of a file at once, so that a full disk is known
// before hours of writing. File systems that cannot are left to find out.
func reserve(f file, size int64) error {
	switch err := allocate(int(f.Fd()), size); err {
	case unix.ENOSPC, unix.EDQUOT, unix.EFBIG, unix.EIO:
		return &fs.PathError{Op: "reserve", Path: f.Name(), Err: err}
	}
	return nil
}

// writeBehind is how many bytes are written before the disk begins with them.
const writeBehind = 4 << 20

// localWriter writes straight to its file; callers bring their own buffer.
type localWriter struct {
	ctx  context.Context
	sys  system
	f    file
	size int64 // promised, or -1
	n    int64 // written
	err  error // the first; sticky
	done bool  // committed or aborted

	sent    int64 // of n, what the disk was told to begin with
	telling atomic.Bool
	told    sync.WaitGroup
}

func (w *localWriter) Write(p []byte) (int, error) {
	if err := w.ready(w.ctx); err != nil {
		return 0, err
	}
	n, err := w.f.Write(p)
	w.wrote(int64(n), err)
	return n, err
}

// ReadFrom lets io.Copy leave the copying to the kernel, where r is an os.File
// or an io.LimitedReader of one.
func (w *localWriter) ReadFrom(r io.Reader) (int64, error) {
	all, ok := r.(*io.LimitedReader)
	if !ok {
		all = &io.LimitedReader{R: r, N: math.MaxInt64}
	}
	var sum int64
	for {
		if err := w.ready(w.ctx); err != nil {
			return sum, err
		}
		part := io.LimitedReader{R: all.R, N: min(all.N, writeBehind)}
		n, err := w.f.ReadFrom(&part)
		w.wrote(n, err)
		sum += n
		all.N -= n
		if err != nil || part.N > 0 || all.N == 0 {
			return sum, err
		}
	}
}

// wrote counts what was written, and has the disk begin with it, so that Commit
// finds little left to wait for. Telling the disk is work for another core.
func (w *localWriter) wrote(n int64, err error) {
	w.n += n
	w.err = err
	if err != nil || w.n-w.sent < writeBehind || !w.telling.CompareAndSwap(false, true) {
		return
	}
	fd, from, n := int(w.f.Fd()), w.sent, w.n-w.sent
	w.sent = w.n
	w.told.Go(func() {
		beginWriting(fd, from, n)
		w.telling.Store(false)
	})
}

// ready returns, and keeps, the reason for which the writer cannot go on.
func (w *localWriter) ready(ctx context.Context) error {
	switch {
	//guard: what follows a failed write would be taken for its place
	case w.err != nil:
	//guard: a file that was removed could be committed
	case w.done:
		return &fs.PathError{Op: "write", Path: w.f.Name(), Err: fs.ErrClosed}
	default:
		//guard: a job that was interrupted would go on writing
		w.err = ctx.Err()
	}
	return w.err
}

func (w *localWriter) Commit(ctx context.Context) error {
	if err := w.ready(ctx); err != nil {
		return err
	}
	w.err = w.commit()
	//guard: Abort would remove a committed file
	w.done = w.err == nil
	return w.err
}

func (w *localWriter) commit() error {
	//guard: a short file would be committed
	if w.size >= 0 && w.n != w.size {
		return fmt.Errorf("%s: %d bytes were written, %d were promised", w.f.Name(), w.n, w.size)
	}
	w.told.Wait()
	//guard: a power cut would tear a committed file
	if err := w.f.Sync(); err != nil {
		return err
	}
	info, err := w.f.Stat()
	if err != nil {
		return err
	}
	//guard: a file that another cut short would be committed
	if info.Size() != w.n {
		return fmt.Errorf("%s: length %d after writing %d bytes: %w", w.f.Name(), info.Size(), w.n, ErrMismatch)
	}
	//guard: what storage on a network refuses at last would be taken for stored
	if err := w.f.Close(); err != nil {
		return err
	}
	//guard: a power cut would take the name of a committed file
	return syncDir(w.sys, path.Dir(w.f.Name()))
}

func (w *localWriter) Abort() error {
	if w.done {
		return nil
	}
	w.done = true
	w.told.Wait()
	// The file may be closed already, by a failed Commit, and an error of
	// closing what is to be removed is of no interest.
	_ = w.f.Close()
	return w.sys.remove(w.f.Name())
}
