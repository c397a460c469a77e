package hdfs

import (
	"cmp"
	"context"
	"errors"
	"path"
	"syscall"

	client "github.com/colinmarc/hdfs/v2"

	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/cluster"
)

// Create implements store.Store. If the size is given, the file must have that size, and gets
// a block size that holds the whole file.
func (s *Store) Create(ctx context.Context, p string, o store.CreateOptions) (store.Writer, error) {
	u, err := s.create(ctx, p, o.Size)
	if err != nil {
		return nil, store.PathError("create", p, err)
	}
	return store.NewWriter(ctx, p, o.Size, u), nil
}

func (s *Store) create(ctx context.Context, p string, size int64) (*upload, error) {
	d, err := s.serverDefaults(ctx)
	if err != nil {
		return nil, err
	}
	//guard: refuses a directory with erasure coding or encryption
	if err := s.runIdempotent(ctx, func(se *session) error { return se.checkDir(path.Dir(path.Clean(p))) }); err != nil {
		return nil, err
	}
	u := &upload{ctx: ctx, path: p, oneBlock: size >= 0}
	u.lease, err = s.begin(ctx, false, func(se *session) (err error) {
		se.uploads.Store(true)
		u.file, err = se.create(p, cmp.Or(s.replication, d.replication), size, d)
		return err
	})
	if err != nil {
		return nil, err
	}
	return u, nil
}

// checkDir returns an error if no file can be created in a directory.
func (se *session) checkDir(dir string) error {
	status, err := se.status(dir)
	switch {
	case errors.Is(err, store.ErrNotExist):
		return store.ErrNoParent
	//guard: refuses a file whose directory has an unknown status
	case err != nil:
		return err
	//guard: refuses a file below a file
	case status.GetFileType() != isDir:
		return syscall.ENOTDIR
	}
	return checkSupported(status)
}

func (se *session) create(p string, replication int, size int64, d *defaults) (*client.FileWriter, error) {
	for {
		blockSize := d.blockSize
		if size >= 0 {
			blockSize = se.store.blockSize.For(size, d.bytesPerChecksum)
		}
		f, err := se.createFile(path.Clean(p), replication, blockSize)
		var remote client.Error
		switch {
		case size >= 0 && errors.As(err, &remote) && se.store.blockSize.Learn(remote.Message(), blockSize):
			continue
		case errors.As(err, &remote) && errors.Is(cluster.Remote(remote.Exception(), remote.Message()), store.ErrNotExist):
			return nil, store.ErrNoParent
		}
		return f, err
	}
}

// The permissions of new files and directories before the umask. In a directory with a default
// access control list, the list takes the place of the umask, so the name node needs both.
const (
	filePerm uint32 = 0o666
	dirPerm  uint32 = 0o777
)

// createFile creates a file. The library's own function does not send the permissions before the
// umask.
func (se *session) createFile(p string, replication int, blockSize int64) (*client.FileWriter, error) {
	id, err := clientName(se.rpc)
	if err != nil {
		return nil, err
	}
	a, err := se.call("create", fields{
		"src": p, "clientName": id, "createFlag": uint32(1), "createParent": false,
		"masked": fields{"perm": filePerm &^ se.store.conf.Umask()}, "unmasked": fields{"perm": filePerm},
		"replication": uint32(replication), "blockSize": uint64(blockSize), // neither is negative
	})
	if err != nil {
		return nil, err
	}
	status, _ := a.message("fs")
	return newWriter(se.client, p, replication, blockSize, status.field("fileId").Uint())
}

// upload writes one file in a session of its own.
type upload struct {
	ctx      context.Context // context of Create
	lease    *lease
	path     string
	oneBlock bool // the file must be one block
	file     *client.FileWriter
}

// Write implements store.Upload.
func (u *upload) Write(p []byte) (int, error) {
	n, err := u.file.Write(p)
	return n, translate(u.ctx, u.lease.session, err)
}

// Finish implements store.Upload. It closes the file and waits until it is stored as
// requested.
func (u *upload) Finish(ctx context.Context, n int64) error {
	stop := context.AfterFunc(ctx, u.lease.kill)
	u.lease.closing.Store(true)
	err := u.file.Close()
	//guard: keeps the error of a failed close
	if err == nil || client.IsErrReplicating(err) {
		err = cluster.Settle(ctx, u.lease.store.confirmTime, n, u.oneBlock, func() (cluster.Stored, error) {
			if client.IsErrReplicating(err) {
				err = u.file.Close()
			}
			if client.IsErrReplicating(err) {
				return cluster.Stored{Open: true}, nil
			}
			if err != nil {
				return cluster.Stored{}, err
			}
			return u.readState(n)
		})
	}
	if !stop() {
		u.lease.kill()
	}
	if err != nil {
		return translate(ctx, u.lease.session, err)
	}
	u.lease.closing.Store(false)
	u.lease.end()
	return nil
}

// readState asks the name node for the state of the closed file of n bytes.
func (u *upload) readState(n int64) (cluster.Stored, error) {
	status, err := u.lease.status(u.path)
	if err != nil {
		return cluster.Stored{}, err
	}
	b, err := u.lease.blocks(u.path, max(n, 1))
	return cluster.Stored{
		//guard: refuses to commit a file whose blocks are too short
		Length:    min(int64(status.GetLength()), b.length),
		BlockSize: int64(status.GetBlocksize()), Blocks: b.count, Open: b.open || !b.complete, Known: true,
	}, err
}

// Abandon implements store.Upload. It drops pending bytes and removes the file in bounded time,
// even if the context of Create has ended.
func (u *upload) Abandon() error {
	//guard: ends the lease of an abandoned upload
	u.lease.endFile(u.file)
	u.lease.end()
	ctx, cancel := store.Cleanup(u.ctx)
	defer cancel()
	return u.lease.store.RemoveAll(ctx, u.path)
}

// WriteFile implements store.Store.
func (s *Store) WriteFile(ctx context.Context, p string, data []byte, exclusive bool) error {
	return store.WriteByRename(ctx, s, p, data, func(temp string) error { return s.rename(ctx, temp, p, !exclusive) })
}
