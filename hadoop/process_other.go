//go:build !linux

package hadoop

import "syscall"

// endsWithUs does nothing: only Linux ends a process with another.
func endsWithUs() *syscall.SysProcAttr { return nil }
