package column

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Names finds columns by the names that users write: full names, or simple names if only one
// column has that simple name. A simple name has dots, and neither the branches of unions nor
// the brackets of arrays: a.b for a[]#b/int.
type Names struct {
	what   string
	all    []string
	exact  map[string]int
	simple map[string][]string // names by their simple form
}

// NewNames returns the names of n columns. what says for errors what the columns are.
func NewNames(what string, n int, name func(i int) string) *Names {
	names := &Names{what, make([]string, n), make(map[string]int, n), make(map[string][]string, n)}
	for i := range n {
		full := name(i)
		names.all[i], names.exact[full] = full, i
		names.simple[simpleName(full)] = append(names.simple[simpleName(full)], full)
	}
	return names
}

// Find returns the index of the column that a path names.
func (n *Names) Find(path string) (int, error) {
	if i, ok := n.exact[path]; ok {
		return i, nil
	}
	switch names := n.simple[path]; len(names) {
	case 0:
		return 0, n.Missing(path)
	case 1:
		return n.exact[names[0]], nil
	default:
		return 0, fmt.Errorf("it is one of the columns %s", strings.Join(names, ", "))
	}
}

// Missing returns the error for a path that is no full name. It suggests the columns with this simple
// name; or lists those below the path; or suggests those with a similar name; or lists all.
func (n *Names) Missing(path string) error {
	return fmt.Errorf("there is no such %s; %s", n.what, n.hint(path))
}

func (n *Names) hint(path string) string {
	const most = 10
	if names := n.simple[path]; len(names) > 0 {
		return didYouMean(names)
	}
	who, names := "below it are ", slices.DeleteFunc(slices.Clone(n.all), func(name string) bool {
		simple := simpleName(name)
		return !strings.HasPrefix(simple, path+".") && !strings.HasPrefix(simple, path+">")
	})
	if len(names) == 0 {
		if near := Nearest(path, n.all); len(near) > 0 {
			return didYouMean(near)
		}
		who, names = "the columns are ", n.all
	}
	if len(names) > most {
		return who + strings.Join(names[:most], ", ") + ", …"
	}
	return who + strings.Join(names, ", ")
}

func didYouMean(names []string) string { return "did you mean " + strings.Join(names, " or ") + "?" }

// FindAll calls use with the index of each column that has a value by its path. The error names
// all paths without a column, and paths that give one column different values. what says in errors
// what the values are for.
func (n *Names) FindAll(what string, values map[string]string, use func(i int, value string)) error {
	var errs []error
	paths := make(map[int]string, len(values))
	for _, path := range slices.Sorted(maps.Keys(values)) {
		i, err := n.Find(path)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s %s=%s: %w", what, path, values[path], err))
			continue
		}
		first, ok := paths[i]
		//guard: refuses two values of a column under two names
		if ok && values[first] != values[path] {
			errs = append(errs, contradict(what, first+"="+values[first], path+"="+values[path]))
		}
		paths[i] = path
		use(i, values[path])
	}
	return errors.Join(errs...)
}

// CutValues divides texts that users write, each VALUE or PATH=VALUE. It returns the texts without
// a path, which are equal, and the other values by their paths. It cuts at the last =, because
// columns may have one in their names. The error names texts that contradict each other. what says
// in errors what the values are for.
func CutValues(what string, texts []string) (all []string, values map[string]string, err error) {
	var errs []error
	given := make(map[string]string, len(texts)) // the texts by their paths
	for _, s := range texts {
		i := strings.LastIndexByte(s, '=')
		path := s[:max(i, 0)]
		first, ok := given[path]
		given[path] = s
		switch {
		case i == 0:
			errs = append(errs, fmt.Errorf("%s %q: the column before = is missing", what, s))
		//guard: refuses two values for the same columns
		case ok && first != s:
			errs = append(errs, contradict(what, first, s))
		case i < 0:
			all = append(all, s)
		case values == nil:
			values = map[string]string{path: s[i+1:]}
		default:
			values[path] = s[i+1:]
		}
	}
	return all, values, errors.Join(errs...)
}

func contradict(what, first, second string) error {
	return fmt.Errorf("%s %q and %q contradict each other", what, first, second)
}

func simpleName(name string) string {
	var s strings.Builder
	branch := false
	for i := range len(name) {
		switch c := name[i]; {
		case c == '#':
			s.WriteByte('.')
			branch = false
		case c == '/':
			branch = true
		case c == '[' || c == ']':
			branch = false
		case c == '>':
			s.WriteByte(c)
			branch = false
		case !branch:
			s.WriteByte(c)
		}
	}
	return s.String()
}
