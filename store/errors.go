package store

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"syscall"
)

// Errors that callers distinguish with errors.Is. Stores return errors that wrap or match
// them.
var (
	ErrNotExist = fs.ErrNotExist
	ErrExist    = fs.ErrExist
	// ErrNoParent means that the directory of a new file does not exist.
	ErrNoParent = errors.New("the parent directory does not exist")
	// ErrNotRegular means that a path names a directory or a device instead of a file.
	ErrNotRegular = errors.New("not a regular file")
	// ErrTooLarge means that a file has more bytes than the reader accepts.
	ErrTooLarge = errors.New("file is too large")
	// ErrMismatch means that the storage holds other bytes than were written.
	ErrMismatch = errors.New("the stored file differs from what was written")
	// ErrReplaced means that a file was replaced after it was opened, or has another
	// length. Bytes that were read before and bytes that are read now do not belong together.
	ErrReplaced = errors.New("the file was replaced while it was read")
	// ErrBeingWritten means that a writer, alive or not, has not closed the file.
	ErrBeingWritten = errors.New("the file is still being written")
	// ErrUnavailable means that the storage gives no valid answer for now.
	ErrUnavailable = errors.New("storage is not available")
	// ErrUnresolved means that a server's host name does not resolve, and never did in this
	// process. The call is not retried, because the name may be wrong.
	ErrUnresolved = errors.New("no host has this name")
	// ErrQuota means that a quota is used up.
	ErrQuota = errors.New("a quota is used up")
	// ErrEncrypted means that a path is in an encryption zone and the protocol cannot encrypt.
	ErrEncrypted = errors.New("in an encryption zone")
	// ErrErasureCoded means that a directory stripes its files over many blocks.
	ErrErasureCoded = errors.New("erasure coded")
	// ErrScheme means that a location is on a kind of storage that is not supported.
	ErrScheme = errors.New("storage is not supported")
)

// Absent reports whether err says that there is no readable file or directory of a name. It
// does not exist, is of another kind, is too large, or is not closed.
func Absent(err error) bool {
	return Classify(err) == NotFound || errors.Is(err, ErrNotRegular) || errors.Is(err, syscall.ENOTDIR) ||
		errors.Is(err, syscall.ELOOP) || errors.Is(err, ErrTooLarge) || errors.Is(err, ErrBeingWritten)
}

// Class is a class of errors that callers handle alike.
type Class int

// The classes.
const (
	// Unknown is an error that does not come from storage, or no error.
	Unknown Class = iota
	// NotFound is a file or directory that does not exist, or was replaced since it was
	// opened.
	NotFound
	// Exists is a name that is taken.
	Exists
	// Retryable is a failure that may pass: storage is full, failing, slow or short of
	// a resource.
	Retryable
	// Final is a lasting refusal, for example because of permissions, a quota, a read-only
	// file system, or a file in place of a directory.
	Final
	// Unsupported is a location that no store serves.
	Unsupported
)

// sentinels are checked before system errors because they say more.
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

// finalErrnos are lasting refusals; other system errors may pass.
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

// Classify returns the class of an error that is or wraps an error of a store or of the
// system. The error of a canceled context is Unknown, because the caller canceled it. The
// error of a deadline is Retryable.
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
