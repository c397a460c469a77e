package webhdfs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"time"

	"github.com/rowtocol/rowtocol/store"

	"github.com/rowtocol/rowtocol/internal/lazyregexp"
)

const (
	blockUnit = 1 << 20 // bytes; a multiple of every usual bytes per checksum
	filePerm  = 0o666
)

// Create implements store.Store. It returns when the file exists, so that what
// forbids it is known before the first byte. Of two that create the same name
// at the same moment the loser may be told only by Commit; its Abort leaves the
// file of the other alone.
func (s *Store) Create(ctx context.Context, p string, o store.CreateOptions) (store.Writer, error) {
	w := &writer{store: s, ctx: ctx, path: p, size: o.Size}
	err := s.mayCreate(ctx, p)
	if err == nil {
		err = w.begin()
	}
	if err != nil {
		return nil, &fs.PathError{Op: "create", Path: p, Err: err}
	}
	return w, nil
}

// mayCreate checks what a server does not, or only with the first byte.
func (s *Store) mayCreate(ctx context.Context, p string) error {
	parent, err := s.parent(ctx, p)
	if err != nil {
		return err
	}
	//guard: a file in a directory that stripes its files is not one block
	if parent.erasureCoded() {
		return fmt.Errorf("%s is %w, so no file in it is one block", path.Dir(p), store.ErrErasureCoded)
	}
	//guard: that a name is taken would be found after the whole upload only
	return s.vacant(ctx, p)
}

// creation is the call that begins a file of a size, or -1.
func (s *Store) creation(p string, size int64, overwrite bool) call {
	query := map[string]string{
		"overwrite":          strconv.FormatBool(overwrite),
		"createparent":       "false",
		"permission":         mode(filePerm &^ s.conf.Umask()),
		"unmaskedpermission": mode(filePerm),
	}
	if size >= 0 {
		query["blocksize"] = strconv.FormatInt(blockSize(size, s.minBlock.Load()), 10)
	}
	if s.replication > 0 {
		query["replication"] = strconv.Itoa(s.replication)
	}
	return call{method: http.MethodPut, op: "CREATE", path: p, query: query}
}

// blockSize returns that of a file that is to be one block.
func blockSize(size, minimum int64) int64 {
	n := max(size, minimum, 1)
	return (min(n, math.MaxInt64-blockUnit) + blockUnit - 1) / blockUnit * blockUnit
}

var minBlockSize = lazyregexp.New(`min-block-size\D.*?(\d+)\D*$`)

// minimumBlock returns the least block size of the server, if that is why it
// refused a file.
func minimumBlock(err error) (int64, bool) {
	remote, ok := asRemote(err)
	if !ok {
		return 0, false
	}
	m := minBlockSize.FindStringSubmatch(firstLine(remote.Message))
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	return n, err == nil
}

// writer is an upload.
type writer struct {
	store *Store
	ctx   context.Context
	path  string
	size  int64 // promised, or -1
	n     int64 // written
	err   error // the first; sticky
	done  bool  // committed or aborted
	put   *put
}

// begin starts the upload, again if the server wants larger blocks.
func (w *writer) begin() error {
	for {
		err := w.store.dispatch(w.ctx, w.store.creation(w.path, w.size, false), w.visit)
		least, ok := minimumBlock(err)
		if !ok || least <= w.store.minBlock.Load() {
			return err
		}
		w.store.minBlock.Store(least)
	}
}

func (w *writer) visit(to *url.URL, resp *http.Response) (fault, error) {
	if to == nil {
		finish(resp)
		return notTheNodes, nonsense("no data node")
	}
	w.put = w.store.put(w.ctx, to, w.size)
	f, err := w.appear(to.Host)
	if err != nil {
		w.put.stop()
	}
	//guard: half of a temporary file would be left
	if f == nodeFailedHalfway && store.IsTemp(path.Base(w.path)) {
		// What the node may have begun is ours alone, and of no use.
		ctx, cancel := store.Cleanup(w.ctx)
		defer cancel()
		_, _ = w.store.delete(ctx, w.path, false)
	}
	return f, err
}

// appear waits until the file exists, or its upload is over.
func (w *writer) appear(node string) (fault, error) {
	end := time.Now().Add(w.store.silence)
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		select {
		case <-w.put.done:
			return whoseOnce(w.put.err), w.put.err
		case <-time.After(wait):
		}
		_, err := w.store.status(w.ctx, w.path)
		switch {
		case err == nil:
			return notTheNodes, nil
		case !errors.Is(err, store.ErrNotExist):
			return notTheNodes, err
		//guard: a data node that begins no file would hang the program
		case time.Now().After(end):
			return nodeFailedHalfway, fmt.Errorf("%s began no file for %v: %w", node, w.store.silence, store.ErrUnavailable)
		}
	}
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	if err := w.ready(w.ctx); err != nil || len(p) == 0 {
		return 0, err
	}
	//guard: a file could silently get a second block
	if w.size >= 0 && int64(len(p)) > w.size-w.n {
		w.err = w.wrap("write", fmt.Errorf("more than the promised %d bytes", w.size))
		return 0, w.err
	}
	n, err := w.put.body.Write(p)
	w.n += int64(n)
	//guard: what follows a failed write would be stored in its place
	if err != nil {
		<-w.put.done
		w.err = w.wrap("write", cmp.Or(w.put.err, errEarly))
	}
	return n, w.err
}

