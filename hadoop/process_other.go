//go:build !linux

package hadoop

import "syscall"

// endWithParent gives a process its own process group. Only Linux can end the process when this
// process ends.
func endWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
