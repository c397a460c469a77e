package hadoop

import "syscall"

// endWithParent makes the system end a process when this process ends for any reason. The
// process has its own process group.
func endWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
