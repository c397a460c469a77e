package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Upload is what a kind of storage implements to write a new file. NewWriter makes a Writer
// of it.
type Upload interface {
	// Write writes the next bytes. p is not empty. In total there are never more bytes than
	// NewWriter was promised.
	Write(p []byte) (int, error)
	// Finish commits the file. It has n bytes: the promised number, if one was promised.
	Finish(ctx context.Context, n int64) error
	// Abandon removes the file. It is called at most once, and not after Finish returned nil.
	Abandon() error
}

// NewWriter returns the writer of a new file. The writer checks that the number of bytes is the
// promised size, unless that is -1, and keeps the first error. ctx is the context of Create.
func NewWriter(ctx context.Context, path string, size int64, u Upload) Writer {
	return &writer{ctx: ctx, path: path, size: size, upload: u}
}

type writer struct {
	ctx    context.Context
	path   string
	size   int64
	upload Upload
	n      int64 // bytes written
	err    error // the first error, which later calls return, too
	done   bool  // committed or aborted
}

// ready returns the reason why the writer cannot go on, or nil. It keeps the error of a
// context that has ended.
func (w *writer) ready(ctx context.Context) error {
	switch {
	//guard: stops at the first failed write
	case w.err != nil:
	//guard: refuses to go on after Commit or Abort
	case w.done:
		return PathError("write", w.path, fs.ErrClosed)
	default:
		//guard: stops writing after an interruption
		return w.fail(cmp.Or(w.ctx.Err(), ctx.Err()))
	}
	return w.err
}

func (w *writer) fail(err error) error {
	w.err = PathError("write", w.path, err)
	return w.err
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	if err := w.ready(w.ctx); err != nil {
		return 0, err
	}
	//guard: refuses more bytes than were promised
	if w.size >= 0 && int64(len(p)) > w.size-w.n {
		return 0, w.fail(fmt.Errorf("more bytes than the %d that were promised", w.size))
	}
	//guard: writes no empty block
	if len(p) == 0 {
		return 0, nil
	}
	n, err := w.upload.Write(p)
	return n, w.wrote(int64(n), err)
}

// wrote counts written bytes.
func (w *writer) wrote(n int64, err error) error {
	w.n += n
	return w.fail(err)
}

// Commit implements Writer.
func (w *writer) Commit(ctx context.Context) error {
	if err := w.ready(ctx); err != nil {
		return err
	}
	//guard: refuses to commit a file that ended early
	if w.size >= 0 && w.n != w.size {
		return w.fail(fmt.Errorf("%d bytes were written, %d were promised", w.n, w.size))
	}
	if err := w.upload.Finish(ctx, w.n); err != nil {
		return w.fail(cmp.Or(w.ctx.Err(), err))
	}
	//guard: prevents Abort from removing a committed file
	w.done = true
	return nil
}

// Abort implements Writer.
func (w *writer) Abort() error {
	if w.done {
		return nil
	}
	w.done = true
	return PathError("remove", w.path, w.upload.Abandon())
}

// WriteByRename implements WriteFile for a store whose rename is atomic. It writes a temporary
// file, which rename moves to path. If rename fails, the temporary file is removed. rename
// decides whether it replaces a file at path, and makes the new name durable.
func WriteByRename(ctx context.Context, st Store, path string, data []byte, rename func(temp string) error) error {
	temp := TempName(path)
	err := create(ctx, st, temp, data)
	if err == nil {
		if err = rename(temp); err != nil {
			clean, cancel := Cleanup(ctx)
			defer cancel()
			_ = st.Remove(clean, temp) // if this fails, the file stays, and IsTemp recognizes its name
		}
	}
	var tempErr *fs.PathError
	if errors.As(err, &tempErr) {
		err = tempErr.Err
	}
	return PathError("write", path, err)
}

// create creates a file with the content data.
func create(ctx context.Context, st Store, path string, data []byte) error {
	w, err := st.Create(ctx, path, CreateOptions{Size: int64(len(data))})
	if err != nil {
		return err
	}
	if _, err = w.Write(data); err == nil {
		err = w.Commit(ctx)
	}
	if err != nil {
		_ = w.Abort() // the first error says more
	}
	return err
}

// PathError adds the operation and the path to an error that lacks them. It returns nil
// for nil.
func PathError(op, path string, err error) error {
	var pe *fs.PathError
	var le *os.LinkError
	if err == nil || errors.As(err, &pe) || errors.As(err, &le) {
		return err
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}
