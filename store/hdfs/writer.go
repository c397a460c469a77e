package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"
	"time"

	client "github.com/colinmarc/hdfs/v2"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/rowtocol/rowtocol/store"
)

const mib = 1 << 20

// Create implements store.Store. The block size is such that the file is one
// block, if its size is given; the file must then be of that size.
func (s *Store) Create(ctx context.Context, p string, o store.CreateOptions) (store.Writer, error) {
	w, err := s.create(ctx, p, o)
	if err != nil {
		return nil, pathError("create", p, err)
	}
	return w, nil
}

func (s *Store) create(ctx context.Context, p string, o store.CreateOptions) (*writer, error) {
	d, err := s.serverDefaults(ctx)
	if err != nil {
		return nil, err
	}
	//guard: a file in a directory that stripes its files is not one block
	if err := s.ask(ctx, func(se *session) error { return se.mayHold(path.Dir(path.Clean(p))) }); err != nil {
		return nil, err
	}
	replication := s.replication
	if replication == 0 {
		replication = d.replication
	}
	w := &writer{ctx: ctx, store: s, path: p, size: o.Size}
	w.lease, err = s.begin(ctx, false, func(se *session) (err error) {
		se.uploads.Store(true)
		w.file, err = se.create(p, replication, o.Size, d)
		return err
	})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// mayHold returns why a directory can have no new file of ours.
func (se *session) mayHold(dir string) error {
	status, err := se.status(dir)
	switch {
	case errors.Is(err, store.ErrNotExist):
		return store.ErrNoParent
	//guard: a file would be begun where the directory is not known
	case err != nil:
		return err
	//guard: the name node would be asked for a file in a file
	case status.GetFileType() != isDir:
		return syscall.ENOTDIR
	}
	return checkSupported(status)
}

func (se *session) create(p string, replication int, size int64, d *defaults) (*client.FileWriter, error) {
	perm := os.FileMode(0o666 &^ se.store.conf.Umask())
	for again := true; ; again = false {
		f, err := se.client.CreateFile(path.Clean(p), replication, se.store.blockSize(size, d), perm)
		if least, ok := wantedBlockSize(err); again && ok {
			se.store.learnMinBlock(least)
			continue
		}
		switch {
		case errors.Is(err, fs.ErrPermission):
			return nil, se.whyRefused(path.Dir(path.Clean(p)))
		case errors.Is(err, fs.ErrNotExist):
			return nil, store.ErrNoParent
		}
		return f, err
	}
}

// blockSize returns a block size that holds size bytes: the least whole number
// of MiB that the cluster accepts. It is a limit; a block takes no more space
// than its bytes.
func (s *Store) blockSize(size int64, d *defaults) int64 {
	if size < 0 {
		return d.blockSize
	}
	s.mu.Lock()
	n := max((size+mib-1)/mib*mib, mib, s.minBlock)
	s.mu.Unlock()
	if unit := d.bytesPerChecksum; unit > 0 {
		n = (n + unit - 1) / unit * unit
	}
	return n
}

func (s *Store) learnMinBlock(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.minBlock = max(s.minBlock, n)
}

// whyRefused returns what the name node says about writing to a directory, of
// which the library keeps only that it is not permitted.
func (se *session) whyRefused(dir string) error {
	const writeExecute = protoreflect.EnumNumber(3)
	if _, err := se.call("checkAccess", fields{"path": dir, "mode": writeExecute}); err != nil {
		return err
	}
	return fs.ErrPermission
}

// writer writes one file in a session of its own.
type writer struct {
	ctx   context.Context // as of Create, which bounds the writes
	store *Store
	path  string
	size  int64 // promised, or -1
	lease *lease
	file  *client.FileWriter
	n     int64 // bytes written
	err   error // the first; sticky
	done  bool  // committed or aborted
}

// Write implements io.Writer. More bytes than promised are refused: they would
// silently become a second block.
func (w *writer) Write(p []byte) (int, error) {
	if err := w.ready(w.ctx); err != nil {
		return 0, err
	}
	//guard: a file could silently get a second block
	if w.size >= 0 && w.n+int64(len(p)) > w.size {
		w.err = pathError("write", w.path, fmt.Errorf("more bytes than the %d that were promised", w.size))
		return 0, w.err
	}
	//guard: the library would add a block that no data node gets
	if len(p) == 0 {
		return 0, nil
	}
	n, err := w.file.Write(p)
	w.n += int64(n)
	//guard: what follows a failed write would be stored in its place
	if err != nil {
		w.err = pathError("write", w.path, translate(w.ctx, w.lease.session, err))
	}
	return n, w.err
}

// ready returns, and keeps, the reason for which the writer cannot go on.
func (w *writer) ready(ctx context.Context) error {
	switch {
	case w.err != nil:
		return w.err
	case w.done:
		return pathError("write", w.path, fs.ErrClosed)
	case ctx.Err() != nil:
		w.err = pathError("write", w.path, ctx.Err())
	case w.ctx.Err() != nil:
		w.err = pathError("write", w.path, w.ctx.Err())
	}
	return w.err
}

// Commit implements store.Writer.
func (w *writer) Commit(ctx context.Context) error {
	if err := w.ready(ctx); err != nil {
		return err
	}
	//guard: a file that ended early would be committed
	if w.size >= 0 && w.n != w.size {
		w.err = pathError("write", w.path, fmt.Errorf("%d bytes were written, %d were promised", w.n, w.size))
		return w.err
	}
	stop := context.AfterFunc(ctx, w.lease.kill)
	err := w.close(ctx)
	if !stop() {
		w.lease.kill()
	}
	if err != nil {
		if ended := w.ctx.Err(); ended != nil {
			err = ended
		}
		w.err = pathError("write", w.path, translate(ctx, w.lease.session, err))
		return w.err
	}
	w.done = true
	w.lease.end()
	return nil
}

// close completes the file and waits until it is as it should be.
func (w *writer) close(ctx context.Context) error {
	deadline := time.Now().Add(w.store.confirmTime)
	w.lease.closing.Store(true)
	err := w.file.Close()
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		//guard: the library forgets an error that it returned, and the next close would succeed
		if err != nil && !client.IsErrReplicating(err) {
			return err
		}
		complete := false
		if err == nil {
			if complete, err = w.check(); err != nil {
				return err
			}
		}
		if complete {
			w.lease.closing.Store(false)
			return nil
		}
		//guard: a block that no data node confirms would be waited for for ever
		if time.Now().After(deadline) {
			return fmt.Errorf("%w: no data node has confirmed the block after %v", store.ErrUnavailable, w.store.confirmTime)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
		if err != nil {
			err = w.file.Close()
		}
	}
}

// check compares the closed file with what was written. It is not complete as
// long as the name node waits for a data node to confirm its block.
func (w *writer) check() (complete bool, err error) {
	status, err := w.lease.status(w.path)
	if err != nil {
		return false, err
	}
	b, err := w.lease.blocks(w.path, max(w.n, 1))
	if err != nil {
		return false, err
	}
	switch {
	//guard: a file that lost bytes would be committed
	case int64(status.GetLength()) != w.n || b.length != w.n:
		return false, fmt.Errorf("%w: %d bytes are stored of %d", store.ErrMismatch, status.GetLength(), w.n)
	//guard: a file without an end would be committed
	case b.open:
		return false, fmt.Errorf("%w: it is still open after it was closed", store.ErrMismatch)
	//guard: a file of two blocks would be committed
	case w.size >= 0 && (b.count > 1 || int64(status.GetBlocksize()) < w.n):
		return false, fmt.Errorf("%w: %d blocks of %d bytes where one was to be", store.ErrMismatch, b.count, status.GetBlocksize())
	}
	return b.complete, nil
}

// Abort implements store.Writer. The bytes that are on their way are given up,
// and the file is removed in bounded time, even if ctx of Create has ended.
func (w *writer) Abort() error {
	if w.done {
		return nil
	}
	w.done = true
	//guard: the goroutines of a given up upload would stay
	w.lease.endFile(w.file)
	w.lease.end()
	ctx, cancel := store.Cleanup(w.ctx)
	defer cancel()
	return w.store.RemoveAll(ctx, w.path)
}

// WriteFile implements store.Store.
func (s *Store) WriteFile(ctx context.Context, p string, data []byte, exclusive bool) error {
	temp := store.TempName(p)
	err := s.writeTemp(ctx, temp, data)
	if err == nil {
		err = s.rename(ctx, temp, p, !exclusive)
		if err != nil {
			s.removeTemp(ctx, temp)
		}
	}
	if err != nil {
		var ofTemp *fs.PathError
		if errors.As(err, &ofTemp) {
			err = ofTemp.Err
		}
		return &fs.PathError{Op: "write", Path: p, Err: err}
	}
	return nil
}

func (s *Store) writeTemp(ctx context.Context, temp string, data []byte) error {
	w, err := s.create(ctx, temp, store.CreateOptions{Size: int64(len(data))})
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

// removeTemp removes a file of ours, if that can be done soon. What stays is
// known as temporary by its name.
func (s *Store) removeTemp(ctx context.Context, temp string) {
	ctx, cancel := store.Cleanup(ctx)
	defer cancel()
	_ = s.RemoveAll(ctx, temp)
}
