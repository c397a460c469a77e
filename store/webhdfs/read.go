package webhdfs

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/cluster"
)

// Open implements store.Store.
func (s *Store) Open(ctx context.Context, p string) (store.File, error) {
	st, err := s.closedFile(ctx, p)
	if err != nil {
		return nil, store.PathError("open", p, err)
	}
	return store.NewStreamFile(ctx, s, st.info(p), &opener{s, p}), nil
}

// closedFile describes a file that has no writer.
func (s *Store) closedFile(ctx context.Context, p string) (status, error) {
	st, err := s.status(ctx, p)
	//guard: rejects a directory
	if err == nil && st.Type != "FILE" {
		err = store.ErrNotRegular
	}
	var b *blocks
	if err == nil {
		b, err = s.blocks(ctx, p, max(st.Length-1, 0))
	}
	//guard: rejects a file that is being written
	if err == nil && b != nil && b.IsUnderConstruction {
		err = store.ErrBeingWritten
	}
	return st, err
}

type opener struct {
	store *Store
	path  string
}

// OpenAt implements store.Opener. If a data node fails, the stream continues at another.
func (o *opener) OpenAt(ctx context.Context, off, length int64) (io.ReadCloser, error) {
	r := &stream{opener: o, ctx: ctx, off: off, left: length, pace: cluster.NewPace((1 + maxNodes) * o.store.silence)}
	if err := r.connect(); err != nil {
		return nil, err
	}
	return r, nil
}

// stream reads from an offset on.
type stream struct {
	*opener
	ctx   context.Context
	off   int64
	left  int64
	body  io.ReadCloser
	node  string        // data node of body; empty if the name node sends it
	tries int           // failed tries since the last byte
	pace  *cluster.Pace // pace of all servers together
}

func (r *stream) connect() error {
	query := map[string]string{"length": strconv.FormatInt(r.left, 10)}
	if r.off > 0 {
		query["offset"] = strconv.FormatInt(r.off, 10)
	}
	resp, node, err := r.store.get(r.ctx, call{method: http.MethodGet, op: "OPEN", path: r.path, query: query})
	if err != nil {
		return err
	}
	r.body, r.node = resp.Body, node
	return nil
}

// get opens the data of a call, and returns the answer and its data node.
func (s *Store) get(ctx context.Context, c call) (got *http.Response, node string, err error) {
	err = s.dispatch(ctx, c, func(to *url.URL, resp *http.Response) (fault, error) {
		if to == nil {
			got, node = resp, ""
			return nodeNotAtFault, nil
		}
		resp, err := s.send(ctx, http.MethodGet, to.String(), nil, nil)
		//guard: rejects an answer that is not the file's bytes
		if err == nil && resp.StatusCode != http.StatusOK {
			err = failure(resp)
		}
		got, node = resp, to.Host
		return classifyFault(err), err
	})
	return got, node, err
}

// errShort means that an answer is shorter than requested.
var errShort = fmt.Errorf("the data ended early: %w", store.ErrUnavailable)

func (r *stream) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), r.left)]
	for {
		began := time.Now()
		n, err := r.body.Read(p)
		r.pace.Count(time.Since(began), int64(n))
		r.off += int64(n)
		r.left -= int64(n)
		if n > 0 {
			r.tries = 0
			return n, nil
		}
		if err == io.EOF {
			err = errShort
		}
		//guard: bounds how often a read is tried again
		if err == nil || r.ctx.Err() != nil || r.tries == maxNodes {
			return 0, err
		}
		//guard: bounds the time for reading from slow servers
		if r.pace.Left() == 0 {
			return 0, err
		}
		r.tries++
		_ = r.body.Close() // only read
		if r.node != "" {
			r.store.nodes.failed(r.node)
		}
		began = time.Now()
		if again := r.connect(); again != nil {
			return 0, again
		}
		r.pace.Count(time.Since(began), 0)
	}
}

func (r *stream) Close() error { return r.body.Close() }

const (
	// rewriteTime is how long ReadFile waits for a file that is being written.
	rewriteTime = 2 * time.Second
	rewritePoll = 20 * time.Millisecond
)

// ReadFile implements store.Store. It waits briefly if the file is being overwritten, because
// over HttpFS WriteFile overwrites files.
func (s *Store) ReadFile(ctx context.Context, p string, max int64) ([]byte, error) {
	for end := time.Now().Add(rewriteTime); ; {
		data, whole, err := s.readFile(ctx, p, max)
		if err != nil {
			return nil, store.PathError("read", p, err)
		}
		if whole || time.Now().After(end) {
			return data, nil
		}
		if err := store.Sleep(ctx, rewritePoll); err != nil {
			return nil, err
		}
	}
}

// readFile reads a file once. whole is whether the file was closed and had as many bytes as were
// read.
func (s *Store) readFile(ctx context.Context, p string, max int64) (data []byte, whole bool, err error) {
	resp, _, err := s.get(ctx, call{method: http.MethodGet, op: "OPEN", path: p})
	if err != nil {
		return nil, false, err
	}
	defer finish(resp)
	data, err = readUpTo(resp.Body, max+1)
	if err != nil {
		return nil, false, err
	}
	//guard: rejects a file of more than max bytes
	if int64(len(data)) > max {
		return nil, false, fmt.Errorf("at most %d bytes were expected: %w", max, store.ErrTooLarge)
	}
	b, err := s.blocks(ctx, p, 0)
	if err != nil {
		return nil, false, err
	}
	return data, b == nil || !b.IsUnderConstruction && b.FileLength == int64(len(data)), nil
}
