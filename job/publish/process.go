package publish

import (
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"
)

// liveHolders holds the holders of this process.
var liveHolders sync.Map

// processScope names the boot and the PID namespace of this process, inside of
// which process numbers can be compared; it is empty where the system does not
// tell. Host names are no such scope: containers and their hosts share them.
func processScope() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + " " + namespace
}

// dead reports whether the holder's process is known to have ended, so that a
// run that was killed can be started again at once.
func (h holder) dead() bool {
	if h.Scope == "" || h.Scope != processScope() || h.PID <= 0 {
		return false
	}
	if h.PID == os.Getpid() {
		_, ok := liveHolders.Load(h.ID)
		return !ok
	}
	return errors.Is(syscall.Kill(h.PID, 0), syscall.ESRCH)
}
