package store

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"syscall"
)

// Errors that callers tell apart. Stores wrap them, or errors that are them in
// the sense of errors.Is.
var (
	ErrNotExist = fs.ErrNotExist
	ErrExist    = fs.ErrExist
	// ErrNoParent is the absence of the directory that a new file was to be in.
	ErrNoParent = errors.New("the parent directory does not exist")
	// ErrNotRegular is a path that was to be a file's, but is a directory's or a
	// device's.
	ErrNotRegular = errors.New("not a regular file")
	// ErrTooLarge is a file of more bytes than the reader can accept.
	ErrTooLarge = errors.New("file is too large")
	// ErrMismatch is storage that holds other bytes than were written.
	ErrMismatch = errors.New("the stored file differs from what was written")
	// ErrReplaced is a file that is no longer the one that was opened, or has
	// another length: what was read of it and what follows do not belong together.
	ErrReplaced = errors.New("the file was replaced while it was read")
	// ErrBeingWritten is a file that a writer, alive or not, has not closed.
	ErrBeingWritten = errors.New("the file is still being written")
	// ErrUnavailable is storage that does not answer, or not with sense, for
	// now.
	ErrUnavailable = errors.New("storage is not available")
	// ErrUnresolved is a server whose host name does not resolve and never did in this
	// process. It is not waited for: the name may be wrong.
	ErrUnresolved = errors.New("no host has this name")
	// ErrQuota is the end of a quota.
	ErrQuota = errors.New("a quota is used up")
	// ErrEncrypted is an encryption zone, reached by a protocol that cannot encrypt.
	ErrEncrypted = errors.New("in an encryption zone")
	// ErrErasureCoded is a directory whose files are striped over many blocks.
	ErrErasureCoded = errors.New("erasure coded")
	// ErrScheme is a location on a kind of storage that is not supported.
	ErrScheme = errors.New("storage is not supported")
)

// Absent reports whether err says that there is no file to be read under a name, or
// no directory: there is nothing, or something else, or nothing that anybody
// finished or wants.
func Absent(err error) bool {
	return Classify(err) == NotFound || errors.Is(err, ErrNotRegular) || errors.Is(err, syscall.ENOTDIR) ||
		errors.Is(err, syscall.ELOOP) || errors.Is(err, ErrTooLarge) || errors.Is(err, ErrBeingWritten)
}

// Class says what can be done about an error.
type Class int

// The classes.
const (
	// Unknown is an error that does not come from storage, or no error.
	Unknown Class = iota
	// NotFound is a file or directory that does not exist, or no longer as it was
	// when it was opened.
	NotFound
	// Exists is a name that is taken.
	Exists
	// Retryable is storage that may do the same later: full, failing, slow or
	// short of a resource.
	Retryable
	// Final is storage that refuses and will go on refusing: no permission, no
	// quota, read-only, not a directory.
	Final
	// Unsupported is a location that no store serves.
	Unsupported
)

// sentinels are classified before system errors are: they say more.
var sentinels = []struct {
	err   error
	class Class
}{
	{ErrScheme, Unsupported},
	{ErrNoParent, Final},
	{ErrNotRegular, Final},
	{ErrTooLarge, Final},
	{ErrMismatch, Retryable},
	{ErrUnresolved, Retryable},
	{ErrReplaced, NotFound},
	{ErrBeingWritten, Final},
	{ErrQuota, Final},
	{ErrEncrypted, Final},
	{ErrErasureCoded, Final},
	{io.ErrShortWrite, Retryable},
	{context.Canceled, Unknown},
}

// finalErrnos are refusals; what is not listed here may pass.
var finalErrnos = map[syscall.Errno]bool{
	syscall.EACCES:       true,
	syscall.EPERM:        true,
	syscall.EROFS:        true,
	syscall.EDQUOT:       true,
	syscall.ENOTDIR:      true,
	syscall.EISDIR:       true,
	syscall.ENAMETOOLONG: true,
	syscall.ELOOP:        true,
	syscall.EINVAL:       true,
	syscall.EFBIG:        true,
	syscall.EXDEV:        true,
	syscall.EMLINK:       true,
	syscall.ENODEV:       true,
	syscall.ENXIO:        true,
	syscall.ENOSYS:       true,
	syscall.ENOTSUP:      true,
	syscall.ETXTBSY:      true,
}

// Classify returns the class of an error of a store, or of any error that
// wraps one or a system error. A canceled context is Unknown: it is the
// caller's doing; one whose deadline passed is Retryable.
func Classify(err error) Class {
	if err == nil {
		return Unknown
	}
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			return s.class
		}
	}
	switch {
	case errors.Is(err, ErrNotExist):
		return NotFound
	case errors.Is(err, ErrExist):
		return Exists
	case errors.Is(err, fs.ErrPermission):
		return Final
	case errors.Is(err, ErrUnavailable):
		return Retryable
	}
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return Retryable
	}
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return Unknown
	}
	if finalErrnos[errno] {
		return Final
	}
	return Retryable
}
