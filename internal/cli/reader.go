package cli

import (
	"io/fs"
	"time"

	"golang.org/x/sys/unix"
)

// lookEvery is the time between looks at the reader of standard output.
const lookEvery = 2 * time.Second

// EndWithReader makes the run end, as a success, after the reader of a pipe on standard output
// is gone. A run that prints nothing for a long time does not notice the loss by itself. Commands
// that only print call EndWithReader.
func (a *App) EndWithReader() {
	info, err := a.Stdout.File.Stat()
	if err != nil || info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) == 0 {
		return
	}
	fd := int32(a.Stdout.File.Fd()) //nolint:gosec // a descriptor is a small number
	go func() {
		for range time.Tick(lookEvery) {
			if readerGone(fd) {
				a.stoppable.stop(errReaderGone)
				return
			}
		}
	}()
}

// readerGone reports whether a pipe or a socket has lost its other end.
func readerGone(fd int32) bool {
	state := []unix.PollFd{{Fd: fd}}
	n, err := unix.Poll(state, 0)
	return err == nil && n > 0 && state[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
}
