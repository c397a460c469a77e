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

// Check returns an error if a file is something else than the events of runs, to which Append
// would not add. Whether it can be written is for Append to tell.
func Check(name string) error {
	info, err := os.Stat(name)
	if err != nil {
		//guard: does not follow a dangling link
		if _, linkErr := os.Lstat(name); linkErr == nil {
			return fmt.Errorf("the link leads nowhere: %w", err)
		}
		return nil
	}
	//guard: does not wait for a pipe
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

// Append adds events to the end of a file of events, which is made if there is none, a line
// for each. All are written at once, so that several runs can share a file on a local disk.
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
	//guard: ends a line that was cut off
	if !ended {
		text = append([]byte("\n"), text...)
	}
	_, err = f.Write(text)
	return err
}

// The longest line in which an event is looked for, and how much of the end of a file is read
// first.
const (
	maxLine   = 16 << 20
	firstLook = 64 << 10
)

// checkEvents refuses a file whose last line is no event. A line that was cut off may follow
// one; then ended is false.
func checkEvents(f *os.File) (ended bool, err error) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return true, err
	}
	size := info.Size()
	for n := min(size, firstLook); ; n = min(size, 4*n) {
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
		//guard: refuses a file that does not hold events
		if n == size || n >= maxLine {
			return false, fmt.Errorf("the last line of %s is not an OpenLineage event", f.Name())
		}
	}
}

// cutLine returns the last line of a text, and what is before it.
func cutLine(text []byte) (before, last []byte) {
	text = bytes.TrimRight(text, "\r\n")
	i := bytes.LastIndexByte(text, '\n') + 1
	return text[:i], text[i:]
}

// isEvent reports whether a line is a run event, of whatever producer.
func isEvent(line []byte) bool {
	var e Event
	return json.Unmarshal(line, &e) == nil && e.Type != "" && e.Time != "" && e.Run.ID != "" && e.Job.Name != "" && e.Producer != "" &&
		strings.Contains(e.SchemaURL, "/OpenLineage.json")
}

// lockTries and lockPause bound the wait for others who write to the file.
const (
	lockTries = 50
	lockPause = 10 * time.Millisecond
)

// lock keeps other runs from a file until it is closed: one that is in the midst of
// its line would seem to have been cut off. A file system without locks, or a holder
// that hangs, is no reason to tell nothing.
func lock(f *os.File) {
	for range lockTries {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return
		}
		time.Sleep(lockPause)
	}
}

// shorten cuts a text off after so many bytes, between characters.
func shorten(s string, most int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= most {
		return s
	}
	for !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}
