package store

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"path"
	"strings"
	"time"

	"github.com/rowtocol/rowtocol/internal/lazyregexp"
)

// Store is one place that holds files. Its methods may be called concurrently. Every
// method obeys its context. If the context ends, the call has done all of its work or none, as
// far as the storage can know.
//
// When Rename, Remove, RemoveAll, Mkdir, WriteFile or a Writer's Commit returns nil, its
// change is durable. Every earlier change of names in the same directories, by any process, is
// then durable, too. Other changes are durable only after such a call in their directory. The
// methods document what a call leaves if a power cut or the end of its process interrupts it.
type Store interface {
	// Open opens a file for reading. The error is ErrNotExist if there is no file, and
	// ErrNotRegular if path is not a regular file. On remote storage it is ErrBeingWritten if
	// a writer still has the file open. ctx bounds the reads, too.
	Open(ctx context.Context, path string) (File, error)
	// Create creates a file. The error is ErrNoParent if the directory does not exist, and
	// ErrExist if the name exists. ctx bounds the writes, too. Until Commit returns nil, a
	// power cut leaves nothing or any part of the file, perhaps with other bytes at the end.
	// This holds even if the file was renamed.
	Create(ctx context.Context, path string, o CreateOptions) (Writer, error)
	// Stat describes a file or directory. The error is ErrNotExist if there is none.
	Stat(ctx context.Context, path string) (Info, error)
	// List describes the entries of a directory, sorted by name, hidden names included.
	List(ctx context.Context, dir string) ([]Info, error)
	// Rename moves a file or directory. It never replaces or merges: the error is ErrExist if
	// to exists. When it returns nil, the change is durable. If interrupted, it leaves one of
	// the names. But if the file system cannot refuse to replace in one step, a file may have
	// both names, and next to a directory with its old name there may be an empty directory
	// with the new name.
	Rename(ctx context.Context, from, to string) error
	// Remove removes a file or an empty directory. The error is ErrNotExist if there is none.
	// When it returns nil, the change is durable. If interrupted, it did its work or not.
	Remove(ctx context.Context, path string) error
	// RemoveAll removes path and everything below it. It does nothing if path does not exist.
	// When it returns nil, the removal is durable. If interrupted, it leaves any part of the
	// tree.
	RemoveAll(ctx context.Context, path string) error
	// Mkdir makes one directory. The error is ErrNoParent if the parent does not exist, and
	// ErrExist if the name exists. When Mkdir returns nil or ErrExist, the name and the
	// parent directory are durable. If interrupted, it did its work or not.
	//
	// HDFS does not report a directory that exists already, so the name is looked up first.
	// If two processes make the same directory at the same moment, both may succeed. If it
	// matters which process made a directory, use a new random name.
	Mkdir(ctx context.Context, path string) error
	// ReadFile returns the content of a small file. The error is ErrTooLarge if the file has
	// more than max bytes.
	ReadFile(ctx context.Context, path string, max int64) ([]byte, error)
	// WriteFile makes a small file durably. If exclusive is set, it does not replace a file:
	// the error is then ErrExist, and of several writers one succeeds. Otherwise it replaces
	// a file atomically: a reader finds the old or the new content. If interrupted, it leaves
	// the old or the new file at path, and perhaps a file whose name IsTemp recognizes, with
	// any part of the data.
	WriteFile(ctx context.Context, path string, data []byte, exclusive bool) error
}

// File is an open file. ReadAt may be called concurrently. If a read fails because remote
// storage no longer has the file, the error is ErrNotExist, or ErrReplaced if another file has
// the name.
type File interface {
	io.ReaderAt
	io.Closer
	// Size is the length in bytes when the file was opened.
	Size() int64
	// Name is the path that was opened.
	Name() string
}

// RangeReader is a File that can also be read without read-ahead. It is for readers that know
// which bytes they need next.
type RangeReader interface {
	// ReadRange is like ReadAt, but asks the storage for exactly these bytes and does
	// not affect the read-ahead of ReadAt.
	ReadRange(p []byte, off int64) (int, error)
}

// ReadRange reads a range of a file with the file's method ReadRange. If the file is not a
// RangeReader, it uses ReadAt.
func ReadRange(f File, p []byte, off int64) (int, error) {
	if r, ok := f.(RangeReader); ok {
		return r.ReadRange(p, off)
	}
	return f.ReadAt(p, off)
}

// Identity distinguishes a file from other files that have the same name at other times.
// Compare it with ==. Fields that the storage does not know are 0.
type Identity struct {
	ID      uint64 // see Info.FileID
	Changed int64  // time of the last change, in nanoseconds since 1970
}

// Identified is a File that has an Identity.
type Identified interface {
	Identity() Identity
}

// IdentityOf returns the identity of a file. It is zero if f is not Identified. If two files
// that were opened under one name have different identities, one replaced the other.
func IdentityOf(f File) Identity {
	if i, ok := f.(Identified); ok {
		return i.Identity()
	}
	return Identity{}
}

// CreateOptions describe a new file.
type CreateOptions struct {
	// Size is the exact final length in bytes, or -1 if it is not known. If it is known, a
	// store with blocks chooses a block size that holds the file, and Commit fails if more
	// or fewer bytes were written.
	Size int64
}

// Writer writes a new file from its start to its end. It is used by one
// goroutine. After a failed Write all later calls but Abort fail with the
// first error.
type Writer interface {
	io.Writer
	// Commit makes the file and its name durable, closes it, and checks its length. If
	// the storage has blocks and the size was given, it also checks that the file is
	// one block. After an error the file still exists until Abort removes it.
	Commit(ctx context.Context) error
	// Abort closes and removes the file. After a Commit that returned nil it does
	// nothing, so it can be deferred. The removal is not durable.
	Abort() error
}

// Info describes a file or directory.
type Info struct {
	Name    string // last element of Path
	Path    string
	Size    int64 // bytes; 0 for a directory
	Dir     bool
	ModTime time.Time
	// Link is whether the name itself is a symbolic link. The other fields then describe the
	// target, or the link if the target does not exist. Only local disk sets Link.
	Link bool
	// FileID is a number that stays with the file when the file is renamed. It is 0 if the
	// storage has no such numbers.
	FileID uint64
}

// identity returns the identity of the file at the time when i was made.
func (i Info) identity() Identity { return Identity{ID: i.FileID, Changed: i.ModTime.UnixNano()} }

// Location is a place on a store.
type Location struct {
	Store Store
	// Origin is the canonical scheme and authority of remote storage. It is empty for local
	// files. Origin + Path resolves to the same place.
	Origin string
	Path   string
}

// TempName returns a path in the directory of p, with a new name at each call, for a file that
// will be renamed to p when it is complete. The name is hidden, and IsTemp recognizes it. File
// systems accept its length, however long p is.
func TempName(p string) string {
	const most = 200 // of the 255 bytes that file systems accept
	dir, base := path.Split(p)
	base = strings.ToValidUTF8(base[:min(len(base), most)], "")
	return fmt.Sprintf("%s.%s.%016x.tmp", dir, base, rand.Uint64())
}

// Hidden reports whether Hadoop's readers of directories skip a name. The name has no
// directory.
func Hidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

var tempName = lazyregexp.New(`^\..+\.[0-9a-f]{16}\.tmp$`)

// IsTemp reports whether name, which has no directory, comes from TempName. If the run that
// made the file has ended, nothing needs the file any more.
func IsTemp(name string) bool { return tempName.MatchString(name) }
