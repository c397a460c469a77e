package webhdfs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"time"

	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/cluster"
)

const filePerm = 0o666

// Create implements store.Store. It returns when the file exists, so that a refusal comes before
// the first byte. If two writers create the same name at the same moment, one of them may get
// its error only from Commit. Its Abort keeps the file of the other writer.
func (s *Store) Create(ctx context.Context, p string, o store.CreateOptions) (store.Writer, error) {
	u := &upload{store: s, ctx: ctx, path: p, size: o.Size}
	err := s.checkCreate(ctx, p)
	if err == nil {
		err = u.begin()
	}
	if err != nil {
		return nil, store.PathError("create", p, err)
	}
	return store.NewWriter(ctx, p, o.Size, u), nil
}

// checkCreate makes the checks that a server lacks, or makes only at the first byte.
func (s *Store) checkCreate(ctx context.Context, p string) error {
	parent, err := s.parent(ctx, p)
	if err != nil {
		return err
	}
	//guard: refuses a directory with erasure coding
	if parent.erasureCoded() {
		return fmt.Errorf("%s is %w, so no file in it is one block", path.Dir(p), store.ErrErasureCoded)
	}
	//guard: finds a taken name before the upload
	return s.checkVacant(ctx, p)
}

// creation is the call that creates a file with a block size. -1 means the server's default.
func (s *Store) creation(p string, blockSize int64, overwrite bool) call {
	query := map[string]string{
		"overwrite":          strconv.FormatBool(overwrite),
		"createparent":       "false",
		"permission":         mode(filePerm &^ s.conf.Umask()),
		"unmaskedpermission": mode(filePerm),
	}
	if blockSize >= 0 {
		query["blocksize"] = strconv.FormatInt(blockSize, 10)
	}
	if s.replication > 0 {
		query["replication"] = strconv.Itoa(s.replication)
	}
	return call{method: http.MethodPut, op: "CREATE", path: p, query: query}
}

// upload is a new file, which one request carries.
type upload struct {
	store *Store
	ctx   context.Context // context of Create
	path  string
	size  int64 // promised, or -1
	put   *put
}

// begin starts the upload. If the server wants larger blocks, it starts the upload again.
func (u *upload) begin() error {
	for {
		blockSize := int64(-1)
		if u.size >= 0 {
			blockSize = u.store.blockSize.For(u.size, 0)
		}
		err := u.store.dispatch(u.ctx, u.store.creation(u.path, blockSize, false), u.start)
		remote, ok := asRemote(err)
		if !ok || blockSize < 0 || !u.store.blockSize.Learn(remote.Message, blockSize) {
			return err
		}
	}
}

func (u *upload) start(to *url.URL, resp *http.Response) (fault, error) {
	if to == nil {
		finish(resp)
		return nodeNotAtFault, invalidAnswer("no data node")
	}
	u.put = u.store.put(u.ctx, to, u.size)
	f, err := u.waitUntilCreated(to.Host)
	if err != nil {
		u.put.stop()
	}
	//guard: removes a temporary file that may be half written
	if f == nodeFailedHalfway && store.IsTemp(path.Base(u.path)) {
		// No other writer has this name, so the file that the node may have begun is useless.
		ctx, cancel := store.Cleanup(u.ctx)
		defer cancel()
		_, _ = u.store.delete(ctx, u.path, false)
	}
	return f, err
}

// waitUntilCreated waits until the file exists, or its upload is over.
func (u *upload) waitUntilCreated(node string) (fault, error) {
	end := time.Now().Add(u.store.silence)
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		select {
		case <-u.put.done:
			return classifyFaultOnce(u.put.err), u.put.err
		case <-time.After(wait):
		}
		_, err := u.store.status(u.ctx, u.path)
		switch {
		case err == nil:
			return nodeNotAtFault, nil
		case !errors.Is(err, store.ErrNotExist):
			return nodeNotAtFault, err
		//guard: bounds the wait for a data node that begins no file
		case time.Now().After(end):
			return nodeFailedHalfway, fmt.Errorf("%s began no file for %v: %w", node, u.store.silence, store.ErrUnavailable)
		}
	}
}

// Write implements store.Upload.
func (u *upload) Write(p []byte) (int, error) {
	n, err := u.put.body.Write(p)
	if err != nil {
		<-u.put.done
		err = cmp.Or(u.put.err, errEarly)
	}
	return n, err
}

// errEarly means that a server ended an upload early.
var errEarly = fmt.Errorf("the server ended the upload: %w", store.ErrUnavailable)

// Finish implements store.Upload.
func (u *upload) Finish(ctx context.Context, n int64) error {
	_ = u.put.body.Close() // Close of a pipe never fails
	select {
	case <-u.put.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	err := u.put.err
	//guard: checks what a data node stored
	if err == nil {
		err = u.store.waitUntilStored(ctx, u.path, n, u.size >= 0)
	}
	return err
}

// waitUntilStored waits until a file is closed, and checks that it has n bytes. If oneBlock is
// set, they must be in one block.
func (s *Store) waitUntilStored(ctx context.Context, p string, n int64, oneBlock bool) error {
	return cluster.Settle(ctx, s.settle, n, oneBlock, func() (cluster.Stored, error) {
		st, err := s.status(ctx, p)
		if err != nil {
			return cluster.Stored{}, err
		}
		f := cluster.Stored{Length: st.Length, BlockSize: st.BlockSize, Striped: st.erasureCoded()}
		b, err := s.blocks(ctx, p, 0)
		if b != nil {
			f.Known, f.Open, f.Blocks = true, !b.complete(), len(b.LocatedBlocks)
		}
		return f, err
	})
}

// Abandon implements store.Upload.
func (u *upload) Abandon() error {
	u.put.stop()
	//guard: keeps the file of a faster writer
	if errors.Is(u.put.err, store.ErrExist) {
		return nil // the file belongs to another writer
	}
	ctx, cancel := store.Cleanup(u.ctx)
	defer cancel()
	_, err := u.store.delete(ctx, u.path, false)
	return err
}

// put is the request that carries a file.
type put struct {
	body   *io.PipeWriter
	cancel context.CancelFunc
	done   chan struct{}
	err    error // set when done is closed
}

func (s *Store) put(ctx context.Context, to *url.URL, size int64) *put {
	ctx, cancel := context.WithCancel(ctx)
	r, w := io.Pipe()
	p := &put{body: w, cancel: cancel, done: make(chan struct{})}
	// After ctx ends, a request still waits until a Read of its body returns.
	context.AfterFunc(ctx, func() { _ = r.CloseWithError(ctx.Err()) }) // Close of a pipe never fails
	go func() {
		p.err = s.sendFile(ctx, to.String(), &content{r, size})
		if classifyFault(p.err) != nodeNotAtFault && !s.isNameNode(to.Host) {
			s.nodes.failed(to.Host)
		}
		_ = r.CloseWithError(cmp.Or(p.err, errEarly)) // Close of a pipe never fails
		cancel()
		close(p.done) // not deferred: after a panic the file must not count as stored
	}()
	return p
}

// stop ends the request, if it is not over. The server then treats the bytes that it has as the
// whole file.
func (p *put) stop() {
	p.cancel()
	<-p.done
}

// sendFile sends a file to a data node, and returns nil once the node has it.
func (s *Store) sendFile(ctx context.Context, location string, up *content) error {
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
