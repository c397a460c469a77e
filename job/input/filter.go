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

// Filter leaves out files of a search. It applies to all files, even those named
// explicitly. Modification times are those of the storage.
type Filter struct {
	// Since and Until leave out files that were modified before Since, or at Until or
	// later. The zero time sets no bound.
	Since, Until time.Time
	// MinAge leaves out files that were modified less than this long ago by the clock of
	// this machine. A later run may convert them.
	MinAge time.Duration
	// Marker is the name of a file. Files whose directory lacks the marker are left out. A
	// later run may convert them. If Marker is empty, no marker is needed.
	Marker string
	// Exclude are patterns. A pattern with a slash leaves out the files at the locations that it
	// matches, and those in the directories that it matches. Another pattern leaves out the files
	// whose names it matches.
	Exclude []string
}

// excludedBy begins the reason why a file is left out by name.
const excludedBy = "excluded by "

// IsExcluded reports whether a reason is that a file is left out by name.
func IsExcluded(reason string) bool { return strings.HasPrefix(reason, excludedBy) }

// Excluded returns the reason why the file at a location is left out by one of the patterns of
// Filter.Exclude, or "".
func Excluded(patterns []string, location string) string {
	for _, pattern := range patterns {
		if matchesLocation(pattern, location) {
			return excludedBy + pattern
		}
	}
	return ""
}

// Unmatched returns the patterns of Filter.Exclude that match none of the files that are left out
// by name.
func Unmatched(patterns []string, skipped []Skipped) []string {
	return slices.DeleteFunc(slices.Clone(patterns), func(pattern string) bool {
		return slices.ContainsFunc(skipped, func(s Skipped) bool { return IsExcluded(s.Reason) && matchesLocation(pattern, s.Path) })
	})
}

func matchesLocation(pattern, location string) bool {
	if !strings.Contains(pattern, "/") {
		ok, _ := path.Match(pattern, path.Base(location)) // LocateExclude checked the pattern
		return ok
	}
	for end := len(location); end > 0; end = strings.LastIndexByte(location[:end], '/') {
		if ok, _ := path.Match(pattern, location[:end]); ok {
			return true
		}
	}
	return false
}

// LocateExclude returns the pattern of Filter.Exclude for a pattern that the user gave. A pattern
// with a slash is resolved as the location of an input is.
func LocateExclude(resolve Resolve, pattern string) (string, error) {
	//guard: refuses a pattern that matches nothing
	if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
		return "", failure.New(failure.Usage, "%q is not a pattern", pattern)
	}
	if !strings.Contains(pattern, "/") {
		return pattern, nil
	}
	at, err := Locate(resolve, pattern)
	return at.Origin + at.Path, err
}

// check refuses a filter that makes no sense.
func (f *Filter) check() error {
	switch {
	//guard: rejects a range of times that is empty
	case !f.Since.IsZero() && !f.Until.IsZero() && !f.Since.Before(f.Until):
		return failure.New(failure.Usage, "nothing was modified since %s and until %s", stamp(f.Since), stamp(f.Until))
	case f.MinAge < 0:
		return failure.New(failure.Usage, "an age of %v", f.MinAge)
	//guard: rejects a marker with a path
	case strings.Contains(f.Marker, "/") || f.Marker == "." || f.Marker == "..":
		return failure.New(failure.Usage, "a marker is the name of a file; %q is not one", f.Marker)
	}
	return nil
}

// apply returns the files that pass the filter at a time, and the others.
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

// reason says why a file is not an input at a time; empty if it is one.
func (f *Filter) reason(file *File, now time.Time) string {
	if excluded := Excluded(f.Exclude, file.Name); excluded != "" {
		return excluded
	}
	switch {
	//guard: skips files that their writer has not finished
	case !file.marked:
		return "waits for " + f.Marker + " next to it"
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

// marks finds the directories that hold the marker of a filter.
type marks struct {
	name  string          // name of the marker; empty if there is none
	found map[string]bool // whether a directory has the marker, by location
}

// in reports whether the entries of a directory include the marker. It returns true if there
// is no marker.
func (m *marks) in(infos []store.Info) bool {
	return m.name == "" || slices.ContainsFunc(infos, func(i store.Info) bool { return i.Name == m.name && !i.Dir })
}

// nextTo reports whether the marker is in the directory of a file that was not found by
// listing that directory.
func (m *marks) nextTo(ctx context.Context, in store.Location, file string) (bool, error) {
	if m.name == "" {
		return true, nil
	}
	dir := in.Origin + path.Dir(file)
	if _, known := m.found[dir]; !known {
		info, err := in.Store.Stat(ctx, path.Join(path.Dir(file), m.name))
		if err != nil && !errors.Is(err, store.ErrNotExist) {
			return false, err
		}
		m.found[dir] = err == nil && !info.Dir
	}
	return m.found[dir], nil
}
