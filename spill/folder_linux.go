package spill

import (
	"os"

	"golang.org/x/sys/unix"
)

// spread asks ext4 to place each directory made in this one far from the others.
// In the group of inodes where another spill was removed within the last half
// minute, making a file takes a search past each inode of that spill: up to a
// millisecond. The search starts from the directory's name, so names are random.
// Where the file system has no such flag nothing is lost.
func spread(dir *os.File) {
	const topOfHierarchy = 0x20000 // FS_TOPDIR_FL of linux/fs.h
	fd := int(dir.Fd())
	if flags, err := unix.IoctlGetUint32(fd, unix.FS_IOC_GETFLAGS); err == nil {
		_ = unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, int(flags|topOfHierarchy))
	}
}
