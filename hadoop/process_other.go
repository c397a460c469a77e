//go:build !linux

package hadoop

import "syscall"

// endWithParent gives a process a group of its own. Only Linux ends one with another.
func endWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
