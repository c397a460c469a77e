package lineage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// Append adds events to the end of a file, which is made if there is none, a line
// for each. All are written at once, so that several runs can share a file on a local disk.
func Append(name string, events ...*Event) (err error) {
	info, err := os.Stat(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	//guard: a pipe would be waited for
	if err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no file", name)
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
	text := lines.Bytes()
	if info, err = f.Stat(); err != nil {
		return err
	}
	if size := info.Size(); size > 0 {
		var first, last [1]byte
		if _, err := f.ReadAt(first[:], 0); err != nil {
			return err
		}
		if _, err := f.ReadAt(last[:], size-1); err != nil {
			return err
		}
		//guard: an input that is named by mistake would be spoilt
		if first[0] != '{' {
			return fmt.Errorf("%s holds something else than lines of JSON", name)
		}
		//guard: an event would be added to a line that was cut off
		if last[0] != '\n' {
			text = append([]byte("\n"), text...)
		}
	}
	_, err = f.Write(text)
	return err
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
