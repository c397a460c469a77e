package spill

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// CheckFree fails if the file system of dir has less than need bytes free for this
// user. The error is ENOSPC, and says how much is missing. A file system without a
// limit, such as a tmpfs with size=0, reports a total of 0 blocks, and is not checked.
func CheckFree(dir string, need int64) error {
	if need <= 0 {
		return nil
	}
	st, err := statfs(dir)
	if err != nil {
		return err
	}
	if st.Blocks == 0 {
		return nil
	}
	free := st.Bavail * uint64(st.Bsize)
	//guard: keeps some of the disk free
	if free < uint64(need) {
		return full(dir, fmt.Sprintf("has %.2f MiB free, and %.2f MiB are needed", float64(free)/(1<<20), float64(need)/(1<<20)))
	}
	return nil
}

// checkInodes is CheckFree for the number of files. A file system without a fixed
// number of inodes reports a total of 0, and is not checked.
func checkInodes(dir string, need int) error {
	st, err := statfs(dir)
	if err != nil {
		return err
	}
	if st.Files > 0 && st.Ffree < uint64(need) {
		return full(dir, fmt.Sprintf("has room for %d files, and %d are needed", st.Ffree, need))
	}
	return nil
}

// full returns the error for a directory on a full disk, with what to do.
func full(dir, why string) error {
	return fmt.Errorf("temporary directory %s %s: %w; free space, or name another directory with --temp-dir", dir, why, unix.ENOSPC)
}

func statfs(dir string) (st unix.Statfs_t, err error) {
	err = unix.Statfs(dir, &st)
	for errors.Is(err, unix.EINTR) {
		err = unix.Statfs(dir, &st)
	}
	if err != nil {
		err = fmt.Errorf("spill: free space of %s: %w", dir, err)
	}
	return st, err
}
