package store

import (
	"errors"

	"golang.org/x/sys/unix"
)

func (kernel) renameNoReplace(from, to string) error {
	return unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
}

// allocate reserves disk space for size bytes of a file and keeps its length.
func allocate(fd int, size int64) error {
	err := unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, 0, size)
	for errors.Is(err, unix.EINTR) {
		err = unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, 0, size)
	}
	return err
}

// startWriteBack starts the write-back of a range of a file.
func startWriteBack(fd int, from, n int64) {
	// An error does not matter, because Commit syncs the file.
	_ = unix.SyncFileRange(fd, from, n, unix.SYNC_FILE_RANGE_WRITE)
}
