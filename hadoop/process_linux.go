package hadoop

import "syscall"

// endsWithUs has the system end a process when this one ends, however it does. The
// process has a group of its own.
func endsWithUs() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
