package hdfs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	client "github.com/colinmarc/hdfs/v2"

	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/cluster"
)

// Bits of a status's flags.
const (
	hasCrypt = 2
	hasEC    = 4
)

// Values of a status's file type.
const (
	isDir  = 1
	isFile = 2
)

// status describes a file or directory. The error is ErrNotExist if there is none.
func (se *session) status(p string) (*client.FileStatus, error) {
	a, err := se.call("getFileInfo", fields{"src": path.Clean(p)})
	if err != nil {
		return nil, err
	}
	status := a.status("fs")
	if status == nil {
		return nil, store.ErrNotExist
	}
	return status, checkLength(status)
}

// checkLength refuses an invalid length.
func checkLength(status *client.FileStatus) error {
	//guard: rejects a negative length
	if status.GetLength() > math.MaxInt64 {
		return fmt.Errorf("a file of %d bytes: %w", status.GetLength(), store.ErrUnavailable)
	}
	return nil
}

// checkSupported refuses files and directories that this client cannot read or write.
func checkSupported(status *client.FileStatus) error {
	//guard: refuses a directory with erasure coding
	if ec := status.GetEcPolicy(); ec != nil && ec.GetId() != 0 || ec == nil && status.GetFlags()&hasEC != 0 {
		if status.GetFileType() == isDir {
			// WebHDFS would write more than one block.
			return fmt.Errorf("files in it would be %w: they are not one block", store.ErrErasureCoded)
		}
		return fmt.Errorf("it is %w: use webhdfs:// to read it", store.ErrErasureCoded)
	}
	//guard: refuses an encryption zone
	if status.GetFileEncryptionInfo() != nil || status.GetFlags()&hasCrypt != 0 {
		return fmt.Errorf("it is %w: use webhdfs://", store.ErrEncrypted)
	}
	return nil
}

func infoOf(p string, status *client.FileStatus) store.Info {
	info := store.Info{
		Name:    path.Base(p),
		Path:    p,
		Dir:     status.GetFileType() == isDir,
		ModTime: time.UnixMilli(int64(status.GetModificationTime())),
		FileID:  status.GetFileId(),
	}
	if !info.Dir {
		info.Size = int64(status.GetLength())
	}
	return info
}

// Stat implements store.Store.
func (s *Store) Stat(ctx context.Context, p string) (info store.Info, err error) {
	err = s.runIdempotent(ctx, func(se *session) error {
		status, err := se.status(p)
		if err == nil {
			info = infoOf(p, status)
		}
		return err
	})
	return info, store.PathError("stat", p, err)
}

// access returns the owner and permissions of a file or directory.
func (s *Store) access(ctx context.Context, p string) (a store.Access, err error) {
	err = s.runIdempotent(ctx, func(se *session) error {
		status, err := se.status(p)
		if err == nil {
			a = store.Access{Owner: status.GetOwner(), Mode: fs.FileMode(status.GetPermission().GetPerm()) & fs.ModePerm}
		}
		return err
	})
	return a, store.PathError("stat", p, err)
}

// setMode sets the permissions of a file or directory.
func (s *Store) setMode(ctx context.Context, p string, mode fs.FileMode) error {
	return store.PathError("chmod", p, s.runIdempotent(ctx, func(se *session) error {
		_, err := se.call("setPermission", fields{"src": path.Clean(p), "permission": fields{"perm": uint32(mode.Perm())}})
		return err
	}))
}

// List implements store.Store.
func (s *Store) List(ctx context.Context, dir string) (infos []store.Info, err error) {
	err = s.runIdempotent(ctx, func(se *session) (err error) {
		infos, err = se.list(dir)
		return err
	})
	if err != nil {
		return nil, store.PathError("list", dir, err)
	}
	slices.SortFunc(infos, func(a, b store.Info) int { return strings.Compare(a.Name, b.Name) })
	return infos, nil
}

