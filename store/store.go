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

// Store is one place that holds files. Its methods may be called concurrently.
// Every method obeys its context; a call whose context ended has either done
// its work or not begun it, as far as the storage can know.
//
// A power cut loses nothing of what Rename, Remove, RemoveAll, Mkdir,
// WriteFile and a Writer's Commit had done when they returned nil, nor any
// earlier change of the names in the same directories, whoever made it. What
// else was changed is durable only once such a call is made there. What a call
// leaves that was cut short, by a power cut or by the end of its process, the
// methods say.
type Store interface {
	// Open opens a file for reading; ErrNotExist if there is none. What is not
	// a regular file is refused, and on remote storage also what a writer still
	// has open: ErrBeingWritten. ctx bounds the reads too.
	Open(ctx context.Context, path string) (File, error)
	// Create creates a file, in a directory that exists (else ErrNoParent) and
	// under a name that does not (else ErrExist). ctx bounds the writes too.
	// Until Commit returns nil a power cut leaves any part of the file, with
	// other bytes at its end perhaps, or nothing, also if it was renamed.
	Create(ctx context.Context, path string, o CreateOptions) (Writer, error)
	// Stat describes a file or directory; ErrNotExist if there is none.
	Stat(ctx context.Context, path string) (Info, error)
	// List describes what a directory holds, sorted by name, hidden names
	// included.
	List(ctx context.Context, dir string) ([]Info, error)
	// Rename moves a file or directory. It never replaces or merges: ErrExist
	// if to exists. When it returns nil, the change is durable. Cut short, it
	// leaves one of the names; or, where the file system cannot refuse to
	// replace in one step, a file under both, and a directory under its old one
	// with an empty directory under the new.
	Rename(ctx context.Context, from, to string) error
	// Remove removes a file or an empty directory; ErrNotExist if there is
	// none. When it returns nil, the change is durable. Cut short, it did its
	// work or not.
	Remove(ctx context.Context, path string) error
	// RemoveAll removes whatever path names and all that is below it; that
	// there is nothing is no error. When it returns nil, it is durable that
	// there is nothing. Cut short, it leaves any part of what was there.
	RemoveAll(ctx context.Context, path string) error
	// Mkdir makes one directory, in a directory that exists (else ErrNoParent)
	// and under a name that does not (else ErrExist). When it returns nil or
	// ErrExist, that name is durable, and so is the directory that it is in. Cut
	// short, it did its work or not.
	//
	// HDFS makes nothing of a directory that is there already, so on it the name
	// is looked up first, and of two that make the same directory at the same
	// moment both may succeed. Use a name that is new and random where it matters
	// who made it.
	Mkdir(ctx context.Context, path string) error
	// ReadFile returns the whole of a small file, ErrTooLarge if it is of more
	// than max bytes.
	ReadFile(ctx context.Context, path string, max int64) ([]byte, error)
	// WriteFile makes a small file durably. With exclusive, an existing file is
	// left alone (ErrExist) and of several writers one wins; else an existing
	// file is replaced at once, so that a reader finds the old or the new
	// content. Cut short, it leaves path as it was or as it is to be, and may
	// leave a file that IsTemp knows, with any part of the data.
	WriteFile(ctx context.Context, path string, data []byte, exclusive bool) error
}

// File is an open file. ReadAt may be called concurrently. Remote storage may no
// longer have the file: then a read that fails says so, with ErrNotExist, or
// ErrReplaced if another has the name.
type File interface {
	io.ReaderAt
	io.Closer
	// Size is the length in bytes when the file was opened.
	Size() int64
	// Name is the path that was opened.
	Name() string
}

// RangeReader is a File that can also be read without a guess at what is read
// next: for readers that know better than the storage what they will need.
type RangeReader interface {
	// ReadRange is ReadAt, but asks the storage for these bytes and no others,
	// whatever was read before, and leaves what ReadAt reads ahead as it is.
	ReadRange(p []byte, off int64) (int, error)
}

// ReadRange reads a range of a file for itself: by the file's own ReadRange, or by
// ReadAt if it has none.
func ReadRange(f File, p []byte, off int64) (int, error) {
	if r, ok := f.(RangeReader); ok {
		return r.ReadRange(p, off)
	}
	return f.ReadAt(p, off)
}

// Identity tells a file from others that have its name at other times. It compares
// with ==; what the storage does not know is 0.
type Identity struct {
	ID      uint64 // as Info.FileID
	Changed int64  // the time at which it was changed last, in nanoseconds since 1970
}

// Identified is a File that knows which file it is.
type Identified interface {
	Identity() Identity
}

// IdentityOf returns what a file knows of which file it is: of two that were opened
// under the same name and have different identities, one replaced the other.
func IdentityOf(f File) Identity {
	if i, ok := f.(Identified); ok {
		return i.Identity()
	}
	return Identity{}
}

// CreateOptions tell a store about a file to be.
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
	// Commit makes the file and its name durable, closes it, and checks its
	// length and, where the storage has blocks and the size was given, that it
	// is one block. After an error the file is still there, to be removed by Abort.
	Commit(ctx context.Context) error
	// Abort closes and removes the file. After a Commit that returned nil it
	// does nothing, so it can be deferred. That the file is gone is not durable.
	Abort() error
}

// Info describes a file or directory.
type Info struct {
	Name    string // last element of Path
	Path    string
	Size    int64 // bytes; 0 for a directory
	Dir     bool
	ModTime time.Time
	// Link is whether the name itself is a symbolic link; all else is about what
	// it leads to, or about the link if that is nothing. Only local disk tells.
	Link bool
	// FileID is a number that stays with the file when it is renamed; 0 where
	// the storage has none.
	FileID uint64
}

// identity is that of the file when it was looked at.
func (i Info) identity() Identity { return Identity{ID: i.FileID, Changed: i.ModTime.UnixNano()} }

// Location is a place on a store.
type Location struct {
	Store Store
	// Origin is empty for local files, else the scheme and authority of the
	// storage, in one spelling: Origin + Path resolves to the place again.
	Origin string
	Path   string
}

// TempName returns a name beside path, new at each call, for a file that will
// be renamed to path when it is complete. The name is hidden, and IsTemp knows
// it. It is no longer than file systems take, however long the name of path is.
func TempName(p string) string {
	const most = 200 // of the 255 bytes that file systems take
	dir, base := path.Split(p)
	base = strings.ToValidUTF8(base[:min(len(base), most)], "")
	return fmt.Sprintf("%s.%s.%016x.tmp", dir, base, rand.Uint64())
}

// Hidden reports whether a name, without its directory, is one that Hadoop's
// readers of directories leave out.
func Hidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

var tempName = regexp.MustCompile(`^\..+\.[0-9a-f]{16}\.tmp$`)

// IsTemp reports whether name, without its directory, is one of TempName's: if
// its run is dead, the file is a leftover.
func IsTemp(name string) bool { return tempName.MatchString(name) }
