package store

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/internal/lazyregexp"
)

var scheme = lazyregexp.New(`^([A-Za-z][A-Za-z0-9+.-]*)://`)

// Scheme returns the scheme of a location in lower case, and the text after :// in the
// location. For a plain path the scheme is empty.
func Scheme(location string) (name, rest string) {
	m := scheme.FindStringSubmatch(location)
	if m == nil {
		return "", location
	}
	return strings.ToLower(m[1]), location[len(m[0]):]
}

// Resolve resolves a location on local disk, which is a plain path or begins with file:. It
// does not decode %, like Hadoop. The error for other schemes is ErrScheme.
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

// IsPattern reports whether a path has characters that Glob interprets. A file may have such a
// name, so first check whether the path exists.
func IsPattern(p string) bool { return strings.ContainsAny(p, `*?[\`) }

// Glob returns the files and directories whose path matches a pattern, sorted by path. The
// elements of a pattern are as in path.Match, but a wildcard at the start of an element does
// not match a leading dot. If nothing matches, that is not an error. Directories that are
// removed meanwhile are skipped.
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

// Match returns the file or directory at a location. If nothing is there, it uses the path as
// a pattern and returns the matches. pattern is whether it did. No match is not an error.
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

// RealPath resolves symbolic links, which only local disks have. If a path does not resolve,
// it returns the path unchanged.
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
