//go:build !linux

package hadoop

import "syscall"

// endsWithUs gives a process a group of its own. Only Linux ends one with another.
func endsWithUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
