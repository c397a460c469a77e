package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"time"

	client "github.com/colinmarc/hdfs/v2"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/cluster"
)

// Open implements store.Store.
func (s *Store) Open(ctx context.Context, p string) (store.File, error) {
	info, err := s.open(ctx, p)
	if err != nil {
		return nil, store.PathError("open", p, err)
	}
	return store.NewStreamFile(ctx, s, info, &file{store: s, Info: info}), nil
}

// open describes a file that can be read.
func (s *Store) open(ctx context.Context, p string) (info store.Info, err error) {
	if _, err := s.serverDefaults(ctx); err != nil {
		return info, err
	}
	err = s.runIdempotent(ctx, func(se *session) error {
		status, err := se.status(p)
		if err != nil {
			return err
		}
		//guard: rejects a directory
		if status.GetFileType() != isFile {
			return store.ErrNotRegular
		}
		//guard: rejects encrypted and striped files
		if err := checkSupported(status); err != nil {
			return err
		}
		b, err := se.blocks(p, 1)
		if err != nil {
			return err
		}
		//guard: rejects a file that is being written
		if b.open {
			return store.ErrBeingWritten
		}
		info = infoOf(p, status)
		return nil
	})
	return info, err
}

// blocks describes a file's blocks, as the name node reports them.
type blocks struct {
	length   int64
	count    int  // number of blocks in the requested range
	open     bool // a writer has not closed the file
	complete bool // a data node confirmed the last block, or the file has no blocks
}

func (se *session) blocks(p string, length int64) (blocks, error) {
	l, err := se.locate(p, 0, length)
	if err != nil {
		return blocks{}, err
	}
	_, last := l.message("lastBlock")
	return blocks{
		length:   int64(l.field("fileLength").Uint()),
		count:    l.field("blocks").List().Len(),
		open:     l.field("underConstruction").Bool(),
		complete: !last || l.field("isLastBlockComplete").Bool(),
	}, nil
}

// locate returns what the name node says of the blocks that have length bytes from offset off.
func (se *session) locate(p string, off, length int64) (answer, error) {
	a, err := se.call("getBlockLocations", fields{"src": path.Clean(p), "offset": uint64(off), "length": uint64(length)})
	if err != nil {
		return answer{}, err
	}
	l, ok := a.message("locations")
	if !ok {
		return answer{}, store.ErrNotExist
	}
	return l, nil
}

// file opens streams of a file. It rejects another file that has the same name.
type file struct {
	store.Info
	store *Store
}

// OpenAt implements store.Opener.
func (f *file) OpenAt(ctx context.Context, off, length int64) (io.ReadCloser, error) {
	r := &reader{ctx: ctx, file: f, left: length, pace: cluster.NewPace(streamTimeouts * f.store.dataTimeout)}
	lease, err := f.store.begin(ctx, true, func(se *session) (err error) {
		r.inner, err = f.openAt(se, off, r.left)
		return err
	})
	if err != nil {
		return nil, err
	}
	r.lease = lease
	return r, nil
}

// openAt returns a reader of length bytes from offset off. By itself, the library asks a data node
// for the rest of the block, and the node sends as much as fits into the network's buffers.
func (f *file) openAt(se *session, off, length int64) (*client.FileReader, error) {
	found, err := se.locate(f.Path, off, length)
	if err != nil {
		return nil, err
	}
	// The blocks were found by name. They belong to the file only if it still has the name.
	inner, err := se.client.Open(path.Clean(f.Path))
	if err != nil {
		return nil, err
	}
	status, ok := inner.Stat().Sys().(*client.FileStatus)
	//guard: rejects a file that was replaced between two streams
	if !ok || status.GetFileId() != f.FileID || int64(status.GetLength()) != f.Size {
		return nil, store.ErrReplaced
	}
	list := found.field("blocks").List()
	for i := range list.Len() {
		cutBlock(answer{list.Get(i).Message()}, off+length)
	}
	if err := setBlocks(inner, list); err != nil {
		return nil, err
	}
	_, err = inner.Seek(off, io.SeekStart)
	return inner, err
}

// cutBlock makes a block end at an offset of its file, if the block ends later.
func cutBlock(located answer, end int64) {
	if block, ok := located.message("b"); ok {
		field := block.Descriptor().Fields().ByName("numBytes")
		most := max(end-int64(located.field("offset").Uint()), 0)
		block.Set(field, protoreflect.ValueOfUint64(min(block.Get(field).Uint(), uint64(most))))
	}
}

// reader is one stream of a file.
type reader struct {
	ctx   context.Context
	file  *file
	inner *client.FileReader
	lease *lease
	left  int64         // bytes that are left
	pace  *cluster.Pace // pace of all data nodes together
}

// streamTimeouts is for how many timeouts of a data node a stream may be too slow. It is the
// usual number of replicas plus one.
const streamTimeouts = 4

func (r *reader) Read(p []byte) (n int, err error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	defer func() {
		// The library trusts the lengths that a data node sends.
		if thrown := recover(); thrown != nil {
			n, err = 0, fmt.Errorf("%w: a data node sends invalid data: %v", store.ErrUnavailable, thrown)
		}
	}()
	r.lease.dials.Store(0)
	began := time.Now()
	n, err = r.readVerified(p[:min(int64(len(p)), r.left)])
	r.pace.Count(time.Since(began), int64(n))
	// Each data node has its own timeout. This check bounds the time of several slow nodes.
	if err == nil && r.pace.Left() == 0 {
		err = r.pace.Err()
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return 0, translate(r.ctx, r.lease.session, err)
	}
	r.left -= int64(n)
	return n, nil
}

// readVerified reads bytes that match their checksums. If a data node fails, or sends bytes with a wrong
// checksum, the library returns the bytes of that read as if they were sound. They are read again, from
// another data node if there is one.
func (r *reader) readVerified(p []byte) (n int, err error) {
	for range streamTimeouts {
		if n, err = r.inner.Read(p); n == 0 || err != nil {
			return 0, err
		}
		lost, err := streamLost(r.inner)
		if err != nil || !lost {
			return n, err
		}
		//guard: drops bytes that do not match their checksums
		if _, err := r.inner.Seek(-int64(n), io.SeekCurrent); err != nil {
			return 0, err
		}
	}
	return 0, fmt.Errorf("%w: data nodes fail, or send bytes that do not match their checksums", store.ErrUnavailable)
}

func (r *reader) Close() error {
	_ = r.inner.Close() // only read
	r.lease.end()
	return nil
}

// maxReplaced is how often ReadFile restarts because the file was replaced.
const maxReplaced = 10

// ReadFile implements store.Store.
func (s *Store) ReadFile(ctx context.Context, p string, limit int64) ([]byte, error) {
	for try := 1; ; try++ {
		f, err := s.Open(ctx, p)
		data, err := store.ReadWhole(f, err, limit)
		switch {
		case errors.Is(err, store.ErrReplaced) && try < maxReplaced:
			continue
		case errors.Is(err, store.ErrReplaced):
			err = fmt.Errorf("%w: %v, at each of %d tries", store.ErrUnavailable, err, try)
		}
		return data, store.PathError("read", p, err)
	}
}
