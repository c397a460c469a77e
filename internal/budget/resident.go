package budget

import (
	"bytes"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// PeakResident is how many bytes the process had resident at most; 0 if the system
// does not tell.
func PeakResident() int64 {
	// The kernel's own figure for this program. Getrusage has on Linux also what the
	// process took before it became this program, as a copy of the one that started it.
	if status, err := os.ReadFile("/proc/self/status"); err == nil {
		if peak := highWater(status); peak > 0 {
			return peak
		}
	}
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(usage.Maxrss)
	}
	return int64(usage.Maxrss) << 10
}

// highWater is VmHWM of a process's status on Linux, in bytes; 0 if it is not there.
func highWater(status []byte) int64 {
	_, rest, _ := bytes.Cut(status, []byte("\nVmHWM:"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	kib, err := strconv.ParseInt(string(bytes.TrimSpace(bytes.TrimSuffix(line, []byte("kB")))), 10, 64)
	if err != nil {
		return 0
	}
	return kib << 10
}
