package store

import "syscall"

// LocalWithoutFlag is local disk on a file system that does not know RENAME_NOREPLACE.
func LocalWithoutFlag() Store { return local{flagless{}} }

type flagless struct{ kernel }

func (flagless) renameNoReplace(string, string) error { return syscall.EINVAL }
