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
	//guard: creates no file after an interruption
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
	up := &localUpload{sys: l.sys, f: f}
	w := &localWriter{writer{ctx: ctx, path: path, size: o.Size, upload: up}, up}
	if o.Size > 0 {
		if err := reserve(f, o.Size); err != nil {
			return nil, errors.Join(err, w.Abort())
		}
	}
	return w, nil
}

// reserve allocates the disk space of a file at once, so that a full disk fails before
// hours of writing. File systems that cannot allocate fail while writing.
func reserve(f file, size int64) error {
	var disk unix.Statfs_t
	diskErr := unix.Fstatfs(int(f.Fd()), &disk) // first, because a failed reservation may take what is free
	err := allocate(int(f.Fd()), size)
	switch err {
	case unix.ENOSPC, unix.EDQUOT, unix.EFBIG, unix.EIO:
	default:
		return nil
	}
	if err == unix.ENOSPC && diskErr == nil {
		err = fmt.Errorf("%.2f MiB are free, and %.2f MiB are needed: %w", float64(disk.Bavail*uint64(disk.Bsize))/(1<<20), float64(size)/(1<<20), err)
	}
	return &fs.PathError{Op: "reserve", Path: f.Name(), Err: err}
}

// writeBehind is the number of written bytes after which the kernel is told to write them to disk.
const writeBehind = 4 << 20

// localWriter writes directly to its file; callers do their own buffering.
type localWriter struct {
	writer
	up *localUpload
}

// ReadFrom lets the kernel copy if r is an os.File or an io.LimitedReader of one.
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
		n, err := w.up.f.ReadFrom(&part)
		w.up.writeBack(n, err)
		sum += n
		all.N -= n
		if err := w.wrote(n, err); err != nil || part.N > 0 || all.N == 0 {
			return sum, err
		}
	}
}

// localUpload is a new file on local disk.
type localUpload struct {
	sys system
	f   file

	n, sent     int64 // bytes that were written, and bytes whose write-back was started
	writingBack atomic.Bool
	writeBacks  sync.WaitGroup
}

// Write implements Upload.
func (u *localUpload) Write(p []byte) (int, error) {
	n, err := u.f.Write(p)
	u.writeBack(int64(n), err)
	return n, err
}

// writeBack counts written bytes. It starts their write-back in a goroutine, so that Finish
// has little left to write.
func (u *localUpload) writeBack(n int64, err error) {
	u.n += n
	if err != nil || u.n-u.sent < writeBehind || !u.writingBack.CompareAndSwap(false, true) {
		return
	}
	fd, from, n := int(u.f.Fd()), u.sent, u.n-u.sent
	u.sent = u.n
	u.writeBacks.Go(func() {
		startWriteBack(fd, from, n)
		u.writingBack.Store(false)
	})
}

// Finish implements Upload.
func (u *localUpload) Finish(_ context.Context, n int64) error {
	u.writeBacks.Wait()
	//guard: syncs the bytes of a file
	if err := u.f.Sync(); err != nil {
		return err
	}
	info, err := u.f.Stat()
	if err != nil {
		return err
	}
	//guard: refuses to commit a file that was cut short
	if info.Size() != n {
		return fmt.Errorf("length %d after writing %d bytes: %w", info.Size(), n, ErrMismatch)
	}
	//guard: reports an error that storage returns only on closing
	if err := u.f.Close(); err != nil {
		return err
	}
	//guard: syncs the name of a committed file
	return syncDir(u.sys, path.Dir(u.f.Name()))
}

// Abandon implements Upload.
func (u *localUpload) Abandon() error {
	u.writeBacks.Wait()
	// A failed Finish may have closed the file. The error does not matter, because the file
	// is removed.
	_ = u.f.Close()
	return u.sys.remove(u.f.Name())
}
