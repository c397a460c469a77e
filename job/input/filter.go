package input

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/store"
)

// Filter leaves out files that a search finds, or lets them wait, whatever way they
// are named. Times are those of the storage.
type Filter struct {
	// Since and Until leave out what was modified before Since, or at Until or later.
	// Zero is no bound.
	Since, Until time.Time
	// MinAge lets files wait that were modified less long ago, by this machine's clock.
	MinAge time.Duration
	// Marker is the name of a file without which all that is in the same directory
	// waits; empty for none.
	Marker string
}

// check refuses what makes no sense.
func (f *Filter) check() error {
	switch {
	//guard: rejects a range of times that is empty
	case !f.Since.IsZero() && !f.Until.IsZero() && !f.Since.Before(f.Until):
		return failure.New(failure.Usage, "nothing was modified since %s and until %s", stamp(f.Since), stamp(f.Until))
	case f.MinAge < 0:
		return failure.New(failure.Usage, "an age of %v", f.MinAge)
	//guard: rejects a marker with a path
	case strings.Contains(f.Marker, "/") || f.Marker == "." || f.Marker == "..":
		return failure.New(failure.Usage, "a marker is the name of a file, and %q is none", f.Marker)
	}
	return nil
}

// apply returns what a filter leaves of files at a time, and what it does not.
func (f *Filter) apply(files []File, now time.Time) (left []File, out []Skipped) {
	left = files[:0]
	for _, file := range files {
		if reason := f.reason(&file, now); reason != "" {
			out = append(out, Skipped{Path: file.Name, Reason: reason, By: file.By, Named: file.Named})
		} else {
			left = append(left, file)
		}
	}
	return left, out
}

// reason says why a file is no input at a time; empty if it is one.
func (f *Filter) reason(file *File, now time.Time) string {
	switch {
	//guard: skips files that their writer has not finished
	case !file.marked:
		return "waits for " + f.Marker + " beside it"
	//guard: skips a file that may still be copied
	case f.MinAge > 0 && file.Facts.ModTime.After(now.Add(-f.MinAge)):
		return fmt.Sprintf("waits until it is %v old", f.MinAge)
	case file.Facts.ModTime.Before(f.Since):
		return "modified before " + stamp(f.Since)
	case !f.Until.IsZero() && !file.Facts.ModTime.Before(f.Until):
		return "modified at " + stamp(f.Until) + " or later"
	}
	return ""
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// marks knows in which directories the marker of a filter is.
type marks struct {
	name string // of the marker; empty for none
	of   map[string]bool
}

// in looks for the marker in what a directory holds. Without a name it is everywhere.
func (m *marks) in(infos []store.Info) bool {
	return m.name == "" || slices.ContainsFunc(infos, func(i store.Info) bool { return i.Name == m.name && !i.Dir })
}

// beside looks for the marker in the directory of a file that was not found there.
func (m *marks) beside(ctx context.Context, in store.Location, file string) (bool, error) {
	if m.name == "" {
		return true, nil
	}
	dir := in.Origin + path.Dir(file)
	if _, known := m.of[dir]; !known {
		info, err := in.Store.Stat(ctx, path.Join(path.Dir(file), m.name))
		if err != nil && !errors.Is(err, store.ErrNotExist) {
			return false, err
		}
		m.of[dir] = err == nil && !info.Dir
	}
	return m.of[dir], nil
}
