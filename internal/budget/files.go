package budget

import "golang.org/x/sys/unix"

// Limits of the open files of a process. With fewer than the lower one, work would
// be opening and closing only; the upper one is where more helps no longer.
const (
	leastOpen = 16
	mostOpen  = 8192
)

// OpenFiles is how many files all parts of a process should have open together at
// most: half of what it may open. The rest is for connections and the runtime.
func OpenFiles() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return leastOpen
	}
	return int(min(max(limit.Cur/2, leastOpen), mostOpen))
}
