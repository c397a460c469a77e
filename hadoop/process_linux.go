package hadoop

import "syscall"

// endsWithUs has the system end a process when this one ends, however it does.
func endsWithUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} }
