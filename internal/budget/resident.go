package budget

import (
	"bytes"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// PeakResident returns the largest resident memory of the process in bytes, or 0 if it is not
// known.
func PeakResident() int64 {
	// On Linux, the figure of Getrusage includes the time before exec, when the process was a
	// copy of its parent. So the figure in /proc is preferred.
	if status, err := os.ReadFile("/proc/self/status"); err == nil {
		if peak := parsePeak(status); peak > 0 {
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

// parsePeak returns VmHWM of a process's status on Linux, in bytes, or 0 if it is missing.
func parsePeak(status []byte) int64 {
	_, rest, _ := bytes.Cut(status, []byte("\nVmHWM:"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	kib, err := strconv.ParseInt(string(bytes.TrimSpace(bytes.TrimSuffix(line, []byte("kB")))), 10, 64)
	if err != nil {
		return 0
	}
	return kib << 10
}
