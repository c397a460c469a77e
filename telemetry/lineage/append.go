package lineage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// Check returns an error if Append would refuse a file because the file does not hold run
// events. It does not check whether the file can be written.
func Check(name string) error {
	info, err := os.Stat(name)
	if err != nil {
		//guard: rejects a dangling link
		if _, linkErr := os.Lstat(name); linkErr == nil {
			return fmt.Errorf("the link leads nowhere: %w", err)
		}
		return nil
	}
	//guard: rejects a pipe, which could block
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // only read
	_, err = checkEvents(f)
	return err
}

// Append appends events to a file, one on each line, and creates the file if necessary. It
// writes all events in one call, so several runs can share a file on a local disk.
func Append(name string, events ...*Event) (err error) {
	if err := Check(name); err != nil {
		return err
	}
	var lines bytes.Buffer
	enc := json.NewEncoder(&lines)
	enc.SetEscapeHTML(false)
	for _, e := range events {
		if err := enc.Encode(e); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	lock(f)
	ended, err := checkEvents(f)
	if err != nil {
		return err
	}
	text := lines.Bytes()
	//guard: begins a new line after a truncated one
	if !ended {
		text = append([]byte("\n"), text...)
	}
	_, err = f.Write(text)
	return err
}

const (
	maxLine   = 16 << 20 // longest line that is searched for an event
	firstRead = 64 << 10 // bytes of the end of a file that are read first
)

// checkEvents returns an error if the last line of a file is not an event. A truncated line may
// follow an event. ended is whether the file ends with a newline.
func checkEvents(f *os.File) (ended bool, err error) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return true, err
	}
	size := info.Size()
	for n := min(size, firstRead); ; n = min(size, 4*n) {
		end := make([]byte, n)
		if _, err := f.ReadAt(end, size-n); err != nil {
			return false, err
		}
		ended = end[n-1] == '\n'
		before, last := cutLine(end)
		if isEvent(last) {
			return ended, nil
		}
		if _, last = cutLine(before); !ended && isEvent(last) {
			return false, nil
		}
		//guard: rejects a file that does not hold events
		if n == size || n >= maxLine {
			return false, fmt.Errorf("the last line of %s is not an OpenLineage event", f.Name())
		}
	}
}

// cutLine returns the last line of a text, and the text before it.
func cutLine(text []byte) (before, last []byte) {
	text = bytes.TrimRight(text, "\r\n")
	i := bytes.LastIndexByte(text, '\n') + 1
	return text[:i], text[i:]
}

// isEvent reports whether a line is a run event of any producer.
func isEvent(line []byte) bool {
	var e Event
	return json.Unmarshal(line, &e) == nil && e.Type != "" && e.Time != "" && e.Run.ID != "" && e.Job.Name != "" && e.Producer != "" &&
		strings.Contains(e.SchemaURL, "/OpenLineage.json")
}

// lockTries and lockPause bound the wait for the file's lock.
const (
	lockTries = 50
	lockPause = 10 * time.Millisecond
)

// lock locks a file until it is closed, because a line that another run is writing would look
// truncated. If the file system has no locks, or the process with the lock hangs, lock returns
// without the lock.
func lock(f *os.File) {
	for range lockTries {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return
		}
		time.Sleep(lockPause)
	}
}

// shorten truncates a longer text to limit bytes, between characters, and adds an ellipsis.
func shorten(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= limit {
		return s
	}
	for !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}