// errEarly is an upload that a server called complete before it was.
var errEarly = fmt.Errorf("the server ended the upload: %w", store.ErrUnavailable)

func (w *writer) wrap(op string, err error) error {
	return &fs.PathError{Op: op, Path: w.path, Err: err}
}

// ready returns, and keeps, the reason for which the writer cannot go on.
func (w *writer) ready(ctx context.Context) error {
	switch {
	case w.err != nil:
	case w.done:
		return w.wrap("write", fs.ErrClosed)
	default:
		w.err = cmp.Or(w.ctx.Err(), ctx.Err())
	}
	return w.err
}

// Commit implements store.Writer.
func (w *writer) Commit(ctx context.Context) error {
	if err := w.ready(ctx); err != nil {
		return err
	}
	//guard: a file that ended early would be sent again and again
	if w.size >= 0 && w.n != w.size {
		w.err = w.wrap("write", fmt.Errorf("%d bytes were written, %d were promised", w.n, w.size))
		return w.err
	}
	_ = w.put.body.Close() // a pipe's never fails
	select {
	case <-w.put.done:
		w.err = w.put.err
	case <-ctx.Done():
		w.err = ctx.Err()
	}
	//guard: whatever a data node took for the whole would be committed
	if w.err == nil {
		w.err = w.store.settled(ctx, w.path, w.n, w.size >= 0)
	}
	if w.err != nil {
		w.err = w.wrap("write", w.err)
	}
	w.done = w.err == nil
	return w.err
}

// settled waits until a file is closed, and checks that it has n bytes and, if
// that is asked for, that they are one block.
func (s *Store) settled(ctx context.Context, p string, n int64, oneBlock bool) error {
	for end := time.Now().Add(s.settle); ; {
		st, err := s.status(ctx, p)
		if err != nil {
			return err
		}
		b, err := s.blocks(ctx, p, 0)
		if err != nil {
			return err
		}
		closed := b == nil || b.complete()
		late := time.Now().After(end)
		switch {
		//guard: a file that is striped over blocks would be committed
		case st.erasureCoded():
			return store.ErrErasureCoded
		case closed && st.Length == n:
			//guard: a file of two blocks would be committed
			if oneBlock && (st.BlockSize < n || b != nil && len(b.LocatedBlocks) > 1) {
				return fmt.Errorf("%d bytes are in blocks of %d: %w", n, st.BlockSize, store.ErrMismatch)
			}
			return nil
		//guard: a file that lost bytes would be waited for
		case closed && (b != nil || late):
			return fmt.Errorf("length %d after writing %d bytes: %w", st.Length, n, store.ErrMismatch)
		//guard: a file without an end would be waited for for ever
		case late:
			return fmt.Errorf("the last block is not complete: %w", store.ErrUnavailable)
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// Abort implements store.Writer.
func (w *writer) Abort() error {
	if w.done {
		return nil
	}
	w.done = true
	w.put.stop()
	//guard: the file of whoever was faster would be removed
	if errors.Is(w.put.err, store.ErrExist) {
		return nil // another's
	}
	ctx, cancel := store.Cleanup(w.ctx)
	defer cancel()
	_, err := w.store.delete(ctx, w.path, false)
	if err != nil {
		return w.wrap("remove", err)
	}
	return nil
}

// put is the request that carries a file.
type put struct {
	body   *io.PipeWriter
	cancel context.CancelFunc
	done   chan struct{}
	err    error // when done
}

func (s *Store) put(ctx context.Context, to *url.URL, size int64) *put {
	ctx, cancel := context.WithCancel(ctx)
	r, w := io.Pipe()
	p := &put{body: w, cancel: cancel, done: make(chan struct{})}
	// A request that ended waits for the reader of its body.
	context.AfterFunc(ctx, func() { _ = r.CloseWithError(ctx.Err()) }) // a pipe's never fails
	go func() {
		p.err = s.carry(ctx, to.String(), &upload{r, size})
		if whose(p.err) != notTheNodes && !s.isNameNode(to.Host) {
			s.nodes.failed(to.Host)
		}
		_ = r.CloseWithError(cmp.Or(p.err, errEarly)) // a pipe's never fails
		cancel()
		close(p.done) // not after a panic: the file would be taken for stored
	}()
	return p
}

// stop ends the request, if it is not over. The server then takes what it has
// for the whole.
func (p *put) stop() {
	p.cancel()
	<-p.done
}

// carry sends a file to a data node, and returns nil if that has it.
func (s *Store) carry(ctx context.Context, location string, up *upload) error {
	resp, err := s.send(ctx, http.MethodPut, location, nil, up)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusCreated && resp.StatusCode != http.StatusOK {
		return failure(resp)
	}
	finish(resp)
	return nil
}