// list collects the entries of a directory. The name node sends them in order, in pages.
func (se *session) list(dir string) ([]store.Info, error) {
	infos := []store.Info{}
	listing := cluster.NewListing(se.store.callTimeout)
	for after := ""; ; {
		began := time.Now()
		a, err := se.call("getListing", fields{"src": path.Clean(dir), "startAfter": []byte(after), "needLocation": false})
		if err != nil {
			return nil, err
		}
		part, ok := a.message("dirList")
		if !ok {
			return nil, store.ErrNotExist
		}
		entries := part.field("partialListing").List()
		for i := range entries.Len() {
			status, _ := entries.Get(i).Message().Interface().(*client.FileStatus)
			name := string(status.GetPath())
			switch {
			//guard: distinguishes a file from a directory with one entry
			case name == "" && entries.Len() == 1: // dir itself
				return nil, syscall.ENOTDIR
			//guard: rejects a listing that goes back
			case name <= after:
				return nil, fmt.Errorf("%w: the name node lists %q after %q", store.ErrUnavailable, name, after)
			}
			if err := cmp.Or(cluster.CheckName(name), checkLength(status)); err != nil {
				return nil, err
			}
			after = name
			listing.Add(name)
			infos = append(infos, infoOf(path.Join(dir, name), status))
		}
		if err := listing.Page(time.Since(began)); err != nil {
			return nil, err
		}
		if part.field("remainingEntries").Uint() == 0 {
			return infos, nil
		}
		//guard: rejects an empty page that is not the last
		if entries.Len() == 0 {
			return nil, fmt.Errorf("%w: the name node sends an empty page that is not the last", store.ErrUnavailable)
		}
	}
}

// Rename implements store.Store.
func (s *Store) Rename(ctx context.Context, from, to string) error {
	return store.PathError("rename", from+" to "+to, s.rename(ctx, from, to, false))
}

func (s *Store) rename(ctx context.Context, from, to string, replace bool) error {
	return s.runOnce(ctx, func(se *session) error {
		_, err := se.call("rename2", fields{"src": path.Clean(from), "dst": path.Clean(to), "overwriteDest": replace})
		return err
	})
}

// Remove implements store.Store.
func (s *Store) Remove(ctx context.Context, p string) error {
	return store.PathError("remove", p, s.runOnce(ctx, func(se *session) error {
		existed, err := se.remove(p, false)
		if err == nil && !existed {
			err = store.ErrNotExist
		}
		return err
	}))
}

// RemoveAll implements store.Store.
func (s *Store) RemoveAll(ctx context.Context, p string) error {
	err := s.runIdempotent(ctx, func(se *session) error {
		_, err := se.remove(p, true)
		return err
	})
	if errors.Is(err, store.ErrNotExist) {
		return nil
	}
	return store.PathError("remove", p, err)
}

func (se *session) remove(p string, recursive bool) (existed bool, err error) {
	a, err := se.call("delete", fields{"src": path.Clean(p), "recursive": recursive})
	if err != nil {
		return false, err
	}
	return a.field("result").Bool(), nil
}

// Mkdir implements store.Store. The name node makes the directory only if the parent exists. It
// does not report a directory that exists already, so Mkdir looks up the name just before.
func (s *Store) Mkdir(ctx context.Context, p string) error {
	return store.PathError("mkdir", p, s.mkdir(ctx, p))
}

func (s *Store) mkdir(ctx context.Context, p string) error {
	_, err := s.Stat(ctx, p)
	//guard: reports a directory that existed before
	if err == nil {
		return store.ErrExist
	}
	if !errors.Is(err, store.ErrNotExist) {
		return err
	}
	return s.runOnce(ctx, func(se *session) error {
		a, err := se.call("mkdirs", fields{
			"src":          path.Clean(p),
			"masked":       fields{"perm": dirPerm &^ s.conf.Umask()},
			"unmasked":     fields{"perm": dirPerm},
			"createParent": false,
		})
		//guard: rejects an answer that no directory was made
		if err == nil && !a.field("result").Bool() {
			err = fmt.Errorf("%w: the name node makes no directory, and gives no reason", store.ErrUnavailable)
		}
		return err
	})
}
