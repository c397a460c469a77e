package store

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var scheme = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*)://`)

// Scheme returns the scheme of a location in lower case, empty for a plain path, and
// the text after its colon and slashes.
func Scheme(location string) (name, rest string) {
	m := scheme.FindStringSubmatch(location)
	if m == nil {
		return "", location
	}
	return strings.ToLower(m[1]), location[len(m[0]):]
}

// Resolve resolves a location on local disk: a plain path or a file: location. It takes
// characters literally, % included, as Hadoop does. The error for other schemes is
// ErrScheme.
func Resolve(location string) (Location, error) {
	if location == "" {
		return Location{}, errors.New("an empty location")
	}
	name, rest := Scheme(location)
	switch {
	case name == "" && strings.HasPrefix(location, "file:/"):
		return Location{Store: Local(), Path: path.Clean(location[len("file:"):])}, nil
	case name == "":
		return Location{Store: Local(), Path: path.Clean(location)}, nil
	case name != "file":
		return Location{}, fmt.Errorf("%s: %s %w", location, name, ErrScheme)
	}
	host, rest, ok := strings.Cut(rest, "/")
	if !ok || host != "" && host != "localhost" {
		return Location{}, fmt.Errorf("%s: a file location of another host: %w", location, ErrScheme)
	}
	return Location{Store: Local(), Path: path.Clean("/" + rest)}, nil
}

// IsPattern reports whether a path has characters that Glob interprets. A file may have
// such a name, so look for the path itself first.
func IsPattern(p string) bool { return strings.ContainsAny(p, `*?[\`) }

// Glob returns the files and directories whose path matches a pattern, sorted by path.
// path.Match defines each element of the pattern, but a wildcard at its start does not
// match a leading dot. No match is not an error; directories that vanish meanwhile are
// skipped.
func Glob(ctx context.Context, st Store, pattern string) ([]Info, error) {
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, fmt.Errorf("pattern %s: %w", pattern, err)
	}
	root, rest := ".", path.Clean(pattern)
	if strings.HasPrefix(rest, "/") {
		root, rest = "/", rest[1:]
	}
	found := []Info{{Path: root, Dir: true}}
	for _, element := range strings.Split(rest, "/") {
		var next []Info
		for _, dir := range found {
			if !dir.Dir {
				continue
			}
			infos, err := globElement(ctx, st, dir.Path, element)
			if err != nil {
				return nil, err
			}
			next = append(next, infos...)
		}
		found = next
	}
	slices.SortFunc(found, func(a, b Info) int { return strings.Compare(a.Path, b.Path) })
	return found, nil
}

// globElement returns the entries of dir that match one element of a pattern.
func globElement(ctx context.Context, st Store, dir, element string) ([]Info, error) {
	if !IsPattern(element) {
		info, err := st.Stat(ctx, path.Join(dir, element))
		if errors.Is(err, ErrNotExist) {
			return nil, nil
		}
		return []Info{info}, err
	}
	infos, err := st.List(ctx, dir)
	if errors.Is(err, ErrNotExist) {
		return nil, nil
	}
	return slices.DeleteFunc(infos, func(i Info) bool {
		if strings.HasPrefix(i.Name, ".") && !strings.HasPrefix(element, ".") {
			return true
		}
		ok, _ := path.Match(element, i.Name)
		return !ok
	}), err
}

// Match returns the file or directory at a location or, if there is none, the matches
// of its path as a pattern, and whether it used the pattern. No match is not an error.
func Match(ctx context.Context, at Location) (found []Info, pattern bool, err error) {
	info, err := at.Store.Stat(ctx, at.Path)
	if err == nil {
		return []Info{info}, false, nil
	}
	if !errors.Is(err, ErrNotExist) || !IsPattern(at.Path) {
		return nil, false, err
	}
	found, err = Glob(ctx, at.Store, at.Path)
	return found, true, err
}

// RealPath resolves symbolic links, which only local disks have. It returns a path that
// does not resolve as it is.
func RealPath(st Store, p string) string {
	if CapabilitiesOf(st).Local {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			return real
		}
	}
	return p
}

// Within reports whether a path is dir or below it.
func Within(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}
