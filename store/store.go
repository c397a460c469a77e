package store

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"path"
	"regexp"
	"strings"
	"time"
)

// Store is one place that holds files. Its methods may be called concurrently. Every
// method obeys its context: if that ends, the call has done all of its work or none, as
// far as the storage can know.
//
// When Rename, Remove, RemoveAll, Mkdir, WriteFile or a Writer's Commit returns nil,
// its change is durable, and so is every earlier change of names in the same
// directories, by any process. Other changes are durable only after such a call there.
// The methods document what an interrupted call leaves after a power cut or the end of
// its process.
type Store interface {
	// Open opens a file for reading; ErrNotExist if there is none. It refuses anything
	// but a regular file and, on remote storage, a file that a writer still has open:
	// ErrBeingWritten. ctx bounds the reads, too.
	Open(ctx context.Context, path string) (File, error)
	// Create creates a file, in a directory that exists (else ErrNoParent) and under a
	// name that does not (else ErrExist). ctx bounds the writes, too. Until Commit
	// returns nil, a power cut leaves nothing or any part of the file, perhaps with
	// other bytes at its end, even if it was renamed.
	Create(ctx context.Context, path string, o CreateOptions) (Writer, error)
	// Stat describes a file or directory; ErrNotExist if there is none.
	Stat(ctx context.Context, path string) (Info, error)
	// List describes the entries of a directory, sorted by name, hidden names included.
	List(ctx context.Context, dir string) ([]Info, error)
	// Rename moves a file or directory. It never replaces or merges: ErrExist if to
	// exists. When it returns nil, the change is durable. If interrupted, it leaves one
	// of the names. If the file system cannot refuse to replace in one step, a file may
	// have both names, and a directory its old one with an empty directory under the
	// new one.
	Rename(ctx context.Context, from, to string) error
	// Remove removes a file or an empty directory; ErrNotExist if there is none. When
	// it returns nil, the change is durable. If interrupted, it did its work or not.
	Remove(ctx context.Context, path string) error
	// RemoveAll removes path and everything below it; if nothing exists, it does
	// nothing. When it returns nil, the removal is durable. If interrupted, it leaves
	// any part of the tree.
	RemoveAll(ctx context.Context, path string) error
	// Mkdir makes one directory, in a directory that exists (else ErrNoParent) and
	// under a name that does not (else ErrExist). When it returns nil or ErrExist, that
	// name and its parent directory are durable. If interrupted, it did its work or
	// not.
	//
	// HDFS does not report a directory that exists already. So the name is looked up
	// first, and if two processes make the same directory at the same moment, both may
	// succeed. If it matters who made it, use a new random name.
	Mkdir(ctx context.Context, path string) error
	// ReadFile returns the content of a small file; ErrTooLarge if it has more than max
	// bytes.
	ReadFile(ctx context.Context, path string, max int64) ([]byte, error)
	// WriteFile makes a small file durably. With exclusive, it keeps an existing file
	// (ErrExist), and one of several writers wins. Otherwise it replaces an existing
	// file atomically: a reader finds the old or the new content. If interrupted, it
	// leaves the old or the new file at path, and perhaps a file whose name IsTemp
	// recognizes, with any part of the data.
	WriteFile(ctx context.Context, path string, data []byte, exclusive bool) error
}

// File is an open file. ReadAt may be called concurrently. If remote storage no longer
// has the file, a read that fails returns ErrNotExist, or ErrReplaced if another file
// has the name.
type File interface {
	io.ReaderAt
	io.Closer
	// Size is the length in bytes when the file was opened.
	Size() int64
	// Name is the path that was opened.
	Name() string
}

// RangeReader is a File that can also be read without read-ahead, for readers that know
// better than the storage which bytes they need next.
type RangeReader interface {
	// ReadRange is like ReadAt, but asks the storage for exactly these bytes and does
	// not affect the read-ahead of ReadAt.
	ReadRange(p []byte, off int64) (int, error)
}

// ReadRange reads a range of a file with the file's own ReadRange, or with ReadAt if it
// has none.
func ReadRange(f File, p []byte, off int64) (int, error) {
	if r, ok := f.(RangeReader); ok {
		return r.ReadRange(p, off)
	}
	return f.ReadAt(p, off)
}

// Identity distinguishes a file from others that have its name at other times. Compare
// it with ==. Fields that the storage does not know are 0.
type Identity struct {
	ID      uint64 // see Info.FileID
	Changed int64  // time of the last change, in nanoseconds since 1970
}

// Identified is a File that knows which file it is.
type Identified interface {
	Identity() Identity
}

// IdentityOf returns the identity of a file, zero if it has none. If two files that
// were opened under one name have different identities, one replaced the other.
func IdentityOf(f File) Identity {
	if i, ok := f.(Identified); ok {
		return i.Identity()
	}
	return Identity{}
}

// CreateOptions describe a new file.
type CreateOptions struct {
	// Size is the exact final length in bytes, or -1 if it is not known. A
	// store with blocks chooses one that holds the file, and Commit fails if
	// another number of bytes was written.
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
	// Link is whether the name itself is a symbolic link; the other fields describe its
	// target, or the link if the target does not exist. Only local disk sets it.
	Link bool
	// FileID is a number that stays with the file when it is renamed; 0 if the storage
	// has none.
	FileID uint64
}

// identity returns the identity of the file when it was described.
func (i Info) identity() Identity { return Identity{ID: i.FileID, Changed: i.ModTime.UnixNano()} }

// Location is a place on a store.
type Location struct {
	Store Store
	// Origin is empty for local files, else the canonical scheme and authority of the
	// storage: Origin + Path resolves to the same place.
	Origin string
	Path   string
}

// TempName returns a name next to path, new at each call, for a file that will be
// renamed to path when it is complete. The name is hidden, and IsTemp recognizes it.
// However long path is, file systems accept its length.
func TempName(p string) string {
	const most = 200 // of the 255 bytes that file systems accept
	dir, base := path.Split(p)
	base = strings.ToValidUTF8(base[:min(len(base), most)], "")
	return fmt.Sprintf("%s.%s.%016x.tmp", dir, base, rand.Uint64())
}

// Hidden reports whether Hadoop's readers of directories skip a name, which has no
// directory.
func Hidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

var tempName = regexp.MustCompile(`^\..+\.[0-9a-f]{16}\.tmp$`)

// IsTemp reports whether name, without its directory, comes from TempName. If its run
// is dead, the file is a leftover.
func IsTemp(name string) bool { return tempName.MatchString(name) }
