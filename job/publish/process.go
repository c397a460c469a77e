package publish

import (
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"
)

// liveHolders has the IDs of the holders in this process.
var liveHolders sync.Map

// processScope returns a name for the boot and the PID namespace of this process. Process numbers
// can be compared only within one scope. The name is empty where the system does not tell the
// scope. A host name is not enough, because containers may have the name of their host.
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

// dead reports whether the holder's process is known to have ended. A run that
// was killed can then be started again at once.
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
