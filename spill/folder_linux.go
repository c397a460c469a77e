package spill

import (
	"os"

	"golang.org/x/sys/unix"
)

// spread asks ext4 to place the directories in dir far from each other. If another
// spill was removed from the same group of inodes within the last half minute,
// making a file takes up to a millisecond, because ext4 searches past each inode of
// that spill. The search starts from the directory's name, so names are random. Other
// file systems may not have the flag, and ignore it.
func spread(dir *os.File) {
	const topOfHierarchy = 0x20000 // FS_TOPDIR_FL of linux/fs.h
	fd := int(dir.Fd())
	if flags, err := unix.IoctlGetUint32(fd, unix.FS_IOC_GETFLAGS); err == nil {
		_ = unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, int(flags|topOfHierarchy))
	}
}
