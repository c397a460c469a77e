package hadoop

import "syscall"

// endWithParent has the system end a process when this one ends, however it does. The
// process has a group of its own.
func endWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
